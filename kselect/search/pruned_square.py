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
from functools import partial

import numpy as np

from kselect.errors import TrialError
from kselect.learners.factor import Factor, factorise
from kselect.learners.fold_solves import FoldSolver, SharedFits, solve_all
from kselect.learners.tridiagonal import FORMED, REDUCED, CholeskyFactor
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import EPS, Array, Index, row_sizes
from kselect.search.fold_systems import FoldSystems
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
from kselect.search.retraining import Retraining

# Rounding may raise a bound above the residual that it bounds by this share, and by this many roundings times the
# condition number.
ROUNDING, STEPS = 1e-9, 64.0
# Up to this number of ridges, Cholesky factors are cheaper than the tridiagonal form.
FEW = 4
# The same if blocks are asked for, which take the inverse.
FEW_BLOCKS = 2
# A factor of K without a fold rounds its predictions by about eps times the condition number; above this share, the
# blocks of the folds settle a ridge.
DOUBT = 1e-9
# Conjugate gradients end after this many steps, or where a step raises a bound by less than this share.
MOST, AT_END = 12, 0.01
# The number of iterations that settle most pairs.
TYPICAL = 5.0
# The time of numpy's calls for all rows, in operations per n^2.
CALLS = 40.0


class SquareBounds:
    """Bounds and exact losses of one kernel matrix, whose rows are in fold order."""

    def __init__(self, K: Array, grid: FoldedGrid) -> None:
        self.K, self.grid = K, grid
        self.gammas = grid.gammas(1.0)
        self.known: dict[float, tuple[Array, Array]] = {}

    def untrained(self) -> Array:
        """Return ``sum_F max(0, |y - b| - |f - b|)^2`` (ridges, folds), with ``|f - b|`` bounded above.

        A bias b is known up to a shift: it is near the mean of the training rows. (Not for weighted rows.)
        """
        grid, least = self.grid, self.gammas.least
        out = np.zeros((len(grid.lams), len(grid.sizes)))
        if grid.bias and grid.weighted:
            return out
        diagonal = np.diagonal(self.K)
        sums = row_sizes(self.K) - np.abs(diagonal)
        if sums.sum() > FAR * grid.n:
            return out  # only the largest ridges would be bounded, which a factor does better
        share = unevenness(diagonal, sums, least) if grid.bias else np.zeros(len(least))
        known = np.isfinite(share)
        if not known.any():
            return out
        others = np.abs(self.K)
        np.fill_diagonal(others, 0.0)
        gammas = GammaRange(least[known], self.gammas.most[known])
        for y in grid.targets:
            if grid.bias:
                spread, deviation = around_means(y, grid)
                shift = share[known] * deviation
                own = np.repeat(np.arange(len(grid.sizes)), grid.sizes)
                size, bounded = spread[own, np.arange(grid.n)], spread.max(axis=0)[:, None] + shift
            else:
                size, shift, bounded = np.abs(y), share[known], np.abs(y)[:, None]
            f = largest_fits(others, diagonal, grid.slices, bounded, gammas)
            error = np.maximum(0.0, size - shift[:, None] - f.T)
            out[known] += grid.by_fold(np.square(error)) / len(grid.targets)
        return out

    def trained(self, factor: Factor, ridges: Index) -> Array:
        """Return lower bounds (ridges, folds) from the fit on all rows."""
        grid, gammas = self.grid, self.gammas.least[ridges]
        alpha, _ = self.fit(factor, gammas)
        residual = gammas[:, None, None] * alpha
        square_norm = (alpha * (grid.targets - residual)).sum(axis=-1).mean(axis=1)
        spread = np.outer(grid.lams[ridges] * square_norm, grid.more_rows)
        trust = self._trust(factor, ridges)[:, None]
        squares = grid.by_fold(np.square(residual)).mean(axis=1)
        return np.asarray(trust * squares - (2.0 - trust) * spread)

    def fit(self, factor: Factor, gammas: Array) -> tuple[Array, Array]:
        """Return ``alpha = P y`` (ridges, targets, n), and ``p / sqrt(1^T p)`` (ridges, n), 0 without a bias.

        Solutions are kept by ridge, and new ones are found together.
        """
        new = np.array(sorted({*gammas.tolist()} - self.known.keys()))
        if len(new):
            targets, ones = self.grid.targets, self.grid.ones
            fits = solve_all(factor, new, targets, self.grid.bias, ones, together=True)
            alpha, along = fits.alpha.swapaxes(0, 1), fits.q
            self.known |= dict(zip(new.tolist(), zip(alpha, along, strict=True), strict=True))
        found = [self.known[gamma] for gamma in gammas.tolist()]
        return np.array([alpha for alpha, _ in found]), np.array([q for _, q in found])

    def _shared(self, factor: Factor, gammas: Array) -> SharedFits:
        """Return the same, without the biases, as the blocks of the folds take it."""
        alpha, along = self.fit(factor, gammas)
        alpha = alpha.swapaxes(0, 1)
        return SharedFits(gammas, alpha, np.zeros(alpha.shape[:2]), along)

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

    def systems(self, factor: Factor, ridges: Index) -> FoldSystems:
        """Return the systems of all pairs of ridge and fold, whose right-hand sides are alpha on the fold."""
        grid = self.grid
        gammas = grid.fold_gammas(ridges)
        every, place = np.unique(gammas, return_inverse=True)
        alpha, along = self.fit(factor, every)
        pairs = [
            (alpha[mine][..., F], along[mine][..., F])
            for mine, F in zip(place.reshape(gammas.shape).T, grid.slices, strict=True)
        ]
        r, q = (np.concatenate(parts, axis=-1) for parts in zip(*pairs, strict=True))
        return FoldSystems(factor, grid, gammas, q[:, None], r)

    def raise_bounds(self, factor: Factor, ridges: Index, bounds: Array, best: BestPair) -> Index:
        """Raise bounds (ridges, folds) by conjugate gradients, and return the ridges that they leave."""
        systems = self.systems(factor, ridges)
        trust, left = self._trust(factor, ridges), np.arange(len(ridges))
        for _ in range(MOST):
            systems.step()
            squares = trust[left, None] * systems.squares
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

    def solve_blocks(self, factor: Factor, ridges: Index, bounds: Array, best: BestPair) -> Index:
        """Raise bounds (ridges, folds) to the losses, fold by fold, from blocks that all targets share.

        Return the ridges that they leave.
        """
        grid, left = self.grid, ridges
        trust = np.zeros(len(grid.lams))
        trust[ridges] = self._trust(factor, ridges)
        for fold, F in enumerate(grid.slices):
            fits = self._shared(factor, grid.fold_gammas(left)[:, fold])
            own = Folds((np.arange(F.start, F.stop),))
            try:
                errors, _ = FoldSolver(self.K, factor, grid.bias, own).by_blocks(
                    {len(own.members[0]): fits}
                )
            except TrialError:  # a block is singular; the bounds hold as they are
                return left
            squares = trust[left] * np.square(errors[..., F]).sum(axis=-1).mean(axis=0)
            bounds[left, fold] = np.maximum(bounds[left, fold], squares)
            left = left[bounds[left].sum(axis=1) <= best.limit]
            if not len(left):
                break
        return left

    def settle_doubtful(self, factor: Factor, kernel: int, ridges: Index, best: BestPair) -> Index:
        """Settle the ridges whose condition number hides differences of scores, and return the others.

        There the blocks of the folds round less than training without each fold, and as the grid search does, which
        has eigenvectors of few rows. A singular block leaves its ridge.
        """
        grid, known = self.grid, self
        least = grid.fold_gammas(ridges).min(axis=1)
        doubt = EPS * factor.largest > DOUBT * (least + factor.least)
        if doubt.any() and grid.n < REDUCED:
            known, factor = SquareBounds(self.K, grid), factorise(self.K)
        left = [*ridges[~doubt].tolist()]
        for ridge in ridges[doubt].tolist():
            values = np.empty_like(grid.targets)
            try:
                for fold, F in enumerate(grid.slices):
                    fits = known._shared(factor, grid.fold_gammas(np.array([ridge]))[:, fold])
                    own = Folds((np.arange(F.start, F.stop),))
                    solver = FoldSolver(self.K, factor, grid.bias, own)
                    values[:, F] = solver.by_blocks({len(own.members[0]): fits})[0][:, 0, F]
            except TrialError:
                left.append(ridge)
                continue
            best.count(pairs=1, folds=len(grid.sizes))
            total = float(np.square(values).sum(axis=1).mean())
            best.settle(kernel, ridge, total, (grid.targets - values) / grid.ones)
        return np.array(sorted(left), dtype=np.intp)

    def _trust(self, factor: Factor, ridges: Index) -> Array:
        """Return the share of a computed square, per ridge, that rounding cannot have added."""
        least = self.grid.fold_gammas(ridges).min(axis=1)
        condition = (factor.largest + least) / (factor.least + least)
        share: Array = 1.0 - ROUNDING - STEPS * EPS * self.grid.n * condition
        return np.maximum(share, 0.0)


def judge(
    kernel: int,
    K: Array,
    grid: FoldedGrid,
    best: BestPair,
    make: Callable[[bool, Array], Factor],
    known: Array | None = None,
) -> None:
    """Settle the ridges of one kernel that the bounds leave; K is in fold order.

    ``make`` returns the factor of a matrix; its first argument is whether blocks will be asked for. ``known`` are
    lower bounds (ridges, folds) that an earlier step has found.
    """
    blocks = shares_blocks(grid)
    many = blocks and grid.n >= REDUCED  # else there are too few rows for compiled code
    factorised = partial(make, many)
    found = SquareBounds(K, grid)
    bounds = found.untrained() if known is None else known
    left = np.argsort(grid.lams, kind="stable")
    left = left[bounds[left].sum(axis=1) <= best.limit]
    if not len(left):
        return
    best.count(kernels_fitted=1)
    near = best.near(kernel)
    most = FEW_BLOCKS if blocks else FEW
    few = len(left) <= most or (near is not None and near < most)
    factor: Factor = CholeskyFactor(K, factorised) if few else factorised(K)
    kept = found.smallest(factor, left, bounds, best) if few else None
    if kept is None:  # there are more than a few
        factor = factorised(K) if few else factor
        factor.blocks_expected = many
        found.fit(factor, np.append(found.gammas.least[left], grid.fold_gammas(left)))
        bounds[left] = np.maximum(bounds[left], found.trained(factor, left))
        kept = left[bounds[left].sum(axis=1) <= best.limit]
    best.leave(kernel, len(kept))
    if len(kept):
        way = found.solve_blocks if blocks else found.raise_bounds
        kept = found.settle_doubtful(factor, kernel, way(factor, kept, bounds, best), best)
    del factor
    fits = Retraining(K, grid)
    for ridge in sorted(kept.tolist(), key=lambda i: (float(bounds[i].sum()), i)):
        best.try_folds(kernel, Candidate(ridge, bounds[ridge], bounds[ridge]), fits.loss, fits.held)


def shares_blocks(grid: FoldedGrid) -> bool:
    """Return whether blocks, which all targets share, are cheaper than iterations, which each target needs.

    The operations of both, per n^2 and per ridge: two products with Q for every target in each of a few
    iterations; or blocks of all folds. If Q has reflectors else, every fold needs the rows of all folds, and blocks
    need Q. Without compiled code, blocks take calls of numpy for every row.
    """
    n, folds, targets = grid.n, len(grid.sizes), len(grid.targets)
    iterations, blocks = 4.0 * TYPICAL * targets, n / folds
    if n < REDUCED:
        blocks += CALLS
    elif n >= FORMED:
        iterations *= folds
        blocks += n * 4.0 / 3.0 / len(grid.lams)
    return targets > 1 and iterations > blocks


def around_means(y: Array, grid: FoldedGrid) -> tuple[Array, float]:
    """Return ``|y - mean|`` (folds, n), the mean of the training rows, and its largest mean over these rows."""
    means = (y.sum() - grid.by_fold(y)) / (grid.n - grid.sizes)
    spread = np.abs(y - means[:, None])
    return spread, float(spread.mean(axis=1).max()) * grid.n / (grid.n - int(grid.sizes.max()))


def unevenness(diagonal: Array, sums: Array, gammas: Array) -> Array:
    r"""Return how far a bias may be from the mean of its training rows, in mean deviations (ridges,).

    ``b = p^T y / (p^T 1)`` with ``(K_TT + gamma I) p = 1``. If every diagonal entry d_j exceeds the sum R_j of the
    others in its row (``sums``), ``p_j <= hi = 1 / min(d - R)`` and ``p_j >= (1 - R_j hi) / d_j``. Positive weights
    within a share e of each other move a mean by at most ``e / (1 - e)`` of the mean deviation. Without such
    weights this is infinite.
    """
    diagonal = diagonal + gammas[:, None]
    least = (diagonal - sums).min(axis=1)
    known = np.flatnonzero(least > 0)
    low = ((1.0 - sums / least[known, None]) / diagonal[known]).min(axis=1)
    known, low = known[low > 0], low[low > 0]
    e = (1.0 - least[known] * low) / (1.0 + least[known] * low)
    share = np.full(len(gammas), np.inf)
    share[known] = e / (1.0 - e)
    return share


def largest_fits(
    others: Array, diagonal: Array, folds: Sequence[slice], size: Array, gammas: GammaRange
) -> Array:
    r"""Return upper bounds (n, ridges) of ``|f_i|`` at held-out rows, without the bias.

    ``others`` is ``|K|`` with zeros in place of its ``diagonal``; ``size`` (n, ridges or 1) bounds ``|y|``, less
    the bias. ``(K_TT + gamma I) alpha = y`` gives ``|alpha_j| <= |y| / gamma``. With b an upper bound of
    ``|alpha|``,

        b_j = (|y_j| + sum_{l != j} |K_jl| b_l) / (K_jj + gamma),   |f_i| <= sum_{j in T} |K_ij| b_j

    A few rounds tighten b, since the kernel matrix is nearly diagonal.
    """
    bound = np.tile(np.linalg.norm(size, axis=0) / gammas.least, (len(others), 1))
    own = diagonal[:, None] + gammas.least
    for _ in range(ROUNDS):
        tighter = (size + others @ bound) / own
        still = bool((bound - tighter <= AT_REST * bound).all())
        bound = np.minimum(bound, tighter)
        if still:
            break
    return without_own_fold(others, bound, folds)
