r"""Kernel ridge regression with the square loss, for the exact selection without the whole surface.

With f the fit on all rows at ``gamma = lam min_F (n - m_F)`` and ``gamma_F >= gamma`` the ridge without the fold F,

    sum_F (y - f_{-F})^2 >= sum_F (y - f)^2 - (gamma_F - gamma) ||f||^2

is cheap, but near zero where f interpolates. There the exact residual ``e = P_FF^{-1} alpha_F``,
``P = (K + gamma_F I)^{-1}``, is bounded through its own quadratic form: in the spectral measure of alpha_F the mean
of ``p^{-2}`` is at least ``(mean of p)^{-2}`` (Jensen), so

    |e|^2 >= |alpha_F|^6 / (alpha_F^T P_FF alpha_F)^2

in ``O(n m)`` a fold and ridge where the residual itself takes ``O(n m^2)``. The training loss rises with the
ridge: where few ridges are left, a Cholesky factor for each is cheaper than the eigenvectors.
"""

from __future__ import annotations

from functools import cached_property, partial

import numpy as np
from scipy.linalg.lapack import dposv

from kselect.errors import TrialError
from kselect.learners.factor import factorise
from kselect.numerics.linalg import Array, Index
from kselect.search.intervals import largest_fits
from kselect.search.inverses import CholeskyInverses, Inverses, SpectralInverses
from kselect.search.pruned import Candidate, Grid, MakeFactor, Trail

# The bound's own rounding: it may come out above the residual it bounds by this share.
ROUNDING = 1e-9
# An eigendecomposition takes some twenty Cholesky factors; from so many ridges on it is the cheaper.
FEW = 4


class SquareWidth:
    """One kernel; it is factorised when the first fit is asked for."""

    def __init__(
        self, K: Array, grid: Grid, near: Trail | None, factor: MakeFactor | None = None
    ) -> None:
        self.K, self.grid = K, grid
        self.factor = factor or partial(factorise, K)
        self.ridges = grid.ridges(1.0)
        self.few = near is not None and near.survivors < FEW
        self.survivors: int | None = None

    @cached_property
    def inverses(self) -> Inverses:
        """By Cholesky factors where few ridges are to be expected."""
        return CholeskyInverses(self.K) if self.few else SpectralInverses(self.factor())

    def untrained(self, best: float) -> Array:
        """``sum_F max(0, |y| - |f|)^2`` with ``|f|`` bounded above."""
        f = largest_fits(self.K, self.grid.slices, self.grid.y, self.ridges)
        return self.grid.by_fold(np.square(np.maximum(0.0, np.abs(self.grid.y) - f.T)))

    def candidates(self, bounds: Array, best: float) -> list[Candidate]:
        """Those that neither the training loss nor the quadratic form of the residuals excludes."""
        order = np.argsort(self.grid.lams, kind="stable")
        left = order[bounds[order].sum(axis=1) <= best]
        bounds = bounds.copy()
        if self.few:
            left = self.smallest(left, bounds, best)
        else:
            bounds[left] = np.maximum(bounds[left], self.trained(left))
            left = left[bounds[left].sum(axis=1) <= best]
        self.survivors = len(left)
        bounds[left] = np.maximum(bounds[left], self.held_out_at_least(left))
        kept = [int(i) for i in left if bounds[i].sum() <= best]
        return [Candidate(i, bounds[i], bounds[i]) for i in kept]

    def smallest(self, left: Index, bounds: Array, best: float) -> Index:
        """The ridges up to the first whose training loss exceeds the best; one factor each."""
        for position, ridge in enumerate(left):
            if position > FEW:
                del self.inverses
                self.few = False
                break
            bounds[ridge] = np.maximum(bounds[ridge], self.trained(left[[position]])[0])
            if bounds[ridge].sum() > best:
                return left[:position]
        return left

    def trained(self, ridges: Index) -> Array:
        """(ridges, folds): below the loss of each fold, by the fit on all rows."""
        grid, gammas = self.grid, self.ridges.least[ridges]
        alpha = self.inverses.solve(gammas, grid.y)
        residual = gammas[:, None] * alpha
        square_norm = np.einsum("ij,ij->i", alpha, grid.y - residual)
        rows = np.array([grid.rows(j) for j in range(len(grid.sizes))])
        spread = np.outer(grid.lams[ridges] * square_norm, rows - grid.rows())
        return np.asarray(grid.by_fold(np.square(residual)) - spread)

    def held_out_at_least(self, ridges: Index) -> Array:
        """(ridges, folds): ``|alpha_F|^6 / (alpha_F^T P_FF alpha_F)^2``."""
        grid, out = self.grid, np.zeros((len(ridges), len(self.grid.sizes)))
        for m in np.unique(grid.sizes) if len(ridges) else ():
            same = (grid.sizes == m).nonzero()[0]
            gammas = grid.rows(int(same[0])) * grid.lams[ridges]
            alpha = self.inverses.solve(gammas, grid.y)
            folds = [grid.slices[j] for j in same]
            forms = self.inverses.forms(gammas, alpha, folds)
            lengths = np.stack([np.square(alpha[:, F]).sum(axis=1) for F in folds], axis=1)
            ratio = np.divide(lengths, forms, out=np.zeros_like(forms), where=forms > 0)
            out[:, same] = (1.0 - ROUNDING) * lengths * ratio * ratio
        return out

    def loss(self, ridge: int, fold: int) -> float:
        """``|P_FF^{-1} alpha_F|^2``."""
        F = self.grid.slices[fold]
        gamma = self.grid.rows(fold) * float(self.grid.lams[ridge])
        alpha = self.inverses.solve(np.array([gamma]), self.grid.y)[0, F]
        _, residual, failed = dposv(self.inverses.block(gamma, F), alpha, lower=1, overwrite_a=1)
        if failed:
            raise TrialError("a fold block is singular")
        return float(residual @ residual)

    def trail(self) -> Trail | None:
        """How many ridges the training loss left; a factor does not help the next kernel."""
        return None if self.survivors is None else Trail({}, self.survivors)
