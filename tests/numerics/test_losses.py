"""The losses by their definitions, and at their kinks."""

from __future__ import annotations

from typing import Any

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kselect.numerics.losses import CLASSIFICATION_LOSSES, LOSSES

FINITE = st.floats(-1e6, 1e6)


@given(st.lists(st.tuples(st.sampled_from([-1.0, 1.0]), FINITE), min_size=1, max_size=20))
@pytest.mark.parametrize("name", sorted(LOSSES))
def test_definition(name: str, pairs: list[tuple[float, float]]) -> None:
    """Losses equal the definition to the last bit, for a vector and a whole path."""
    y, f = (np.array(column) for column in zip(*pairs, strict=True))
    found = LOSSES[name](y, f)
    np.testing.assert_array_equal(found, oracles.losses(name, y, f))
    np.testing.assert_array_equal(LOSSES[name](y, np.stack([f, -f]))[0], found)
    assert found.dtype == np.float64


@pytest.mark.parametrize(
    ("name", "y", "f", "value"),
    [
        ("zero-one", 1.0, 0.0, 1.0),
        ("zero-one", -1.0, 0.0, 1.0),
        ("zero-one", -1.0, -0.0, 1.0),
        ("zero-one", 1.0, 1e-300, 0.0),
        ("zero-one", -1.0, 3.0, 1.0),
        ("hinge", 1.0, 1.0, 0.0),
        ("hinge", 1.0, 0.25, 0.75),
        ("hinge", -1.0, 2.0, 3.0),
        ("hinge", -1.0, -5.0, 0.0),
        ("squared", 3.0, 1.0, 4.0),
        ("squared", 1.0, 3.0, 4.0),
    ],
)
def test_values(name: str, y: Any, f: Any, value: float) -> None:
    """A decision of exactly 0 is wrong for both labels."""
    assert LOSSES[name](np.array([y]), np.array([f])) == [value]


def test_classification_losses() -> None:
    """The zero-one and the hinge loss need labels."""
    assert {"zero-one", "hinge"} == CLASSIFICATION_LOSSES
    assert set(LOSSES) > CLASSIFICATION_LOSSES
