"""Kernel and ridge for somebody's own rows: the paths and criteria of an experiment, without its stages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter

import numpy as np
from threadpoolctl import threadpool_limits

from kselect.core.grid_point import BestPoint, SearchFailure
from kselect.core.method import SELECTED, Choice, LamGrid, Method, SearchName
from kselect.criteria import CRITERIA
from kselect.datasets.registry import Task
from kselect.errors import ConfigError, DataError, TrialError
from kselect.grids import LARGEST_SEARCH, show_number
from kselect.kernels import Kernel, Points
from kselect.kernels.nystrom import draw_landmarks
from kselect.learners import Fit, find_learner
from kselect.learners.base import RidgeMode
from kselect.numerics.folds import Folds, stream
from kselect.numerics.linalg import Array, Index
from kselect.numerics.memory import available_memory, gib
from kselect.search.engine import NUMERICAL, walk
from kselect.search.grid import Best
from kselect.search.kinds import search_continuously
from kselect.search.minimum import find_minimum, prunes
from kselect.search.pruned import Work
from kselect.search.training_context import TrainingContext

# Distances, the kernel, its eigenvectors and LAPACK's workspace, in n-by-n matrices of doubles.
MATRICES_SHARED = 1
MATRICES_PER_WORKER = 6


Watch = Callable[[int, int], None]


def unwatched(done: int, total: int) -> None:
    """Nobody is told."""


@dataclass(frozen=True)
class Request:
    """What to choose from and by what."""

    learner: Choice
    kernels: tuple[Kernel, ...]
    lams: tuple[float, ...]
    method: Method
    ridge: RidgeMode = "fixed"
    nystrom: int | None = None
    n_jobs: int = 1
    seed: int = 0
    task: Task = "classification"
    search: SearchName = "grid"


@dataclass(frozen=True, eq=False)
class Selection:
    """The scores over the grid, the best place, and the fit there: one dual per target.

    ``seconds_fit`` are those of the fit of the choice alone. A search by bounds knows no score but the best, and
    has ``work``: how little it fitted. ``held_out`` (q, n) are the predictions for the choice by the criterion's
    own cross-validation, where it made one.
    """

    request: Request
    scores: Array
    found: BestPoint
    landmarks: Index | None
    seconds: float
    seconds_fit: float
    work: Work | None = None
    held_out: Array | None = None

    @property
    def kernel(self) -> Kernel:
        """The kernel that was chosen."""
        return self.found.point.kernel

    @property
    def lam(self) -> float:
        """The ridge that was chosen, as lam."""
        return self.found.point.lam

    @property
    def score(self) -> float:
        """The criterion's value there."""
        return self.found.score

    @property
    def fits(self) -> tuple[Fit, ...]:
        """The fits, one per target."""
        return self.found.fits

    @property
    def position(self) -> tuple[int, int]:
        """Where the choice stands among kernels and ridges."""
        return self.request.kernels.index(self.kernel), self.request.lams.index(self.lam)

    @property
    def edges(self) -> list[str]:
        """What of the choice lies on the edge of its grid, in words; a grid of one value has no edge."""
        found = []
        same = [k for k in self.request.kernels if k.name == self.kernel.name]
        for name, value in self.kernel.parameters.items():
            values = sorted({k.parameters[name] for k in same})
            found += edge(name, value, values)
        return found + edge("lam", self.lam, sorted(self.request.lams))


def edge(name: str, value: float, values: Sequence[float]) -> list[str]:
    """``['tau = 256 is the largest of its grid']``, or nothing."""
    if len(values) < 2 or value not in (values[0], values[-1]):
        return []
    end = "smallest" if value == values[0] else "largest"
    return [f"{name} = {show_number(value)} is the {end} of its grid: widen it"]


def select(
    X: Array, targets: Array, request: Request, folds: Folds | None, watch: Watch = unwatched
) -> Selection:
    """Score every kernel and ridge and keep the best; ``watch`` is told after each kernel how many are done.

    ``targets`` is (q, n): one row in a regression or for two classes, one per class (-1, +1) for more; their
    scores are averaged. A criterion without folds takes ``folds`` None.
    """
    check(request, len(X), folds)
    side = training_side(X, targets, request, folds)
    started = perf_counter()
    with threadpool_limits(1):  # one BLAS thread for each of our own threads
        if request.method.search:
            return by_learning(side, request, started)
        if found := by_bounds(side, request, started):
            return found
        return on_grid(side, request, started, watch)


def by_learning(side: TrainingContext, request: Request, started: float) -> Selection:
    """What a search through all values finds, as a selection from the grid of that one place."""
    cells = search_continuously(side, {request.method: (SELECTED,)})
    found = cells[request.method, SELECTED]
    if isinstance(found, SearchFailure):
        raise TrialError(found.reason)
    point = found.point
    one = replace(request, kernels=(point.kernel,), lams=(point.lam,))
    return Selection(one, np.array([[found.score]]), found, None, perf_counter() - started, 0.0)


def by_bounds(side: TrainingContext, request: Request, started: float) -> Selection | None:
    """The minimum without the surface, where that is asked for and can be had."""
    if request.search == "grid" or not prunes(side, request.method):
        return None
    minimum = find_minimum(side, request.method.folds)
    if minimum is None:
        return None
    point = minimum.found.point
    scores = np.full((len(request.kernels), len(request.lams)), np.nan)
    scores[request.kernels.index(point.kernel), request.lams.index(point.lam)] = minimum.found.score
    seconds = perf_counter() - started
    return Selection(request, scores, minimum.found, None, seconds, 0.0, minimum.work)


def on_grid(side: TrainingContext, request: Request, started: float, watch: Watch) -> Selection:
    """Every candidate scored."""
    best = Best(SELECTED)
    scores = []
    warm(side.points, request.kernels)
    for visit in walk(side, (request.method,), request.n_jobs):
        scores.append(visit.scores[request.method])
        best.see(side, visit, request.method)
        watch(len(scores), len(request.kernels))
    searched = perf_counter()
    found = best.result()
    if isinstance(found, SearchFailure):
        raise TrialError(found.reason)
    if len(request.kernels) * len(request.lams) > 1:
        found = replace(found, fits=fit_alone(side, found))
    return Selection(
        request,
        np.array(scores),
        found,
        side.landmarks,
        searched - started,
        perf_counter() - searched,
        held_out=best.held_out,
    )


def fit_alone(side: TrainingContext, found: BestPoint) -> tuple[Fit, ...]:
    """The fits at the choice, as if nothing else had been asked for: the same bits from whatever grid it came.

    All ridges at once are rounded otherwise, and a ridge far below a singular kernel multiplies that: 5e-9 of
    the decisions on a table of categories at ``n lam = 4e-5``. It takes one path more, of one ridge.
    """
    learner, params = find_learner(side.learner.name), dict(side.learner.params)
    lams, targets = np.array([found.point.lam]), range(len(side.targets))
    try:
        with np.errstate(divide="raise", invalid="raise", over="raise"):
            problem = side.problem(found.point.kernel)
            paths = [learner.path(problem.of_target(t, lams), **params) for t in targets]
            return tuple(path.fit() for path in paths)
    except NUMERICAL:  # it went well among others
        return found.fits


def training_side(
    X: Array, targets: Array, request: Request, folds: Folds | None
) -> TrainingContext:
    """All rows are training rows; the folds are those given."""
    streams = partial(stream, request.seed)
    landmarks = None
    if request.nystrom is not None:
        landmarks = draw_landmarks(len(X), request.nystrom, streams("landmarks"))
    return TrainingContext(
        X=X,
        targets=targets,
        task=request.task,
        kernels=request.kernels,
        ridges=LamGrid(request.lams, "select"),
        learner=request.learner,
        ridge=request.ridge,
        folds=lambda _: require(folds),
        stream=streams,
        landmarks=landmarks,
        keeps_held_out=True,
    )


def require(folds: Folds | None) -> Folds:
    """The folds of a criterion that has some."""
    if folds is None:
        raise ConfigError("this criterion needs folds")
    return folds


def warm(points: Points, kernels: Sequence[Kernel]) -> None:
    """What kernels share is computed before threads would compute it twice."""
    try:
        with np.errstate(over="raise", invalid="raise"):
            for kind in {type(k) for k in kernels}:
                kind.shared(points)
    except FloatingPointError:
        raise DataError("the features are too large: their products overflow; scale them") from None


def check(request: Request, n: int, folds: Folds | None) -> None:
    """What cannot work is said before the first matrix."""
    candidates = len(request.kernels) * len(request.lams)
    if candidates > LARGEST_SEARCH:
        raise ConfigError(
            f"{candidates} kernels times ridges are too many: {LARGEST_SEARCH} at most"
        )
    criterion, learner = CRITERIA[request.method.criterion], find_learner(request.learner.name)
    columns = request.nystrom is not None
    if columns and learner.low_rank is None:
        raise ConfigError(f"the learner {learner.name} does not work with Nystrom columns")
    names = [k.name for k in request.kernels]
    for words in criterion.misfits(request.method.label, learner, names, columns):
        raise ConfigError(words)
    if folds is not None and folds.n != n:
        raise DataError(f"the folds are of {folds.n} rows, the data has {n}")
    if request.nystrom is None:
        check_memory(n, request.n_jobs)


def check_memory(n: int, n_jobs: int) -> None:
    """Refuse what would not fit, before allocating it."""
    needed = 8 * n**2 * (MATRICES_SHARED + MATRICES_PER_WORKER * n_jobs)
    there = available_memory()
    if needed > there:
        raise DataError(
            f"{n} rows need {gib(needed)} of memory for n-by-n matrices with {n_jobs} worker(s); "
            f"{gib(there)} are free; approximate the kernel by c columns: --nystrom 500 (nystrom=500)"
        )
