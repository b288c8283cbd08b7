"""Several criteria on the same rows: the choice of each, and its quality on rows that the choice has not seen.

All criteria share the same paths, so that each kernel is factorised only once; a minimum that bounds can find has a
search of its own. The outer cross-validation imputes, encodes, scales, lays the grid and chooses using the
training part of each fold only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from time import perf_counter

import numpy as np
from threadpoolctl import threadpool_limits

from kselect.core.grid_point import BestPoint
from kselect.core.method import SELECTED, Method
from kselect.datasets.prepare import fit_preparation
from kselect.numerics.folds import Folds, draw_folds, stream
from kselect.numerics.linalg import Array
from kselect.search.grid import Best, score_kernels
from kselect.search.pruned import find_minimum, prunes
from kselect.selection.engine import (
    check,
    decision_values,
    require,
    support_of,
    training_context,
    warm,
)
from kselect.selection.held_out import Quality, quality_of
from kselect.selection.own_data import OwnData
from kselect.selection.request import Request, make_folds

OUTER = 5
# Makes the request for given rows: "auto" grids depend on the distances of these rows only.
RequestFor = Callable[[Array], Request]


@dataclass(frozen=True, eq=False)
class ComparedCriterion:
    """One criterion: its choice on all rows, the seconds spent on it only, and its quality on outer folds.

    ``decisions`` (q, n) are the predictions of each row without its outer fold.
    """

    method: Method
    best: BestPoint
    seconds: float
    quality: Quality
    decisions: Array


@dataclass(frozen=True, eq=False)
class CriteriaComparison:
    """The criteria in their order; ``shared`` are the seconds of work that all criteria use."""

    criteria: tuple[ComparedCriterion, ...]
    shared: float
    outer: Folds


def compare(
    data: OwnData, request_for: RequestFor, methods: Sequence[Method]
) -> CriteriaComparison:
    """Apply every method to all rows, then to the training part of each outer fold."""
    n, target, request = len(data.X), data.target, request_for(data.X)
    for method in methods:
        check(replace(request, method=method), data.X, make_folds(method, n, request.seed, None))
    started = perf_counter()
    chosen, seconds, _ = search_all(data.X, target.values, request, methods)
    shared = perf_counter() - started - sum(seconds.values())
    outer = draw_folds(n, min(OUTER, n), stream(request.seed, "outer folds"))
    decisions = outer_decisions(data, request_for, methods, outer)
    criteria = (
        ComparedCriterion(
            m, chosen[m], seconds[m], quality_of(f, target.values, target.task, outer), f
        )
        for m, f in zip(methods, decisions, strict=True)
    )
    return CriteriaComparison(tuple(criteria), shared, outer)


def search_all(
    X: Array, targets: Array, request: Request, methods: Sequence[Method]
) -> tuple[dict[Method, BestPoint], dict[Method, float], Array | None]:
    """Return the choice of every method, the seconds spent on each method only, and the fits' rows if not all."""
    folds = cache(lambda k: draw_folds(len(X), k, stream(request.seed, "folds")))
    context = replace(training_context(X, targets, request, folds), keeps_held_out=False)
    if request.nystrom is None:
        context.columns = None  # exact features may not serve every method
    seconds, found = dict.fromkeys(methods, 0.0), dict[Method, BestPoint]()
    with threadpool_limits(1):
        if context.columns is None:
            warm(context.points, request.kernels)
        for method in filter(partial(prunes, context), methods):
            started = perf_counter()
            if minimum := find_minimum(context, method.folds, n_jobs=request.n_jobs):
                found[method] = minimum.found
            seconds[method] = perf_counter() - started
        rest = tuple(m for m in methods if m not in found)
        best = {m: Best(SELECTED) for m in rest}
        for visit in score_kernels(context, rest, request.n_jobs) if rest else ():
            for method in rest:
                best[method].update(context, visit, method)
                seconds[method] += visit.seconds[method]
    found |= {m: require(best[m].result()) for m in rest}
    support = None if context.columns is None else support_of(context, request.kernels[0])
    return found, seconds, support


def outer_decisions(
    data: OwnData, request_for: RequestFor, methods: Sequence[Method], outer: Folds
) -> Array:
    """Return (methods, q, n) decision values: each row's by the choices made without its outer fold."""
    targets = data.target.values
    decisions = np.zeros((len(methods), *targets.shape))
    for F in outer.members:
        train = np.setdiff1d(np.arange(len(data.X)), F)
        X, _ = fit_preparation(data.frame, data.preparation.scale, train).transform(data.frame)
        request = request_for(X[train])
        chosen, _, own = search_all(X[train], targets[:, train], request, methods)
        support = X[train] if own is None else own
        for i, method in enumerate(methods):
            found = chosen[method]
            decisions[i][:, F] = decision_values(found.point.kernel, found.fits, support, X[F]).T
    return decisions
