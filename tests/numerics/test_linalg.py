"""Squared distances and the eigendecomposition with its second try."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st
from oracles import EPS, STEPS, norm

from kselect.errors import TrialError
from kselect.numerics.linalg import Array, squared_distances, symmetric_eigh


@given(st.integers(0, 2**32 - 1), st.floats(-4, 4))
def test_squared_distances(seed: int, power: float) -> None:
    """Each is off by (d + 3) eps of |x|^2 + |z|^2, is not negative, and 0 from a row to itself."""
    rng = np.random.default_rng(seed)
    X, Z = (rng.normal(size=(n, 3)) * 10.0**power + 5.0 for n in (6, 4))
    for other in (X, Z):
        found = squared_distances(X, other)
        expected = np.array([[sum((x - z) ** 2) for z in other] for x in X])
        size = (X**2).sum(axis=1)[:, None] + (other**2).sum(axis=1)[None, :]
        assert (np.abs(found - expected) <= 2 * 6 * EPS * size).all()
        assert (found >= 0).all()
    assert (np.diagonal(squared_distances(X, X)) == 0).all()


def random_kernel() -> Array:
    """A symmetric matrix."""
    A = np.random.default_rng(0).normal(size=(12, 12))
    return A @ A.T


def fails(*_: object, **__: object) -> None:
    """What LAPACK does now and then."""
    raise np.linalg.LinAlgError("Eigenvalues did not converge")


@pytest.mark.parametrize("broken", [False, True])
def test_eigh(monkeypatch: pytest.MonkeyPatch, broken: bool) -> None:
    """Ascending, orthonormal, and K again, also where the first driver fails; within n eps ||K||."""
    K = random_kernel()
    if broken:
        monkeypatch.setattr(np.linalg, "eigh", fails)
    s, U = symmetric_eigh(K)
    bound = STEPS * 12 * EPS
    assert (np.diff(s) >= 0).all()
    assert norm(U.T @ U - np.eye(12)) <= bound
    assert norm((U * s) @ U.T - K) <= bound * norm(K)


def test_eigh_without_any_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where both drivers fail, one line says so."""
    monkeypatch.setattr(np.linalg, "eigh", fails)
    monkeypatch.setattr(scipy.linalg, "eigh", fails)
    with pytest.raises(TrialError, match="no eigendecomposition: Eigenvalues did not converge"):
        symmetric_eigh(random_kernel())


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_eigh_of_no_numbers(value: float) -> None:
    """A matrix with NaN or infinity has no eigendecomposition, and NaN does not go on silently."""
    K = random_kernel()
    K[3, 4] = K[4, 3] = value
    with pytest.raises(TrialError, match="no eigendecomposition"):
        symmetric_eigh(K)
