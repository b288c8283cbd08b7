"""Several numeric targets: one kernel and one ridge, chosen on a common scale, and predictions in own units."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from sklearn.metrics import r2_score
from sklearn.model_selection import cross_val_score

from kselect import KernelSelectRegressorCV, read_table
from kselect.cli.main import cli
from kselect.errors import KselectError
from kselect.kernels import KERNELS, Points
from kselect.numerics.folds import draw_folds, stream
from kselect.numerics.linalg import Array
from kselect.selection.model_file import read_model
from kselect.selection.page.permutation import permuted_columns

# The grids are small on purpose: the choice may lie on their boundary.
pytestmark = pytest.mark.filterwarnings("ignore::kselect.EdgeWarning")
N, NAMES = 60, ["power", "cost, eur"]
TAUS, LAMS = [0.5, 2.0, 8.0], [1e-4, 1e-2, 1.0]
GRID = ("--tau", "0.5,2,8", "--lam", "1e-4,1e-2,1", "--ensemble", "1")
BOTH = ("--target", NAMES[0], "--target", NAMES[1])


def rows(n: int = N, seed: int = 0) -> tuple[Array, Array]:
    """Return features, and two targets of very different units (n, 2)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    first = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=n)
    second = 5000.0 + 900.0 * X[:, 1] ** 2 + 90.0 * rng.normal(size=n)
    return X, np.stack([first, second], axis=1)


def model(**given: Any) -> KernelSelectRegressorCV:
    """Return an estimator with a small grid."""
    usual = {"tau": TAUS, "lam": LAMS, "criterion": "5-CV", "ensemble": 1}
    return KernelSelectRegressorCV(**{**usual, **given})


def scores_by_training(X: Array, Y: Array, learner: str, w: Array | None = None) -> Array:
    """Return the criterion by training without each fold: the mean over targets of MSE / variance."""
    w = np.ones(len(X)) if w is None else w
    mean = w @ Y / w.sum()
    variance = w @ np.square(Y - mean) / w.sum()
    found = np.zeros((len(TAUS), len(LAMS)))
    folds = draw_folds(len(X), 5, stream(0, "folds")).members
    for i, tau in enumerate(TAUS):
        K = KERNELS["gaussian"].of({"tau": tau}).gram(Points(X))
        for j, lam in enumerate(LAMS):
            held = np.empty_like(Y)
            for F in folds:
                T = np.setdiff1d(np.arange(len(X)), F)
                alpha, bias = trained(K[np.ix_(T, T)], Y[T], len(X) * lam, learner)
                held[F] = K[np.ix_(F, T)] @ alpha + bias
            found[i, j] = (w @ np.square(held - Y) / w.sum() / variance).mean()
    return found


def trained(K: Array, Y: Array, ridge: float, learner: str) -> tuple[Array, Array]:
    """Return coefficients and biases of several targets, from the normal equations."""
    n = len(K)
    H = K + ridge * np.eye(n)
    if learner == "krr":
        return np.linalg.solve(H, Y), np.zeros(Y.shape[1])
    ones = np.ones((n, 1))
    system = np.block([[H, ones], [ones.T, np.zeros((1, 1))]])
    solution = np.linalg.solve(system, np.vstack([Y, np.zeros((1, Y.shape[1]))]))
    return solution[:n], solution[n]


@pytest.mark.parametrize("learner", ["krr", "lssvm"])
def test_the_criterion_is_the_mean_over_targets_of_standard_deviation_1(learner: str) -> None:
    X, Y = rows()
    found = model(learner=learner).fit(X, Y)
    oracle = scores_by_training(X, Y, learner)
    np.testing.assert_allclose(found.criterion_path_, oracle, rtol=1e-8)
    i, j = np.unravel_index(oracle.argmin(), oracle.shape)
    assert found.best_params_ == {"tau": TAUS[i], "lam": LAMS[j]}
    assert found.best_score_ == pytest.approx(-oracle.min())
    K = KERNELS["gaussian"].of({"tau": TAUS[i]}).gram(Points(X))
    alpha, bias = trained(K, Y, N * LAMS[j], learner)
    np.testing.assert_allclose(found.predict(X), K @ alpha + bias, rtol=1e-8)
    assert found.score(X, Y) == pytest.approx(r2_score(Y, K @ alpha + bias))


@pytest.mark.parametrize(
    "more", [{}, {"ensemble": 4, "lam": "1.1^0:1.1^5"}, {"learner": "quadratic-svr"}]
)
def test_the_units_of_the_targets_change_nothing(more: dict[str, Any]) -> None:
    X, Y = rows()
    units = np.array([1e-3, 7.0])
    plain, other = model(**more).fit(X, Y), model(**more).fit(X, Y * units)
    assert plain.best_params_ == other.best_params_
    assert len(plain.members_) == len(other.members_) == more.get("ensemble", 1)
    assert plain.best_score_ == pytest.approx(other.best_score_)
    np.testing.assert_allclose(other.predict(X[:5]), plain.predict(X[:5]) * units, rtol=1e-7)
    if not more:
        given = [one.predict(X[:5], interval=0.8)[1] for one in (plain, other)]
        np.testing.assert_allclose(given[1], given[0] * units[:, None], rtol=1e-7)


def test_one_target_twice_is_one_target() -> None:
    X, Y = rows()
    one, twice = model(ensemble=3).fit(X, Y[:, 1]), model(ensemble=3).fit(X, Y[:, [1, 1]])
    assert one.best_params_ == twice.best_params_
    np.testing.assert_allclose(twice.predict(X), one.predict(X)[:, None] * [1, 1], rtol=1e-9)


def test_members_and_intervals_are_those_of_each_target() -> None:
    """At one kernel and ridge, each target has the fit and the interval that it has on its own."""
    X, Y = rows()
    point = {"tau": 2.0, "lam": 0.01}
    both = model(**point).fit(X, Y)
    values, bounds = both.predict(X[:7], interval=0.9)
    for t in range(2):
        own, ends = model(**point).fit(X, Y[:, t]).predict(X[:7], interval=0.9)
        np.testing.assert_allclose(values[:, t], own, rtol=1e-9)
        np.testing.assert_allclose(bounds[:, t], ends, rtol=1e-9)


@pytest.mark.parametrize("scoring", ["r2", "neg_mean_absolute_error"])
def test_a_scorer_sees_the_targets_in_their_units(scoring: str) -> None:
    X, Y = rows()
    cv = [(np.setdiff1d(np.arange(N), F), F) for F in np.array_split(np.arange(N), 4)]
    point = {"tau": 2.0, "lam": 0.01}
    found = model(**point, scoring=scoring, cv=cv, ridge="per-fold").fit(X, Y)
    oracle = cross_val_score(model(**point), X, Y, cv=cv, scoring=scoring)
    assert found.best_score_ == pytest.approx(oracle.mean())
    names = [f"split{k}_test_score" for k in range(4)]
    np.testing.assert_allclose([found.cv_results_[name][0] for name in names], oracle)


def test_held_out_predictions_are_in_the_units_of_the_targets() -> None:
    """A criterion without folds makes no held-out predictions: they come from a path of their own."""
    X, Y = rows()
    point = {"tau": 2.0, "lam": 0.01}
    own, other = (
        model(**point, criterion=name).fit(X, Y)._held_out.decisions for name in ("5-CV", "ELOO")
    )
    np.testing.assert_allclose(other, own, rtol=1e-9)


def test_relevances_by_permutation_are_the_means_of_the_targets() -> None:
    X, Y = rows()
    point = {"tau": 2.0, "lam": 0.01}
    fitted = [model(**point).fit(X, y)._held_out for y in (Y, Y[:, 0], Y[:, 1])]
    found = [permuted_columns(held, np.arange(3)) for held in fitted]
    both, *each = (one.drops[np.argsort(one.columns)] for one in found)
    np.testing.assert_allclose(both, np.mean(each, axis=0), rtol=1e-7)


def test_a_grid_that_grows_keeps_the_units() -> None:
    """Exact features of a linear kernel are formed again for the values beyond the end of a grid."""
    X, Y = rows()
    Y = Y[np.random.default_rng(2).permutation(N)]  # nothing to learn: the largest lam is the best
    cv = [(np.setdiff1d(np.arange(N), F), F) for F in np.array_split(np.arange(N), 4)]
    given = {"kernel": "linear", "tau": None, "scoring": "neg_mean_absolute_error", "cv": cv}
    found = model(**{**given, "lam": "auto", "ridge": "per-fold"}).fit(X, Y)
    lam = found.best_params_["lam"]
    assert lam > 10.0
    oracle = cross_val_score(
        model(**{**given, "lam": lam, "scoring": None, "cv": None}),
        X,
        Y,
        cv=cv,
        scoring=given["scoring"],
    )
    assert found.best_score_ == pytest.approx(oracle.mean())


def test_weights_are_repeated_rows() -> None:
    X, Y = rows(30)
    w = np.random.default_rng(1).integers(1, 4, 30)
    again, folds = np.repeat(np.arange(30), w), np.arange(30) % 5
    weighted = model(cv=folds).fit(X, Y, sample_weight=w)
    copies = model(cv=folds[again]).fit(X[again], Y[again])
    np.testing.assert_allclose(weighted.criterion_path_, copies.criterion_path_, rtol=1e-9)
    np.testing.assert_allclose(weighted.predict(X), copies.predict(X), rtol=1e-9)


def test_a_constant_target_in_a_part_of_the_rows() -> None:
    X, Y = rows(30)
    Y[:, 1] = 3.0
    found = model().fit(X, Y)
    assert np.isfinite(found.best_score_)
    np.testing.assert_allclose(found.predict(X)[:, 1], 3.0)


# --- on the command line --------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a table with two targets in the middle of its columns."""
    monkeypatch.chdir(tmp_path)
    X, Y = rows()
    lines = ['a,power,b,"cost, eur",c']
    lines += [
        f"{x[0]!r},{y[0]!r},{x[1]!r},{y[1]!r},{x[2]!r}"
        for x, y in zip(X.tolist(), Y.tolist(), strict=True)
    ]
    path = Path("two.csv")
    path.write_text("\n".join([*lines, ""]))
    return path


def run(*arguments: str) -> Result:
    """Run a command that succeeds."""
    found = CliRunner().invoke(cli, list(arguments))
    assert found.exit_code == 0, (found.output, found.exception)
    return found


def test_the_command_and_its_python_choose_the_same(file: Path) -> None:
    found = json.loads(run("select", str(file), *BOTH, *GRID, "--json").output)
    table = read_table(file, target=NAMES)
    assert table.y.shape == (N, 2)
    own = model().fit(table.X, table.y)
    assert found["best"]["score"] == pytest.approx(-own.best_score_)
    assert found["targets"] == NAMES
    assert np.mean(found["held_out"]["each"]) == pytest.approx(found["held_out"]["value"])
    text = run("select", str(file), *BOTH, *GRID).output
    assert "regression (2 targets: power, cost, eur)" in text
    assert "each divided by its standard deviation" in text
    python = text.partition("fit it:\n")[2]
    Path("snippet.py").write_text("\n".join(line[2:] for line in python.splitlines()))
    made = runpy.run_path("snippet.py")
    assert -made["model"].best_score_ == pytest.approx(found["best"]["score"])


def test_a_model_predicts_a_column_per_target(file: Path) -> None:
    run("fit", str(file), *BOTH, *GRID, "--test", str(file), "-o", "m.npz")
    table = read_table(file, target=NAMES)
    own = model().fit(table.X, table.y)
    Path("new.csv").write_text("c,b,a,power\n0.1,0.2,0.3,1.5\n-1,0,1,\n")
    found = run("predict", "m.npz", "new.csv", "--interval", "0.9")
    head, *lines = found.stdout.splitlines()
    ends = [f"{name} {end}" for name in NAMES for end in ("lower", "upper")]
    assert head == ",".join(f'"{name}"' if "," in name else name for name in [*NAMES, *ends])
    values = np.array([[float(v) for v in line.split(",")] for line in lines])
    X = table.preparation
    new = (np.array([[0.3, 0.2, 0.1], [1.0, 0.0, -1.0]]) - X.shift) / X.divisor
    wanted, bounds = own.predict(new, interval=0.9)
    np.testing.assert_allclose(values[:, :2], wanted, rtol=1e-9)
    np.testing.assert_allclose(values[:, 2:], bounds.reshape(2, 4), rtol=1e-9)
    assert "power: root mean square error" in found.stderr
    assert "cost" not in found.stderr
    shown = run("show", "m.npz").output
    assert "targets: power, cost, eur" in shown
    assert read_model(Path("m.npz")).preparation.schema.targets == tuple(NAMES)


def test_evaluate_scores_each_target(file: Path) -> None:
    run("fit", str(file), *BOTH, *GRID, "-o", "m.npz")
    table = read_table(file, target=NAMES)
    predicted = model().fit(table.X, table.y).predict(table.X)
    found = json.loads(run("evaluate", "m.npz", str(file), "--json").output)
    each = r2_score(table.y, predicted, multioutput="raw_values")
    assert [found["targets"][name]["r2"] for name in NAMES] == pytest.approx(each.tolist())
    assert found["r2_mean_over_targets"] == pytest.approx(each.mean())
    lines = run("evaluate", "m.npz", str(file)).output.splitlines()
    assert lines[0] == f"{N} rows with a target"
    assert [line for line in lines if line.startswith("target")] == [f"target {n}" for n in NAMES]
    Path("one.csv").write_text('a,b,c,"cost, eur"\n0,0,0,5000\n1,1,1,\n2,2,2,5900\n')
    only = json.loads(run("evaluate", "m.npz", "one.csv", "--json").output)
    assert (only["rows"], list(only["targets"])) == (2, ["cost, eur"])


def test_a_comparison_holds_all_targets_out(file: Path) -> None:
    given = ("select", str(file), *BOTH, *GRID, "--compare", "5-CV,ELOO")
    found = json.loads(run(*given, "--json").output)
    for one in found["criteria"]:
        assert np.mean(one["outer"]["each"]) == pytest.approx(one["outer"]["value"])
    assert "ELOO: R2 of power 0." in run(*given).output


@pytest.mark.parametrize(
    ("column", "flags", "said"),
    [
        (["x", "y"], (), "two.csv:2: the target t: 'x' is not a number; several targets are"),
        (["1", "0"], (), "the target t: its 2 values look like classes"),
        (["1", "0"], ("--task", "classification"), "several targets are learned as numbers only: name one"),
        (["7", "7"], (), "the target t: it has only one value (7): nothing to learn"),
        (["1", "inf"], ("--task", "regression"), "two.csv:3: the target t: 'inf' is not a finite number"),
        (["1.5", ""], (), "no row has a value of every target"),
        (["1", "0"], ("--drop", "t"), "column t is a target: it is no feature"),
        (["1", "0"], ("--backend", "dask", "--nystrom", "3"), "--backend dask learns one target"),
    ],
)  # fmt: skip
def test_what_is_not_several_numbers_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, column: list[str], flags: Any, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    other = ["", "2.5"] if column[1] == "" else ["2.5", "3.5"]
    pairs = (
        f"{i},{column[i % 2]},{other[i % 2]}{i % 7 if other[i % 2] else ''}" for i in range(20)
    )
    Path("two.csv").write_text("\n".join(["x,t,u", *pairs, ""]))
    asked = ["select", "two.csv", "--target", "t", "--target", "u", *flags]
    found = CliRunner().invoke(cli, asked)
    assert isinstance(found.exception, KselectError), found.output
    assert said in str(found.exception)
    assert "\n" not in str(found.exception)


def test_numbers_that_look_like_classes_are_learned_if_asked(file: Path) -> None:
    text = file.read_text().splitlines()
    lines = [text[0] + ",level", *(f"{line},{i % 3}" for i, line in enumerate(text[1:]))]
    file.write_text("\n".join([*lines, ""]))
    more = ("--target", "level", "--target", "1", "--task", "regression")
    found = json.loads(run("select", str(file), *more, *GRID, "--json").output)
    assert found["targets"] == ["level", "a"]
    assert found["features"] == ["power", "b", "cost, eur", "c"]
