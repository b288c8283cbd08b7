"""Squared distances, and the eigendecomposition with its fallback."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st
from oracles import EPS, STEPS, norm

from kselect.errors import TrialError
from kselect.numerics.linalg import (
    FAR_FROM_ZERO,
    Array,
    mirrored,
    squared_differences,
    squared_distances,
    symmetric_eigh,
)


def exact_distances(X: Array, Z: Array) -> Array:
    """Return distances in integer arithmetic: floats have powers of two as denominators."""
    unit = Fraction(1, 2**1100)
    rows, others = ([[int(Fraction(v) / unit) for v in row] for row in A.tolist()] for A in (X, Z))
    found = [[sum((a - b) ** 2 for a, b in zip(x, z, strict=True)) for z in others] for x in rows]
    return np.array([[float(v * unit * unit) for v in row] for row in found])


@given(st.integers(0, 2**32 - 1), st.floats(-4, 4), st.floats(-9, 9))
def test_squared_distances(seed: int, power: float, far: float) -> None:
    """Distances are off by at most (d + 3) eps of the largest, not negative, and 0 for equal rows.

    ``(|x| + |z|)^2`` is at most four times the longest row's square, which is at most
    ``FAR_FROM_ZERO`` times that of the largest distance.
    """
    rng = np.random.default_rng(seed)
    X, Z = (rng.normal(size=(n, 3)) * 10.0**power + 10.0**far for n in (6, 4))
    both = np.vstack([X, Z])
    largest = exact_distances(both, both).max()
    for other in (X, Z):
        (found, most, rounding), expected = squared_distances(X, other), exact_distances(X, other)
        assert (np.abs(found - expected) <= 4 * FAR_FROM_ZERO * 6 * EPS * largest).all()
        off = 6 * rounding
        assert (np.abs(found - expected) <= off).all()
        assert (found >= 0).all()
        assert most == found.max()
    assert (np.diagonal(squared_distances(X, X).squared) == 0).all()


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**30), st.integers(0, 20))
def test_squared_distances_do_not_depend_on_the_origin(seed: int, offset: int, digits: int) -> None:
    """Rows shifted exactly, also by 1e9, have the same distances."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 5))
    X, Z = (rng.integers(-999, 1000, size=(n, d)) / 2.0**digits for n in (7, 5))
    move = rng.integers(-offset, offset + 1, size=d).astype(np.float64)
    assert ((X + move) - move == X).all()
    both = np.vstack([X, Z])
    bound = 4 * FAR_FROM_ZERO * (d + 3) * EPS * exact_distances(both, both).max()
    for other in (X, Z):
        moved = X + move
        found = squared_distances(moved, moved if other is X else other + move).squared
        assert (np.abs(found - exact_distances(X, other)) <= bound).all()


@given(st.integers(0, 2**32 - 1), st.lists(st.floats(-9, 9), min_size=1, max_size=4))
def test_squared_differences_of_mixed_scales(seed: int, powers: list[float]) -> None:
    """Close rows among distant ones have a relative error of d + 2 roundings."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(8, len(powers))) * 10.0 ** np.array(powers)
    X[0] += 1e9
    X[1:3] = X[0] + rng.integers(0, 3, size=(2, len(powers)))
    expected = exact_distances(X, X[:5])
    bound = (len(powers) + 2) * EPS * expected
    assert (np.abs(squared_differences(X, X[:5]) - expected) <= bound).all()


def test_rows_near_zero_keep_every_bit() -> None:
    """Scaled features are not centred, so that results of experiments do not change."""
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(9, 4)) + 0.3, rng.normal(size=(5, 4)) + 0.3
    x, z = (np.einsum("ij,ij->i", A, A) for A in (X, Z))
    near = squared_distances(X, Z)
    np.testing.assert_array_equal(near.squared, -2.0 * (X @ Z.T) + x[:, None] + z)
    assert near.rounding == 2.0 * EPS * max(x.max(), z.max())
    far = squared_distances(X + 8.0, Z + 8.0)
    assert far.rounding < 2.0 * near.rounding
    assert far.squared == pytest.approx(near.squared, rel=1e-12)
    assert squared_distances(X, Z[:0]).squared.shape == (9, 0)


def random_kernel() -> Array:
    """Return a symmetric matrix."""
    A = np.random.default_rng(0).normal(size=(12, 12))
    return A @ A.T


def fails(*_: object, **__: object) -> None:
    """Raise the error that LAPACK raises occasionally."""
    raise np.linalg.LinAlgError("Eigenvalues did not converge")


@pytest.mark.parametrize("broken", [False, True])
def test_eigh(monkeypatch: pytest.MonkeyPatch, broken: bool) -> None:
    """Eigenvalues ascend and reproduce K to n eps ||K||, also if the first driver fails."""
    K = random_kernel()
    if broken:
        monkeypatch.setattr(np.linalg, "eigh", fails)
    s, U = symmetric_eigh(K)
    bound = STEPS * 12 * EPS
    assert (np.diff(s) >= 0).all()
    assert norm(U.T @ U - np.eye(12)) <= bound
    assert norm((U * s) @ U.T - K) <= bound * norm(K)


def test_failure_of_both_drivers(monkeypatch: pytest.MonkeyPatch) -> None:
    """If both drivers fail, the error is one line."""
    monkeypatch.setattr(np.linalg, "eigh", fails)
    monkeypatch.setattr(scipy.linalg, "eigh", fails)
    with pytest.raises(TrialError, match="no eigendecomposition: Eigenvalues did not converge"):
        symmetric_eigh(random_kernel())


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_eigh_refuses_nan(value: float) -> None:
    """A matrix with NaN or infinity has no eigendecomposition, and NaN is not passed on."""
    K = random_kernel()
    K[3, 4] = K[4, 3] = value
    with pytest.raises(TrialError, match="no eigendecomposition"):
        symmetric_eigh(K)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("n", [1, 63, 64, 150])
def test_mirrored(n: int, order: Literal["C", "F"]) -> None:
    """The upper half, whatever it holds, becomes the lower one, in place."""
    A = np.array(np.random.default_rng(n).normal(size=(n, n)), order=order)
    A[np.triu_indices(n, 1)] = np.nan
    expected = np.tril(A) + np.tril(A, -1).T
    expected[np.triu_indices(n, 1)] = np.tril(A, -1).T[np.triu_indices(n, 1)]
    assert mirrored(A) is A
    np.testing.assert_array_equal(A, expected)
