r"""Sequential minimal optimisation with second-order working sets (Fan, Chen and Lin 2005), to find the statuses.

    min beta^T K beta / 2 - r^T beta,   low <= beta <= high,   1^T beta kept (pairs), or free (singles)

A pair ``beta_i += d, beta_j -= d`` changes the objective by ``-d (g_i - g_j) + d^2 eta / 2`` with the slack
``g = r - K beta`` and ``eta = K_ii + K_jj - 2 K_ij``.
"""

from __future__ import annotations

import numpy as np

from kselect.learners.svm_path.compiled import compiled
from kselect.numerics.linalg import Array


@compiled
def maximum(x: Array, lanes: Array) -> float:
    """The largest number; len(x) is a multiple of the 16 lanes, which a processor compares at once."""
    for lane in range(16):
        lanes[lane] = x[lane]
    for start in range(16, len(x), 16):
        for lane in range(16):
            lanes[lane] = max(lanes[lane], x[start + lane])
    found = lanes[0]
    for lane in range(1, 16):
        found = max(found, lanes[lane])
    return found  # type: ignore[no-any-return]


@compiled
def first_at(x: Array, value: float) -> int:
    """The first place of a number."""
    for t in range(len(x)):
        if x[t] == value:
            return t
    return 0


@compiled
def pairs(
    K: Array, beta: Array, g: Array, box: Array, least: float, tolerance: float, limit: int
) -> int:
    """beta and g are changed in place until no pair violates more than the tolerance; the steps left."""
    n, i, j, shift = len(g), 0, 0, 0.0
    diagonal, low, high, lanes = np.diag(K).copy(), box[0].copy(), box[1].copy(), np.empty(16)
    padded = (n + 15) // 16 * 16
    up, down, gain = np.empty(padded), np.empty(padded), np.empty(padded)
    up[n:], down[n:], gain[n:] = -np.inf, -np.inf, -np.inf
    for step in range(limit):
        Ki, Kj = K[i], K[j]
        for t in range(n):
            g[t] -= shift * (Ki[t] - Kj[t])
            up[t] = g[t] if beta[t] < high[t] else -np.inf
            down[t] = -g[t] if beta[t] > low[t] else -np.inf
        top = maximum(up, lanes)
        if top + maximum(down, lanes) <= tolerance:
            return limit - step
        i = first_at(up, top)
        Ki = K[i]
        for t in range(n):
            gap = max(top + down[t], 0.0)
            gain[t] = gap * gap / max(diagonal[i] + diagonal[t] - 2.0 * Ki[t], least)
        j = first_at(gain, maximum(gain, lanes))
        eta = max(diagonal[i] + diagonal[j] - 2.0 * Ki[j], least)
        rise, fall = high[i] - beta[i], beta[j] - low[j]
        shift = min((top - g[j]) / eta, rise, fall)
        beta[i] = high[i] if shift == rise else beta[i] + shift
        beta[j] = low[j] if shift == fall else beta[j] - shift
    for t in range(n):
        g[t] -= shift * (K[i, t] - K[j, t])
    return 0


@compiled
def singles(
    K: Array, beta: Array, g: Array, box: Array, least: float, tolerance: float, limit: int
) -> int:
    """The same without a bias: one row a step, that of the largest decrease."""
    n, i, shift = len(g), 0, 0.0
    curvature = np.maximum(np.diag(K), least)
    for step in range(limit):
        previous, worst, gain = i, 0.0, 0.0
        for t in range(n):
            g[t] -= shift * K[previous, t]
            if (g[t] > 0.0 and beta[t] < box[1, t]) or (g[t] < 0.0 and beta[t] > box[0, t]):
                worst = max(worst, abs(g[t]))
                decrease = g[t] * g[t] / curvature[t]
                if decrease > gain:
                    gain, i = decrease, t
        if worst <= tolerance:
            return limit - step
        moved = min(max(beta[i] + g[i] / curvature[i], box[0, i]), box[1, i])
        shift = moved - beta[i]
        beta[i] = moved
    for t in range(n):
        g[t] -= shift * K[i, t]
    return 0
