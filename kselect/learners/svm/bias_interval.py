"""Quantities that optimality leaves open or fixes exactly: the bias in its interval, and the signs of slacks."""

from __future__ import annotations

from math import isinf, isnan

import numpy as np

from kselect.learners.svm.quadratic import EPS, TOLERANCE, BoxQP, Status, ends, looseness
from kselect.numerics.compiled import compiled, inner
from kselect.numerics.linalg import Array

# A sum is better than a difference from y if its terms are at most this; within so many roundings of them it is 0.
SMALL, ZERO = 0.125, 2.0
# A row within so many roundings of an end of its box is at that end.
ROUNDED = 4.0


@compiled
def middle(q: BoxQP, beta: Array, h: Array, C: float) -> float:
    """Return the middle of the biases that a point without free rows allows."""
    if not q.bias:
        return 0.0
    top, bottom = ends(q, beta, h, C)
    if isinf(top) or isinf(bottom):
        return float(bottom if isinf(top) else top)
    return 0.5 * (top + bottom)


@inner
def fix_signs(status: Status, slack: Array) -> None:
    """Set the slack to 0 in free rows and to the sign that optimality requires in others, except held-out rows.

    Otherwise the empirical risks of two kernels that separate the training rows would differ by rounding errors,
    which would then choose between the kernels. Both risks must be 0.
    """
    for t in range(len(slack)):
        if status[t] == 0:
            slack[t] = 0.0
        elif status[t] == -1:
            slack[t] = min(slack[t], 0.0)
        elif status[t] == 1:
            slack[t] = max(slack[t], 0.0)


@compiled
def statuses(q: BoxQP, C: float, beta: Array, status: Status) -> None:
    """Write the status of each row; a row is free if it is off the ends of its box by more than rounding."""
    for t in range(len(beta)):
        low, high = C * q.low[t], C * q.high[t]
        # An end of the box is rounded, too: for large C by more than the looseness.
        loose = max(looseness(q, C, t), ROUNDED * EPS * (high - low))
        if low == high:
            status[t] = 2
        elif beta[t] <= low + loose:
            status[t] = -1
        elif beta[t] >= high - loose:
            status[t] = 1
        else:
            status[t] = 0


@inner
def correction(status: Status, slack: Array, bias: float) -> float:
    """Return what to add to the bias to reach the middle of its interval; 0 if a row is free.

    If only one end of the interval is finite, the bias becomes the value in it that is nearest to 0.
    """
    least, most = -np.inf, np.inf
    for t in range(len(status)):
        if status[t] == 0:
            return 0.0
        if status[t] == -1:
            least = max(least, slack[t])
        elif status[t] == 1:
            most = min(most, slack[t])
    if isinf(least) or isinf(most):
        return float(min(max(-bias, least), most))
    return 0.5 * (least + most)


@inner
def other_terms(q: BoxQP, beta: Array, kappa: float, value: Array, size: Array) -> None:
    """Write ``(K - kappa I) beta``, and the sums of the absolute values of its terms."""
    for t in range(len(beta)):
        row, value[t], size[t] = q.K[t], 0.0, 0.0
        for s in range(len(beta)):
            term = (row[s] - kappa if s == t else row[s]) * beta[s]
            value[t] += term
            size[t] += abs(term)


@inner
def end_row(status: Status, own: Array, value: Array, side: int) -> int:
    """Return the row whose ``own - value`` is largest (side -1) or smallest (1) of that status, or -1."""
    best = -1
    for t in range(len(status)):
        if status[t] == side and (
            best < 0 or side * ((own[t] - own[best]) - (value[t] - value[best])) < 0.0
        ):
            best = t
    return best


@compiled
def tiny_bias(q: BoxQP, C: float, status: Status, value: Array, size: Array, kappa: float) -> float:
    r"""Return a bias as a sum of small terms, or NaN if they are not small; ``value`` is ``(K - kappa I) beta``.

    It is the mean of ``y - K beta`` over the free rows F or, if none is free, over the two rows at the ends of
    its interval. ``1^T beta = 0`` gives, for any kappa,

        |F| b = 1^T y_F + kappa sum_{i not in F} beta_i - 1^T ((K - kappa I) beta)_F

    Near ``K = I`` the first two terms are whole multiples of 1 and C, which cancel exactly in balanced classes.
    A sum within a few roundings of its terms is 0.
    """
    own, bound, count = q.numbers[2], 0.0, 0
    for t in range(len(status)):
        own[t] = q.target[t] + q.shift
        if status[t] == -1 or status[t] == 1:
            end = C * (q.low[t] if status[t] == -1 else q.high[t])
            own[t] -= kappa * end
            bound += end
        elif status[t] == 0:
            q.rows[count] = t
            count += 1
    whole = kappa * bound
    if count == 0:
        lower, upper = end_row(status, own, value, -1), end_row(status, own, value, 1)
        if lower < 0 or upper < 0:
            return np.nan
        q.rows[0], q.rows[1], count, whole = lower, upper, 2, 0.0
    added = small = sizes = 0.0
    for a in range(count):
        t = q.rows[a]
        added, small, sizes = added + own[t], small + value[t], sizes + size[t]
    whole += added
    terms = abs(whole) + sizes
    if terms > SMALL * count:
        return np.nan
    return 0.0 if abs(whole - small) <= ZERO * EPS * terms else (whole - small) / count


@compiled
def settle(
    q: BoxQP, C: float, beta: Array, status: Status, slack: Array, bias: float, decision: Array
) -> float:
    """Correct the slack in place, write statuses and decision values, and return the corrected bias.

    The bias belongs to the shifted labels, the corrected one to the labels. If the latter is within the tolerance,
    it is computed again, with the decision values of held-out rows: near ``K = I`` the rounding error of y would
    choose their signs.
    """
    statuses(q, C, beta, status)
    off = correction(status, slack, bias + q.shift) if q.bias else 0.0
    b = bias + off + q.shift
    for t in range(len(slack)):
        slack[t] -= off
    fix_signs(status, slack)
    for t in range(len(slack)):
        decision[t] = q.target[t] + q.shift - slack[t]
    if q.bias and abs(b) <= TOLERANCE:
        kappa = q.K[0, 0]
        value, size = q.numbers[0], q.numbers[1]
        other_terms(q, beta, kappa, value, size)
        tiny = tiny_bias(q, C, status, value, size, kappa)
        if not isnan(tiny):
            b = tiny
            for t in range(len(slack)):
                if status[t] == 2:
                    f = value[t] + b
                    decision[t] = 0.0 if abs(f) <= ZERO * EPS * (size[t] + abs(b)) else f
    return b
