"""The search ``pruned``: where only the minimum of exact k-fold cross-validation is wanted, without its surface.

What the bounds do not know (another loss, learner or criterion, a fixed ridge, several targets) is searched on the
grid, and so is a method where a candidate fails: the grid then names what it leaves out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from kselect.core.grid_point import BestPoint, GridPoint
from kselect.core.method import Method
from kselect.kernels import Kernel, Points
from kselect.kernels.gaussian import Gaussian
from kselect.learners import Fit, find_learner
from kselect.learners.factor import Factor, factorise
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Index
from kselect.search.engine import NUMERICAL
from kselect.search.exact_selection import (
    PRUNED_LOSSES,
    PrunedLearner,
    nearest_to_median,
    select_exactly,
)
from kselect.search.grid import Demand, Results, search_grid
from kselect.search.pruned import Pruned, Work, order_of, outward
from kselect.search.training_context import TrainingContext

# Bytes of factors that are kept for the searches that follow.
ROOM = 2**30
# The criteria that are exact cross-validation; for the square loss a Newton step is.
EXACT = {"smooth-hinge": ("k-CV",), "krr": ("k-CV", "k-Newton")}


@dataclass(frozen=True, eq=False)
class Minimum:
    """What was found, and how much was fitted for it."""

    found: BestPoint
    work: Work


def search_pruned(context: TrainingContext, demand: Demand) -> Results:
    """The minimum by bounds where they hold, everything else on the grid."""
    pruned = [method for method, settings in demand.items() if settings and prunes(context, method)]
    try:
        minima = {k: find_minimum(context, k) for k in dict.fromkeys(m.folds for m in pruned)}
        known = {m: one for m in pruned if (one := minima[m.folds]) is not None}
        rest = {m: settings for m, settings in demand.items() if m not in known}
        results = search_grid(context, rest) if rest else {}
    finally:
        context.factors.clear()
    return results | {(m, s): one.found for m, one in known.items() for s in demand[m]}


def prunes(context: TrainingContext, method: Method) -> bool:
    """Whether the bounds hold for a method on this context: an exact k-CV whose loss is the learner's own."""
    params = dict(method.params)
    return (
        method.criterion in EXACT.get(context.learner.name, ())
        and not method.scored_by
        and params["loss"] == PRUNED_LOSSES.get(context.learner.name)  # type: ignore[call-overload]
        and params["average"] == "points"
        and context.ridges.mode == "select"
        and len(context.targets) == 1
        and context.landmarks is None
    )


def find_minimum(context: TrainingContext, k: int | None) -> Minimum | None:
    """The best place by exact k-fold cross-validation with its fit; None where something failed on the way."""
    assert k is not None
    folds = context.folds(k)
    try:
        with np.errstate(divide="raise", invalid="raise", over="raise"):
            chosen = select_minimum(context, folds)
            if chosen.excluded:
                return None
            point = GridPoint(context.kernels[chosen.kernel], context.lams[chosen.ridge])
            return Minimum(BestPoint(point, chosen.score, (fit_at(context, point),)), chosen.work)
    except NUMERICAL:
        return None


def select_minimum(context: TrainingContext, folds: Folds) -> Pruned:
    """The rows in the order of the folds, the kernels from the most promising outward."""
    learner: PrunedLearner = context.learner.name  # type: ignore[assignment]
    order = order_of(folds)
    points = Points(context.X[order])
    return select_exactly(
        [partial(kernel.gram, points) for kernel in context.kernels],
        context.targets[0][order],
        np.array(context.lams),
        Folds.from_numbers(folds.numbers[order]),
        learner,
        ridge=context.ridge,
        visit=visiting_order(context.kernels, points),
        factors=[partial(factor_of, context, kernel, order) for kernel in context.kernels],
        **dict(context.learner.params),
    )


def factor_of(context: TrainingContext, kernel: Kernel, order: Index) -> Factor:
    """That of a kernel matrix with its rows in another order, made once while there is room to keep it."""
    factor = context.factors.get(kernel)
    if factor is None:
        factor = factorise(kernel.gram(context.points))
        if (len(context.factors) + 1) * 8 * context.n**2 <= ROOM:
            context.factors[kernel] = factor
    return factor.reordered(order)


def visiting_order(kernels: Sequence[Kernel], points: Points) -> list[int]:
    """Gaussian widths outward from the median distance, other kernels from the middle of their grid."""
    taus = [kernel.tau for kernel in kernels if isinstance(kernel, Gaussian)]
    if len(taus) < len(kernels):
        return outward(len(kernels) // 2, len(kernels))
    return outward(nearest_to_median(points.squared_distances, taus), len(kernels))


def fit_at(context: TrainingContext, point: GridPoint) -> Fit:
    """The fit on all rows at one place."""
    problem = context.problem(point.kernel).changed(lams=np.array([point.lam]))
    return find_learner(context.learner.name).path(problem, **dict(context.learner.params)).fit()
