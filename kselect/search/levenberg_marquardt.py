r"""Levenberg-Marquardt for many residuals of a few variables with limits; the trust region is a box.

It minimises ``f(u) = 0.5 ||e(u)||^2``. The Hessian of its model is ``J^T J + S``, where S stands for ``sum_i e_i
e_i''``: held-out errors do not become small, and without S the last steps oscillate. S is updated from the
Jacobians of two points (Dennis, Gay and Welsch 1981); scipy's search has no such term. No variable moves farther
than the radius in one step; the radius depends on how much of the predicted decrease the last step reached.
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

# The search ends after STEPS steps, or if the predicted decrease is at most STILL times f.
STEPS = 60
STILL = 1e-5
# A step is accepted if it reaches this share of the predicted decrease.
SHARE = 1e-3
# If the curvature of f along a step is below this share of the curvature of J^T J, it says nothing about S.
BENT = 0.2
# The first and the largest radius, and the limits of the radius after a refused step, relative to that step.
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
        """``J^T J + S`` with the absolute values of its eigenvalues, raised to at least LEAST times the largest."""
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
        """Return the model with a smaller radius, the distance along s to the minimum of a parabola.

        The parabola has the value and slope of f at u, and the value of f at ``u + s``.
        """
        slope = float(self.gradient @ s)
        lowest = -0.5 * slope / (value - self.value - slope)
        return replace(self, radius=float(np.clip(lowest, *SHRINK) * np.abs(s).max()))


def boxed(g: Array, H: Array, low: Array, high: Array) -> Array:
    """Return ``argmin g's + s'Hs/2`` over ``low <= s <= high``, for a positive definite H.

    If the unconstrained minimum is outside, try every set of variables at their lower or upper bounds.
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

    If the curvature of f along s is below BENT times the curvature of J^T J, or negative, S changes along s only:
    the curvature of the model becomes BENT times the curvature of J^T J.
    """
    y = new.jacobian.T @ new.errors - old.jacobian.T @ old.errors
    wanted = (new.jacobian - old.jacobian).T @ new.errors
    of_f, of_S = float(s @ y), float(s @ S @ s)  # curvatures along s
    of_JJ = float(np.sum((new.jacobian @ s) ** 2))
    if of_f <= BENT * of_JJ:
        change = (BENT - 1.0) * of_JJ - of_S
        return np.asarray(S + change / float(s @ s) ** 2 * np.outer(s, s))
    size = min(1.0, abs(float(s @ wanted) / of_S)) if of_S else 1.0
    rest = wanted - size * (S @ s)
    both = np.outer(rest, y)
    return np.asarray(
        size * S + (both + both.T) / of_f - float(rest @ s) / of_f**2 * np.outer(y, y)
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
            # The search is stuck if only the small radius makes the predicted decrease so small.
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
