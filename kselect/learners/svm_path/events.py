r"""Along C row by row (Hastie et al. 2004): to the first C at which a status changes, and on from there.

The way for few free rows, whose equations cost little, where flips of all at once do not settle.
"""

from __future__ import annotations

import numpy as np

from kselect.learners.svm_path.affine import origin
from kselect.learners.svm_path.compiled import compiled
from kselect.learners.svm_path.free import Free, find
from kselect.learners.svm_path.quadratic import Quadratic
from kselect.learners.svm_path.task import Status
from kselect.numerics.linalg import Array


@compiled
def first_event(
    q: Quadratic, status: Status, beta: Array, h: Array, rates: Array, falls: Array, C: float
) -> tuple[float, int, int]:
    """By how much C can grow, which row stops it, and what its status is then; h and its rate are without b."""
    room, row, after = np.inf, -1, 0
    for t in range(len(h)):
        s = status[t]
        if s == 0:
            low, high = q.low[t], q.high[t]
            if rates[t] > high:
                left, end = (C * high - beta[t]) / (rates[t] - high), 1
            elif rates[t] < low:
                left, end = (beta[t] - C * low) / (low - rates[t]), -1
            else:
                continue
        elif s != 2 and s * falls[t] > 0.0:
            left, end = s * h[t] / (s * falls[t]), 0
        else:
            continue
        if left < room:
            room, row, after = left, t, end
    return max(room, 0.0), row, after


@compiled
def along(
    q: Quadratic,
    free: Free,
    status: Status,
    beta: Array,
    h: Array,
    b: float,
    C: float,
    to: float,
    most: int,
) -> float:
    """From the solution at C to that at a larger one: b, or not a number where more events lie between.

    All is changed in place.
    """
    n = len(h)
    beta_0, load, rates, falls = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    slack = np.empty(n)
    for _ in range(most):
        if not find(q, free, status):
            return np.nan
        b_0 = origin(q, free, status, beta, h, b, beta_0, load)
        b_1 = (b - b_0) / C
        for t in range(n):
            rates[t] = (beta[t] - beta_0[t]) / C
            falls[t] = (q.target[t] - h[t] - load[t]) / C + b_1
            slack[t] = h[t] - b
        more, row, after = first_event(q, status, beta, slack, rates, falls, C)
        last = row < 0 or C + more >= to
        if last:
            more = to - C
        for t in range(n):
            beta[t] += more * rates[t]
            h[t] -= more * (falls[t] - b_1)
        b += more * b_1
        C = to if last else C + more
        if last:
            return b
        if after != 0:
            beta[row] = C * (q.high[row] if after == 1 else q.low[row])
        status[row] = after
    return np.nan
