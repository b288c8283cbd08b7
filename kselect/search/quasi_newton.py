r"""Kernels learned at the second level of inference: LOO, XVAL and BR minimised over all widths and the ridge.

L-BFGS in ``(log theta, log lam)`` minimises ``log Q`` with analytic gradients, where ``Q = 0.5 sum e^2`` is the
held-out error (flkl2014, section 2). BR adds ``(d/n) log Omega``, ``Omega = 0.5
||theta||^2`` (Cawley and Talbot 2007). RBF starts from the best point of a small grid, ARD from the solution of
RBF. ``simplex`` minimises LOO and XVAL by Nelder-Mead instead, which needs no gradient and ends at worse minima.
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
from kselect.search.continuous import KnownSolutions, Solution, State, Unit, continuous_search

STEPS = 200
# The starts in the unit's features (protocols, flkl2014): thetas times 1/d, ridges as they are.
START_THETAS = (0.01, 0.1, 1.0, 10.0)
START_LAMS = (0.01, 0.1, 1.0)
# The limits of theta, in the unit's features, and of lam.
THETA_LIMITS, LAM_LIMITS = (1e-10, 1e4), (1e-7, 1e5)
# BR rewards theta -> 0 without bound through log Omega: the floor of theta, times 1/d.
LEAST_THETA = 0.01
# L-BFGS ends if log Q falls by less than this share, or if no component of its gradient exceeds FLAT.
STILL = 1e-8
FLAT = 1e-5
# Nelder-Mead as in Matlab's fminsearch: its tolerances of the simplex and of Q, and its evaluations per variable.
TOLERANCE, EVALUATIONS = 1e-4, 200
ENDS: dict[int, State] = {0: "converged", 1: "iteration limit", 2: "no further descent"}


@dataclass(frozen=True)
class Objective:
    """``log Q``, plus ``(prior / n) log Omega``, over ``u = (log theta, log lam)``."""

    errors: ErrorFunction
    widths: KernelWidths
    y: Array
    prior: float = 0.0

    def __call__(self, u: Array) -> tuple[float, Array]:
        """Return the value and its gradient."""
        theta, lam = np.exp(u[:-1]), float(np.exp(u[-1]))
        total, gradient = slope(self.errors, self.widths, self.y, theta, lam)
        if not total > 0.0:  # a model predicts every held-out row exactly
            raise TrialError("the held-out error is zero: nothing to minimise")
        value = float(np.log(total))
        gradient = gradient * np.append(theta, lam) / total
        if self.prior:
            omega = 0.5 * float(theta @ theta)
            value += self.prior * float(np.log(omega)) / len(self.y)
            gradient[:-1] += self.prior / len(self.y) * theta**2 / omega
        return value, gradient


def descend(objective: Objective, start: Array, least_theta: float, steps: int) -> Solution:
    """Return the solution of L-BFGS from a start, in the unit's features; the value is the objective's."""
    limits = [(least_theta, THETA_LIMITS[1])] * objective.widths.size
    bounds = np.log([*limits, LAM_LIMITS])
    result = minimize(
        objective,
        np.clip(start, bounds[:, 0], bounds[:, 1]),
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(*bounds.T),
        options={"maxiter": steps, "ftol": STILL, "gtol": FLAT, "maxcor": 10},
    )
    u = np.asarray(result.x)
    return Solution(
        np.exp(u[:-1]),
        float(np.exp(u[-1])),
        float(result.fun),
        int(result.nfev),
        ENDS[result.status],
        int(((u <= bounds[:, 0]) | (u >= bounds[:, 1])).sum()),
    )


def best_start(function: ErrorFunction, widths: OneWidth, y: Array, features: int) -> Array:
    """Return ``(log theta, log lam)`` of the lowest held-out error on the grid of starts."""
    found: list[tuple[float, float, float]] = []
    for theta in np.array(START_THETAS) / features:
        K = widths.gram(np.array([theta]))
        for lam in START_LAMS:
            errors = function(K, y, lam).errors
            found.append((float(errors @ errors), float(theta), lam))
    return np.log(min(found)[1:])


def logs(unit: Unit, found: Solution, size: int) -> Array:
    """Return ``(log theta, log lam)`` of a solution in the unit's features; a theta of zero is set to its limit."""
    theta = np.maximum(unit.inside(found.theta, size), THETA_LIMITS[0])
    return np.asarray(np.log(np.append(theta, found.lam)))


def minimise(
    X: Array,
    y: Array,
    folds: Folds | None = None,
    *,
    ard: bool = False,
    start: Solution | None = None,
    steps: int = STEPS,
) -> Solution:
    """Minimise the mean squared held-out error: leave-one-out (LOO, Cawley 2006), or k-fold (XVAL) with folds.

    The ridge is lam in every fold. ``start`` is the solution of RBF; ARD computes it if it is not given.
    """
    unit = Unit.of(X, y)
    errors = LeaveOneOutErrors if folds is None else partial(KFoldErrors, folds=folds)
    if start is None and ard:
        start = minimise(X, y, folds)
    widths = unit.widths(ard=ard)
    if start is None:
        u = best_start(errors, OneWidth.of(unit.X), y, unit.X.shape[1])
    else:
        u = logs(unit, start, widths.size)
    result = descend(Objective(errors, widths, y), u, THETA_LIMITS[0], steps)
    mean = 2.0 * float(np.exp(result.value)) / len(y)
    return replace(result, theta=unit.outside(result.theta, ard=ard), value=mean)


def minimise_regularised(
    X: Array, y: Array, *, ard: bool = True, start: Solution | None = None, steps: int = STEPS
) -> Solution:
    """Minimise BR (Cawley and Talbot 2007), ``(n/2) log Q + (d/2) log Omega``, from the LOO solution of RBF.

    The floors are ``theta >= 0.01 / d`` in the unit's features and lam >= 1e-7.
    """
    unit = Unit.of(X, y)
    features = unit.X.shape[1]
    size = features if ard else 1
    objective = Objective(LeaveOneOutErrors, unit.widths(ard=ard), y, prior=size)
    u = logs(unit, start or minimise(X, y), size)
    result = descend(objective, u, LEAST_THETA / features, steps)
    value = 0.5 * len(y) * result.value - size * float(np.log(unit.square))
    return replace(result, theta=unit.outside(result.theta, ard=ard), value=value)


@continuous_search("quasi-newton", paper="flkl2014", criteria=("k-CV", "ELOO", "BR"))
def quasi_newton(known: KnownSolutions, method: Method, *, steps: int = STEPS) -> Solution:
    """The second level: L-BFGS over all widths and the ridge, with analytic gradients."""
    X, y, ard = known.context.X, known.y, method.kernel == "ard"
    if method.criterion == "BR":
        return minimise_regularised(X, y, ard=ard, start=rbf(known, None), steps=steps)
    if not ard and steps == STEPS:
        return rbf(known, method.folds)
    start = rbf(known, method.folds) if ard else None
    folds = None if method.folds is None else known.context.partition(method.folds)
    return minimise(X, y, folds, ard=ard, start=start, steps=steps)


def shrink(
    errors: ErrorFunction, widths: KernelWidths, y: Array, start: Array, evaluations: int
) -> Solution:
    """Return the solution of Nelder-Mead from a start, in the unit's features; the value is ``Q = 0.5 sum e^2``."""
    bounds = np.log([*[THETA_LIMITS] * widths.size, LAM_LIMITS])

    def held_out(u: Array) -> float:
        found = errors(widths.gram(np.exp(u[:-1])), y, float(np.exp(u[-1]))).errors
        return 0.5 * float(found @ found)

    result = minimize(
        held_out,
        np.clip(start, bounds[:, 0], bounds[:, 1]),
        method="Nelder-Mead",
        bounds=Bounds(*bounds.T),
        options={
            "xatol": TOLERANCE,
            "fatol": TOLERANCE,
            "maxfev": evaluations * len(start),
            "maxiter": evaluations * len(start),
        },
    )
    u, state = np.asarray(result.x), ENDS[0] if result.success else ENDS[1]
    held = int(((u <= bounds[:, 0]) | (u >= bounds[:, 1])).sum())
    theta, lam = np.exp(u[:-1]), float(np.exp(u[-1]))
    return Solution(theta, lam, float(result.fun), int(result.nfev), state, held)


@continuous_search("simplex", paper="flkl2014", criteria=("k-CV", "ELOO"))
def simplex(known: KnownSolutions, method: Method, *, evaluations: int = EVALUATIONS) -> Solution:
    """The second level as the paper searches the first: Nelder-Mead, ``evaluations`` per width and ridge at most.

    It starts from the solution of RBF.
    """
    X, y, ard, k = known.context.X, known.y, method.kernel == "ard", method.folds
    unit = Unit.of(X, y)
    folds = None if k is None else known.context.partition(k)
    errors = LeaveOneOutErrors if folds is None else partial(KFoldErrors, folds=folds)
    widths = unit.widths(ard=ard)
    found = shrink(errors, widths, y, logs(unit, rbf(known, k), widths.size), evaluations)
    theta = unit.outside(found.theta, ard=ard)
    return replace(found, theta=theta, value=2.0 * found.value / len(y))


def rbf(known: KnownSolutions, k: int | None) -> Solution:
    """Return the RBF solution of LOO, or of XVAL with k folds, from which every other search starts."""
    folds = None if k is None else known.context.partition(k)
    return known.once(("RBF", k), lambda: minimise(known.context.X, known.y, folds))
