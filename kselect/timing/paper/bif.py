"""Cross-validation by the Bouligand influence function: one inverse, then the paper's recursion (icml2014)."""

from __future__ import annotations

from math import factorial

import numpy as np

from kselect.kernels import Kernel
from kselect.numerics.linalg import Array
from kselect.timing.paper.base import Score, Task, algorithm
from kselect.timing.paper.system import invert


def held_out(task: Task, K: Array, lam: float, order: int) -> Array:
    r"""``f_{-F} ~ f + b + sum_{s<=t} eps^s h_s / s!`` with ``eps = -m / (n - m)``, read on each fold F.

    For the square loss, V' = 2 r and V'' = 2, the equations of section 5

        L x = [K (1_F u) / m - 2 lam f;  1^T (1_F u) / m],   L x = (k+1) [K (v h_k) / n - K (1_F v h_k) / m; ...]

    with ``x = (K z, b)`` all become ``[[K + gamma I, 1], [1^T, 0]] (z, b) = (c, 0)``, so that one inverse
    serves every order and fold, and ``h = K z + b = c - gamma P c`` (oracle: the bordered L itself):

        c_1 = (n / m) 1_F r - r,      c_{k+1} = (k+1) (h_k - (n / m) 1_F h_k).

    All folds are columns of one product, 2 n^2 operations for each fold and order.
    """
    n, gamma = task.n, task.n * lam
    inverse = invert(K, gamma, task.bias)
    residual = gamma * inverse.apply(task.y[:, None])
    sizes = np.array([len(F) for F in task.folds.members], dtype=np.float64)
    inside = np.zeros((n, len(sizes)), order="F")
    for position, F in enumerate(task.folds.members):
        inside[F, position] = n / len(F)
    eps = -sizes / (n - sizes)
    c = (inside - 1.0) * residual
    predicted = np.repeat(task.y[:, None] - residual, len(sizes), axis=1)
    for s in range(1, order + 1):
        h = c - gamma * inverse.apply(c)
        predicted += eps**s * h / factorial(s)
        c = (s + 1) * (h - inside * h)
    return own_rows(predicted, task)


def own_rows(predicted: Array, task: Task) -> Array:
    """Each row from the column of its own fold."""
    out = np.empty(task.n)
    for position, F in enumerate(task.folds.members):
        out[F] = predicted[F, position]
    return out


@algorithm("BIF-k-CV")
def bouligand_cross_validation(task: Task, kernel: Kernel, K: Array) -> Score:
    r"""``O(n^3 + t k n^2)`` per grid point; no guard is timed, so ``identity`` and ``cap`` play no part."""
    order = task.params["order"]
    return lambda lam: task.mean_loss(held_out(task, K, lam, order))
