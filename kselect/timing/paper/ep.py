"""Eigenvalue perturbation as it is defined (Liu, Jiang, Liao 2013; reconstructed)."""

from __future__ import annotations

import numpy as np

from kselect.criteria.penalised_risk import log_integral_eigenvalues
from kselect.errors import TrialError
from kselect.kernels import Kernel
from kselect.kernels.gaussian import Gaussian
from kselect.numerics.linalg import Array
from kselect.numerics.losses import LOSSES
from kselect.timing.paper.base import Score, Task, algorithm
from kselect.timing.paper.system import shifted, train


def perturbation(task: Task, kernel: Kernel, K: Array) -> float:
    r"""``sum_j |lambda_j(L_K) - sigma_j(K) / n|`` by the eigenvalues of K; infinite where one overflows."""
    if not isinstance(kernel, Gaussian):
        raise TrialError("EP knows the integral operator of the Gaussian kernel only")
    period = float(np.ptp(task.X, axis=0).max())
    if not period > 0:
        raise TrialError("EP needs a feature that varies")
    logs = log_integral_eigenvalues(task.X.shape[1], task.n, kernel.tau, period)
    if logs[0] > np.log(np.finfo(np.float64).max / task.n):
        return float("inf")
    sigma = np.maximum(np.linalg.eigvalsh(K)[::-1], 0.0)
    return float(np.abs(np.exp(logs) - sigma / task.n).sum())


@algorithm("EP")
def eigenvalue_perturbation(task: Task, kernel: Kernel, K: Array) -> Score:
    r"""The eigenvalues once for a width; the training error ``V(y, y - gamma alpha)`` for every grid point."""
    eta = task.params["eta"]
    penalty = eta * perturbation(task, kernel, K) if eta else 0.0
    loss = LOSSES[task.params["loss"]]

    def score(lam: float) -> float:
        gamma = task.n * lam
        alpha, _ = train(shifted(K, gamma), task.y, task.bias)
        return float(loss(task.y, task.y - gamma * alpha).mean()) + penalty

    return score
