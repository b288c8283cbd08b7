"""The grid search: score every kernel and ridge, and keep the best grid point of each method.

All methods ask the same paths, one kernel at a time. A candidate that fails is excluded with its reason: a kernel
is first scored at all ridges at once and, if that fails, ridge by ridge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isclose
from time import perf_counter
from typing import Literal, TypeVar

import numpy as np

from kselect.core.grid_point import BestPoint, GridPoint, SearchFailure
from kselect.core.method import Choice, Method, Setting
from kselect.criteria import CRITERIA, PROBES
from kselect.errors import KselectError, TrialError
from kselect.grids import show_number
from kselect.kernels import Kernel
from kselect.learners import LEARNERS, Fit, Path, Problem
from kselect.learners.refits import held_out as held_out_on
from kselect.numerics.linalg import Array
from kselect.numerics.memory import keep_freed_memory
from kselect.numerics.splits import HowHeldOut, rounds_of
from kselect.plugins import located
from kselect.search.fold_errors import fold_errors
from kselect.search.training_context import TrainingContext

# How a candidate may fail. Memory is no property of a candidate: without enough of it the search ends.
NUMERICAL = (TrialError, np.linalg.LinAlgError, FloatingPointError)
INFINITE = "infinite score"
R = TypeVar("R")

# The methods to search with, and the settings of each: one cell of a table for each pair.
Demand = Mapping[Method, tuple[Setting, ...]]
Results = dict[tuple[Method, Setting], BestPoint | SearchFailure]
# A search over the grid: it finds the best point of every cell of the demand.
Search = Callable[[TrainingContext, Demand], Results]


@dataclass(frozen=True, eq=False)
class KernelScores:
    """One kernel: the score at each ridge (infinite, with an entry in ``reasons``, if excluded) and the fits.

    There is one fit per target. ``seconds`` is the time of each method, without the work that an earlier method has
    done for it. ``held_out`` has each target's held-out predictions (n_ridges, n), if the context keeps them.
    """

    kernel: Kernel
    scores: Mapping[Method, Array]
    reasons: Mapping[Method, Mapping[int, str]]
    fits: tuple[Fit, ...]
    seconds: Mapping[Method, float]
    held_out: Mapping[Method, tuple[Array, ...]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Paths:
    """The paths of one kernel, created on first use; all methods share them."""

    context: TrainingContext
    problem: Problem
    _made: dict[tuple[Choice, int, int | None], Path] = field(default_factory=dict)
    _broken: dict[Choice, Exception] = field(default_factory=dict)

    def of(self, learner: Choice, ridge: int | None) -> Iterator[Path]:
        """Yield a learner's path for each target, over all ridges or one; a failure is cached and raised again."""
        for target in range(len(self.context.targets)):
            if learner in self._broken:
                raise self._broken[learner]
            key = (learner, target, ridge)
            if key not in self._made:
                lams = self.problem.lams if ridge is None else self.problem.lams[[ridge]]
                mine = self.problem.of_target(target, lams)
                try:
                    self._made[key] = LEARNERS[learner.name].path(mine, **dict(learner.params))
                except NUMERICAL as error:
                    self._broken[learner] = error
                    raise
            yield self._made[key]


@dataclass
class Best:
    """The lowest score so far of one cell; of equal scores the first in grid order, as in scikit-learn.

    ``held_out`` (q, n) are the held-out predictions at this point, if the scores come with them.
    """

    setting: Setting
    score: float = np.inf
    point: GridPoint | None = None
    fits: tuple[Fit, ...] = ()
    held_out: Array | None = None
    excluded: list[tuple[GridPoint, str]] = field(default_factory=list)

    def update(self, context: TrainingContext, kernel: KernelScores, method: Method) -> None:
        """Compare the scores of one more kernel with the best."""
        scores, lams = kernel.scores[method], context.lams
        one = self.setting.position
        ridges = range(len(lams)) if one is None else (one,)
        for ridge, why in sorted(kernel.reasons[method].items()):
            if ridge in ridges:
                self.excluded.append((GridPoint(kernel.kernel, lams[ridge]), why))
        ridge = int(np.argmin(scores)) if one is None else one
        if scores[ridge] < self.score:
            self.score = float(scores[ridge])
            self.point = GridPoint(kernel.kernel, lams[ridge])
            self.fits = tuple(Fit(f.alpha[[ridge]], f.bias[[ridge]]) for f in kernel.fits)
            held = kernel.held_out.get(method)
            self.held_out = None if held is None else np.array([each[ridge] for each in held])

    def result(self) -> BestPoint | SearchFailure:
        """Return the best point; if every candidate is excluded, a failure with the first candidate's reason."""
        if self.point is not None:
            return BestPoint(self.point, self.score, self.fits, tuple(self.excluded))
        if not self.excluded:
            return SearchFailure("there is no kernel to choose from")
        point, why = self.excluded[0]
        return SearchFailure(f"no kernel and ridge has a finite score; at {point.text}: {why}")


def search_grid(context: TrainingContext, demand: Demand, n_jobs: int = 1) -> Results:
    """Return the best point of each cell among all kernels and ridges."""
    best = {(m, s): Best(s) for m, settings in demand.items() for s in settings}
    for kernel in score_kernels(context, tuple(demand), n_jobs):
        for (method, _), cell in best.items():
            cell.update(context, kernel, method)
    return {cell: found.result() for cell, found in best.items()}


def score_kernels(
    context: TrainingContext, methods: Sequence[Method], n_jobs: int = 1
) -> Iterator[KernelScores]:
    """Yield the scores of every kernel in grid order, with the paths of one kernel per thread in memory.

    Threads are enough, because numpy's products and LAPACK by address (numerics/lapack.py) do not hold the
    interpreter's lock.
    """
    keep_freed_memory()
    if n_jobs == 1:
        yield from (score_kernel(context, kernel, methods) for kernel in context.kernels)
        return
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs, prefer="threads", return_as="generator")
    yield from parallel(
        delayed(score_kernel)(context, kernel, methods) for kernel in context.kernels
    )


def score_kernel(
    context: TrainingContext, kernel: Kernel, methods: Iterable[Method]
) -> KernelScores:
    """Return every method's scores for one kernel, and the fits."""
    scores: dict[Method, Array] = {}
    reasons: dict[Method, dict[int, str]] = {}
    seconds: dict[Method, float] = {}
    with np.errstate(divide="raise", invalid="raise", over="raise"):
        try:
            paths = Paths(context, context.problem(kernel))
        except NUMERICAL as error:
            for method in methods:
                scores[method] = np.full(len(context.lams), np.inf)
                reasons[method] = dict.fromkeys(range(len(context.lams)), reason(error))
                seconds[method] = 0.0
            return KernelScores(kernel, scores, reasons, (), seconds)
        fits, unfit = fit_targets(paths)
        for method in methods:
            started = perf_counter()
            values, why = score(paths, method)
            if unfit:
                values = values.copy()
                values[list(unfit)] = np.inf
            scores[method], reasons[method] = values, {**why, **unfit}
            seconds[method] = perf_counter() - started
        held = held_out(paths, scores) if context.keeps_held_out else {}
    return KernelScores(kernel, scores, reasons, fits, seconds, held)


def held_out(paths: Paths, methods: Iterable[Method]) -> dict[Method, tuple[Array, ...]]:
    """Return each target's predictions by exact cross-validation, which the paths have cached."""
    found = {}
    for method in methods:
        # A criterion that asks for no more than held-out predictions has cached them.
        exact = CRITERIA[method.criterion].need is Path
        if method.folds and exact and not method.scored_by:
            folds = paths.context.folds(method.folds)
            try:
                every = paths.of(paths.context.learner, None)
                found[method] = tuple(held_out_on(path, folds) for path in every)
            except NUMERICAL:  # this kernel was scored ridge by ridge
                continue
    return found


def fit_targets(paths: Paths) -> tuple[tuple[Fit, ...], dict[int, str]]:
    """Return each target's fit at every ridge, and the reasons of the ridges without a fit."""
    learner, count = paths.context.learner, len(paths.context.lams)
    found, unfit = ridge_by_ridge(
        lambda ridge: [path.fit() for path in paths.of(learner, ridge)], count
    )
    if None in found or not found:
        return tuple(found.get(None, ())), unfit
    some = next(iter(found.values()))
    blank = [Fit(np.zeros_like(one.alpha), np.zeros_like(one.bias)) for one in some]
    by_target = zip(*(found.get(ridge, blank) for ridge in range(count)), strict=True)
    stacked = (
        Fit(np.concatenate([one.alpha for one in own]), np.concatenate([one.bias for one in own]))
        for own in by_target
    )
    return tuple(stacked), unfit


def score(paths: Paths, method: Method) -> tuple[Array, dict[int, str]]:
    """Return a method's scores at every ridge, the mean over targets, and the reasons of the infinite ones."""
    context, folds = paths.context, paths.context.folds
    learner = dict(method.scored_by).get(context.task, context.learner)
    count = len(context.lams)

    def compute(ridge: int | None) -> Array:
        own = paths.of(learner, ridge)
        if method.scorer is None:
            return np.asarray(np.mean([evaluate(method, path, folds) for path in own], axis=0))
        held = [held_out_on(path, folds(method.folds or 0)) for path in own]
        return np.asarray(fold_errors(context, method, held).mean(axis=-1))

    found, reasons = ridge_by_ridge(compute, count)
    scores = np.full(count, np.inf)
    for ridge, values in found.items():
        scores[slice(None) if ridge is None else [ridge]] = values
    infinite = [i for i in np.flatnonzero(np.isposinf(scores)).tolist() if i not in reasons]
    if infinite and not reasons:  # the path over all ridges has answered
        names = excluding_guards(method, paths.of(learner, None), folds, count)
        return scores, {i: names[i] for i in infinite}
    for i in infinite:
        (reasons[i],) = excluding_guards(method, paths.of(learner, i), folds, 1)
    return scores, reasons


def evaluate(method: Method, path: Path, folds: HowHeldOut) -> Array:
    """Return the scores of one criterion or probe at every ridge of a path; of repeated folds, their mean.

    Plus infinity is a valid score: the criterion excludes the candidate. NaN and minus infinity are failures.
    """
    known = PROBES if method.criterion in PROBES else CRITERIA
    every = ((),) if method.folds is None else [(f,) for f in rounds_of(folds(method.folds))]
    function, where = known[method.criterion].function, known.location(method.criterion)
    with np.errstate(divide="raise", invalid="raise", over="raise"):
        try:
            params = dict(method.params)
            scores = np.asarray(np.mean([function(path, *own, **params) for own in every], axis=0))
        except (*NUMERICAL, MemoryError):
            raise
        except Exception as error:
            if not where:
                raise
            raise TrialError(located(error, function.__code__.co_filename)) from error
    if where and scores.shape != path.problem.lams.shape:
        wanted = path.problem.lams.shape
        raise TrialError(f"{where}{method.label} has the shape {scores.shape}, not {wanted}")
    if np.isnan(scores).any() or np.isneginf(scores).any():
        raise TrialError(f"{where}{method.label} is not a number")
    return scores


def excluding_guards(
    method: Method, paths: Iterable[Path], folds: HowHeldOut, count: int
) -> list[str]:
    """Return the name of the first guard that excludes each ridge; without a guard the score itself is infinite."""
    criterion = None if method.at else CRITERIA[method.criterion]
    if criterion is None or criterion.guards is None:
        return [INFINITE] * count
    params = {**criterion.defaults, **dict(method.params)}
    every = ((),) if method.folds is None else [(f,) for f in rounds_of(folds(method.folds))]
    acts = [
        item
        for path in paths
        for own in every
        for item in criterion.guards(path, *own, **params).items()
    ]
    return [next((name for name, where in acts if where[i]), INFINITE) for i in range(count)]


def ridge_by_ridge(
    compute: Callable[[int | None], R], count: int
) -> tuple[dict[int | None, R], dict[int, str]]:
    """Return ``compute(None)``, for all ridges at once, by None; if that fails, compute each ridge separately.

    A ridge that fails again gets a reason instead of a result.
    """
    try:
        return {None: compute(None)}, {}
    except NUMERICAL as error:
        if count == 1:
            return {}, {0: reason(error)}
    found: dict[int | None, R] = {}
    reasons: dict[int, str] = {}
    for ridge in range(count):
        try:
            found[ridge] = compute(ridge)
        except NUMERICAL as error:
            reasons[ridge] = reason(error)
    return found, reasons


def reason(error: BaseException) -> str:
    """Return an error in one line."""
    text = " ".join(str(error).split())
    return text if isinstance(error, KselectError) else f"{type(error).__name__}: {text}"


def evaluate_probes(
    context: TrainingContext, point: GridPoint, probes: Sequence[Method]
) -> dict[Method, float | str]:
    """Return the value of each probe at one grid point, or the reason why it has none."""
    found: dict[Method, float | str] = {}
    paths: dict[Choice, Path] = {}
    with np.errstate(divide="raise", invalid="raise", over="raise"):
        try:
            problem = context.problem(point.kernel, np.array([point.lam]))
        except NUMERICAL as error:
            return dict.fromkeys(probes, reason(error))
        for probe in probes:
            learner = dict(probe.scored_by).get(context.task, context.learner)
            try:
                if learner not in paths:
                    make = LEARNERS[learner.name].path
                    paths[learner] = make(problem, **dict(learner.params))
                found[probe] = float(evaluate(probe, paths[learner], context.folds)[0])
            except NUMERICAL as error:
                found[probe] = reason(error)
    return found


End = Literal["smallest", "largest"]
Axis = Literal["kernel", "lam"]


@dataclass(frozen=True)
class Edge:
    """A parameter at one end of its grid, beyond which the optimum may lie; ``axis`` is kernel or ridge."""

    axis: Axis
    parameter: str
    value: float
    end: End

    @property
    def text(self) -> str:
        """The edge in words: ``tau=256 is the largest of its grid``."""
        return f"{self.parameter}={show_number(self.value)} is the {self.end} of its grid"


def edges_of(
    kernels: Sequence[Kernel], lams: Sequence[float], kernel: Kernel, lam: float
) -> tuple[Edge, ...]:
    """Return every edge of the grid that a choice lies on; a grid of one value has no edge.

    The grid of a kernel parameter is formed by the kernels of the same metric: the power of the relevances has no
    edge. Pass a fixed ridge as the only one of
    ``lams``: it then has no edge.
    """
    family = [k.parameters for k in kernels if k.metric == kernel.metric]
    axes: list[tuple[Axis, str, float, Sequence[float]]] = [
        *(("kernel", name, x, [p[name] for p in family]) for name, x in kernel.parameters.items()),
        ("lam", "lam", lam, lams),
    ]
    found = []
    for axis, name, value, grid in axes:
        low, high = min(grid, default=value), max(grid, default=value)
        # Records keep twelve digits of a ridge, so that it may differ from the grid in the last bits.
        if low != high and (isclose(value, low) or isclose(value, high)):
            end: End = "smallest" if isclose(value, low) else "largest"
            found.append(Edge(axis, name, value, end))
    return tuple(found)
