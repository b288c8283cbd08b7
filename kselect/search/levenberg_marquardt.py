r"""Levenberg-Marquardt for a few variables with limits and many residuals, inside a box of trust.

It minimises ``f(u) = 0.5 ||e(u)||^2``. The Hessian of its model is ``J^T J + S``, where S stands for ``sum_i e_i
e_i''``: held-out errors do not become small, and without S the last steps oscillate. S is updated from the
Jacobians of two points (Dennis, Gay and Welsch 1981); scipy's search has no such term. No variable moves farther
than the radius, which depends on how much of the predicted decrease was reached.
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

# The search ends after this number of steps, or if the predicted decrease is below the share STILL of f.
STEPS = 60
STILL = 1e-5
# A step is accepted if it reaches this share of the predicted decrease.
SHARE = 1e-3
# A curvature along a step below this share of the curvature of J^T J says nothing about S.
BENT = 0.2
# The first radius and the largest; the limits of the factor by which a failed step shrinks it.
RADIUS = 0.5
LARGEST = 2.0
SHRINK = (0.1, 0.5)
# The least eigenvalue of the model's Hessian, relative to the largest.
LEAST = 1e-6


class Residuals(Protocol):
    """The errors at a point."""

    @property
    def errors(self) -> Array:
        """``e``."""

    @property
    def jacobian(self) -> Array:
        """``de/du``, (errors, variables); used only at accepted points."""


R = TypeVar("R", bound=Residuals)


@dataclass(frozen=True, eq=False)
class TrustModel(Generic[R]):
    """The quadratic model of f at a point: gradient, ``J^T J``, S, and the radius of trust."""

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
        """Return the minimum of the model inside the radius and the limits."""
        low = np.maximum(limits[:, 0] - self.u, -self.radius)
        high = np.minimum(limits[:, 1] - self.u, self.radius)
        return boxed(self.gradient, self.hessian, low, high)

    def promised(self, s: Array) -> float:
        """Return the decrease of f that the model predicts."""
        return -float(self.gradient @ s) - 0.5 * float(s @ self.hessian @ s)

    def accepted(self, s: Array, point: R, gain: float) -> TrustModel[R]:
        """Return the model at the new point."""
        length = float(np.abs(s).max())
        radius = self.radius
        if gain > 0.75:
            radius = min(LARGEST, max(radius, 2.0 * length))
        elif gain < 0.25:
            radius = 0.5 * length
        return TrustModel(self.u + s, point, secant(self.S, s, self.point, point), radius)

    def refused(self, s: Array, value: float) -> TrustModel[R]:
        """Return the model with a smaller radius: the minimum of the parabola through the values along s."""
        slope = float(self.gradient @ s)
        lowest = -0.5 * slope / (value - self.value - slope)
        return replace(self, radius=float(np.clip(lowest, *SHRINK) * np.abs(s).max()))


def boxed(g: Array, H: Array, low: Array, high: Array) -> Array:
    """Return ``argmin g's + s'Hs/2`` over ``low <= s <= high``, for a positive definite H.

    If the free minimum is outside, all sets of variables at their bounds are tried.
    """
    free = np.asarray(-np.linalg.solve(H, g), dtype=np.float64)
    if (free >= low).all() and (free <= high).all():
        return free
    best, least = np.zeros_like(g), 0.0
    for ends in itertools.product((0, -1, 1), repeat=len(g)):
        end = np.array(ends)
        s = np.where(end < 0, low, np.where(end > 0, high, 0.0))
        open_ = end == 0
        s[open_] = -np.linalg.solve(H[np.ix_(open_, open_)], (g + H @ s)[open_])
        value = float(g @ s) + 0.5 * float(s @ H @ s)
        if value < least and (s >= low).all() and (s <= high).all():
            best, least = s, value
    return best


def secant(S: Array, s: Array, old: Residuals, new: Residuals) -> Array:
    """Return S for the new point: ``S s = (J_new - J_old)^T e_new``, the sized update of Dennis, Gay and Welsch.

    If f bends along s less than BENT, or downwards, only the curvature of S along s is set, to the value of BENT.
    """
    y = new.jacobian.T @ new.errors - old.jacobian.T @ old.errors
    wanted = (new.jacobian - old.jacobian).T @ new.errors
    bend, own = float(s @ y), float(s @ S @ s)
    plain = float(np.sum((new.jacobian @ s) ** 2))
    if bend <= BENT * plain:
        change = (BENT - 1.0) * plain - own
        return np.asarray(S + change / float(s @ s) ** 2 * np.outer(s, s))
    size = min(1.0, abs(float(s @ wanted) / own)) if own else 1.0
    rest = wanted - size * (S @ s)
    both = np.outer(rest, y)
    return np.asarray(
        size * S + (both + both.T) / bend - float(rest @ s) / bend**2 * np.outer(y, y)
    )


@dataclass(frozen=True, eq=False)
class Ended(Generic[R]):
    """The point where a search ended, and the trial points that it refused there."""

    u: Array
    point: R
    refused: tuple[R, ...]
    steps: int
    state: State


def least_squares(
    move: Callable[[Array, Array, R], R], u: Array, point: R, limits: Array, steps: int = STEPS
) -> Ended[R]:
    """Run Levenberg-Marquardt; ``move(u, s, point)`` returns the point at ``u + s``, given the point at u."""
    model: TrustModel[R] = TrustModel(u, point, np.zeros((len(u), len(u))))
    refused: tuple[R, ...] = ()
    for count in range(steps):
        s = model.step(limits)
        promised = model.promised(s)
        if promised <= STILL * model.value:
            wide = replace(model, radius=max(model.radius, RADIUS))
            stuck = wide.promised(wide.step(limits)) > STILL * model.value
            state: State = "no further descent" if stuck else "converged"
            return Ended(model.u, model.point, refused, count, state)
        trial = move(model.u, s, model.point)
        value = 0.5 * float(trial.errors @ trial.errors)
        gain = (model.value - value) / promised
        if gain > SHARE:
            model, refused = model.accepted(s, trial, gain), ()
        else:
            model, refused = model.refused(s, value), (*refused, trial)
    return Ended(model.u, model.point, refused, steps, "iteration limit")
