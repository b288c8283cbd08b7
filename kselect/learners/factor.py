r"""Factors of a kernel matrix that give ``G = (K + gamma I)^{-1}`` for every ridge, and the choice between them.

    scattered    K is diagonal except for few rows, as a narrow Gaussian kernel is to machine precision
    Cholesky     for few ridges only, O(n^3) for each
    thin         K = B B^T with r < n columns, for kernels of low numerical rank, O(n r^2)
    tridiagonal  K = Q T Q^T, the general case
    spectral     K = U diag(s) U^T, the general case with few rows

A path asks for G applied to vectors, the diagonal of G, and the blocks ``gamma G_FF`` of the folds. The classes
have the same methods; ``gammas`` are the ridges, ``largest`` and ``least`` the extreme ``eigenvalues`` of K.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Self

import numpy as np

from kselect.learners.spectral import (
    KernelFactor,
    SpectralFactor,
    identity_minus,
    weighted_products,
    weights,
)
from kselect.learners.tridiagonal import CholeskyFactor, TridiagonalFactor, whole_factor
from kselect.numerics.lapack import dpstrf
from kselect.numerics.linalg import EPS, Array, Index, symmetric_eigh

# The core of a scattered matrix has at most this share of the rows.
CORE_SHARE = 0.7
# A thin factor with fewer than this share of n columns is cheaper than the other ways.
THIN_SHARE = 0.6
# Up to this number of ridges, Cholesky factors are the cheapest way.
FEW = 4


class ThinFactor(KernelFactor):
    r"""Few columns, ``K = B B^T`` with ``B^T B = diag(s)``: ``gamma G = I - B diag(w) B^T``.

    The space that the columns do not span has the eigenvalue 0, so it needs a ridge.
    """

    def __init__(self, columns: Array) -> None:
        s, V = symmetric_eigh(columns.T @ columns)
        self.s = np.maximum(s[::-1], 0.0)
        self.B = columns @ np.ascontiguousarray(V[:, ::-1])
        self.eigenvalues = np.concatenate([self.s, np.zeros(len(self.B) - len(self.s))])

    def solve(self, gammas: Array, v: Array) -> Array:
        """Return ``(v - B diag(w) B^T v) / gamma``."""
        smooth = (weights(self.s, gammas, whole=False) * (v @ self.B)) @ self.B.T
        return np.asarray((v - smooth) / gammas[:, None])

    def diagonal(self, gammas: Array) -> Array:
        """Return ``(1 - sum_j w_j B_ij^2) / gamma``."""
        return np.asarray(
            (1.0 - weights(self.s, gammas, whole=False) @ np.square(self.B).T) / gammas[:, None]
        )

    def blocks(self, F: Index, gammas: Array) -> Iterator[Array]:
        """Yield ``I - B_F diag(w) B_F^T``, without the columns whose share ``s w`` is below rounding."""
        BF = self.B[F]
        for w in weights(self.s, gammas, whole=False):
            used = int(np.count_nonzero(self.s * w > EPS))
            A = BF[:, :used] * np.sqrt(w[:used])
            yield identity_minus(A @ A.T).T

    def stack(self, folds: Index, gammas: Array) -> Array:
        """Return the same blocks, with the columns that the smallest ridge needs."""
        w = weights(self.s, gammas, whole=False)
        used = int(np.count_nonzero((self.s * w).max(axis=0) > EPS))
        return identity_minus(weighted_products(self.B[folds, :used], w[:, :used]))

    def modes(self, gammas: Array) -> tuple[Array, Array, Array]:
        """Return the columns, s, and w."""
        return self.B, self.s, weights(self.s, gammas, whole=False)

    def reordered(self, order: Index) -> Self:
        """Reorder the rows of B."""
        twin = copy(self)
        twin.B = self.B[order]
        return twin


class ScatteredFactor(KernelFactor):
    """A matrix that is diagonal except for a core of rows, which has a factor of its own.

    ``place`` is each row's position in the core, -1 for rows outside it.
    """

    def __init__(self, K: Array, core: Index, *, blocks: bool = True) -> None:
        self.kappa = np.diagonal(K).copy()
        self.core = core
        self.place = np.full(len(K), -1, dtype=np.intp)
        self.place[core] = np.arange(len(core))
        inside = K[np.ix_(core, core)]
        self.inner = whole_factor(inside, blocks=blocks) if len(core) else None
        inner = self.inner.eigenvalues if self.inner else self.kappa[:0]
        self.eigenvalues: Array = np.sort(np.concatenate([self.kappa[self.place < 0], inner]))[::-1]

    def solve(self, gammas: Array, v: Array) -> Array:
        """Divide by the diagonal, and solve for the core."""
        out = weights(self.kappa, gammas) * v
        if self.inner:
            out[:, self.core] = self.inner.solve(gammas, v[..., self.core])
        return out

    def diagonal(self, gammas: Array) -> Array:
        """Invert the diagonal, and take the core's own."""
        out = weights(self.kappa, gammas)
        if self.inner:
            out[:, self.core] = self.inner.diagonal(gammas)
        return out

    def blocks(self, F: Index, gammas: Array) -> Iterator[Array]:
        """Yield diagonal blocks, with the core's block for the rows of the fold in the core."""
        inside = np.flatnonzero(self.place[F] >= 0)
        diagonals = gammas[:, None] * weights(self.kappa[F], gammas)
        if not (self.inner and len(inside)):
            yield from (np.asfortranarray(np.diag(d)) for d in diagonals)
            return
        dense = self.inner.blocks(self.place[F[inside]], gammas)
        if len(inside) == len(F):
            yield from dense
            return
        for diagonal, block in zip(diagonals, dense, strict=True):
            whole = np.asfortranarray(np.diag(diagonal))
            whole[inside[:, None], inside] = block
            yield whole

    def stack(self, folds: Index, gammas: Array) -> Array:
        """Return diagonal blocks, with the core's block for the rows of a fold in the core."""
        k, m = folds.shape
        diagonals = gammas[:, None] * weights(self.kappa[folds.ravel()], gammas)
        out = np.zeros((k, len(gammas), m * m))
        out[:, :, :: m + 1] = diagonals.reshape(-1, k, m).swapaxes(0, 1)
        out = out.reshape(k, -1, m, m)
        for fold, F in zip(out, folds, strict=True):
            inside = np.flatnonzero(self.place[F] >= 0)
            if self.inner and len(inside):
                core = self.inner.stack(self.place[F[inside]][None], gammas)[0]
                fold[:, inside[:, None], inside] = core
        return out

    def modes(self, gammas: Array) -> tuple[Array, Array, Array]:
        """Return unit vectors for the rows outside the core, and the eigenvectors of the core."""
        n = len(self.kappa)
        A, s = np.eye(n), self.kappa.copy()
        c = s * weights(s, gammas)
        if self.inner:
            A[np.ix_(self.core, self.core)], _, c[:, self.core] = self.inner.modes(gammas)
        return A, np.ones(n), c

    def reordered(self, order: Index) -> Self:
        """Reorder the rows; the core's own factor keeps its order."""
        twin = copy(self)
        twin.kappa, twin.place = self.kappa[order], self.place[order]
        twin.core = np.argsort(order)[self.core]
        return twin


Factor = SpectralFactor | TridiagonalFactor | CholeskyFactor | ThinFactor | ScatteredFactor


def factorise(K: Array, ridges: int | None = None, *, blocks: bool = True) -> Factor:
    """Return the cheapest factor that is exact to rounding, for a number of ridges (None: many).

    Without ``blocks`` it is to serve products with vectors.

    Scattered: the core is the rows with a neighbour, if these are a minority, as for a narrow Gaussian kernel.
    Entries below ``eps min K_ii / n`` are dropped, which is below rounding in the 2-norm. If the first row has many
    neighbours, nothing else is counted, so that a full kernel costs nothing.

    Thin: pivoted Cholesky (LAPACK's dpstrf) is exact up to ``n eps max K_ii``.
    """
    n, diagonal = len(K), np.diagonal(K)
    limit = EPS * float(diagonal.min()) / n
    if np.count_nonzero(np.abs(K[0]) > limit) <= 1 + CORE_SHARE * n:
        core = np.flatnonzero(np.count_nonzero(np.abs(K) > limit, axis=1) > 1)
        if len(core) <= CORE_SHARE * n:
            return ScatteredFactor(K, core, blocks=blocks)
    if ridges is not None and ridges <= FEW:
        return CholeskyFactor(K, factorise)
    most = int(THIN_SHARE * n)
    if may_be_thin(K[:most, :most]):
        factor, pivots, rank = dpstrf(K.T, EPS * float(diagonal.max()))
        if rank <= most:
            columns = np.zeros((n, rank))
            columns[pivots] = np.tril(factor)[:, :rank]
            return ThinFactor(columns)
    return whole_factor(K, blocks=blocks)


def may_be_thin(leading: Array) -> bool:
    """Return whether a leading block has low rank, without which the whole matrix has none.

    Pivots fall ever more slowly on a log scale. So if those of half of the block are above the square root of the
    tolerance, those of the block are above the tolerance, and the test costs a four-hundredth of an
    eigendecomposition, otherwise a fiftieth. (A sudden fall beyond half of the block costs time, not digits.)
    """
    for rows, tolerance in ((len(leading) // 2, np.sqrt(EPS)), (len(leading), EPS)):
        block = leading[:rows, :rows]
        largest = float(np.diagonal(block).max(initial=0.0))
        if dpstrf(block.T, float(tolerance) * largest)[2] == rows:
            return False
    return True
