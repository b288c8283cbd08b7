"""The empirical risk plus a penalty on the eigenvalues of the kernel matrix: EP (Liu, Jiang and Liao 2013) and ER.

ER is the eigenvalue ratio of Liu and Liao (2015). Both criteria are reconstructed, ER in part.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from kselect.criteria.base import criterion, empirical_risk
from kselect.errors import TrialError
from kselect.kernels.gaussian import Gaussian
from kselect.learners.base import Path
from kselect.numerics.linalg import Array
from kselect.numerics.losses import Loss


@lru_cache(maxsize=64)
def lattice_counts(d: int, n: int) -> tuple[Array, Array]:
    r"""Return the squared norms s in Z^d and the number ``r_d(s)`` of points with each, up to n points in total.

    ``r_d`` is the d-fold convolution of ``1 + 2 q + 2 q^4 + 2 q^9 + ...``. The last count is cut to make n points.
    """
    length = 4
    while True:
        theta = np.zeros(length)
        theta[np.arange(int(np.sqrt(length - 1)) + 1) ** 2] = 2.0
        theta[0] = 1.0
        counts = theta
        for _ in range(d - 1):
            # A count above n has the same meaning as n; without this cut large d would overflow.
            counts = np.minimum(np.convolve(counts, theta)[:length], float(n))
        if counts.sum() >= n:
            break
        length *= 2
    total = np.minimum(np.cumsum(counts), n)
    counts = np.diff(total, prepend=0.0)
    norms = np.flatnonzero(counts)
    return norms.astype(np.float64), counts[norms]


def log_integral_eigenvalues(d: int, n: int, tau: float, period: float) -> Array:
    r"""Return the logarithms of the n largest eigenvalues of the periodised Gaussian's integral operator.

    The eigenvalues are ``(2 pi tau)^{d/2} v^{-d} exp(-2 pi^2 tau s / v^2)``, each r_d(s) times, descending. The
    first factor overflows, hence the logarithms.
    """
    norms, counts = lattice_counts(d, n)
    logs = 0.5 * d * np.log(2.0 * np.pi * tau / period**2)
    return np.repeat(logs - 2.0 * np.pi**2 * tau * norms / period**2, counts.astype(np.intp))


@criterion(
    "EP",
    paper="ecml2014, icml2014; Liu, Jiang, Liao 2013",
    kernels=frozenset({"gaussian"}),
    reconstructed="the criterion of Liu, Jiang and Liao (2013) rebuilt from its description",
)
def eigenvalue_perturbation(path: Path, *, eta: float = 1.0, loss: Loss = "squared") -> Array:
    r"""Empirical risk plus eta times sum_j |lambda_j(L_K) - sigma_j(K)/n| (reconstructed).

    L_K is the integral operator of the Gaussian kernel, made periodic with the largest range of any feature. The
    sum is infinite if an eigenvalue overflows; this stands for a large number, so that eta = 0 gives the risk.
    """
    risk, problem, known = empirical_risk(path, loss), path.problem, path.problem.of_kernel
    if not eta:
        return risk
    if "perturbation" not in known:
        X, kernel, n = problem.X, problem.kernel, problem.n
        if not isinstance(kernel, Gaussian):
            raise TrialError("EP knows the integral operator of the Gaussian kernel only")
        period = float(np.ptp(X, axis=0).max())
        if not period > 0:
            raise TrialError("EP needs a feature that varies")
        logs = log_integral_eigenvalues(X.shape[1], n, kernel.tau, period)
        total = float("inf")
        if logs[0] <= np.log(np.finfo(np.float64).max / n):
            total = float(np.abs(np.exp(logs) - problem.matrix.spectrum / n).sum())
        known["perturbation"] = total
    return risk + eta * float(known["perturbation"])


@criterion(
    "ER",
    paper="ijcai2018; Liu and Liao 2015",
    reconstructed="the form of Liu and Liao (2015) is known, how its risk is scaled and its ridge chosen is not",
)
def eigenvalue_ratio(
    path: Path, *, t: float = 0.5, eta: float = 1.0, loss: Loss = "squared"
) -> Array:
    r"""Empirical risk plus eta / ER_t, the t n largest eigenvalues over the rest (reconstructed).

    ``1 / ER_t = sum_{i > t n} s_i / sum_{i <= t n} s_i`` of the descending eigenvalues. The penalty does not
    contain lam, so that the smallest ridge of the grid is always chosen. The squared loss is divided by the
    variance of the target; otherwise the penalty would mean nothing next to a risk of arbitrary size.
    """
    if not t <= 1.0:
        raise TrialError(f"t is a share of the eigenvalues, at most 1, not {t:g}")
    risk, n = empirical_risk(path, loss), path.problem.n
    if loss == "squared":
        variance = float(path.problem.y.var())
        if not variance > 0:
            raise TrialError("ER needs a target that varies")
        risk = risk / variance
    s, count = np.maximum(path.problem.matrix.spectrum, 0.0), max(1, round(t * n))
    return risk + eta * float(s[count:].sum() / s[:count].sum())
