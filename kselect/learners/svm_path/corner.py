r"""The exact optimum of a block with few free rows: a feasible active set, one row at a time.

The free rows move to their optimum, or as far as the first of them comes to an end of its box; once they are there,
the row that pushes most against its end becomes free. The objective only falls.
"""

from __future__ import annotations

import numpy as np

from kselect.learners.svm_path.block import Block
from kselect.learners.svm_path.compiled import compiled
from kselect.learners.svm_path.lapack import factorise, solve
from kselect.learners.svm_path.quadratic import Quadratic, Rows
from kselect.learners.svm_path.task import Status
from kselect.numerics.linalg import Array

# Steps in all and per row of the block; repeated ones, for what rounding and the ridge leave.
STEPS, PER_ROW, REPEATED = 50, 2, 2


@compiled
def gather_free(k: Block, status: Status, F: Rows, A: Array) -> int:
    """The free rows and the lower half of their block."""
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
def step(q: Quadratic, k: Block, F: Rows, f: int, A: Array, B: Array) -> float:
    """The moves of the free rows, in B, with their sum kept; b."""
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
def move(k: Block, status: Status, F: Rows, f: int, B: Array) -> bool:
    """As far as the box allows; whether that was all of the way."""
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
def release(k: Block, status: Status, b: float, allowed: float) -> bool:
    """The row that pushes most against its end becomes free; False where none does."""
    worst, at = allowed, -1
    for t in range(len(status)):
        push = -status[t] * (k.h[t] - b)
        if push > worst:
            worst, at = push, t
    if at >= 0:
        status[at] = 0
    return at >= 0


@compiled
def release_pair(k: Block, status: Status, allowed: float) -> bool:
    """Where no row is free, one of each end, so that the sum can stay."""
    i = j = -1
    for t in range(len(status)):
        if status[t] == -1 and (i < 0 or k.h[t] > k.h[i]):
            i = t
        if status[t] == 1 and (j < 0 or k.h[t] < k.h[j]):
            j = t
    if i < 0 or j < 0 or k.h[i] - k.h[j] <= allowed:
        return False
    status[i] = status[j] = 0
    return True


@compiled
def descend(q: Quadratic, k: Block, allowed: float) -> None:
    """beta and h of the block are changed in place: to its optimum, or towards it."""
    w = len(k.W)
    status, F = np.empty(w, np.int8), np.empty(w, np.int64)
    A, B = np.empty(w * w), np.empty(2 * w)
    for t in range(w):
        status[t] = -1 if k.beta[t] <= k.low[t] else 1 if k.beta[t] >= k.high[t] else 0
    known, repeated, f = False, 0, 0
    for _ in range(STEPS + PER_ROW * w):
        if not known:
            f = gather_free(k, status, F, A)
            if f > 0 and not factorise(q.routines, A, f):
                return
            known, repeated = True, 0
        b = 0.0
        if f > 0:
            b = step(q, k, F, f, A, B)
            if not move(k, status, F, f, B):
                known = False
                continue
            off = 0.0
            for a in range(f):
                off = max(off, abs(k.h[F[a]] - b))
            if off > 0.1 * allowed and repeated < REPEATED:
                repeated += 1
                continue
        pair = q.bias and f == 0
        if not (release_pair(k, status, allowed) if pair else release(k, status, b, allowed)):
            return
        known = False
