r"""Small problems of a few rows: sequential minimal optimisation (SMO), and an exact feasible active set.

A working set holds the free rows and the other rows that violate optimality most. SMO uses the second-order
selection of Fan, Chen and Lin (2005). A step costs as much as the set has rows; h of all rows is updated once per
set.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kselect.learners.svm.fortran import factorise, solve
from kselect.learners.svm.quadratic import BoxQP, Status
from kselect.numerics.compiled import RowMajor, compiled, inner
from kselect.numerics.linalg import Array, Index

# At most about SIDE rows that are not free, per direction; CLASSES classes of violation say which.
SIDE, CLASSES = 64, 64
# With more free rows than this, only those that violate are taken, to limit the memory.
MOST_FREE = 2048
# Less than any h.
NEVER = 1e300
# Positions in ``sizes``: the number of rows, and the padded one.
ROWS, PADDED = range(2)
# Steps of the exact active set, in total and per row; repeated steps correct rounding and the ridge.
EXACT_STEPS, PER_ROW, REPEATED = 50, 2, 2


class WorkingSet(NamedTuple):
    """The rows W and their data, in memory that is given once.

    ``sizes`` are the number of rows, and that number padded to a multiple of eight: the length of a row of ``K``
    and of ``gain``, the inverse curvatures of pairs. ``counts`` is memory for ``choose``, ``room`` for ``pairs``,
    and ``status``, ``F``, ``A`` and ``B`` for ``descend``.
    """

    sizes: Index
    W: Index
    K: Array
    gain: Array
    low: Array
    high: Array
    ridge: Array
    beta: Array
    h: Array
    counts: Index
    status: Status
    F: Index
    A: Array
    B: Array
    room: RowMajor


def no_working_set(n: int) -> WorkingSet:
    """Allocate space for the rows that ``choose`` may take out of n."""
    most = (min(n, MOST_FREE + 4 * SIDE) + 7) // 8 * 8
    low, high, ridge, beta, h = np.empty((5, most))
    return WorkingSet(
        sizes=np.zeros(2, np.intp),
        W=np.empty(n, np.intp),
        K=np.empty(most * most),
        gain=np.empty(most * most),
        low=low,
        high=high,
        ridge=ridge,
        beta=beta,
        h=h,
        counts=np.empty(2 * CLASSES, np.intp),
        status=np.empty(most, np.int8),
        F=np.empty(most, np.intp),
        A=np.empty(most * most),
        B=np.empty(2 * most),
        room=np.empty((4, most)),
    )


@compiled
def choose(
    q: BoxQP, k: WorkingSet, beta: Array, h: Array, C: float, top: float, bottom: float
) -> None:
    """Write the free rows, and the rows that violate most among those that can rise or fall, to W."""
    middle = 0.5 * (top + bottom) if q.bias else 0.0
    scale = CLASSES / max(top - middle, middle - bottom)
    counts, kind, n, free = k.counts, q.rows, len(h), 0
    for at in range(2 * CLASSES):
        counts[at] = 0
    for t in range(n):
        free += C * q.low[t] < beta[t] < C * q.high[t]
    for t in range(n):
        off, kind[t] = h[t] - middle, -1
        rises, falls = beta[t] < C * q.high[t], beta[t] > C * q.low[t]
        if rises and falls and free <= MOST_FREE:
            kind[t] = 2 * CLASSES
        elif (off > 0.0 and rises) or (off < 0.0 and falls):
            at = min(int(abs(off) * scale), CLASSES - 1)
            kind[t] = at if off > 0.0 else CLASSES + at
            counts[kind[t]] += 1
    least_up, left_up = least_class(counts, 0), 2 * SIDE
    least_down, left_down = least_class(counts, CLASSES), 2 * SIDE
    count = 0
    for t in range(n):
        if kind[t] < 0:
            continue
        if kind[t] < CLASSES:
            if kind[t] < least_up or left_up == 0:
                continue
            left_up -= 1
        elif kind[t] < 2 * CLASSES:
            if kind[t] < least_down or left_down == 0:
                continue
            left_down -= 1
        k.W[count] = t
        count += 1
    k.sizes[ROWS] = count


@inner
def least_class(counts: Index, start: int) -> int:
    """Return the least class of a direction that is taken, so that the classes from it on have about SIDE rows."""
    at = start + CLASSES - 1
    whole = counts[at]
    while at > start and whole + counts[at - 1] <= SIDE:
        at -= 1
        whole += counts[at]
    return at


@compiled
def gather(q: BoxQP, k: WorkingSet, beta: Array, h: Array, C: float, floor: float) -> None:
    """Copy the data of the rows W."""
    w, S = k.sizes[ROWS], k.K
    p = (w + 7) // 8 * 8
    k.sizes[PADDED] = p
    for a in range(w, p):
        k.low[a] = k.high[a] = k.ridge[a] = k.beta[a] = k.h[a] = 0.0
    for a in range(w):
        t = k.W[a]
        row = q.K[t]
        for c in range(w):
            S[a * p + c] = row[k.W[c]]
        for c in range(w, p):
            S[a * p + c] = k.gain[a * p + c] = 0.0
        k.low[a], k.high[a], k.ridge[a] = C * q.low[t], C * q.high[t], q.ridge[t]
        k.beta[a], k.h[a] = beta[t], h[t]
    for a in range(w):
        for c in range(w):
            curvature = S[a * p + a] + S[c * p + c] - 2.0 * S[a * p + c]
            k.gain[a * p + c] = 1.0 / (curvature if curvature > floor else floor)


@inner
def largest(x: Array, n: int) -> float:
    """Return the maximum of the first n numbers; the eight independent comparisons vectorise."""
    a = b = c = d = e = f = g = h = -2.0 * NEVER
    for t in range(0, n, 8):
        a, b, c, d = max(a, x[t]), max(b, x[t + 1]), max(c, x[t + 2]), max(d, x[t + 3])
        e, f, g, h = max(e, x[t + 4]), max(f, x[t + 5]), max(g, x[t + 6]), max(h, x[t + 7])
    return float(max(max(max(a, b), max(c, d)), max(max(e, f), max(g, h))))


@inner
def index_of(x: Array, n: int, value: float) -> int:
    """Return the index of ``value`` among the first n numbers; no early exit, so that the loop vectorises."""
    at = 0
    for t in range(n):
        if x[t] == value:
            at = t
    return at


@inner
def mark(k: WorkingSet, up: Array, down: Array, t: int) -> None:
    """Record whether a row can rise, and whether it can fall: 0, or else less than anything."""
    up[t] = 0.0 if k.beta[t] < k.high[t] else -NEVER
    down[t] = 0.0 if k.beta[t] > k.low[t] else -NEVER


@compiled
def pairs(k: WorkingSet, tolerance: float, limit: int) -> int:
    """Move pairs of rows in place until no pair violates more than the tolerance; return the number of steps."""
    h, n = k.h, k.sizes[PADDED]
    up, down, tops, x = k.room[0], k.room[1], k.room[2], k.room[3]
    for t in range(n):
        mark(k, up, down, t)
        tops[t] = h[t] + up[t]
    for step in range(limit):
        top = largest(tops, n)
        for t in range(n):
            x[t] = down[t] - h[t]
        if top + largest(x, n) <= tolerance:
            return step
        i = index_of(tops, n, top)
        scale = k.gain[i * n :]
        for t in range(n):
            gap = top + x[t]
            gap = gap if gap > 0.0 else 0.0
            x[t] = gap * gap * scale[t]
        j = index_of(x, n, largest(x, n))
        rise, fall = k.high[i] - k.beta[i], k.beta[j] - k.low[j]
        shift = min((top - h[j]) * scale[j], rise, fall)
        k.beta[i] = k.high[i] if shift == rise else k.beta[i] + shift
        k.beta[j] = k.low[j] if shift == fall else k.beta[j] - shift
        mark(k, up, down, i)
        mark(k, up, down, j)
        row, other = k.K[i * n :], k.K[j * n :]
        for t in range(n):
            h[t] -= shift * (row[t] - other[t])
            tops[t] = h[t] + up[t]
    return limit


@compiled
def singles(k: WorkingSet, tolerance: float, limit: int) -> int:
    """Do the same without a bias: each step moves the row with the largest decrease of the objective."""
    h, p = k.h, k.sizes[PADDED]
    for step in range(limit):
        i, worst, most = -1, 0.0, 0.0
        for t in range(k.sizes[ROWS]):
            if k.beta[t] < k.high[t] if h[t] > 0.0 else k.beta[t] > k.low[t]:
                worst = max(worst, abs(h[t]))
                decrease = h[t] * h[t] / (k.K[t * p + t] + k.ridge[t])
                if decrease > most:
                    i, most = t, decrease
        if worst <= tolerance or i < 0:
            return step
        row = k.K[i * p :]
        moved = k.beta[i] + h[i] / (row[i] + k.ridge[i])
        moved = min(max(moved, k.low[i]), k.high[i])
        shift = moved - k.beta[i]
        k.beta[i] = moved
        for t in range(p):
            h[t] -= shift * row[t]
    return limit


@inner
def gather_free(k: WorkingSet) -> int:
    """Write the free rows and the lower half of their block; return their number."""
    F, A, f, p = k.F, k.A, 0, k.sizes[PADDED]
    for t in range(k.sizes[ROWS]):
        if k.status[t] == 0:
            F[f] = t
            f += 1
    for a in range(f):
        row = k.K[F[a] * p :]
        for c in range(a, f):
            A[a * f + c] = row[F[c]]
        A[a * f + a] += k.ridge[F[a]]
    return f


@compiled
def step_to_optimum(q: BoxQP, k: WorkingSet, f: int) -> float:
    """Write the moves of the free rows, which keep their sum, to B and return b."""
    B = k.B
    for a in range(f):
        B[a], B[f + a] = k.h[k.F[a]], 1.0
    solve(q.routines, k.A, f, B, 2 if q.bias else 1)
    if not q.bias:
        return 0.0
    x = p = 0.0
    for a in range(f):
        x += B[a]
        p += B[f + a]
    for a in range(f):
        B[a] -= x / p * B[f + a]
    return float(x / p)


@inner
def move_in_box(k: WorkingSet, f: int) -> bool:
    """Move until the first row reaches an end of its box; return whether the whole move was possible."""
    F, B, p, first, which = k.F, k.B, k.sizes[PADDED], 1.0, -1
    for a in range(f):
        if B[a] != 0.0:
            end = k.high[F[a]] if B[a] > 0.0 else k.low[F[a]]
            room = (end - k.beta[F[a]]) / B[a]
            if room < first:
                first, which = room, a
    for a in range(f):
        part, row = first * B[a], k.K[F[a] * p :]
        k.beta[F[a]] += part
        for t in range(p):
            k.h[t] -= part * row[t]
    if which >= 0:
        i = F[which]
        k.beta[i] = k.high[i] if B[which] > 0.0 else k.low[i]
        k.status[i] = 1 if B[which] > 0.0 else -1
    return which < 0


@inner
def release(k: WorkingSet, b: float, allowed: float, pair: bool) -> bool:
    """Free the row that violates its end most, or with ``pair`` one row of each end; return False if none does.

    If no row is free and there is a bias, only a pair can move.
    """
    status, worst, at, i, j = k.status, allowed, -1, -1, -1
    for t in range(k.sizes[ROWS]):
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
    w = k.sizes[ROWS]
    for t in range(w):
        k.status[t] = -1 if k.beta[t] <= k.low[t] else 1 if k.beta[t] >= k.high[t] else 0
    known, repeated, f = False, 0, 0
    for _ in range(EXACT_STEPS + PER_ROW * w):
        if not known:
            f = gather_free(k)
            if f > 0 and not factorise(q.routines, k.A, f):
                return
            known, repeated = True, 0
        b = 0.0
        if f > 0:
            b = step_to_optimum(q, k, f)
            if not move_in_box(k, f):
                known = False
                continue
            off = 0.0
            for a in range(f):
                off = max(off, abs(k.h[k.F[a]] - b))
            if off > 0.1 * allowed and repeated < REPEATED:
                repeated += 1
                continue
        if not release(k, b, allowed, q.bias and f == 0):
            return
        known = False
