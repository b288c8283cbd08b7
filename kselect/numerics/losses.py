"""Losses of decision values against targets, entry by entry, for one row of ridges or a whole path (ridges, n)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from kselect.numerics.linalg import Array

Loss = Literal["zero-one", "squared", "hinge"]


def zero_one(y: Array, f: Array) -> Array:
    """Return ``1[y f <= 0]`` for labels -1, +1: a decision of exactly 0 counts as wrong.

    A path computes small predictions as sums of small terms, so that their signs are meaningful at any size. A
    prediction within the rounding error of its own terms, such as votes that cancel, is exactly 0.
    """
    return (y * f <= 0).astype(np.float64)


def squared(y: Array, f: Array) -> Array:
    """Return ``(y - f)^2``."""
    return np.square(y - f)


def hinge(y: Array, f: Array) -> Array:
    """Return ``max(0, 1 - y f)`` for labels -1, +1."""
    return np.maximum(0.0, 1.0 - y * f)


LOSSES: dict[str, Callable[[Array, Array], Array]] = {
    "zero-one": zero_one,
    "squared": squared,
    "hinge": hinge,
}
CLASSIFICATION_LOSSES = frozenset({"zero-one", "hinge"})
# The loss on the test rows: the share of wrong signs, or the mean squared error.
TEST_LOSSES: dict[str, Loss] = {"classification": "zero-one", "regression": "squared"}
