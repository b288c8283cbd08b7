"""Generated sets: their moments, the error that no classifier can go below, and their seeds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kselect.datasets.raetsch import (
    GENERATORS,
    MEAN,
    MIXED,
    WAVES,
    generate,
    ringnorm,
    three_waveforms,
    twonorm,
    waveform,
)
from kselect.datasets.splits import require_two_classes
from kselect.numerics.linalg import Array

ROWS = 200_000


def test_twonorm() -> None:
    """Two unit spheres, ``4`` apart: the half-space errs in ``Phi(-2)``."""
    X, y = twonorm(ROWS, np.random.default_rng(0))
    np.testing.assert_allclose((X * y[:, None]).mean(axis=0), MEAN, atol=0.01)
    np.testing.assert_allclose(np.cov((X - MEAN * y[:, None]).T), np.eye(20), atol=0.02)
    error = np.mean(np.sign(X.sum(axis=1)) != y)
    assert error == pytest.approx(0.5 * math.erfc(math.sqrt(2.0)), abs=0.0012)


def test_ringnorm() -> None:
    """A unit sphere inside one of twice the size; the best boundary is a sphere and errs in 1.25 %."""
    X, y = ringnorm(ROWS, np.random.default_rng(0))
    np.testing.assert_allclose(X[y > 0].mean(axis=0), MEAN, atol=0.02)
    np.testing.assert_allclose(X[y < 0].mean(axis=0), 0.0, atol=0.03)
    np.testing.assert_allclose(np.cov(X[y > 0].T), np.eye(20), atol=0.03)
    np.testing.assert_allclose(np.cov(X[y < 0].T), 4.0 * np.eye(20), atol=0.1)
    inside = np.sum((X - MEAN) ** 2, axis=1) - 0.25 * np.sum(X**2, axis=1) < 20.0 * math.log(4.0)
    assert np.mean(np.where(inside, 1.0, -1.0) != y) == pytest.approx(0.0125, abs=0.001)


def density(X: Array, label: int) -> Array:
    """The density of a waveform class up to a common factor, by the middle points of u."""
    a, b = WAVES[MIXED[label]]
    u = (np.arange(40)[:, None] + 0.5) / 40.0
    middle = u * a + (1.0 - u) * b
    exponents = (
        X @ middle.T - 0.5 * np.sum(middle**2, axis=1) - 0.25 * np.sum(X**2, axis=1)[:, None]
    )
    return np.asarray(np.exp(exponents).mean(axis=1))


def test_waveform() -> None:
    """The waves as Breiman drew them, and the errors of the best rules: 13.3 % of three classes, 8.2 % of two."""
    np.testing.assert_array_equal(WAVES[0][[4, 5, 10, 15, 16]], [0, 1, 6, 1, 0])
    np.testing.assert_array_equal(WAVES[1][4:], WAVES[0][:-4])
    np.testing.assert_array_equal(WAVES[2][:-4], WAVES[0][4:])
    X, classes = three_waveforms(20_000, np.random.default_rng(0))
    for label, mixed in enumerate(MIXED):
        expected = WAVES[mixed].mean(axis=0)
        np.testing.assert_allclose(X[classes == label].mean(axis=0), expected, atol=0.1)
    p = np.stack([density(X, label) for label in range(3)], axis=1)
    p /= p.sum(axis=1, keepdims=True)
    assert np.mean(1.0 - p.max(axis=1)) == pytest.approx(0.133, abs=0.004)
    assert np.mean(np.minimum(p[:, 1], 1.0 - p[:, 1])) == pytest.approx(0.082, abs=0.004)


def test_two_classes_of_waveform() -> None:
    """A third of the rows is +1: the class whose features rise first and fall last."""
    X, y = waveform(30_000, np.random.default_rng(0))
    assert np.mean(y > 0) == pytest.approx(1.0 / 3.0, abs=0.01)
    np.testing.assert_allclose(X[y > 0].mean(axis=0), WAVES[[0, 2]].mean(axis=0), atol=0.1)


@pytest.mark.parametrize("name", GENERATORS)
def test_sizes_and_seeds(name: str) -> None:
    """As in flkl2014's table 1; same seed, same rows; other seed, other rows."""
    X, y = generate(name)
    generator = GENERATORS[name]
    assert X.shape == (generator.train + generator.test, 21 if name.startswith("wave") else 20)
    assert set(np.unique(y).tolist()) == {-1.0, 1.0}
    require_two_classes(y[:50])
    np.testing.assert_array_equal(generate(name)[0], X)
    assert (generate(name, seed=1)[0] != X).all()


def test_names_are_drawn_apart() -> None:
    """The noise of one set is not that of another."""
    first, second = generate("twonorm-generated")[0], generate("ringnorm-generated")[0]
    assert abs(np.corrcoef(first[:, 0], second[:, 0])[0, 1]) < 0.05
