"""The empirical risk plus a stability penalty (RKS, SPS of tcyb2018), and probes of stability.

The penalties depend on the kernel matrix and not on the ridge, so that the empirical risk chooses the ridge.
The probe ``beta`` is kernel stability itself; ``uniform-stability`` is the quantity that it stands for.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from kselect.criteria.base import criterion, empirical_risk, probe
from kselect.criteria.cross_validation import stability
from kselect.learners.base import LeaveOut, Path
from kselect.numerics.linalg import Array
from kselect.numerics.losses import LOSSES, Loss

CONSTANT = (
    "its penalty, delta tr(K) / n^2, is the same for every Gaussian kernel: among these SPS is the empirical risk, "
    "whatever delta is"
)


@criterion("RKS", paper="tcyb2018, Theorem 7")
def stable_risk(path: Path, *, eta: float = 1.0, loss: Loss = "squared") -> Array:
    r"""Empirical risk plus (eta / n) max_i ||K - K^i||_2."""
    penalty = eta / path.problem.n * stability(path.problem)
    return empirical_risk(path, loss) + penalty


@criterion("SPS", paper="tcyb2018; Liu and Liao 2014", remarks=(("gaussian", CONSTANT),))
def spectral_perturbation(path: Path, *, delta: float = 1.0, loss: Loss = "squared") -> Array:
    r"""Empirical risk plus (delta / n^2) sum_ij |sigma_j(K) - sigma_j(K^i)|, which is delta tr(K) / n^2.

    K^i is K with row and column i set to zero. Its sorted eigenvalues are at most the sorted eigenvalues of K
    (Cauchy's interlacing), so that the inner sum is ``tr K - tr K^i = K_ii``. A kernel with a constant diagonal,
    such as the Gaussian, has the same penalty everywhere: there SPS is the empirical risk. Oracle: the
    eigenvalues.
    """
    n = path.problem.n
    penalty = delta * float(path.problem.matrix.diagonal.sum()) / n**2
    return empirical_risk(path, loss) + penalty


@probe("beta", paper="ecml2014, Theorem 4; tcyb2018, Theorem 7")
def beta(path: Path, *, share: float = 1.0) -> Array:
    r"""max_i ||K - K^i||_2 on a share of the training rows: the first rows, which a random split has ordered."""
    problem, rows = path.problem, max(1, round(share * path.problem.n))
    part = replace(problem, X=problem.X[:rows], y=problem.y[:rows], K=problem.K[:rows, :rows])
    return np.full(len(problem.lams), stability(part))


@probe("prediction-change", paper="tcyb2018, Theorem 8")
def prediction_change(path: LeaveOut) -> Array:
    r"""max_i max_j |f_S(x_j) - f_{S without i}(x_j)| over the training rows."""
    fitted, worst = path.decision(), np.zeros(len(path.problem.lams))
    for i in range(path.problem.n):
        worst = np.maximum(worst, np.abs(fitted - path.without(i)).max(axis=1))
    return worst


@probe("square-bound", paper="tcyb2018, Theorems 1 and 8")
def square_bound(path: Path, *, theorem: Literal["1", "8"] = "1") -> Array:
    r"""The bound for the square loss: (C1 beta + C2) / (n - 1), for Theorem 1 times 2 M + 2 kappa M / lam.

    C1 = kappa M / lam^2, C2 = 2 kappa M / lam, M = max |y|, kappa = max K_ii (Theorem 8 and Appendix A).
    """
    problem, lams = path.problem, path.problem.lams
    M, kappa = float(np.abs(problem.y).max()), float(problem.matrix.diagonal.max())
    with np.errstate(over="ignore"):
        change = kappa * M / lams * (stability(problem) / lams + 2.0) / (problem.n - 1)
        return np.asarray(change * (2.0 * M + 2.0 * kappa * M / lams if theorem == "1" else 1.0))


@probe("uniform-stability", paper="tcyb2018, Remark 1")
def uniform_stability(path: LeaveOut, *, loss: Loss = "hinge") -> Array:
    r"""max_i max_z |V(f_S, z) - V(f_{S without i}, z)| over the training rows: an estimate from below."""
    y, fitted, worst = path.problem.y, path.decision(), np.zeros(len(path.problem.lams))
    base = LOSSES[loss](y, fitted)
    for i in range(path.problem.n):
        other = LOSSES[loss](y, path.without(i))
        worst = np.maximum(worst, np.abs(base - other).max(axis=1))
    return worst
