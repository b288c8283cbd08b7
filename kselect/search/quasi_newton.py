r"""Kernels learned at the second level of inference: LOO, XVAL, BR and k-KS minimised over all parameters and lam.

L-BFGS in ``(log theta, log lam)`` minimises ``log Q`` with analytic gradients, where ``Q = 0.5 sum e^2`` is the
held-out error, summed over the targets (flkl2014, section 2). BR adds ``(d/n) log Omega``, ``Omega = 0.5
||theta||^2`` (Cawley and Talbot 2007); k-KS adds the stability of the kernel to Q. RBF starts from the best point
of a small grid, ARD from the solution of RBF. The weights of a sum of kernels are parameters like widths, with
coordinates of their own (sum_weights.py). ``simplex`` minimises LOO and XVAL by Nelder-Mead instead, which needs
no gradient and ends at worse minima.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.optimize import Bounds, minimize

from kselect.core.method import Method
from kselect.kernels.sums import SUM, is_sum
from kselect.kernels.widths import KernelWidths
from kselect.learners.lssvm_errors import ErrorFunction, LeaveOneOutErrors, as_columns
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array
from kselect.search.continuous import (
    LAPLACIAN,
    SINGLE,
    WIDTHS,
    KnownSolutions,
    Solution,
    Unit,
    continuous_search,
)
from kselect.search.descent import (
    ENDS,
    STEPS,
    Effort,
    Objective,
    ScoreOptions,
    descend,
    error_function,
    score_of,
)
from kselect.search.sum_weights import learn_weights

USUAL = Effort()
# The starts in the unit's features (protocols, flkl2014): thetas times 1/d, ridges as they are.
START_THETAS = (0.01, 0.1, 1.0, 10.0)
START_LAMS = (0.01, 0.1, 1.0)
# The limits of theta, in the unit's features, and of lam.
THETA_LIMITS, LAM_LIMITS = (1e-10, 1e4), (1e-7, 1e5)
# BR rewards theta -> 0 without bound through log Omega: the floor of theta, times 1/d.
LEAST_THETA = 0.01
# Nelder-Mead as in Matlab's fminsearch: its tolerances of the simplex and of Q, and its evaluations per variable.
TOLERANCE, EVALUATIONS = 1e-4, 200


def width_bounds(widths: KernelWidths, least: float) -> Array:
    """Return the bounds of ``(log theta, log lam)``."""
    return np.log([*[(least, THETA_LIMITS[1])] * widths.size, LAM_LIMITS])


def best_start(
    function: ErrorFunction,
    widths: KernelWidths,
    y: Array,
    features: int,
    ones: Array | None = None,
) -> Array:
    """Return ``(log theta, log lam)`` of the lowest held-out error on the grid of starts; one width."""
    found: list[tuple[float, float, float]] = []
    for theta in np.array(START_THETAS) / features:
        K = widths.gram(np.array([theta]))
        for lam in START_LAMS:
            errors = function(K, y, lam, ones=ones).errors
            found.append((float(np.vdot(errors, errors)), float(theta), lam))
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
    absolute: bool = False,
    start: Solution | None = None,
    effort: Effort = USUAL,
    eta: float = 0.0,
    by_folds: bool = False,
    counts: Array | None = None,
) -> Solution:
    """Minimise the mean squared held-out error: leave-one-out (LOO, Cawley 2006), or k-fold (XVAL) with folds.

    The ridge is lam in every fold. ``start`` is the solution of RBF; ARD computes it if it is not given.
    ``absolute`` takes Laplacian kernels. With eta the score is k-KS. ``counts`` are weights of the rows.
    """
    unit = Unit.of(X, y, absolute=absolute, counts=counts)
    errors = error_function(folds, by_folds)
    if start is None and ard:
        score: ScoreOptions = {"eta": eta, "by_folds": by_folds}
        start = minimise(X, y, folds, absolute=absolute, counts=counts, **score)
    widths, targets = unit.widths(ard=ard), unit.weighed(y)
    if start is None:
        u = best_start(errors, widths, targets, unit.X.shape[1], unit.roots)
    else:
        u = logs(unit, start, widths.size)
    bounds = width_bounds(widths, THETA_LIMITS[0])
    objective = Objective(errors, widths, targets, eta=eta, ones=unit.roots)
    result = descend(objective, u, bounds, effort)
    mean = 2.0 * float(np.exp(result.value)) / (unit.total * as_columns(y).shape[1])
    return replace(result, theta=unit.outside(result.theta, ard=ard), value=mean)


def minimise_regularised(
    X: Array,
    y: Array,
    *,
    ard: bool = True,
    absolute: bool = False,
    start: Solution | None = None,
    effort: Effort = USUAL,
) -> Solution:
    """Minimise BR (Cawley and Talbot 2007), ``(n/2) log Q + (d/2) log Omega``, from the LOO solution of RBF.

    The floors are ``theta >= 0.01 / d`` in the unit's features and lam >= 1e-7.
    """
    unit = Unit.of(X, y, absolute=absolute)
    features = unit.X.shape[1]
    size = features if ard else 1
    objective = Objective(LeaveOneOutErrors, unit.widths(ard=ard), y, prior=size)
    u = logs(unit, start or minimise(X, y, absolute=absolute), size)
    bounds = width_bounds(unit.widths(ard=ard), LEAST_THETA / features)
    result = descend(objective, u, bounds, effort)
    value = 0.5 * len(y) * result.value - size * float(np.log(unit.factor))
    return replace(result, theta=unit.outside(result.theta, ard=ard), value=value)


@continuous_search(
    "quasi-newton",
    paper="flkl2014; ecml2014, Remark 1",
    criteria=("k-CV", "ELOO", "BR", "k-KS"),
    kernels=(*WIDTHS, SUM),
    forms={"loss": "squared", "form": "press"},
)
def quasi_newton(
    known: KnownSolutions, method: Method, *, steps: int = STEPS, memory: int = 0, p: int = 1
) -> Solution:
    """The second level: L-BFGS over all widths, or all weights of a sum, and the ridge, with analytic gradients.

    It keeps ``memory`` pairs of steps and gradients, or one per width or weight (0).
    """
    effort = Effort(steps, memory)
    if is_sum(method.kernel):
        return learn_weights(known, method, effort, p)
    X, y, ard = known.context.X, known.y, method.kernel in SINGLE
    absolute = method.kernel in LAPLACIAN
    if method.criterion == "BR":
        loo = replace(method, criterion="ELOO", folds=None, params=())
        one = rbf(known, loo)
        return minimise_regularised(X, y, ard=ard, absolute=absolute, start=one, effort=effort)
    if not ard and (steps, effort.pairs(2)) == (STEPS, USUAL.pairs(2)):
        return rbf(known, method)
    start = rbf(known, method) if ard else None
    return minimise(
        *(X, y, known.folds(method)),
        ard=ard,
        absolute=absolute,
        start=start,
        effort=effort,
        counts=known.counts,
        **score_of(method),
    )


def shrink(
    errors: ErrorFunction, unit: Unit, ard: bool, y: Array, start: Array, evaluations: int
) -> Solution:
    """Return the solution of Nelder-Mead from a start, in the unit's features; the value is ``Q = 0.5 sum e^2``."""
    widths, y = unit.widths(ard=ard), unit.weighed(y)
    bounds = width_bounds(widths, THETA_LIMITS[0])

    def held_out(u: Array) -> float:
        K = widths.gram(np.exp(u[:-1]))
        found = errors(K, y, float(np.exp(u[-1])), ones=unit.roots).errors
        return 0.5 * float(np.vdot(found, found))

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
    X, y, ard = known.context.X, known.y, method.kernel in SINGLE
    unit = Unit.of(X, y, absolute=method.kernel in LAPLACIAN, counts=known.counts)
    start = logs(unit, rbf(known, method), unit.X.shape[1] if ard else 1)
    errors = error_function(known.folds(method))
    found = shrink(errors, unit, ard, y, start, evaluations)
    theta, count = unit.outside(found.theta, ard=ard), unit.total * as_columns(y).shape[1]
    return replace(found, theta=theta, value=2.0 * found.value / count)


def rbf(known: KnownSolutions, method: Method) -> Solution:
    """Return the solution with one width of a method's criterion, from which every other search starts."""
    score, absolute = score_of(method), method.kernel in LAPLACIAN
    key = ("one width", method.folds, absolute, *score.values())
    X, y, folds = known.context.X, known.y, known.folds(method)
    counts = known.counts
    return known.once(key, lambda: minimise(X, y, folds, absolute=absolute, counts=counts, **score))
