"""The unit of the features, in and out."""

from __future__ import annotations

import numpy as np

from kselect.search.continuous import Unit


def test_z_scored_features_stay_as_they_are() -> None:
    """The unit is theirs."""
    X = np.random.default_rng(0).normal(size=(30, 3))
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    unit = Unit.of(X)
    np.testing.assert_allclose(unit.X, X, rtol=1e-12, atol=1e-14)
    assert abs(unit.square - 1.0) < 1e-12


def test_constant_features_are_left_out() -> None:
    """They have no width, and come back with a theta of zero."""
    X = np.random.default_rng(0).normal(size=(30, 3))
    X[:, 1] = 4.0
    unit = Unit.of(X)
    assert unit.features == unit.widths(ard=True).size == 2
    theta = unit.outside(np.array([1.0, 2.0]), ard=True)
    np.testing.assert_allclose(theta * unit.square, [1.0, 0.0, 2.0])
    np.testing.assert_allclose(unit.inside(theta, 2), [1.0, 2.0])


def test_one_width_for_all() -> None:
    """Spread over the varying features, and a single number outside."""
    unit = Unit.of(np.random.default_rng(0).normal(size=(30, 3)))
    np.testing.assert_allclose(unit.inside(np.array([0.5]), 3), np.full(3, 0.5 * unit.square))
    np.testing.assert_allclose(unit.outside(np.array([0.5]), ard=False), [0.5 / unit.square])
