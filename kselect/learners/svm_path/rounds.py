"""Active-set steps for all rows at once, and the last word on what they find."""

from __future__ import annotations

import numpy as np

from kselect.learners.svm_path.compiled import compiled
from kselect.learners.svm_path.free import ALL, Free, find, newton
from kselect.learners.svm_path.quadratic import (
    Quadratic,
    allowance,
    flip,
    refresh,
    residual,
    subtract,
    wrongs,
)
from kselect.learners.svm_path.task import TOLERANCE, Status
from kselect.numerics.linalg import Array

# Active-set steps; they go on while each leaves at most this share of the wrong rows, or few beside the free ones.
STEPS, SLOWEST, FEW = 20, 0.6, 1.0 / 16.0
# Steps without a flip to the solution, and how much more exact than allowed it has to be.
REFINEMENTS, EXACT = 8, 0.1


@compiled
def advance(q: Quadratic, free: Free, beta: Array, h: Array, right: Array) -> float:
    """The free rows to the optimum of their statuses, from anywhere; b."""
    f = free.sizes[ALL]
    for a in range(f):
        right[a] = h[free.F[a]]
    b = newton(q, free, right, beta.sum())
    for a in range(f):
        beta[free.F[a]] += right[a]
    subtract(q, free.F, right, f, h)
    return b


@compiled
def rounds(
    q: Quadratic, free: Free, status: Status, beta: Array, h: Array, C: float, wrong: int
) -> float:
    """Until no status is wrong: b; or not a number where they do not settle. All is changed in place."""
    right = np.empty(2 * len(h))
    for _ in range(STEPS):
        if not find(q, free, status) or free.sizes[ALL] == 0:
            return np.nan
        b = advance(q, free, beta, h, right)
        before = wrong
        wrong = flip(q, status, beta, h, b, C, allowance(q, beta, C))
        if wrong == 0:
            return b
        if wrong > max(SLOWEST * before, FEW * free.sizes[ALL]):
            return np.nan
    return np.nan


@compiled
def refined(
    q: Quadratic, free: Free, status: Status, beta: Array, h: Array, b: float, C: float
) -> float:
    """b of a point whose h is computed anew, when each optimality condition holds; otherwise not a number.

    ``free`` is that of the statuses; their equations are solved as exactly as can be.
    """
    right = np.empty(2 * len(h))
    for left in range(REFINEMENTS, -1, -1):
        refresh(q, beta, h)
        allowed = allowance(q, beta, C)
        if free.sizes[ALL] == 0:
            break
        off = residual(status, h, b)
        even = not q.bias or abs(beta.sum()) <= EXACT * TOLERANCE * C
        if (off <= EXACT * allowed and even) or (left == 0 and off <= allowed):
            break
        if left == 0:
            return np.nan
        b = advance(q, free, beta, h, right)
    return b if wrongs(q, status, beta, h, b, C, allowed) == 0 else np.nan
