r"""Conjugate gradients for the held-out residuals of the square loss, ``P_FF e = alpha_F``, from one factor.

P_FF is positive definite, so that the iterates from zero grow in length towards e, and each of them is a lower
bound of ``|e|``. The systems of all folds are independent. Their vectors lie side by side in one vector of n rows,
and a product with P_FF takes the rows of the fold only, ``G_FF = Q_F (T + gamma I)^{-1} Q_F^T``: with k folds, a
k-th of the operations of a product with all rows of Q.
"""

from __future__ import annotations

import numpy as np

from kselect.learners.factor import Factor
from kselect.numerics.linalg import Array
from kselect.search.pruned_grid import FoldedGrid


class FoldSystems:
    """The systems of all pairs of ridge and fold: vectors (ridges, targets, n), the folds side by side.

    ``along`` is ``p / sqrt(1^T p)`` (ridges, 1, n) and zero without a bias, ``r`` the right-hand sides; ``squares``
    are the means over targets of ``|x|^2`` (ridges, folds).
    """

    def __init__(
        self, factor: Factor, grid: FoldedGrid, gammas: Array, along: Array, r: Array
    ) -> None:
        self.factor, self.grid, self.gammas, self.along = factor, grid, gammas, along
        self.r, self.d, self.x = r, r.copy(), np.zeros_like(r)
        self.rr = grid.by_fold(np.square(r))
        self.squares = np.zeros(gammas.shape)

    def step(self) -> None:
        """Take one step for every pair; a pair that has arrived stays."""
        grid, d = self.grid, self.d
        Ad = self.factor.solve_within(self.gammas, d, grid.slices)
        if grid.bias:
            Ad -= self.along * self.to_rows(grid.by_fold(self.along * d))
        curvature = grid.by_fold(d * Ad)
        length = np.divide(self.rr, curvature, out=np.zeros_like(curvature), where=curvature > 0)
        along_rows = self.to_rows(length)
        self.x += along_rows * d
        Ad *= along_rows
        self.r -= Ad
        rr = grid.by_fold(np.square(self.r))
        ratio = np.divide(rr, self.rr, out=np.zeros_like(rr), where=self.rr > 0)
        d *= self.to_rows(ratio)
        d += self.r
        self.rr = rr
        self.squares = grid.by_fold(np.square(self.x)).mean(axis=1)

    def to_rows(self, values: Array) -> Array:
        """Return a value per fold (the last axis) for every row of the fold."""
        return np.repeat(values, self.grid.sizes, axis=-1)

    def keep(self, ridges: Array) -> None:
        """Drop the other ridges."""
        if ridges.all():
            return
        for name in ("gammas", "along", "r", "d", "x", "rr", "squares"):
            setattr(self, name, getattr(self, name)[ridges])
