"""One (data set, split): search with every method, then test what each chose on the other rows."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from time import perf_counter

import numpy as np

from kselect.core.experiment import Experiment
from kselect.core.grid_point import BestPoint, GridPoint, SearchFailure
from kselect.core.job import Outcome, Trial
from kselect.core.method import Method, Setting
from kselect.core.record import METRICS, Record, RecordBuilder
from kselect.datasets.dataset import DataSet, Source, read_dataset
from kselect.datasets.own import OwnInfo, read_own_dataset
from kselect.datasets.preparation import fit_preparation
from kselect.datasets.registry import DataSetInfo, Task
from kselect.datasets.scaling import scale_rows
from kselect.datasets.splits import Split, draw_split, require_two_classes
from kselect.errors import TrialError
from kselect.kernels import Kernel, Points
from kselect.numerics.folds import stream
from kselect.numerics.linalg import Array
from kselect.numerics.losses import LOSSES, TEST_LOSSES
from kselect.search import OVER_GRID, Results, TrainingContext, search
from kselect.search.engine import look_at, reason, walk
from kselect.search.training_context import folds_from


@dataclass(frozen=True, eq=False)
class Parts:
    """The scaled training and test rows of one split; ``targets_*`` are (q, rows), more than one for classes."""

    train: Array
    test: Array
    y_train: Array
    targets_train: Array
    targets_test: Array


@lru_cache(maxsize=4)
def load(info: DataSetInfo, source: Source) -> DataSet:
    """The data set, read once in a worker."""
    if isinstance(info, OwnInfo):
        return read_own_dataset(info, source)
    return read_dataset(info, source)


def run_trial(experiment: Experiment, trial: Trial) -> Outcome:
    """Every method of a trial; what has no number becomes a failed record with its reason."""
    started = perf_counter()
    data = load(experiment.info(trial.dataset), trial.source)
    try:
        split = split_of(experiment, data, trial.split)
    except TrialError as error:
        return failed_outcome(experiment, trial, str(error))
    parts = prepare(experiment, data, split)
    side = training_side(experiment, trial.dataset, trial.split, parts)
    demand = experiment.demand(searched(experiment, trial))
    found = search(side, demand, experiment.tune_folds, OVER_GRID[experiment.search])
    done = perf_counter()
    row = RecordBuilder(
        trial.dataset, trial.split, METRICS[data.task], len(parts.train), len(parts.test)
    )
    records = [
        *tested(row, trial, side, parts, found),
        *probed(experiment, row, trial, side, found),
        *surveyed(row, trial, side),
    ]
    seconds = {"search": done - started, "test": perf_counter() - done}
    return Outcome(tuple(records), split_sha256(split), seconds)


def split_of(experiment: Experiment, data: DataSet, number: int) -> Split:
    """The rows of a split: drawn, or given with the data; a training part of one class is a TrialError."""
    if experiment.train is None:
        split = given_split(data, number)
    else:
        rng = stream(experiment.seed, data.name, number, "split")
        split = draw_split(data.y, experiment.train, experiment.stratify, rng)
    if data.task == "classification":
        require_two_classes(data.y[split.train])
    return split


def given_split(data: DataSet, number: int) -> Split:
    """One of the splits that come with a data set."""
    if number >= len(data.splits):
        raise TrialError(
            f"{data.name} comes with {len(data.splits)} splits; there is none {number}"
        )
    return data.splits[number]


def prepare(experiment: Experiment, data: DataSet, split: Split) -> Parts:
    """The rows scaled as the protocol says, then divided."""
    X, targets = rows_of(experiment, data, split), data.targets
    return Parts(
        X[split.train],
        X[split.test],
        data.y[split.train],
        targets[:, split.train],
        targets[:, split.test],
    )


def rows_of(experiment: Experiment, data: DataSet, split: Split) -> Array:
    """All rows as numbers; what a table's are imputed, encoded and scaled by, the training rows alone teach."""
    if data.frame is not None:
        X, _ = fit_preparation(data.frame, experiment.scale, split.train).transform(data.frame)
        return X
    fit_rows = data.X if experiment.scale_on == "all" else data.X[split.train]
    return scale_rows(data.X, experiment.scale, fit_rows)


def training_side(
    experiment: Experiment, dataset: str, split: int, parts: Parts
) -> TrainingContext:
    """What a search may see of a split: everything on the training rows alone."""
    task = experiment.task(dataset)
    streams = partial(stream, experiment.seed, dataset, split)
    return TrainingContext(
        X=parts.train,
        targets=parts.targets_train,
        task=task,
        kernels=experiment.kernels,
        ridges=experiment.lam,
        learner=experiment.learner(task),
        ridge=experiment.ridge,
        folds=folds_from(streams, len(parts.train)),
        stream=streams,
    )


def searched(experiment: Experiment, trial: Trial) -> tuple[Method, ...]:
    """The methods to search with: those of the trial, and those at whose best a probe looks."""
    mine = [m for m in trial.methods if not (m.at or m.everywhere or m.fixed)]
    task = experiment.task(trial.dataset)
    columns = [experiment.column(task, m.at) for m in trial.methods if m.at]
    return tuple(dict.fromkeys([*mine, *columns]))


def tested(
    row: RecordBuilder, trial: Trial, side: TrainingContext, parts: Parts, found: Results
) -> Iterator[Record]:
    """The test error of what each method chose; one test kernel matrix is alive at a time."""
    error = tester(side, parts)
    mine = [(m, s, f) for (m, s), f in found.items() if m in trial.methods]
    order = {kernel: position for position, kernel in enumerate(side.kernels)}
    for method, setting, result in sorted(mine, key=lambda one: kernel_order(order, one[2])):
        if isinstance(result, SearchFailure):
            yield row.failure(method, setting, result)
            continue
        try:
            yield row.record(method, setting, result, error(result))
        except FloatingPointError as overflow:
            why = f"at {result.point.text}: {reason(overflow)}"
            yield row.failure(method, setting, SearchFailure(why))


def kernel_order(order: Mapping[Kernel, int], result: BestPoint | SearchFailure) -> int:
    """The position of the kernel, so that places with the same one follow each other."""
    return order.get(result.point.kernel, len(order)) if isinstance(result, BestPoint) else -1


def tester(side: TrainingContext, parts: Parts) -> Callable[[BestPoint], float]:
    """What gives the mean test loss of a fit; it keeps the last kernel matrix."""
    points = Points(parts.test, parts.train)

    @lru_cache(maxsize=1)
    def gram(kernel: Kernel) -> Array:
        return kernel.gram(points)

    def error(found: BestPoint) -> float:
        with np.errstate(invalid="raise", over="raise"):
            K = gram(found.point.kernel)
            decisions = np.array([dual.decision(0, K) for dual in found.fits])
            return mean_error(side.task, parts.targets_test, decisions)

    return error


def mean_error(task: Task, targets: Array, decisions: Array) -> float:
    """The mean test loss; of more than two classes the share of rows where another decides more strongly."""
    if len(targets) == 1:
        return float(LOSSES[TEST_LOSSES[task]](targets[0], decisions[0]).mean())
    mine = decisions[targets.argmax(axis=0), np.arange(targets.shape[1])]
    return float(np.mean((decisions >= mine).sum(axis=0) > 1))


def probed(
    experiment: Experiment, row: RecordBuilder, trial: Trial, side: TrainingContext, found: Results
) -> Iterator[Record]:
    """What is found at given kernels and at the best of columns: places in order, one path alive at a time."""
    wanted = at_fixed(experiment, trial, side)
    for method in trial.methods:
        for setting in experiment.settings_of(method) if method.at else ():
            best = found[experiment.column(side.task, method.at), setting]
            if isinstance(best, SearchFailure):
                yield row.failure(method, setting, best)
            else:
                wanted.setdefault(best.point, []).append((method, setting, best))
    for point, sights in wanted.items():
        values = look_at(side, point, [method for method, _, _ in sights])
        for method, setting, best in sights:
            value = values[method]
            if isinstance(value, str):
                yield row.failure(method, setting, SearchFailure(value))
            else:
                yield row.record(method, setting, BestPoint(best.point, value, ()), None)


def surveyed(row: RecordBuilder, trial: Trial, side: TrainingContext) -> Iterator[Record]:
    """The scores of the methods that are kept everywhere; an infinite one is a failure with its reason."""
    methods = tuple(m for m in trial.methods if m.everywhere)
    for visit in walk(side, methods) if methods else ():
        points = [GridPoint(visit.kernel, lam) for lam in side.lams]
        for method in methods:
            scores, reasons = visit.scores[method].tolist(), visit.reasons[method]
            for i, setting in enumerate(side.ridges.settings_at(visit.kernel.text)):
                if i in reasons:
                    yield row.without_score(method, setting, points[i], reasons[i])
                else:
                    yield row.record(method, setting, BestPoint(points[i], scores[i], ()), None)


def at_fixed(
    experiment: Experiment, trial: Trial, side: TrainingContext
) -> dict[GridPoint, list[tuple[Method, Setting, BestPoint]]]:
    """The places of methods that choose nothing."""
    wanted: dict[GridPoint, list[tuple[Method, Setting, BestPoint]]] = {}
    for method in trial.methods:
        for setting in experiment.settings_of(method) if method.fixed else ():
            assert method.fixed is not None
            point = GridPoint(method.fixed, side.lams[setting.position or 0])
            wanted.setdefault(point, []).append((method, setting, BestPoint(point, 0.0, ())))
    return wanted


def failed_outcome(experiment: Experiment, trial: Trial, why: str, traceback: str = "") -> Outcome:
    """A trial without numbers: a failed record in every cell that it should have filled."""
    row = RecordBuilder(trial.dataset, trial.split, METRICS[experiment.task(trial.dataset)], 0, 0)
    records = tuple(
        row.failure(method, setting, SearchFailure(why))
        for method in trial.methods
        for setting in experiment.settings_of(method)
    )
    return Outcome(records, "", {}, traceback)


def split_sha256(split: Split) -> str:
    """The checksum of a split's row numbers, for the manifest."""
    text = " ".join(map(str, split.train.tolist())) + "|" + " ".join(map(str, split.test.tolist()))
    return hashlib.sha256(text.encode()).hexdigest()
