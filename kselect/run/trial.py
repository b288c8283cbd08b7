"""One (data set, split): search with every method, refit, test. The only place that sees test rows."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from time import perf_counter
from typing import Any

import numpy as np

from kselect.datasets.dataset import DataSet, Source, read_dataset
from kselect.datasets.registry import find_dataset
from kselect.datasets.scaling import scale_rows
from kselect.datasets.splits import Split, draw_split, require_two_classes
from kselect.errors import TrialError
from kselect.kernels import Kernel, Points
from kselect.learners import Path, Problem, find_learner
from kselect.model.experiment import TABLE, Experiment, Method
from kselect.model.records import METRICS, Record, Sizes, chosen_fields, failed_fields, record
from kselect.model.trial import Outcome, Trial
from kselect.numerics.folds import Folds, draw_folds
from kselect.numerics.linalg import Array
from kselect.numerics.losses import LOSSES
from kselect.numerics.streams import stream
from kselect.run.probing import Sight, look
from kselect.search.grid import (
    Choice,
    Scores,
    best,
    best_at,
    reason,
    search_grid,
)

TEST_LOSSES = {"classification": "zero-one", "regression": "squared"}


@dataclass(frozen=True, eq=False)
class Parts:
    """The scaled training and test rows of one split."""

    train: Array
    test: Array
    y_train: Array
    y_test: Array


@lru_cache(maxsize=4)
def load(name: str, source: Source) -> DataSet:
    """The data set, read once in a worker."""
    return read_dataset(find_dataset(name), source)


def run_trial(experiment: Experiment, trial: Trial) -> Outcome:
    """Every method of a trial; what has no number becomes a failed record with its reason."""
    started = perf_counter()
    data = load(trial.dataset, trial.source)
    rng = stream(experiment.seed, trial.dataset, trial.split, "split")
    try:
        split = draw_split(data.y, experiment.train, experiment.stratify, rng)
        if data.task == "classification":
            require_two_classes(data.y[split.train])
    except TrialError as error:
        return failed_outcome(experiment, trial, str(error))
    parts = prepare(experiment, data, split)
    grid = Grid(experiment, trial, parts)
    scores = search_grid(experiment.kernels, grid.path_at, grid.searched, grid.folds)
    searched = perf_counter()
    records = [*test(experiment, trial, data, parts, scores), *probe(grid, data, scores)]
    seconds = {"search": searched - started, "test": perf_counter() - searched}
    return Outcome(tuple(records), split_sha256(split), seconds)


def prepare(experiment: Experiment, data: DataSet, split: Split) -> Parts:
    """The rows scaled as the protocol says, then divided."""
    fit_rows = data.X if experiment.scale_on == "all" else data.X[split.train]
    X = scale_rows(data.X, experiment.scale, fit_rows)
    return Parts(X[split.train], X[split.test], data.y[split.train], data.y[split.test])


class Grid:
    """The paths and folds of one trial: everything on the training rows alone."""

    def __init__(self, experiment: Experiment, trial: Trial, parts: Parts) -> None:
        self.experiment = experiment
        self.trial = trial
        self.parts = parts
        self.points = Points(parts.train)
        self.folds = cache(self._draw_folds)
        learner = find_learner(experiment.learner)
        self.make_path = partial(learner.path, **dict(experiment.learner_params))

    @property
    def searched(self) -> tuple[Method, ...]:
        """The methods to score: those of the trial, and those at whose best a probe looks."""
        mine = [m for m in self.trial.methods if not m.at]
        targets = [self.target(m) for m in self.trial.methods if m.at]
        return tuple(dict.fromkeys([*mine, *targets]))

    def target(self, probe: Method) -> Method:
        """The column of the table at whose best a probe looks: under the experiment's own loss."""
        task = find_dataset(self.trial.dataset).task
        methods = self.experiment.methods_on(self.trial.dataset, task)
        return next(m for m in methods if m.label == probe.at and m.part == TABLE)

    def path_at(self, kernel: Kernel, lams: Sequence[float] | None = None) -> Path:
        """The learner's path on one kernel, over all ridges unless some are given."""
        K = kernel.gram(self.points)
        ridges = np.array(self.experiment.lam.values if lams is None else lams)
        return self.make_path(
            Problem(self.parts.train, self.parts.y_train, kernel, K, ridges, self.experiment.ridge)
        )

    def _draw_folds(self, k: int) -> Folds:
        """The folds of this split, the same for every method that asks."""
        rng = stream(self.experiment.seed, self.trial.dataset, self.trial.split, f"{k} folds")
        return draw_folds(len(self.parts.train), k, rng)


def probe(grid: Grid, data: DataSet, scores: Scores) -> Iterator[Record]:
    """What probes find at the best of their columns."""
    trial, parts = grid.trial, grid.parts
    sizes = Sizes(METRICS[data.task], len(parts.train), len(parts.test))
    sights = [
        Sight(method, name, choice)
        for method in trial.methods
        if method.at
        for name, choice in choose(grid.experiment, grid.target(method), scores)
    ]
    for sight, fields in look(grid.experiment, sights, grid.path_at, grid.folds):
        yield record(trial.dataset, trial.split, sight.method, sight.setting, sizes, fields)


def test(
    experiment: Experiment, trial: Trial, data: DataSet, parts: Parts, scores: Scores
) -> Iterator[Record]:
    """The test error of what each method chose."""
    loss = LOSSES[TEST_LOSSES[data.task]]
    sizes = Sizes(METRICS[data.task], len(parts.train), len(parts.test))
    points = Points(parts.test, parts.train)

    @lru_cache(maxsize=1)
    def gram(kernel: int) -> Array:
        return experiment.kernels[kernel].gram(points)

    @cache
    def error(kernel: int, ridge: int) -> float:
        with np.errstate(invalid="raise", over="raise"):
            decision = scores.duals[kernel].decision(ridge, gram(kernel))
            return float(loss(parts.y_test, decision).mean())

    choices = {m: list(choose(experiment, m, scores)) for m in trial.methods if not m.at}
    # By kernel, so that one test kernel matrix is alive at a time.
    found = {c for chosen in choices.values() for _, c in chosen if isinstance(c, Choice)}
    for kernel, ridge in sorted({(c.kernel, c.ridge) for c in found}):
        with suppress(FloatingPointError):  # raised again where the record is made
            error(kernel, ridge)
    for method, chosen in choices.items():
        for name, choice in chosen:
            fields = outcome_fields(experiment, choice, error)
            yield record(trial.dataset, trial.split, method, name, sizes, fields)


def choose(
    experiment: Experiment, method: Method, scores: Scores
) -> Iterator[tuple[str, Choice | str]]:
    """(setting, choice) for every cell that a method fills; a text instead of a choice is a failure."""
    for name, ridge in experiment.cells(method):
        yield name, attempt(scores, method, ridge)


def attempt(scores: Scores, method: Method, ridge: int | None) -> Choice | str:
    """A choice, or why there is none."""
    if method in scores.failures:
        return scores.failures[method]
    try:
        values = scores.values[method]
        return best(values) if ridge is None else best_at(values, ridge)
    except TrialError as error:
        return str(error)


def outcome_fields(
    experiment: Experiment, choice: Choice | str, error: Callable[[int, int], float]
) -> dict[str, Any]:
    """The fields of a record that depend on the choice."""
    if isinstance(choice, str):
        return failed_fields(choice)
    try:
        return {
            **chosen_fields(experiment, choice.kernel, choice.ridge),
            "score": choice.score,
            "error": error(choice.kernel, choice.ridge),
            "excluded": choice.excluded,
        }
    except FloatingPointError as overflow:
        return failed_fields(f"at {experiment.kernels[choice.kernel].text}: {reason(overflow)}")


def failed_outcome(experiment: Experiment, trial: Trial, why: str, traceback: str = "") -> Outcome:
    """A trial without numbers: a failed record in every cell that it should have filled."""
    sizes = Sizes(METRICS[find_dataset(trial.dataset).task], 0, 0)
    records = tuple(
        record(trial.dataset, trial.split, method, name, sizes, failed_fields(why))
        for method in trial.methods
        for name, _ in experiment.cells(method)
    )
    return Outcome(records, "", {}, traceback)


def split_sha256(split: Split) -> str:
    """The checksum of a split's row numbers, for the manifest."""
    text = " ".join(map(str, split.train.tolist())) + "|" + " ".join(map(str, split.test.tolist()))
    return hashlib.sha256(text.encode()).hexdigest()
