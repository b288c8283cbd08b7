"""The Laplacian kernel, entry by entry."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import oracles
import pytest
from oracles import Array
from problems import rows

from kselect.kernels import Points
from kselect.kernels.laplacian import Laplacian


def laplacian(width: float) -> Callable[[Array, Array], float]:
    """Return ``exp(-sum_j |x_j - z_j| / width)``."""
    return lambda x, z: math.exp(-sum(abs(a - b) for a, b in zip(x, z, strict=True)) / width)


@pytest.mark.parametrize("value", [0.25, 1.0, 64.0])
def test_every_entry(value: float) -> None:
    """The matrix between two sets of rows equals a double loop."""
    X, _ = rows(9)
    Z = X[:4] + 0.5
    expected = oracles.gram(laplacian(value), X, Z)
    np.testing.assert_allclose(Laplacian(value).gram(Points(X, Z)), expected, rtol=1e-12)


def test_translation_and_underflow() -> None:
    """An offset changes only rounding; far points give zero, never a subnormal number."""
    X, _ = rows(8)
    near = Laplacian(2.0).gram(Points(X))
    far = Laplacian(2.0).gram(Points(X + 2.0**20))
    np.testing.assert_allclose(near, far, rtol=1e-8)
    apart = Laplacian(1e-3).gram(Points(np.array([[0.0], [1.0]])))
    np.testing.assert_array_equal(apart, np.eye(2))


def test_regularised_parameter() -> None:
    """BR penalises the factor of the distance."""
    assert Laplacian(4.0).regularised() == (0.25,)
