"""The LSSVM at one ridge: its solution, its held-out errors, and their gradient."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles_flkl import (
    Array,
    derivative,
    differences,
    fit,
    gradient,
    held_out_errors,
    kernel,
    kernel_stability,
)

from kselect.errors import TrialError
from kselect.kernels.widths import OneWidth, WidthPerFeature
from kselect.learners.lssvm_errors import (
    ErrorFunction,
    KFoldErrors,
    LeaveOneOutErrors,
    LSSVMSolution,
    slope,
    stability_slope,
)
from kselect.numerics.folds import Folds, draw_folds


@given(st.integers(2, 12), st.floats(-3, 2), st.integers(0, 2**32 - 1))
def test_solves_the_system(n: int, power: float, seed: int) -> None:
    """alpha, b, P, ``projected`` and ``biases`` solve the system for several targets."""
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(n, 2)), rng.normal(size=(n, 3))
    K, lam = kernel(differences(X, X, one=True), np.array([0.5])), 10.0**power
    found = LSSVMSolution(K, Y[:, 0], lam)
    close = {"rtol": 1e-8, "atol": 1e-10 * n / lam}
    expected = [fit(K, y, lam) for y in Y.T]
    np.testing.assert_allclose(found.alpha, expected[0][0], **close)
    np.testing.assert_allclose(found.bias, expected[0][1], **close)
    np.testing.assert_allclose(found.projected(Y).T, [alpha for alpha, _ in expected], **close)
    np.testing.assert_allclose(found.biases(Y), [b for _, b in expected], **close)
    np.testing.assert_allclose(found.among(Y), Y.T @ found.projected(Y), **close)
    np.testing.assert_allclose(found.P @ Y, found.projected(Y), **close)
    np.testing.assert_allclose(found.P, found.P.T, rtol=0, atol=1e-15 * n / lam)


def test_keeps_the_kernel_matrix() -> None:
    """LAPACK works on a copy of K."""
    K = np.eye(3)
    LSSVMSolution(K, np.array([1.0, -1.0, 1.0]), 0.5)
    np.testing.assert_array_equal(K, np.eye(3))


def test_matrices_without_a_factor_are_named_failures() -> None:
    """An indefinite matrix and one with NaN are named failures."""
    y = np.array([1.0, -1.0])
    with pytest.raises(TrialError, match=r"K \+ 0.5 I is not positive definite"):
        LSSVMSolution(np.array([[0.0, 1.0], [1.0, 0.0]]), y, 0.5)
    with pytest.raises(TrialError, match=r"K \+ 0.5 I (is not positive|has no finite)"):
        LSSVMSolution(np.full((2, 2), np.nan), y, 0.5)


SIZES = [(40, 1), (40, 5), (90, 12), (200, 20)]


def problem(n: int, d: int, k: int) -> tuple[Array, Array, Folds]:
    """Return centred rows of two overlapping classes, and folds of different sizes."""
    rng = np.random.default_rng([n, d])
    X = rng.normal(size=(n, d))
    y = np.where(X[:, 0] + 0.7 * rng.normal(size=n) > 0, 1.0, -1.0)
    return X - X.mean(axis=0), y, draw_folds(n, k, rng)


def thetas(d: int, *, one: bool) -> Array:
    """Return widths of all sizes, every third at zero."""
    if one:
        return np.array([0.4 / d])
    theta = np.random.default_rng(d).exponential(size=d) / d
    theta[1::3] = 0.0
    return theta


@pytest.mark.parametrize(("n", "d"), SIZES)
@pytest.mark.parametrize("lam", [0.02, 1.0, 30.0])
def test_errors_are_those_of_retraining(n: int, d: int, lam: float) -> None:
    """LOO and 5-fold errors equal those of retrained models to 1e-10."""
    X, y, folds = problem(n, d, 5)
    K = kernel(differences(X, X, one=False), thetas(d, one=False))
    close = {"rtol": 1e-10, "atol": 1e-10}
    expected = held_out_errors(K, y, lam, [np.array([i]) for i in range(n)])
    np.testing.assert_allclose(LeaveOneOutErrors(K, y, lam).errors, expected, **close)
    expected = held_out_errors(K, y, lam, folds.members)
    np.testing.assert_allclose(KFoldErrors(K, y, lam, folds).errors, expected, **close)


@pytest.mark.parametrize(("n", "d"), SIZES)
@pytest.mark.parametrize("one", [True, False])
@pytest.mark.parametrize("kind", ["LOO", "5 folds"])
def test_slope(n: int, d: int, one: bool, kind: str) -> None:
    """All derivatives in theta and lam agree to 1e-6 of the largest, also at theta = 0."""
    X, y, folds = problem(n, d, 5)
    criterion: ErrorFunction = (
        LeaveOneOutErrors if kind == "LOO" else partial(KFoldErrors, folds=folds)
    )
    theta, lam = thetas(d, one=one), 0.3
    D = differences(X, X, one=one)

    def value(t: Array, ridge: float) -> float:
        return 0.5 * float(np.sum(criterion(kernel(D, t), y, ridge).errors ** 2))

    widths = OneWidth.of(X) if one else WidthPerFeature(X)
    found, _, slopes = slope(criterion, widths, y, theta, lam)
    expected = gradient(lambda t: value(t, lam), theta, 1e-4 / d)
    assert found[0] == pytest.approx(value(theta, lam), rel=1e-11)
    np.testing.assert_allclose(slopes[:-1], expected, rtol=0, atol=1e-6 * np.abs(expected).max())
    expected_lam = derivative(lambda ridge: value(theta, ridge), lam, 1e-3)
    assert slopes[-1] == pytest.approx(float(expected_lam), rel=1e-6)


def test_slope_of_the_definition() -> None:
    """The slope equals differences of retrained models."""
    X, y, folds = problem(40, 3, 4)
    theta, lam, D = thetas(3, one=False), 0.3, differences(X, X, one=False)

    def value(t: Array) -> float:
        return 0.5 * float(np.sum(held_out_errors(kernel(D, t), y, lam, folds.members) ** 2))

    *_, slopes = slope(partial(KFoldErrors, folds=folds), WidthPerFeature(X), y, theta, lam)
    expected = gradient(value, theta, 3e-5)
    np.testing.assert_allclose(slopes[:-1], expected, rtol=0, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize("kind", ["LOO", "folds", "mean of folds"])
def test_slope_with_a_penalty_and_several_targets(kind: str, balanced: bool) -> None:
    """Q, the stability of the kernel and their slopes are those of retraining, for targets of different sizes."""
    X, y, folds = problem(33, 3, 4)
    Y = np.column_stack([y, 3.0 * X[:, 1], X[:, 0] ** 2])
    theta, lam, eta, D = np.array([0.3, 0.1, 0.2]), 0.4, 0.7, differences(X, X, one=False)
    members = [np.array([i]) for i in range(33)] if kind == "LOO" else folds.members
    mean, count = kind == "mean of folds", len(folds.members)
    shares = np.ones(33)
    for F in folds.members if mean else ():
        shares[F] = 33 / (count * len(F))

    def squares(t: Array, ridge: float) -> Array:
        errors = [held_out_errors(kernel(D, t), one, ridge, members) for one in Y.T]
        return 0.5 * np.sum(shares * np.square(errors), axis=1)

    def value(t: Array, ridge: float) -> float:
        Q = squares(t, ridge)
        whole = here.sum() * np.mean(np.log(Q)) if balanced else Q.sum()
        return float(whole + 0.5 * eta * 3 * kernel_stability(kernel(D, t)))

    here = squares(theta, lam)
    errors: ErrorFunction = (
        LeaveOneOutErrors if kind == "LOO" else partial(KFoldErrors, folds=folds, by_folds=mean)
    )
    Q, penalty, slopes = slope(
        errors, WidthPerFeature(X), Y, theta, lam, eta=eta, balanced=balanced
    )
    np.testing.assert_allclose(Q, here, rtol=1e-10)
    assert penalty == pytest.approx(1.5 * eta * kernel_stability(kernel(D, theta)))
    expected = gradient(lambda t: value(t, lam), theta, 1e-4)
    np.testing.assert_allclose(slopes[:-1], expected, rtol=1e-6)
    by_lam = derivative(lambda ridge: value(theta, ridge), lam, 1e-4)
    assert slopes[-1] == pytest.approx(float(by_lam), rel=1e-6)


@pytest.mark.parametrize("order", [np.inf, 30.0, 1e5])
def test_slope_of_the_stability(order: float) -> None:
    """The stability is the largest norm of a difference, or near it for a finite order; S is its slope."""
    rng = np.random.default_rng(4)
    A, B = rng.normal(size=(2, 9, 4))

    def matrix(t: float) -> Array:
        return np.asarray(A @ A.T + t * (B @ B.T))

    beta, S = stability_slope(matrix(0.3), order)
    largest = kernel_stability(matrix(0.3))
    assert largest * (1.0 - 1e-12) <= beta <= largest * 9.0 ** (1.0 / order) * (1.0 + 1e-12)
    expected = derivative(lambda t: stability_slope(matrix(t), order)[0], 0.3, 1e-5)
    assert np.sum(S * (B @ B.T)) == pytest.approx(float(expected), rel=1e-7)
    nothing, flat = stability_slope(np.zeros((3, 3)), order)
    assert nothing == 0.0
    assert np.isfinite(flat).all()


def test_two_rows() -> None:
    """Each model predicts the label of the other row."""
    K, y = np.array([[1.0, 0.2], [0.2, 1.0]]), np.array([1.0, -1.0])
    np.testing.assert_allclose(LeaveOneOutErrors(K, y, 0.1).errors, [2.0, -2.0])
    folds = Folds.from_numbers(np.array([0, 1]))
    np.testing.assert_allclose(KFoldErrors(K, y, 0.1, folds).errors, [2.0, -2.0])


def test_a_single_row_is_refused() -> None:
    """A single row cannot be predicted."""
    with pytest.raises(TrialError, match="no other rows"):
        LeaveOneOutErrors(np.ones((1, 1)), np.ones(1), 0.1)
