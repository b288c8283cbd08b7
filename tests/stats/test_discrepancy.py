"""Probe figures and guards from records made by hand."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest
from kselect.stats.probes import Exactness, ProbeGraph, follow, judge_exactness

from kselect.config.load import load_config
from kselect.model.experiment import Experiment
from kselect.report.claims import describe_exact
from kselect.report.probe_figure import FLOOR, cut_off, draw_probes
from kselect.stats.guards import count_guarded

CONFIG = """
name: small
learner: lssvm
kernels: {gaussian: {tau: [1, 2]}}
lam: {select: [0.1, 1, 10]}
loss: zero-one
criteria: [5-CV, BIF-5-CV]
datasets: [heart, mpg]
figures: {f: {probes: [bif-discrepancy, bif-rate], at: [5-CV], order: [1, 3]}}
"""


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    path = tmp_path / "small.yaml"
    path.write_text(CONFIG)
    return load_config(path)


def row(dataset: str, split: int, **fields: object) -> dict[str, object]:
    usual: dict[str, object] = {
        "dataset": dataset, "split": split, "part": "f", "method": "5-CV", "criterion": "bif-discrepancy",
        "params": "", "loss": "", "setting": "selected", "lam": 1.0, "score": 0.0, "error": math.nan,
        "excluded": 0, "metric": "mse" if dataset == "mpg" else "zero-one", "n_train": 10, "n_test": 5,
        "status": "ok", "reason": "",
    }  # fmt: skip
    return usual | fields


def records() -> pd.DataFrame:
    """Two splits of heart with rates 0.5 and 0.1, one of mpg, and a failed record."""
    rows = []
    for split, rate in enumerate((0.5, 0.1)):
        rows.append(row("heart", split, criterion="bif-rate", score=rate))
        rows.append(row("heart", split, params="order=1", score=0.04))
        rows.append(row("heart", split, params="order=3", score=0.04 * rate**4))
    rows.append(row("mpg", 0, criterion="bif-rate", score=0.9))
    rows.append(row("mpg", 0, params="order=1", score=1.0))
    rows.append(row("mpg", 0, params="order=3", score=0.25))
    rows.append(row("mpg", 1, params="order=3", status="failed", score=math.nan))
    column = {"part": "table", "criterion": "k-CV"}
    rows.append(row("mpg", 0, **column, loss="squared", score=25.0))
    rows.append(row("heart", 0, **column, loss="zero-one", score=0.2))
    for split, excluded in enumerate((2, 4)):
        fields = {**column, "method": "BIF-5-CV", "loss": "zero-one", "excluded": excluded}
        rows.append(row("heart", split, **fields))
    return pd.DataFrame(rows)


def graph_of(experiment: Experiment) -> ProbeGraph:
    (figure,) = experiment.probes
    return follow(experiment, records(), figure)


def test_means_over_splits_and_what_their_rates_predict(experiment: Experiment) -> None:
    heart, mpg = graph_of(experiment).panels
    (track,) = heart.tracks
    mean = 0.04 * (0.5**4 + 0.1**4) / 2
    assert track.points == ((1.0, pytest.approx(0.04)), (3.0, pytest.approx(mean)))
    # Split by split the prediction is right; from the mean rate 0.3 it would be 0.04 * 0.3^4.
    assert track.predicted == (
        (1.0, pytest.approx(0.04)),
        (3.0, pytest.approx(mean)),
    )
    assert track.rate == pytest.approx(0.3)
    assert mpg.tracks[0].points == ((1.0, 1.0), (3.0, 0.25))
    assert mpg.tracks[0].predicted[1] == (3.0, pytest.approx(0.9**4))


def test_the_scale_is_one_for_labels_and_the_cv_error_for_numbers(experiment: Experiment) -> None:
    heart, mpg = graph_of(experiment).panels
    assert heart.tracks[0].scale == 1.0
    assert mpg.tracks[0].scale == 5.0
    assert mpg.tracks[0].relative(3) == pytest.approx(0.5 / 5.0)


def test_exactness_counts_curves_below_one_percent(experiment: Experiment) -> None:
    found = judge_exactness(graph_of(experiment), 3)
    assert found is not None
    # heart: sqrt(0.00125) = 3.5 %, mpg: 10 %.
    assert (found.exact, found.total, found.worst[0]) == (0, 2, "mpg")
    assert found.verdict == "not supported"
    text = describe_exact(found)
    assert "0 of 2 curves" in text.sentence
    assert "mpg with 5-CV: 10 %, where the rate of the series is 0.90" in text.sentence


@pytest.mark.parametrize(
    ("exact", "total", "verdict"),
    [(3, 3, "supported"), (2, 3, "mixed"), (1, 2, "not supported"), (0, 0, "no numbers")],
)
def test_verdicts(exact: int, total: int, verdict: str) -> None:
    assert Exactness("f", 3, exact, total, ("", "", 0.0, 0.0)).verdict == verdict


def test_guards_are_counted_per_column(experiment: Experiment) -> None:
    (found,) = count_guarded(experiment, records(), "zero-one")
    assert (found.dataset, found.method, found.excluded) == ("heart", "BIF-5-CV", 3.0)
    assert found.candidates == 6
    assert count_guarded(experiment, records(), "squared") == ()


def test_the_figure_is_the_same_twice_and_survives_having_no_data(experiment: Experiment) -> None:
    graph = graph_of(experiment)
    files = draw_probes(graph)
    assert files == draw_probes(graph)
    assert files["png"].startswith(b"\x89PNG")
    assert files["pdf"].startswith(b"%PDF")
    (figure,) = experiment.probes
    empty = follow(experiment, records().iloc[:0], figure)
    assert draw_probes(empty)["png"] != files["png"]
    assert judge_exactness(empty, 3) is None


def test_rounding_is_cut_off() -> None:
    assert cut_off([(1.0, 0.5), (2.0, 0.0)]) == ([1.0, 2.0], [0.5, FLOOR])
