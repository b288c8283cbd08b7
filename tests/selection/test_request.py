"""Requests: the names, grids, folds and learned kernels that users ask for."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from oracles_flkl import Array
from problems_flkl import rows, solved

from kselect import EdgeWarning, KernelSelectClassifierCV, KernelSelectRegressorCV
from kselect.cli.main import cli
from kselect.core.method import Choice
from kselect.criteria import CRITERIA
from kselect.errors import ConfigError, KselectError
from kselect.kernels import KERNELS
from kselect.kernels.ard import Ard
from kselect.kernels.polynomial import Linear, Polynomial
from kselect.learners import LEARNERS
from kselect.numerics.folds import draw_folds, stream
from kselect.selection.defaults import LAM, default_lam
from kselect.selection.request import (
    FLKL,
    criterion_of,
    kernel_grids,
    make_folds,
    make_kernels,
    make_lams,
    make_method,
    split_parameters,
)


def test_kernels_of_a_grid() -> None:
    found = make_kernels("gaussian", {"tau": "2^-1:2^1", "degree": None})
    assert [k.parameters for k in found] == [{"tau": 0.5}, {"tau": 1.0}, {"tau": 2.0}]
    assert make_kernels("polynomial", {"degree": [1, 3]}) == (Polynomial(1), Polynomial(3))
    assert make_kernels("linear", {}) == (Linear(),)
    assert make_kernels("gaussian", {"tau": 3})[0].parameters == {"tau": 3.0}


def test_default_grids() -> None:
    """Every kernel has default grids, and select has a flag for each parameter."""
    assert len(make_kernels("gaussian", {})) == 15
    assert len(make_kernels("polynomial", {"tau": None})) == 5
    assert (len(make_lams(LAM)), len(make_lams(default_lam("classification")))) == (9, 6)
    assert kernel_grids() == {
        "tau": {"gaussian": "2^-6:2^8"},
        "width": {"laplacian": "2^-3:2^9"},
        "degree": {"polynomial": "1:5"},
    }
    for name, cls in KERNELS.items():
        if name == "sum":  # it has the grids of the kernels that follow it
            continue
        assert (len(make_kernels(name, {})) >= 1) != cls.learned, name
        assert cls.learned or set(cls.grids) == {f.name for f in fields(cls)}


@pytest.mark.parametrize(
    ("name", "grids", "said"),
    [
        ("gaussian", {"tau": "-1"}, "tau must be positive, not -1"),
        ("gaussian", {"tau": [0.5, 0]}, "tau must be positive, not 0"),
        ("gaussian", {"tau": "1,1"}, "tau: the grid holds 1 more than once"),
        ("gaussian", {"tau": "2^1:2^0"}, "tau: .* is empty"),
        ("gaussian", {"tau": ""}, "tau: '' is not a number"),
        ("gaussian", {"tau": []}, "tau: the grid is empty"),
        ("gaussian", {"tau": "nan"}, "tau: 'nan' is not a finite number"),
        ("gaussian", {"degree": "2"}, r"the gaussian kernel has no parameter 'degree'; valid: tau"),
        ("linear", {"tau": "2"}, "the linear kernel has no parameter 'tau'; it has no parameters"),
        ("polynomial", {"degree": "1.5"}, "degree must be a whole number, not 1.5"),
        ("gausian", {"tau": "1"}, r"unknown kernel 'gausian'; did you mean 'gaussian'\?"),
    ],
)
def test_invalid_kernels_are_refused(name: str, grids: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        make_kernels(name, grids)


@pytest.mark.parametrize(
    ("grid", "said"),
    [("0", "lam must be positive, not 0"), ("1,-1", "not -1"), ("x", "lam: 'x' is not a number")],
)
def test_invalid_ridges_are_refused(grid: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        make_lams(grid)


def test_method() -> None:
    found = make_method("7-KS", "hinge", {"eta": "0.5"}, True)
    assert (found.label, found.criterion, found.folds) == ("7-KS", "k-KS", 7)
    assert dict(found.params) == {"average": "folds", "eta": 0.5, "loss": "hinge"}
    assert make_method("ELOO", None, {}, False).folds is None


@pytest.mark.parametrize("name", CRITERIA)
def test_every_criterion_has_its_defaults(name: str) -> None:
    found = make_method(CRITERIA[name].label(4), None, {}, True)
    assert dict(found.params) == {p.name: p.default for p in CRITERIA[name].parameters}


@pytest.mark.parametrize(
    ("label", "loss", "params", "labels", "said"),
    [
        ("5-CV", "hinge", {}, False, "loss 'hinge' is for classification; this is a regression"),
        ("5-CV", None, {"loss": "zero-one"}, False, "'zero-one' is for classification"),
        ("ELOO", None, {"form": "error"}, False, "form 'error' is for classification"),
        ("ELOO", None, {"form": "smoothed"}, False, "form 'smoothed' is for classification"),
        ("ELOO", "hinge", {}, True, "ELOO has no parameter 'loss'; valid: form, slope"),
        ("BR", None, {"eta": 1}, True, "BR has no parameter 'eta'; it has no parameters"),
        ("5-KS", None, {"eat": 1}, True, r"5-KS has no parameter 'eat'; did you mean 'eta'\?"),
        ("5-KS", None, {"eta": "x"}, True, "'x' is not a number"),
        ("5-KS", None, {"eta": -1}, True, "eta must not be negative"),
        ("5-CV", "huber", {}, True, "loss: 'huber'; "),
        ("5-CV", None, {"average": "point"}, True, r"did you mean 'points'\?"),
        ("1-CV", None, {}, True, "cross-validation needs 2 folds or more"),
        ("5-VC", None, {}, True, r"unknown criterion '5-VC'; did you mean '5-CV'\?"),
    ],
)
def test_invalid_methods_are_refused(
    label: str, loss: str | None, params: dict[str, Any], labels: bool, said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        make_method(label, loss, params, labels)


CV = make_method("3-CV", None, {}, True)


@given(
    st.integers(3, 12).flatmap(lambda n: st.permutations([i % 3 for i in range(n)])),
    st.sampled_from([0, 1]),
)
def test_fold_numbers_from_0_or_1(numbers: list[int], first: int) -> None:
    """Fold numbers from 0 and from 1 give the same folds."""
    folds = make_folds(CV, len(numbers), 0, np.array(numbers) + first)
    assert folds
    for k, F in enumerate(folds.members):
        assert F.tolist() == [i for i, number in enumerate(numbers) if number == k]


def test_seeded_folds() -> None:
    a, b, c = (make_folds(CV, 20, seed, None) for seed in (0, 0, 1))
    assert a
    assert b
    assert c
    assert [F.tolist() for F in a.members] == [F.tolist() for F in b.members]
    assert [F.tolist() for F in a.members] != [F.tolist() for F in c.members]
    assert sorted(len(F) for F in a.members) == [6, 7, 7]


def test_folds_are_refused_where_they_have_no_meaning() -> None:
    method = make_method("ELOO", None, {}, True)
    assert make_folds(method, 20, 0, None) is None
    with pytest.raises(ConfigError, match="ELOO has no folds: leave them out"):
        make_folds(method, 3, 0, np.array([0, 1, 2]))


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ([0, 1, 2, 0], "4 fold numbers for 5 rows"),
        ([0, 0, 2, 2, 0], "3-CV has 3 folds, but no row is in fold 1"),
        ([0, 1, 1, 1, 0], "3-CV has 3 folds, but no row is in fold 2"),
        ([1, 2, 2, 1, 1], "3-CV has 3 folds, but no row is in fold 3"),
        ([0, 0, 0, 0, 0], "no row is in fold 1"),
        ([0, 1, 2, 3, 0], "3-CV takes fold numbers 0 to 2, or 1 to 3; 3 is not one"),
        ([1, 2, 3, 4, 1], "4 is not one"),
        ([2, 3, 4, 2, 2], "3 is not one"),
        ([0, 1, -1, 2, 0], "-1 is not one"),
        ([0, 1, 2, 10**15, 0], "1000000000000000 is not one"),
    ],
)
def test_invalid_fold_numbers_are_refused(numbers: list[int], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        make_folds(CV, 5, 0, np.array(numbers))


def test_more_folds_than_rows() -> None:
    with pytest.raises(ConfigError, match="3 folds need at least 3 rows, not 2"):
        make_folds(CV, 2, 0, None)


def test_parameters_of_a_learner_and_of_a_criterion_are_told_apart() -> None:
    """An unknown parameter is passed to the criterion, whose error suggests the nearest name."""
    learner = LEARNERS.find("quadratic-svr")
    rest, own = split_parameters(learner, "5-KS", {"eta": "2", "eps": "0.5", "etta": "1"})
    assert rest == {"eta": "2", "etta": "1"}
    assert own == Choice("quadratic-svr", (("eps", 0.5),))
    assert split_parameters(learner, "5-CV", {})[1].params == (("eps", 0.1),)
    assert split_parameters(LEARNERS["krr"], "5-CV", {"eps": "1"}) == (
        {"eps": "1"},
        Choice("krr"),
    )


def problem() -> tuple[Array, Array]:
    """Return rows in which only the first of three features matters."""
    X, _ = rows(60, 3)
    return X / X.std(axis=0, ddof=1), np.where(X[:, 0] > 0, 1.0, -1.0)


@pytest.mark.parametrize("criterion", ["FLKL", "3-FLKL", "LOO", "ELOO", "5-CV", "BR"])
def test_the_estimator_learns_relevances(criterion: str) -> None:
    """Relevances add up to one, the relevant feature comes first, a constant one has none."""
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
    """The search starts from RBF-FLKL, as the estimator does.

    From RBF-XVAL it reaches the same flat minimum, but stops elsewhere in it: the outer errors differ by 2e-5 of
    their size, the widths of irrelevant features by a seventh.
    """
    X, y = problem()
    model = KernelSelectClassifierCV(kernel="ard", criterion="FLKL").fit(X, y)
    folds = draw_folds(60, 5, stream(0, "folds"))
    found = solved(X, y, folds, start=solved(X, y, folds, ard=False))
    np.testing.assert_allclose(model.kernel_.vector(), found.theta, rtol=1e-6, atol=1e-12)
    assert -model.best_score_ == pytest.approx(found.value)


def test_a_regression() -> None:
    X, _ = problem()
    model = KernelSelectRegressorCV(kernel="ard", criterion="FLKL").fit(X, np.sin(X[:, 1]))
    assert model.feature_relevances_.argmax() == 1
    assert model.score(X, np.sin(X[:, 1])) > 0.9


def test_a_classification_has_fewer_ridges_and_finds_smaller_ones_beyond_them() -> None:
    """Classes without noise want the smallest ridge: the grid is extended towards it."""
    X, _ = problem()
    noise = np.random.default_rng(1).normal(size=len(X))

    def ridges(model: KernelSelectClassifierCV) -> list[float]:
        return sorted(set(model.cv_results_["param_lam"]))

    noisy = KernelSelectClassifierCV(kernel="gaussian").fit(X, X[:, 1] + noise > 0)
    assert ridges(noisy)[0] == 1e-4
    apart = X + np.where(noise > 0, 9.0, -9.0)[:, None]
    with pytest.warns(EdgeWarning):
        clear = KernelSelectClassifierCV(kernel="gaussian").fit(apart, noise > 0)
    assert clear.best_params_["lam"] == ridges(clear)[0] == 1e-8
    regression = KernelSelectRegressorCV(kernel="gaussian").fit(X, X[:, 1] + noise)
    assert min(regression.cv_results_["param_lam"]) == 1e-7


def test_other_kernels_have_no_relevances() -> None:
    X, y = problem()
    model = KernelSelectClassifierCV(kernel="gaussian", lam=LAM).fit(X, y)
    assert not hasattr(model, "feature_relevances_")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"criterion": "FLKL"}, "use it with the kernel ard"),
        (
            {"kernel": "ard", "criterion": "GCV"},
            "quasi-newton minimises k-CV or ELOO or BR or k-KS",
        ),
        ({"kernel": "ard", "learner": "krr"}, "learned with the learner lssvm, not with krr"),
        ({"kernel": "ard", "ridge": "per-fold"}, "ridge must be fixed"),
        ({"kernel": "ard", "nystrom": 10}, "on all rows: leave out nystrom"),
        ({"kernel": "ard", "lam": 0.5}, "leave lam out"),
        ({"kernel": "ard", "tau": 2}, "the ard kernel has no parameter 'tau'"),
        ({"kernel": "ard", "loss": "zero-one"}, "loss squared only, not zero-one"),
    ],
)
def test_refused(given: dict[str, object], words: str) -> None:
    X, y = problem()
    with pytest.raises(ValueError, match=words):
        KernelSelectClassifierCV(**given).fit(X, y)


@pytest.mark.parametrize("kernel", ["ard", "laplacian-ard"])
@pytest.mark.parametrize("criterion", ["FLKL", "5-CV", "5-KS"])
def test_three_classes_share_one_kernel(criterion: str, kernel: str) -> None:
    """One kernel serves all classes; the feature that decides has the largest share."""
    X, y = problem()
    y = np.digitize(X[:, 1], [-0.5, 0.5])
    model = KernelSelectClassifierCV(kernel=kernel, criterion=criterion).fit(X, y)
    assert len(model.members_[0].fits) == 3
    assert model.feature_relevances_.argmax() == 1
    assert model.score(X, y) > 0.9


def test_several_targets_share_one_kernel() -> None:
    X, _ = problem()
    model = KernelSelectRegressorCV(kernel="ard", criterion="LOO")
    Y = np.column_stack([np.sin(X[:, 1]), np.cos(X[:, 1])])
    assert model.fit(X, Y).predict(X).shape == Y.shape
    assert model.feature_relevances_.argmax() == 1


@pytest.mark.parametrize(
    ("label", "name", "folds"),
    [("FLKL", "k-CV", 5), ("7-FLKL", "k-CV", 7), ("LOO", "ELOO", None), ("10-CV", "k-CV", 10)],
)
def test_names(label: str, name: str, folds: int | None) -> None:
    criterion, found = criterion_of(label)
    assert (criterion.name, found) == (name, folds)
    assert bool(FLKL.fullmatch(label)) == ("FLKL" in label)


def test_relevances_without_widths() -> None:
    np.testing.assert_array_equal(Ard((0.0, 0.0)).relevances(), [0.0, 0.0])
    np.testing.assert_array_equal(Ard((3.0, 1.0)).relevances(), [0.75, 0.25])


def write_rows(file: Path, X: Array, y: Array, names: list[str]) -> None:
    """Write a CSV file with these columns and a label."""
    lines = [",".join(map(repr, [*x.tolist(), int(t)])) for x, t in zip(X, y, strict=True)]
    file.write_text("\n".join([",".join([*names, "label"]), *lines]) + "\n")


def test_the_command_line(tmp_path: Path) -> None:
    """select prints sorted lines with bars, writes JSON and a picture, and shows Python code."""
    X, y = problem()
    file = tmp_path / "my.csv"
    write_rows(file, X, y, ["a", "b", "c"])
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
    """The picture shows the table's column names as plain text, and the ridge in six digits."""
    X, y = problem()
    file = tmp_path / "my $x^{$.csv"
    names = ["age", "$\\frac$", "sex"][: X.shape[1]] + [f"f{j}" for j in range(3, X.shape[1])]
    write_rows(file, X, y, names)
    plot = tmp_path / "r.svg"
    told = ["select", str(file), "--kernel", "ard", "--criterion", "FLKL", "--plot", str(plot)]
    shown = CliRunner().invoke(cli, told, catch_exceptions=False)
    drawn = plot.read_text()  # matplotlib writes every text as a comment next to its outlines
    assert all(f"<!-- {name} -->" in drawn for name in names)
    assert "my $x^{$.csv" in drawn
    assert "feature 1" not in drawn
    assert re.search(r"lam = \d[\d.e+-]{0,11} \(ridge", shown.output)


def bad_files() -> dict[str, tuple[Array, Array]]:
    """Draw awkward rows and labels that a file may hold."""
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
    """select prints relevances or a one-line error, never a warning."""
    X, y = bad_files()[name]
    file = tmp_path / "my.csv"
    write_rows(file, X, y, [f"f{j}" for j in range(X.shape[1])])
    told = ["select", str(file), "--kernel", "ard", "--criterion", criterion]
    shown = CliRunner().invoke(cli, told)
    if name == "equal rows" or (name == "two rows" and criterion in ("FLKL", "5-CV")):
        assert isinstance(shown.exception, KselectError)
        assert re.search("all rows are equal|need at least 5 rows", str(shown.exception))
        assert "\n" not in str(shown.exception)
    else:
        assert shown.exit_code == 0
        assert "f0" in shown.stdout
