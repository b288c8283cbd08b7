"""From a point that is feasible and no more: SMO in blocks, and active sets as soon as they settle."""

from __future__ import annotations

import numpy as np

from kselect.learners.svm_path.block import LEFT, choose, gather, pairs, singles
from kselect.learners.svm_path.block import STEPS as BLOCK_STEPS
from kselect.learners.svm_path.compiled import compiled
from kselect.learners.svm_path.corner import descend
from kselect.learners.svm_path.free import Free, find
from kselect.learners.svm_path.quadratic import (
    Quadratic,
    allowance,
    ends,
    read_status,
    subtract,
)
from kselect.learners.svm_path.rounds import rounds
from kselect.learners.svm_path.task import Status
from kselect.numerics.linalg import Array

# The violation, relative to what the slack can be, at which active sets are tried; each is so much less.
FIRST, LESS, TRIES = 0.1, 0.1, 8
# From so many free rows on steps for all rows at once are tried; up to so many, one row at a time.
MANY, FEW = 40, 100
# Blocks for SMO, and of exact solutions.
BLOCKS, EXACT_BLOCKS = 2000, 12
# Relative to the largest K_ii, what a curvature counts at least in SMO: equal rows have none.
LEAST_CURVATURE = 1e-12


@compiled
def by_blocks(
    q: Quadratic, beta: Array, h: Array, C: float, tolerance: float, exact: bool, left: int
) -> int:
    """Until no pair violates more than the tolerance: the steps that are left, or -1."""
    floor, n = LEAST_CURVATURE * q.largest, len(h)
    rows, moves = np.empty(n, np.int64), np.empty(n)
    for _ in range(EXACT_BLOCKS if exact else BLOCKS):
        top, bottom = ends(q, beta, h, C)
        if top - bottom <= tolerance:
            return left
        k = gather(q, choose(q, beta, h, C, top, bottom), beta, h, C, floor)
        within = max(LEFT * (top - bottom), 0.5 * tolerance)
        most = min(left, BLOCK_STEPS * len(k.W))
        left -= pairs(k, within, most) if q.bias else singles(k, within, most)
        if exact:
            descend(q, k, 0.25 * tolerance)
        moved = 0
        for a in range(len(k.W)):
            t = k.W[a]
            if k.beta[a] != beta[t]:
                rows[moved], moves[moved] = t, k.beta[a] - beta[t]
                beta[t] = k.beta[a]
                moved += 1
        subtract(q, rows, moves, moved, h)
        if left <= 0:
            return -1
    return -1


@compiled
def search(
    q: Quadratic, free: Free, status: Status, beta: Array, h: Array, C: float, left: int
) -> float:
    """b, or not a number after so many steps of SMO.

    All is changed in place, and ``free`` is that of the statuses.
    """
    violation = FIRST * min(1.0, C * q.largest)
    status_2, beta_2, h_2 = np.empty_like(status), np.empty_like(beta), np.empty_like(h)
    for _ in range(TRIES):
        left = by_blocks(q, beta, h, C, violation, False, left)
        count = read_status(q, beta, C, status)
        if count >= MANY or not q.bias:
            status_2[:], beta_2[:], h_2[:] = status, beta, h
            b = rounds(q, free, status_2, beta_2, h_2, C, len(h))
            if not np.isnan(b):
                status[:], beta[:], h[:] = status_2, beta_2, h_2
                return b
        if count <= FEW:
            allowed = allowance(q, beta, C)
            done = by_blocks(q, beta, h, C, allowed, True, left) >= 0
            read_status(q, beta, C, status)
            if done:
                find(q, free, status)
                return between(q, beta, h, C)
        if left < 0:
            break
        violation *= LESS
    return np.nan


@compiled
def between(q: Quadratic, beta: Array, h: Array, C: float) -> float:
    """The middle of the biases that a point allows."""
    if not q.bias:
        return 0.0
    top, bottom = ends(q, beta, h, C)
    if np.isinf(top) or np.isinf(bottom):
        return float(bottom if np.isinf(top) else top)
    return 0.5 * (top + bottom)
