r"""Bounds for kernel ridge regression with the squared loss, for the pruned search.

Let f be the fit on all rows at ``gamma = lam min_F (n - m_F)``, and ``gamma_F >= gamma`` the ridge without the
fold F:

    sum_F (y - f_{-F})^2 >= sum_F (y - f)^2 - (gamma_F - gamma) ||f||^2

This bound is cheap, but it is close to zero if f interpolates. Then the exact residual ``e = P_FF^{-1} alpha_F``
with ``P = (K + gamma_F I)^{-1}`` is bounded through its quadratic form. In the spectral measure of alpha_F the
mean of ``p^{-2}`` is at least ``(mean of p)^{-2}`` (Jensen), so that

    |e|^2 >= |alpha_F|^6 / (alpha_F^T P_FF alpha_F)^2

in ``O(n m)`` per fold and ridge, while the residual itself takes ``O(n m^2)``. The training loss rises with the
ridge. If only few ridges are left, a Cholesky factor for each of them is cheaper than the eigenvectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial

import numpy as np

from kselect.errors import TrialError
from kselect.learners.factor import Factor, factorise
from kselect.learners.spectral import SpectralFactor, weights
from kselect.numerics.lapack import dposv, dpotrf, dpotrs, dtrtrs
from kselect.numerics.linalg import Array, Index
from kselect.search.pruned_grid import (
    AT_REST,
    FAR,
    ROUNDS,
    Candidate,
    FoldedGrid,
    GammaRange,
    MakeFactor,
    Trail,
    without_own_fold,
)

# Rounding may raise the bound above the residual that it bounds by this share.
ROUNDING = 1e-9
# An eigendecomposition takes about twenty Cholesky factors; it is the cheaper one from this number of ridges on.
FEW = 4


class SpectralInverses:
    """``G = (K + gamma I)^{-1}`` from one factor for all gamma; rows are in fold order."""

    def __init__(self, factor: Factor) -> None:
        self.factor = factor

    def solve(self, gammas: Array, y: Array) -> Array:
        """Return ``G y`` (gammas, n), from two products with the eigenvectors."""
        return self.factor.solve(gammas, y)

    def forms(self, gammas: Array, v: Array, folds: Sequence[slice]) -> Array:
        """Return ``v_F^T G_FF v_F`` (gammas, folds) for v (gammas, n); 0 if the factor is not spectral.

        ``sum_j w_j (U_F^T v_F)_j^2`` is a sum of squares, so that small values are accurate too.
        """
        out = np.zeros((len(gammas), len(folds)))
        if isinstance(self.factor, SpectralFactor):
            w = weights(self.factor.s, gammas)
            for j, F in enumerate(folds):
                out[:, j] = (np.square(v[:, F] @ self.factor.U[F]) * w).sum(axis=1)
        return out

    def block(self, gamma: float, F: slice) -> Array:
        """Return ``G_FF``, which the caller may overwrite."""
        (block,) = self.factor.blocks(np.arange(F.start, F.stop), np.array([gamma]))
        return block / gamma


class CholeskyInverses:
    """The same from one Cholesky factor for each gamma, which is cached."""

    def __init__(self, K: Array) -> None:
        self.K = K
        self.factors: dict[float, Array] = {}
        self.solutions: dict[float, Array] = {}

    def factor(self, gamma: float) -> Array:
        """Return ``L`` with ``L L^T = K + gamma I``."""
        if gamma not in self.factors:
            A = self.K.copy()
            A.ravel()[:: len(A) + 1] += gamma
            L, failed = dpotrf(A.T, overwrite=True)
            if failed:
                raise TrialError("K + n lam I is not positive definite to rounding")
            self.factors[gamma] = L
        return self.factors[gamma]

    def solve(self, gammas: Array, y: Array) -> Array:
        """Return ``G y`` (gammas, n); y must be the same in every call."""
        for gamma in gammas.tolist():
            if gamma not in self.solutions:
                self.solutions[gamma] = dpotrs(self.factor(gamma), y)
        return np.array([self.solutions[gamma] for gamma in gammas.tolist()])

    def forms(self, gammas: Array, v: Array, folds: Sequence[slice]) -> Array:
        """Return ``|L^{-1} v_F|^2`` (gammas, folds), one column per fold."""
        out = np.empty((len(gammas), len(folds)))
        for i, gamma in enumerate(gammas.tolist()):
            right = np.zeros((len(self.K), len(folds)), order="F")
            for j, F in enumerate(folds):
                right[F, j] = v[i, F]
            half = dtrtrs(self.factor(gamma), right, overwrite=True)
            out[i] = np.square(half).sum(axis=0)
        return out

    def block(self, gamma: float, F: slice) -> Array:
        """Return ``(L^{-1} I_F)^T L^{-1} I_F``; nothing above the fold's first row is needed."""
        L = self.factor(gamma)[F.start :, F.start :]
        right = np.zeros((len(L), F.stop - F.start), order="F")
        np.fill_diagonal(right, 1.0)
        half = dtrtrs(L, right, overwrite=True)
        return np.asarray((half.T @ half).T)


class SquareBounds:
    """One kernel; it is factorised on the first fit."""

    def __init__(
        self, K: Array, grid: FoldedGrid, near: Trail | None, factor: MakeFactor | None = None
    ) -> None:
        self.K, self.grid = K, grid
        self.factor = factor or partial(factorise, K)
        self.gammas = grid.gammas(1.0)
        self.few = near is not None and near.survivors < FEW
        self.survivors: int | None = None

    @cached_property
    def inverses(self) -> SpectralInverses | CholeskyInverses:
        """Cholesky factors if the neighbouring kernel had few ridges left, else eigenvectors."""
        return CholeskyInverses(self.K) if self.few else SpectralInverses(self.factor())

    def untrained(self, best: float) -> Array:
        """Return ``sum_F max(0, |y| - |f|)^2`` with ``|f|`` bounded above."""
        f = largest_fits(self.K, self.grid.slices, self.grid.y, self.gammas)
        return self.grid.by_fold(np.square(np.maximum(0.0, np.abs(self.grid.y) - f.T)))

    def candidates(self, bounds: Array, best: float) -> list[Candidate]:
        """Return the ridges that neither the training loss nor the quadratic form of the residuals excludes."""
        order = np.argsort(self.grid.lams, kind="stable")
        left = order[bounds[order].sum(axis=1) <= best]
        bounds = bounds.copy()
        if self.few:
            left = self._smallest(left, bounds, best)
        else:
            bounds[left] = np.maximum(bounds[left], self.trained(left))
            left = left[bounds[left].sum(axis=1) <= best]
        self.survivors = len(left)
        bounds[left] = np.maximum(bounds[left], self.held_out_at_least(left))
        kept = [int(i) for i in left if bounds[i].sum() <= best]
        return [Candidate(i, bounds[i], bounds[i]) for i in kept]

    def _smallest(self, left: Index, bounds: Array, best: float) -> Index:
        """Return the ridges up to the first whose training loss exceeds the best error; one factor per ridge."""
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
        """Return lower bounds (ridges, folds) from the fit on all rows."""
        grid, gammas = self.grid, self.gammas.least[ridges]
        alpha = self.inverses.solve(gammas, grid.y)
        residual = gammas[:, None] * alpha
        square_norm = np.einsum("ij,ij->i", alpha, grid.y - residual)
        spread = np.outer(grid.lams[ridges] * square_norm, grid.more_rows)
        return np.asarray(grid.by_fold(np.square(residual)) - spread)

    def held_out_at_least(self, ridges: Index) -> Array:
        """Return ``|alpha_F|^6 / (alpha_F^T P_FF alpha_F)^2`` (ridges, folds)."""
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
        """Return ``|P_FF^{-1} alpha_F|^2``."""
        F = self.grid.slices[fold]
        gamma = self.grid.rows(fold) * float(self.grid.lams[ridge])
        alpha = self.inverses.solve(np.array([gamma]), self.grid.y)[0, F]
        _, residual, failed = dposv(self.inverses.block(gamma, F), alpha, overwrite=True)
        if failed:
            raise TrialError("a fold block is singular")
        return float(residual @ residual)

    def trail(self) -> Trail | None:
        """Return the number of ridges that the training loss left; the factor does not help the next kernel."""
        return None if self.survivors is None else Trail({}, self.survivors)


def largest_fits(K: Array, folds: Sequence[slice], y: Array, gammas: GammaRange) -> Array:
    r"""Return upper bounds (n, ridges) of ``|f_i|`` at held-out rows.

    ``(K_TT + gamma I) alpha = y`` gives ``|alpha_j| <= |y| / gamma``. With b an upper bound of ``|alpha|``,

        b_j = (|y_j| + sum_{l != j} |K_jl| b_l) / (K_jj + gamma),   |f_i| <= sum_{j in T} |K_ij| b_j

    A few rounds tighten b if the kernel matrix is nearly diagonal.
    """
    size = np.abs(K)
    diagonal = np.diagonal(K)[:, None] + gammas.least
    np.fill_diagonal(size, 0.0)
    bound = np.tile(np.linalg.norm(y) / gammas.least, (len(y), 1))
    if size.sum() <= FAR * len(K):
        for _ in range(ROUNDS):
            tighter = (np.abs(y)[:, None] + size @ bound) / diagonal
            still = bool((bound - tighter <= AT_REST * bound).all())
            bound = np.minimum(bound, tighter)
            if still:
                break
    return without_own_fold(size, bound, folds)
