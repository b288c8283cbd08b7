r"""Exact held-out errors for the square loss by training without each fold: one Cholesky factor for fold and ridge.

With the other rows T, ``(K_TT + gamma I) a = y_T - b r_T`` and, with a bias, ``r_T^T a = 0``; the predictions of
the fold are ``(K_FT a + b r_F) / r_F``. r holds the roots of the rows' weights, or ones. The kernel matrix and the
targets are scaled by r already (see krr_lssvm.py).

Rows are in fold order, and one order of operations serves every search, so that these numbers do not depend on
threads or bounds.
"""

from __future__ import annotations

import numpy as np

from kselect.errors import TrialError
from kselect.numerics.lapack import dpotrs
from kselect.numerics.linalg import Array
from kselect.numerics.tiles import Crew
from kselect.search.pruned_grid import FoldedGrid


class Retraining:
    """Exact errors of one kernel matrix; ``held`` has the predictions of the ridges that were tried."""

    def __init__(self, K: Array, grid: FoldedGrid, crew: Crew | None = None) -> None:
        self.K, self.grid, self.crew = K, grid, Crew() if crew is None else crew
        self.held: dict[int, Array] = {}

    def loss(self, ridge: int, fold: int) -> float:
        """Return the summed squared error on a fold, the mean over the targets; keep the predictions."""
        grid, F = self.grid, self.grid.slices[fold]
        A = without(self.K, F)
        A.ravel()[:: len(A) + 1] += grid.rows(fold) * float(grid.lams[ridge])
        L = A.T
        if self.crew.cholesky(L):
            raise TrialError("K + n lam I is not positive definite to rounding")
        ones = np.delete(grid.ones, F)
        right = np.vstack([np.delete(grid.targets, F, axis=1), ones])
        solved = dpotrs(L, right.T).T
        del A, L
        alpha, p = solved[:-1], solved[-1]
        b = alpha @ ones / (p @ ones) if grid.bias else np.zeros(len(alpha))
        alpha = alpha - np.outer(b, p)
        values = alpha[:, : F.start] @ self.K[: F.start, F]
        values += alpha[:, F.start :] @ self.K[F.stop :, F]
        values += np.outer(b, grid.ones[F])
        held = self.held.setdefault(ridge, np.empty_like(grid.targets))
        held[:, F] = values / grid.ones[F]
        return float(np.square(grid.targets[:, F] - values).sum(axis=1).mean())


def without(K: Array, F: slice) -> Array:
    """Return a copy of K without the rows and columns of a fold."""
    start, end, n = F.start, F.stop, len(K)
    A: Array = np.empty((n - end + start, n - end + start))
    A[:start, :start], A[:start, start:] = K[:start, :start], K[:start, end:]
    A[start:, :start], A[start:, start:] = K[end:, :start], K[end:, end:]
    return A
