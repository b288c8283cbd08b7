"""The LSSVM at one ridge: its linear system, P, and a matrix that cannot be factorised."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles_flkl import differences, fit, kernel

from kselect.errors import TrialError
from kselect.learners.lssvm_errors import LSSVMSolution


@given(st.integers(2, 12), st.floats(-3, 2), st.integers(0, 2**32 - 1))
def test_solves_the_system(n: int, power: float, seed: int) -> None:
    """alpha, b and, for more targets, ``projected`` and ``biases``; P as a matrix."""
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
    """LAPACK works on a copy."""
    K = np.eye(3)
    LSSVMSolution(K, np.array([1.0, -1.0, 1.0]), 0.5)
    np.testing.assert_array_equal(K, np.eye(3))


def test_names_what_cannot_be_factorised() -> None:
    """Indefinite, or not a number."""
    y = np.array([1.0, -1.0])
    with pytest.raises(TrialError, match=r"K \+ 0.5 I is not positive definite"):
        LSSVMSolution(np.array([[0.0, 1.0], [1.0, 0.0]]), y, 0.5)
    with pytest.raises(TrialError, match=r"K \+ 0.5 I (is not positive|has no finite)"):
        LSSVMSolution(np.full((2, 2), np.nan), y, 0.5)
