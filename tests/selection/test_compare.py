"""The comparison of criteria by an outer cross-validation, without leaks between its folds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import kselect.cli.selecting as command
import kselect.selection.compare as comparing
from kselect.cli.main import cli
from kselect.core.method import Choice
from kselect.datasets.prepare import fit_preparation
from kselect.datasets.table.raw_table import TableOptions
from kselect.kernels import Points
from kselect.numerics.folds import draw_folds, stream
from kselect.numerics.linalg import squared_distances
from kselect.selection.compare import RequestFor, compare, outer_decisions
from kselect.selection.engine import select
from kselect.selection.families import Rows
from kselect.selection.own_data import OwnData, read_own
from kselect.selection.request import Request, make_folds, make_kernels, make_lams, make_method

METHODS = [make_method(label, None, {}, True) for label in ("5-CV", "ELOO", "4-KS")]


def rows(seed: int = 0) -> list[list[str]]:
    """Return rows with gaps, categories and three classes."""
    rng = np.random.default_rng(seed)
    found = []
    for i in range(50):
        x = rng.normal()
        level = "uvw"[int(np.clip(x + 1.5, 0, 2))]
        found.append(["" if i % 9 == 3 else f"{x:.4f}", "SML"[rng.integers(3)], level])
    return found


def read(folder: Path, lines: list[list[str]]) -> OwnData:
    """Return the table as a selection reads it."""
    path = folder / "my.csv"
    path.write_text("x,size,y\n" + "".join(",".join(line) + "\n" for line in lines))
    return read_own(path, None, TableOptions(), "zscore", 1)


def request() -> Request:
    """Return a request with few candidates."""
    kernels = make_kernels("gaussian", {"tau": "1,4"})
    return Request(Choice("lssvm"), kernels, make_lams("0.01,0.1"), METHODS[0])


def test_each_criterion_chooses_independently(tmp_path: Path) -> None:
    data = read(tmp_path, rows())
    X, targets = data.X, data.target.values
    found = compare(data, lambda _: request(), METHODS)
    outer = draw_folds(50, 5, stream(0, "outer folds"))
    for line, method in zip(found.criteria, METHODS, strict=True):
        asked = Request(Choice("lssvm"), request().kernels, request().lams, method)
        alone = select(X, targets, asked, make_folds(method, 50, 0, None))
        assert line.best.point == alone.best.point
        assert line.best.score == pytest.approx(alone.score)
        right = 0
        for F in outer.members:
            T = np.setdiff1d(np.arange(50), F)
            Z, _ = fit_preparation(data.frame, "zscore", T).transform(data.frame)
            part = select(Z[T], targets[:, T], asked, make_folds(method, len(T), 0, None))
            K = part.kernel.gram(Points(Z[F], Z[T]))
            decisions = np.array([fit.decision(0, K) for fit in part.best.fits])
            right += int((decisions.argmax(axis=0) == targets[:, F].argmax(axis=0)).sum())
        assert line.quality.value == pytest.approx(right / 50)
    assert found.outer == 5


def leaks(folder: Path, ask: RequestFor = lambda _: request()) -> bool:
    """Return whether the features of an outer fold change the choice made without that fold.

    The rows of the first outer fold get other values. Fits that held out another fold may change,
    but a fit that held out these rows must decide an unchanged row as before.
    """
    lines = rows()
    outer = draw_folds(50, 5, stream(0, "outer folds"))
    F = outer.members[0]
    kept, changed = F[0], F[1:]
    before = first_fold(read(folder, lines), outer, ask)[:, :, kept]
    for i in changed.tolist():
        lines[i][0], lines[i][1] = "1000", "XXL"
    after = first_fold(read(folder, lines), outer, ask)[:, :, kept]
    return not np.array_equal(before, after)


def first_fold(data: OwnData, outer: Any, ask: RequestFor) -> np.ndarray:
    """Return the (methods, q, n) decisions of the first outer fold."""
    return np.asarray(outer_decisions(data, ask, METHODS, outer))


def around(rows: Rows) -> Request:
    """Return few candidates around the median distance of the rows."""
    middle = np.median(squared_distances(rows.X, rows.X).squared)
    kernels = make_kernels("gaussian", {"tau": [middle / 8, middle]})
    return Request(Choice("lssvm"), kernels, make_lams("0.01,0.1"), METHODS[0])


def test_an_outer_fold_does_not_change_the_choice(tmp_path: Path) -> None:
    assert not leaks(tmp_path)


def test_a_planted_leak_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        comparing, "fit_preparation", lambda frame, scale, _: fit_preparation(frame, scale)
    )
    assert leaks(tmp_path)


def test_the_grid_depends_on_the_training_part_only(tmp_path: Path) -> None:
    """A grid based on the median distance uses the rows of the training part only."""
    assert not leaks(tmp_path, around)


def test_the_command_builds_a_grid_for_each_part(
    typed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Grids are built once per criterion, once for the kernels, and once per outer fold."""
    sizes: list[int] = []
    real = command.request_of

    def counted(flags: Any, task: Any, rows: Rows) -> Any:
        sizes.append(len(rows.X))
        return real(flags, task, rows)

    monkeypatch.setattr(command, "request_of", counted)
    assert typed("--compare", "ELOO").exit_code == 0
    assert sorted(sizes) == [40] * 5 + [50] * 2


@pytest.fixture
def typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run ``kselect select my.csv --compare ...``."""
    monkeypatch.chdir(tmp_path)
    read(tmp_path, rows())

    def run(*arguments: str) -> Any:
        grid = ("--tau", "1,4", "--lam", "0.01,0.1")
        return CliRunner().invoke(cli, ["select", "my.csv", *grid, *arguments])

    return run


def test_the_table(typed: Any) -> None:
    result = typed("--compare")
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert any(
        x.startswith("warning: 5-CV: tau = ") and x.endswith("widen the grid") for x in lines
    )
    heads = next(i for i, line in enumerate(lines) if line.startswith("criterion"))
    assert "accuracy (5 outer folds)" in lines[heads]
    assert [line.split()[0] for line in lines[heads + 1 : heads + 6]] == [
        "5-CV",
        "10-CV",
        "ELOO",
        "GCV",
        "5-KS",
    ]
    assert "accuracy of always predicting the most frequent class: 0." in result.output
    found = json.loads(typed("--compare", "ELOO,5-KS", "--param", "eta=2", "--json").output)
    assert [line["criterion"] for line in found["criteria"]] == ["ELOO", "5-KS"]
    assert found["criteria"][1]["params"]["eta"] == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--compare", "5-XV"), "unknown criterion '5-XV'"),
        (("--compare", "EP", "--learner", "krr", "--kernel", "linear"), "EP"),
        (("--compare", "5-CV", "--folds", "f.txt"), "--compare draws its own folds"),
        (("--compare", "5-CV", "--backend", "dask"), "--compare reads the whole file"),
        (("--compare", "51-CV"), "51 folds need at least 51 rows"),
    ],
)
def test_invalid_comparisons_are_refused(typed: Any, arguments: tuple[str, ...], said: str) -> None:
    result = typed(*arguments)
    if "linear" in arguments:
        result = CliRunner().invoke(cli, ["select", "my.csv", *arguments])
    assert result.exit_code == 1
    assert said in str(result.exception)
