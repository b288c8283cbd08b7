"""``kselect select`` as users type it: its output, errors and imports; hostile files and grids."""

from __future__ import annotations

import bz2
import hashlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from experiments import kselect_in, started_in
from problems import scale_rows
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, PredefinedSplit

import kselect.selection.refusals as selection
from kselect.cli.main import cli, main
from kselect.grids import show_number
from kselect.numerics.folds import draw_folds, stream

N = 40
GRID = ("--tau", "0.5,2,8", "--lam", "0.001,0.01,0.1")
FOLDS = [i % 3 if i < 12 else i % 5 for i in range(N)]


def make(classes: int = 2, n: int = N) -> tuple[Any, Any]:
    """Return features, the second on another scale and the third constant, and a target."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(n, 3)) * [1, 20, 0] + [0, 3, 1]
    signal = X[:, 0] + 0.05 * X[:, 1] + 0.3 * rng.normal(size=n)
    if not classes:
        return X, signal
    codes = np.argsort(np.argsort(signal)) * classes // n
    return X, codes if classes != 2 else 2 * codes - 1


def save(folder: Path, X: Any, y: Any, name: str = "my.csv") -> Path:
    """Write a CSV file."""
    rows = [",".join([*map(repr, row), str(t)]) for row, t in zip(X.tolist(), y, strict=True)]
    path = folder / name
    path.write_text("\n".join(["a,b,c,y", *rows]) + "\n")
    return path


class Here:
    """Run the command in this process as a user would, in the folder of a test."""

    def __init__(self, patch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str]) -> None:
        self.patch, self.capture = patch, capture

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        self.patch.setattr(sys, "argv", ["kselect", "select", *arguments])
        with pytest.raises(SystemExit) as stop:
            main()
        out, err = self.capture.readouterr()
        return int(str(stop.value.code)), out, err

    def says(self, *arguments: str) -> str:
        """Return the output of a command that succeeds."""
        status, out, err = self(*arguments)
        assert (status, err) == (0, "")
        return out

    def object(self, *arguments: str) -> Any:
        """Return the JSON of a command that succeeds; NaN and Infinity are not allowed."""
        return strict(self.says(*arguments, "--json"))

    def refuses(self, *arguments: str) -> str:
        """Return the single error line of a command that fails."""
        status, out, err = self(*arguments)
        assert (status, out) == (2, "")
        (line,) = err.splitlines()
        assert line.startswith("error: ")
        return line.removeprefix("error: ")


def strict(text: str) -> Any:
    """Parse JSON without Python's extensions."""

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    return json.loads(text, parse_constant=refuse)


@pytest.fixture
def here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Here:
    """Return the command in a folder with two classes, a regression, and fold numbers."""
    monkeypatch.chdir(tmp_path)
    save(tmp_path, *make())
    save(tmp_path, *make(0), "numbers.csv")
    (tmp_path / "folds.txt").write_text("\n".join(map(str, FOLDS)) + "\n")
    return Here(monkeypatch, capsys)


def matrix(found: Any) -> Any:
    """Return the scores of the JSON object, kernels by ridges."""
    return np.array([s["score"] for s in found["scores"]]).reshape(-1, 3)


# --- scores -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", ["my.csv", "numbers.csv"])
@pytest.mark.parametrize("average", ["points", "folds"])
def test_krr_scores_equal_those_of_scikit_learn(here: Here, file: str, average: str) -> None:
    X, y = make(2 if file == "my.csv" else 0)
    found = here.object(
        file, "--learner", "krr", "--folds", "folds.txt", "--scale", "none", *GRID,
        "--param", f"average={average}",
    )  # fmt: skip
    search = GridSearchCV(
        KernelRidge(kernel="rbf"),
        {"alpha": [N * lam for lam in (0.001, 0.01, 0.1)], "gamma": [1.0, 0.25, 1 / 16]},
        scoring="neg_mean_squared_error",
        cv=PredefinedSplit(FOLDS),
    ).fit(X, y)
    table = search.cv_results_
    theirs = -table["mean_test_score"].reshape(3, 3).T
    if average == "points":
        splits = np.array([-table[f"split{k}_test_score"] for k in range(5)])
        theirs = (np.bincount(FOLDS) @ splits / N).reshape(3, 3).T
    else:
        assert search.best_params_["alpha"] == pytest.approx(N * found["best"]["lam"])
        assert search.best_params_["gamma"] == 1 / (2 * found["best"]["tau"])
    np.testing.assert_allclose(matrix(found), theirs, rtol=1e-8)


def test_a_separate_process_prints_the_same_object(here: Here, tmp_path: Path) -> None:
    arguments = ("my.csv", "--folds", "folds.txt", *GRID)
    run = kselect_in(tmp_path, "select", *arguments, "--json")
    assert (run.returncode, run.stderr) == (0, "")
    mine, theirs = here.object(*arguments), strict(run.stdout)
    for found in (mine, theirs):
        assert found.pop("seconds") > 0
        assert found.pop("seconds_fit") >= 0
    assert mine == theirs


def test_the_object(here: Here, tmp_path: Path) -> None:
    found = here.object("my.csv", *GRID)
    assert {
        "criterion", "n", "best", "scores", "seconds", "seconds_fit", "data_sha256",
    } <= set(found)  # fmt: skip
    assert (found["criterion"], found["n"]) == ("5-CV", N)
    assert [set(s) for s in found["scores"]] == [{"kernel", "tau", "lam", "score"}] * 9
    assert found["best"] == min(found["scores"], key=lambda s: s["score"])
    digest = hashlib.sha256((tmp_path / "my.csv").read_bytes()).hexdigest()
    assert found["data_sha256"] == digest
    assert (found["task"], found["classes"]) == ("classification", ["-1", "1"])


def test_a_candidate_without_a_finite_score_is_null(here: Here, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = 30 * rng.normal(size=(60, 20))
    X[30:35] = X[:5]
    rows = [",".join(map(repr, [*row, float(row[0] > 0)])) for row in X.tolist()]
    (tmp_path / "wide.csv").write_text("\n".join(rows))
    arguments = ("wide.csv", "--kernel", "polynomial", "--scale", "none", "--learner", "krr")
    found = here.object(*arguments)
    assert None in [s["score"] for s in found["scores"]]
    assert found["best"]["score"] is not None
    assert "-" in here.says(*arguments).split()


def test_threads_do_not_change_the_scores(here: Here) -> None:
    one, two = (here.object("my.csv", "-j", jobs, *GRID) for jobs in "12")
    assert one["scores"] == two["scores"]


def test_the_seed_determines_the_folds(here: Here, tmp_path: Path) -> None:
    paths = [here.object("my.csv", "--seed", s, *GRID)["scores"] for s in ("0", "0", "1")]
    assert paths[0] == paths[1] != paths[2]
    assert here.object("my.csv", *GRID)["scores"] == paths[0]
    numbers = np.empty(N, dtype=int)
    for k, F in enumerate(draw_folds(N, 5, stream(1, "folds")).members):
        numbers[F] = k
    (tmp_path / "drawn").write_text("\n".join(map(str, numbers)))
    assert here.object("my.csv", "--folds", "drawn", *GRID)["scores"] == paths[2]


def test_fold_numbers_from_0_or_1(here: Here, tmp_path: Path) -> None:
    (tmp_path / "ones").write_bytes(
        "\ufeff".encode() + "\r\n".join(str(k + 1) for k in FOLDS).encode()
    )
    a, b = (here.object("my.csv", "--folds", f, *GRID)["scores"] for f in ("folds.txt", "ones"))
    assert a == b


@pytest.mark.parametrize("scale", ["zscore", "minmax", "none"])
def test_scale(here: Here, tmp_path: Path, scale: Any) -> None:
    X, y = make()
    save(tmp_path, scale_rows(X, scale, X), y, "scaled.csv")
    expected = matrix(here.object("scaled.csv", "--scale", "none", *GRID))
    found = here.object("my.csv", "--scale", scale, *GRID)
    np.testing.assert_allclose(matrix(found), expected, rtol=1e-9)
    assert found["scale"] == scale


def test_scales_differ(here: Here) -> None:
    paths = [
        here.object("my.csv", "--scale", s, *GRID)["scores"] for s in ("zscore", "minmax", "none")
    ]
    assert paths[0] != paths[1] != paths[2] != paths[0]


@pytest.mark.parametrize(
    "change",
    [
        ("--ridge", "per-fold"),
        ("--loss", "zero-one"),
        ("--loss", "hinge"),
        ("--learner", "krr"),
        ("--criterion", "4-CV"),
        ("--criterion", "5-KS"),
        ("--nystrom", "5"),
    ],
    ids=" ".join,
)
def test_every_flag_changes_the_scores(here: Here, change: tuple[str, str]) -> None:
    assert here.object("my.csv", *GRID, *change)["scores"] != here.object("my.csv", *GRID)["scores"]


def test_parameters(here: Here) -> None:
    """--param sets a criterion's own parameters, and the JSON object repeats them."""
    a, b = (
        here.object("my.csv", "--criterion", "5-KS", "--param", f"eta={eta}", *GRID)
        for eta in ("0", "0.5")
    )
    assert (matrix(b) > matrix(a)).all()
    assert b["params"] == {"average": "folds", "eta": 0.5, "loss": "squared"}
    error = here.object("my.csv", "--criterion", "ELOO", "--param", "form=error", *GRID)
    assert set(np.round(matrix(error).ravel() * N, 9)) <= set(range(N + 1))


def test_many_classes(here: Here, tmp_path: Path) -> None:
    """The score of several classes is the mean over one against the rest, for names and for numbers."""
    X, y = make(3)
    save(tmp_path, X, y, "three.csv")
    save(tmp_path, X, [("red", "green", "blue")[c] for c in y], "text.csv")
    numbers, text = (
        here.object("three.csv", "--task", "classification", *GRID),
        here.object("text.csv", *GRID),
    )
    np.testing.assert_allclose(matrix(numbers), matrix(text), rtol=1e-12)
    assert (numbers["classes"], text["classes"]) == (["0", "1", "2"], ["blue", "green", "red"])
    alone = []
    for c in range(3):
        save(tmp_path, X, np.where(y == c, 1, -1), "one.csv")
        alone.append(matrix(here.object("one.csv", *GRID)))
    np.testing.assert_allclose(matrix(numbers), np.mean(alone, axis=0), rtol=1e-12)


def test_targets_by_name_and_number(here: Here) -> None:
    paths = [here.object("my.csv", "--target", t, *GRID)["scores"] for t in ("y", "4", "b", "2")]
    assert paths[0] == paths[1] == here.object("my.csv", *GRID)["scores"]
    assert paths[2] == paths[3] != paths[0]


def test_svmlight_and_bz2(here: Here, tmp_path: Path) -> None:
    X, y = make()
    text = "".join(
        f"{t} " + " ".join(f"{i}:{v!r}" for i, v in enumerate(row, 1)) + "\n"
        for t, row in zip(y, X.tolist(), strict=True)
    )
    (tmp_path / "my.svm").write_text(text)
    (tmp_path / "my.svm.bz2").write_bytes(bz2.compress(text.encode()))
    (tmp_path / "my.csv.bz2").write_bytes(bz2.compress((tmp_path / "my.csv").read_bytes()))
    expected = here.object("my.csv", *GRID)["scores"]
    for name in ("my.svm", "my.svm.bz2", "my.csv.bz2"):
        assert here.object(name, *GRID)["scores"] == expected


# --- text output ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "more", "said"),
    [
        ("my.csv", (), "40 rows, 3 features, classification (the target has two values); classes -1, 1"),
        ("numbers.csv", (), "40 rows, 3 features, regression (the target has 40 values)"),
        ("my.csv", ("--task", "regression"), "40 rows, 3 features, regression (as asked for)"),
    ],
)  # fmt: skip
def test_the_first_line_states_the_task(
    here: Here, file: str, more: tuple[str, ...], said: str
) -> None:
    assert here.says(file, *GRID, *more).splitlines()[0] == said


def test_the_table(here: Here) -> None:
    found = here.object("my.csv", *GRID)
    text = here.says("my.csv", *GRID, "--search", "grid")
    lines = text.splitlines()
    first = next(i for i, line in enumerate(lines) if line.split()[:1] == ["lam"])
    assert lines[first].split() == ["lam", "0.001", "0.01", "0.1"]
    table = [line.split() for line in lines[first + 1 : first + 4]]
    assert [row[0] for row in table] == ["tau=0.5", "tau=2", "tau=8"]
    cells = [cell for row in table for cell in row[1:]]
    assert [c.strip("[]") for c in cells] == [f"{s['score']:.4g}" for s in found["scores"]]
    best = found["best"]
    (marked,) = [s for s, c in zip(found["scores"], cells, strict=True) if c[0] == "["]
    assert marked == best
    assert (
        f"choice: tau = {show_number(best['tau'])}, lam = {show_number(best['lam'])} "
        f"(ridge n lam = {N * best['lam']:.4g}), score {best['score']:.6g} (squared loss)"
    ) in lines
    assert sum(" s for 9 candidates, including the fit" in line for line in lines) == 1


@pytest.mark.parametrize(
    ("tau", "lam", "warnings"),
    [
        ("1000,2000", "0.01", 1),
        ("2", "0.01", 0),
        ("1000,2000", "100,200", 2),
        ("2", "100,200", 1),
        ("2^-6:2^12", "10^-9:10^3", 0),
    ],
)
def test_warnings_for_a_choice_on_the_grid_boundary(
    here: Here, tau: str, lam: str, warnings: int
) -> None:
    arguments = ("my.csv", "--tau", tau, "--lam", lam)
    text, found = here.says(*arguments), here.object(*arguments)
    said = [line.removeprefix("warning: ") for line in text.splitlines() if "warning" in line]
    assert len(said) == warnings
    assert said == found["warnings"]


def test_one_feature_is_singular(here: Here, tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("".join(f"{i},{i * i % 7}\n" for i in range(20)))
    assert here.says("one.csv", *GRID).startswith("20 rows, 1 feature, ")


@pytest.mark.parametrize("name", ["a.png", "a.pdf"])
def test_plot(here: Here, tmp_path: Path, name: str) -> None:
    here.object("my.csv", "--plot", name, *GRID)
    assert (tmp_path / name).read_bytes()[:4] in (b"\x89PNG", b"%PDF")


# --- errors -----------------------------------------------------------------------------------------

TEN = "".join(f"{i},{i * i % 7},{i % 2}\n" for i in range(10))
FILES = {
    "empty.csv": "",
    "empty.svm": "",
    "header.csv": "a,b,y\n",
    "one-class.csv": "a,b,y\n" + TEN.replace(",0\n", ",1\n"),
    "text.csv": "a,b,y\n" + TEN.replace(",0\n", ",no\n").replace(",1\n", ",yes\n"),
    "mixed.csv": "a,b,y\n" + TEN + "1,2,no\n",
    "few.csv": "a,b,y\n1,2,0\n3,4,1\n5,6,1\n",
    "duplicated.svm": "1 1:1 2:1\n0 1:1 1:2\n",
    "unsorted.svm": "1 1:1 2:1\n0 2:1 1:2\n",
    "infinite.csv": "a,b,y\n" + TEN + "1,inf,0\n",
    "nan.csv": "a,b,y\n" + TEN + "nan,1,0\n",
    "infinite-target.csv": "a,b,y\n" + TEN + "1,1,inf\n",
    "missing.csv": "a,b,y\n" + TEN + "1,,0\n",
    "missing-target.csv": "a,b,y\n" + TEN + "1,1,\n",
    "ragged.csv": "a,b,y\n" + TEN + "1,0\n",
    "text-feature.csv": "a,b,y\n" + TEN + "1,red,0\n",
    "huge.csv": "a,y\n" + "".join(f"{i}e200,{i}\n" for i in range(1, 9)),
    "huge-target.csv": "a,y\n" + "".join(f"{i},{i}e200\n" for i in range(1, 9)),
    "binary.csv": bytes(range(256)),
    "binary": bytes(range(256)),
    "short.folds": "0\n1\n2\n3\n4\n",
    "gap.folds": "".join(f"{i % 4}\n" for i in range(N)),
    "inner.folds": "".join(f"{(i % 4) + (i % 4 > 1)}\n" for i in range(N)),
    "many.folds": "".join(f"{i % 6}\n" for i in range(N)),
    "text.folds": "0\n1\nred\n",
    "half.folds": "0\n0.5\n",
    "negative.folds": "0\n-1\n",
    "large.folds": "0\n1\n" + "9" * 30 + "\n",
    "empty.folds": "\n\n",
}  # fmt: skip

REFUSED = [
    ("empty.csv", "empty.csv: no rows"),
    ("empty.svm", "empty.svm:1: no examples in the file"),
    ("header.csv", "header.csv: a header and no rows"),
    ("one-class.csv", "one-class.csv: the target has only one value (1): nothing to learn"),
    ("text.csv --task regression", "text.csv:2: the target 'no' is not a finite number"),
    ("mixed.csv", "mixed.csv:12: the target 'no' is not a number, but '0' in line 2 is"),
    ("mixed.csv --task regression", "mixed.csv:12: the target 'no' is not a finite number"),
    ("few.csv", "few.csv: 5 folds need at least 5 rows, not 3"),
    ("few.csv --criterion 4-KS", "few.csv: 4 folds need at least 4 rows, not 3"),
    ("duplicated.svm", "duplicated.svm:2: duplicated index: '1:2'"),
    ("unsorted.svm", "unsorted.svm:2: indices not ascending: '1:2'"),
    ("infinite.csv", "infinite.csv:12: column b: 'inf' is not a finite number"),
    ("nan.csv --missing error", "nan.csv:12: column a: is missing"),
    ("infinite-target.csv", "infinite-target.csv:12: the target 'inf' is not a finite number"),
    ("missing.csv --missing error", "missing.csv:12: column b: is missing"),
    ("my.csv --drop d", "my.csv: no column 'd' to drop; valid: a, b, c, y"),
    ("my.csv --drop y", "my.csv: column y is the target: it is no feature"),
    ("my.csv --drop a --numeric a", "my.csv: column a is dropped: it is neither categorical nor numeric"),
    ("my.csv --categorical a --numeric a", "my.csv: column a is asked to be categorical and numeric"),
    ("my.csv --missing no", "invalid value for '--missing'"),
    ("ragged.csv", "ragged.csv:12: 2 columns where the first line has 3"),
    ("text-feature.csv", "text-feature.csv:12: column b: 'red' is not a finite number"),
    ("huge.csv --scale none", "the features are too large"),
    ("huge-target.csv", "no kernel and ridge has a finite score; at tau="),
    ("binary.csv", r"binary.csv:1: not a text: it holds the character '\x00'"),
    ("binary", r"binary:1: not a text: it holds the character '\x00'"),
    (".", ".: a directory without Parquet files"),
    ("nowhere.csv", "nowhere.csv: No such file or directory"),
    ("my.csv --folds short.folds", "short.folds: 5 fold numbers for 40 rows"),
    ("my.csv --folds gap.folds", "gap.folds: 5-CV has 5 folds, but no row is in fold 4"),
    ("my.csv --folds inner.folds", "inner.folds: 5-CV has 5 folds, but no row is in fold 2"),
    ("my.csv --folds many.folds", "many.folds: 5-CV takes fold numbers 0 to 4, or 1 to 5; 5 is not one"),
    ("my.csv --folds text.folds", "text.folds:3: 'red' is not a fold number (0, 1, 2, ...)"),
    ("my.csv --folds half.folds", "half.folds:2: '0.5' is not a fold number"),
    ("my.csv --folds negative.folds", "negative.folds:2: '-1' is not a fold number"),
    ("my.csv --folds large.folds", "large.folds:3: '999999999999999999999999999999' is not"),
    ("my.csv --folds empty.folds", "empty.folds: no fold numbers"),
    ("my.csv --folds nowhere", "nowhere: No such file or directory"),
    ("my.csv --folds .", ".: Is a directory"),
    ("my.csv --folds binary", "binary: not UTF-8 text"),
    ("my.csv --folds folds.txt --criterion ELOO", "folds.txt: ELOO has no folds: leave them out"),
    ("my.csv --target aa", "my.csv: no column 'aa' for the target; did you mean 'a'?"),
    ("my.csv --target 5", "my.csv: no column '5' for the target; valid: a, b, c, y"),
    ("my.csv --learner lsvm", "unknown learner 'lsvm'; did you mean 'lssvm'?"),
    ("my.csv --criterion 5-XV", "unknown criterion '5-XV'; did you mean '5-CV'?"),
    ("my.csv --criterion 1-CV", "'1-CV': cross-validation needs 2 folds or more"),
    ("my.csv --kernel gausian", "unknown kernel 'gausian'; did you mean 'gaussian'?"),
    ("my.csv --criterion EP --kernel linear", "EP works with the kernel gaussian only"),
    ("my.csv --param eta", "--param 'eta': write NAME=VALUE, as in eta=1"),
    ("my.csv --param =1", "--param '=1': write NAME=VALUE"),
    ("my.csv --param eta=1", "5-CV has no parameter 'eta'; valid: average, loss"),
    ("my.csv --criterion 5-KS --param eat=1", "5-KS has no parameter 'eat'; did you mean 'eta'?"),
    ("my.csv --criterion 5-KS --param eta=x", "eta: 'x' is not a number"),
    ("my.csv --output m.npz", "unknown flag '--output' (kselect select -h)"),
    ("my.csv --tau -1", "tau must be positive, not -1"),
    ("my.csv --tau 2^3:2^1", "tau: '2^3:2^1' is empty: its end lies below its start"),
    ("my.csv --tau 1,,2", "tau: '' is not a number"),
    ("my.csv --tau 1,1", "tau: the grid holds 1 more than once"),
    ("my.csv --lam 0", "lam must be positive, not 0"),
    ("my.csv --lam red", "lam: 'red' is not a number"),
    ("my.csv --kernel polynomial --degree 1.5", "degree must be a whole number, not 1.5"),
    ("my.csv --loss huber", "'huber' is not one of"),
    ("numbers.csv --loss hinge", "loss 'hinge' is for classification; this is a regression"),
    ("my.csv --nystrom 41", "41 Nystrom columns of 40 rows: write 1 to 40"),
    ("my.csv --nystrom 0", "invalid value for '--nystrom'"),
    ("my.csv -j 0", "invalid value for '-j'"),
    ("my.csv --seed x", "invalid value for '--seed'"),
    ("my.csv --plot a.gif", "--plot a.gif: the name must end in .png, .pdf or .svg"),
    ("my.csv --plot no/a.png", "--plot no/a.png: there is no folder no"),
    ("my.csv --plot my.csv/a.png", "--plot my.csv/a.png: there is no folder my.csv"),
]  # fmt: skip


@pytest.mark.parametrize(("typed", "said"), REFUSED, ids=[typed for typed, _ in REFUSED])
def test_one_line_for_a_mistake(here: Here, tmp_path: Path, typed: str, said: str) -> None:
    for name in typed.split():
        if name in FILES:
            content = FILES[name]
            raw = content if isinstance(content, bytes) else content.encode()
            (tmp_path / name).write_bytes(raw)
    assert here.refuses(*typed.split()).startswith(said) or said in here.refuses(*typed.split())


@pytest.mark.parametrize("typed", ["empty.csv", "my.csv --tau -1", ".", "my.csv --plot a.gif"])
def test_mistakes_in_a_separate_process(here: Here, tmp_path: Path, typed: str) -> None:
    (tmp_path / "empty.csv").write_text("")
    run = kselect_in(tmp_path, "select", *typed.split())
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == f"error: {here.refuses(*typed.split())}\n"


def test_too_large_a_training_set(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "available_memory", lambda: 2**16)
    line = here.refuses("my.csv", "-j", "2")
    assert line == (
        "my.csv: 40 rows need 0.0 GiB of memory for n-by-n matrices with 2 worker(s); "
        "0.0 GiB are free; approximate the kernel by c columns: --nystrom 500 (nystrom=500)"
    )
    here.object("my.csv", "--nystrom", "5", *GRID)
    monkeypatch.setattr(selection, "available_memory", lambda: 2**13)
    assert here.refuses("my.csv", "--nystrom", "5") == (
        "my.csv: 40 rows need 0.0 GiB of memory for matrices of 5 columns with 1 worker(s); "
        "0.0 GiB are free; take fewer columns (--nystrom) or workers (-j)"
    )


def test_several_targets(here: Here) -> None:
    """Click would take the last one, and the first one would become a feature."""
    found = here.object("numbers.csv", "--target", "a", "--target", "b", *GRID)
    assert (found["targets"], len(found["features"])) == (["a", "b"], 2)


def test_a_file_too_large_for_memory(here: Here, tmp_path: Path) -> None:
    """A file too large for any machine is refused as soon as it is read, whatever its target."""
    # A search by bounds over many rows keeps three matrices of doubles.
    n = int(1.05 * (selection.available_memory() / 24) ** 0.5) + 1000
    (tmp_path / "numbers.csv").write_text("a,y\n" + "".join(f"{i},{i}\n" for i in range(n)))
    (tmp_path / "names.csv").write_text("a,y\n" + "".join(f"{i},n{i // 3}\n" for i in range(n)))
    for name in ("numbers.csv", "names.csv"):
        started = time.monotonic()
        assert here.refuses(name).startswith(f"{name}: {n} rows need ")
        assert time.monotonic() - started < 20


# --- starting ---------------------------------------------------------------------------------------

LOADED = """
import atexit, sys
heavy = ("numpy", "scipy", "pandas", "matplotlib", "sklearn", "pydantic", "requests", "scipy.special", "numba")
atexit.register(lambda: print(*[m for m in heavy if m in sys.modules], file=sys.stderr))
"""


def test_imports_of_a_selection(here: Here, tmp_path: Path) -> None:
    """--help imports no numerical library, and a selection neither figures nor scikit-learn."""
    save(tmp_path, *make(2, 150), "rows.csv")
    run = started_in(tmp_path, "--help", hook=LOADED)
    assert (run.returncode, run.stderr) == (0, "\n")
    run = started_in(tmp_path, "select", "rows.csv", "-j", "2", hook=LOADED)
    assert run.returncode == 0
    assert run.stderr == "numpy scipy pandas\n"  # pandas reads the numbers


def test_each_kernel_has_its_own_flags(here: Here) -> None:
    """Each kernel has its own flags, and a grid of another kernel's parameter is refused."""
    lam = ("--lam", "0.01,1")
    scores = [here.object("my.csv", "--kernel", k, *lam)["best"] for k in ("linear", "laplacian")]
    assert [set(best) for best in scores] == [
        {"kernel", "lam", "score"},
        {"kernel", "width", "lam", "score"},
    ]
    wide = here.object("my.csv", "--kernel", "laplacian", "--width", "3,5", *lam)
    assert {s["width"] for s in wide["scores"]} == {3.0, 5.0}
    said = here.refuses("my.csv", "--kernel", "linear", "--tau", "1")
    assert "the linear kernel has no parameter 'tau'; it has no parameters" in said


def test_a_search_by_bounds(tmp_path: Path, here: Here) -> None:
    """smooth-hinge searches by bounds, except with --json, --plot or another loss, which need every score."""
    path = str(save(tmp_path, *make()))
    flags = (path, "--learner", "smooth-hinge", *GRID)
    status, plain, _ = here(*flags)
    assert status == 0
    assert "the exact minimum by bounds:" in plain
    assert "of 45 folds (--search grid scores every candidate)" in plain
    assert "loss=hinge" in plain
    _, every, _ = here(*flags, "--search", "grid")
    assert "tau=0.5" in every
    assert choice_line(every) == choice_line(plain)
    for more in (["--loss", "zero-one"], ["--criterion", "ELOO"]):
        assert "by bounds" not in here(*flags, *more)[1]
    found = json.loads(here(*flags, "--json")[1])
    assert (found["search"], len(found["scores"])) == ("grid", 9)
    found = json.loads(here(*flags, "--json", "--search", "pruned")[1])
    assert (found["search"], found["scores"]) == ("pruned", [found["best"]])
    assert "by bounds" in here(path, "--learner", "krr", *GRID, "--search", "pruned")[1]


def choice_line(text: str) -> str:
    """Return the line with the choice."""
    return next(line for line in text.splitlines() if line.startswith("choice:"))


def test_a_plot_needs_every_score(tmp_path: Path, here: Here) -> None:
    """--plot with --search pruned is refused in one line, before the file is read."""
    flags = ("no-such.csv", "--learner", "smooth-hinge", "--search", "pruned")
    status, _, said = here(*flags, "--plot", str(tmp_path / "a.png"))
    assert status == 2
    assert (
        "--plot draws every score, but --search pruned computes only one: use --search grid" in said
    )


# --- hostile files and grids ------------------------------------------------------------------------


Refused = Callable[..., list[str]]
ROWS = "a,y\n" + "".join(f"{i % 7},{i % 2}\n" for i in range(40))


BOMB = bz2.compress(bytes(2**24 + 1))


@pytest.fixture(autouse=True)
def _files(tmp_path: Path) -> None:
    (tmp_path / "my.csv").write_text(ROWS)
    (tmp_path / "bomb.svm.bz2").write_bytes(BOMB)
    (tmp_path / "wide.svm").write_bytes(b"1 1:1\n-1 1000000:1\n" * 100_000)
    os.mkfifo(tmp_path / "pipe")


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("pipe", "pipe: is a pipe, not a file"),
        ("/dev/zero", "/dev/zero: is a device, not a file"),
        ("bomb.svm.bz2", "bomb.svm.bz2: unpacked, it is too large: more than 16777216 bytes"),
        (
            "wide.svm",
            "wide.svm: 200000 rows x 1000000 features need 4470.3 GiB of memory as 3 matrices; ",
        ),
        ("my.csv --folds pipe", "pipe: is a pipe, not a file"),
        ("my.csv --folds /dev/zero", "/dev/zero: is a device, not a file"),
        (
            "my.csv --tau 1:10000 --lam 1:1000",
            "10000000 candidates (kernels times ridges) are too many: 1000000 at most",
        ),
        ("my.csv --lam 1:10001", "lam: '1:10001' has more than 10000 values"),
        (
            "my.csv --criterion BIF-5-CV --param order=10001",
            "order must be at most 10000, not '10001'",
        ),
        (
            "my.csv --criterion BIF-5-CV --param order=1e308",
            "order must be at most 10000, not '1e308'",
        ),
    ],
)
def test_one_line_for_hostile_input(refused: Refused, typed: str, said: str) -> None:
    (line,) = refused("select", *typed.split())
    assert line.startswith(f"error: {said}")


def test_class_names_do_not_colour_a_terminal(tmp_path: Path) -> None:
    rows = ROWS.replace(",0\n", ",\x1b[31mno\n").replace(",1\n", "," + "yes" * 100 + "\n")
    (tmp_path / "named.csv").write_text(rows)
    run = CliRunner().invoke(
        cli, ["select", str(tmp_path / "named.csv"), "--tau", "1", "--lam", "1"]
    )
    assert run.exit_code == 0, run.output
    assert r"classes \x1b[31mno, yesyes" in run.output
    assert "\x1b" not in run.output
    assert max(map(len, run.output.splitlines())) < 300
