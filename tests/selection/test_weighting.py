"""Weights of rows and classes in a selection: equal to repeated rows, and formed from the training rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from problems import rows
from sklearn.utils.class_weight import compute_class_weight

from kselect.errors import ConfigError
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array
from kselect.numerics.weights import Weights
from kselect.selection.engine import select
from kselect.selection.held_out import HeldOut
from kselect.selection.request import Request, make_kernels, make_request
from kselect.selection.rows.weighting import Weighting, check_weights, class_weights

N = 36
X, Y = rows(N, seed=5)
COUNTS = np.random.default_rng(2).integers(1, 4, N)
FOLDS = Folds.from_numbers(np.arange(N) * 5 % 4)


def request(learner: str, criterion: str = "4-CV", **more: Any) -> Request:
    """Return a request over few candidates."""
    kernel = more.pop("kernel", "gaussian")
    grids = {"tau": "1,4"} if kernel == "gaussian" else {}
    task = "regression" if learner == "quadratic-svr" else "classification"
    found = make_request(
        *(learner, criterion, kernel, make_kernels(kernel, grids), "0.003,0.03"),
        task=more.pop("task", task),
        params={},
        loss=more.pop("loss", None),
        nystrom=more.pop("nystrom", None),
    )
    return replace(found, **more)


def target_of(learner: str) -> Array:
    """Return (1, n) targets that suit a learner."""
    return (X[:, 0] + Y if learner == "quadratic-svr" else Y)[None]


@pytest.mark.parametrize(
    ("learner", "more"),
    [
        ("krr", {}),
        ("lssvm", {}),
        ("lssvm", {"loss": "zero-one"}),
        ("lssvm", {"ridge": "per-fold"}),
        ("lssvm", {"kernel": "linear"}),
        ("krr", {"kernel": "linear", "loss": "zero-one"}),
        ("svm", {}),
        ("smooth-hinge", {}),
        ("quadratic-svr", {}),
    ],
)
def test_weights_equal_repeated_rows_in_a_selection(learner: str, more: Any) -> None:
    targets, again = target_of(learner), np.repeat(np.arange(N), COUNTS)
    asked = request(learner, **more)
    folds = Folds.from_numbers(FOLDS.numbers[again])
    weighted = replace(asked, weights=Weights.of(COUNTS.astype(float)))
    # The ridge n lam counts rows: the same function has lam in both.
    once = select(X, targets, weighted, FOLDS)
    often = select(X[again], targets[:, again], asked, folds)
    assert once.best.point == often.best.point
    np.testing.assert_allclose(once.scores, often.scores, atol=1e-9)
    first = np.cumsum(COUNTS) - COUNTS
    one, many = HeldOut(once, X, targets, FOLDS), HeldOut(often, X[again], targets[:, again], folds)
    np.testing.assert_allclose(one.decisions, many.decisions[:, first], atol=1e-9)
    np.testing.assert_allclose(one.quality.value, many.quality.value, atol=1e-9)
    np.testing.assert_allclose(one.quality.trivial, many.quality.trivial, atol=1e-9)
    if learner != "quadratic-svr":
        np.testing.assert_allclose(one.slope, many.slope, rtol=1e-7)
    plain = select(X, targets, asked, FOLDS)
    assert np.abs(plain.scores - once.scores).max() > 1e-4


def test_columns_weigh_rows_as_the_exact_kernel_does() -> None:
    weights = Weights.of(np.random.default_rng(0).uniform(0.3, 3.0, N))
    exact = select(X, Y[None], request("lssvm", weights=weights), FOLDS)
    columns = select(X, Y[None], request("lssvm", weights=weights, nystrom=N), FOLDS)
    np.testing.assert_allclose(columns.scores, exact.scores, rtol=1e-6)
    by_loo = request("krr", "ELOO", weights=weights)
    loo = select(X, Y[None], by_loo, None), select(X, Y[None], replace(by_loo, nystrom=N), None)
    np.testing.assert_allclose(loo[1].scores, loo[0].scores, rtol=1e-6)


@pytest.mark.parametrize(
    ("label", "learner", "words"),
    [
        ("GCV", "krr", "GCV has no form for weights of rows or classes"),
        ("BR", "lssvm", "BR has no form for weights"),
        ("4-KS", "lssvm", "4-KS has no form for weights"),
        ("BIF-4-CV", "lssvm", "BIF-4-CV has no form for weights"),
    ],
)
def test_criteria_without_a_form_refuse_weights(label: str, learner: str, words: str) -> None:
    weights = Weights.of(COUNTS.astype(float))
    with pytest.raises(ConfigError, match=words):
        select(X, Y[None], request(learner, label, weights=weights), FOLDS)


def test_balanced_weights_are_those_of_scikit_learn() -> None:
    own = np.array([0] * 20 + [1] * 12 + [2] * 4)
    targets = np.where(own == np.arange(3)[:, None], 1.0, -1.0)
    found = class_weights("balanced", ["a", "b", "c"])
    assert found is not None
    wanted = compute_class_weight("balanced", classes=np.arange(3), y=own)
    np.testing.assert_allclose(found.of_rows(targets, None), wanted[own])
    # Weights given count as rows, and a part of the rows balances itself.
    given = np.random.default_rng(0).integers(1, 4, 36).astype(float)
    many = np.repeat(own, given.astype(int))
    wanted = compute_class_weight("balanced", classes=np.arange(3), y=many)
    np.testing.assert_allclose(found.of_rows(targets, given), wanted[own] * given)
    rows_ = np.arange(10, 36)
    part = Weighting(None, found).part(rows_).of(targets[:, rows_])
    assert part is not None
    wanted = compute_class_weight("balanced", classes=np.arange(3), y=own[rows_])
    np.testing.assert_allclose(part.given, wanted[own[rows_]])


def test_class_weights_by_name() -> None:
    targets = np.array([[1.0, -1, 1, -1]])
    for asked in ("no=2,yes=5", {"no": 2, "yes": 5}):
        found = class_weights(asked, ["no", "yes"])
        assert found is not None
        np.testing.assert_array_equal(found.of_rows(targets, None), [5, 2, 5, 2])
    found = class_weights({1: 3.0}, [0, 1])
    assert found is not None
    np.testing.assert_array_equal(found.of_rows(targets, None), [3, 1, 3, 1])
    assert class_weights(None, ["no", "yes"]) is None


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("no=2,maybe=1", "no class 'maybe'"),
        ("no=0", "is not a positive number"),
        ("no", "'no'; write balanced, or a weight per class, as in a=1,b=5"),
        ("no=2,no=3", "two for 'no'"),
        (3, "3; write balanced"),
        ({"no": "2"}, "'2' of no is not a positive number"),
    ],
)
def test_wrong_class_weights_are_refused_in_one_line(asked: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        class_weights(asked, ["no", "yes"])


def test_class_weights_of_a_regression_are_refused() -> None:
    with pytest.raises(ConfigError, match="class weights are for classification"):
        class_weights("balanced", ())


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1.0, -1.0, 1.0], "finite and not negative, not -1"),
        ([1.0, np.nan, 1.0], "finite and not negative, not nan"),
        ([1.0, 2.0], r"shape \(2,\) for 3 rows"),
        ([0.0, 0.0, 1.0], "all weights but 1 are zero"),
        (["a", "b", "c"], "not numbers"),
    ],
)
def test_wrong_weights_are_refused_in_one_line(values: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        check_weights(values, 3)
