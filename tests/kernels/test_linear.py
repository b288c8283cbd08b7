"""The linear kernel, entry by entry."""

from __future__ import annotations

import numpy as np
import oracles
from problems import rows

from kselect.kernels import Points
from kselect.kernels.linear import Linear


def test_every_entry() -> None:
    """Between two sets of rows, by a double loop; the result is the caller's to change."""
    X, _ = rows(9)
    points = Points(X, X[:4] + 0.5)
    found = Linear().gram(points)
    np.testing.assert_allclose(found, oracles.gram(oracles.linear(), X, X[:4] + 0.5), rtol=1e-12)
    found += 1.0
    assert not np.array_equal(found, Linear().gram(points))
