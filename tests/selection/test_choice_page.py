"""The page of a choice: its numbers are those of the selection, and it needs no other file."""

from __future__ import annotations

import csv
import io
import re
import shlex
import sys
from base64 import b64decode
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, confusion_matrix, roc_auc_score

from kselect.cli.main import main
from kselect.errors import ConfigError, DataError
from kselect.report import style
from kselect.selection import contenders
from kselect.selection.page import page as choice_page
from kselect.selection.page.page import ChoicePage, check_page, make_choice_page

LINK = re.compile(r'<a href="data:[\w/.+-]+;base64,([^"]*)" download="([^"]+)">')
DROP = ("--drop", "team", "--drop", "count")
FEW = ("--tau", "0.5,2,8", "--lam", "0.001,0.01,0.1")
RNG = np.random.default_rng(8)
ROWS = 60


def save(kind: str) -> str:
    """Write a table of two or three classes, or of numbers, with groups, weights and a category."""
    a, b = RNG.normal(size=(2, ROWS))
    level = np.array(["low", "mid", "high"])[RNG.integers(0, 3, ROWS)]
    signal = a + 0.4 * b + 0.5 * (level == "mid") + 0.4 * RNG.normal(size=ROWS)
    names = {"two": ["no", "yes"], "three": ["x", "y", "z"]}.get(kind)
    y = [f"{v:.4f}" for v in signal] if names is None else [
        names[i] for i in np.argsort(np.argsort(signal)) * len(names) // ROWS
    ]  # fmt: skip
    lines = ["a,b,level,team,count,y"]
    columns = zip(a, b, level, np.arange(ROWS) % 7, RNG.integers(1, 4, ROWS), y, strict=True)
    lines += [f"{i:.4f},{j:.4f},{k},t{g},{w},{t}" for i, j, k, g, w, t in columns]
    Path(f"{kind}.csv").write_text("\n".join(lines) + "\n")
    return f"{kind}.csv"


class Made:
    """The page that a command wrote, the choice behind it, and the files that it contains."""

    def __init__(self, choice: ChoicePage, text: str) -> None:
        self.choice, self.text = choice, text
        self.files = {name: b64decode(content) for content, name in LINK.findall(text)}

    def rows(self, name: str) -> list[dict[str, str]]:
        """Return the rows of a CSV file of the page."""
        return list(csv.DictReader(io.StringIO(self.files[name].decode())))


Make = Callable[..., Made]


@pytest.fixture
def make(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Make:
    """Return a function that runs a command with ``--report`` and returns what it has written."""
    monkeypatch.chdir(tmp_path)
    seen: list[ChoicePage] = []

    def kept(choice: ChoicePage) -> str:
        seen.append(choice)
        return make_choice_page(choice)

    def sketched(draw: Callable[[], Any], kinds: Iterable[str]) -> dict[str, bytes]:
        """Draw without writing the files of a figure, which takes most of the time."""
        draw()
        return dict.fromkeys(kinds, b"<svg xmlns='http://www.w3.org/2000/svg'/>")

    monkeypatch.setattr(style, "render", sketched)
    monkeypatch.setattr(choice_page, "make_choice_page", kept)

    def run(kind: str, *flags: str, command: str = "select") -> Made:
        typed = ["kselect", command, save(kind), *flags, "--report", "choice.html"]
        monkeypatch.setattr(sys, "argv", typed)
        with pytest.raises(SystemExit) as stop:
            main()
        printed = capsys.readouterr()
        assert stop.value.code == 0, printed.err
        assert printed.out.endswith("page: choice.html\n")
        assert seen[-1].command == shlex.join(typed)
        return Made(seen[-1], Path("choice.html").read_text(encoding="utf-8"))

    return run


def test_two_classes(make: Make) -> None:
    """Confusion matrix, ROC curve, calibration and scores are those of the selection."""
    made = make("two", *FEW, *DROP)
    held, found = made.choice.held_out, made.choice.held_out.selection
    truth, values = (held.targets[0] > 0).astype(int), held.decisions[0]
    matrix = confusion_matrix(truth, values > 0)
    rows = made.rows("confusion.csv")
    assert [[int(r[f"predicted_{c}"]) for c in ("no", "yes")] for r in rows] == matrix.tolist()
    assert f"{100 * held.quality.value:.2f} % are predicted right" in made.text
    area = roc_auc_score(truth, values)
    names = "true_positive_rate", "false_positive_rate"
    points = [[float(r[name]) for name in names] for r in made.rows("roc.csv")]
    assert np.trapezoid(*np.array(points).T) == pytest.approx(area)
    assert f"AUC {area:.4f}" in made.text
    likely = 1 / (1 + np.exp(-held.slope * values))
    assert f"Brier score {brier_score_loss(truth, likely):.4g}" in made.text
    bins = made.rows("calibration.csv")
    assert sum(int(r["rows"]) for r in bins) == ROWS
    shares = sum(float(r["observed"]) * int(r["rows"]) for r in bins)
    assert shares == pytest.approx(truth.sum())
    scores = {(r["tau"], r["lam"]): float(r["score"]) for r in made.rows("scores.csv")}
    assert len(scores) == 9
    assert min(scores.values()) == found.score
    assert float(made.rows("families.csv")[0]["score"]) == pytest.approx(found.score)
    assert made.choice.data.frame.sha256 in made.text
    assert "from kselect import KernelSelectClassifierCV" in made.text


def test_numbers(make: Make) -> None:
    """Errors and predictions are the held-out ones of the average; the intervals are honest."""
    made = make("numbers", *DROP, "--kernel", "gaussian,laplacian", *FEW[2:])
    held = made.choice.held_out
    assert len(held.selection.members) > 1
    rows = made.rows("predictions.csv")
    np.testing.assert_allclose([float(r["predicted"]) for r in rows], held.decisions[0], rtol=1e-9)
    low, high = ([float(r[k]) for r in rows] for k in ("low", "high"))
    np.testing.assert_allclose(
        np.array([low, high]).T, held.intervals_without(0.9)[:, 0], rtol=1e-9
    )
    inside = np.mean([float(r["low"]) <= float(r["observed"]) <= float(r["high"]) for r in rows])
    assert f"{100 * inside:.1f} % of the observed numbers are inside" in made.text
    errors = {r["measure"]: float(r["value"]) for r in made.rows("errors.csv")}
    assert errors["R2"] == pytest.approx(held.quality.value)
    relevances = made.rows("relevances.csv")
    assert {r["column"] for r in relevances} == {"a", "b", "level"}
    assert relevances[0]["column"] == "a"
    averaged = [r for r in made.rows("scores.csv") if r["averaged"] == "true"]
    assert len(averaged) == len(held.selection.members)


@pytest.mark.parametrize(
    ("kind", "flags", "shown"),
    [
        ("three", ("--groups", "team", "--weights", "count", *FEW), "Weights of held-out rows"),
        ("numbers", ("--weights", "count", *FEW), "No intervals: intervals take no weights"),
        ("numbers", ("--nystrom", "20", "--learner", "krr", *FEW), "90 % interval"),
        ("two", ("--search", "pruned", *FEW), "leave out --search pruned to score them"),
        ("numbers", ("--kernel", "ard", "--criterion", "FLKL"), "share of the widths"),
        ("numbers", ("--kernel", "sum:gaussian(tau=1),linear"), "The weight of each kernel in the sum"),
        ("numbers", ("--time", "a", *FEW), "intervals need folds that hold out every row once"),
        ("two", ("--scoring", "roc_auc", *FEW), "error (1 minus the metric)"),
    ],
)  # fmt: skip
def test_what_applies_is_shown(make: Make, kind: str, flags: tuple[str, ...], shown: str) -> None:
    """Every way to choose has its page; what does not apply is said."""
    made = make(kind, *flags)
    assert shown in made.text.replace("&#39;", "'")
    assert f"{made.choice.held_out.quality.value:.4g}" in made.text
    assert "relevances.csv" in made.files


def test_criteria_and_contenders(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables are those of the terminal; the choice is that of the first criterion."""
    makers = contenders.makers
    quick = "logistic regression"
    monkeypatch.setattr(contenders, "makers", lambda task: {quick: makers(task)[quick]})
    made = make("two", *DROP, *FEW, "--compare", "ELOO,5-CV", "--contenders")
    assert made.choice.criteria is not None
    rows = made.rows("criteria.csv")
    assert [r["criterion"] for r in rows] == ["ELOO", "5-CV"]
    ours = made.choice.criteria.criteria
    assert [float(r["outer"]) for r in rows] == [pytest.approx(one.quality.value) for one in ours]
    assert made.choice.held_out.selection.score == pytest.approx(ours[0].best.score)
    assert [r["learner"] for r in made.rows("contenders.csv")] == [quick]


def test_several_targets_have_a_part_each(make: Make) -> None:
    """Each has its name, its errors and its predictions."""
    two = ("--target", "y", "--target", "b")
    made = make("numbers", *two, "--drop", "team", "--drop", "count", *FEW)
    held = made.choice.held_out
    assert re.findall(r"<h3>(\w+)</h3>", made.text) == ["y", "b"]
    shares = [float(made.rows(f"errors-{i}.csv")[0]["value"]) for i in (1, 2)]
    assert np.mean(shares) == pytest.approx(held.quality.value)
    values = [float(r["predicted"]) for r in made.rows("predictions-2.csv")]
    np.testing.assert_allclose(values, held.decisions[1], rtol=1e-9)


def test_fit_writes_the_page_of_its_model(make: Make) -> None:
    made = make("numbers", *DROP, *FEW, "-o", "model.npz", command="fit")
    assert Path("model.npz").is_file()
    assert "predictions.csv" in made.files


def test_the_page_needs_no_other_file(make: Make) -> None:
    """Nothing is loaded, and texts of the file cannot become markup."""
    made = make("two", *DROP, *FEW)
    for address in re.findall(r'(?:src|href|srcset)="([^"]*)"', made.text):
        assert address.startswith(("data:", "#")), address
    assert "default-src &#39;none&#39;" in made.text
    assert {"surface.pdf", "relevances.pdf", "confusion.tex", "columns.md"} <= made.files.keys()


@pytest.mark.parametrize(
    ("name", "words"),
    [("choice.txt", "must end in .html"), ("no/choice.html", "there is no folder")],
)
def test_a_wrong_name_is_refused_before_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises((ConfigError, DataError), match=words):
        check_page(Path(name))
