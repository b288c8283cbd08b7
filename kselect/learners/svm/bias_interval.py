"""Quantities that optimality leaves open or fixes exactly: the bias in its interval, and the signs of slacks."""

from __future__ import annotations

import numpy as np

from kselect.learners.svm.compiled import compiled
from kselect.learners.svm.quadratic import BoxQP, ends, looseness
from kselect.numerics.linalg import Array


@compiled
def middle(q: BoxQP, beta: Array, h: Array, C: float) -> float:
    """Return the middle of the biases that a point without free rows allows."""
    if not q.bias:
        return 0.0
    top, bottom = ends(q, beta, h, C)
    if np.isinf(top) or np.isinf(bottom):
        return float(bottom if np.isinf(top) else top)
    return 0.5 * (top + bottom)


@compiled
def correction(q: BoxQP, C: float, beta: Array, slack: Array, bias: float) -> float:
    """Return what to add to the bias to reach the middle of its interval; 0 if a row is free by more than rounding.

    If only one end of the interval is finite, the bias becomes the value in it that is nearest to 0.
    """
    if not q.bias:
        return 0.0
    least, most = -np.inf, np.inf
    for t in range(len(beta)):
        low, high, loose = C * q.low[t], C * q.high[t], looseness(q, C, t)
        if low == high:
            continue
        if beta[t] <= low + loose:
            least = max(least, slack[t])
        elif beta[t] >= high - loose:
            most = min(most, slack[t])
        else:
            return 0.0
    if np.isinf(least) or np.isinf(most):
        return float(min(max(-bias, least), most))
    return 0.5 * (least + most)


@compiled
def fix_signs(q: BoxQP, C: float, beta: Array, slack: Array) -> None:
    """Set the slack to 0 in free rows and to the sign that optimality requires in others, except held-out rows.

    Otherwise the empirical risks of two kernels that separate the training rows would differ by rounding errors,
    which would then choose between the kernels. Both risks must be 0.
    """
    for t in range(len(beta)):
        low, high, loose = C * q.low[t], C * q.high[t], looseness(q, C, t)
        if low == high:
            continue
        if beta[t] <= low + loose:
            slack[t] = min(slack[t], 0.0)
        elif beta[t] >= high - loose:
            slack[t] = max(slack[t], 0.0)
        else:
            slack[t] = 0.0
