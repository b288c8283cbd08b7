"""Descent by L-BFGS-B on the held-out error of a kernel with parameters: the objective, and its coordinates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, TypedDict

import numpy as np
from scipy.optimize import Bounds, minimize

from kselect.core.method import Method
from kselect.errors import TrialError
from kselect.learners.lssvm_errors import (
    ErrorFunction,
    KFoldErrors,
    LeaveOneOutErrors,
    MovedKernel,
    slope,
)
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array
from kselect.search.continuous import Solution, State

STEPS = 200
# The fewest and the most pairs of steps and gradients that L-BFGS keeps if it keeps one per variable.
PAIRS = 10, 100
# L-BFGS ends if log Q falls by less than this share, or if no component of its gradient exceeds FLAT.
STILL = 1e-8
FLAT = 1e-5
# The orders of the norms that stand for the largest of the rows' norms (k-KS).
ORDERS = (1e2, 1e3, 1e4, 1e5)
ENDS: dict[int, State] = {0: "converged", 1: "iteration limit", 2: "no further descent"}


@dataclass(frozen=True)
class Effort:
    """The most steps of a search, and the pairs of steps and gradients that L-BFGS keeps: 0 for one per variable.

    Many widths bend the error in many directions. A pair per variable then halves the evaluations that ten pairs
    take; the algebra of the pairs, O(variables^3) per step, costs less than an evaluation.
    """

    steps: int = STEPS
    memory: int = 0

    def pairs(self, variables: int) -> int:
        """Return the number of pairs for a number of variables."""
        return self.memory or min(max(variables, PAIRS[0]), PAIRS[1])


class Coordinates(Protocol):
    """The coordinates u in which a search moves the parameters theta of a kernel."""

    def theta(self, u: Array) -> Array:
        """Return the parameters at u."""

    def pulled(self, u: Array, theta: Array, gradient: Array) -> Array:
        """Return the gradient over u from that over theta."""


class Logarithms:
    """``u = log theta``, for widths."""

    def theta(self, u: Array) -> Array:
        """Return ``exp(u)``."""
        return np.exp(u)

    def pulled(self, u: Array, theta: Array, gradient: Array) -> Array:
        """Return the gradient times theta."""
        return gradient * theta


LOGARITHMS = Logarithms()


@dataclass(frozen=True)
class Objective:
    """``log Q`` over the coordinates of theta, followed by log lam.

    BR adds ``(prior / n) log Omega``, and takes the mean of ``log Q`` over several targets. k-KS adds
    ``(eta / 2) q beta`` to Q, which is then ``n q / 2`` times its score; ``order`` is that of ``stability_slope``.
    If the rows have weights, ``ones`` are their roots r, ``moved`` gives ``r K r``, and y stands for ``r y``.
    """

    errors: ErrorFunction
    moved: MovedKernel
    y: Array
    prior: float = 0.0
    eta: float = 0.0
    order: float = np.inf
    coordinates: Coordinates = LOGARITHMS
    ones: Array | None = None

    def __call__(self, u: Array) -> tuple[float, Array]:
        """Return the value and its gradient."""
        theta, lam = self.coordinates.theta(u[:-1]), float(np.exp(u[-1]))
        squares, penalty, gradient = slope(
            *(self.errors, self.moved, self.y, theta, lam),
            ones=self.ones,
            eta=self.eta,
            order=self.order,
            balanced=self.prior > 0.0,
        )
        total = float(squares.sum()) + penalty
        if not squares.min() > 0.0:  # a model predicts every held-out row exactly
            raise TrialError("the held-out error is zero: nothing to minimise")
        inner = self.coordinates.pulled(u[:-1], theta, gradient[:-1])
        gradient = np.append(inner, gradient[-1] * lam) / total
        if not self.prior:
            return float(np.log(total)), gradient
        omega = 0.5 * float(theta @ theta)
        value = float(np.mean(np.log(squares))) + self.prior * float(np.log(omega)) / len(self.y)
        gradient[:-1] += self.prior / len(self.y) * theta**2 / omega
        return value, gradient


def descend(objective: Objective, start: Array, bounds: Array, effort: Effort) -> Solution:
    """Return the solution from a start, whose value is the objective's; ``bounds`` are those of u.

    The stability in k-KS is the largest of many numbers. A descent would stick where two of them are equal, so that
    it follows norms of growing order, each from the end of the one before.
    """
    found = np.clip(start, bounds[:, 0], bounds[:, 1])
    used = 0
    for order in ORDERS if objective.eta else (np.inf,):
        solution, found = l_bfgs(replace(objective, order=order), found, bounds, effort)
        used += solution.evaluations
    if objective.eta:
        solution = replace(solution, value=objective(found)[0])
    return replace(solution, evaluations=used)


def l_bfgs(
    objective: Objective, start: Array, bounds: Array, effort: Effort
) -> tuple[Solution, Array]:
    """Return the solution of L-BFGS-B from a start, and its coordinates.

    L-BFGS-B is the projected quasi-Newton method: it follows the gradient's projection onto the bounds, then takes
    a quasi-Newton step among the variables that are inside them.
    """
    result = minimize(
        objective,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(*bounds.T),
        options={
            "maxiter": effort.steps,
            "ftol": STILL,
            "gtol": FLAT,
            "maxcor": effort.pairs(len(start)),
        },
    )
    u = np.asarray(result.x)
    held = int(((u <= bounds[:, 0]) | (u >= bounds[:, 1])).sum())
    theta, lam = objective.coordinates.theta(u[:-1]), float(np.exp(u[-1]))
    return Solution(theta, lam, float(result.fun), int(result.nfev), ENDS[result.status], held), u


def error_function(folds: Folds | None, by_folds: bool = False) -> ErrorFunction:
    """Return leave-one-out, or k-fold cross-validation with folds."""
    if folds is None:
        return LeaveOneOutErrors
    return partial(KFoldErrors, folds=folds, by_folds=by_folds)


class ScoreOptions(TypedDict):
    """The penalty and the average of a score."""

    eta: float
    by_folds: bool


def score_of(method: Method) -> ScoreOptions:
    """Return eta, 0 but for k-KS, and whether the score is the mean of the folds' means."""
    params = dict(method.params)
    eta = float(params["eta"]) if method.criterion == "k-KS" else 0.0
    return {"eta": eta, "by_folds": params.get("average") == "folds"}
