"""Other learners on the outer folds of a comparison: predictions, the rule of two standard errors, no leaks."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn import config_context
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier

import kselect.selection.contenders as contenders
from kselect.cli.contenders import contender_lines
from kselect.cli.main import cli
from kselect.datasets.prepare import fit_preparation
from kselect.datasets.table.raw_table import TableOptions
from kselect.errors import ConfigError
from kselect.numerics.folds import Folds, draw_folds, stream
from kselect.numerics.linalg import Array
from kselect.selection.compare import ComparedCriterion
from kselect.selection.contenders import (
    BOOSTING,
    Contender,
    FailedContender,
    contend,
    held_out_decisions,
    labels_of,
    makers,
)
from kselect.selection.held_out import Quality, quality_of, row_qualities
from kselect.selection.own_data import OwnData, read_own
from kselect.selection.rows.rules import RowRules
from kselect.selection.rows.weighting import Weighting

N = 60


def write(folder: Path, task: str, seed: int = 0, shift: float = 0.0) -> Path:
    """Write a table of two numbers and a category; ``shift`` moves the first row's number."""
    rng = np.random.default_rng(seed)
    x, size = rng.normal(size=(N, 2)), rng.choice(list("SML"), N)
    x[0, 0] += shift
    y: Any = 2 * x[:, 0] + 0.1 * rng.normal(size=N)
    if task != "regression":
        y = np.array(list("uvw"))[np.digitize(rng.normal(size=N), [-0.5, 0.5])]
        y = np.where(y == "w", "v", y) if task == "two" else y
    lines = [f"{a:.4f},{b:.4f},{s},{t}" for (a, b), s, t in zip(x, size, y, strict=True)]
    path = folder / "my.csv"
    path.write_text("a,b,size,y\n" + "\n".join(lines) + "\n")
    return path


def read(path: Path) -> OwnData:
    """Return the table as a selection reads it."""
    return read_own(path, None, TableOptions(), "zscore", 1)


def linear(X: Array, **_: Any) -> Any:
    """Return a quick contender for numbers."""
    return LinearRegression()


def nearest(X: Array, **_: Any) -> Any:
    """Return a contender that depends on the scale of the features."""
    return KNeighborsRegressor(3)


def tree(X: Array, **_: Any) -> Any:
    """Return a quick contender for classes."""
    return DecisionTreeClassifier(max_depth=2, random_state=0)


@pytest.mark.parametrize("task", ["regression", "two", "three"])
def test_held_out_decisions_by_definition(tmp_path: Path, task: str) -> None:
    data, outer = read(write(tmp_path, task)), draw_folds(N, 5, stream(0, "outer folds"))
    make = linear if task == "regression" else tree
    found = held_out_decisions(data, outer, make)
    (labels,) = labels_of(data.target)
    right = []
    for F in outer.members:
        T = np.setdiff1d(np.arange(N), F)
        Z, _ = fit_preparation(data.frame, "zscore", T).transform(data.frame)
        right.append(make(Z).fit(Z[T], labels[T]).predict(Z[F]))
    for F, predicted in zip(outer.members, right, strict=True):
        if task == "regression":
            assert found[0, F] == pytest.approx(predicted, rel=1e-12)
        else:
            codes = found[0, F] > 0 if task == "two" else found[:, F].argmax(axis=0)
            assert np.array_equal(codes, predicted)


def test_an_outer_fold_changes_no_other_prediction_of_its_fold(tmp_path: Path) -> None:
    outer = draw_folds(N, 5, stream(0, "outer folds"))
    own = next(F for F in outer.members if 0 in F)
    others = own[own != 0]
    values = []
    for shift in (0.0, 1000.0):
        data = read(write(tmp_path, "regression", shift=shift))
        values.append(held_out_decisions(data, outer, nearest)[:, others])
    # Row 0's number and target move: the scale, the neighbours and the targets would show a leak.
    assert values[0] == pytest.approx(values[1], rel=1e-9)


def test_the_comparison_is_paired_over_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contenders, "makers", lambda task: {"linear": linear})
    data, outer = read(write(tmp_path, "regression")), draw_folds(N, 5, stream(0, "outer folds"))
    ours = np.zeros((1, N))
    (found,) = contend(data, ours, outer, 0)
    assert isinstance(found, Contender)
    theirs = held_out_decisions(data, outer, linear)
    qualities = partial(row_qualities, targets=data.target.values, task=data.target.task)
    gain = qualities(ours) - qualities(theirs)
    assert gain.shape == (1, N)
    assert found.difference == pytest.approx(gain.mean())
    assert found.error == pytest.approx(gain.std(ddof=1) / np.sqrt(N))
    assert found.verdict == "worse"
    whole = quality_of(ours, data.target.values, "regression", outer).value
    assert found.quality.value + found.difference == pytest.approx(whole)


@pytest.mark.parametrize(
    ("difference", "verdict"),
    [(0.21, "better"), (0.19, "no clear difference"), (-0.19, "no clear difference"), (-0.21, "worse")],
)  # fmt: skip
def test_two_standard_errors_count(difference: float, verdict: str) -> None:
    assert contender(difference).verdict == verdict


def contender(difference: float, name: str = BOOSTING, warnings: str = "") -> Contender:
    """Return a contender with a standard error of 0.1."""
    return Contender(name, Quality("R2", 0.8, 0.0, 0.1, 5), 1.0, difference, 0.1, warnings)


def ours() -> ComparedCriterion:
    """Return a criterion of ours with a label and a quality."""
    from types import SimpleNamespace

    method = SimpleNamespace(label="5-CV")
    return SimpleNamespace(method=method, quality=Quality("R2", 0.5, 0.0, 0.1, 5))  # type: ignore[return-value]


def test_boosting_that_is_clearly_better_is_recommended() -> None:
    def hints(*found: Contender | FailedContender) -> list[str]:
        return [line for line in contender_lines(found, ours()) if "is clearly better" in line]

    assert hints(contender(-0.3)) == [
        "gradient boosting is clearly better on these rows (R2 0.8 against 0.5): "
        "use it if only the predictions count"
    ]
    assert not hints(contender(-0.1))
    assert not hints(contender(-0.3, name="random forest"))


def test_failures_and_warnings_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(X: Array, **_: Any) -> Any:
        raise ValueError("cannot be\nfitted")

    monkeypatch.setattr(contenders, "makers", lambda task: {"broken": broken, "linear": linear})
    data, outer = read(write(tmp_path, "regression")), draw_folds(N, 5, stream(0, "outer folds"))
    found = contend(data, np.zeros((1, N)), outer, 0)
    lines = [*contender_lines([*found, contender(0.0, warnings="2 UserWarning: odd")], ours())]
    assert "warning: broken failed: ValueError: cannot be" in lines
    assert "warning: gradient boosting: 2 UserWarning: odd" in lines


@pytest.mark.parametrize("task", ["regression", "two"])
@pytest.mark.slow
def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: str) -> None:
    monkeypatch.setattr(contenders, "TREES", 5)
    monkeypatch.setattr(contenders, "PENALTIES", (1.0,))
    monkeypatch.setattr(contenders, "RIDGES", [1.0])
    path = str(write(tmp_path, task))
    asked = ["select", path, "--tau", "1,4", "--compare", "5-CV,ELOO"]
    plain = CliRunner().invoke(cli, asked)
    text = CliRunner().invoke(cli, [*asked, "--contenders"])
    assert text.exit_code == 0, text.output
    assert "contender" not in plain.output
    named = makers("regression" if task == "regression" else "classification")
    assert all(name in text.output for name in named)
    found = json.loads(CliRunner().invoke(cli, [*asked, "--contenders", "--json"]).output)
    assert [set(one) for one in found["contenders"]] == [
        {"name", "outer", "seconds", "difference", "standard_error", "kselect_is", "warnings"}
    ] * 4
    first = found["criteria"][0]["outer"]["value"]
    for one in found["contenders"]:
        assert one["outer"]["value"] + one["difference"] == pytest.approx(first)


@pytest.mark.parametrize("task", ["regression", "two"])
def test_weights_count_as_repeated_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: str
) -> None:
    """A row of weight 2 counts as two rows, in the fits and in the comparison; copies share a fold."""
    form = {"regression": WeightedLinear, "two": WeightedTree}[task]
    monkeypatch.setattr(contenders, "makers", lambda task: {"one": lambda X, **_: form()})
    data = read(write(tmp_path, task))
    counts = np.random.default_rng(3).integers(1, 4, N)
    again = np.repeat(np.arange(N), counts)
    copies = replace(
        data, frame=data.frame.take(again), target=data.target.take(again), X=data.X[again]
    )
    outer = draw_folds(N, 5, stream(0, "outer folds"))
    ours = np.random.default_rng(4).normal(size=(1, N))
    (weighted,) = contend(data, ours, outer, 0, rules=RowRules(Weighting(1.0 * counts)))
    (repeated,) = contend(copies, ours[:, again], Folds.from_numbers(outer.numbers[again]), 0)
    assert isinstance(weighted, Contender)
    assert isinstance(repeated, Contender)
    assert weighted.quality.value == pytest.approx(repeated.quality.value, rel=1e-9)
    assert weighted.difference == pytest.approx(repeated.difference, rel=1e-9)
    (plain,) = contend(data, ours, outer, 0)
    assert isinstance(plain, Contender)
    assert plain.difference != pytest.approx(weighted.difference)
    (equal,) = contend(data, ours, outer, 0, rules=RowRules(Weighting(np.full(N, 2.5))))
    assert isinstance(equal, Contender)
    assert equal.error == pytest.approx(plain.error)


class WeightedLinear(LinearRegression):  # type: ignore[misc]
    """A linear model that must know the columns without their scale, which copies of rows change."""

    def fit(self, X: Array, y: Array, sample_weight: Array | None = None) -> Any:
        """Fit the rows."""
        return super().fit(X, y, sample_weight=sample_weight)


class WeightedTree(DecisionTreeClassifier):  # type: ignore[misc]
    """A tree of fixed depth."""

    def __init__(self) -> None:
        super().__init__(max_depth=2, random_state=0)


def test_several_targets_have_a_contender_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contenders, "makers", lambda task: {"linear": linear})
    data = read(write(tmp_path, "regression"))
    outer, one = draw_folds(N, 5, stream(0, "outer folds")), data.target.values
    other = data.X[:, 1] * 100.0
    both = replace(data, target=replace(data.target, values=np.array([one[0], other])))
    only = replace(data, target=replace(data.target, values=other[None]))
    found = held_out_decisions(both, outer, linear)
    assert found[0] == pytest.approx(held_out_decisions(data, outer, linear)[0])
    assert found[1] == pytest.approx(held_out_decisions(only, outer, linear)[0])
    (joint,) = contend(both, 0.0 * found, outer, 0)
    assert isinstance(joint, Contender)
    each = [contend(d, np.zeros((1, N)), outer, 0)[0] for d in (data, only)]
    assert joint.quality.value == pytest.approx(np.mean([e.quality.value for e in each]))  # type: ignore[union-attr]


def test_the_inner_search_of_a_contender_takes_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every contender fits with weights; a row of weight 0 changes neither its choice nor its predictions."""
    monkeypatch.setattr(contenders, "TREES", 2)
    monkeypatch.setattr(contenders, "PENALTIES", (0.1, 10.0))
    monkeypatch.setattr(contenders, "WIDTHS", (1.0,))
    monkeypatch.setattr(contenders, "RIDGES", [1e-3, 10.0])
    rng = np.random.default_rng(5)
    X, wild = rng.normal(size=(40, 2)), np.arange(40) % 4 == 0
    w = np.where(wild, 1e-9, 1.0)
    y = X[:, 0] + 0.3 * rng.normal(size=40)
    moved = y.copy()
    moved[wild] = y[wild][::-1]  # of equal mean and spread, by which the SVR scales the targets
    cv = [
        (np.flatnonzero(np.arange(40) % 2 != i), np.flatnonzero(np.arange(40) % 2 == i))
        for i in (0, 1)
    ]
    for task, target, strange in (
        ("regression", y, moved),
        ("classification", (y > 0) * 1, np.where(wild, y <= 0, y > 0) * 1),
    ):
        for name, make in makers(task).items():  # type: ignore[arg-type]
            if name in ("random forest", BOOSTING):
                continue  # weights change the rows that are drawn and the smallest leaf
            with config_context(enable_metadata_routing=True):
                models = [
                    make(X, seed=0, jobs=1, cv=cv, weighted=True).fit(X, t, sample_weight=w)
                    for t in (target, strange)
                ]
            first, second = (model.predict(X) for model in models)
            assert first == pytest.approx(second, abs=2e-3), name
            assert models[0].best_params_ == models[1].best_params_


def test_contenders_need_a_comparison(tmp_path: Path) -> None:
    found = CliRunner().invoke(cli, ["select", str(write(tmp_path, "two")), "--contenders"])
    assert isinstance(found.exception, ConfigError)
    assert "add --compare" in str(found.exception)


def test_the_seed_decides_the_forest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contenders, "TREES", 3)
    forest = makers("regression")["random forest"]
    monkeypatch.setattr(contenders, "makers", lambda task: {"forest": forest})
    data, outer = read(write(tmp_path, "regression")), draw_folds(N, 5, stream(0, "outer folds"))
    run = partial(contend, data, np.zeros((1, N)), outer)
    one, again, other = (run(seed)[0] for seed in (0, 0, 1))
    assert isinstance(one, Contender)
    assert isinstance(again, Contender)
    assert isinstance(other, Contender)
    assert one.quality == again.quality
    assert one.quality != other.quality
