r"""Classes and probabilities from decision values.

Probabilities come from Platt's sigmoid, restricted so that the likeliest class is always the predicted one:

    two classes:  p(f) = 1 / (1 + exp(-a f));   more:  p_c(f) = exp(a f_c) / sum_k exp(a f_k)

The one slope a >= 0 minimises the cross-entropy on the held-out decision values, against the smoothed targets of
Platt (1999): with n_c rows in a class, ``(n_c + 1) / (n_c + K)`` for the row's own class and ``1 / (n_c + K)`` for
each other class. The optimum is therefore finite even for separated classes. The problem is convex; Newton's
method with backtracking solves it in a few steps of O(K n) (Lin, Lin and Weng 2007).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kselect.errors import TrialError
from kselect.numerics.linalg import Array, Index
from kselect.numerics.weights import Weights, mean_loss

STEPS = 100
FLAT = 1e-12  # gradient, in units of the largest decision value
LEAST_SLOPE = 1e-6  # in these units: decision values without information still keep their order
ENOUGH = 1e-4  # share of the decrease predicted by the gradient
SHORTEST = 1e-10


def codes(values: Array) -> Index:
    """Return the class of each row from (q, n) decision values: the sign of one, the largest of several."""
    found = values[0] > 0 if len(values) == 1 else values.argmax(axis=0)
    return np.asarray(found, dtype=np.intp)


def probabilities(slope: float, decisions: Array) -> Array:
    """Return (rows, classes) probabilities from (rows, q) decision values; the first largest is the prediction."""
    from scipy.special import softmax  # slow to import

    likely: Array = softmax(slope * per_class(decisions.T), axis=0).T
    predicted = codes(decisions.T)
    # Decision values may differ by less than probabilities can show: there the prediction gets the last bit.
    rows = np.flatnonzero(likely.argmax(axis=1) != predicted)
    likely[rows, predicted[rows]] = np.nextafter(likely[rows].max(axis=1), 2.0)
    return likely


def per_class(values: Array) -> Array:
    """Return one row of values per class: for two classes, f / 2 for the second and its negative for the first."""
    return np.concatenate([-0.5 * values, 0.5 * values]) if len(values) == 1 else values


def fit_slope(decisions: ArrayLike, targets: ArrayLike, weights: Weights | None = None) -> float:
    """Return the slope for held-out decision values (q, n) with their targets (q, n) of -1 and +1.

    A weight counts as a number of rows.
    """
    F, Y = np.asarray(decisions, dtype=np.float64), np.asarray(targets, dtype=np.float64)
    if F.ndim != 2 or F.shape != Y.shape or not F.size:
        raise ValueError(f"decisions of shape {F.shape} for targets of {Y.shape}")
    if not np.isfinite(F).all():
        raise TrialError("no probabilities: a held-out decision value is not finite")
    unit = float(np.abs(F).max()) or 1.0
    mine = per_class(Y) > 0
    total = (mine.sum(axis=1) if weights is None else mine @ weights.counts) + len(mine)
    own = total[mine.argmax(axis=0)]
    smooth = np.where(mine, own - len(mine) + 1.0, 1.0) / own
    return minimise(per_class(F / unit), smooth, weights) / unit


def minimise(F: Array, T: Array, weights: Weights | None = None) -> float:
    """Minimise the cross-entropy against targets T by Newton's method, from slope 0."""
    from scipy.special import softmax  # slow to import

    a, value = 0.0, cross_entropy(0.0, F, T, weights)
    for _ in range(STEPS):
        p = softmax(a * F, axis=0)
        gradient = float(mean_loss(((p - T) * F).sum(axis=0), weights))
        mean = (p * F).sum(axis=0)
        curvature = float(mean_loss((p * np.square(F - mean)).sum(axis=0), weights))
        if abs(gradient) <= FLAT or curvature == 0.0:
            break
        step, length = -gradient / curvature, 1.0
        while length >= SHORTEST:
            reached = cross_entropy(a + length * step, F, T, weights)
            if reached < value + ENOUGH * length * step * gradient:
                break
            length /= 2.0
        else:  # rounding hides any further descent
            break
        a, value = a + length * step, reached
    return max(a, LEAST_SLOPE)


def cross_entropy(a: float, F: Array, T: Array, weights: Weights | None = None) -> float:
    """Return ``-mean_i sum_c T_ci log p_c(f_i)``."""
    from scipy.special import logsumexp  # slow to import

    z = a * F
    return float(mean_loss(logsumexp(z, axis=0) - (T * z).sum(axis=0), weights))
