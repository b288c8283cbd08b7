r"""Probabilities from held-out decision values: Platt's sigmoid that keeps the decision's own threshold.

    two classes:  p(f) = 1 / (1 + exp(-a f));   more:  p_c(f) = exp(a f_c) / sum_k exp(a f_k)

One slope a >= 0, so that the likeliest class is always the one that is predicted. It minimises the cross-entropy
against the smoothed targets of Platt (1999): of n_c rows in a class, ``(n_c + 1) / (n_c + K)`` for the row's own
class and ``1 / (n_c + K)`` for each other. So the optimum is finite where the classes are separated. The problem is
convex; Newton's method with backtracking solves it in a few steps of O(K n) (Lin, Lin and Weng 2007).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp, softmax

from kselect.errors import TrialError
from kselect.numerics.linalg import Array

STEPS = 100
FLAT = 1e-12  # of the gradient, in units of the largest decision
LEAST = 1e-6  # of a slope in these units: decisions that tell nothing still have an order
ENOUGH = 1e-4  # of the decrease that the gradient promises
SHORTEST = 1e-10


def fit_slope(decisions: ArrayLike, targets: ArrayLike) -> float:
    """The slope of held-out decisions (q, n) with their targets (q, n) of -1 and +1."""
    F, Y = np.asarray(decisions, dtype=np.float64), np.asarray(targets, dtype=np.float64)
    if F.ndim != 2 or F.shape != Y.shape or not F.size:
        raise ValueError(f"decisions of shape {F.shape} for targets of {Y.shape}")
    if not np.isfinite(F).all():
        raise TrialError("no probabilities: a held-out decision is not finite")
    unit = float(np.abs(F).max()) or 1.0
    return minimise(by_class(F / unit), smoothed(by_class(Y) > 0)) / unit


def by_class(values: Array) -> Array:
    """(K, n): of two classes the second has f / 2, the first its negative."""
    return np.concatenate([-0.5 * values, 0.5 * values]) if len(values) == 1 else values


def smoothed(mine: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Array:
    """Platt's targets, (K, n): the posterior means of the classes under a uniform prior."""
    total = mine.sum(axis=1) + len(mine)
    own = total[mine.argmax(axis=0)]
    return np.asarray(np.where(mine, own - len(mine) + 1.0, 1.0) / own)


def minimise(F: Array, T: Array) -> float:
    """Newton's method from the slope 0, which knows nothing."""
    a, value = 0.0, cross_entropy(0.0, F, T)
    for _ in range(STEPS):
        p = softmax(a * F, axis=0)
        gradient = float(((p - T) * F).sum(axis=0).mean())
        mean = (p * F).sum(axis=0)
        curvature = float((p * np.square(F - mean)).sum(axis=0).mean())
        if abs(gradient) <= FLAT or curvature == 0.0:
            break
        found = backtrack(a, -gradient / curvature, gradient, value, F, T)
        if found is None:  # rounding hides any further descent
            break
        a, value = found
    return max(a, LEAST)


def cross_entropy(a: float, F: Array, T: Array) -> float:
    """``-mean_i sum_c T_ci log p_c(f_i)``."""
    z = a * F
    return float((logsumexp(z, axis=0) - (T * z).sum(axis=0)).mean())


def backtrack(
    a: float, step: float, gradient: float, value: float, F: Array, T: Array
) -> tuple[float, float] | None:
    """The first of the steps 1, 1/2, 1/4, ... that descends enough, None if none does."""
    length = 1.0
    while length >= SHORTEST:
        there = a + length * step
        reached = cross_entropy(there, F, T)
        if reached < value + ENOUGH * length * step * gradient:
            return there, reached
        length /= 2.0
    return None


def probabilities(slope: float, decisions: Array) -> Array:
    """(rows, classes) from decisions (rows, q)."""
    return np.asarray(softmax(slope * by_class(decisions.T), axis=0).T)
