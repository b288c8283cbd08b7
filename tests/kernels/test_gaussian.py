"""The Gaussian kernel, entry by entry."""

from __future__ import annotations

import numpy as np
import oracles
import pytest
from problems import rows

from kselect.kernels import Points
from kselect.kernels.gaussian import Gaussian


@pytest.mark.parametrize("value", [0.25, 1.0, 64.0])
def test_every_entry(value: float) -> None:
    """The matrix between two sets of rows equals a double loop."""
    X, _ = rows(9)
    Z = X[:4] + 0.5
    expected = oracles.gram(oracles.gaussian(value), X, Z)
    np.testing.assert_allclose(Gaussian(value).gram(Points(X, Z)), expected, rtol=1e-12)
