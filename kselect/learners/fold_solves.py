r"""The held-out errors of many right-hand sides by one factorisation of each fold's block.

``P_FF e_F = alpha_F`` for every fold F, ridge and target: the block belongs to the kernel matrix, the ridge and the
bias alone, so targets that share these (one per class) share its factor. Ten classes cost little more than two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dsyr
from scipy.linalg.lapack import dposv

from kselect.errors import TrialError
from kselect.learners.factor import Factor
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array, Index

# Numbers in a stack of scaled eigenvectors: two megabytes.
STACK_SIZE = 250_000


@dataclass(frozen=True, eq=False)
class Solutions:
    """``alpha`` (q, n_ridges, n) and b of all targets, and ``p / sqrt(1^T p)``, which is zero without a bias."""

    gammas: Array
    alpha: Array
    b: Array
    q: Array


def solve_all(factor: Factor, gammas: Array, targets: Array, bias: bool) -> Solutions:
    """The fits of all targets at once: ``alpha = P y`` and ``b = p^T y / (1^T p)``."""
    alpha = np.array([factor.solve(gammas, y) for y in targets])
    if not bias:
        return Solutions(gammas, alpha, np.zeros(alpha.shape[:2]), np.zeros(alpha.shape[1:]))
    p = factor.solve(gammas, np.ones_like(targets[0]))
    total = p.sum(axis=1)
    b = np.array([(p @ y) / total for y in targets])
    alpha -= b[:, :, None] * p
    return Solutions(gammas, alpha, b, p / np.sqrt(total)[:, None])


@dataclass(frozen=True, eq=False)
class FoldErrors:
    """``y - f`` held out, (q, n_ridges, n), the fits by size of fold, and the blocks at the smallest ridge."""

    errors: Array
    fits: dict[int, Solutions]
    edges: list[Array]


class FoldSolver:
    """The folds of one kernel matrix, with or without a bias."""

    def __init__(self, factor: Factor, bias: bool, folds: Folds) -> None:
        self.factor, self.bias, self.folds = factor, bias, folds

    def solve(self, fits: dict[int, Solutions]) -> FoldErrors:
        """All folds; ``fits`` are those with the ridges at which a fold of each size is held out."""
        some = next(iter(fits.values())).alpha
        errors, edges = np.zeros_like(some), list[Array]()
        for m, positions in self.folds.by_size.items():
            for chunk in chunks(self.folds, positions, some.shape[1]):
                if len(chunk) > 1:
                    errors[:, :, chunk] = self._several(chunk, fits[m], edges)
                else:
                    errors[:, :, chunk[0]] = self._one(chunk[0], fits[m], edges)
        return FoldErrors(errors, fits, edges)

    def _several(self, folds: Index, fit: Solutions, edges: list[Array]) -> Array:
        """The errors of several folds of one size, (q, n_ridges, k, m)."""
        gammas = fit.gammas
        blocks = self.factor.stack(folds, gammas)
        if self.bias:
            along = np.sqrt(gammas)[:, None] * fit.q
            rows = along[:, folds].transpose(1, 0, 2)
            blocks -= rows[..., :, None] * rows[..., None, :]
        edges.append(blocks[:, np.argmin(gammas)].copy())
        right = (gammas[:, None] * fit.alpha)[:, :, folds].transpose(2, 1, 3, 0)
        try:  # numpy solves by LU, which would make numbers of a block that rounding has left indefinite
            np.linalg.cholesky(blocks)
            errors = np.linalg.solve(blocks, right)
        except np.linalg.LinAlgError:
            raise TrialError("a fold block is singular") from None
        return np.asarray(errors.transpose(3, 1, 0, 2))

    def _one(self, F: Index, fit: Solutions, edges: list[Array]) -> Array:
        """The errors of one fold, (q, n_ridges, m)."""
        gammas = fit.gammas
        errors = np.empty((*fit.alpha.shape[:2], len(F)))
        right = gammas[:, None] * fit.alpha[:, :, F]
        for i, block in enumerate(self.factor.blocks(F, gammas)):
            if self.bias:
                block = dsyr(-gammas[i], fit.q[i, F], lower=1, a=block, overwrite_a=1)
            if i == np.argmin(gammas):
                edges.append(block[None].copy())  # its lower triangle alone is whole
            _, solved, failed = dposv(block, right[:, i].T, lower=1, overwrite_a=1)
            errors[:, i] = solved.T
            if failed:
                raise TrialError("a fold block is singular")
        return errors


def chunks(folds: Folds, positions: Sequence[int], ridges: int) -> Iterator[Index]:
    """Folds of one size, (k, m) together as long as their stack is small enough for the cache."""
    members = np.array([folds.members[i] for i in positions])
    one = ridges * members.shape[1] * folds.n
    yield from np.array_split(members, -(-len(members) // max(1, STACK_SIZE // one)))
