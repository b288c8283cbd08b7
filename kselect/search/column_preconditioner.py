r"""Columns of a kernel matrix as a preconditioner for conjugate gradients on all folds and ridges.

``K`` is close to ``B^T B`` with the r rows ``B = L^{-1} K_S:`` of r uniform columns S, ``L L^T = K_SS``. With the
training rows T of a fold, less their mean P if there is a bias, one eigendecomposition ``B_T P B_T^T = U diag(s)
U^T`` serves every ridge:

    M^{-1} v = (v - P B_T^T U diag(1 / (s + gamma)) U^T B_T v) / gamma

Cost: ``3 n r^2`` for the columns, one eigendecomposition of r rows for each fold, and ``4 n r`` for a vector.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kselect.numerics.lapack import dpstrf, dtrtrs
from kselect.numerics.linalg import EPS, Array, Index
from kselect.numerics.tiles import Crew, tiles
from kselect.search.pruned_grid import FoldedGrid

# At most this share of the columns is taken; the share of the diagonal that they leave is measured on other rows.
MOST_COLUMNS = 1 / 8
MEASURED = 256
# Columns that leave more than this share of the diagonal are of no use.
USELESS = 0.7
# Enough columns leave less than this multiple of the smallest ridge, summed over the diagonal.
ENOUGH = 10.0


@dataclass(frozen=True, eq=False)
class ColumnBases:
    """The rows ``B``, and the eigenvalues s and eigenvectors U of each fold."""

    B: Array
    bases: tuple[tuple[Array, Array], ...]
    crew: Crew

    @classmethod
    def of(cls, K: Array, grid: FoldedGrid, crew: Crew) -> ColumnBases | None:
        """Take as many columns as the smallest ridge needs; None if columns explain too little."""
        gamma = float(grid.gammas(1.0).least.min())
        n = len(K)
        drawn = np.random.default_rng(0).permutation(n)
        some, others = np.split(drawn[: int(n * MOST_COLUMNS) + MEASURED], [int(n * MOST_COLUMNS)])
        if not len(some):
            return None
        block = K[np.ix_(some, some)]
        L, pivots, rank = dpstrf(block, n * EPS * float(np.diagonal(block).max()))
        some, L = some[pivots[:rank]], np.asfortranarray(L[:rank, :rank])
        known = np.square(dtrtrs(L, K[np.ix_(some, others)]))
        diagonal = np.diagonal(K)
        left = np.maximum(0.0, diagonal[others].sum() - np.cumsum(known.sum(axis=1)))
        left /= diagonal[others].sum()
        if not len(left) or left[-1] > USELESS:
            return None
        r = int(np.argmax(left * diagonal.sum() <= ENOUGH * gamma)) + 1
        if left[r - 1] * diagonal.sum() > ENOUGH * gamma:
            r = rank
        return cls._taking(K, some[:r], L[:r, :r], grid, crew)

    @classmethod
    def _taking(cls, K: Array, some: Index, L: Array, grid: FoldedGrid, crew: Crew) -> ColumnBases:
        """Return the columns ``some`` with the factor L of their block."""
        B = np.empty((len(some), len(K)))

        def solve(rows: slice) -> None:
            B[:, rows] = dtrtrs(L, K[rows].take(some, 1).T, overwrite=True)

        crew.each(solve, tiles(0, len(K)))
        parts = [B[:, F] @ B[:, F].T for F in grid.slices]
        sums = [B[:, F] @ grid.ones[F] for F in grid.slices]
        whole, total = sum(parts), sum(sums)
        bases: list[tuple[Array, Array]] = [(B[:0], B[:0])] * len(parts)

        def decompose(f: int) -> None:
            G = whole - parts[f]
            if grid.bias:
                mine = total - sums[f]
                G -= np.outer(mine, mine) / float(grid.others[f])
            s, U = np.linalg.eigh(G)
            bases[f] = np.maximum(s, 0.0), U

        crew.each(decompose, range(len(parts)))
        return cls(B, tuple(bases), crew)

    def solve(self, V: Array, gammas: Array) -> Array:
        """Return ``M^{-1} v`` for systems (ridges, folds, targets, n), whose means are zero with a bias."""
        inner = self.crew.product(V.reshape(-1, V.shape[-1]), self.B.T)
        inner = inner.reshape(*V.shape[:3], -1)
        for f, (s, U) in enumerate(self.bases):
            along = inner[:, f].reshape(-1, len(s)) @ U
            along.reshape(len(gammas), -1, len(s))[...] /= (s + gammas[:, f, None])[:, None, :]
            inner[:, f] = (along @ U.T).reshape(inner[:, f].shape)
        out = self.crew.product(inner.reshape(-1, len(self.B)), self.B).reshape(V.shape)
        np.subtract(V, out, out=out)
        out /= gammas[:, :, None, None]
        return out
