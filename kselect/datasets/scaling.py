"""Scaling of features; a constant column becomes zero and never divides by zero."""

from __future__ import annotations

from typing import Literal

import numpy as np

from kselect.numerics.linalg import Array

Scale = Literal["zscore", "minmax", "none"]


def fit_scale(X: Array, scale: Scale) -> tuple[Array, Array]:
    """``(shift, divisor)`` such that the scaled rows are ``(X - shift) / divisor``.

    ``zscore``: mean 0 and standard deviation 1 (the population's, divisor n); ``minmax``: onto [-1, 1].
    """
    if scale == "none":
        return np.zeros(X.shape[1]), np.ones(X.shape[1])
    low, high = X.min(axis=0), X.max(axis=0)
    constant = low == high
    if scale == "zscore":
        # In units of a power of two, which change no digit: sums and squares cannot overflow.
        unit = np.ldexp(1.0, np.frexp(np.maximum(np.abs(low), np.abs(high)))[1] - 1)
        shift, divisor = (X / unit).mean(axis=0) * unit, (X / unit).std(axis=0) * unit
    else:
        # Halves first: high - low of two huge values would overflow.
        shift, divisor = low / 2.0 + high / 2.0, high / 2.0 - low / 2.0
    negligible = divisor < np.finfo(np.float64).tiny
    return np.where(constant, low, shift), np.where(constant | negligible, 1.0, divisor)


def scale_rows(X: Array, scale: Scale, fit_rows: Array) -> Array:
    """X scaled by what is fitted on ``fit_rows`` (all rows, or the training rows)."""
    shift, divisor = fit_scale(fit_rows, scale)
    # Halves: the difference of two huge values would overflow.
    return np.asarray((0.5 * X - 0.5 * shift) / (0.5 * divisor))
