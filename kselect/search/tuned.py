"""Tuned parameters: an inner cross-validation that wraps a search over the grid (tcyb2018, ijcai2018).

For each value of a tuned parameter the criterion chooses a kernel and a ridge on every inner training part, and
this fit is tested on the inner fold. The value with the lowest mean test error is used on all training rows.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np

from kselect.core.grid_point import BestPoint, SearchFailure
from kselect.core.method import Method, Setting
from kselect.kernels import Points
from kselect.numerics.folds import draw_folds
from kselect.numerics.linalg import Index
from kselect.numerics.losses import LOSSES, TEST_LOSSES
from kselect.search.grid import Demand, Results, Search, search_grid
from kselect.search.training_context import TrainingContext


def search_tuned(
    context: TrainingContext, demand: Demand, folds: int = 3, search: Search = search_grid
) -> Results:
    """Tune the parameters of the methods that have any, then search once with all methods."""
    values = tune(context, {m: s for m, s in demand.items() if m.tuned}, folds, search)
    wanted: dict[Method, tuple[Setting, ...]] = {}
    for method, settings in demand.items():
        for setting in settings:
            chosen = values.get((method, setting), method)
            wanted[chosen] = (*wanted.get(chosen, ()), setting)
    found = search(context, {m: tuple(dict.fromkeys(s)) for m, s in wanted.items()})
    return {
        (m, s): with_tuned(found[values.get((m, s), m), s], m, values.get((m, s), m))
        for m, settings in demand.items()
        for s in settings
    }


def tune(
    context: TrainingContext, demand: Demand, folds: int, search: Search
) -> dict[tuple[Method, Setting], Method]:
    """Return for each cell the method with the values of the lowest inner error, the first of equal ones."""
    candidates = {}
    for method in demand:
        names, grids = zip(*method.tuned, strict=True)
        every = (dict(zip(names, values, strict=True)) for values in product(*grids))
        candidates[method] = tuple(method.with_params(**values) for values in every)
    errors = inner_errors(context, demand, candidates, folds, search)
    return {
        (m, s): min(candidates[m], key=lambda c, s=s: errors[c, s])  # type: ignore[misc]
        for m, settings in demand.items()
        for s in settings
    }


def inner_errors(
    context: TrainingContext,
    demand: Demand,
    candidates: dict[Method, tuple[Method, ...]],
    folds: int,
    search: Search,
) -> dict[tuple[Method, Setting], float]:
    """Return the summed test error of each candidate over the inner folds; infinite if a search failed."""
    wanted = {c: demand[m] for m, every in candidates.items() for c in every}
    errors = {(c, s): 0.0 for c, settings in wanted.items() for s in settings}
    inner = draw_folds(context.n, folds, context.stream("inner folds"))
    for number, F in enumerate(inner.members):
        rows = np.setdiff1d(np.arange(context.n), F)
        part = context.part(rows, f"inner {number}")
        for cell, found in search(part, wanted).items():
            errors[cell] += test_error(context, part, F, found)
    return errors


def test_error(
    context: TrainingContext, part: TrainingContext, F: Index, found: BestPoint | SearchFailure
) -> float:
    """Return the summed test loss of a fit on the rows of an inner fold, over all targets."""
    if isinstance(found, SearchFailure):
        return float("inf")
    K = found.point.kernel.gram(Points(context.X[F], part.points.Z))
    loss = LOSSES[TEST_LOSSES[context.task]]
    pairs = zip(context.targets, found.fits, strict=True)
    return float(sum(loss(y[F], fit.decision(0, K)).sum() for y, fit in pairs))


def with_tuned(
    found: BestPoint | SearchFailure, asked: Method, chosen: Method
) -> BestPoint | SearchFailure:
    """Return a result with the values of the tuned parameters in its grid point."""
    if isinstance(found, SearchFailure) or asked == chosen:
        return found
    values = dict(chosen.params)
    tuned = tuple((name, float(values[name])) for name, _ in asked.tuned)
    return replace(found, point=replace(found.point, tuned=tuned))
