"""Tuned parameters do not depend on test rows, and the tests detect a planted leak."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from synthetic import embedded, experiment

from kselect.core.experiment import Experiment
from kselect.core.grid_point import BestPoint, SearchFailure
from kselect.core.job import Trial
from kselect.core.method import Choice, LamGrid, Method
from kselect.core.record import Record
from kselect.datasets.dataset import DataSet, Source
from kselect.datasets.splits import Split, draw_split
from kselect.kernels import Points
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.polynomial import Polynomial
from kselect.numerics.linalg import Array, Index
from kselect.run import trial as trial_module
from kselect.run.trial import PreparedSplit, prepare, run_trial
from kselect.search import tuned
from kselect.search.training_context import TrainingContext

VALUES = (0.03125, 1.0, 32.0, 1024.0)
LOSS = ("loss", "hinge")
METHODS = (
    Method(
        "3-CVKS", "k-CVKS", 3, (("average", "folds"), ("eta", 1.0), LOSS), tuned=(("eta", VALUES),)
    ),
    Method("RKS", "RKS", None, (("eta", 1.0), LOSS), tuned=(("eta", VALUES),)),
    Method("SPS", "SPS", None, (("delta", 1.0), LOSS), tuned=(("delta", VALUES),)),
)
SPLITS = (0, 1, 2)
# Not every split shows a leak into the inner choice, so the test tries several.
MOST_SPLITS = 12
EXPERIMENT = experiment(
    paper="",
    learners=(("classification", Choice("svm", (("bias", True),))),),
    scale="minmax",
    scale_on="train",
    splits=SPLITS,
    seed=5,
    kernels=(*(Gaussian(2.0**p) for p in (-4, -1, 2, 5)), Polynomial(1), Polynomial(3)),
    lam=LamGrid((0.1, 10.0), "fixed", "n lam"),
    loss="hinge",
    methods=METHODS,
    datasets=("heart",),
)
Choices = list[tuple[object, ...]]


@cache
def heart() -> DataSet:
    """Return 90 rows of the embedded copy."""
    return embedded("heart", 90)


def with_other_test_rows(split: int) -> DataSet:
    """Return the same training rows, with other features and opposite labels in the test rows."""
    data = heart()
    rows = prepare(EXPERIMENT, data, split).rows.test
    X, y = data.X.copy(), data.y.copy()
    X[rows] = np.random.default_rng(split).normal(size=X[rows].shape)
    y[rows] *= -1
    return replace(data, X=X, y=y)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[[DataSet, int], tuple[Record, ...]]:
    """Return a function that runs a trial on a given data set."""

    def once(data: DataSet, split: int) -> tuple[Record, ...]:
        monkeypatch.setattr(trial_module, "load", lambda name, source: data)
        trial = Trial("heart", split, METHODS, Source(Path("none"), "test", "0" * 64))
        return run_trial(EXPERIMENT, trial).records

    return once


def choices(records: tuple[Record, ...]) -> Choices:
    """Return everything in the records that does not use the test rows."""
    return [
        (r.method, r.setting, r.status, r.kernel, r.chosen, r.lam, r.tuned, r.score)
        for r in records
    ]


def leaks(run: Callable[[DataSet, int], tuple[Record, ...]], split: int) -> bool:
    """Return whether other test rows change the choices."""
    mine, other = run(heart(), split), run(with_other_test_rows(split), split)
    assert [r.error for r in mine] != [r.error for r in other]
    return choices(mine) != choices(other)


def test_test_rows_do_not_change_the_choice(
    run: Callable[[DataSet, int], tuple[Record, ...]],
) -> None:
    """Neither a tuned parameter nor a kernel depends on test rows, to the last bit of the score."""
    values = set()
    for split in SPLITS:
        assert not leaks(run, split)
        values |= {r.tuned for r in run(heart(), split)}
    assert len(values) > 1


def test_a_planted_leak_is_caught(
    run: Callable[[DataSet, int], tuple[Record, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A parameter that is chosen on the test rows instead of the inner folds is detected."""
    seen: list[PreparedSplit] = []

    def watched(experiment: Experiment, data: DataSet, split: int) -> PreparedSplit:
        seen.append(prepare(experiment, data, split))
        return seen[-1]

    def leaking(
        side: TrainingContext, part: TrainingContext, F: Index, found: BestPoint | SearchFailure
    ) -> float:
        if isinstance(found, SearchFailure):
            return float("inf")
        K = found.point.kernel.gram(Points(seen[-1].test, part.points.Z))
        wrong: Array = seen[-1].targets[0] * found.fits[0].decision(0, K) <= 0
        return float(wrong.sum())

    monkeypatch.setattr(trial_module, "prepare", watched)
    monkeypatch.setattr(tuned, "test_error", leaking)
    assert any(leaks(run, split) for split in range(MOST_SPLITS))


def test_a_test_row_in_training_is_caught(
    run: Callable[[DataSet, int], tuple[Record, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A test row among the training rows is detected."""

    def leaking(*arguments: Any) -> Split:
        split = draw_split(*arguments)
        return Split(np.append(split.train, split.test[0]), split.test)

    monkeypatch.setattr(trial_module, "draw_split", leaking)
    assert all(leaks(run, split) for split in SPLITS)
