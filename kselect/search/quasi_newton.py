r"""Kernels learned at the second level of inference: LOO, XVAL and BR minimised over all widths and the ridge.

L-BFGS in ``(log theta, log lam)`` on ``log Q``, ``Q = 0.5 sum e^2`` the held-out error, with analytic gradients
(flkl2014, section 2; mathematics, section 8). BR adds ``(d/n) log Omega``, ``Omega = 0.5 ||theta||^2``
(Cawley and Talbot 2007). RBF starts from the best of a small grid, ARD from RBF's solution.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.optimize import Bounds, minimize

from kselect.core.method import Method
from kselect.errors import TrialError
from kselect.kernels.widths import KernelWidths, OneWidth
from kselect.learners.lssvm_errors import ErrorFunction, KFoldErrors, LeaveOneOutErrors, slope
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array
from kselect.search.continuous import (
    START_LAMS,
    START_THETAS,
    SecondLevel,
    State,
    Unit,
    require_targets,
)
from kselect.search.kinds import Solutions, search_kind

STEPS = 200
# BR's logarithm of Omega rewards theta -> 0 without bound (mathematics, section 8): its floor, times 1/d.
LEAST_THETA = 0.01
# L-BFGS ends where log Q falls by less than this share, or where no component of its gradient exceeds FLAT.
STILL = 1e-8
FLAT = 1e-5
ENDS: dict[int, State] = {0: "converged", 1: "iteration limit", 2: "no further descent"}


@dataclass(frozen=True)
class Region:
    """Where theta (in the unit's features) and lam may be."""

    theta: tuple[float, float] = (1e-10, 1e4)
    lam: tuple[float, float] = (1e-7, 1e5)

    def logs(self, size: int) -> Array:
        """One row of two numbers for each variable of the search."""
        return np.log([*[self.theta] * size, self.lam])


@dataclass(frozen=True)
class Objective:
    """``log Q``, plus ``(prior / n) log Omega``, over ``u = (log theta, log lam)``."""

    criterion: ErrorFunction
    widths: KernelWidths
    y: Array
    prior: float = 0.0

    def __call__(self, u: Array) -> tuple[float, Array]:
        """The value and its gradient."""
        theta, lam = np.exp(u[:-1]), float(np.exp(u[-1]))
        found = slope(self.criterion, self.widths, self.y, theta, lam)
        value = log_error(found.value)
        gradient = np.append(found.theta * theta, found.lam * lam) / found.value
        if self.prior:
            omega = 0.5 * float(theta @ theta)
            value += self.prior * float(np.log(omega)) / len(self.y)
            gradient[:-1] += self.prior / len(self.y) * theta**2 / omega
        return value, gradient


def log_error(half_squares: float) -> float:
    """``log Q``; no logarithm means that a model predicts every row left out exactly."""
    if not half_squares > 0.0:
        raise TrialError("the held-out error is zero: nothing to minimise")
    return float(np.log(half_squares))


def descend(objective: Objective, start: Array, bounds: Array, steps: int = STEPS) -> SecondLevel:
    """L-BFGS from a start, in the unit's features; the value is that of the objective."""
    result = minimize(
        objective,
        np.clip(start, bounds[:, 0], bounds[:, 1]),
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(*bounds.T),
        options={"maxiter": steps, "ftol": STILL, "gtol": FLAT, "maxcor": 10},
    )
    u = np.asarray(result.x)
    return SecondLevel(
        np.exp(u[:-1]),
        float(np.exp(u[-1])),
        float(result.fun),
        int(result.nfev),
        ENDS[result.status],
        int(((u <= bounds[:, 0]) | (u >= bounds[:, 1])).sum()),
    )


def best_start(criterion: ErrorFunction, widths: OneWidth, y: Array, features: int) -> Array:
    """``(log theta, log lam)`` of the least held-out error on the grid of starts."""
    found: list[tuple[float, float, float]] = []
    for theta in np.array(START_THETAS) / features:
        K = widths.gram(np.array([theta]))
        for lam in START_LAMS:
            errors = criterion(K, y, lam).errors
            found.append((float(errors @ errors), float(theta), lam))
    return np.log(min(found)[1:])


def minimise_press(
    X: Array, y: Array, *, ard: bool = False, start: SecondLevel | None = None, steps: int = STEPS
) -> SecondLevel:
    """LOO: the least PRESS (Cawley 2006); the value is the mean squared leave-one-out error.

    ``start`` is the RBF solution where it is at hand; ARD looks for it otherwise.
    """
    return minimise(LeaveOneOutErrors, X, y, ard=ard, start=start, steps=steps)


def minimise_k_fold(
    X: Array,
    y: Array,
    folds: Folds,
    *,
    ard: bool = False,
    start: SecondLevel | None = None,
    steps: int = STEPS,
) -> SecondLevel:
    """XVAL: the least k-fold error, the ridge lam kept in every fold; the value is the mean squared error."""
    return minimise(partial(KFoldErrors, folds=folds), X, y, ard=ard, start=start, steps=steps)


def minimise_regularised(
    X: Array, y: Array, *, ard: bool = True, start: SecondLevel | None = None, steps: int = STEPS
) -> SecondLevel:
    """BR (Cawley and Talbot 2007): ``(n/2) log Q + (d/2) log Omega``, from the least PRESS of RBF.

    Floors keep theta from zero (``theta >= 0.01 / d`` in the unit's features) and lam at 1e-7 or above.
    """
    require_targets(X, y)
    unit = Unit.of(X)
    size = unit.features if ard else 1
    objective = Objective(LeaveOneOutErrors, unit.widths(ard=ard), y, prior=size)
    bounds = Region(theta=(LEAST_THETA / unit.features, Region().theta[1])).logs(size)
    u = logs(unit, start or minimise_press(X, y), size)
    result = descend(objective, u, bounds, steps)
    value = 0.5 * len(y) * result.value - size * float(np.log(unit.square))
    return replace(result, theta=unit.outside(result.theta, ard=ard), value=value)


def minimise(
    criterion: ErrorFunction,
    X: Array,
    y: Array,
    *,
    ard: bool,
    start: SecondLevel | None,
    steps: int,
) -> SecondLevel:
    """The least held-out error: RBF from the grid of starts, ARD from RBF."""
    require_targets(X, y)
    unit = Unit.of(X)
    if start is None and ard:
        start = minimise(criterion, X, y, ard=False, start=None, steps=STEPS)
    widths = unit.widths(ard=ard)
    if start is None:
        u = best_start(criterion, OneWidth.of(unit.X), y, unit.features)
    else:
        u = logs(unit, start, widths.size)
    result = descend(Objective(criterion, widths, y), u, Region().logs(widths.size), steps)
    mean = 2.0 * float(np.exp(result.value)) / len(y)
    return replace(result, theta=unit.outside(result.theta, ard=ard), value=mean)


def logs(unit: Unit, found: SecondLevel, size: int) -> Array:
    """``(log theta, log lam)`` of a solution in the unit's features; a theta of zero is put at the bound."""
    theta = np.maximum(unit.inside(found.theta, size), Region().theta[0])
    return np.asarray(np.log(np.append(theta, found.lam)))


@search_kind("quasi-newton", paper="flkl2014", criteria=("k-CV", "ELOO", "BR"))
def quasi_newton(solutions: Solutions, method: Method, *, steps: int = STEPS) -> SecondLevel:
    """The second level: L-BFGS over all widths and the ridge, with analytic gradients."""
    context, ard = solutions.context, method.kernel == "ard"
    if method.criterion == "BR":
        loo = rbf(solutions, None)
        return minimise_regularised(context.X, solutions.y, ard=ard, start=loo, steps=steps)
    if not ard and steps == STEPS:
        return rbf(solutions, method.folds)
    start = rbf(solutions, method.folds) if ard else None
    if method.folds is None:
        return minimise_press(context.X, solutions.y, ard=ard, start=start, steps=steps)
    folds = context.folds(method.folds)
    return minimise_k_fold(context.X, solutions.y, folds, ard=ard, start=start, steps=steps)


def rbf(solutions: Solutions, folds: int | None) -> SecondLevel:
    """The RBF solution of LOO, or of XVAL with so many folds: what every other search starts from."""
    context = solutions.context
    if folds is None:
        return solutions.once("RBF-LOO", lambda: minimise_press(context.X, solutions.y))
    return solutions.once(
        ("RBF-XVAL", folds), lambda: minimise_k_fold(context.X, solutions.y, context.folds(folds))
    )
