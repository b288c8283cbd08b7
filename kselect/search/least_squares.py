r"""Levenberg-Marquardt for a few variables with limits and many residuals, in a box of trust.

``f(u) = 0.5 ||e(u)||^2``; the model of its Hessian is ``J^T J + S``, where S stands for ``sum_i e_i e_i''``:
held-out errors do not become small, and without S the last steps oscillate. S is updated from the Jacobians of
two points (Dennis, Gay and Welsch 1981). No variable moves farther than the radius, which follows how much of a
promise was kept.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Generic, Protocol, TypeVar

import numpy as np

from kselect.numerics.linalg import Array
from kselect.search.continuous import State

STEPS = 60
# The share of f whose predicted decrease is not worth a step; that of a predicted decrease which a step must reach.
STILL = 1e-5
SHARE = 1e-3
# The curvature along a step, against that of J^T J, below which it tells nothing about S.
BENT = 0.2
# The first radius and the largest; how much a failed step may shrink it.
RADIUS = 0.5
LARGEST = 2.0
SHRINK = (0.1, 0.5)
# The least eigenvalue of the model's Hessian, against the largest.
LEAST = 1e-6


class Residuals(Protocol):
    """What is known at a point."""

    @property
    def errors(self) -> Array:
        """``e``."""

    @property
    def jacobian(self) -> Array:
        """``de/du``, (errors, variables); asked for where a step was taken."""


R = TypeVar("R", bound=Residuals)


@dataclass(frozen=True, eq=False)
class Model(Generic[R]):
    """The quadratic model of f at a point: gradient, ``J^T J``, S, and how far to trust it."""

    u: Array
    point: R
    S: Array
    radius: float = RADIUS

    @property
    def value(self) -> float:
        """``f``."""
        return 0.5 * float(self.point.errors @ self.point.errors)

    @cached_property
    def gradient(self) -> Array:
        """``J^T e``."""
        return np.asarray(self.point.jacobian.T @ self.point.errors)

    @cached_property
    def hessian(self) -> Array:
        """``J^T J + S``, its eigenvalues in absolute value."""
        e, V = np.linalg.eigh(self.point.jacobian.T @ self.point.jacobian + self.S)
        size = np.maximum(np.abs(e), max(LEAST * np.abs(e).max(), np.finfo(np.float64).tiny))
        return np.asarray((V * size) @ V.T)

    def step(self, limits: Array) -> Array:
        """The minimum of the model inside the radius and the limits."""
        low = np.maximum(limits[:, 0] - self.u, -self.radius)
        high = np.minimum(limits[:, 1] - self.u, self.radius)
        return boxed(self.gradient, self.hessian, low, high)

    def promised(self, s: Array) -> float:
        """The decrease of f that the model predicts."""
        return -float(self.gradient @ s) - 0.5 * float(s @ self.hessian @ s)

    def taken(self, s: Array, point: R, gain: float) -> Model[R]:
        """The model at the new point."""
        length = float(np.abs(s).max())
        radius = self.radius
        if gain > 0.75:
            radius = min(LARGEST, max(radius, 2.0 * length))
        elif gain < 0.25:
            radius = 0.5 * length
        return Model(self.u + s, point, secant(self.S, s, self.point, point), radius)

    def refused(self, s: Array, value: float) -> Model[R]:
        """The model with a smaller radius: the minimum of the parabola through what was found along s."""
        slope = float(self.gradient @ s)
        lowest = -0.5 * slope / (value - self.value - slope)
        return replace(self, radius=float(np.clip(lowest, *SHRINK) * np.abs(s).max()))


def boxed(g: Array, H: Array, low: Array, high: Array) -> Array:
    """``argmin g's + s'Hs/2`` over ``low <= s <= high``, H positive definite.

    Where the free minimum lies outside, all sets of held variables are tried.
    """
    free = np.asarray(-np.linalg.solve(H, g), dtype=np.float64)
    if (free >= low).all() and (free <= high).all():
        return free
    best, least = np.zeros_like(g), 0.0
    for sides in itertools.product((0, -1, 1), repeat=len(g)):
        side = np.array(sides)
        s = np.where(side < 0, low, np.where(side > 0, high, 0.0))
        open_ = side == 0
        s[open_] = -np.linalg.solve(H[np.ix_(open_, open_)], (g + H @ s)[open_])
        value = float(g @ s) + 0.5 * float(s @ H @ s)
        if value < least and (s >= low).all() and (s <= high).all():
            best, least = s, value
    return best


def secant(S: Array, s: Array, old: Residuals, new: Residuals) -> Array:
    """S for the new point: ``S s = (J_new - J_old)^T e_new``, the sized update of Dennis, Gay and Welsch.

    Where f bends less along s than BENT says, or downwards, S gets no more than that curvature and nothing else.
    """
    y = new.jacobian.T @ new.errors - old.jacobian.T @ old.errors
    wanted = (new.jacobian - old.jacobian).T @ new.errors
    bend, own = float(s @ y), float(s @ S @ s)
    plain = float(np.sum((new.jacobian @ s) ** 2))
    if bend <= BENT * plain:
        return along(S, s, (BENT - 1.0) * plain)
    size = min(1.0, abs(float(s @ wanted) / own)) if own else 1.0
    rest = wanted - size * (S @ s)
    both = np.outer(rest, y)
    return np.asarray(
        size * S + (both + both.T) / bend - float(rest @ s) / bend**2 * np.outer(y, y)
    )


def along(S: Array, s: Array, curvature: float) -> Array:
    """S with another ``s'Ss`` and the same across s."""
    change = curvature - float(s @ S @ s)
    return np.asarray(S + change / float(s @ s) ** 2 * np.outer(s, s))


def ending(model: Model[R], limits: Array) -> State:
    """How a search ends: converged, or with a promise that steps of any length refuse to keep."""
    wide = replace(model, radius=max(model.radius, RADIUS))
    stuck = wide.promised(wide.step(limits)) > STILL * model.value
    return "no further descent" if stuck else "converged"


@dataclass(frozen=True, eq=False)
class Ended(Generic[R]):
    """The point where a search ended, and the trial points that it refused since it came there."""

    u: Array
    point: R
    refused: tuple[R, ...]
    steps: int
    state: State


def least_squares(
    visit: Callable[[Array, Array, R], R], u: Array, point: R, limits: Array, steps: int = STEPS
) -> Ended[R]:
    """The search from a point; ``visit(u, s, point)`` is the point at ``u + s``, reached from that at u."""
    model: Model[R] = Model(u, point, np.zeros((len(u), len(u))))
    refused: tuple[R, ...] = ()
    for count in range(steps):
        s = model.step(limits)
        promised = model.promised(s)
        if promised <= STILL * model.value:
            return Ended(model.u, model.point, refused, count, ending(model, limits))
        trial = visit(model.u, s, model.point)
        value = 0.5 * float(trial.errors @ trial.errors)
        gain = (model.value - value) / promised
        if gain > SHARE:
            model, refused = model.taken(s, trial, gain), ()
        else:
            model, refused = model.refused(s, value), (*refused, trial)
    return Ended(model.u, model.point, refused, steps, "iteration limit")
