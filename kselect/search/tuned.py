"""Parameters of a criterion chosen by an inner cross-validation on the training rows (tcyb2018, ijcai2018).

Per value of the parameter: on each inner training part the criterion chooses a kernel and a ridge, and the fit is
tested on the inner fold. The value with the lowest mean test error serves on the whole training context.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product

import numpy as np

from kselect.core.grid_point import BestPoint, SearchFailure
from kselect.core.method import Method, Setting
from kselect.kernels import Points
from kselect.numerics.folds import draw_folds
from kselect.numerics.linalg import Index
from kselect.numerics.losses import LOSSES, TEST_LOSSES
from kselect.search.grid import Demand, Results, search_grid
from kselect.search.training_context import TrainingContext

SearchFunction = Callable[[TrainingContext, Demand], Results]


def search_tuned(
    context: TrainingContext, demand: Demand, folds: int = 3, search: SearchFunction = search_grid
) -> Results:
    """The demand with every tuned parameter settled, then searched at once with what needs no tuning."""
    settled = settle(context, {m: s for m, s in demand.items() if m.tuned}, folds, search)
    wanted: dict[Method, tuple[Setting, ...]] = {}
    for method, settings in demand.items():
        for setting in settings:
            chosen = settled.get((method, setting), method)
            wanted[chosen] = (*wanted.get(chosen, ()), setting)
    found = search(context, {m: tuple(dict.fromkeys(s)) for m, s in wanted.items()})
    return {
        (m, s): with_tuned(found[settled.get((m, s), m), s], m, settled.get((m, s), m))
        for m, settings in demand.items()
        for s in settings
    }


def settle(
    context: TrainingContext, demand: Demand, folds: int, search: SearchFunction
) -> dict[tuple[Method, Setting], Method]:
    """Each tuned cell -> the method with the values that did best on the inner folds, the first of equals."""
    if not demand:
        return {}
    candidates = {m: tuple(values_of(m)) for m in demand}
    errors = inner_errors(context, demand, candidates, folds, search)
    return {
        (m, s): min(candidates[m], key=lambda c, s=s: errors[c, s])  # type: ignore[misc]
        for m, settings in demand.items()
        for s in settings
    }


def values_of(method: Method) -> Iterator[Method]:
    """The method with every combination of its tuned parameters' values."""
    names = [name for name, _ in method.tuned]
    for values in product(*(values for _, values in method.tuned)):
        yield method.with_params(**dict(zip(names, values, strict=True)))


def inner_errors(
    context: TrainingContext,
    demand: Demand,
    candidates: dict[Method, tuple[Method, ...]],
    folds: int,
    search: SearchFunction,
) -> dict[tuple[Method, Setting], float]:
    """The summed test error over the inner folds; infinite where a candidate found nothing."""
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
    """The summed test loss of a fit on the rows of an inner fold, over all targets."""
    if isinstance(found, SearchFailure):
        return float("inf")
    K = found.point.kernel.gram(Points(context.X[F], part.points.Z))
    loss = LOSSES[TEST_LOSSES[context.task]]
    pairs = zip(context.targets, found.fits, strict=True)
    return float(sum(loss(y[F], dual.decision(0, K)).sum() for y, dual in pairs))


def with_tuned(
    found: BestPoint | SearchFailure, asked: Method, settled: Method
) -> BestPoint | SearchFailure:
    """What was found, with the values of the tuned parameters in its place."""
    if isinstance(found, SearchFailure) or asked == settled:
        return found
    values = dict(settled.params)
    tuned = tuple((name, float(values[name])) for name, _ in asked.tuned)
    return replace(found, point=replace(found.point, tuned=tuned))
