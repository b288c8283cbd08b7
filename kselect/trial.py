"""One (data set, split): search with every method, refit, test. The only place that sees test rows."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from time import perf_counter
from typing import Any, Literal

import numpy as np

from kselect.datasets.dataset import DataSet, Source, read_dataset
from kselect.datasets.registry import find_dataset
from kselect.datasets.scaling import scale_rows
from kselect.datasets.splits import Split, draw_split, require_two_classes
from kselect.errors import KselectError, TrialError
from kselect.experiment import Experiment, Method
from kselect.folds import Folds, draw_folds
from kselect.kernels import Kernel, Points
from kselect.learners import Path, Problem, find_learner
from kselect.linalg import Array
from kselect.losses import LOSSES
from kselect.records import Record
from kselect.search.grid import Choice, Scores, best, best_at, reason, search_grid
from kselect.streams import stream

Metric = Literal["zero-one", "mse"]


@dataclass(frozen=True)
class Trial:
    """The unit of work and of resumption: every pending method on one split of one data set."""

    dataset: str
    split: int
    methods: tuple[Method, ...]
    source: Source


@dataclass(frozen=True)
class Outcome:
    """What a trial gives back: its records, the split's checksum, and the seconds of each stage."""

    records: tuple[Record, ...]
    split_sha256: str
    seconds: dict[str, float]
    traceback: str = ""


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
    scores = search(experiment, trial, parts)
    searched = perf_counter()
    records = tuple(test(experiment, trial, data, parts, scores))
    seconds = {"search": searched - started, "test": perf_counter() - searched}
    return Outcome(records, split_sha256(split), seconds)


def prepare(experiment: Experiment, data: DataSet, split: Split) -> Parts:
    """The rows scaled as the protocol says, then divided."""
    fit_rows = data.X if experiment.scale_on == "all" else data.X[split.train]
    X = scale_rows(data.X, experiment.scale, fit_rows)
    return Parts(X[split.train], X[split.test], data.y[split.train], data.y[split.test])


def search(experiment: Experiment, trial: Trial, parts: Parts) -> Scores:
    """Every method over the grid, on the training rows alone."""
    points = Points(parts.train)
    lams = np.array(experiment.lam.values)
    make_path = find_learner(experiment.learner).path

    def path_at(kernel: Kernel) -> Path:
        K = kernel.gram(points)
        return make_path(Problem(parts.train, parts.y_train, kernel, K, lams, experiment.ridge))

    return search_grid(
        experiment.kernels, path_at, trial.methods, folds_of(experiment, trial, parts)
    )


def folds_of(experiment: Experiment, trial: Trial, parts: Parts) -> Callable[[int], Folds]:
    """k -> the folds of this split, the same for every method that asks."""

    @cache
    def folds(k: int) -> Folds:
        rng = stream(experiment.seed, trial.dataset, trial.split, f"{k} folds")
        return draw_folds(len(parts.train), k, rng)

    return folds


def test(
    experiment: Experiment, trial: Trial, data: DataSet, parts: Parts, scores: Scores
) -> Iterator[Record]:
    """The test error of what each method chose."""
    metric: Metric = "zero-one" if data.task == "classification" else "mse"
    loss = LOSSES["zero-one" if metric == "zero-one" else "squared"]
    points = Points(parts.test, parts.train)

    @lru_cache(maxsize=1)
    def gram(kernel: int) -> Array:
        return experiment.kernels[kernel].gram(points)

    @cache
    def error(kernel: int, ridge: int) -> float:
        with np.errstate(invalid="raise", over="raise"):
            decision = scores.duals[kernel].decision(ridge, gram(kernel))
            return float(loss(parts.y_test, decision).mean())

    choices = {m: list(choose(experiment, m, scores)) for m in trial.methods}
    # By kernel, so that one test kernel matrix is alive at a time.
    found = {c for chosen in choices.values() for _, c in chosen if isinstance(c, Choice)}
    for kernel, ridge in sorted({(c.kernel, c.ridge) for c in found}):
        with suppress(FloatingPointError):  # raised again where the record is made
            error(kernel, ridge)
    for method, chosen in choices.items():
        for name, choice in chosen:
            fields = outcome_fields(experiment, choice, error)
            yield record(trial, method, name, metric, (len(parts.train), len(parts.test)), fields)


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
    if isinstance(choice, Choice):
        kernel = experiment.kernels[choice.kernel]
        try:
            return {
                "kernel": kernel.name,
                "chosen": kernel.text,
                "lam": experiment.lam.values[choice.ridge],
                "score": choice.score,
                "error": error(choice.kernel, choice.ridge),
                "status": "ok",
                "reason": "",
            }
        except FloatingPointError as overflow:
            choice = f"at {kernel.text}: {reason(overflow)}"
    nothing = {"kernel": "", "chosen": "", "lam": None, "score": None, "error": None}
    return {**nothing, "status": "failed", "reason": choice}


def record(
    trial: Trial,
    method: Method,
    name: str,
    metric: Metric,
    sizes: tuple[int, int],
    fields: dict[str, Any],
) -> Record:
    """A record of one method at one setting."""
    return Record(
        dataset=trial.dataset,
        split=trial.split,
        part=method.part,
        method=method.label,
        criterion=method.criterion,
        params=method.text,
        loss=method.loss,
        setting=name,
        metric=metric,
        n_train=sizes[0],
        n_test=sizes[1],
        **fields,
    )


def failed_outcome(experiment: Experiment, trial: Trial, why: str, traceback: str = "") -> Outcome:
    """A trial without numbers: a failed record in every cell that it should have filled."""
    task = find_dataset(trial.dataset).task
    metric: Metric = "zero-one" if task == "classification" else "mse"
    nothing = Scores({}, dict.fromkeys(trial.methods, why), ())
    records = tuple(
        record(trial, method, name, metric, (0, 0), outcome_fields(experiment, why, no_error))
        for method in trial.methods
        for name, _ in choose(experiment, method, nothing)
    )
    return Outcome(records, "", {}, traceback)


def no_error(kernel: int, ridge: int) -> float:
    """A failed trial is never tested."""
    raise KselectError("a failed trial has no test error")


def split_sha256(split: Split) -> str:
    """The checksum of a split's row numbers, for the manifest."""
    text = " ".join(map(str, split.train.tolist())) + "|" + " ".join(map(str, split.test.tolist()))
    return hashlib.sha256(text.encode()).hexdigest()
