r"""FLKL: the widths at the first level of inference, (lam, mu) by cross-validation (flkl2014, section 3).

The outer objective is the sum of squared k-fold errors of models whose widths minimise the regularised training
error of their own fold; it is minimised by Levenberg-Marquardt in ``(log lam, log mu)``. The start is RBF-XVAL's
solution with ``mu = -g^T theta / theta^T theta``, where RBF is stationary along its own direction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from kselect.core.method import Method
from kselect.kernels.widths import KernelWidths
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array
from kselect.search.continuous import FirstLevel, SecondLevel, State, Unit, require_targets
from kselect.search.first_level import Inner, Settled, settle
from kselect.search.held_out_fits import NEAR, Fold, FoldFit, follow_all
from kselect.search.kinds import Solutions, search_kind
from kselect.search.least_squares import Ended, least_squares
from kselect.search.quasi_newton import minimise_k_fold, rbf

# Where the search is still on its way a fold's widths may be farther from their minimum than NEAR: by this share of
# the way they were followed, and so far at the start. A single width bends alike in all folds, many do not.
ON_THE_WAY = 0.05
ROUGH_ONE, ROUGH_MANY = 0.04, 0.02
# A search that ends without having converged is followed by a second one, for which all fits are so near.
SHARP = 3e-4
# Where (lam, mu) may be, in the unit's features.
LIMITS = np.log([[1e-5, 1e3], [1e-6, 1e7]])


@dataclass(frozen=True, eq=False)
class FoldFits:
    """The fits of all folds at one (lam, mu): the residuals of the outer search."""

    fits: tuple[FoldFit, ...]

    @cached_property
    def errors(self) -> Array:
        """Fold after fold."""
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
        """The largest last move of a fold's widths that was made in the errors alone, as a share of them."""
        return max(fit.unmade for fit in self.fits)

    @property
    def jumps(self) -> int:
        """The folds whose minimum is another than the one they came from."""
        return sum(fit.jumped for fit in self.fits)


@dataclass(eq=False)
class Follower:
    """Moves all folds along their minima, and counts what that costs.

    ``near`` is how near to its minimum a fold is in the end, ``rough`` at the start and after a long step.
    """

    near: float = NEAR
    rough: float = NEAR
    evaluations: int = 0
    jumps: int = 0

    def __call__(self, u: Array, s: Array, here: FoldFits) -> FoldFits:
        """The fits at ``u + s``."""
        return self.counted(FoldFits(follow_all(here.fits, s, self.after(s))))

    def after(self, s: Array) -> float:
        """How near to its minimum a fold has to be after a step: the last ones are short."""
        return max(self.near, min(self.rough, ON_THE_WAY * float(np.abs(s).max())))

    def first(self, folds: Sequence[Fold], u: Array, theta: Array) -> FoldFits:
        """The fits at the start; each fold starts from the mean of those before it."""
        found = FoldFits(())
        for fold in folds:
            fit = fold.fit(u, found.theta if found.fits else theta, self.rough)
            found = FoldFits((*found.fits, fit))
        return self.counted(found)

    def sharper(self, found: FoldFits, near: float) -> FoldFits:
        """The same place, no fold farther from its minimum than ``near``; as all that follow."""
        self.near = self.rough = near
        return self.counted(FoldFits(tuple(fit.sharper(near) for fit in found.fits)))

    def counted(self, found: FoldFits) -> FoldFits:
        """The same fits."""
        self.evaluations += sum(fit.evaluations for fit in found.fits)
        self.jumps += found.jumps
        return found


def flkl(
    X: Array, y: Array, folds: Folds, *, ard: bool = True, start: SecondLevel | None = None
) -> FirstLevel:
    """FLKL with one width (RBF) or one per feature (ARD); ``start`` is RBF-XVAL's solution where it is at hand."""
    require_targets(X, y)
    unit = Unit.of(X)
    widths = unit.widths(ard=ard)
    u, theta = beginning(unit, widths, y, start or minimise_k_fold(X, y, folds))
    ended, follower, foreseen = outer(widths, y, folds, u, theta)
    final = settle(Inner(widths, y, *np.exp(ended.u).tolist()), foreseen, unseen=True)
    return summary(unit, ard, ended, final, follower)


def outer(
    widths: KernelWidths, y: Array, folds: Folds, u: Array, theta: Array
) -> tuple[Ended[FoldFits], Follower, Array]:
    """The search over ``(log lam, log mu)``, what it cost, and the widths that all rows are foreseen to have."""
    single = widths.size == 1
    follower = Follower(rough=ROUGH_ONE if single else ROUGH_MANY)
    begun = follower.first([Fold.of(widths, y, F) for F in folds.members], u, theta)
    ended = search(follower, u, begun)
    more = larger(theta, begun.theta) if single else 1.0
    return ended, follower, more * ended.point.theta


def search(follower: Follower, u: Array, begun: FoldFits) -> Ended[FoldFits]:
    """Levenberg-Marquardt; where it ended on its way, or steps broke their promise, once more with nearer fits."""
    ended = least_squares(follower, u, begun, LIMITS)
    if ended.point.unmade > NEAR:
        ended = once_more(follower, ended, NEAR)
    return ended if ended.state == "converged" else once_more(follower, ended, SHARP)


def once_more(follower: Follower, ended: Ended[FoldFits], near: float) -> Ended[FoldFits]:
    """The search from where one ended, with nearer fits; the steps of both."""
    again = least_squares(follower, ended.u, follower.sharper(ended.point, near), LIMITS)
    return replace(again, steps=ended.steps + again.steps)


def beginning(unit: Unit, widths: KernelWidths, y: Array, rbf: SecondLevel) -> tuple[Array, Array]:
    """``(log lam, log mu)`` and theta, from RBF-XVAL's solution.

    That may lie in the limit of a linear kernel, theta and lam both near zero, where mu has no bound: theta
    and lam times one factor fit nearly the same there, and the least power of ten that is inside the limits serves.
    """
    theta, lam = float(unit.inside(rbf.theta, 1)[0]), rbf.lam
    u = stationary(widths, y, np.full(widths.size, theta), lam)
    while u[1] > LIMITS[1, 1] and 10.0 * theta * widths.size <= 1.0:
        theta, lam = 10.0 * theta, 10.0 * lam
        u = stationary(widths, y, np.full(widths.size, theta), lam)
    return np.clip(u, *LIMITS.T), np.full(widths.size, theta)


def stationary(widths: KernelWidths, y: Array, theta: Array, lam: float) -> Array:
    """``(log lam, log mu)`` with ``mu = -g^T theta / theta^T theta``; minus infinity where no mu balances g."""
    pull = Inner(widths, y, lam, 0.0).at(theta).gradient
    mu = max(0.0, -float(pull @ theta) / float(theta @ theta))
    return np.array([np.log(lam), np.log(mu) if mu else -np.inf])


def larger(theta: Array, folds: Array) -> float:
    """How much larger the width of all rows is than the folds': at the start RBF's is a minimum as it is."""
    return float(theta[0] / folds[0]) if folds[0] > 0.0 else 1.0


def summary(
    unit: Unit, ard: bool, ended: Ended[FoldFits], final: Settled, follower: Follower
) -> FirstLevel:
    """What was found, in the units of the features that came in."""
    problem = final.point.problem
    errors = ended.point.errors
    return FirstLevel(
        theta=unit.outside(final.theta, ard=ard),
        lam=problem.lam,
        mu=problem.mu * unit.square**2,
        objective=float(errors @ errors) / len(errors),
        state=ending(ended, final),
        evaluations=follower.evaluations + final.evaluations,
        steps=ended.steps,
        jumps=follower.jumps,
    )


def ending(ended: Ended[FoldFits], final: Settled) -> State:
    """How it ended: a step that would have gone on but for a change of branch is named before all else."""
    if any(point.jumps for point in ended.refused):
        return "branch change"
    inner = [fit.state for fit in ended.point.fits] + [final.state]
    return next((state for state in inner if state != "converged"), ended.state)


@search_kind("flkl", paper="flkl2014", criteria=("k-CV",))
def first_level(solutions: Solutions, method: Method) -> FirstLevel:
    """The first level: widths by projected Newton with the exact Hessian, (lam, mu) by Levenberg-Marquardt."""
    context = solutions.context
    assert method.folds is not None
    folds, start = context.folds(method.folds), rbf(solutions, method.folds)
    return flkl(context.X, solutions.y, folds, ard=method.kernel == "ard", start=start)


@search_kind("flkl-at", paper="flkl2014", criteria=("k-CV",))
def at_hyper_parameters(
    solutions: Solutions, method: Method, *, lam: float = 1.0, mu: float = 1.0
) -> FirstLevel:
    """The widths alone, at one (lam, mu): a point of the surface that flkl looks for the least of."""
    context, y, ard = solutions.context, solutions.y, method.kernel == "ard"
    assert method.folds is not None
    require_targets(context.X, y)
    folds, unit = context.folds(method.folds), Unit.of(context.X)
    widths = unit.widths(ard=ard)
    _, theta = beginning(unit, widths, y, rbf(solutions, method.folds))
    u = np.log([lam, mu / unit.square**2])
    follower = Follower()
    found = follower.first([Fold.of(widths, y, F) for F in folds.members], u, theta)
    final = settle(Inner(widths, y, *np.exp(u).tolist()), found.theta, unseen=True)
    return summary(unit, ard, Ended(u, found, (), 0, "converged"), final, follower)
