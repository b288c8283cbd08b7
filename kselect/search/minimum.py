"""The search ``pruned``: where only the minimum of exact k-fold cross-validation is wanted, without its surface.

What the bounds do not know (another loss, learner or criterion, a fixed ridge, several targets) is searched on the
grid, and so is a method where a candidate fails: the grid then names what it leaves out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from kselect.kernels import Kernel, Points
from kselect.kernels.gaussian import Gaussian
from kselect.learners import Dual, find_learner
from kselect.model.method import Choice, Method, Setting
from kselect.model.place import Found, Place
from kselect.numerics.folds import Folds
from kselect.search.engine import NUMERICAL
from kselect.search.exact_selection import (
    PRUNED_LOSSES,
    PrunedLearner,
    nearest_to_median,
    select_exactly,
)
from kselect.search.grid import Demand, Results, search_grid
from kselect.search.pruned import Pruned, Work, order_of, outward
from kselect.search.side import TrainingSide


@dataclass(frozen=True, eq=False)
class Minimum:
    """What was found, and how much was fitted for it."""

    found: Found
    work: Work


def search_pruned(side: TrainingSide, demand: Demand) -> Results:
    """The minimum by bounds where they hold, everything else on the grid."""
    results: Results = {}
    rest: dict[Method, tuple[Setting, ...]] = {}
    for method, settings in demand.items():
        minimum = find_minimum(side, method) if settings and prunes(side, method) else None
        if minimum is None:
            rest[method] = settings
        else:
            results |= {(method, setting): minimum.found for setting in settings}
    return results | (search_grid(side, rest) if rest else {})


def prunes(side: TrainingSide, method: Method) -> bool:
    """Whether the bounds hold for a method on this side: an exact k-CV whose loss is the learner's own."""
    params = dict(method.params)
    return (
        known(side.learner, method)
        and params["loss"] == PRUNED_LOSSES.get(side.learner.name)  # type: ignore[call-overload]
        and params["average"] == "points"
        and side.ridges.mode == "select"
        and len(side.targets) == 1
        and side.landmarks is None
    )


def known(learner: Choice, method: Method) -> bool:
    """Whether it is k-CV of a learner that has bounds."""
    return method.criterion == "k-CV" and not method.scored_by and learner.name in PRUNED_LOSSES


def find_minimum(side: TrainingSide, method: Method) -> Minimum | None:
    """The best place of a method with its fit; None where something failed on the way."""
    assert method.folds is not None
    folds = side.folds(method.folds)
    try:
        with np.errstate(divide="raise", invalid="raise", over="raise"):
            chosen = select_minimum(side, folds)
            if chosen.excluded:
                return None
            place = Place(side.kernels[chosen.kernel], side.lams[chosen.ridge])
            return Minimum(Found(place, chosen.score, (fit_at(side, place),)), chosen.work)
    except NUMERICAL:
        return None


def select_minimum(side: TrainingSide, folds: Folds) -> Pruned:
    """The rows in the order of the folds, the kernels from the most promising outward."""
    learner: PrunedLearner = side.learner.name  # type: ignore[assignment]
    order = order_of(folds)
    points = Points(side.X[order])
    return select_exactly(
        [partial(kernel.gram, points) for kernel in side.kernels],
        side.targets[0][order],
        np.array(side.lams),
        Folds.from_numbers(folds.numbers[order]),
        learner,
        ridge=side.ridge,
        visit=visiting_order(side.kernels, points),
        **dict(side.learner.params),
    )


def visiting_order(kernels: Sequence[Kernel], points: Points) -> list[int]:
    """Gaussian widths outward from the median distance, other kernels from the middle of their grid."""
    taus = [kernel.tau for kernel in kernels if isinstance(kernel, Gaussian)]
    if len(taus) < len(kernels):
        return outward(len(kernels) // 2, len(kernels))
    return outward(nearest_to_median(points.squared_distances, taus), len(kernels))


def fit_at(side: TrainingSide, place: Place) -> Dual:
    """The fit on all rows at one place."""
    problem = side.problem(place.kernel).changed(lams=np.array([place.lam]))
    return find_learner(side.learner.name).path(problem, **dict(side.learner.params)).dual()
