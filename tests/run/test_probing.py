"""Probes: looked at where a column has its best, by the same folds, without touching the table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kselect.config.load import load_config
from kselect.datasets.dataset import DataSet
from kselect.datasets.fetch import Places, default_cache
from kselect.datasets.scaling import scale_rows
from kselect.datasets.splits import draw_split
from kselect.kernels import Points
from kselect.kernels.gaussian import Gaussian
from kselect.learners import Problem, find_learner
from kselect.model.experiment import Experiment
from kselect.model.records import Record
from kselect.model.trial import Trial
from kselect.numerics.folds import draw_folds
from kselect.numerics.streams import stream
from kselect.plan import find_sources
from kselect.run.trial import load, run_trial

CONFIG = """
name: small
learner: lssvm
scale: minmax
scale-on: all
train: 0.5
splits: 1
kernels: {gaussian: {tau: [0.5, 4, 32]}}
lam: {select: 10^-3:10^-1}
ridge: per-fold
criteria: [5-CV, BIF-5-CV, ELOO]
datasets: [heart, mpg]
figures: {f: {probes: [bif-discrepancy, bif-rate], at: [5-CV], order: [1, 4], datasets: [heart]}}
"""


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    path = tmp_path / "small.yaml"
    path.write_text(CONFIG)
    return load_config(path)


def records_of(experiment: Experiment, dataset: str, only: str = "") -> list[Record]:
    sources, _ = find_sources([dataset], Places(default_cache(), offline=True))
    task = "regression" if dataset == "mpg" else "classification"
    methods = tuple(m for m in experiment.methods_on(dataset, task) if not only or m.part == only)
    return list(run_trial(experiment, Trial(dataset, 0, methods, sources[dataset])).records)


def heart() -> DataSet:
    sources, _ = find_sources(["heart"], Places(default_cache(), offline=True))
    return load("heart", sources["heart"])


def test_values_are_those_of_a_path_at_the_choice(experiment: Experiment) -> None:
    records = records_of(experiment, "heart")
    choice = next(r for r in records if r.part == "table" and r.method == "5-CV")
    data = heart()
    split = draw_split(data.y, 0.5, False, stream(0, "heart", 0, "split"))
    X = scale_rows(data.X, "minmax", data.X)[split.train]
    folds = draw_folds(len(X), 5, stream(0, "heart", 0, "5 folds"))
    kernel = Gaussian(float(choice.chosen.removeprefix("tau=")))
    lams = np.array([choice.lam])
    problem = Problem(X, data.y[split.train], kernel, kernel.gram(Points(X)), lams, "per-fold")
    path = find_learner("lssvm").path(problem)
    values = {(r.criterion, r.params): r for r in records if r.part == "f"}
    assert set(values) == {
        ("bif-discrepancy", "order=1"),
        ("bif-discrepancy", "order=4"),
        ("bif-rate", ""),
    }
    for (criterion, params), record in values.items():
        assert (record.chosen, record.lam, record.error) == (choice.chosen, choice.lam, None)
        if criterion == "bif-rate":
            expected = path.rates(folds)[0]
        else:
            order = int(params.removeprefix("order="))
            expected = np.square(path.bif(folds, order) - path.held_out(folds)).mean()
        assert record.score == pytest.approx(expected, rel=1e-6)


def test_only_on_the_data_sets_of_the_figure(experiment: Experiment) -> None:
    assert {r.part for r in records_of(experiment, "mpg")} == {"table"}


def test_probes_alone_find_their_columns_best_without_recording_it(experiment: Experiment) -> None:
    """As when a figure is added to a config whose table is there already."""
    alone = records_of(experiment, "heart", only="f")
    assert {r.part for r in alone} == {"f"}
    together = [r for r in records_of(experiment, "heart") if r.part == "f"]
    assert sorted(alone, key=lambda r: r.cell) == sorted(together, key=lambda r: r.cell)


def test_a_column_without_a_choice_gives_its_reason(tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    text = CONFIG.replace("BIF-5-CV", "BIF-5-CV: {cap: 0}").replace(
        "at: [5-CV]", "at: [BIF-5-CV(cap=0)]"
    )
    path.write_text(text)
    seen = [r for r in records_of(load_config(path), "heart") if r.part == "f"]
    assert len(seen) == 3
    assert {r.status for r in seen} == {"failed"}
    assert {r.reason for r in seen} == {"no kernel and ridge of the grid has a finite score"}


def test_the_guard_is_counted(experiment: Experiment) -> None:
    records = {r.method: r for r in records_of(experiment, "heart") if r.part == "table"}
    assert records["BIF-5-CV"].excluded > 0
    assert records["5-CV"].excluded == records["ELOO"].excluded == 0


def test_the_learners_parameters_reach_it(tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    text = CONFIG.replace("learner: lssvm", "learner: {quadratic-svr: {eps: 0.5}}")
    path.write_text(text.replace("[heart, mpg]", "[mpg]").replace(", datasets: [heart]", ""))
    assert load_config(path).learner_params == (("eps", 0.5),)
