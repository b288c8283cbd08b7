r"""Small problems of a few rows: sequential minimal optimisation (SMO), and an exact feasible active set.

A working set holds the free rows and the other rows that violate optimality most. SMO uses the second-order
selection of Fan, Chen and Lin (2005). A step costs as much as the set has rows; h of all rows is updated once per
set.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kselect.learners.svm.compiled import compiled, factorise, solve
from kselect.learners.svm.quadratic import BoxQP, Status
from kselect.numerics.linalg import Array, Index

# At most about SIDE rows that are not free, per direction; CLASSES classes of violation say which.
SIDE, CLASSES = 64, 64
# With more free rows than this, only those that violate are taken, to limit the memory.
MOST_FREE = 2048
# Less than any h.
NEVER = 1e300
# Steps of the exact active set, in total and per row; repeated steps correct rounding and the ridge.
EXACT_STEPS, PER_ROW, REPEATED = 50, 2, 2


class WorkingSet(NamedTuple):
    """The rows W, padded to a multiple of eight; ``gain`` holds the inverse curvatures of their pairs."""

    W: Index
    K: Array
    gain: Array
    low: Array
    high: Array
    ridge: Array
    beta: Array
    h: Array


@compiled
def choose(q: BoxQP, beta: Array, h: Array, C: float, top: float, bottom: float) -> Index:
    """Return the free rows, and the rows that violate most among those that can rise or fall."""
    middle = 0.5 * (top + bottom) if q.bias else 0.0
    scale = CLASSES / max(top - middle, middle - bottom)
    counts = np.zeros((2, CLASSES), np.intp)
    kind, n, free = np.full(len(h), -1, np.intp), len(h), 0
    for t in range(n):
        free += C * q.low[t] < beta[t] < C * q.high[t]
    for t in range(n):
        off = h[t] - middle
        rises, falls = beta[t] < C * q.high[t], beta[t] > C * q.low[t]
        if rises and falls and free <= MOST_FREE:
            kind[t] = 2 * CLASSES
        elif (off > 0.0 and rises) or (off < 0.0 and falls):
            at = min(int(abs(off) * scale), CLASSES - 1)
            kind[t] = at if off > 0.0 else CLASSES + at
            counts[0 if off > 0.0 else 1, at] += 1
    least, left = np.zeros(2, np.intp), np.full(2, 2 * SIDE)
    for side in range(2):
        total, at = counts[side, CLASSES - 1], CLASSES - 1
        while at > 0 and total + counts[side, at - 1] <= SIDE:
            at -= 1
            total += counts[side, at]
        least[side] = at
    found, count = np.empty(n, np.intp), 0
    for t in range(n):
        if kind[t] < 0:
            continue
        side = kind[t] // CLASSES
        if side < 2:
            if kind[t] % CLASSES < least[side] or left[side] == 0:
                continue
            left[side] -= 1
        found[count] = t
        count += 1
    return found[:count]


@compiled
def gather(q: BoxQP, W: Index, beta: Array, h: Array, C: float, floor: float) -> WorkingSet:
    """Copy the data of the rows W."""
    w = len(W)
    padded = (w + 7) // 8 * 8
    S, gain = np.zeros((w, padded)), np.zeros((w, padded))
    v = np.zeros((5, padded))
    for a in range(w):
        row = q.K[W[a]]
        for c in range(w):
            S[a, c] = row[W[c]]
        v[0, a], v[1, a], v[2, a] = C * q.low[W[a]], C * q.high[W[a]], q.ridge[W[a]]
        v[3, a], v[4, a] = beta[W[a]], h[W[a]]
    for a in range(w):
        for c in range(w):
            curvature = S[a, a] + S[c, c] - 2.0 * S[a, c]
            gain[a, c] = 1.0 / (curvature if curvature > floor else floor)
    return WorkingSet(W, S, gain, v[0], v[1], v[2], v[3], v[4])


@compiled
def largest(x: Array) -> float:
    """Return the maximum; the eight independent comparisons vectorise."""
    a = b = c = d = e = f = g = h = -2.0 * NEVER
    for t in range(0, len(x), 8):
        a, b, c, d = max(a, x[t]), max(b, x[t + 1]), max(c, x[t + 2]), max(d, x[t + 3])
        e, f, g, h = max(e, x[t + 4]), max(f, x[t + 5]), max(g, x[t + 6]), max(h, x[t + 7])
    return float(max(max(max(a, b), max(c, d)), max(max(e, f), max(g, h))))


@compiled
def index_of(x: Array, value: float) -> int:
    """Return the index of ``value`` in ``x``; no early exit, so that the loop vectorises."""
    at = 0
    for t in range(len(x)):
        if x[t] == value:
            at = t
    return at


@compiled
def mark(k: WorkingSet, up: Array, down: Array, t: int) -> None:
    """Record whether a row can rise, and whether it can fall: 0, or else less than anything."""
    up[t] = 0.0 if k.beta[t] < k.high[t] else -NEVER
    down[t] = 0.0 if k.beta[t] > k.low[t] else -NEVER


@compiled
def pairs(k: WorkingSet, tolerance: float, limit: int | np.int64) -> int | np.int64:
    """Move pairs of rows in place until no pair violates more than the tolerance; return the number of steps."""
    h = k.h
    n = len(h)
    up, down, tops, x = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    for t in range(n):
        mark(k, up, down, t)
        tops[t] = h[t] + up[t]
    for step in range(limit):
        top = largest(tops)
        for t in range(n):
            x[t] = down[t] - h[t]
        if top + largest(x) <= tolerance:
            return step
        i = index_of(tops, top)
        scale = k.gain[i]
        for t in range(n):
            gap = top + x[t]
            gap = gap if gap > 0.0 else 0.0
            x[t] = gap * gap * scale[t]
        j = index_of(x, largest(x))
        rise, fall = k.high[i] - k.beta[i], k.beta[j] - k.low[j]
        shift = min((top - h[j]) * scale[j], rise, fall)
        k.beta[i] = k.high[i] if shift == rise else k.beta[i] + shift
        k.beta[j] = k.low[j] if shift == fall else k.beta[j] - shift
        mark(k, up, down, i)
        mark(k, up, down, j)
        row, other = k.K[i], k.K[j]
        for t in range(n):
            h[t] -= shift * (row[t] - other[t])
            tops[t] = h[t] + up[t]
    return limit


@compiled
def singles(k: WorkingSet, tolerance: float, limit: int | np.int64) -> int | np.int64:
    """Do the same without a bias: each step moves the row with the largest decrease of the objective."""
    h = k.h
    for step in range(limit):
        i, worst, most = -1, 0.0, 0.0
        for t in range(len(k.W)):
            if k.beta[t] < k.high[t] if h[t] > 0.0 else k.beta[t] > k.low[t]:
                worst = max(worst, abs(h[t]))
                decrease = h[t] * h[t] / (k.K[t, t] + k.ridge[t])
                if decrease > most:
                    i, most = t, decrease
        if worst <= tolerance or i < 0:
            return step
        row = k.K[i]
        moved = k.beta[i] + h[i] / (row[i] + k.ridge[i])
        moved = min(max(moved, k.low[i]), k.high[i])
        shift = moved - k.beta[i]
        k.beta[i] = moved
        for t in range(len(h)):
            h[t] -= shift * row[t]
    return limit


@compiled
def gather_free(k: WorkingSet, status: Status, F: Index, A: Array) -> int:
    """Write the free rows and the lower half of their block; return their number."""
    f = 0
    for t in range(len(F)):
        if status[t] == 0:
            F[f] = t
            f += 1
    for a in range(f):
        row = k.K[F[a]]
        for c in range(a, f):
            A[a * f + c] = row[F[c]]
        A[a * f + a] += k.ridge[F[a]]
    return f


@compiled
def step_to_optimum(q: BoxQP, k: WorkingSet, F: Index, f: int, A: Array, B: Array) -> float:
    """Write the moves of the free rows, which keep their sum, to B and return b."""
    for a in range(f):
        B[a], B[f + a] = k.h[F[a]], 1.0
    solve(q.routines, A, f, B, 2 if q.bias else 1)
    if not q.bias:
        return 0.0
    x = p = 0.0
    for a in range(f):
        x += B[a]
        p += B[f + a]
    for a in range(f):
        B[a] -= x / p * B[f + a]
    return float(x / p)


@compiled
def move_in_box(k: WorkingSet, status: Status, F: Index, f: int, B: Array) -> bool:
    """Move until the first row reaches an end of its box; return whether the whole move was possible."""
    first, which = 1.0, -1
    for a in range(f):
        if B[a] != 0.0:
            end = k.high[F[a]] if B[a] > 0.0 else k.low[F[a]]
            room = (end - k.beta[F[a]]) / B[a]
            if room < first:
                first, which = room, a
    for a in range(f):
        part, row = first * B[a], k.K[F[a]]
        k.beta[F[a]] += part
        for t in range(len(k.h)):
            k.h[t] -= part * row[t]
    if which >= 0:
        i = F[which]
        k.beta[i] = k.high[i] if B[which] > 0.0 else k.low[i]
        status[i] = 1 if B[which] > 0.0 else -1
    return which < 0


@compiled
def release(k: WorkingSet, status: Status, b: float, allowed: float, pair: bool) -> bool:
    """Free the row that violates its end most, or with ``pair`` one row of each end; return False if none does.

    If no row is free and there is a bias, only a pair can move.
    """
    worst, at, i, j = allowed, -1, -1, -1
    for t in range(len(status)):
        push = -status[t] * (k.h[t] - b)
        if push > worst:
            worst, at = push, t
        if status[t] == -1 and (i < 0 or k.h[t] > k.h[i]):
            i = t
        if status[t] == 1 and (j < 0 or k.h[t] < k.h[j]):
            j = t
    if pair:
        if i < 0 or j < 0 or k.h[i] - k.h[j] <= allowed:
            return False
        status[i] = status[j] = 0
        return True
    if at >= 0:
        status[at] = 0
    return at >= 0


@compiled
def descend(q: BoxQP, k: WorkingSet, allowed: float) -> None:
    """Bring the working set to its optimum in place, by a feasible active set.

    The free rows move to their optimum, or until one of them reaches an end of its box. At their optimum, the row
    that violates its end most becomes free. The objective decreases in every step.
    """
    w = len(k.W)
    status, F = np.empty(w, np.int8), np.empty(w, np.intp)
    A, B = np.empty(w * w), np.empty(2 * w)
    for t in range(w):
        status[t] = -1 if k.beta[t] <= k.low[t] else 1 if k.beta[t] >= k.high[t] else 0
    known, repeated, f = False, 0, 0
    for _ in range(EXACT_STEPS + PER_ROW * w):
        if not known:
            f = gather_free(k, status, F, A)
            if f > 0 and not factorise(q.routines, A, f):
                return
            known, repeated = True, 0
        b = 0.0
        if f > 0:
            b = step_to_optimum(q, k, F, f, A, B)
            if not move_in_box(k, status, F, f, B):
                known = False
                continue
            off = 0.0
            for a in range(f):
                off = max(off, abs(k.h[F[a]] - b))
            if off > 0.1 * allowed and repeated < REPEATED:
                repeated += 1
                continue
        if not release(k, status, b, allowed, q.bias and f == 0):
            return
        known = False
