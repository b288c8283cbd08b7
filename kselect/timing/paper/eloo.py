"""Exact leave-one-out by one inverse for every grid point (Cawley 2006)."""

from __future__ import annotations

import numpy as np

from kselect.kernels import Kernel
from kselect.numerics.linalg import Array
from kselect.timing.paper.base import Score, Task, algorithm
from kselect.timing.paper.system import invert


def residuals(task: Task, K: Array, lam: float) -> Array:
    r"""``e_i = alpha_i / P_ii`` with ``alpha = P y`` (mathematics, section 1)."""
    inverse = invert(K, task.n * lam, task.bias)
    alpha = inverse.apply(task.y[:, None])[:, 0]
    return np.asarray(alpha / inverse.diagonal())


@algorithm("ELOO")
def exact_leave_one_out(task: Task, kernel: Kernel, K: Array) -> Score:
    r"""PRESS, the error, or the smoothed error of the closed form: ``O(n^3)`` a grid point."""
    form, slope = task.params["form"], task.params["slope"]

    def score(lam: float) -> float:
        e = residuals(task, K, lam)
        if form == "press":
            return float(np.mean(e**2))
        margin = task.y * (task.y - e)
        if form == "error":
            return float(np.mean(margin <= 0))
        return float(np.mean(0.5 - 0.5 * np.tanh(0.5 * slope * margin)))

    return score
