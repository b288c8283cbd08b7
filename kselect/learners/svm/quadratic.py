r"""The SVM's dual as compiled loops take it, and basic operations on a point (beta, h) with ``h = r - K beta``.

    min beta^T K beta / 2 - r^T beta,   C low <= beta <= C high,   1^T beta = 0 (with a bias)

A point is optimal if the slack ``h - b`` is 0 in free rows, which lie inside their box, at most 0 in rows at the
lower end and at least 0 in rows at the upper end. The status of a row says which of these it is: -1 at the lower
end, 0 free, 1 at the upper end. Rows that are left out of the fit have the status 2 and an empty box; their h gives
their held-out prediction.
With a bias, subtracting a number from all of r changes only b. That number is the label of the larger class, so
that nothing cancels in h if C is tiny.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kselect.learners.svm.fortran import Addresses, addresses, product
from kselect.numerics.compiled import RowMajor, compiled, inner
from kselect.numerics.linalg import Array, Index, Mask

Status = NDArray[np.int8]
EPS = float(np.finfo(np.float64).eps)
# Tolerances of the slack, relative to the margin, and of beta, relative to C.
TOLERANCE = 1e-9
# The slack may also be off by this many times the rounding error of ``K beta``, but never by more than LOOSEST.
ROUNDINGS, LOOSEST = 10.0, 1e-4
# Equal rows make K_FF singular: this is added to K_ii, relative to it. Refinement removes its effect.
RIDGE = 1e-12
# A row is isolated if each K_ij is at most this, relative to sqrt(K_ii K_jj). Refinement removes the error.
ISOLATED = 1e-6
# If more than this share of the rows is subtracted, one product with all of K is faster.
MOST_ROWS = 0.4


class KernelMatrix(NamedTuple):
    """A C-ordered kernel matrix and what all problems that use it share.

    ``ridge`` is added to K_ii in Newton steps, ``inverse_diagonal`` is 1 / K_ii, infinite for a row of zeros,
    ``isolated`` marks the rows for which a Newton step is a division, and ``largest`` is the largest K_ii.
    """

    routines: Addresses
    K: RowMajor
    ridge: Array
    inverse_diagonal: Array
    isolated: Mask
    largest: float


class BoxQP(NamedTuple):
    """The quadratic programme of the module's docstring: a kernel matrix, r (``target``), the box and the bias.

    ``shift`` has been subtracted from the labels. ``rows`` (n,) and ``numbers`` (3, n) are memory for the loops,
    which ``flip``, ``update``, ``subtract``, ``choose`` and ``settle`` overwrite.
    """

    routines: Addresses
    K: RowMajor
    ridge: Array
    inverse_diagonal: Array
    isolated: Mask
    largest: float
    target: Array
    low: Array
    high: Array
    bias: bool
    shift: float
    rows: Index
    numbers: RowMajor


@compiled
def find_isolated(K: RowMajor, roots: Array, isolated: Mask) -> None:
    """Write which rows of a narrow kernel have no neighbour: no large ``|K_ij|``."""
    for i in range(len(K)):
        row, isolated[i] = K[i], True
        for j in range(len(K)):
            if j != i and abs(row[j]) > ISOLATED * roots[i] * roots[j]:
                isolated[i] = False
                break


def kernel_matrix(K: RowMajor) -> KernelMatrix:
    """Prepare a kernel matrix for compiled loops."""
    K = np.ascontiguousarray(K)
    diagonal = np.diagonal(K).copy()
    largest = float(diagonal.max()) or 1.0
    inverse = np.divide(1.0, diagonal, out=np.full(len(K), np.inf), where=diagonal > 0)
    ridge = RIDGE * np.where(diagonal > 0, diagonal, largest)
    isolated = np.empty(len(K), np.bool_)
    find_isolated(K, np.sqrt(np.maximum(diagonal, 0.0)), isolated)
    return KernelMatrix(addresses(), K, ridge, inverse, isolated, largest)


@compiled
def subtract(q: BoxQP, rows: Index, moves: Array, count: int, h: Array) -> None:
    """Update ``h <- h - sum_a moves_a K[rows_a]``, four rows at once, or with one product for many rows."""
    K, n, a = q.K, len(h), 0
    if count > MOST_ROWS * n:
        x, out = q.numbers[0], q.numbers[1]
        for t in range(n):
            x[t] = 0.0
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
def refresh(q: BoxQP, beta: Array, h: Array) -> None:
    """Compute h again from beta."""
    product(q.routines, q.K, beta, h)
    for t in range(len(h)):
        h[t] = q.target[t] - h[t]


@compiled
def rounding(q: BoxQP, beta: Array) -> float:
    """Return a bound on the rounding error of ``K beta``."""
    whole = 0.0
    for t in range(len(beta)):
        whole += abs(beta[t])
    return float(ROUNDINGS * EPS * q.largest * whole)


@compiled
def largest_rounding(q: BoxQP, beta: Array) -> float:
    """Return the same bound from the terms of each row that is trained on: tighter, and O(n^2)."""
    worst = 0.0
    for t in range(len(beta)):
        if q.low[t] != q.high[t]:
            row, whole = q.K[t], 0.0
            for s in range(len(beta)):
                whole += abs(row[s] * beta[s])
            worst = max(worst, whole)
    return float(ROUNDINGS * EPS * worst)


@compiled
def allowance(q: BoxQP, beta: Array, C: float) -> float:
    """Return the tolerance of the slack: relative to the largest possible K beta, plus its rounding error."""
    return float(TOLERANCE * min(1.0, C * q.largest) + min(rounding(q, beta), LOOSEST))


@inner
def looseness(q: BoxQP, C: float, t: int) -> float:
    """Return how far a row may lie outside its box."""
    return float(TOLERANCE * min(C, q.inverse_diagonal[t]))


@compiled
def read_status(q: BoxQP, beta: Array, C: float, status: Status) -> int:
    """Write the status of each row and return the number of free rows."""
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


@inner
def flip(
    q: BoxQP, status: Status, beta: Array, h: Array, b: float, C: float, allowed: float
) -> int:
    """Correct all wrong statuses at once and return their number; rows outside their box move to its end."""
    wrong, moved, n = 0, 0, len(h)
    rows, moves = q.rows, q.numbers[2]
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
    q: BoxQP, status: Status, beta: Array, h: Array, b: float, C: float, allowed: float
) -> int:
    """Count the wrong statuses."""
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
    """Return the largest absolute slack of a free row."""
    worst = 0.0
    for t in range(len(h)):
        if status[t] == 0:
            worst = max(worst, abs(h[t] - b))
    return worst


@compiled
def ends(q: BoxQP, beta: Array, h: Array, C: float) -> tuple[float, float]:
    """Return the largest h of a row that can rise and the smallest h of a row that can fall.

    Without a bias, 0 is a candidate for both.
    """
    top = -np.inf if q.bias else 0.0
    bottom = np.inf if q.bias else 0.0
    for t in range(len(h)):
        if beta[t] < C * q.high[t]:
            top = max(top, h[t])
        if beta[t] > C * q.low[t]:
            bottom = min(bottom, h[t])
    return top, bottom


@compiled
def balance(q: BoxQP, beta: Array, C: float) -> None:
    """Clip beta to the box and make its sum zero by shrinking the heavier sign: its free rows, or all its rows.

    A sum that is only rounding stays: removing it would move rows away from the ends of their boxes.
    """
    up = down = free_up = free_down = 0.0
    for t in range(len(beta)):
        low, high = C * q.low[t], C * q.high[t]
        beta[t] = min(max(beta[t], low), high)
        inside = abs(beta[t]) if low < beta[t] < high else 0.0
        if beta[t] > 0.0:
            up += abs(beta[t])
            free_up += inside
        else:
            down += abs(beta[t])
            free_down += inside
    rises = up > down
    heavy, free = (up, free_up) if rises else (down, free_down)
    excess = heavy - (down if rises else up)
    if not q.bias or excess <= EPS * len(beta) * heavy:
        return
    some = excess < free
    factor = 1.0 - excess / (free if some else heavy)
    for t in range(len(beta)):
        free_row = C * q.low[t] < beta[t] < C * q.high[t]
        if (beta[t] > 0.0) == rises and (free_row or not some):
            beta[t] *= factor


@inner
def count_free(status: Status) -> int:
    """Return the number of free rows."""
    free = 0
    for t in range(len(status)):
        free += status[t] == 0
    return free


@inner
def total(beta: Array) -> float:
    """Return the sum."""
    whole = 0.0
    for t in range(len(beta)):
        whole += beta[t]
    return whole


@inner
def copy(x: Array, out: Array) -> None:
    """Overwrite ``out`` by x."""
    for t in range(len(out)):
        out[t] = x[t]
