"""Run one trial: search with every method on the training rows of a split, then test each choice on the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from kselect.core.experiment import Experiment
from kselect.core.grid_point import BestPoint, EstimatorFit, GridPoint, SearchFailure
from kselect.core.job import Job, Trial, as_cells
from kselect.core.method import SELECTED, Method, Setting
from kselect.core.record import LARGEST_ERROR, Record, RecordMaker, metric_of
from kselect.criteria import CRITERIA
from kselect.datasets.content import sha256_of
from kselect.datasets.dataset import DataSet, read_dataset
from kselect.datasets.prepare import apply_scale, fit_preparation, fit_scale
from kselect.datasets.splits import Split, draw_split
from kselect.errors import KselectError, TrialError
from kselect.estimators import run_estimator
from kselect.kernels import Kernel, Points
from kselect.kernels.default_families import kernels_for
from kselect.learners import LEARNERS, Fit
from kselect.numerics.folds import stream
from kselect.numerics.linalg import Array, Index
from kselect.numerics.losses import LOSSES, TEST_LOSSES
from kselect.numerics.sigmoid import fit_slope
from kselect.search import OVER_GRID, Results, TrainingContext, search
from kselect.search.grid import NUMERICAL, Best, Demand, evaluate_probes, reason, score_kernels

if TYPE_CHECKING:
    from kselect.numerics.scorers import Scorer

# The folds whose held-out decision values give the slope of the probabilities.
CALIBRATION_FOLDS = 5
UNWEIGHTED = "all features are equally relevant: weights would not change the kernel"
# Each worker reads a data set only once.
load = lru_cache(maxsize=4)(read_dataset)


@dataclass(frozen=True, eq=False)
class PreparedSplit:
    """A split with its training context, and its scaled test rows with their targets (q, rows).

    Numbers of the data are ``centre + unit * target``; errors are in the unit of the data. ``scorer`` replaces the
    loss on the test rows. ``candidates`` has the candidate of the config for each kernel of the context.
    """

    rows: Split
    y_train: Array
    context: TrainingContext
    test: Array
    targets: Array
    unit: float = 1.0
    centre: float = 0.0
    scorer: Scorer | None = None
    candidates: Mapping[Kernel, Kernel] = field(default_factory=dict)

    def as_written(self, found: BestPoint) -> BestPoint:
        """Return a best point with the config's candidates for kernels, as records name them.

        A width relative to the median distance comes with its value on these training rows.
        """

        def named(point: GridPoint) -> GridPoint:
            candidate = self.candidates.get(point.kernel, point.kernel)
            if candidate is point.kernel:
                return point
            values = point.kernel.parameters.items()
            own = tuple((k, v) for k, v in values if k not in candidate.parameters)
            return GridPoint(candidate, point.lam, (*point.tuned, *own))

        excluded = tuple((named(point), why) for point, why in found.excluded)
        return replace(found, point=named(found.point), excluded=excluded)

    def error(self, decisions: Array, slope: float | None = None) -> float:
        """Return the mean test loss; for several classes, the share of rows with another at least as strong.

        ``slope`` turns decision values into probabilities, which some scorers take.
        """
        if self.scorer:
            return self._scored(self.scorer, decisions, slope)
        if len(decisions) > 1:
            own = decisions[self.targets.argmax(axis=0), np.arange(len(self.test))]
            return float(np.mean((decisions >= own).sum(axis=0) > 1))
        loss = LOSSES[TEST_LOSSES[self.context.task]]
        return float(loss(self.targets[0], decisions[0]).mean()) * self.unit**2

    def _scored(self, scorer: Scorer, decisions: Array, slope: float | None) -> float:
        """Return the error of a scorer on the test rows; one that is not defined is a TrialError."""
        from kselect.numerics.scorers import HeldOutRows

        every: Index = np.arange(len(self.test), dtype=np.intp)
        truth, values = (self.centre + self.unit * part for part in (self.targets, decisions))
        rows = HeldOutRows(self.test, truth, values, self.context.task, calibrated=slope)
        return max(scorer.best - scorer.score(rows, every, "the test rows"), 0.0)

    def slope(self, point: GridPoint) -> float | None:
        """Return the slope of the probabilities at a grid point, from training rows; None if nobody asks for it."""
        if self.scorer is None or self.scorer.asks != "probabilities":
            return None
        context, folds = self.context, self.context.partition(CALIBRATION_FOLDS)
        problem = context.problem(point.kernel, np.array([point.lam]))
        learner, params = LEARNERS.find(context.learner.name), dict(context.learner.params)
        targets = (problem.of_target(i, problem.lams) for i in range(len(context.targets)))
        held = [learner.path(target, **params).held_out(folds)[0] for target in targets]
        return fit_slope(held, context.targets)


def run_trial(experiment: Experiment, trial: Trial) -> Job:
    """Run every method of a trial; a method without a number gets a failed record with the reason.

    The scheduler fills in the environment of the job.
    """
    started = perf_counter()
    data = load(experiment.info(trial.dataset), trial.source)
    try:
        parts = prepare(experiment, data, trial.split)
    except TrialError as error:
        return failed_job(experiment, trial, str(error))
    context = parts.context
    probes = [m for m in trial.methods if m.fixed or m.at]
    surveys = tuple(m for m in trial.methods if m.everywhere)
    lookers = tuple(m for m in trial.methods if m.on_test)
    others = {*probes, *surveys, *lookers}
    mine = dict.fromkeys(m for m in trial.methods if m not in others and not m.estimator)
    # A probe needs the choice of its column, which may be stored already.
    columns = (experiment.column(data.task, m.at) for m in probes if m.at)
    demand = {m: experiment.settings_of(m) for m in dict.fromkeys([*mine, *columns])}
    found = search(context, demand, experiment.tune_folds, OVER_GRID[experiment.search])
    done = perf_counter()
    sizes = context.n, len(parts.test)
    metric = metric_of(experiment, data.task)
    maker = RecordMaker(trial.dataset, trial.split, metric, *sizes)
    wanted = {key: best for key, best in found.items() if key[0] in mine}
    records = [*tested(maker, parts, wanted)]
    if probes:
        records += probed(experiment, maker, probes, parts, found)
    if surveys:
        records += surveyed(maker, surveys, parts, experiment.kernels)
    if lookers:
        demand = {m: experiment.settings_of(m) for m in lookers}
        records += tested(maker, parts, lowest_on_test(parts, demand))
    seconds = {"search": done - started, "test": perf_counter() - done}
    estimators = tuple(m for m in trial.methods if m.estimator)
    if len(estimators) == len(trial.methods):
        seconds = {}
    for method in estimators:
        begun = perf_counter()
        records.append(estimated(maker, parts, method))
        seconds[method.label] = perf_counter() - begun
    text = "|".join(" ".join(map(str, p.tolist())) for p in (parts.rows.train, parts.rows.test))
    return Job(
        *(trial.dataset, trial.split, trial.source.sha256, sha256_of(text.encode())),
        *("", as_cells(experiment, trial, records), seconds),
    )


def prepare(experiment: Experiment, data: DataSet, number: int) -> PreparedSplit:
    """Draw a split, or take one that is given with the data, and scale rows and targets as the protocol says.

    The training context holds everything that a search may see: the training rows only.

    Imputation, encoding and scaling of a user's own table depend on the training rows only. A training part of one
    class is a TrialError.
    """
    streams = partial(stream, experiment.seed, data.name, number)
    if experiment.train is not None:
        split = draw_split(data.y, experiment.train, experiment.stratify, streams("split"))
    elif number < len(data.splits):
        split = data.splits[number]
    else:
        raise TrialError(
            f"{data.name} comes with {len(data.splits)} splits; there is none {number}"
        )
    y_train = data.y[split.train]
    if data.task == "classification" and (y_train == y_train[0]).all():
        raise TrialError(
            f"the training part holds one class only ({y_train[0]:g}, {len(y_train)} rows); "
            "set stratify: true, or leave this split out"
        )
    columns = None
    if data.frame is not None:
        preparation = fit_preparation(data.frame, experiment.scale, split.train)
        X, _ = preparation.transform(data.frame)
        columns = preparation.column_of_feature
    else:
        fit_rows = data.X if experiment.scale_on == "all" else data.X[split.train]
        X = apply_scale(data.X, *fit_scale(fit_rows, experiment.scale))
    targets = data.y[None] if data.several is None else data.several
    centre, unit = 0.0, 1.0
    if experiment.scale_target == "zscore" and data.task == "regression":
        centre, spread = float(y_train.mean()), float(y_train.std(ddof=1))
        if not spread > 0.0:
            raise TrialError(f"all targets of the training part are {centre:g}")
        targets, y_train, unit = (targets - centre) / spread, (y_train - centre) / spread, spread
    trained = X[split.train], targets[:, split.train]
    candidates = kernels_for(experiment.kernels, *trained, columns)
    context = TrainingContext(
        *trained,
        task=data.task,
        kernels=tuple(candidates),
        ridges=experiment.lam,
        learner=dict(experiment.learners)[data.task],
        ridge=experiment.ridge,
        stream=streams,
    )
    tested = X[split.test], targets[:, split.test]
    return PreparedSplit(
        *(split, y_train, context, *tested, unit, centre, experiment.scorer, candidates)
    )


def tested(maker: RecordMaker, parts: PreparedSplit, found: Results) -> Iterator[Record]:
    """Yield the record of each choice with its mean test error.

    Choices are ordered by kernel, so that only one test kernel matrix is in memory and each is computed once.
    """
    context = parts.context
    order = {kernel: position for position, kernel in enumerate(context.kernels)}
    points, kernel, K = Points(parts.test, context.X), None, np.empty((0, 0))
    in_order = sorted(
        found.items(),
        key=lambda item: (
            order.get(item[1].point.kernel, len(order)) if isinstance(item[1], BestPoint) else -1
        ),
    )
    for (method, setting), best in in_order:
        if isinstance(best, SearchFailure):
            yield maker.record(method, setting, best)
            continue
        try:
            with np.errstate(invalid="raise", over="raise"):
                if best.point.kernel != kernel:
                    kernel, K = best.point.kernel, best.point.kernel.gram(points)
                decisions = np.array([fit.decision(0, K) for fit in best.fits])
                error = parts.error(decisions, parts.slope(best.point))
            if error > LARGEST_ERROR:
                raise FloatingPointError(f"a test error of {error:g} is too large to be squared")
        except NUMERICAL as problem:
            failure = SearchFailure(f"at {best.point.text}: {reason(problem)}")
            yield maker.record(method, setting, failure)
        else:
            yield maker.record(method, setting, parts.as_written(best), error)


def estimated(maker: RecordMaker, parts: PreparedSplit, method: Method) -> Record:
    """Return the record of another package's class, which is fitted and tested on the same rows."""
    if method.estimator is None:
        raise TypeError(f"{method.label} is a criterion")
    try:
        found = run_estimator(parts.context, parts.test, method.estimator, method.folds)
    except KselectError as problem:  # a worker elsewhere may lack the package
        found = SearchFailure(str(problem))
    if isinstance(found, EstimatorFit):
        try:
            with np.errstate(over="ignore"):
                error = parts.error(found.decisions)
        except TrialError as problem:
            return maker.record(method, SELECTED, SearchFailure(str(problem)))
        if error <= LARGEST_ERROR:
            return maker.estimator_record(method, found, error)
        found = SearchFailure(f"a test error of {error:g} is too large to be squared")
    return maker.record(method, SELECTED, found)


def probed(
    experiment: Experiment,
    maker: RecordMaker,
    probes: list[Method],
    parts: PreparedSplit,
    found: Results,
) -> Iterator[Record]:
    """Yield the records of methods that choose nothing, at a fixed kernel or at the best point of a column.

    A criterion at a fixed kernel has the test error there. Grid points follow one after the other, so that only one
    path is in memory.
    """
    context = parts.context
    wanted: dict[GridPoint, list[tuple[Method, Setting]]] = {}
    for method in sorted(probes, key=lambda m: m.fixed is None):
        for setting in experiment.settings_of(method):
            if method.fixed:
                point = GridPoint(method.fixed, context.lams[setting.position or 0])
            else:
                best = found[experiment.column(context.task, method.at), setting]
                if isinstance(best, SearchFailure):
                    yield maker.record(method, setting, best)
                    continue
                point = best.point
            wanted.setdefault(point, []).append((method, setting))
    for point, here in wanted.items():
        values = evaluate_probes(context, point, [method for method, _ in here])
        fitted: Results = {}
        for method, setting in here:
            value = values[method]
            if isinstance(value, str):
                yield maker.record(method, setting, SearchFailure(value))
            elif method.fixed and method.criterion in CRITERIA:
                fitted[method, setting] = BestPoint(point, value, fits_at(context, point))
            else:
                yield maker.record(method, setting, parts.as_written(BestPoint(point, value, ())))
        yield from tested(maker, parts, fitted)


def fits_at(context: TrainingContext, point: GridPoint) -> tuple[Fit, ...]:
    """Return the fit of each target at one grid point."""
    problem = context.problem(point.kernel, np.array([point.lam]))
    learner, params = LEARNERS.find(context.learner.name), dict(context.learner.params)
    targets = (problem.of_target(i, problem.lams) for i in range(len(context.targets)))
    return tuple(learner.path(target, **params).fit() for target in targets)


def lowest_on_test(parts: PreparedSplit, demand: Demand) -> Results:
    """Return for each cell the grid point with the lowest test error: no method may look at these rows."""
    context, points = parts.context, Points(parts.test, parts.context.X)
    best = {(m, s): Best(s) for m, settings in demand.items() for s in settings}
    for visit in score_kernels(context, ()):
        scores = np.full(len(context.lams), np.inf)
        K = visit.kernel.gram(points) if visit.fits else np.empty((0, 0))
        for ridge in range(len(scores)):
            if not any(fit.alpha[ridge].any() or fit.bias[ridge] for fit in visit.fits):
                continue  # there is no fit at this ridge
            decisions = np.array([fit.decision(ridge, K) for fit in visit.fits])
            with np.errstate(over="ignore", invalid="ignore"), suppress(TrialError):
                error = parts.error(decisions)
                scores[ridge] = error if error <= LARGEST_ERROR else np.inf
        nothing: dict[Method, dict[int, str]] = {method: {} for method in demand}
        shown = replace(visit, scores=dict.fromkeys(demand, scores), reasons=nothing)
        for (method, _), cell in best.items():
            cell.update(context, shown, method)
    return {cell: found.result() for cell, found in best.items()}


def surveyed(
    maker: RecordMaker,
    methods: tuple[Method, ...],
    parts: PreparedSplit,
    candidates: tuple[Kernel, ...],
) -> Iterator[Record]:
    """Yield the scores at all grid points of the methods that keep them; an infinite score has its reason."""
    context = parts.context
    for visit in score_kernels(context, methods):
        points = [GridPoint(visit.kernel, lam) for lam in context.lams]
        for method in methods:
            scores, reasons = visit.scores[method].tolist(), visit.reasons[method]
            text = parts.candidates[visit.kernel].text
            for i, setting in enumerate(context.ridges.settings(text)):
                best = parts.as_written(BestPoint(points[i], scores[i], ()))
                yield maker.record(method, setting, best, no_score=reasons.get(i, ""))
    for candidate in [c for c in candidates if c not in parts.candidates.values()]:
        for method in methods:
            settings = context.ridges.settings(candidate.text)
            for setting, lam in zip(settings, context.lams, strict=True):
                best = BestPoint(GridPoint(candidate, lam), np.inf, ())
                yield maker.record(method, setting, best, no_score=UNWEIGHTED)


def failed_job(experiment: Experiment, trial: Trial, why: str, traceback: str = "") -> Job:
    """Return the job of a trial that gave no numbers: a failed record for each that it should have made."""
    metric = metric_of(experiment, experiment.info(trial.dataset).task)
    maker = RecordMaker(trial.dataset, trial.split, metric, 0, 0)
    records = tuple(
        maker.record(method, setting, SearchFailure(why))
        for method in trial.methods
        for setting in experiment.settings_of(method)
    )
    return Job(
        *(trial.dataset, trial.split, trial.source.sha256, ""),
        *("", as_cells(experiment, trial, records), {}, traceback),
    )
