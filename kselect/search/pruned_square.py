r"""Bounds for kernel ridge regression and the LSSVM with the squared loss, for the pruned search.

Let f be the fit on all rows at ``gamma = lam min_F (n - m_F)``, and ``gamma_F >= gamma`` the ridge without the
fold F, with or without a bias:

    sum_F (y - f_{-F})^2 >= sum_F (y - f)^2 - (gamma_F - gamma) ||f||^2

This bound is cheap, but it is close to zero if f interpolates. The exact residual e solves ``P_FF e = alpha_F``,
and P_FF is positive definite. The iterates of conjugate gradients from zero grow in length towards e, so that each
of them is a lower bound of |e|. An iteration takes two products with Q for all open pairs of fold and ridge
together, without any block; a few of them settle nearly every pair. The training loss rises with the ridge: one
Cholesky factor for each ridge, from the smallest one on, is cheaper where a neighbouring kernel had few ridges
left.

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
# Up to this number of ridges, Cholesky factors are cheaper than the tridiagonal form.
FEW = 4
# Conjugate gradients end after this many steps, or where a step raises a bound by less than this share.
MOST, AT_END = 12, 0.01


class SquareBounds:
    """Bounds and exact losses of one kernel matrix, whose rows are in fold order."""

    def __init__(self, K: Array, grid: FoldedGrid) -> None:
        self.K, self.grid = K, grid
        self.gammas = grid.gammas(1.0)
        self.known: dict[float, tuple[Array, Array]] = {}

    def untrained(self) -> Array:
        """Return ``sum_F max(0, |y - b| - |f - b|)^2`` (ridges, folds), with ``|f - b|`` bounded above.

        A bias b is known up to ``shift``: it is near the mean of the training rows.
        """
        grid, least = self.grid, self.gammas.least
        if not grid.bias:
            size, shift, bounded = np.abs(grid.y), np.zeros(len(least)), np.abs(grid.y)[:, None]
        else:
            shift, spread = bias_shifts(self.K, grid, least)
            if not np.isfinite(shift).any():
                return np.zeros((len(grid.lams), len(grid.sizes)))
            own = np.repeat(np.arange(len(grid.sizes)), grid.sizes)
            size, bounded = spread[own, np.arange(grid.n)], spread.max(axis=0)[:, None] + shift
        known = np.isfinite(shift)
        gammas = GammaRange(least[known], self.gammas.most[known])
        inside = bounded if not grid.bias else bounded[:, known]
        f = largest_fits(self.K, grid.slices, inside, gammas)
        out = np.zeros((len(grid.lams), len(grid.sizes)))
        error = np.maximum(0.0, size - shift[known, None] - f.T)
        out[known] = grid.by_fold(np.square(error))
        return out

    def trained(self, factor: Factor, ridges: Index) -> Array:
        """Return lower bounds (ridges, folds) from the fit on all rows."""
        grid, gammas = self.grid, self.gammas.least[ridges]
        alpha, _ = self.fit(factor, gammas)
        residual = gammas[:, None] * alpha
        square_norm = np.einsum("ij,ij->i", alpha, grid.y - residual)
        spread = np.outer(grid.lams[ridges] * square_norm, grid.more_rows)
        return np.asarray(grid.by_fold(np.square(residual)) - spread)

    def fit(self, factor: Factor, gammas: Array) -> tuple[Array, Array]:
        """Return ``alpha = P y`` and ``p / sqrt(1^T p)``, which is 0 without a bias, for every ridge.

        Solutions are kept by ridge, and new ones are found together.
        """
        new = np.array(sorted({*gammas.tolist()} - self.known.keys()))
        if len(new):
            right = [self.grid.y, np.ones(self.grid.n)][: 1 + self.grid.bias]
            rows = np.repeat(right, len(new), axis=0)
            parts = np.split(factor.solve(np.tile(new, len(right)), rows), len(right))
            alpha, along = parts[0], np.zeros_like(parts[0])
            if self.grid.bias:
                along = parts[1] / np.sqrt(parts[1].sum(axis=1))[:, None]
                alpha -= along * (along @ self.grid.y)[:, None]
            self.known |= dict(zip(new.tolist(), zip(alpha, along, strict=True), strict=True))
        found = [self.known[gamma] for gamma in gammas.tolist()]
        return np.array([one for one, _ in found]), np.array([one for _, one in found])

    def smallest(
        self, factor: Factor, ridges: Index, bounds: Array, best: BestPair
    ) -> Index | None:
        """Return the ascending ridges up to the first that its training loss drops; None if these are many.

        The training loss of every larger ridge is larger.
        """
        for position in range(len(ridges)):
            if position > FEW:
                return None
            one = ridges[[position]]
            bounds[one] = np.maximum(bounds[one], self.trained(factor, one))
            if bounds[one].sum() > best.limit:
                return ridges[:position]
        return ridges

    def raise_bounds(self, factor: Factor, ridges: Index, bounds: Array, best: BestPair) -> Index:
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
            open_still = total <= best.limit
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
        alpha, along = bounds.fit(factor, every)
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
    kernel: int,
    K: Array,
    grid: FoldedGrid,
    best: BestPair,
    factorise: Callable[[Array], Factor],
    known: Array | None = None,
) -> None:
    """Settle the ridges of one kernel that the bounds leave; K is in fold order.

    ``known`` are lower bounds (ridges, folds) that an earlier step has found.
    """
    found = SquareBounds(K, grid)
    bounds = found.untrained() if known is None else known
    left = np.argsort(grid.lams, kind="stable")
    left = left[bounds[left].sum(axis=1) <= best.limit]
    if not len(left):
        return
    best.count(kernels_fitted=1)
    near = best.near(kernel)
    few = len(left) <= FEW or (near is not None and near < FEW)
    factor: Factor = CholeskyFactor(K, factorise) if few else factorise(K)
    kept = found.smallest(factor, left, bounds, best) if few else None
    if kept is None:  # there are more than a few
        factor = factorise(K) if few else factor
        factor.blocks_expected = False
        found.fit(factor, np.append(found.gammas.least[left], grid.fold_gammas(left)))
        bounds[left] = np.maximum(bounds[left], found.trained(factor, left))
        kept = left[bounds[left].sum(axis=1) <= best.limit]
    best.leave(kernel, len(kept))
    if len(kept):
        kept = found.raise_bounds(factor, kept, bounds, best)
    del factor
    for ridge in sorted(kept.tolist(), key=lambda i: (float(bounds[i].sum()), i)):
        best.try_folds(kernel, Candidate(ridge, bounds[ridge], bounds[ridge]), found.loss)


def without(K: Array, F: slice) -> Array:
    """Return a copy of K without the rows and columns of a fold."""
    start, end, n = F.start, F.stop, len(K)
    A: Array = np.empty((n - end + start, n - end + start))
    A[:start, :start], A[:start, start:] = K[:start, :start], K[:start, end:]
    A[start:, :start], A[start:, start:] = K[end:, :start], K[end:, end:]
    return A


def bias_shifts(K: Array, grid: FoldedGrid, gammas: Array) -> tuple[Array, Array]:
    r"""Return how far a bias may be from the mean of its training rows (ridges,), and ``|y - mean|`` (folds, n).

    ``b = p^T y / (p^T 1)`` with ``(K_TT + gamma I) p = 1``. If every diagonal entry d_j exceeds the sum R_j of its
    row, ``p_j <= hi = 1 / min(d - R)`` and ``p_j >= (1 - R_j hi) / d_j``. Positive weights within a share e of each
    other move a mean by at most ``e / (1 - e)`` of the mean deviation. Without such weights a shift is infinite.
    """
    means = (grid.y.sum() - grid.by_fold(grid.y)) / (grid.n - grid.sizes)
    spread = np.abs(grid.y - means[:, None])
    deviation = float(spread.mean(axis=1).max()) * grid.n / (grid.n - int(grid.sizes.max()))
    diagonal = np.diagonal(K) + gammas[:, None]
    sums = np.abs(K).sum(axis=1) - np.abs(np.diagonal(K))
    shift = np.full(len(gammas), np.inf)
    for i, d in enumerate(diagonal):
        least = float((d - sums).min())
        low = float(((1.0 - sums / least) / d).min()) if least > 0 else 0.0
        if low > 0:
            e = (1.0 - least * low) / (1.0 + least * low)
            shift[i] = e / (1.0 - e) * deviation
    return shift, spread


def largest_fits(K: Array, folds: Sequence[slice], size: Array, gammas: GammaRange) -> Array:
    r"""Return upper bounds (n, ridges) of ``|f_i|`` at held-out rows, without the bias.

    ``size`` (n, ridges or 1) bounds ``|y|``, less the bias. ``(K_TT + gamma I) alpha = y`` gives
    ``|alpha_j| <= |y| / gamma``. With b an upper bound of ``|alpha|``,

        b_j = (|y_j| + sum_{l != j} |K_jl| b_l) / (K_jj + gamma),   |f_i| <= sum_{j in T} |K_ij| b_j

    A few rounds tighten b if the kernel matrix is nearly diagonal.
    """
    others = np.abs(K)
    diagonal = np.diagonal(K)[:, None] + gammas.least
    np.fill_diagonal(others, 0.0)
    bound = np.tile(np.linalg.norm(size, axis=0) / gammas.least, (len(K), 1))
    if others.sum() <= FAR * len(K):
        for _ in range(ROUNDS):
            tighter = (size + others @ bound) / diagonal
            still = bool((bound - tighter <= AT_REST * bound).all())
            bound = np.minimum(bound, tighter)
            if still:
                break
    return without_own_fold(others, bound, folds)
