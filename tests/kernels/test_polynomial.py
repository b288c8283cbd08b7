"""The linear and the polynomial kernel, entry by entry."""

from __future__ import annotations

import numpy as np
import oracles
import pytest
from problems import rows

from kselect.kernels import Points
from kselect.kernels.polynomial import Linear, Polynomial


@pytest.mark.parametrize("value", [1, 2, 5])
def test_every_entry(value: float) -> None:
    """The matrix between two sets of rows equals a double loop."""
    X, _ = rows(9)
    Z = X[:4] + 0.5
    expected = oracles.gram(oracles.polynomial(int(value)), X, Z)
    np.testing.assert_allclose(Polynomial(value).gram(Points(X, Z)), expected, rtol=1e-12)


def test_every_entry_linear() -> None:
    """The matrix between two sets of rows equals a double loop, and the caller may change it."""
    X, _ = rows(9)
    points = Points(X, X[:4] + 0.5)
    found = Linear().gram(points)
    np.testing.assert_allclose(found, oracles.gram(oracles.linear(), X, X[:4] + 0.5), rtol=1e-12)
    found += 1.0
    assert not np.array_equal(found, Linear().gram(points))
