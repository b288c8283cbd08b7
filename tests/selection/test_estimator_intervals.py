"""Intervals of the regressor and of model files: their definition by retraining, MAPIE's, and refusals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import oracles_intervals
import pytest
from click.testing import CliRunner
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import KFold, TimeSeriesSplit

from kselect import KernelSelectClassifierCV, KernelSelectRegressorCV, read_table
from kselect.cli.main import cli
from kselect.kernels import Points
from kselect.numerics.folds import Folds
from kselect.selection.model_file import read_model, write_model

pytestmark = pytest.mark.filterwarnings("ignore::kselect.EdgeWarning")
RNG = np.random.default_rng(2)
X = RNG.normal(size=(230, 2))
Y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.3 * RNG.normal(size=230)
NEW = RNG.normal(size=(11, 2))
FAST: dict[str, Any] = {"kernel": "gaussian,laplacian", "tau": "1.2,1.25,4", "lam": "0.001,0.01"}
GRIDS: dict[str, Any] = {"grids": {"width": "4,8"}}


def defined(model: Any, X: Any, y: Any, level: float) -> Any:
    """Return the intervals of the mean of the members, each retrained without every fold."""
    folds: Folds = model._held_out.folds
    if len(X) < 200 and not model._held_out.given:
        folds = Folds.from_numbers(np.arange(len(X)))
    kernels = [(one.point.kernel, one.point.lam) for one in model.members_]
    Ks = [kernel.gram(Points(X)) for kernel, _ in kernels]
    new = [kernel.gram(Points(NEW, X)) for kernel, _ in kernels]
    fits = [
        oracles_intervals.fold_fits(K, y, folds.members, lam, True, False)
        for K, (_, lam) in zip(Ks, kernels, strict=True)
    ]
    trained, there = (oracles_intervals.mean_fits(fits, K) for K in (Ks, new))
    return np.array(oracles_intervals.cv_plus(trained, there, y, folds.members, level))


@pytest.mark.parametrize("n", [60, 230], ids=["Jackknife+", "CV+"])
def test_intervals_of_an_average_equal_their_definition(n: int) -> None:
    """The folds' predictions are the means over the members."""
    model = KernelSelectRegressorCV(ensemble=3, **FAST, **GRIDS).fit(X[:n], Y[:n])
    assert len(model.members_) > 1
    predicted, bounds = model.predict(NEW, interval=0.9)
    np.testing.assert_array_equal(predicted, model.predict(NEW))
    assert bounds.shape == (11, 2)
    assert np.abs(bounds - defined(model, X[:n], Y[:n], 0.9)).max() < 1e-9
    wider = model.predict(NEW, interval=0.95)[1]
    assert (np.diff(wider) > np.diff(bounds)).all()


def test_folds_of_the_user_are_not_divided() -> None:
    """Rows that belong together stay in one fold, also of few rows."""
    groups = np.arange(60) // 4
    model = KernelSelectRegressorCV(ensemble=1, **FAST, **GRIDS).fit(X[:60], Y[:60], groups=groups)
    bounds = model.predict(NEW, interval=0.9)[1]
    assert model._held_out.intervals.folds == 5
    assert np.abs(bounds - defined(model, X[:60], Y[:60], 0.9)).max() < 1e-9


@pytest.mark.parametrize(
    ("kernel", "criterion", "given"),
    [
        ("ard", "5-CV", False),
        ("laplacian-ard", "FLKL", True),
        ("sum:gaussian(tau=1,8),linear", "5-CV", True),
    ],
)
def test_intervals_of_learned_kernels_equal_their_definition(
    kernel: str, criterion: str, given: bool
) -> None:
    """Widths and weights are held fixed, and the model is retrained without each fold or row."""
    cv = np.arange(50) % 5 if given else 5
    model = KernelSelectRegressorCV(kernel=kernel, criterion=criterion, cv=cv).fit(X[:50], Y[:50])
    bounds = model.predict(NEW, interval=0.85)[1]
    assert model._held_out.intervals.folds == (5 if given else 50)
    assert np.abs(bounds - defined(model, X[:50], Y[:50], 0.85)).max() < 1e-9


def test_intervals_equal_those_of_mapie() -> None:
    """MAPIE retrains KernelRidge with the chosen kernel and ridge on the same folds."""
    mapie = pytest.importorskip("mapie.regression", reason="mapie is not installed")
    split = KFold(5, shuffle=True, random_state=0)
    model = KernelSelectRegressorCV(
        "krr", kernel="gaussian", tau="1,4", lam="0.001,0.01", ensemble=1, cv=split
    ).fit(X, Y)
    gamma = 1 / (2 * model.best_params_["tau"])
    theirs = KernelRidge(kernel="rbf", gamma=gamma, alpha=230 * model.best_params_["lam"])
    found = mapie.CrossConformalRegressor(theirs, confidence_level=0.9, method="plus", cv=split)
    _, bounds = found.fit_conformalize(X, Y).predict_interval(NEW)
    assert np.abs(model.predict(NEW, interval=0.9)[1] - bounds[:, :, 0]).max() < 1e-10


def test_several_targets_have_an_interval_each() -> None:
    """Each target has its own held-out errors."""
    targets = np.stack([Y[:60], 5 + 10 * Y[:60]], axis=1)
    model = KernelSelectRegressorCV(ensemble=2, **FAST, **GRIDS).fit(X[:60], targets)
    predicted, bounds = model.predict(NEW, interval=0.8)
    assert predicted.shape == (11, 2)
    assert bounds.shape == (11, 2, 2)
    np.testing.assert_allclose(bounds[:, 1], 5 + 10 * bounds[:, 0], rtol=1e-6)


@pytest.mark.parametrize(
    "more", [{"nystrom": 20}, {"learner": "quadratic-svr", "criterion": "5-CV"}]
)
def test_intervals_of_other_fits_cover_the_predictions(more: dict[str, Any]) -> None:
    """Nystrom columns, and a learner that retrains, have intervals as well."""
    model = KernelSelectRegressorCV(ensemble=1, **{**FAST, **GRIDS, **more}).fit(X, Y)
    predicted, bounds = model.predict(NEW, interval=0.9)
    low, high = bounds.T
    assert (low < predicted).all()
    assert (predicted < high).all()


def test_refusals() -> None:
    """Each is one line."""
    model = KernelSelectRegressorCV(ensemble=1, **FAST, **GRIDS).fit(X[:60], Y[:60])
    with pytest.raises(ValueError, match="a level between 0 and 1"):
        model.predict(NEW, interval=90)
    with pytest.raises(ValueError, match="needs 99 training rows or more; the model has 60"):
        model.predict(NEW, interval=0.99)
    classes = KernelSelectClassifierCV(ensemble=1, **FAST, **GRIDS).fit(X[:60], Y[:60] > 0.5)
    with pytest.raises(ValueError, match="intervals are for regression"):
        classes.predict(NEW, interval=0.9)


def test_blocks_of_rows_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many new rows are predicted in blocks, which bound the memory."""
    model = KernelSelectRegressorCV(ensemble=2, **FAST, **GRIDS).fit(X[:60], Y[:60])
    whole = model.predict(NEW, interval=0.9)[1]
    monkeypatch.setattr("kselect.selection.intervals.ENTRIES", 200)
    np.testing.assert_allclose(model.predict(NEW, interval=0.9)[1], whole, rtol=0, atol=1e-12)


# --- model files ------------------------------------------------------------------------------------


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a table and new rows, and go there."""
    monkeypatch.chdir(tmp_path)
    for name, rows, y in (("my.csv", X[:60], Y[:60]), ("new.csv", NEW, NEW[:, 0])):
        lines = [f"{a!r},{b!r},{c!r}" for (a, b), c in zip(rows.tolist(), y.tolist(), strict=True)]
        (tmp_path / name).write_text("\n".join(["a,b,y", *lines]) + "\n")
    return tmp_path


def run(*arguments: str) -> Any:
    """Run a command."""
    return CliRunner().invoke(cli, list(arguments))


GRID = (
    "--kernel",
    "gaussian,laplacian",
    "--tau",
    "1.2,1.25,4",
    "--width",
    "4,8",
    "--lam",
    "0.001,0.01",
)


def test_a_model_file_predicts_the_intervals_of_the_estimator(here: Path) -> None:
    """The columns lower and upper are those of the estimator to 1e-12, and rows are stored once."""
    assert run("fit", "my.csv", "-o", "m.npz", "--ensemble", "3", *GRID).exit_code == 0
    found = run("predict", "m.npz", "new.csv", "--interval", "0.9")
    head, *lines = found.stdout.splitlines()
    assert head == "prediction,lower,upper"
    mine = np.array([[float(x) for x in line.split(",")] for line in lines])
    table = read_table(here / "my.csv")
    model = KernelSelectRegressorCV(ensemble=3, **FAST, **GRIDS).fit(table.X, table.y)
    rows, _ = table.preparation.transform(read_table(here / "new.csv").frame)
    predicted, bounds = model.predict(rows, interval=0.9)
    np.testing.assert_allclose(mine, np.column_stack([predicted, bounds]), rtol=0, atol=1e-12)
    assert (
        "Jackknife+, one row left out; the choice and the relevances are held fixed" in found.stderr
    )
    assert "% are in their interval" in found.stderr
    with np.load("m.npz") as stored:
        members, q, k, n = stored["fold_alpha"].shape
        assert (members, q, k, n) == (len(model.members_), 1, 60, len(stored["support"]))
        assert stored["alpha"].size + stored["fold_alpha"].size <= members * q * (k + 1) * 60
    assert "intervals: Jackknife+, one row left out" in run("show", "m.npz").stdout
    (here / "folds.txt").write_text("".join(f"{i // 4 % 5}\n" for i in range(60)))
    assert run("fit", "my.csv", "-o", "f.npz", "--folds", "folds.txt", *GRID).exit_code == 0
    assert "intervals: CV+, 5 folds" in run("show", "f.npz").stdout


def test_files_without_intervals_are_refused_in_one_line(here: Path) -> None:
    """A model that was written without them, and one of classes."""
    assert run("fit", "my.csv", "-o", "m.npz", *GRID).exit_code == 0
    saved = read_model(here / "m.npz")
    write_model(here / "old.npz", replace(saved, intervals=None))
    assert read_model(here / "old.npz").intervals is None
    found = run("predict", "old.npz", "new.csv", "--interval", "0.9")
    assert "this model has no fits without a fold, which intervals need" in str(found.exception)
    found = run("predict", "m.npz", "new.csv", "--interval", "1.5")
    assert "a level between 0 and 1, such as 0.9, not 1.5" in str(found.exception)
    (here / "two.csv").write_text("a,y\n" + "".join(f"{i},{'uv'[i > 9]}\n" for i in range(20)))
    assert run("fit", "two.csv", "-o", "two.npz", *GRID, "--numeric", "a").exit_code == 0
    found = run("predict", "two.npz", "two.csv", "--interval", "0.9")
    assert "an interval is for a regression; this model predicts classes" in str(found.exception)


def test_weights_and_splits_that_are_no_folds_have_no_intervals() -> None:
    weighted = KernelSelectRegressorCV(**FAST, **GRIDS)
    weighted.fit(X[:60], Y[:60], sample_weight=np.arange(1.0, 61.0))
    with pytest.raises(ValueError, match="intervals take no weights"):
        weighted.predict(NEW, interval=0.9)
    windows = KernelSelectRegressorCV(cv=TimeSeriesSplit(3), **FAST, **GRIDS).fit(X[:60], Y[:60])
    with pytest.raises(ValueError, match="every row once"):
        windows.predict(NEW, interval=0.9)


def test_groups_stay_together_in_the_intervals_of_few_rows() -> None:
    groups = np.arange(60) // 6
    model = KernelSelectRegressorCV(**FAST, **GRIDS).fit(X[:60], Y[:60], groups=groups)
    alone = KernelSelectRegressorCV(**FAST, **GRIDS).fit(X[:60], Y[:60])
    assert model._held_out.intervals.errors.numbers.max() == 4
    assert alone._held_out.intervals.errors.numbers.max() == 59
