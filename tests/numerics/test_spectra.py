"""The eigenvalue ratio against its definition."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kselect.numerics.spectra import eigenvalue_ratio


@given(st.lists(st.floats(0.01, 100), min_size=2, max_size=12), st.data())
def test_ratio_of_the_largest_to_the_rest(values: list[float], draw: st.DataObject) -> None:
    """In any order."""
    t = draw.draw(st.integers(1, len(values) - 1))
    s = sorted(values, reverse=True)
    want = math.fsum(s[:t]) / math.fsum(s[t:])
    assert eigenvalue_ratio(np.array(values), t) == pytest.approx(want, rel=1e-12)


def test_nothing_remains() -> None:
    """All of them, zeros, rounding below zero, a quotient that overflows: infinite, never NaN or a warning."""
    assert eigenvalue_ratio(np.array([3.0, 1.0]), 2) == np.inf
    assert eigenvalue_ratio(np.array([3.0, 0.0, 0.0]), 1) == np.inf
    assert eigenvalue_ratio(np.array([3.0, -1e-17]), 1) == np.inf
    assert eigenvalue_ratio(np.array([1e300, 1e-300]), 1) == np.inf
    assert eigenvalue_ratio(np.zeros(3), 1) == np.inf


@pytest.mark.parametrize("t", [0, 4, -1])
def test_t_out_of_range(t: int) -> None:
    """Not a slice that wraps around."""
    with pytest.raises(ValueError, match="of 3 eigenvalues"):
        eigenvalue_ratio(np.ones(3), t)
