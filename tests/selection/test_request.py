"""Names, grids and folds as users give them, turned into a request."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kselect.core.method import Choice
from kselect.criteria import CRITERIA
from kselect.errors import ConfigError
from kselect.kernels import KERNELS
from kselect.kernels.polynomial import Linear, Polynomial
from kselect.learners import find_learner
from kselect.selection.request import (
    LAM,
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
    """Every kernel brings its own, and select makes a flag of each parameter."""
    assert len(make_kernels("gaussian", {})) == 15
    assert len(make_kernels("polynomial", {"tau": None})) == 5
    assert len(make_lams(LAM)) == 9
    assert kernel_grids() == {
        "tau": {"gaussian": "2^-6:2^8"},
        "width": {"laplacian": "2^-3:2^9"},
        "degree": {"polynomial": "1:5"},
    }
    for name, cls in KERNELS.items():
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
        ("linear", {"tau": "2"}, "the linear kernel has no parameter 'tau'; it has none"),
        ("polynomial", {"degree": "1.5"}, "degree must be a whole number, not 1.5"),
        ("gausian", {"tau": "1"}, r"unknown kernel 'gausian'; did you mean 'gaussian'\?"),
    ],
)
def test_kernels_that_cannot_be(name: str, grids: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        make_kernels(name, grids)


@pytest.mark.parametrize(
    ("grid", "said"),
    [("0", "lam must be positive, not 0"), ("1,-1", "not -1"), ("x", "lam: 'x' is not a number")],
)
def test_ridges_that_cannot_be(grid: str, said: str) -> None:
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
def test_methods_that_cannot_be(
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
    """The folds are those of the numbers, whichever is the first."""
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


def test_no_folds() -> None:
    method = make_method("ELOO", None, {}, True)
    assert make_folds(method, 20, 0, None) is None
    with pytest.raises(ConfigError, match="ELOO has no folds: leave them out"):
        make_folds(method, 3, 0, np.array([0, 1, 2]))


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ([0, 1, 2, 0], "4 fold numbers for 5 rows"),
        ([0, 0, 2, 2, 0], "3-CV has 3 folds; no row is in fold 1"),
        ([0, 1, 1, 1, 0], "3-CV has 3 folds; no row is in fold 2"),
        ([1, 2, 2, 1, 1], "3-CV has 3 folds; no row is in fold 3"),
        ([0, 0, 0, 0, 0], "no row is in fold 1"),
        ([0, 1, 2, 3, 0], "3-CV takes fold numbers 0 to 2, or 1 to 3; 3 is not one"),
        ([1, 2, 3, 4, 1], "4 is not one"),
        ([2, 3, 4, 2, 2], "3 is not one"),
        ([0, 1, -1, 2, 0], "-1 is not one"),
        ([0, 1, 2, 10**15, 0], "1000000000000000 is not one"),
    ],
)
def test_fold_numbers_that_cannot_be(numbers: list[int], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        make_folds(CV, 5, 0, np.array(numbers))


def test_more_folds_than_rows() -> None:
    with pytest.raises(ConfigError, match="3 folds need at least 3 rows, not 2"):
        make_folds(CV, 2, 0, None)


def test_parameters_of_a_learner_and_of_a_criterion_are_told_apart() -> None:
    """What neither has is left for the criterion, whose error names the nearest."""
    learner = find_learner("quadratic-svr")
    rest, own = split_parameters(learner, "5-KS", {"eta": "2", "eps": "0.5", "etta": "1"})
    assert rest == {"eta": "2", "etta": "1"}
    assert own == Choice("quadratic-svr", (("eps", 0.5),))
    assert split_parameters(learner, "5-CV", {})[1].params == (("eps", 0.1),)
    assert split_parameters(find_learner("krr"), "5-CV", {"eps": "1"}) == (
        {"eps": "1"},
        Choice("krr"),
    )
