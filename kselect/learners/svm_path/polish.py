r"""Active-set steps on few free rows, from what SMO leaves: each a small Cholesky factor and some rows of K.

What is known is ``g = r - K beta``; a step moves the free rows by d and sets the bias, with
``(K_FF + ridge) d + b 1 = g_F`` and ``1^T d = -1^T beta``, and then flips the rows whose status is wrong.
"""

from __future__ import annotations

import numpy as np

from kselect.learners.svm_path.compiled import compiled
from kselect.learners.svm_path.task import Status
from kselect.numerics.linalg import Array, Index

# More free rows are left to LAPACK.
MOST = 96


@compiled
def solve_small(U: Array, x: Array, p: Array, k: int) -> bool:
    """``x <- M^{-1} x`` and ``p <- M^{-1} p`` for the upper half U of M, of which its factor is left; or False."""
    for i in range(k):
        if not U[i, i] > 0.0:
            return False
        root = np.sqrt(U[i, i])
        for b in range(i, k):
            U[i, b] /= root
        for a in range(i + 1, k):
            for b in range(a, k):
                U[a, b] -= U[i, a] * U[i, b]
        x[i] /= U[i, i]
        p[i] /= U[i, i]
        for a in range(i + 1, k):
            x[a] -= x[i] * U[i, a]
            p[a] -= p[i] * U[i, a]
    for i in range(k - 1, -1, -1):
        for a in range(i + 1, k):
            x[i] -= U[i, a] * x[a]
            p[i] -= U[i, a] * p[a]
        x[i] /= U[i, i]
        p[i] /= U[i, i]
    return True


@compiled
def step(
    K: Array, ridge: Array, free: Index, beta: Array, g: Array, x: Array, U: Array, bias: bool
) -> float:
    """How the free rows move, in x, and the bias; not a number where their block is singular."""
    k, p = len(free), np.ones(len(free))
    for a in range(k):
        for b in range(a, k):
            U[a, b] = K[free[a], free[b]]
        U[a, a] += ridge[free[a]]
        x[a] = g[free[a]]
    if not solve_small(U, x, p, k):
        return np.nan
    if not bias:
        return 0.0
    b = (x[:k].sum() + beta.sum()) / p.sum()
    for a in range(k):
        x[a] -= b * p[a]
    return float(b)


@compiled
def polish(
    K: Array,
    ridge: Array,
    box: Array,
    loose: Array,
    status: Status,
    beta: Array,
    g: Array,
    allowed: float,
    bias: bool,
    limit: int,
) -> float:
    """status, beta and g are changed in place; the bias, or not a number where some row stays wrong."""
    n, x, U = len(g), np.empty(MOST), np.empty((MOST, MOST))
    for _ in range(limit):
        free = np.flatnonzero(status == 0)
        if len(free) == 0 or len(free) > MOST:
            return np.nan
        b = step(K, ridge, free, beta, g, x, U, bias)
        if np.isnan(b):
            return np.nan
        for a in range(len(free)):
            i = free[a]
            beta[i] += x[a]
            for t in range(n):
                g[t] -= x[a] * K[i, t]
        wrong = 0
        for t in range(n):
            if abs(status[t]) == 1 and status[t] * (g[t] - b) < -allowed:
                status[t] = 0
                wrong += 1
        for i in free:
            end = 0 if beta[i] < box[0, i] - loose[i] else 1
            if end == 0 or beta[i] > box[1, i] + loose[i]:
                status[i] = 2 * end - 1
                for t in range(n):
                    g[t] -= (box[end, i] - beta[i]) * K[i, t]
                beta[i] = box[end, i]
                wrong += 1
        if wrong == 0:
            return b
    return np.nan
