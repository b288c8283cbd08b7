r"""Active-set steps: flip all wrong statuses at once, or follow the solution along C one status at a time.

While no status changes, the solution is affine in C: ``beta(C) = beta_0 + C beta_1``. The path of Hastie et al.
(2004) stops at every change. Following it is cheap if few rows are free, and works even if flipping all wrong
statuses at once does not converge.
"""

from __future__ import annotations

import numpy as np

from kselect.learners.svm.free_rows import ALL, FreeRows, find_free, newton
from kselect.learners.svm.quadratic import (
    TOLERANCE,
    BoxQP,
    Status,
    allowance,
    flip,
    refresh,
    residual,
    subtract,
    total,
    wrongs,
)
from kselect.numerics.compiled import RowMajor, compiled, inner
from kselect.numerics.linalg import Array

# The largest number of Newton steps with flips. They continue only while the number of wrong rows falls to at most
# SLOWEST times the previous number, or is at most FEW times the number of free rows.
STEPS, SLOWEST, FEW = 20, 0.6, 1.0 / 16.0
# At the solution: the largest number of Newton steps without flips, and the residual, relative to the tolerance, at
# which they stop.
REFINEMENTS, EXACT = 8, 0.1


@inner
def advance(q: BoxQP, free: FreeRows, beta: Array, h: Array) -> float:
    """Move the free rows to the optimum for the current statuses and return b."""
    f, right = free.sizes[ALL], free.right
    for a in range(f):
        right[a] = h[free.F[a]]
    b = newton(q, free, right, total(beta))
    for a in range(f):
        beta[free.F[a]] += right[a]
    subtract(q, free.F, right, f, h)
    return b


@compiled
def flip_until_right(
    q: BoxQP, free: FreeRows, status: Status, beta: Array, h: Array, C: float, wrong: int
) -> float:
    """Alternate Newton steps and flips, in place; return b, or NaN if they do not converge.

    ``wrong`` is the number of wrong statuses at the start, or an upper bound on it.
    """
    for _ in range(STEPS):
        if not find_free(q, free, status) or free.sizes[ALL] == 0:
            return np.nan
        b = advance(q, free, beta, h)
        before = wrong
        wrong = flip(q, status, beta, h, b, C, allowance(q, beta, C))
        if wrong == 0:
            return b
        if wrong > max(SLOWEST * before, FEW * free.sizes[ALL]):
            return np.nan
    return np.nan


@compiled
def refine(
    q: BoxQP, free: FreeRows, status: Status, beta: Array, h: Array, b: float, C: float
) -> float:
    """Compute h again and refine the free rows; return b if every optimality condition holds, else NaN.

    ``free`` must have been found from the same statuses.
    """
    for left in range(REFINEMENTS, -1, -1):
        refresh(q, beta, h)
        allowed = allowance(q, beta, C)
        if free.sizes[ALL] == 0:
            break
        off = residual(status, h, b)
        even = not q.bias or abs(total(beta)) <= EXACT * TOLERANCE * C
        if (off <= EXACT * allowed and even) or (left == 0 and off <= allowed):
            break
        if left == 0:
            return np.nan
        b = advance(q, free, beta, h)
    return b if wrongs(q, status, beta, h, b, C, allowed) == 0 else np.nan


@compiled
def origin(
    q: BoxQP,
    free: FreeRows,
    status: Status,
    beta: Array,
    h: Array,
    b: float,
    beta_0: Array,
    load: Array,
) -> float:
    """Return b_0 for the statuses of a solution; write beta_0 into ``beta_0`` and ``K beta_0`` into ``load``."""
    f, right, n = free.sizes[ALL], free.right, len(beta)
    at_ends, nonzero = 0, False
    for t in range(len(status)):
        at_ends += (status[t] == 1 or status[t] == -1) and beta[t] != 0.0
    if at_ends == 0:
        # The solution is the same for every larger C.
        for t in range(n):
            beta_0[t], load[t] = beta[t], q.target[t] - h[t]
        return b
    for t in range(n):
        beta_0[t] = load[t] = 0.0
    for a in range(f):
        right[a] = q.target[free.F[a]]
        nonzero = nonzero or right[a] != 0.0
    if not nonzero:
        # If all free rows are of one class, beta_0 is exactly 0.
        return 0.0
    b_0 = newton(q, free, right, 0.0)
    for a in range(f):
        beta_0[free.F[a]] = right[a]
        right[a] = -right[a]
    subtract(q, free.F, right, f, load)
    return b_0


@inner
def first_event(
    q: BoxQP, status: Status, beta: Array, slack: Array, rates: Array, falls: Array, C: float
) -> tuple[float, int, int]:
    """Return how much C can grow until a status changes, which row changes, and its new status.

    ``rates`` are the derivatives of beta; ``falls`` are the negative derivatives of the slack.
    """
    room, row, after = np.inf, -1, 0
    for t in range(len(slack)):
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
            left, end = s * slack[t] / (s * falls[t]), 0
        else:
            continue
        if left < room:
            room, row, after = left, t, end
    return max(room, 0.0), row, after


@compiled
def follow_path(
    q: BoxQP,
    free: FreeRows,
    status: Status,
    beta: Array,
    h: Array,
    b: float,
    C: float,
    to: float,
    most: int,
    room: RowMajor,
) -> float:
    """Move the solution at C to a larger C in place; return b, or NaN after ``most`` changes of a status.

    ``room`` (5, n) is memory for derivatives.
    """
    n = len(h)
    beta_0, load, rates, falls, slack = room[0], room[1], room[2], room[3], room[4]
    for _ in range(most):
        if not find_free(q, free, status):
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
