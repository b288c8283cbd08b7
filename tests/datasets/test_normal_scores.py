"""``--scale quantile``: normal scores of the training rows, in preparations, model files and commands."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import kselect.datasets.normal_scores as module
from kselect import read_table
from kselect.cli.main import cli
from kselect.datasets.normal_scores import Curves
from kselect.datasets.prepare import Preparation, fit_preparation
from kselect.selection.distributed import read_distributed
from kselect.selection.model_file import read_model


def slow_score(x: float, train: list[float]) -> float:
    """Return the score of a value by counting the training rows below it and equal to it."""
    known = sorted(set(train))
    if x not in known:
        below = [v for v in known if v < x]
        above = [v for v in known if v > x]
        if not (below and above):
            return slow_score((below or above)[-1 if below else 0], train)
        share = (x - below[-1]) / (above[0] - below[-1])
        low, high = slow_score(below[-1], train), slow_score(above[0], train)
        return low + share * (high - low)
    share = sum(v < x for v in train) + sum(v == x for v in train) / 2
    return NormalDist().inv_cdf(share / len(train))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a table with a long tail, few values, gaps, a constant and a category."""
    rng = np.random.default_rng(0)
    path = tmp_path / "t.csv"
    lines = ["tail,few,gaps,same,size,y"]
    for i in range(40):
        a = float(np.exp(3 * rng.normal()))
        gap = "" if i % 7 == 0 else f"{rng.normal():.3f}"
        size = "SML"[rng.integers(3)]
        lines.append(f"{a:.5g},{rng.integers(4)},{gap},5,{size},{np.log(a) + rng.normal():.3f}")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_scores_against_their_definition(file: Path) -> None:
    frame = read_table(file).frame
    train, others = np.arange(0, 30), np.arange(30, 40)
    made = fit_preparation(frame, "quantile", train)
    X, _ = made.transform(frame)
    plain = fit_preparation(frame, "none", train).transform(frame)[0]
    assert made.names[:3] == ("tail", "few", "gaps")
    for j in range(3):
        known = plain[train, j].tolist()
        scores = np.array([slow_score(v, known) for v in plain[:, j].tolist()])
        expected = (scores - scores[train].mean()) / scores[train].std()
        np.testing.assert_allclose(X[:, j], expected, atol=1e-12)
    assert len(others) == len(X) - len(train)
    constant = made.names.index("same") if "same" in made.names else None
    assert constant is None or not X[:, constant].any()
    levels = [j for j, name in enumerate(made.names) if name.startswith("size")]
    np.testing.assert_array_equal(X[:, levels], plain[:, levels])


def test_other_rows_have_no_influence(file: Path) -> None:
    """Only a preparation of all rows, planted as a leak, sees other values in the rows that are held out."""
    frame, train = read_table(file).frame, np.arange(30)
    data = tuple(v.copy() for v in frame.data)
    data[0][30:] *= -7.0
    other = replace(frame, data=data)
    for rows, leaks in ((train, False), (None, True)):
        one, two = (fit_preparation(f, "quantile", rows).transform(f)[0] for f in (frame, other))
        assert np.array_equal(one[train], two[train]) is not leaks


def test_many_values_have_a_short_curve(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(1).normal(size=(500, 2)) ** 3
    whole = Curves.through(X, [True, False]).bend(X)
    np.testing.assert_array_equal(whole[:, 1], X[:, 1])
    monkeypatch.setattr(module, "MOST_POINTS", 100)
    short = Curves.through(X, [True, False])
    assert short.sizes.tolist() == [100, 0]
    assert np.median(np.abs(short.bend(X)[:, 0] - whole[:, 0])) < 0.01
    huge = Curves.through(np.array([[-1e308], [1e308]]), [True]).bend(X[:, :1])
    np.testing.assert_allclose(huge, 0.0, atol=1e-12)


@pytest.mark.parametrize(
    "wrong",
    [
        {"curve_values": [2.0, 1.0]},
        {"curve_scores": [0.0, np.inf]},
        {"curve_sizes": [1.0]},
        {"curve_sizes": [0.5, 1.5]},
        {"curve_values": [1.0]},
    ],
)
def test_invalid_curves_are_refused(wrong: dict[str, Any]) -> None:
    right = {"curve_sizes": [2.0], "curve_values": [1.0, 2.0], "curve_scores": [-1.0, 1.0]}
    assert Curves.of_members(right) is not None
    assert Curves.of_members({}) is None
    with pytest.raises(ValueError, match="curve"):
        Curves.of_members({**right, **wrong})


def test_a_scale_and_its_curves_belong_together(file: Path) -> None:
    made = read_table(file, scale="quantile").preparation
    assert made.curves is not None
    facts = {**vars(made), "schema": read_table(file).frame.schema}
    known = {k: facts[k] for k in ("scale", "medians", "levels", "shift", "divisor")}
    schema = {
        "form": made.schema.form, "named": made.schema.named, "width": made.schema.width,
        "targets": ["y"], "columns": [vars(c) for c in made.schema.columns],
    }  # fmt: skip
    again = Preparation.from_dict({**known, "schema": schema, **made.curves.members()})
    assert again.curves is not None
    with pytest.raises(ValueError, match="curve"):
        Preparation.from_dict({**known, "schema": schema})
    with pytest.raises(ValueError, match="curve"):
        Preparation.from_dict(
            {**known, "scale": "zscore", "schema": schema, **made.curves.members()}
        )


def test_fit_and_predict_with_ranks(file: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.npz"
    flags = ["--scale", "quantile", "--kernel", "gaussian", "--lam", "0.01,1"]
    run = CliRunner().invoke(cli, ["fit", str(file), *flags, "-o", str(model)])
    assert run.exit_code == 0, run.output
    table = read_table(file, scale="quantile")
    saved = read_model(model)
    X, _ = saved.preparation.transform(table.frame)
    np.testing.assert_array_equal(X, table.X)
    run = CliRunner().invoke(cli, ["predict", str(model), str(file)])
    assert run.exit_code == 0, run.output
    with pytest.raises(Exception, match="--scale quantile ranks all rows at once"):
        read_distributed(None, file, None, None, "quantile")  # type: ignore[arg-type]
