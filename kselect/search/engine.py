"""The one loop over kernels: every method asked about one path at a time.

A candidate without a number is excluded by name: first a kernel is asked for all ridges at once, and where that
fails, ridge by ridge. What is chosen from the rest is the business of a search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from kselect.core.grid_point import GridPoint
from kselect.core.method import Choice, Method
from kselect.criteria import CRITERIA, PROBES
from kselect.criteria.base import Guarded
from kselect.errors import KselectError, TrialError
from kselect.kernels import Kernel
from kselect.learners import Fit, Path, Problem, find_learner
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array
from kselect.numerics.memory import keep_freed_memory
from kselect.search.training_context import TrainingContext

NUMERICAL = (TrialError, np.linalg.LinAlgError, FloatingPointError, MemoryError)
INFINITE = "infinite score"


@dataclass(frozen=True, eq=False)
class Visit:
    """One kernel: scores at every ridge, infinite where ``reasons`` says why, and each target's fit.

    ``seconds`` are each method's own, beyond what it shares with the methods before it. ``held_out`` has, where
    they are kept, each target's held-out predictions (n_ridges, n).
    """

    kernel: Kernel
    scores: Mapping[Method, Array]
    reasons: Mapping[Method, Mapping[int, str]]
    fits: tuple[Fit, ...]
    seconds: Mapping[Method, float]
    held_out: Mapping[Method, tuple[Array, ...]] = field(default_factory=dict)


class Paths:
    """The paths of one kernel: made when they are first asked for, shared by all methods."""

    def __init__(self, context: TrainingContext, problem: Problem) -> None:
        self.context = context
        self.problem = problem
        self._made: dict[tuple[Choice, int, int | None], Path] = {}
        self._broken: dict[Choice, Exception] = {}

    def of(self, learner: Choice, target: int, ridge: int | None) -> Path:
        """A learner's path for one target, over all ridges or one; a kernel that broke once stays broken."""
        if learner in self._broken:
            raise self._broken[learner]
        key = (learner, target, ridge)
        if key not in self._made:
            lams = self.problem.lams if ridge is None else self.problem.lams[[ridge]]
            problem = self.problem.of_target(target, lams)
            try:
                self._made[key] = find_learner(learner.name).path(problem, **dict(learner.params))
            except NUMERICAL as error:
                self._broken[learner] = error
                raise
        return self._made[key]

    def all_targets(self, learner: Choice, ridge: int | None) -> Iterator[Path]:
        """One path per target."""
        return (self.of(learner, t, ridge) for t in range(len(self.context.targets)))


def walk(context: TrainingContext, methods: Sequence[Method], n_jobs: int = 1) -> Iterator[Visit]:
    """Every kernel in turn, one path alive per thread; threads are enough, as LAPACK releases the interpreter."""
    keep_freed_memory()
    if n_jobs == 1:
        yield from (visit(context, kernel, methods) for kernel in context.kernels)
        return
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs, prefer="threads", return_as="generator")
    yield from parallel(delayed(visit)(context, kernel, methods) for kernel in context.kernels)


def visit(context: TrainingContext, kernel: Kernel, methods: Iterable[Method]) -> Visit:
    """Ask every method about one kernel, and keep the fits."""
    with np.errstate(divide="raise", invalid="raise", over="raise"):
        try:
            paths = Paths(context, context.problem(kernel))
        except NUMERICAL as error:
            return nothing(context, kernel, methods, reason(error))
        duals, unfit = fits(paths)
        found, seconds = {}, {}
        for method in methods:
            started = perf_counter()
            found[method] = merged(score(paths, method), unfit)
            seconds[method] = perf_counter() - started
        held = held_out(paths, found) if context.keeps_held_out else {}
    scores = {m: values for m, (values, _) in found.items()}
    return Visit(kernel, scores, {m: why for m, (_, why) in found.items()}, duals, seconds, held)


def held_out(paths: Paths, methods: Iterable[Method]) -> dict[Method, tuple[Array, ...]]:
    """What exact cross-validation has predicted for each target on its way: the paths remember it."""
    made = {}
    for method in methods:
        if method.folds and CRITERIA[method.criterion].holds_out and not method.scored_by:
            try:
                every = paths.all_targets(paths.context.learner, None)
                made[method] = tuple(p.held_out(paths.context.folds(method.folds)) for p in every)
            except NUMERICAL:  # scored ridge by ridge
                continue
    return made


def nothing(context: TrainingContext, kernel: Kernel, methods: Iterable[Method], why: str) -> Visit:
    """A kernel without a matrix: every candidate is excluded."""
    count = len(context.lams)
    names = list(methods)
    scores = {m: np.full(count, np.inf) for m in names}
    reasons = {m: dict.fromkeys(range(count), why) for m in names}
    return Visit(kernel, scores, reasons, (), dict.fromkeys(names, 0.0))


def scorer(context: TrainingContext, method: Method) -> Choice:
    """The learner whose path a method asks."""
    return dict(method.scored_by).get(context.task, context.learner)


def score(paths: Paths, method: Method) -> tuple[Array, dict[int, str]]:
    """The scores of one method for every ridge, the mean over targets; infinite where there is a reason why not."""
    learner = scorer(paths.context, method)

    def values(ridge: int | None) -> Array:
        every = paths.all_targets(learner, ridge)
        return np.asarray(
            np.mean([evaluate(method, p, paths.context.folds) for p in every], axis=0)
        )

    scores, reasons = ridge_by_ridge(values, len(paths.context.lams))
    infinite = [i for i in np.flatnonzero(np.isposinf(scores)).tolist() if i not in reasons]
    if not infinite:
        return scores, reasons
    if not reasons:  # the path over all ridges answered
        acts = guards_acting(method, paths.all_targets(learner, None), paths.context.folds)
        return scores, {i: first_acting(acts, i) for i in infinite}
    for i in infinite:
        acts = guards_acting(method, paths.all_targets(learner, i), paths.context.folds)
        reasons[i] = first_acting(acts, 0)
    return scores, reasons


def guards_acting(
    method: Method, paths: Iterable[Path], folds: Callable[[int], Folds]
) -> list[Guarded]:
    """Where a criterion's guards act, for each target."""
    criterion = None if method.at else CRITERIA[method.criterion]
    if criterion is None or criterion.guards is None:
        return []
    params = {**criterion.defaults, **dict(method.params)}
    return [criterion.guards(*arguments(method, path, folds), **params) for path in paths]


def first_acting(acts: Iterable[Guarded], ridge: int) -> str:
    """The guard that makes a score infinite; where none does, the score is so by itself."""
    names = (name for guards in acts for name, where in guards.items() if where[ridge])
    return next(names, INFINITE)


def fits(paths: Paths) -> tuple[tuple[Fit, ...], dict[int, str]]:
    """Each target's fit for every ridge; where a ridge has none, why not."""
    duals: dict[int | None, list[Fit]] = {}

    def fit(ridge: int | None) -> Array:
        duals[ridge] = [p.fit() for p in paths.all_targets(paths.context.learner, ridge)]
        return np.zeros(len(duals[ridge][0].bias))

    count = len(paths.context.lams)
    _, unfit = ridge_by_ridge(fit, count)
    if None in duals:
        return tuple(duals[None]), unfit
    if not duals:
        return (), unfit
    some = next(iter(duals.values()))
    blank = [Fit(np.zeros_like(d.alpha), np.zeros_like(d.bias)) for d in some]
    rows = [duals.get(ridge, blank) for ridge in range(count)]
    return tuple(stacked(ds) for ds in zip(*rows, strict=True)), unfit


def stacked(duals: Iterable[Fit]) -> Fit:
    """Fits at one ridge each as a fit at all of them."""
    parts = list(duals)
    return Fit(np.concatenate([d.alpha for d in parts]), np.concatenate([d.bias for d in parts]))


def ridge_by_ridge(
    compute: Callable[[int | None], Array], count: int
) -> tuple[Array, dict[int, str]]:
    """``compute(None)`` for all ridges at once; where that fails, one by one, infinite where that fails too."""
    try:
        return compute(None), {}
    except NUMERICAL as error:
        if count == 1:
            return np.array([np.inf]), {0: reason(error)}
    values, reasons = np.full(count, np.inf), {}
    for ridge in range(count):
        try:
            values[ridge] = compute(ridge)[0]
        except NUMERICAL as error:
            reasons[ridge] = reason(error)
    return values, reasons


def merged(
    scored: tuple[Array, dict[int, str]], unfit: Mapping[int, str]
) -> tuple[Array, dict[int, str]]:
    """Scores without the ridges that have no fit, and a reason for every infinite one."""
    values, reasons = scored
    if unfit:
        values = values.copy()
        values[list(unfit)] = np.inf
    return values, {**reasons, **unfit}


def evaluate(method: Method, path: Path, folds: Callable[[int], Folds]) -> Array:
    """The scores of one method for every ridge of a path; NaN and minus infinity are failures.

    Plus infinity is a score: a criterion's way to say 'not this one'.
    """
    known = PROBES if method.criterion in PROBES else CRITERIA
    function = known[method.criterion].function
    parts = arguments(method, path, folds)
    with np.errstate(divide="raise", invalid="raise", over="raise"):
        scores: Array = function(*parts, **dict(method.params))
    if np.isnan(scores).any() or np.isneginf(scores).any():
        raise TrialError(f"{method.label} is not a number")
    return scores


def arguments(method: Method, path: Path, folds: Callable[[int], Folds]) -> tuple[Any, ...]:
    """What a criterion's function takes besides its parameters."""
    return (path,) if method.folds is None else (path, folds(method.folds))


def reason(error: BaseException) -> str:
    """An error in one line."""
    text = " ".join(str(error).split())
    return text if isinstance(error, KselectError) else f"{type(error).__name__}: {text}"


def look_at(
    context: TrainingContext, point: GridPoint, probes: Sequence[Method]
) -> dict[Method, float | str]:
    """What probes find at one place: a value each, or why there is none."""
    try:
        with np.errstate(divide="raise", invalid="raise", over="raise"):
            problem = context.problem(point.kernel).changed(lams=np.array([point.lam]))
    except NUMERICAL as error:
        return dict.fromkeys(probes, reason(error))
    found: dict[Method, float | str] = {}
    for learner in dict.fromkeys(scorer(context, probe) for probe in probes):
        mine = [probe for probe in probes if scorer(context, probe) == learner]
        found |= look_along(context, problem, learner, mine)
    return found


def look_along(
    context: TrainingContext, problem: Problem, learner: Choice, probes: Sequence[Method]
) -> dict[Method, float | str]:
    """What probes find on one learner's path."""
    try:
        with np.errstate(divide="raise", invalid="raise", over="raise"):
            path = find_learner(learner.name).path(problem, **dict(learner.params))
    except NUMERICAL as error:
        return dict.fromkeys(probes, reason(error))
    found: dict[Method, float | str] = {}
    for probe in probes:
        try:
            found[probe] = float(evaluate(probe, path, context.folds)[0])
        except NUMERICAL as error:
            found[probe] = reason(error)
    return found
