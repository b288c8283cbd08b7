"""Selection of kernel and ridge on arrays: scores every candidate, keeps the best and fits it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from time import perf_counter

import numpy as np
from threadpoolctl import ThreadpoolController

from kselect.core.grid_point import BestPoint, SearchFailure
from kselect.core.method import SELECTED, LamGrid
from kselect.criteria import CRITERIA
from kselect.errors import ConfigError, DataError, TrialError
from kselect.grids import LARGEST_SEARCH, show_number
from kselect.kernels import Kernel, Points
from kselect.learners import LEARNERS, Fit, Path
from kselect.learners.base import Series
from kselect.learners.blocks import RowBlocks
from kselect.learners.refits import held_out
from kselect.numerics.folds import Folds, stream
from kselect.numerics.linalg import Array
from kselect.numerics.memory import available_memory, gib
from kselect.numerics.splits import HowHeldOut, Splits
from kselect.search.continuous import search_continuously
from kselect.search.fold_errors import check_scorer
from kselect.search.grid import NUMERICAL, Best, score_kernels
from kselect.search.pruned import bounds_hold, find_minimum, keeps_few_matrices, prunes
from kselect.search.pruned_grid import Work
from kselect.search.training_context import TrainingContext
from kselect.selection.columns import features_serve, passes_for_choice, passes_of
from kselect.selection.request import Request

# Distances, the kernel, its eigenvectors and LAPACK's workspace, in n-by-n matrices of doubles.
MATRICES_SHARED = 1
MATRICES_PER_WORKER = 6
# A search of many rows by bounds has the distances, one kernel, and the factor of a fold.
FEW_MATRICES = 3
# With Nystrom columns, matrices of c rows and columns, and numbers per row. A series of cross-validation keeps
# matrices of n rows and c columns as well.
COLUMNS_PER_WORKER = 4
SQUARES, SQUARES_PER_WORKER = 20, 10
ROWS_KEPT = 40
# Limits of one block of new rows against the rows of a fit: 2^25 entries are a quarter of a gigabyte.
ROWS_AT_ONCE = 4096
ENTRIES_AT_ONCE = 2**25


@dataclass(frozen=True, eq=False)
class Selection:
    """The scores over the grid, the best candidate, and its fit: coefficients and bias per target.

    ``seconds_fit`` is the time of the final fit only. A search by bounds knows only the best score, and has
    ``work``: the small part of the candidates that it had to fit. ``held_out`` (q, n) are the predictions of the
    criterion's own cross-validation at the choice, if the criterion made any. ``support`` are the rows of the fit's
    coefficients, None for all rows.
    """

    request: Request
    scores: Array
    best: BestPoint
    support: Array | None
    seconds: float
    seconds_fit: float
    work: Work | None = None
    held_out: Array | None = None

    @property
    def kernel(self) -> Kernel:
        """The chosen kernel."""
        return self.best.point.kernel

    @property
    def lam(self) -> float:
        """The chosen lam."""
        return self.best.point.lam

    @property
    def score(self) -> float:
        """The value of the criterion for the choice."""
        return self.best.score

    @property
    def position(self) -> tuple[int, int]:
        """Index of the choice among the kernels and among the ridges."""
        return self.request.kernels.index(self.kernel), self.request.lams.index(self.lam)

    @property
    def edges(self) -> list[str]:
        """The edges of the grid that the choice lies on."""
        return edges_of_choice(self.kernel, self.lam, self.request)


def edges_of_choice(kernel: Kernel, lam: float, request: Request) -> list[str]:
    """Return a sentence per parameter chosen at the boundary of its grid; a grid of one value has no boundary."""
    same = [k for k in request.kernels if k.name == kernel.name]
    chosen = [
        (name, value, sorted({k.parameters[name] for k in same}))
        for name, value in kernel.parameters.items()
    ]
    return [
        f"{name} = {show_number(value)} is the {'smallest' if value == values[0] else 'largest'} "
        "of its grid: widen the grid"
        for name, value, values in [*chosen, ("lam", lam, sorted(request.lams))]
        if len(values) > 1 and value in (values[0], values[-1])
    ]


def select(
    X: Array | RowBlocks,
    targets: Array,
    request: Request,
    folds: Folds | Splits | None,
    watch: Callable[[int, int], None] = lambda done, total: None,
) -> Selection:
    """Score every kernel and ridge, choose the best and fit it.

    ``targets`` is (q, n): one row for a regression or two classes, one row per class (-1, +1) for more classes;
    the scores of the rows are averaged. ``folds`` is None for a criterion without folds. ``watch`` is called after
    each kernel with the number of kernels done and their total.
    """
    check(request, X, folds)

    def given(_: int) -> Folds | Splits:
        if folds is None:
            raise ConfigError(f"{request.method.label} needs folds: draw them with make_folds")
        return folds

    LEARNERS[request.learner.name].prepare()
    started = perf_counter()
    with blas().limit(limits=1):  # one BLAS thread for each of our own threads
        context = training_context(X, targets, request, given)
        check_scorer(context, request.method)
        if isinstance(folds, Splits) and not folds.rounds:
            context = replace(context, columns=None, keeps_held_out=True)
        if context.columns:
            context.columns.folds = folds if isinstance(folds, Folds) else None
            context.columns.watch = watch
            if request.nystrom is not None:
                return on_grid(context, request, started, watch)
            if found := on_exact_features(context, request, started, watch):
                return found
            context = replace(context, columns=None, keeps_held_out=True)
        if request.method.search:
            return by_learning(context, request, started)
        if found := by_bounds(context, request, started, watch):
            return found
        return on_grid(context, request, started, watch)


@cache
def blas() -> ThreadpoolController:
    """Return the BLAS libraries of this process; finding them takes two milliseconds."""
    return ThreadpoolController()


def by_learning(context: TrainingContext, request: Request, started: float) -> Selection:
    """Search all values of a learned kernel; return a selection from a grid of the one candidate found."""
    cells = search_continuously(context, {request.method: (SELECTED,)})
    found = require(cells[request.method, SELECTED])
    one = replace(request, kernels=(found.point.kernel,), lams=(found.point.lam,))
    return Selection(one, np.array([[found.score]]), found, None, perf_counter() - started, 0.0)


def by_bounds(
    context: TrainingContext, request: Request, started: float, watch: Callable[[int, int], None]
) -> Selection | None:
    """Find the minimum by bounds, without the surface; None if not requested or not possible."""
    one = len(request.kernels) * len(request.lams) == 1
    if request.search == "grid" or one or not prunes(context, request.method):
        return None
    minimum = find_minimum(context, request.method.folds, n_jobs=request.n_jobs, watch=watch)
    if minimum is None:
        return None
    seconds = perf_counter() - started
    return Selection(
        *(request, minimum.scores, minimum.found, None, seconds, 0.0, minimum.work),
        held_out=minimum.held_out,
    )


def on_exact_features(
    context: TrainingContext, request: Request, started: float, watch: Callable[[int, int], None]
) -> Selection | None:
    """Search with the features of kernels that have few; None if rounding hides a candidate in these."""
    try:
        found = on_grid(context, request, started, watch)
    except TrialError:
        return None
    return None if found.best.excluded else found


def on_grid(
    context: TrainingContext, request: Request, started: float, watch: Callable[[int, int], None]
) -> Selection:
    """Score every candidate, then fit the best one."""
    best = Best(SELECTED)
    scores = []
    if context.columns is None:
        check_memory(context.n, request.n_jobs, None)
        warm(context.points, request.kernels)
    for visit in score_kernels(context, (request.method,), request.n_jobs):
        scores.append(visit.scores[request.method])
        best.update(context, visit, request.method)
        if context.columns is None:
            watch(len(scores), len(request.kernels))
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
    return Selection(
        request,
        np.array(scores),
        found,
        support,
        searched - started,
        perf_counter() - searched,
        held_out=held_out,
    )


def held_out_on_columns(
    context: TrainingContext, found: BestPoint, request: Request
) -> Array | None:
    """Return the held-out predictions of the choice; a search on columns forms none for the candidates."""
    method = request.method
    if not (method.folds and CRITERIA[method.criterion].need is Path):
        return None
    learner, params = LEARNERS[context.learner.name], dict(context.learner.params)
    folds, lams = context.folds(method.folds), np.array([found.point.lam])
    problem = context.problem(found.point.kernel)
    paths = (
        learner.path(problem.of_target(t, lams), **params) for t in range(len(context.targets))
    )
    return np.array([held_out(path, folds)[0] for path in paths])


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


def decision_values(kernel: Kernel, fits: Sequence[Fit], support: Array, X: Array) -> Array:
    """Return the (rows, q) decision values of fits on ``support``, in blocks of rows to bound the memory."""
    block = min(ROWS_AT_ONCE, max(1, ENTRIES_AT_ONCE // len(support)))
    values = [np.empty((0, len(fits)))]
    for start in range(0, len(X), block):
        K = kernel.gram(Points(X[start : start + block], support))
        values.append(np.stack([fit.decision(0, K) for fit in fits], axis=1))
    return np.concatenate(values)


def training_context(
    X: Array | RowBlocks, targets: Array, request: Request, folds: HowHeldOut
) -> TrainingContext:
    """Return the input of a search in which every row is a training row."""
    columns = passes_of(X, targets, request, request.weights)
    return TrainingContext(
        X=X if isinstance(X, np.ndarray) else np.empty((0, 0)),
        targets=targets,
        task=request.task,
        kernels=request.kernels,
        ridges=LamGrid(request.lams, "select"),
        learner=request.learner,
        ridge=request.ridge,
        stream=partial(stream, request.seed),
        columns=columns,
        keeps_held_out=columns is None,
        given_folds=folds,
        weights=request.weights,
    )


def warm(points: Points, kernels: Sequence[Kernel]) -> None:
    """Compute what the kernels share, once, before several threads would each compute it."""
    try:
        with np.errstate(over="raise", invalid="raise"):
            for kind in {type(k) for k in kernels}:
                kind.shared(points)
    except FloatingPointError:
        raise DataError(
            "the features are too large: their products overflow; scale the features"
        ) from None


def check(request: Request, X: Array | RowBlocks, folds: Folds | Splits | None) -> None:
    """Refuse a request that cannot work, before the first matrix is computed."""
    n = len(X)
    candidates = len(request.kernels) * len(request.lams)
    if candidates > LARGEST_SEARCH:
        raise ConfigError(
            f"{candidates} candidates (kernels times ridges) are too many: {LARGEST_SEARCH} at most"
        )
    criterion, learner = CRITERIA[request.method.criterion], LEARNERS[request.learner.name]
    columns = request.nystrom is not None
    if columns and learner.low_rank is None:
        raise ConfigError(f"the learner {learner.name} does not work with Nystrom columns")
    names = [k.name for k in request.kernels]
    given = request.method.label, learner, names, columns, request.weights is not None
    for words in criterion.misfits(*given):
        raise ConfigError(words)
    if isinstance(folds, Splits) and not folds.rounds and not criterion.refits:
        raise ConfigError(f"{request.method.label} needs folds that partition the rows")
    if isinstance(folds, Splits) and not folds.rounds and columns:
        raise ConfigError("splits that are no partition of the rows do not work on Nystrom columns")
    if request.method.search and (request.weights is not None or isinstance(folds, Splits)):
        what = "weights" if request.weights is not None else "repeated or partial folds"
        raise ConfigError(f"a kernel whose parameters are learned takes no {what}")
    if folds is not None and folds.n != n:
        raise DataError(f"the folds are for {folds.n} rows, but the data has {n}")
    if not isinstance(X, np.ndarray):
        return  # the rows lie elsewhere
    known = request.nystrom or (1 if features_serve(X, request) else None)
    by_bounds = request.search != "grid" and bounds_hold(request.learner, request.method)
    by_bounds = by_bounds and keeps_few_matrices(request.learner.name, n)
    few = by_bounds and request.method.search is None
    parts = len(request.kernels) if request.method.search else 0
    check_memory(n, request.n_jobs, known, criterion.need is Series, few=few, parts=parts)


def check_memory(
    n: int,
    n_jobs: int,
    columns: int | None,
    series: bool = False,
    *,
    few: bool = False,
    parts: int = 0,
) -> None:
    """Refuse n rows whose matrices would not fit into memory, before allocating them.

    A search by bounds keeps ``few`` matrices if there are many rows. ``parts`` is the number of kernels of a sum,
    each of which keeps its matrix.
    """
    if columns is None:
        each = MATRICES_SHARED + MATRICES_PER_WORKER * n_jobs
        needed = 8 * n**2 * ((FEW_MATRICES if few else each) + parts)
        what = "n-by-n matrices"
        advice = "approximate the kernel by c columns: --nystrom 500 (nystrom=500)"
    else:
        needed = 8 * (n * ROWS_KEPT + columns**2 * (SQUARES + SQUARES_PER_WORKER * n_jobs))
        if series:
            needed += 8 * n * columns * COLUMNS_PER_WORKER * n_jobs
        what = f"matrices of {columns} columns"
        advice = "take fewer columns (--nystrom) or workers (-j)"
    free = available_memory()
    if needed > free:
        raise DataError(
            f"{n} rows need {gib(needed)} of memory for {what} with {n_jobs} worker(s); "
            f"{gib(free)} are free; {advice}"
        )
