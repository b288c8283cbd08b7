"""Several criteria on the same rows: the choice of each, and its quality on rows that the choice has not seen.

All criteria share the same paths, so that each kernel is factorised only once; a minimum that bounds can find has a
search of its own, and so have the values beyond a grid. The outer cross-validation imputes, encodes, scales, finds
relevances, lays the grid, weighs classes, chooses and averages using the training part of each fold only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
from threadpoolctl import threadpool_limits

from kselect.core.grid_point import BestPoint
from kselect.core.method import SELECTED, Method
from kselect.datasets.prepare import fit_preparation
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array
from kselect.numerics.splits import HowHeldOut, Splits
from kselect.search.grid import Best, score_kernels
from kselect.search.training_context import TrainingContext
from kselect.selection.candidates.families import Rows
from kselect.selection.engine import (
    by_bounds,
    completed,
    require,
    share,
    support_of,
    training_context,
)
from kselect.selection.held_out import Quality, quality_of
from kselect.selection.own_data import OwnData
from kselect.selection.refusals import check
from kselect.selection.request import Request
from kselect.selection.result import Selection, mean_values
from kselect.selection.rows.holding_out import pairs_of
from kselect.selection.rows.rules import RowRules

OUTER = 5
# Makes the request for given rows: relevances and "auto" grids depend on these rows only.
RequestFor = Callable[[Rows], Request]


@dataclass(frozen=True, eq=False)
class ComparedCriterion:
    """One criterion: its choice on all rows, the seconds spent on it only, and its quality on outer folds.

    ``members`` is the number of fits that are averaged. ``decisions`` (q, tested) are the predictions of each outer
    test row without its outer fold.
    """

    method: Method
    best: BestPoint
    seconds: float
    quality: Quality
    decisions: Array
    members: int
    edges: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class CriteriaComparison:
    """The criteria in their order; ``shared`` are the seconds of work that all criteria use."""

    criteria: tuple[ComparedCriterion, ...]
    shared: float
    outer: Folds | Splits


def compare(
    data: OwnData,
    request_for: RequestFor,
    methods: Sequence[Method],
    rules: RowRules | None = None,
) -> CriteriaComparison:
    """Apply every method to all rows, then to the training part of each outer fold, by the rules of its rows."""
    n, target, rules = len(data.X), data.target, rules or RowRules()
    request = rules.weighed(request_for(data.rows), target.values)
    folds = rules.folds(n, request.seed)
    for method in methods:
        own = None if method.folds is None else folds(method.folds)
        check(replace(request, method=method), data.X, own)
    started = perf_counter()
    chosen, seconds = search_all(data.X, target.values, request, methods, folds)
    shared = perf_counter() - started - sum(seconds.values())
    outer = rules.outer(n, OUTER, request.seed)
    decisions = outer_decisions(data, request_for, methods, outer, rules)
    given = target.values, target.task, outer, request.weights
    criteria = (
        ComparedCriterion(
            *(m, chosen[m].best, seconds[m], quality_of(f, *given)),
            *(f, len(chosen[m].members), tuple(chosen[m].edges)),
        )
        for m, f in zip(methods, decisions, strict=True)
    )
    return CriteriaComparison(tuple(criteria), shared, outer)


def search_all(
    X: Array, targets: Array, request: Request, methods: Sequence[Method], folds: HowHeldOut
) -> tuple[dict[Method, Selection], dict[Method, float]]:
    """Return the choice of every method, and the seconds spent on each method only."""
    context = training_context(X, targets, request, folds)
    if request.nystrom is None:
        context.columns = None  # exact features may not serve every method
    seconds, found = dict.fromkeys(methods, 0.0), dict[Method, Selection]()
    with threadpool_limits(1):
        if context.columns is None:
            share(context.points, request.kernels)
        for method in methods:
            started = perf_counter()
            asked = replace(request, method=method, search="pruned")
            if alone := by_bounds(context, asked, started):
                found[method] = alone
            seconds[method] = perf_counter() - started
        rest = tuple(m for m in methods if m not in found)
        found |= on_shared_grid(context, request, rest, seconds)
        for method, one in found.items():
            started = perf_counter()
            found[method] = completed(context, X, one, folds)
            seconds[method] += perf_counter() - started
    return found, seconds


def on_shared_grid(
    context: TrainingContext,
    request: Request,
    methods: Sequence[Method],
    seconds: dict[Method, float],
) -> dict[Method, Selection]:
    """Return the choice of several methods that score the same paths; add to the seconds of each."""
    if not methods:
        return {}
    best = {m: Best(SELECTED) for m in methods}
    scores: dict[Method, list[Array]] = {m: [] for m in methods}
    for visit in score_kernels(context, methods, request.n_jobs):
        for method in methods:
            best[method].update(context, visit, method)
            scores[method].append(visit.scores[method])
            seconds[method] += visit.seconds[method]
    support = None if context.columns is None else support_of(context, request.kernels[0])
    return {
        m: Selection(
            request=replace(request, method=m),
            scores=np.array(scores[m]),
            best=require(best[m].result()),
            support=support,
            seconds=0.0,
            seconds_fit=0.0,
            held_out=best[m].held_out,
        )
        for m in methods
    }


def outer_decisions(
    data: OwnData,
    request_for: RequestFor,
    methods: Sequence[Method],
    outer: Folds | Splits,
    rules: RowRules | None = None,
) -> Array:
    """Return (methods, q, tested) decision values: each outer test row's by the choices made without its fold.

    A training part has class weights, groups and times of its own rows only.
    """
    targets, rules = data.target.values, rules or RowRules()
    tested = sum(len(at) for at in outer.members)
    decisions = np.zeros((len(methods), len(targets), tested))
    for train, test, at in pairs_of(outer):
        preparation = fit_preparation(data.frame, data.preparation.scale, train)
        X, _ = preparation.transform(data.frame)
        rows = Rows(X[train], targets[:, train], preparation.column_of_feature)
        own = rules.part(train)
        request = own.weighed(request_for(rows), rows.targets)
        folds = own.folds(len(train), request.seed)
        chosen, _ = search_all(X[train], rows.targets, request, methods, folds)
        for i, method in enumerate(methods):
            found = chosen[method]
            support = X[train] if found.support is None else found.support
            members = [(one.point.kernel, one.fits) for one in found.members]
            decisions[i][:, at] = mean_values(members, support, X[test]).T
    return decisions
