"""The sums in derivatives by widths, against the n-by-n-by-d array."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles_flkl import Array, differences, kernel

from kselect.kernels import widths as module
from kselect.kernels.widths import (
    AbsoluteWidthPerFeature,
    KernelWidths,
    OneWidth,
    WidthPerFeature,
)


def made(X: Array, *, one: bool, absolute: bool = False) -> KernelWidths:
    """Return all rows against all rows."""
    if one:
        return OneWidth.of(X, absolute=absolute)
    return AbsoluteWidthPerFeature(X) if absolute else WidthPerFeature(X)


def some(seed: int, n: int, d: int) -> tuple[np.random.Generator, Array, Array]:
    """Return rows and symmetric weights."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, n))
    return rng, rng.normal(size=(n, d)), A + A.T


@given(*(st.integers(2, 9), st.integers(1, 6)), *[st.booleans()] * 2, st.integers(0, 2**32 - 1))
def test_sums(n: int, d: int, one: bool, absolute: bool, seed: int) -> None:
    """``gram``, ``totals`` and ``moments`` equal their sums, for all rows and for some against others."""
    rng, X, _ = some(seed, n, d)
    rows, columns = rng.permutation(n)[: max(1, n // 2)], rng.permutation(n)[: max(1, n - 1)]
    found = made(X, one=one, absolute=absolute).part(rows, columns)
    D = differences(X[rows], X[columns], one=one, absolute=absolute)
    W, a = rng.normal(size=D.shape[1:]), rng.normal(size=D.shape[2])
    theta = rng.exponential(size=found.size) * rng.integers(0, 2, size=found.size)
    near = {"rtol": 1e-11, "atol": 1e-11}
    np.testing.assert_allclose(found.gram(theta), kernel(D, theta), **near)
    np.testing.assert_allclose(found.totals(W), np.einsum("ij,rij->r", W, D), **near)
    applied = found.moments(W, a).applied
    np.testing.assert_allclose(applied, np.einsum("ij,rij,j->ir", W, D, a), **near)


@given(*(st.integers(2, 9), st.integers(1, 6)), *[st.booleans()] * 2, st.integers(0, 2**32 - 1))
def test_sums_of_pairs(n: int, d: int, one: bool, absolute: bool, seed: int) -> None:
    """The sums are ``a' (K o D_r o D_s) a`` over some of the widths, or none."""
    rng, X, K = some(seed, n, d)
    found, a = made(X, one=one, absolute=absolute), rng.normal(size=n)
    D = differences(X, X, one=one, absolute=absolute)
    among = np.flatnonzero(rng.integers(0, 2, size=found.size))
    expected = np.einsum("i,ij,rij,sij,j->rs", a, K, D[among], D[among], a)
    np.testing.assert_allclose(
        found.moments(K, a).pairs(among),
        expected,
        atol=1e-11 * (1.0 + np.abs(expected).max(initial=0)),
    )


def test_pairs_in_several_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Multiplying the products of features in chunks gives the same sums."""
    rng, X, K = some(1, 8, 5)
    a, among = rng.normal(size=8), np.arange(5)
    whole = WidthPerFeature(X).moments(K, a).pairs(among)
    monkeypatch.setattr(module, "COLUMNS", 4)
    np.testing.assert_allclose(WidthPerFeature(X).moments(K, a).pairs(among), whole, rtol=1e-12)


def test_absolute_differences_in_several_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of rows give the same sums."""
    rng, X, W = some(1, 8, 3)
    a, among = rng.normal(size=8), np.arange(3)

    def sums() -> list[Array]:
        found = AbsoluteWidthPerFeature(X)
        moments = found.moments(W, a)
        return [found.totals(W), moments.applied, moments.pairs(among)]

    whole = sums()
    monkeypatch.setattr(module, "DISTANCES", 24 * 3)
    for one, other in zip(sums(), whole, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("absolute", [True, False])
@pytest.mark.parametrize("one", [True, False])
def test_no_subnormal_numbers(one: bool, absolute: bool) -> None:
    """The matrix has no subnormal numbers, which would make it a hundred times slower."""
    X = np.random.default_rng(0).normal(size=(9, 2)) * (3000.0 if absolute else 30.0)
    found = made(X, one=one, absolute=absolute)
    assert found.gram(np.ones(found.size)).min() >= 1e-100
