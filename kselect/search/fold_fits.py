r"""FLKL's inner minima on the training parts of all folds, and how the held-out errors change with (lam, mu).

Implicit differentiation of the inner optimum among the free widths gives

    d theta / d log lam = -H^{-1} (g_data + lam^2 U^T P alpha),    d theta / d log mu = -H^{-1} mu theta
    d alpha = -P c,  d b = -p^T c / (1^T p),  c = lam alpha d log lam + U d theta

A fold follows its minimum along this tangent. If the minimum ceases to exist, the search ends in another one: a
change of branch, at which the held-out errors jump.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from kselect.kernels.widths import KernelWidths
from kselect.learners.lssvm_errors import LSSVMSolution, as_columns
from kselect.numerics.linalg import Array, Index
from kselect.search.continuous import State
from kselect.search.first_level import Inner, InnerPoint, settle

# The widths are near enough to the minimum if the next step would be this share of them. That step is made in the
# errors only, which leaves a share of 1e-8 of the objective mostly, and 5e-6 at most (heart, twonorm, waveform).
NEAR = 3e-3
# While the outer search still takes long steps, a fold's widths may be farther from their minimum than NEAR: by
# this share of the step.
ON_THE_WAY = 0.05
# The largest factor by which the tangent changes a width at once, as a logarithm.
FARTHEST = 3.0
# The largest factor by which the widths of one minimum change at once, and the size of a correction, relative to
# the widths, that is small whatever was predicted.
CHANGE = 3.0
SMALL = 0.05
# The shortest part of a step along which a minimum is followed before it counts as lost.
SHORTEST = 1.0 / 32.0


@dataclass(frozen=True, eq=False)
class FoldProblem:
    """The inner problem on the rows outside a fold, and the fold's rows.

    ``ones`` are the roots of the weights of both, if the rows have weights.
    """

    widths: KernelWidths
    across: KernelWidths
    y: Array
    targets: Array
    ones: tuple[Array, Array] | None = None

    @classmethod
    def of(
        cls, widths: KernelWidths, y: Array, held: Index, roots: Array | None = None
    ) -> FoldProblem:
        """Divide the rows for one fold."""
        rest = np.delete(np.arange(len(y)), held)
        ones = None if roots is None else (roots[rest], roots[held])
        return cls(widths.part(rest, rest), widths.part(held, rest), y[rest], y[held], ones)

    def inner(self, u: Array) -> Inner:
        """Return the inner problem at ``u = (log lam, log mu)``."""
        own = None if self.ones is None else self.ones[0]
        return Inner(self.widths, self.y, float(np.exp(u[0])), float(np.exp(u[1])), own)

    def spread(self, bias: Array) -> Array:
        """Return what a bias, or several, adds to the fitted values of the fold's rows: bias times ones."""
        return bias if self.ones is None else np.multiply.outer(self.ones[1], bias)

    def errors(self, across: Array, solution: LSSVMSolution) -> Array:
        """Return ``y - f`` on the fold's rows, whose kernel with the other rows is ``across``."""
        return np.asarray(self.targets - across @ solution.alpha - self.spread(solution.bias))

    def fit(self, u: Array, start: Array, near: float = NEAR) -> FoldFit:
        """Return the inner minimum that a start leads to, with its errors and their derivatives."""
        found = settle(self.inner(u), start, near)
        moves = tangent(found.point)
        errors, moving = held_out(self, found.point, np.column_stack([moves, found.pending]))
        return FoldFit(
            *(self, u, found.theta, moves, errors + moving[:, 2], moving[:, :2]),
            *(found.state, found.straight, found.evaluations, found.unmade),
        )


@dataclass(frozen=True, eq=False)
class FoldFit:
    """An inner minimum of a fold; ``jumped`` if it does not continue the minimum that it was followed from.

    It keeps no matrices, so that the next fit can use their memory. ``tangent`` is ``d theta / d (log lam, log
    mu)``, ``errors`` are ``y - f`` on the fold's rows, ``jacobian`` their derivatives. Widths and errors are those
    after the last move; ``unmade`` is the length of this move relative to the widths.
    """

    problem: FoldProblem
    u: Array
    theta: Array
    tangent: Array
    errors: Array
    jacobian: Array
    state: State
    straight: bool
    evaluations: int
    unmade: float
    jumped: bool = False

    def sharper(self, near: float) -> FoldFit:
        """Return the same minimum, searched again if the last move was longer than ``near``; reset the counts."""
        if self.unmade > near:
            return self.problem.fit(self.u, self.theta, near)
        return replace(self, evaluations=0, jumped=False)

    def ahead(self, s: Array) -> Array:
        """Return the widths at ``u + s`` along the tangent, followed in logarithms so that they stay positive."""
        found = self.theta.copy()
        positive = found > 0.0
        logs = (self.tangent @ s)[positive] / found[positive]
        found[positive] *= np.exp(np.clip(logs, -FARTHEST, FARTHEST))
        return found


def held_out(fold: FoldProblem, point: InnerPoint, moves: Array) -> tuple[Array, Array]:
    """Return the errors at a point, and their change with log lam, with log mu and with the last move, as columns.

    ``moves`` are the three moves of the widths; only free widths move. The errors are stacked target by target.
    """
    solution, free, lam = point.solution, moves[point.free], point.problem.lam
    dual = point.pulled[:, 1:] @ free
    dual[:, 0] += lam * point.pulled[:, 0]
    change = point.U[:, point.free] @ free
    change[:, 0] += lam * point.alpha
    across = fold.across.gram(point.theta)
    errors = fold.errors(across, solution)
    alphas = as_columns(solution.alpha).T
    parts = zip(alphas, *(np.split(A, len(alphas)) for A in (dual, change)), strict=True)
    moving = [
        across @ by_dual
        + fold.spread(solution.biases(by_bias))
        + fold.across.moments(across, alpha).applied @ moves
        for alpha, by_dual, by_bias in parts
    ]
    return as_columns(errors).T.ravel(), np.concatenate(moving)


def tangent(point: InnerPoint) -> Array:
    """Return ``d theta / d (log lam, log mu)`` along the branch of inner minima, (widths, 2)."""
    free, lam = point.free, point.problem.lam
    by_lam = point.data_gradient[free] + lam**2 * (point.U[:, free].T @ point.pulled[:, 0])
    by_mu = point.problem.mu * point.theta[free]
    model = point.model
    right = model.axes.T @ np.column_stack([by_lam, by_mu])
    moves = np.zeros((len(point.theta), 2))
    moves[free] = -model.axes @ (right / model.curvatures[:, None])
    return moves


def follow_all(fits: Sequence[FoldFit], s: Array, near: float = NEAR) -> tuple[FoldFit, ...]:
    """Follow the minima of all folds to ``u + s``.

    The folds share most of their rows, so that their minima bend alike. Each fold starts from the end of its
    tangent with the mean correction, in logarithms, of the folds before it.
    """
    found: list[FoldFit] = []
    bends: list[Array] = []
    for fit in fits:
        bend = np.mean(bends, axis=0) if bends else np.zeros_like(fit.theta)
        there = follow(fit, s, bend, near)
        found.append(there)
        if not there.jumped:
            bends.append(between(fit.ahead(s), there.theta))
    return tuple(found)


def between(ahead: Array, theta: Array) -> Array:
    """Return ``log(theta / ahead)``, zero for a width that has left its bound or reached it."""
    both = (ahead > 0.0) & (theta > 0.0)
    ratio = np.divide(theta, ahead, out=np.ones_like(theta), where=both)
    return np.asarray(np.log(np.where(both, ratio, 1.0)))


def follow(fit: FoldFit, s: Array, bend: Array | float = 0.0, near: float = NEAR) -> FoldFit:
    """Follow one minimum to ``u + s``: in one leap, or else in parts, each halved if its leap may lose the minimum.

    ``bend`` is the expected correction of the tangent's end, in logarithms. If the shortest part fails too, the
    minimum is lost and the direct fit is returned.
    """
    direct, same = leap(fit, s, bend, near)
    if same:
        return direct
    here, done, part, used = fit, 0.0, 0.5, direct.evaluations
    while done < 1.0:
        part = min(part, 1.0 - done)
        there, same = leap(here, part * s, near=near)
        used += there.evaluations
        if same:
            here, done = there, done + part
        elif part <= SHORTEST:
            return replace(direct, evaluations=used, jumped=True)
        else:
            part *= 0.5
    return replace(here, evaluations=used)


def leap(
    fit: FoldFit, s: Array, bend: Array | float = 0.0, near: float = NEAR
) -> tuple[FoldFit, bool]:
    """Return the fit from the end of the tangent, and whether it is certainly the same minimum.

    It is the same if Newton made only a small correction, in whole steps, and the widths did not change too much.
    """
    ahead = fit.ahead(s)
    found = fit.problem.fit(fit.u + s, ahead * np.exp(bend), near)
    old, new = fit.theta, found.theta
    sizes = np.linalg.norm(old), np.linalg.norm(new)
    moved = np.linalg.norm(new - old)
    small = bool(np.linalg.norm(new - ahead) <= 0.5 * moved + SMALL * max(sizes))
    alike = bool(sizes[0] <= CHANGE * sizes[1] and sizes[1] <= CHANGE * sizes[0])
    return found, found.straight and alike and small


@dataclass(frozen=True, eq=False)
class FoldFits:
    """The fits of all folds at one (lam, mu), with the residuals of the outer search."""

    fits: tuple[FoldFit, ...]

    @cached_property
    def errors(self) -> Array:
        """The errors, fold after fold."""
        return np.concatenate([fit.errors for fit in self.fits])

    @cached_property
    def jacobian(self) -> Array:
        """``d errors / d (log lam, log mu)``."""
        return np.concatenate([fit.jacobian for fit in self.fits])

    @property
    def theta(self) -> Array:
        """The mean of the folds' widths."""
        return np.asarray(np.mean([fit.theta for fit in self.fits], axis=0))

    @property
    def unmade(self) -> float:
        """The largest last move of a fold's widths that was made in the errors only, relative to the widths."""
        return max(fit.unmade for fit in self.fits)

    @property
    def jumps(self) -> int:
        """The number of folds that lost their minimum."""
        return sum(fit.jumped for fit in self.fits)


@dataclass(eq=False)
class Follower:
    """Follows the minima of all folds, and counts evaluations and jumps.

    ``near`` is the distance from its minimum that a fold may have in the end, ``rough`` the distance at the start
    and after a long step.
    """

    near: float = NEAR
    rough: float = NEAR
    evaluations: int = 0
    jumps: int = 0

    def __call__(self, u: Array, s: Array, here: FoldFits) -> FoldFits:
        """Return the fits at ``u + s``."""
        return self._count(follow_all(here.fits, s, self.after(s)))

    def after(self, s: Array) -> float:
        """Return how far a fold may be from its minimum after a step: the shorter the step, the nearer."""
        return max(self.near, min(self.rough, ON_THE_WAY * float(np.abs(s).max())))

    def first(self, folds: Sequence[FoldProblem], u: Array, theta: Array) -> FoldFits:
        """Return the fits at the start; each fold starts from the mean of those before it."""
        fits: list[FoldFit] = []
        for fold in folds:
            start = np.mean([fit.theta for fit in fits], axis=0) if fits else theta
            fits.append(fold.fit(u, start, self.rough))
        return self._count(fits)

    def sharper(self, found: FoldFits, near: float) -> FoldFits:
        """Bring all folds within ``near`` of their minimum, and keep that distance from now on."""
        self.near = self.rough = near
        return self._count([fit.sharper(near) for fit in found.fits])

    def _count(self, fits: Sequence[FoldFit]) -> FoldFits:
        """Count the evaluations and jumps of new fits."""
        found = FoldFits(tuple(fits))
        self.evaluations += sum(fit.evaluations for fit in fits)
        self.jumps += found.jumps
        return found
