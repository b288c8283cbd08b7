"""Bayesian regularisation of leave-one-out by one inverse for every grid point (Cawley and Talbot 2007)."""

from __future__ import annotations

import numpy as np

from kselect.errors import TrialError
from kselect.kernels import Kernel
from kselect.numerics.linalg import Array
from kselect.timing.paper.base import Score, Task, algorithm
from kselect.timing.paper.eloo import residuals


@algorithm("BR")
def bayesian_regularisation(task: Task, kernel: Kernel, K: Array) -> Score:
    r"""``(n/2) log Q + (d/2) log Omega``, ``Q = sum e_i^2 / 2``, ``Omega = sum_j eta_j^2 / 2``."""
    eta = np.array(kernel.regularised())
    penalty = 0.5 * eta.size * float(np.log(0.5 * np.sum(eta**2))) if eta.size else 0.0

    def score(lam: float) -> float:
        press = float(np.sum(residuals(task, K, lam) ** 2))
        if not press > 0:
            raise TrialError("BR takes the logarithm of a PRESS of zero")
        return 0.5 * task.n * float(np.log(0.5 * press)) + penalty

    return score
