"""The eigenvalue perturbation criterion (Liu, Jiang, Liao 2013), reconstructed."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from kselect.criteria.base import criterion
from kselect.criteria.empirical import empirical_risk
from kselect.errors import TrialError
from kselect.kernels.gaussian import Gaussian
from kselect.learners.base import Path, Problem
from kselect.numerics.linalg import Array
from kselect.numerics.losses import Loss


@lru_cache(maxsize=64)
def lattice_counts(d: int, n: int) -> tuple[Array, Array]:
    r"""Squared norms s of Z^d and ``r_d(s)``, how many points have each, until n points are covered.

    ``r_d`` is the d-fold convolution of ``1 + 2 q + 2 q^4 + 2 q^9 + ...``; the last shell is cut to make n.
    """
    length = 4
    while True:
        theta = np.zeros(length)
        theta[np.arange(int(np.sqrt(length - 1)) + 1) ** 2] = 2.0
        theta[0] = 1.0
        counts = theta
        for _ in range(d - 1):
            # Beyond n every count means the same: the cut keeps large d from overflowing.
            counts = np.minimum(np.convolve(counts, theta)[:length], float(n))
        if counts.sum() >= n:
            break
        length *= 2
    total = np.minimum(np.cumsum(counts), n)
    counts = np.diff(total, prepend=0.0)
    norms = np.flatnonzero(counts)
    return norms.astype(np.float64), counts[norms]


def log_integral_eigenvalues(d: int, n: int, tau: float, period: float) -> Array:
    r"""Logarithms of the n largest eigenvalues of the periodised Gaussian's integral operator, descending.

    ``(2 pi tau)^{d/2} v^{-d} exp(-2 pi^2 tau s / v^2)``, each r_d(s) times.
    In logs: the first factor overflows.
    """
    norms, counts = lattice_counts(d, n)
    logs = 0.5 * d * np.log(2.0 * np.pi * tau / period**2)
    return np.repeat(logs - 2.0 * np.pi**2 * tau * norms / period**2, counts.astype(np.intp))


def perturbation(problem: Problem) -> float:
    r"""``sum_j |lambda_j(L_K) - sigma_j(K) / n|``; infinity where an eigenvalue overflows."""
    X, kernel, n = problem.X, problem.kernel, problem.n
    if not isinstance(kernel, Gaussian):
        raise TrialError("EP knows the integral operator of the Gaussian kernel only")
    period = float(np.ptp(X, axis=0).max())
    if not period > 0:
        raise TrialError("EP needs a feature that varies")
    logs = log_integral_eigenvalues(X.shape[1], n, kernel.tau, period)
    if logs[0] > np.log(np.finfo(np.float64).max / n):
        return float("inf")
    return float(np.abs(np.exp(logs) - problem.spectrum() / n).sum())


@criterion(
    "EP",
    paper="ecml2014, icml2014; Liu, Jiang, Liao 2013",
    kernels=frozenset({"gaussian"}),
    reconstructed="the criterion of Liu, Jiang and Liao (2013) rebuilt from its description",
)
def eigenvalue_perturbation(path: Path, *, eta: float = 1.0, loss: Loss = "squared") -> Array:
    r"""Empirical risk plus eta times sum_j |lambda_j(L_K) - sigma_j(K)/n| (reconstructed).

    L_K is the integral operator of the Gaussian kernel made periodic with the largest range of a feature.
    """
    risk = empirical_risk(path, loss)
    # 0 times an infinity that stands for a large number is 0, not NaN.
    return risk + eta * path.problem.once(perturbation) if eta else risk
