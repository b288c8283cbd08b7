"""The sums that stand in for small differences: when they do, and what they are of."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from kselect.learners.small_terms import (
    EPS,
    SMALL,
    Fitted,
    Sums,
    bias,
    closed_form_rounding,
    doubtful,
    in_blocks,
    in_parts,
    products,
    put,
    row_by_row,
    sums_of_others,
)
from kselect.numerics.linalg import Array

RNG = np.random.default_rng(0)


def fitted(K: Array) -> Fitted:
    """A fit of which only the kernel is asked."""
    n = len(K)
    one, many = np.ones(1), np.ones((1, n))
    return Fitted(K, np.ones(n), one, many, lambda _, v: v, one, one, True)


def test_sums_add_values_and_sizes() -> None:
    """Terms of either sign: their size is that of what was added, not of what is left."""
    K, a = RNG.normal(size=(4, 3)), RNG.normal(size=(2, 3))
    one, two = products(K, a), products(-K, a)
    assert one.values == pytest.approx(a @ K.T)
    assert one.size == pytest.approx(sum(np.abs(a[:, [j]] * K[:, j]) for j in range(3)))
    assert (one + two).values == pytest.approx(0.0, abs=1e-15)
    assert (one + two).size == pytest.approx(2 * one.size)
    pairs = row_by_row(K[:2], a)
    assert pairs.values == pytest.approx(np.diagonal(one.values[:, :2]))
    assert pairs.column.size[:, 0] == pytest.approx(np.diagonal(one.size[:, :2]))


def test_what_is_within_the_rounding_of_its_terms_is_zero() -> None:
    """One rounding of the terms' size, not of y; a sum of small terms may be as small as it likes."""
    sums = Sums(np.array([EPS, -EPS, 3 * EPS, 1e-300]), np.array([1.0, 1.0, 1.0, 1e-290]))
    assert sums.settled.tolist() == [0.0, 0.0, 3 * EPS, 1e-300]


def test_doubt_is_relative_to_y_and_the_error() -> None:
    """At 1e-12 of them each ridge has its own rounding."""
    values = np.array([[1e-12, 1e-9], [1e-12, 1e-9]])
    found = doubtful(np.array([1.0, -1.0]), values, np.array([1e-13, 1e-11]))
    assert found.tolist() == [[False, False], [True, False]]


def test_only_what_is_in_doubt_and_has_small_terms_is_replaced() -> None:
    """Small terms: their sum. Large ones: the difference stays, or is 0 where it is its own rounding."""
    y, closed = np.ones(5), np.array([[1e-15, 1e-15, EPS, 1e-15, 0.5]])
    small = Sums(np.full((1, 5), 1e-20), np.array([[1e-18, 1.0, 1.0, 1e-18, 1e-18]]))
    doubt = np.array([[True, True, True, False, False]])
    put(y, closed, np.ix_([0], np.arange(5)), small, doubt)
    assert closed.tolist() == [[1e-20, 1e-15, 0.0, 1e-15, 0.5]]


def test_nothing_is_replaced_by_what_is_no_number() -> None:
    """An infinite bound, as at ridges of 1e-300."""
    y, closed = np.ones(2), np.array([[1e-13, 1e-13]])
    small = Sums(np.array([[np.nan, 1.0]]), np.array([[np.nan, np.inf]]))
    put(y, closed, np.ix_([0], [0, 1]), small, np.array([[True, True]]))
    assert closed.tolist() == [[1e-13, 1e-13]]


def test_rounding_grows_with_the_condition_number_and_the_bias() -> None:
    """Up to ``SMALL``; infinite condition numbers are no warning."""
    largest, least = np.array([1.0, 1.0, 1.0]), np.array([1.0, 1e-6, 0.0])
    plain = closed_form_rounding(10, largest, least, None)
    assert plain[1] == pytest.approx(1e6 * plain[0])
    assert 10 * EPS <= plain[0] < 1e-13
    assert plain[2] == SMALL
    with_bias = closed_form_rounding(10, largest, least, np.array([10.0, 1.0, 1.0]))
    assert with_bias[0] == pytest.approx(3.0 * plain[0])
    assert with_bias[1] > 1e3 * plain[1]


def test_column_sums_leave_out_the_diagonal() -> None:
    """Without the rounding of 1: entries of 1e-20 are seen beside it; whatever block they are in."""
    K = np.eye(600) + 1e-20 * (1.0 - np.eye(600))
    found = fitted(K).all_column_sums()
    assert found == pytest.approx(599e-20, rel=1e-12, abs=0.0)
    folds = [np.arange(0, 200), np.arange(200, 599), np.array([599])]
    outside = fitted(K).column_sums_outside(folds)
    assert outside[2, :599] == pytest.approx(598e-20, rel=1e-12, abs=0.0)
    assert outside[0, 0] == pytest.approx(400e-20, rel=1e-12, abs=0.0)


def test_sums_of_others_do_not_take_off_a_total() -> None:
    """A part of 1 leaves nothing behind in the sum of those of 1e-20."""
    parts = [1e-20, 1.0, 2e-20]
    found = sums_of_others([partial(np.full, 2, v) for v in parts])
    assert found[:, 0].tolist() == [1.0 + 2e-20, 1e-20 + 2e-20, 1.0]
    assert found.shape == (3, 2)


def test_the_bias_solves_the_first_equation() -> None:
    """``b = mean(z - (K - kappa I) a)`` for coefficients that add up to 0."""
    a = RNG.normal(size=(2, 5))
    a -= a.mean(axis=1, keepdims=True)
    K = RNG.normal(size=(5, 5))
    K += K.T
    z = RNG.normal(size=5)
    found = bias(z.sum(), products(fitted(K).all_column_sums()[None], a), 5)
    assert found.values[:, 0] == pytest.approx((z - a @ K.T).mean(axis=1))


def test_parts_and_blocks_cover_everything() -> None:
    """Nothing twice, nothing empty, nothing of nothing."""
    assert in_blocks(0) == []
    assert np.concatenate(in_blocks(1000)).tolist() == list(range(1000))
    pairs = np.argwhere(np.ones((3, 4)))
    assert in_parts(pairs[:0], 10) == []
    for width in (1, 10**6):
        parts = in_parts(pairs, width)
        assert np.concatenate(parts, axis=1).T.tolist() == pairs.tolist()
        assert all(len(part[0]) for part in parts)
