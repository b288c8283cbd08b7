r"""Bounds for kernel ridge regression and the LSSVM with the squared loss, for the pruned search.

Let f be the fit on all rows at ``gamma = lam min_F (n - m_F)``, and ``gamma_F >= gamma`` the ridge without the
fold F, with or without a bias:

    sum_F (y - f_{-F})^2 >= sum_F (y - f)^2 - (gamma_F - gamma) ||f||^2

This bound is cheap, but it is close to zero if f interpolates. The exact residual e solves ``P_FF e = alpha_F``,
and P_FF is positive definite. The iterates of conjugate gradients from zero grow in length towards e, so that each
of them is a lower bound of |e|. An iteration takes two products with Q for all open pairs of fold and ridge
together, without any block; a few of them settle nearly every pair. The training loss rises with the ridge: one
Cholesky factor at the smallest ridge can drop a kernel whose neighbour had no ridge left.

The residuals of a pair that is left come from training without each fold, one Cholesky factor each, in an order and
an arithmetic that depend on nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kselect.errors import TrialError
from kselect.learners.factor import Factor
from kselect.learners.tridiagonal import CholeskyFactor
from kselect.numerics.lapack import dpotrf, dpotrs
from kselect.numerics.linalg import EPS, Array, Index
from kselect.search.pruned_grid import (
    AT_REST,
    FAR,
    ROUNDS,
    BestPair,
    Candidate,
    FoldedGrid,
    GammaRange,
    without_own_fold,
)

# Rounding may raise a bound above the residual that it bounds by this share, and by this many roundings times the
# condition number.
ROUNDING, STEPS = 1e-9, 64.0
# Conjugate gradients end after this many steps, or where a step raises a bound by less than this share.
MOST, AT_END = 12, 0.01


class SquareBounds:
    """Bounds and exact losses of one kernel matrix, whose rows are in fold order."""

    def __init__(self, K: Array, grid: FoldedGrid, factorise: Callable[[Array], Factor]) -> None:
        self.K, self.grid, self.factorise = K, grid, factorise
        self.gammas = grid.gammas(1.0)
        self.ones = np.ones(grid.n)

    def untrained(self) -> Array:
        """Return ``sum_F max(0, |y| - |f|)^2`` (ridges, folds) with ``|f|`` bounded above; 0 with a bias."""
        grid = self.grid
        if grid.bias:
            return np.zeros((len(grid.lams), len(grid.sizes)))
        f = largest_fits(self.K, grid.slices, grid.y, self.gammas)
        return grid.by_fold(np.square(np.maximum(0.0, np.abs(grid.y) - f.T)))

    def trained(self, factor: Factor, ridges: Index) -> Array:
        """Return lower bounds (ridges, folds) from the fit on all rows."""
        grid, gammas = self.grid, self.gammas.least[ridges]
        alpha = self._fit(factor, gammas)[0]
        residual = gammas[:, None] * alpha
        square_norm = np.einsum("ij,ij->i", alpha, grid.y - residual)
        spread = np.outer(grid.lams[ridges] * square_norm, grid.more_rows)
        return np.asarray(grid.by_fold(np.square(residual)) - spread)

    def _fit(self, factor: Factor, gammas: Array) -> tuple[Array, Array]:
        """Return ``alpha = P y`` and ``p / sqrt(1^T p)``, which is 0 without a bias."""
        alpha = factor.solve(gammas, self.grid.y)
        if not self.grid.bias:
            return alpha, np.zeros_like(alpha)
        p = factor.solve(gammas, self.ones)
        along = p / np.sqrt(p.sum(axis=1))[:, None]
        alpha -= along * (along @ self.grid.y)[:, None]
        return alpha, along

    def raise_bounds(
        self, factor: Factor, ridges: Index, bounds: Array, limit: Callable[[], float]
    ) -> Index:
        """Raise bounds (ridges, folds) by conjugate gradients, and return the ridges that they leave."""
        gammas = self.grid.fold_gammas(ridges)
        systems = FoldSystems.of(self, factor, gammas)
        least = gammas.min(axis=1)
        condition = (factor.largest + least) / (factor.least + least)
        trust = 1.0 - ROUNDING - STEPS * EPS * self.grid.n * condition
        left = np.arange(len(ridges))
        for _ in range(MOST):
            systems.step()
            squares = np.maximum(trust, 0.0)[left, None] * systems.squares
            before = bounds[ridges[left]]
            bounds[ridges[left]] = np.maximum(before, squares)
            total = bounds[ridges[left]].sum(axis=1)
            open_still = total <= limit()
            moving = total > (1.0 + AT_END) * before.sum(axis=1)
            if not (open_still & moving).any():
                left = left[open_still]
                break
            systems.keep(open_still)
            left = left[open_still]
        kept: Index = ridges[left]
        return kept

    def loss(self, ridge: int, fold: int) -> float:
        """Return the summed loss on a fold of the model without it."""
        grid, F = self.grid, self.grid.slices[fold]
        gamma = grid.rows(fold) * float(grid.lams[ridge])
        A = without(self.K, F)
        A.ravel()[:: len(A) + 1] += gamma
        L, failed = dpotrf(A.T, overwrite=True)
        if failed:
            raise TrialError("K + n lam I is not positive definite to rounding")
        right = np.column_stack([np.delete(grid.y, F), np.ones(len(A))])
        a, p = dpotrs(L, right).T
        b = a.sum() / p.sum() if grid.bias else 0.0
        a = a - b * p
        values = self.K[F, : F.start] @ a[: F.start] + self.K[F, F.stop :] @ a[F.start :] + b
        return float(np.square(grid.y[F] - values).sum())


class FoldSystems:
    """Conjugate gradients for ``P_FF e = alpha_F`` at all pairs of ridge and fold together.

    Vectors are (ridges, folds, n) and zero off their fold; ``squares`` are ``|x|^2`` (ridges, folds).
    """

    def __init__(
        self, factor: Factor, inside: Array, gammas: Array, along: Array, r: Array
    ) -> None:
        self.factor, self.inside, self.gammas, self.along = factor, inside, gammas, along
        self.r, self.d, self.x = r, r.copy(), np.zeros_like(r)
        self.rr = np.square(r).sum(axis=-1)
        self.squares = np.zeros_like(self.rr)

    @classmethod
    def of(cls, bounds: SquareBounds, factor: Factor, gammas: Array) -> FoldSystems:
        """Start at zero, where the residual is alpha on the fold."""
        grid, (ridges, folds) = bounds.grid, gammas.shape
        inside = np.zeros((folds, grid.n))
        for one, F in zip(inside, grid.slices, strict=True):
            one[F] = 1.0
        every, place = np.unique(gammas.ravel(), return_inverse=True)
        alpha, along = bounds._fit(factor, every)
        shape = ridges, folds, grid.n
        return cls(
            factor,
            inside,
            gammas,
            along[place].reshape(shape),
            alpha[place].reshape(shape) * inside,
        )

    def step(self) -> None:
        """Take one step for every pair; a pair that has arrived stays."""
        shape = self.d.shape
        rows = self.d.reshape(-1, shape[-1])
        Ad = self.factor.solve(self.gammas.ravel(), rows).reshape(shape)
        Ad -= self.along * np.einsum("rfn,rfn->rf", self.along, self.d)[..., None]
        Ad *= self.inside
        curvature = np.einsum("rfn,rfn->rf", self.d, Ad)
        length = np.divide(self.rr, curvature, out=np.zeros_like(curvature), where=curvature > 0)
        self.x += length[..., None] * self.d
        self.r -= length[..., None] * Ad
        rr = np.square(self.r).sum(axis=-1)
        ratio = np.divide(rr, self.rr, out=np.zeros_like(rr), where=self.rr > 0)
        self.d *= ratio[..., None]
        self.d += self.r
        self.rr = rr
        self.squares = np.square(self.x).sum(axis=-1)

    def keep(self, ridges: Array) -> None:
        """Drop the other ridges."""
        for name in ("gammas", "along", "r", "d", "x", "rr", "squares"):
            setattr(self, name, getattr(self, name)[ridges])


def judge(
    kernel: int, K: Array, grid: FoldedGrid, best: BestPair, factorise: Callable[[Array], Factor]
) -> None:
    """Settle the ridges of one kernel that the bounds leave; K is in fold order."""
    found = SquareBounds(K, grid, factorise)
    bounds = found.untrained()
    left = np.argsort(grid.lams, kind="stable")
    left = left[bounds[left].sum(axis=1) <= best.limit]
    if not len(left):
        return
    best.count(kernels_fitted=1)
    if best.near(kernel) == 0:
        first = left[:1]  # the training loss of all others is larger
        bounds[first] = np.maximum(
            bounds[first], found.trained(CholeskyFactor(K, factorise), first)
        )
        if bounds[first].sum() > best.limit:
            best.leave(kernel, 0)
            return
    factor = factorise(K)
    bounds[left] = np.maximum(bounds[left], found.trained(factor, left))
    left = left[bounds[left].sum(axis=1) <= best.limit]
    best.leave(kernel, len(left))
    if len(left):
        left = found.raise_bounds(factor, left, bounds, lambda: best.limit)
    del factor
    for ridge in sorted(left.tolist(), key=lambda i: (float(bounds[i].sum()), i)):
        best.try_folds(kernel, Candidate(ridge, bounds[ridge], bounds[ridge]), found.loss)


def without(K: Array, F: slice) -> Array:
    """Return a copy of K without the rows and columns of a fold."""
    start, end, n = F.start, F.stop, len(K)
    A: Array = np.empty((n - end + start, n - end + start))
    A[:start, :start], A[:start, start:] = K[:start, :start], K[:start, end:]
    A[start:, :start], A[start:, start:] = K[end:, :start], K[end:, end:]
    return A


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
