"""Own tables in an experiment: preparation uses training rows only, and classes may be many."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from problems import side_of

import kselect.run.trial as trial
from kselect.config.load import load_config
from kselect.core.experiment import Experiment
from kselect.core.grid_point import BestPoint, GridPoint
from kselect.core.job import Trial
from kselect.core.method import SELECTED, Method
from kselect.core.record import RecordMaker
from kselect.datasets.fetch import Places, resolve
from kselect.datasets.prepare import fit_preparation
from kselect.datasets.splits import Split
from kselect.kernels import Points
from kselect.kernels.polynomial import Linear
from kselect.learners import Fit
from kselect.plan import find_sources
from kselect.report.sections import FIGURES
from kselect.run.trial import PreparedSplit, load, prepare, run_trial

CONFIG = """\
name: my
learner: lssvm
kernels: {gaussian: {tau: [1, 4]}}
lam: {select: [0.01, 0.1]}
splits: 2
criteria: [5-CV, ELOO]
datasets: [{file: my.csv}]
"""
N = 60


def rows() -> list[list[str]]:
    """Return rows with gaps, categories and three classes."""
    rng = np.random.default_rng(11)
    found = []
    for i in range(N):
        x = rng.normal()
        level = "uvw"[int(np.clip(x + 1.5, 0, 2))]
        found.append(["" if i % 11 == 3 else f"{x:.4f}", "SML"[rng.integers(3)], level])
    return found


def write(folder: Path, lines: list[list[str]]) -> Experiment:
    """Write a table and a config, and return the experiment."""
    text = "x,size,y\n" + "".join(",".join(line) + "\n" for line in lines)
    (folder / "my.csv").write_text(text)
    (folder / "my.yaml").write_text(CONFIG)
    return load_config(folder / "my.yaml", FIGURES)


def parts_of(experiment: Experiment) -> tuple[PreparedSplit, Any]:
    """Return the first split, prepared, and its row numbers."""
    info = experiment.info("my")
    parts = prepare(experiment, load(info, resolve(info, Places(Path()))), 0)
    return parts, parts.rows


def leaks(folder: Path) -> bool:
    """Return whether the training rows change if only the test rows do."""
    lines = rows()
    before, split = parts_of(write(folder, lines))
    for i in split.test.tolist():
        lines[i][0], lines[i][1] = "1000", "XXL"
    after, same = parts_of(write(folder, lines))
    assert np.array_equal(split.train, same.train)
    return not np.array_equal(before.context.X, after.context.X)


def test_test_rows_do_not_change_the_preparation(tmp_path: Path) -> None:
    assert not leaks(tmp_path)


def test_a_planted_leak_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        trial, "fit_preparation", lambda frame, scale, _: fit_preparation(frame, scale)
    )
    assert leaks(tmp_path)


def test_the_error_of_three_classes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error is the share of test rows whose class has not the largest decision."""
    experiment = write(tmp_path, rows())
    sources, _ = find_sources(experiment, Places(tmp_path))
    parts, _ = parts_of(experiment)
    found: list[BestPoint] = []
    real: Callable[..., Any] = trial.search

    def kept(*arguments: Any) -> Any:
        results = real(*arguments)
        found.extend(r for r in results.values() if isinstance(r, BestPoint))
        return results

    monkeypatch.setattr(trial, "search", kept)
    outcome = run_trial(experiment, Trial("my", 0, experiment.methods, sources["my"]))
    assert {r.status for r in outcome.records} == {"ok"}
    for record, result in zip(outcome.records, found, strict=True):
        K = result.point.kernel.gram(Points(parts.test, parts.context.X))
        decisions = np.array([dual.decision(0, K) for dual in result.fits])
        wrong = decisions.argmax(axis=0) != parts.targets.argmax(axis=0)
        assert record.error == pytest.approx(wrong.mean())


def test_ties_count_as_errors() -> None:
    targets = np.array([[1.0, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    decisions = np.array([[0.5, 0, 0], [0.5, 1, 0], [0, 0, 2.0]])
    context = side_of([Linear()], np.eye(3), targets, (0.1,))
    parts = PreparedSplit(Split(*[np.arange(3)] * 2), np.arange(3.0), context, np.eye(3), targets)
    fits = tuple(Fit(row[None], np.zeros(1)) for row in decisions)
    best = BestPoint(GridPoint(Linear(), 0.1), 0.0, fits)
    maker = RecordMaker("my", 0, "zero-one", 3, 3)
    (record,) = trial.tested(maker, parts, {(Method("5-CV", "k-CV", 5, ()), SELECTED): best})
    assert record.error == pytest.approx(1 / 3)
