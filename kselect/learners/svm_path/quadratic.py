r"""The dual as compiled loops take it, and what is done with a point of it: beta and ``h = r - K beta``.

    min beta^T K beta / 2 - r^T beta,   C low <= beta <= C high,   1^T beta = 0 (with a bias)

With a bias any number may be taken from all of r: it is the label of the larger class, so that for tiny C nothing
cancels in h. Rows that are left out have an empty box; their h is what their prediction is read from.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kselect.learners.svm_path.compiled import compiled
from kselect.learners.svm_path.lapack import Addresses, product
from kselect.learners.svm_path.task import EPS, LOOSEST, ROUNDINGS, TOLERANCE, Status
from kselect.numerics.linalg import Array, Index

Rows = NDArray[np.int64]
# Of all rows; more than these are subtracted by a whole product.
MOST_ROWS = 0.4


class Quadratic(NamedTuple):
    """``alone``: the rows whose K_ij are too small to matter for a Newton step; ``largest``: the largest K_ii."""

    routines: Addresses
    K: Array
    ridge: Array
    inverse_diagonal: Array
    alone: NDArray[np.bool_]
    largest: float
    target: Array
    low: Array
    high: Array
    bias: bool


@compiled
def subtract(q: Quadratic, rows: Index, moves: Array, count: int, h: Array) -> None:
    """``h <- h - sum moves_a K[rows_a]``: four rows at once, or many by a product with one half of K."""
    K, n, a = q.K, len(h), 0
    if count > MOST_ROWS * n:
        x, out = np.zeros(n), np.empty(n)
        for a in range(count):
            x[rows[a]] += moves[a]
        product(q.routines, K, x, out)
        for t in range(n):
            h[t] -= out[t]
        return
    while a + 4 <= count:
        k0, k1, k2, k3 = K[rows[a]], K[rows[a + 1]], K[rows[a + 2]], K[rows[a + 3]]
        m0, m1, m2, m3 = moves[a], moves[a + 1], moves[a + 2], moves[a + 3]
        for t in range(n):
            h[t] -= (m0 * k0[t] + m1 * k1[t]) + (m2 * k2[t] + m3 * k3[t])
        a += 4
    while a < count:
        k0, m0 = K[rows[a]], moves[a]
        for t in range(n):
            h[t] -= m0 * k0[t]
        a += 1


@compiled
def refresh(q: Quadratic, beta: Array, h: Array) -> None:
    """h anew."""
    product(q.routines, q.K, beta, h)
    for t in range(len(h)):
        h[t] = q.target[t] - h[t]


@compiled
def allowance(q: Quadratic, beta: Array, C: float) -> float:
    """How far the slack may be off: a part of what K beta can be at most at that C, and its rounding."""
    whole = 0.0
    for t in range(len(beta)):
        whole += abs(beta[t])
    rounding = ROUNDINGS * EPS * q.largest * whole
    return float(TOLERANCE * min(1.0, C * q.largest) + min(rounding, LOOSEST))


@compiled
def looseness(q: Quadratic, C: float, t: int) -> float:
    """How far a row may be outside of its box."""
    return float(TOLERANCE * min(C, q.inverse_diagonal[t]))


@compiled
def read_status(q: Quadratic, beta: Array, C: float, status: Status) -> int:
    """Where each row is in its box; how many are free."""
    free = 0
    for t in range(len(beta)):
        if q.low[t] == q.high[t]:
            status[t] = 2
        elif beta[t] <= C * q.low[t]:
            status[t] = -1
        elif beta[t] >= C * q.high[t]:
            status[t] = 1
        else:
            status[t] = 0
            free += 1
    return free


@compiled
def flip(
    q: Quadratic, status: Status, beta: Array, h: Array, b: float, C: float, allowed: float
) -> int:
    """The statuses that a point asks for; what is outside of its box goes to its end. How many were wrong."""
    wrong, moved, n = 0, 0, len(h)
    rows, moves = np.empty(n, np.int64), np.empty(n)
    for t in range(n):
        if status[t] == 0:
            low, high, loose = C * q.low[t], C * q.high[t], looseness(q, C, t)
            if beta[t] < low - loose or beta[t] > high + loose:
                under = beta[t] < low
                end = low if under else high
                status[t] = -1 if under else 1
                rows[moved], moves[moved] = t, end - beta[t]
                beta[t] = end
                moved += 1
        elif status[t] != 2 and status[t] * (h[t] - b) < -allowed:
            status[t] = 0
            wrong += 1
    subtract(q, rows, moves, moved, h)
    return wrong + moved


@compiled
def wrongs(
    q: Quadratic, status: Status, beta: Array, h: Array, b: float, C: float, allowed: float
) -> int:
    """How many statuses are wrong."""
    wrong = 0
    for t in range(len(h)):
        if status[t] == 0:
            loose = looseness(q, C, t)
            wrong += beta[t] < C * q.low[t] - loose or beta[t] > C * q.high[t] + loose
        elif status[t] != 2:
            wrong += status[t] * (h[t] - b) < -allowed
    return wrong


@compiled
def residual(status: Status, h: Array, b: float) -> float:
    """The largest slack of a free row."""
    worst = 0.0
    for t in range(len(h)):
        if status[t] == 0:
            worst = max(worst, abs(h[t] - b))
    return worst


@compiled
def ends(q: Quadratic, beta: Array, h: Array, C: float) -> tuple[float, float]:
    """The largest h of a row that can rise and the least of one that can fall; without a bias 0 is one of each."""
    top = -np.inf if q.bias else 0.0
    bottom = np.inf if q.bias else 0.0
    for t in range(len(h)):
        if beta[t] < C * q.high[t]:
            top = max(top, h[t])
        if beta[t] > C * q.low[t]:
            bottom = min(bottom, h[t])
    return top, bottom


@compiled
def balance(q: Quadratic, beta: Array, C: float) -> None:
    """Within the box and with the sum zero: of the side that outweighs the other the free rows shrink, or all.

    What rounding has left of the sum stays: to shrink rows for it would take them from the ends of their box.
    """
    weights, free = np.zeros(2), np.zeros(2)
    for t in range(len(beta)):
        low, high = C * q.low[t], C * q.high[t]
        beta[t] = min(max(beta[t], low), high)
        side = 1 if beta[t] > 0.0 else 0
        weights[side] += abs(beta[t])
        if low < beta[t] < high:
            free[side] += abs(beta[t])
    heavy = 1 if weights[1] > weights[0] else 0
    excess = weights[heavy] - weights[1 - heavy]
    if not q.bias or excess <= EPS * len(beta) * weights[heavy]:
        return
    some = excess < free[heavy]
    factor = 1.0 - excess / (free[heavy] if some else weights[heavy])
    for t in range(len(beta)):
        free_row = C * q.low[t] < beta[t] < C * q.high[t]
        if (beta[t] > 0.0) == (heavy == 1) and (free_row or not some):
            beta[t] *= factor
