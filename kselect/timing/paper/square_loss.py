r"""Criteria of the square loss as one would write them without an eigendecomposition, by Cholesky.

``K + gamma I`` is symmetric positive definite. The bias adds a border of ones and a zero, which makes it
indefinite. Its Schur form needs two solutions with the same factor, of y and of ones:

    (K + gamma I) [a, eta] = [y, 1],   b = eta^T y / 1^T eta,   alpha = a - b eta

LAPACK works on one triangle, in place, in Fortran order, which is the least work of a direct method.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dsymm, dsymv
from scipy.linalg.lapack import dposv, dpotrf, dpotri

from kselect.criteria.penalised_risk import log_integral_eigenvalues
from kselect.errors import TrialError
from kselect.kernels import Kernel
from kselect.kernels.gaussian import Gaussian
from kselect.numerics.linalg import Array
from kselect.numerics.losses import LOSSES
from kselect.timing.paper.base import Score, TimedProblem, algorithm

SINGULAR = "K + gamma I is not positive definite"


def shifted(K: Array, gamma: float) -> Array:
    """Return ``K + gamma I``, a copy in Fortran order."""
    A = np.array(K.T, order="F", copy=True)
    A[np.diag_indices_from(A)] += gamma
    return A


def train(A: Array, y: Array, bias: bool) -> tuple[Array, float]:
    """Return ``alpha`` and ``b`` from one Cholesky factor of ``A = K + gamma I``, which is overwritten."""
    right = np.ones((len(y), 2 if bias else 1), order="F")
    right[:, 0] = y
    _, solved, failed = dposv(A, right, lower=1, overwrite_a=1, overwrite_b=1)
    if failed:
        raise TrialError(SINGULAR)
    if not bias:
        return solved[:, 0], 0.0
    eta = solved[:, 1]
    b = float(eta @ y) / float(eta.sum())
    return solved[:, 0] - b * eta, b


@dataclass(frozen=True, eq=False)
class Inverse:
    """``P = G - p p^T / 1^T p`` with G = (K + gamma I)^{-1} in the lower triangle; without a bias P = G.

    P is the leading block of the inverse of the bordered matrix; no other part of it is needed.
    """

    G: Array
    p: Array
    total: float

    def apply(self, V: Array) -> Array:
        """Return ``P V``."""
        product = dsymm(1.0, self.G, V, lower=1)
        if self.total:
            product -= np.outer(self.p, (self.p @ V) / self.total)
        return np.asarray(product)

    def diagonal(self) -> Array:
        """Return ``P_ii``."""
        diagonal = np.diagonal(self.G)
        return diagonal - np.square(self.p) / self.total if self.total else diagonal


def invert(K: Array, gamma: float, bias: bool) -> Inverse:
    """Compute one inverse in n^3 operations: Cholesky, then LAPACK's inverse from the factor."""
    factor, failed = dpotrf(shifted(K, gamma), lower=1, overwrite_a=1, clean=0)
    if failed:
        raise TrialError(SINGULAR)
    G, _ = dpotri(factor, lower=1, overwrite_c=1)
    if not bias:
        return Inverse(G, np.zeros(len(K)), 0.0)
    p = dsymv(1.0, G, np.ones(len(K)), lower=1)
    return Inverse(G, p, float(p.sum()))


def trained_without(K: Array, start: int, stop: int, gamma: float) -> Array:
    """Return the lower triangle of ``K + gamma I`` without the rows start..stop, in Fortran order."""
    rest = len(K) - (stop - start)
    A = np.empty((rest, rest), order="F")
    A[:start, :start] = K[:start, :start]
    A[start:, :start] = K[stop:, :start]
    A[start:, start:] = K[stop:, stop:]
    A[np.diag_indices_from(A)] += gamma
    return A


def held_out(problem: TimedProblem, K: Array) -> Callable[[float], Array]:
    """Return the function of lam that gives the held-out predictions by training without each fold.

    The rows of the kernel matrix are sorted by fold once, so that what remains without a fold are contiguous
    blocks. Copying them for every ridge is cheaper than gathering rows.
    """
    order = np.concatenate(problem.folds.members)
    ends = np.cumsum([len(F) for F in problem.folds.members]).tolist()
    bounds = list(zip([0, *ends[:-1]], ends, strict=True))
    ordered = np.asfortranarray(K[np.ix_(order, order)])
    y = problem.y[order]

    def predict(lam: float) -> Array:
        out = np.empty(problem.n)
        for start, stop in bounds:
            rows = problem.n - (stop - start) if problem.ridge == "per-fold" else problem.n
            A = trained_without(ordered, start, stop, rows * lam)
            alpha, b = train(A, np.concatenate([y[:start], y[stop:]]), problem.bias)
            before, after = ordered[:start, start:stop], ordered[stop:, start:stop]
            out[order[start:stop]] = alpha[:start] @ before + alpha[start:] @ after + b
        return out

    return predict


@algorithm("k-CV")
def cross_validation(problem: TimedProblem, kernel: Kernel, K: Array) -> Score:
    r"""k-fold cross-validation by training k times: ``O(k n^3 / 3)`` per grid point, in all five papers."""
    predict = held_out(problem, K)
    return lambda lam: problem.mean_loss(predict(lam))


@algorithm("k-KS")
def kernel_stability(problem: TimedProblem, kernel: Kernel, K: Array) -> Score:
    r"""k-CV plus ``(eta / n) beta`` (ecml2014); beta by Theorem 4, once per width, ``O(n^2)``."""
    own = np.diagonal(K)
    others = np.einsum("ij,ij->i", K, K) - own**2
    beta = float(np.max(own + np.sqrt(own**2 + 4.0 * np.maximum(others, 0.0)))) / 2.0
    penalty = problem.params["eta"] / problem.n * beta
    predict = held_out(problem, K)
    return lambda lam: problem.mean_loss(predict(lam)) + penalty


def residuals(problem: TimedProblem, K: Array, lam: float) -> Array:
    r"""Return the leave-one-out errors ``e_i = alpha_i / P_ii``, ``alpha = P y``."""
    inverse = invert(K, problem.n * lam, problem.bias)
    alpha = inverse.apply(problem.y[:, None])[:, 0]
    return np.asarray(alpha / inverse.diagonal())


@algorithm("ELOO")
def exact_leave_one_out(problem: TimedProblem, kernel: Kernel, K: Array) -> Score:
    r"""PRESS, the error, or the smoothed error (Cawley 2006): one inverse, ``O(n^3)`` per grid point."""
    form, slope = problem.params["form"], problem.params["slope"]

    def score(lam: float) -> float:
        e = residuals(problem, K, lam)
        if form == "press":
            return float(np.mean(e**2))
        margin = problem.y * (problem.y - e)
        if form == "error":
            return float(np.mean(margin <= 0))
        return float(np.mean(0.5 - 0.5 * np.tanh(0.5 * slope * margin)))

    return score


@algorithm("BR")
def bayesian_regularisation(problem: TimedProblem, kernel: Kernel, K: Array) -> Score:
    r"""``(n/2) log(sum e_i^2 / 2) + (d/2) log(sum_j eta_j^2 / 2)`` (Cawley and Talbot 2007)."""
    eta = np.array(kernel.regularised())
    penalty = 0.5 * eta.size * float(np.log(0.5 * np.sum(eta**2))) if eta.size else 0.0

    def score(lam: float) -> float:
        press = float(np.sum(residuals(problem, K, lam) ** 2))
        if not press > 0:
            raise TrialError("BR takes the logarithm of a PRESS of zero")
        return 0.5 * problem.n * float(np.log(0.5 * press)) + penalty

    return score


def perturbation(problem: TimedProblem, kernel: Kernel, K: Array) -> float:
    r"""Return ``sum_j |lambda_j(L_K) - sigma_j(K) / n|``; infinite if an eigenvalue overflows."""
    if not isinstance(kernel, Gaussian):
        raise TrialError("EP knows the integral operator of the Gaussian kernel only")
    period = float(np.ptp(problem.X, axis=0).max())
    if not period > 0:
        raise TrialError("EP needs a feature that varies")
    logs = log_integral_eigenvalues(problem.X.shape[1], problem.n, kernel.tau, period)
    if logs[0] > np.log(np.finfo(np.float64).max / problem.n):
        return float("inf")
    sigma = np.maximum(np.linalg.eigvalsh(K)[::-1], 0.0)
    return float(np.abs(np.exp(logs) - sigma / problem.n).sum())


@algorithm("EP")
def eigenvalue_perturbation(problem: TimedProblem, kernel: Kernel, K: Array) -> Score:
    r"""Eigenvalue perturbation (Liu, Jiang, Liao 2013; reconstructed), plus the training error of every ridge."""
    eta = problem.params["eta"]
    penalty = eta * perturbation(problem, kernel, K) if eta else 0.0
    loss = LOSSES[problem.params["loss"]]

    def score(lam: float) -> float:
        gamma = problem.n * lam
        alpha, _ = train(shifted(K, gamma), problem.y, problem.bias)
        return float(loss(problem.y, problem.y - gamma * alpha).mean()) + penalty

    return score


def eigenvalue_penalty(problem: TimedProblem, K: Array) -> float:
    r"""Return ``eta / ER_t``: eta times the eigenvalues after the t n largest, over those."""
    s = np.maximum(np.linalg.eigvalsh(K)[::-1], 0.0)
    count = max(1, round(problem.params["t"] * problem.n))
    return float(problem.params["eta"] * s[count:].sum() / s[:count].sum())


@algorithm("ER")
def eigenvalue_ratio(problem: TimedProblem, kernel: Kernel, K: Array) -> Score:
    r"""Eigenvalue ratio (Liu, Liao 2015; reconstructed in part), plus the training error of every ridge.

    The squared loss is divided by the variance of the target, as in our criterion.
    """
    penalty, scale = eigenvalue_penalty(problem, K), 1.0
    loss = LOSSES[problem.params["loss"]]
    if problem.params["loss"] == "squared":
        scale = float(problem.y.var())
        if not scale > 0:
            raise TrialError("ER needs a target that varies")

    def score(lam: float) -> float:
        gamma = problem.n * lam
        alpha, _ = train(shifted(K, gamma), problem.y, problem.bias)
        return float(loss(problem.y, problem.y - gamma * alpha).mean()) / scale + penalty

    return score
