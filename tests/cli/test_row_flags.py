"""Flags about rows: weights, classes, groups, time, repeats, stratified folds, test rows; and ``evaluate``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from kselect import KernelSelectClassifierCV, KernelSelectRegressorCV, read_table
from kselect.cli.main import cli
from kselect.numerics.folds import draw_folds, stream

# Few candidates have edges.
pytestmark = pytest.mark.filterwarnings("ignore::kselect.EdgeWarning")
N = 60
GRID = ("--tau", "1,4", "--lam", "0.001,0.1", "--ensemble", "1")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a table with prices, and one with classes, in the current folder."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=N)
    for name, target in (
        ("shops", [f"{v:.6f}" for v in y]),
        ("late", np.where(y > 0.9, "late", "fine")),
    ):
        lines = ["a,b,count,shop,day,y"]
        for i, (one, last) in enumerate(zip(X.tolist(), target, strict=True)):
            day = f"2024-{1 + i * 7 % 12:02}-{1 + i % 28:02}"
            lines.append(f"{one[0]:.6f},{one[1]:.6f},{i % 4},shop {i % 11},{day},{last}")
        Path(f"{name}.csv").write_text("\n".join(lines) + "\n")


def run(*arguments: str) -> Result:
    """Run a command that succeeds."""
    result = CliRunner().invoke(cli, list(arguments))
    assert result.exit_code == 0, (result.output, result.exception)
    return result


def refused(*arguments: str) -> str:
    """Return the error of a command."""
    result = CliRunner().invoke(cli, list(arguments))
    assert result.exit_code != 0, result.output
    return str(result.exception)


def dropped(*used: str) -> list[str]:
    """Return the flags that drop the columns that are not used."""
    return [
        part for name in ("count", "shop", "day") if name not in used for part in ("--drop", name)
    ]


def selected(file: str, *flags: str, used: tuple[str, ...] = ()) -> Any:
    """Return the JSON object of ``select``."""
    return json.loads(run("select", f"{file}.csv", *GRID, *dropped(*used), *flags, "--json").output)


def estimated(file: str, *, used: tuple[str, ...] = (), **given: Any) -> Any:
    """Return the score of the same candidate by an estimator; ``given`` goes to it or to its fit."""
    form = KernelSelectRegressorCV if file == "shops" else KernelSelectClassifierCV
    table = read_table(
        f"{file}.csv",
        drop=[n for n in ("count", "shop", "day") if n not in used],
        **given.pop("table", {}),
    )
    weights = table.weights
    cv = given.pop("cv", lambda _: None)(table)
    model = form(tau="1,4", lam="0.001,0.1", ensemble=1, cv=cv, **given)
    return -model.fit(table.X, table.y, sample_weight=weights).best_score_


CASES: list[tuple[str, tuple[str, ...], tuple[str, ...], dict[str, Any]]] = [
    ("shops", ("--weights", "count"), ("count",), {"table": {"weights": "count"}}),
    ("late", ("--class-weight", "balanced"), (), {"class_weight": "balanced"}),
    ("late", ("--class-weight", "late=3"), (), {"class_weight": {"late": 3.0}}),
    (
        "shops",
        ("--groups", "shop"),
        ("shop",),
        {"table": {"groups": "shop"}, "cv": lambda table: table.splits()},
    ),
    (
        "shops",
        ("--time", "day", "--criterion", "3-CV"),
        ("day",),
        {"table": {"time": "day"}, "criterion": "3-CV", "cv": lambda table: table.splits(3)},
    ),
    ("shops", ("--repeats", "3"), (), {"cv": lambda table: table.splits(repeats=3)}),
    ("late", ("--stratify",), (), {"cv": lambda table: table.splits(stratify=True)}),
    (
        "late",
        ("--groups", "shop", "--stratify", "--repeats", "2", "--weights", "count"),
        ("shop", "count"),
        {
            "table": {"groups": "shop", "weights": "count"},
            "cv": lambda table: table.splits(repeats=2, stratify=True),
        },
    ),
]


@pytest.mark.parametrize(("file", "flags", "used", "given"), CASES, ids=lambda one: str(one)[:30])
def test_every_flag_changes_the_score_as_the_estimator_does(
    file: str, flags: tuple[str, ...], used: tuple[str, ...], given: dict[str, Any]
) -> None:
    found = selected(file, *flags, used=used)
    assert found["best"]["score"] == pytest.approx(estimated(file, used=used, **given), rel=1e-9)
    usual = selected(file, *(("--criterion", "3-CV") if "3-CV" in flags else ()))
    assert found["best"]["score"] != pytest.approx(usual["best"]["score"], rel=1e-4)
    asked = {name[2:].replace("-", "_") for name in flags if name.startswith("--")} - {"criterion"}
    assert set(found["rows"]) == asked


@pytest.mark.parametrize(("file", "flags", "used", "given"), CASES, ids=lambda one: str(one)[:30])
def test_the_printed_python_repeats_the_score(
    file: str,
    flags: tuple[str, ...],
    used: tuple[str, ...],
    given: dict[str, Any],
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = run("select", f"{file}.csv", *GRID, *dropped(*used), *flags).output
    code = text[text.index("fit it:\n") + 8 :]
    exec(compile("\n".join(line[2:] for line in code.splitlines()), "printed", "exec"), {})
    printed = float(capsys.readouterr().out)
    wanted = float(code.rpartition("# ")[2])
    assert printed == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize(("file", "flags", "used", "given"), CASES, ids=lambda one: str(one)[:30])
def test_fit_and_compare_take_the_flags(
    file: str, flags: tuple[str, ...], used: tuple[str, ...], given: dict[str, Any]
) -> None:
    more = (*GRID, *dropped(*used), *flags)
    found = selected(file, *flags, used=used)
    text = run("fit", f"{file}.csv", *more, "-o", "model.npz").output
    assert f"score {found['best']['score']:.6g}" in text
    assert run("predict", "model.npz", f"{file}.csv").stdout.count("\n") == N + 1
    label = "3-CV" if "3-CV" in flags else "5-CV"
    compared = json.loads(run("select", f"{file}.csv", *more, "--compare", label, "--json").output)
    assert compared["rows"] == found["rows"]
    assert compared["criteria"][0]["best"]["score"] == pytest.approx(
        found["best"]["score"], rel=1e-9
    )
    usual = ("select", f"{file}.csv", *GRID, *dropped(), "--compare", label, "--json")
    other = json.loads(run(*usual).output)["criteria"][0]
    if "--repeats" not in flags:  # repeats are for the criterion, not for the outer folds
        assert compared["criteria"][0]["outer"]["value"] != other["outer"]["value"]


def test_the_output_says_what_holds_for_the_rows() -> None:
    flags = ("--weights", "count", "--groups", "shop", "--class-weight", "balanced", "--stratify")
    lines = run("select", "late.csv", *GRID, "--drop", "day", "--repeats", "2", *flags).output
    for said in (
        "dropped 15 of 60 rows with the weight 0",
        "rows weigh as column count says",
        "class weights: balanced",
        "rows with the same shop stay in one fold",
        "every fold has the same share of each class",
        "the criterion is the mean over 2 partitions into folds",
        "balanced accuracy",
    ):
        assert said in lines
    run("fit", "late.csv", *GRID, *dropped("count"), "--weights", "count", "-o", "model.npz")
    assert "rows weigh as column count says" in run("show", "model.npz").output
    timed = run("select", "shops.csv", *GRID, *dropped("day"), "--time", "day").output
    assert "rows are tested by fits on rows with an earlier day" in timed


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--groups", "shop", "--folds", "f.txt"), "--folds says which rows are held out"),
        (("--time", "day", "--groups", "shop"), "--time orders the rows: leave out --groups"),
        (("--time", "day", "--repeats", "2"), "--time orders the rows: leave out --repeats"),
        (("--backend", "dask", "--nystrom", "9", "--weights", "count"), "leave out --weights"),
        (("--groups", "shop", "--criterion", "ELOO"), "ELOO has no folds: leave out groups"),
        (("--time", "day", "--criterion", "BIF-5-CV"), "needs folds that partition the rows"),
        (("--weights", "count", "--criterion", "GCV"), "GCV has no form for weights"),
        (("--class-weight", "balanced"), "class weights are for classification"),
        (("--stratify",), "stratify shares out classes; this is a regression"),
        (("--groups", "shop", "--criterion", "12-CV"), "12 folds need at least 12 groups, not 11"),
        (("--compare", "5-CV", "--test", "late.csv"), "outer folds: leave out --test"),
        (("--weights", "shop"), "column shop: 'shop 0' is not a finite number"),
    ],
)
def test_flags_that_do_not_fit_are_refused_in_one_line(flags: tuple[str, ...], said: str) -> None:
    grid = () if "ard" in flags else ("--tau", "1", "--lam", "0.1")
    found = refused("select", "shops.csv", *grid, *flags)
    assert said in found
    assert "\n" not in found


def test_a_model_with_weights_says_why_it_has_no_intervals() -> None:
    run("fit", "shops.csv", *GRID, *dropped("count"), "--weights", "count", "-o", "model.npz")
    found = refused("predict", "model.npz", "shops.csv", "--interval", "0.9")
    assert found.startswith("intervals take no weights: CV+ counts the held-out error of each row")
    assert "weight" not in run("predict", "model.npz", "shops.csv").stderr


def test_usual_criteria_without_a_form_are_left_out_of_a_comparison() -> None:
    one = ("select", "late.csv", "--tau", "1", "--lam", "0.1", *dropped("count", "day"))
    weighted = json.loads(
        run(*one, "--drop", "day", "--compare", "--weights", "count", "--json").output
    )
    assert [c["criterion"] for c in weighted["criteria"]] == ["5-CV", "10-CV", "ELOO"]
    timed = json.loads(run(*one, "--drop", "count", "--compare", "--time", "day", "--json").output)
    assert "5-KS" in [c["criterion"] for c in timed["criteria"]]


def test_contenders_hold_groups_together(monkeypatch: pytest.MonkeyPatch) -> None:
    import kselect.selection.contenders as contenders

    asked: list[Any] = []

    def noted(X: Any, *, seed: int, jobs: int, cv: Any = None, weighted: bool = False) -> Any:
        asked.append(cv)
        return contenders.ridge_regression(X, seed=seed, jobs=jobs, cv=cv)

    monkeypatch.setattr(contenders, "makers", lambda task: {"ridge regression": noted})
    more = (*GRID, *dropped("shop"), "--compare", "5-CV", "--contenders", "--json")
    found = json.loads(run("select", "shops.csv", *more, "--groups", "shop").output)
    assert "difference" in found["contenders"][0]
    assert len(asked) == 7
    assert all(len(pairs) == 5 for pairs in asked[1:])


def halves(name: str = "late") -> None:
    """Write the first forty rows and the other twenty to files of their own."""
    head, *lines = Path(f"{name}.csv").read_text().splitlines()
    Path("train.csv").write_text("\n".join([head, *lines[:40], ""]))
    Path("test.csv").write_text("\n".join([head, *lines[40:], ""]))


@pytest.mark.parametrize("name", ["late", "shops"])
def test_test_rows_are_kept_out_and_scored_at_the_end(name: str) -> None:
    halves(name)
    flags = (*GRID, *dropped())
    alone = json.loads(run("select", "train.csv", *flags, "--json").output)
    found = json.loads(run("select", "train.csv", *flags, "--test", "test.csv", "--json").output)
    assert found["best"] == alone["best"]
    run("fit", "train.csv", *flags, "-o", "model.npz")
    scored = json.loads(run("evaluate", "model.npz", "test.csv", "--json").output)
    assert found["test"] == pytest.approx(scored)  # one search is the grid, the other has bounds
    assert scored["rows"] == 20
    text = run("fit", "train.csv", *flags, "--test", "test.csv", "-o", "model.npz").output
    measure = "accuracy" if name == "late" else "R2"
    assert f"test: {measure} {scored[measure.lower()]:.4g}" in text


def test_evaluate_prints_one_line_per_measure_and_weighs_rows() -> None:
    halves()
    run("fit", "train.csv", *GRID, *dropped(), "-o", "model.npz")
    lines = run("evaluate", "model.npz", "test.csv").output.splitlines()
    assert lines[0] == "20 rows with a target"
    assert [line.split("  ")[0] for line in lines[1:]] == [
        "accuracy",
        "accuracy of the most frequent class",
        "balanced accuracy",
        "F1, mean over classes",
        "ROC AUC",
        "log loss",
    ]
    plain = json.loads(run("evaluate", "model.npz", "test.csv", "--json").output)
    weighted = run("evaluate", "model.npz", "test.csv", "--weights", "count", "--json").output
    assert json.loads(weighted)["rows"] == 15
    assert json.loads(weighted)["log_loss"] != plain["log_loss"]
    Path("bare.csv").write_text("a,b\n1,2\n")
    assert refused("evaluate", "model.npz", "bare.csv") == (
        "bare.csv: no row has a target to compare the predictions with"
    )
    Path("case.csv").write_text("a,b,Y\n1,2,3\n")
    hint = "; rename 'Y', which differs from 'y' in case only"
    assert refused("evaluate", "model.npz", "case.csv") == (
        f"case.csv: no row has a target to compare the predictions with{hint}"
    )
    note = f"note: predictions are not compared with the target{hint}"
    assert note in run("predict", "model.npz", "case.csv").stderr.splitlines()
    assert "no column 'weight' for --weights" in refused(
        "evaluate", "model.npz", "test.csv", "--weights", "weight"
    )


def test_plain_folds_are_drawn_as_before() -> None:
    """Without a flag, the folds of a seed are those that they always were."""
    table = read_table("shops.csv", drop=["count", "shop", "day"])
    wanted = draw_folds(N, 4, stream(7, "folds"))
    for (_, test), F in zip(table.splits(4, random_state=7), wanted.members, strict=True):
        np.testing.assert_array_equal(test, F)
