"""A width per feature for somebody's own rows: what is searched, what is refused, and the relevances."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from oracles_flkl import Array
from problems_flkl import rows

from kselect import KernelSelectClassifierCV, KernelSelectRegressorCV
from kselect.cli.main import cli
from kselect.errors import KselectError
from kselect.kernels.ard import Ard
from kselect.search.flkl import flkl
from kselect.selection.request import FLKL, criterion_of


def problem() -> tuple[Array, Array]:
    """The first of three features decides."""
    X, _ = rows(60, 3)
    return X / X.std(axis=0, ddof=1), np.where(X[:, 0] > 0, 1.0, -1.0)


@pytest.mark.parametrize("criterion", ["FLKL", "3-FLKL", "LOO", "ELOO", "5-CV", "BR"])
def test_the_estimator_learns_relevances(criterion: str) -> None:
    """Shares that add up to one, the deciding feature first; a constant feature has none."""
    X, y = problem()
    X = np.column_stack([X, np.full(len(X), 7.0)])
    model = KernelSelectClassifierCV(kernel="ard", criterion=criterion).fit(X, y)
    assert model.feature_relevances_.sum() == pytest.approx(1.0)
    assert model.feature_relevances_.argmax() == 0
    assert model.feature_relevances_[3] == 0.0
    assert model.score(X, y) > 0.9
    assert set(model.best_params_) == {"theta1", "theta2", "theta3", "theta4", "lam"}
    assert model.cv_results_["params"] == [model.best_params_]


def test_the_estimator_finds_what_the_search_finds() -> None:
    X, y = problem()
    model = KernelSelectClassifierCV(kernel="ard", criterion="FLKL").fit(X, y)
    from kselect.numerics.folds import draw_folds, stream

    found = flkl(X, y, draw_folds(60, 5, stream(0, "folds")))
    np.testing.assert_allclose(model.kernel_.vector(), found.theta, rtol=1e-6, atol=1e-12)
    assert -model.best_score_ == pytest.approx(found.objective)


def test_a_regression() -> None:
    X, _ = problem()
    model = KernelSelectRegressorCV(kernel="ard", criterion="FLKL").fit(X, np.sin(X[:, 1]))
    assert model.feature_relevances_.argmax() == 1
    assert model.score(X, np.sin(X[:, 1])) > 0.9


def test_other_kernels_have_no_relevances() -> None:
    X, y = problem()
    assert not hasattr(KernelSelectClassifierCV().fit(X, y), "feature_relevances_")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"criterion": "FLKL"}, "it goes with the kernel ard"),
        ({"kernel": "ard", "criterion": "5-KS"}, "quasi-newton minimises k-CV or ELOO or BR"),
        ({"kernel": "ard", "learner": "krr"}, "learned for the learner lssvm, not for krr"),
        ({"kernel": "ard", "ridge": "per-fold"}, "ridge must be fixed"),
        ({"kernel": "ard", "nystrom": 10}, "without Nystrom columns"),
        ({"kernel": "ard", "lam": 0.5}, "leave lam out"),
        ({"kernel": "ard", "tau": 2}, "the ard kernel has no parameter 'tau'"),
        ({"kernel": "ard", "loss": "zero-one"}, "loss squared only, not zero-one"),
    ],
)
def test_refused(given: dict[str, object], words: str) -> None:
    X, y = problem()
    with pytest.raises(ValueError, match=words):
        KernelSelectClassifierCV(**given).fit(X, y)


def test_three_classes_are_refused_by_name() -> None:
    X, y = problem()
    with pytest.raises(ValueError, match="two classes or one number, not for more classes"):
        KernelSelectClassifierCV(kernel="ard", criterion="FLKL").fit(X, np.where(X[:, 1] > 1, 2, y))


@pytest.mark.parametrize(
    ("label", "name", "folds"),
    [("FLKL", "k-CV", 5), ("7-FLKL", "k-CV", 7), ("LOO", "ELOO", None), ("10-CV", "k-CV", 10)],
)
def test_names(label: str, name: str, folds: int | None) -> None:
    criterion, found = criterion_of(label)
    assert (criterion.name, found) == (name, folds)
    assert bool(FLKL.fullmatch(label)) == ("FLKL" in label)


def test_relevances_of_nothing() -> None:
    np.testing.assert_array_equal(Ard((0.0, 0.0)).relevances(), [0.0, 0.0])
    np.testing.assert_array_equal(Ard((3.0, 1.0)).relevances(), [0.75, 0.25])


def test_the_command_line(tmp_path: Path) -> None:
    """Sorted lines with bars, JSON with every width, a picture, and Python that fits the same."""
    X, y = problem()
    file = tmp_path / "my.csv"
    lines = [",".join(map(repr, [*x.tolist(), int(t)])) for x, t in zip(X, y, strict=True)]
    file.write_text("\n".join(["a,b,c,label", *lines]) + "\n")
    plot = tmp_path / "r.png"
    told = ["select", str(file), "--kernel", "ard", "--criterion", "FLKL"]
    shown = CliRunner().invoke(cli, [*told, "--plot", str(plot)], catch_exceptions=False)
    assert shown.exit_code == 0
    first = next(line for line in shown.output.splitlines() if "#" in line)
    assert ("feature 1" in first) or first.startswith("a ")
    assert first.endswith("#" * 40)
    assert "criterion='FLKL'," in shown.output
    assert plot.read_bytes().startswith(b"\x89PNG")
    found = json.loads(CliRunner().invoke(cli, [*told, "--json"]).output)
    assert found["search"] == "flkl"
    assert found["relevances"][0]["feature"] == 1
    assert sum(r["share"] for r in found["relevances"]) == pytest.approx(1.0)


def test_the_picture_has_the_names_of_the_columns(tmp_path: Path) -> None:
    """Those of the table and of the file, none taken for a formula; a ridge in six digits beside it."""
    X, y = problem()
    file = tmp_path / "my $x^{$.csv"
    names = ["age", "$\\frac$", "sex"][: X.shape[1]] + [f"f{j}" for j in range(3, X.shape[1])]
    lines = [",".join(map(repr, [*x.tolist(), int(t)])) for x, t in zip(X, y, strict=True)]
    file.write_text("\n".join([",".join([*names, "label"]), *lines]) + "\n")
    plot = tmp_path / "r.svg"
    told = ["select", str(file), "--kernel", "ard", "--criterion", "FLKL", "--plot", str(plot)]
    shown = CliRunner().invoke(cli, told, catch_exceptions=False)
    drawn = plot.read_text()  # matplotlib writes every text as a comment beside its outlines
    assert all(f"<!-- {name} -->" in drawn for name in names)
    assert "my $x^{$.csv" in drawn
    assert "feature 1" not in drawn
    assert re.search(r"lam = \d[\d.e+-]{0,11} \(ridge", shown.output)


def bad_files() -> dict[str, tuple[Array, Array]]:
    """Rows and labels as somebody's file may hold them."""
    X, y = problem()
    constant = X.copy()
    constant[:, 1] = 7.0
    return {
        "a constant feature": (constant, y),
        "duplicated rows": (np.repeat(X[:10], 4, axis=0), y[:40]),
        "one row of a class": (X[:9], np.append(np.ones(8), -1.0)),
        "two rows": (np.array([[1.0], [2.0]]), np.array([1.0, -1.0])),
        "more features than rows": (X.reshape(-1, 15)[:12], y[:12]),
        "features of scale 1e6": (1e6 * X, y),
        "equal rows": (np.ones((20, 2)), y[:20]),
        "one feature": (X[:, :1], y),
        "five rows": (X[:5], np.array([1.0, 1.0, -1.0, 1.0, -1.0])),
    }


@pytest.mark.parametrize("criterion", ["FLKL", "ELOO", "5-CV", "BR"])
@pytest.mark.parametrize("name", bad_files())
def test_bad_files_have_a_result_or_one_line(name: str, criterion: str, tmp_path: Path) -> None:
    """Relevances, or an error that the command says in one line; never a warning."""
    X, y = bad_files()[name]
    lines = [",".join(map(repr, [*x.tolist(), int(t)])) for x, t in zip(X, y, strict=True)]
    file = tmp_path / "my.csv"
    names = [f"f{j}" for j in range(X.shape[1])]
    file.write_text("\n".join([",".join([*names, "label"]), *lines]) + "\n")
    told = ["select", str(file), "--kernel", "ard", "--criterion", criterion]
    shown = CliRunner().invoke(cli, told)
    if name == "equal rows" or (name == "two rows" and criterion in ("FLKL", "5-CV")):
        assert isinstance(shown.exception, KselectError)
        assert re.search("all rows are equal|need at least 5 rows", str(shown.exception))
        assert "\n" not in str(shown.exception)
    else:
        assert shown.exit_code == 0
        assert "f0" in shown.stdout
