"""The comparison of criteria by an outer cross-validation, without leaks between its folds."""

from __future__ import annotations

import json
from dataclasses import replace
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
from kselect.numerics.sigmoid import codes
from kselect.numerics.splits import Splits
from kselect.numerics.weights import Weights
from kselect.selection.candidates.families import Rows
from kselect.selection.compare import RequestFor, compare, outer_decisions
from kselect.selection.engine import select
from kselect.selection.own_data import OwnData, read_own
from kselect.selection.request import Request, make_folds, make_kernels, make_lams, make_method
from kselect.selection.rows.holding_out import HoldOut, pairs_of
from kselect.selection.rows.rules import RowRules
from kselect.selection.rows.weighting import ClassWeights, Weighting

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
    assert len(found.outer.members) == 5


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


def weighs_by_other_rows(folder: Path, rules: RowRules) -> bool:
    """Return whether the classes of an outer fold change what is decided about its first row."""
    lines = rows()
    outer = draw_folds(50, 5, stream(0, "outer folds"))
    F = outer.members[0]

    def decided() -> np.ndarray:
        data = read(folder, lines)
        found = outer_decisions(data, lambda _: request(), METHODS[:2], outer, rules)
        return np.asarray(found[:, :, F[0]])

    before = decided()
    classes = [line[-1] for line in lines]
    for i in F[1:].tolist():
        lines[i][-1] = next(c for c in sorted(set(classes)) if c != lines[i][-1])
    return not np.array_equal(before, decided())


def test_class_weights_come_from_the_training_part_only(tmp_path: Path) -> None:
    assert not weighs_by_other_rows(tmp_path, RowRules(Weighting(None, ClassWeights(None))))


def test_class_weights_of_all_rows_are_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plant the leak: weights formed from all rows, handed to each training part."""
    real, every = comparing.outer_decisions, ClassWeights(None)

    def leaky(data: OwnData, *given: Any) -> Any:
        fixed = every.of_rows(data.target.values, None)
        return real(data, *given[:-1], RowRules(Weighting(fixed)))

    monkeypatch.setitem(globals(), "outer_decisions", leaky)
    assert weighs_by_other_rows(tmp_path, RowRules(Weighting(None, every)))


def test_class_weights_change_the_outer_decisions(tmp_path: Path) -> None:
    """The weights of each outer training part are those that its own classes give."""
    data = read(tmp_path, rows())
    targets, outer = data.target.values, draw_folds(50, 5, stream(0, "outer folds"))
    found = outer_decisions(
        *(data, lambda _: request(), METHODS[:1], outer),
        RowRules(Weighting(None, ClassWeights((1.0, 4.0, 0.5)))),
    )[0]
    F = outer.members[0]
    T = np.setdiff1d(np.arange(50), F)
    Z, _ = fit_preparation(data.frame, "zscore", T).transform(data.frame)
    each = np.array([1.0, 4.0, 0.5])[targets[:, T].argmax(axis=0)]
    asked = replace(request(), method=METHODS[0], weights=Weights(each))
    part = select(Z[T], targets[:, T], asked, make_folds(METHODS[0], len(T), 0, None))
    K = part.kernel.gram(Points(Z[F], Z[T]))
    wanted = np.array([fit.decision(0, K) for fit in part.best.fits])
    np.testing.assert_allclose(found[:, F], wanted, atol=1e-9)


def test_outer_windows_of_time_predict_later_rows(tmp_path: Path) -> None:
    data, times = read(tmp_path, rows()), np.random.default_rng(0).normal(size=50)
    rules = RowRules(hold_out=HoldOut(times=times))
    found = compare(data, lambda _: request(), METHODS[:1], rules)
    outer = rules.outer(50, 5, 0)
    assert isinstance(outer, Splits)
    right = 0
    for train, test in outer.pairs:
        T = np.sort(train)
        Z, _ = fit_preparation(data.frame, "zscore", T).transform(data.frame)
        inner = HoldOut(times=times[T]).split(len(T), METHODS[0].folds or 0, 0)
        asked = replace(request(), method=METHODS[0])
        part = select(Z[T], data.target.values[:, T], asked, inner)
        K = part.kernel.gram(Points(Z[test], Z[T]))
        decisions = np.array([fit.decision(0, K) for fit in part.best.fits])
        right += int((codes(decisions) == codes(data.target.values[:, test])).sum())
    assert found.criteria[0].quality.value == pytest.approx(right / len(outer.rows))


def test_groups_stay_together_in_outer_and_inner_folds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, groups = read(tmp_path, rows()), np.arange(50) % 10
    parts: list[tuple[int, Any]] = []
    real = comparing.search_all

    def noted(X: Any, targets: Any, asked: Any, methods: Any, folds: Any) -> Any:
        parts.append((len(X), folds(5)))
        return real(X, targets, asked, methods, folds)

    monkeypatch.setattr(comparing, "search_all", noted)
    rules = RowRules(hold_out=HoldOut(groups=groups))
    compare(data, lambda _: request(), METHODS[:1], rules)
    outer = rules.outer(50, 5, 0)
    trained = [np.arange(50), *(train for train, _, _ in pairs_of(outer))]
    assert len(parts) == 6
    for (n, folds), train in zip(parts, trained, strict=True):
        assert n == len(train)
        for inner, test, _ in pairs_of(folds):
            assert not set(groups[train][inner]) & set(groups[train][test])
    for train, test, _ in pairs_of(outer):
        assert not set(groups[train]) & set(groups[test])


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
