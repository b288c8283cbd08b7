"""Selection of kernel and ridge on arrays: scores every candidate, keeps the best and fits it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from time import perf_counter

import numpy as np
from threadpoolctl import ThreadpoolController

from kselect.core.grid_point import BestPoint, SearchFailure
from kselect.core.method import SELECTED, LamGrid
from kselect.errors import ConfigError, DataError, TrialError
from kselect.kernels import Kernel, Points
from kselect.kernels.base import warm
from kselect.learners import LEARNERS, Fit
from kselect.learners.blocks import RowBlocks
from kselect.numerics.folds import Folds, stream
from kselect.numerics.linalg import Array
from kselect.numerics.splits import HowHeldOut, Splits
from kselect.search.fold_errors import check_scorer
from kselect.search.grid import NUMERICAL, Best, score_kernels
from kselect.search.pruned import (
    Watch,
    find_minimum,
    prunes,
)
from kselect.search.training_context import TrainingContext
from kselect.selection.candidates.agop import with_agop
from kselect.selection.candidates.extension import extended
from kselect.selection.columns import passes_for_choice, passes_of
from kselect.selection.common_scale import in_units, units_of
from kselect.selection.defaults import NEAR
from kselect.selection.ensemble import form_others, held_out_of, holds_out
from kselect.selection.refusals import check, check_memory
from kselect.selection.request import Request
from kselect.selection.result import Selection
from kselect.selection.time_limit import Limit, as_asked, in_order_of_visit

NO_LIMIT = Limit(None)


def select(
    X: Array | RowBlocks,
    targets: Array,
    request: Request,
    folds: Folds | Splits | None,
    watch: Watch = lambda done, total: None,
) -> Selection:
    """Score every kernel and ridge, choose the best and fit it.

    ``targets`` is (q, n): one row per number to predict, one for two classes, one per class (-1, +1) for more. The
    scores of the rows are averaged; several numbers are brought to a common scale first. ``folds`` is None for a
    criterion without folds. ``watch`` is called after each kernel with the number of kernels done and their total.
    """
    check(request, X, folds)

    def given(_: int) -> Folds | Splits:
        if folds is None:
            raise ConfigError(f"{request.method.label} needs folds: draw them with make_folds")
        return folds

    LEARNERS[request.learner.name].prepare()
    with blas().limit(limits=1):  # one BLAS thread for each of our own threads
        limit = Limit.of(request)
        asked = request if limit.ends is None else in_order_of_visit(request)
        context = training_context(X, targets, asked, given)
        check_scorer(context, request.method)
        context, found = search(context, asked, limit.watching(watch))
        if limit.ends is not None:
            found = as_asked(found, request)
        return completed(context, X, found, given, limit)


def completed(
    context: TrainingContext,
    X: Array | RowBlocks,
    found: Selection,
    folds: HowHeldOut,
    limit: Limit = NO_LIMIT,
) -> Selection:
    """Return the selection on grids that have grown as far as they need to, with the members of its average."""

    def run(strip: Request) -> Selection:
        return search(on_strip(context, X, strip, folds), strip)[1]

    found = extended(with_agop(found, X, run), run, limit)
    return in_units(averaged(grown(context, found.request), found), context.units)


def search(
    context: TrainingContext,
    request: Request,
    watch: Watch = lambda done, total: None,
) -> tuple[TrainingContext, Selection]:
    """Return the best candidate of a request, and the context in which it was found."""
    started = perf_counter()
    folds = context.folds(request.method.folds) if request.method.folds else None
    if isinstance(folds, Splits) and not folds.rounds:  # these need slices of whole matrices
        context = replace(context, columns=None, keeps_held_out=True)
    if context.columns:
        context.columns.watch = watch
        context.columns.folds = folds if isinstance(folds, Folds) else None
        if request.nystrom is not None:
            return context, on_grid(context, request, started, watch)
        if found := on_exact_features(context, request, started, watch):
            return context, found
        context = replace(context, columns=None, keeps_held_out=True)
    if request.method.search:
        return context, by_learning(context, request, started)
    if found := by_bounds(context, request, started, watch):
        return context, found
    return context, on_grid(context, request, started, watch)


def grown(context: TrainingContext, request: Request) -> TrainingContext:
    """Return the context with the kernels and ridges of a request; it shares the distances between rows."""
    ridges = LamGrid(request.lams, "select")
    wider = replace(context, kernels=request.kernels, ridges=ridges)
    wider.points = context.points
    return wider


def on_strip(
    context: TrainingContext, X: Array | RowBlocks, request: Request, folds: HowHeldOut
) -> TrainingContext:
    """Return the context for further candidates; exact features are formed for these."""
    if context.columns is None or request.nystrom is not None:
        return grown(context, request)
    return training_context(X, context.targets, request, folds, context.units)


def averaged(context: TrainingContext, found: Selection) -> Selection:
    """Return the selection with the members of its average, without the predictions near the best ones."""
    if found.request.ensemble == 1:
        return replace(found, near={})
    started = perf_counter()
    others = form_others(context, found)
    return replace(
        found, others=others, near={}, seconds_fit=found.seconds_fit + perf_counter() - started
    )


@cache
def blas() -> ThreadpoolController:
    """Return the BLAS libraries of this process; finding them takes two milliseconds."""
    return ThreadpoolController()


def by_learning(context: TrainingContext, request: Request, started: float) -> Selection:
    """Search all values of a learned kernel; return a selection from a grid of the one candidate found."""
    from kselect.search.continuous import search_continuously

    cells = search_continuously(context, {request.method: (SELECTED,)})
    found = require(cells[request.method, SELECTED])
    one = replace(request, kernels=(found.point.kernel,), lams=(found.point.lam,))
    return Selection(one, np.array([[found.score]]), found, None, perf_counter() - started, 0.0)


def by_bounds(
    context: TrainingContext,
    request: Request,
    started: float,
    watch: Watch = lambda done, total: None,
) -> Selection | None:
    """Find the minimum by bounds, without the surface; None if not requested or not possible."""
    one = len(request.kernels) * len(request.lams) == 1
    if request.search == "grid" or one or not prunes(context, request.method):
        return None
    most, start = request.ensemble, None if request.time_limit is None else 0
    search = partial(find_minimum, slack=NEAR if most > 1 else 0.0, most=most, start=start)
    minimum = search(context, request.method.folds, n_jobs=request.n_jobs, watch=watch)
    if minimum is None:
        return None
    seconds = perf_counter() - started
    return Selection(
        *(request, minimum.scores, minimum.found, None, seconds, 0.0, minimum.work),
        held_out=minimum.held_out,
        near=minimum.near,
        unseen=() if start is None else request.kernels[minimum.seen :],
    )


def on_exact_features(
    context: TrainingContext, request: Request, started: float, watch: Watch
) -> Selection | None:
    """Search with the features of kernels that have few; None if rounding hides a candidate in these."""
    try:
        found = on_grid(context, request, started, watch)
    except TrialError:
        return None
    return None if found.best.excluded else found


def on_grid(context: TrainingContext, request: Request, started: float, watch: Watch) -> Selection:
    """Score every candidate, then fit the best one."""
    best = Best(SELECTED)
    scores = []
    if context.columns is None:
        metrics = len({kernel.metric for kernel in request.kernels})
        check_memory(context.n, request.n_jobs, None, metrics=metrics)
        share(context.points, request.kernels)
    for visit in score_kernels(context, (request.method,), request.n_jobs):
        scores.append(visit.scores[request.method])
        best.update(context, visit, request.method)
        told = None if context.columns else watch
        if told and told(len(scores), len(request.kernels)):
            break
    searched = perf_counter()
    found = require(best.result())
    if context.columns:
        kernel, lam = found.point.kernel, found.point.lam
        columns = passes_for_choice(context.columns, request, kernel, lam)
        context = replace(context, columns=columns)
    if len(request.kernels) * len(request.lams) > 1:
        found = replace(found, fits=fit_choice(context, found))
    support, held_out = None, best.held_out
    if context.columns:
        held_out = held_out_on_columns(context, found, request)
        support = support_of(context, found.point.kernel)
    unseen = request.kernels[len(scores) :]
    scores += [np.full(len(request.lams), np.nan)] * len(unseen)
    return Selection(
        request,
        np.array(scores),
        found,
        support,
        searched - started,
        perf_counter() - searched,
        held_out=held_out,
        unseen=unseen,
    )


def held_out_on_columns(
    context: TrainingContext, found: BestPoint, request: Request
) -> Array | None:
    """Return the held-out predictions of the choice; a search on columns forms none for the candidates."""
    if not holds_out(request.method):
        return None
    learner, params = LEARNERS[context.learner.name], dict(context.learner.params)
    lams, targets = np.array([found.point.lam]), range(len(context.targets))
    problem = context.problem(found.point.kernel)
    paths = [learner.path(problem.of_target(t, lams), **params) for t in targets]
    return held_out_of(context, request.method, paths)


def support_of(context: TrainingContext, kernel: Kernel) -> Array | None:
    """Return the rows at which a fit on columns has coefficients; None for all rows."""
    assert context.columns is not None
    support = context.columns.features(kernel).support
    return support if len(support) else None


def require(result: BestPoint | SearchFailure) -> BestPoint:
    """Return the choice; raise if no candidate could be scored."""
    if isinstance(result, SearchFailure):
        raise TrialError(result.reason)
    return result


def fit_choice(context: TrainingContext, found: BestPoint) -> tuple[Fit, ...]:
    """Fit the choice again without the other ridges: the bits then do not depend on the grid.

    A path over all ridges rounds differently, and a ridge far below a singular kernel magnifies the difference:
    5e-9 of the decision values on a table of categories at ``n lam = 4e-5``. Cost: one more path with one ridge.
    """
    learner, params = LEARNERS[context.learner.name], dict(context.learner.params)
    lams, targets = np.array([found.point.lam]), range(len(context.targets))
    try:
        with np.errstate(divide="raise", invalid="raise", over="raise"):
            problem = context.problem(found.point.kernel, lams)
            paths = [learner.path(problem.of_target(t, lams), **params) for t in targets]
            return tuple(path.fit() for path in paths)
    except NUMERICAL:  # keep the fit from the full path, which succeeded
        return found.fits


def training_context(
    X: Array | RowBlocks,
    targets: Array,
    request: Request,
    folds: HowHeldOut,
    units: Array | None = None,
) -> TrainingContext:
    """Return the input of a search on all rows; ``units`` are what the targets are divided by already."""
    if units is None and (units := units_of(targets, request)) is not None:
        targets = targets / units[:, None]
    columns, lams = passes_of(X, targets, request, request.weights), LamGrid(request.lams, "select")
    known = X if isinstance(X, np.ndarray) else np.empty((0, 0))
    return TrainingContext(
        *(known, targets, request.task, request.kernels, lams, request.learner, request.ridge),
        stream=partial(stream, request.seed),
        columns=columns,
        keeps_held_out=columns is None,
        given_folds=folds,
        weights=request.weights,
        units=units,
    )


def share(points: Points, kernels: Sequence[Kernel]) -> None:
    """Compute what the kernels share, once; refuse features whose products overflow."""
    try:
        with np.errstate(over="raise", invalid="raise"):
            warm(points, kernels)
    except FloatingPointError:
        raise DataError(
            "the features are too large: their products overflow; scale the features"
        ) from None
