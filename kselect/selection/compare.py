"""Several criteria on the same rows: what each chooses, and how good that is on rows that it has not seen.

All criteria are asked about the same paths, so a kernel is factorised once for all of them. The outer
cross-validation imputes, encodes, scales, lays the grid and chooses on the training part of each fold alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from time import perf_counter

import numpy as np
from threadpoolctl import threadpool_limits

from kselect.core.grid_point import BestPoint, SearchFailure
from kselect.core.method import SELECTED, Method
from kselect.datasets.preparation import fit_preparation
from kselect.errors import TrialError
from kselect.kernels import Points
from kselect.numerics.folds import Folds, draw_folds, stream
from kselect.numerics.linalg import Array
from kselect.search.engine import walk
from kselect.search.grid import Best
from kselect.selection.engine import Request, check, training_side, warm
from kselect.selection.held_out import Quality, quality_of
from kselect.selection.own_data import OwnData

OUTER = 5
Draw = Callable[[int, int], Folds]
# A request for some rows: a grid that the user leaves open lies around their distances, and theirs alone.
Ask = Callable[[Array], Request]


@dataclass(frozen=True, eq=False)
class Compared:
    """One criterion: what it finds on all rows, its own seconds there, and its quality on outer folds."""

    method: Method
    found: BestPoint
    seconds: float
    quality: Quality


@dataclass(frozen=True, eq=False)
class Comparison:
    """The criteria in their order; ``shared`` are the seconds that belong to no criterion alone."""

    lines: tuple[Compared, ...]
    shared: float
    outer: int


def compare(data: OwnData, ask: Ask, methods: Sequence[Method]) -> Comparison:
    """Every method on all rows, then on the training part of each outer fold."""
    n, targets, request = len(data.X), data.goal.values, ask(data.X)
    draw = partial(seeded, request.seed)
    for method in methods:
        folds = None if method.folds is None else draw(method.folds, n)
        check(replace(request, method=method), n, folds)
    started = perf_counter()
    best, own = search_all(data.X, targets, request, methods, draw)
    shared = perf_counter() - started - sum(own.values())
    outer = draw_folds(n, min(OUTER, n), stream(request.seed, "outer folds"))
    decisions = outer_decisions(data, ask, methods, outer, draw)
    lines = (
        Compared(m, found(best[m]), own[m], quality_of(f, targets, data.goal.task, outer))
        for m, f in zip(methods, decisions, strict=True)
    )
    return Comparison(tuple(lines), shared, len(outer.members))


def seeded(seed: int, k: int, n: int) -> Folds:
    """The folds that a selection by one criterion draws."""
    return draw_folds(n, k, stream(seed, "folds"))


def search_all(
    X: Array, targets: Array, request: Request, methods: Sequence[Method], draw: Draw
) -> tuple[dict[Method, Best], dict[Method, float]]:
    """The best place of every method, and the seconds that each has taken for itself."""
    side = training_side(X, targets, request, None)
    side = replace(side, folds=cache(lambda k: draw(k, len(X))), keeps_held_out=False)
    best, seconds = {m: Best(SELECTED) for m in methods}, dict.fromkeys(methods, 0.0)
    with threadpool_limits(1):
        warm(side.points, request.kernels)
        for visit in walk(side, tuple(methods), request.n_jobs):
            for method in methods:
                best[method].see(side, visit, method)
                seconds[method] += visit.seconds[method]
    return best, seconds


def found(best: Best) -> BestPoint:
    """What a method has chosen, or the reason why it could not."""
    result = best.result()
    if isinstance(result, SearchFailure):
        raise TrialError(result.reason)
    return result


def outer_decisions(
    data: OwnData, ask: Ask, methods: Sequence[Method], outer: Folds, draw: Draw
) -> Array:
    """(methods, q, n): every row decided by what each method chose without its outer fold."""
    targets = data.goal.values
    decisions = np.zeros((len(methods), *targets.shape))
    for F in outer.members:
        train = np.setdiff1d(np.arange(len(data.X)), F)
        X, _ = fit_preparation(data.frame, data.preparation.scale, train).transform(data.frame)
        request = ask(X[train])
        side = training_side(X[train], targets[:, train], request, None)
        best, _ = search_all(X[train], targets[:, train], request, methods, draw)
        support = X[train] if side.landmarks is None else X[train][side.landmarks]
        for i, method in enumerate(methods):
            result = found(best[method])
            K = result.point.kernel.gram(Points(X[F], support))
            decisions[i][:, F] = [dual.decision(0, K) for dual in result.fits]
    return decisions
