"""Scaling: what is fitted on which rows, constant columns, and numbers near the largest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import EPS

from kselect.datasets.prepare import fit_scale, scale_rows
from kselect.numerics.linalg import Array

SCALES = pytest.mark.parametrize("scale", ["zscore", "minmax", "none"])


def drawn(seed: int, n: int = 20) -> Array:
    """Columns of different place and width."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 4)) * [1.0, 100.0, 1e-3, 5.0] + [0.0, 50.0, 3.0, -7.0]


@given(st.integers(0, 2**32 - 1))
def test_zscore(seed: int) -> None:
    """Mean 0 and the population's standard deviation 1; a shift costs eps |mean| / sd."""
    X = drawn(seed)
    Z = scale_rows(X, "zscore", X)
    bound = 20 * EPS * (1 + np.abs(X).max(axis=0) / X.std(axis=0)) * 4
    assert (np.abs(Z.mean(axis=0)) <= bound).all()
    assert (np.abs(np.sqrt((Z**2).sum(axis=0) / 20) - 1) <= bound).all()


@given(st.integers(0, 2**32 - 1))
def test_minmax(seed: int) -> None:
    """Onto [-1, 1], both ends reached."""
    X = drawn(seed)
    Z = scale_rows(X, "minmax", X)
    bound = 4 * EPS * (1 + np.abs(X).max(axis=0) / np.ptp(X, axis=0)) * 4
    assert (np.abs(Z.min(axis=0) + 1) <= bound).all()
    assert (np.abs(Z.max(axis=0) - 1) <= bound).all()


def test_none_changes_nothing() -> None:
    """The same numbers, but not the caller's array."""
    X = drawn(0)
    Z = scale_rows(X, "none", X)
    np.testing.assert_array_equal(Z, X)
    assert not np.shares_memory(Z, X)


@pytest.mark.parametrize("scale", ["zscore", "minmax"])
def test_fitted_on_the_given_rows(scale: Any) -> None:
    """Training rows: they come out scaled, the others by the same shift and divisor."""
    X = drawn(1)
    on_train, on_all = scale_rows(X, scale, X[:12]), scale_rows(X, scale, X)
    np.testing.assert_array_equal(on_train[:12], scale_rows(X[:12], scale, X[:12]))
    assert np.abs(on_train - on_all).max() > 1e-3
    moved = X.copy()
    moved[12:] += 1000.0
    np.testing.assert_array_equal(scale_rows(moved, scale, X[:12])[:12], on_train[:12])
    assert np.abs(scale_rows(moved, scale, moved)[:12] - on_all[:12]).max() > 1e-3


@pytest.mark.parametrize("scale", ["zscore", "minmax"])
@pytest.mark.parametrize("value", [0.0, 0.1, -3.0, 1e308, 5e-324])
def test_constant_column_is_exactly_zero(scale: Any, value: float) -> None:
    """No division by zero, and no rounding of the mean blown up to ones."""
    X = drawn(2)
    X[:, 1] = value
    Z = scale_rows(X, scale, X)
    np.testing.assert_array_equal(Z[:, 1], 0.0)
    assert np.isfinite(Z).all()


@pytest.mark.parametrize("scale", ["zscore", "minmax"])
def test_constant_in_training_only(scale: Any) -> None:
    """What varies in the test rows alone is shifted and not stretched."""
    X = np.array([[2.0], [2.0], [5.0]])
    np.testing.assert_array_equal(scale_rows(X, scale, X[:2]), [[0.0], [0.0], [3.0]])


@SCALES
@pytest.mark.parametrize("power", [-1000, -500, 500, 1000])
def test_units_do_not_matter(scale: Any, power: int) -> None:
    """A power of two as the unit gives the same scaled rows, to the last bits; no overflow, no warning."""
    X = np.random.default_rng(3).normal(size=(20, 2))
    Z, expected = (scale_rows(A, scale, A) for A in (np.ldexp(X, power), X))
    if scale != "none":
        np.testing.assert_allclose(Z, expected, rtol=1e-12)


@SCALES
def test_huge_values(scale: Any) -> None:
    """1e308 of both signs: finite and in the order that they had."""
    X = np.array([[1.7e308, 1.0], [-1.7e308, 2.0], [1e308, 3.0], [0.0, 4.0]])
    Z = scale_rows(X, scale, X)
    assert np.isfinite(Z).all()
    np.testing.assert_array_equal(np.argsort(Z[:, 0]), np.argsort(X[:, 0]))
    if scale == "zscore":
        np.testing.assert_allclose(
            Z, scale_rows(X * [1e-300, 1.0], scale, X * [1e-300, 1.0]), rtol=1e-12
        )


@pytest.mark.parametrize("scale", ["zscore", "minmax"])
def test_shift_and_divisor(scale: Any) -> None:
    """What fit_scale says is what scale_rows does."""
    X = drawn(4)
    shift, divisor = fit_scale(X, scale)
    np.testing.assert_allclose(scale_rows(X, scale, X), (X - shift) / divisor, rtol=1e-15)
