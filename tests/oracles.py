"""Slow literal definitions, with which kselect's fast forms are compared.

Nothing here uses an eigendecomposition of the whole problem, a closed form or code of kselect: models are
retrained, norms come from singular values, lattices are enumerated, kernels are double loops.

The bounds at the end limit the difference between a fast form and its oracle. They are first-order error
analysis of both computations from the matrices that were solved, not constants.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.intp]
EPS = float(np.finfo(np.float64).eps)

# --- kernels ---------------------------------------------------------------------------------------


def gram(k: Callable[[Array, Array], float], X: Array, Z: Array) -> Array:
    """Return ``K_ij = k(x_i, z_j)``, computed entry by entry."""
    return np.array([[k(x, z) for z in Z] for x in X])


def gaussian(tau: float) -> Callable[[Array, Array], float]:
    """Return ``exp(-||x - z||^2 / (2 tau))``."""
    return lambda x, z: math.exp(-sum((a - b) ** 2 for a, b in zip(x, z, strict=True)) / (2 * tau))


def polynomial(degree: int) -> Callable[[Array, Array], float]:
    """Return ``(1 + x.z)^degree``."""
    return lambda x, z: (1.0 + sum(a * b for a, b in zip(x, z, strict=True))) ** degree


def linear() -> Callable[[Array, Array], float]:
    """Return ``x.z``."""
    return lambda x, z: sum(a * b for a, b in zip(x, z, strict=True))


# --- learners: retraining --------------------------------------------------------------------------


def system(K: Array, gamma: float, bias: bool) -> Array:
    """Return ``K + gamma I``; with a bias, add a row and column of ones with a zero in the corner."""
    n = len(K)
    A = K + gamma * np.eye(n)
    if not bias:
        return A
    one = np.ones((n, 1))
    return np.block([[A, one], [one.T, np.zeros((1, 1))]])


def fit(K: Array, y: Array, gamma: float, bias: bool) -> tuple[Array, float]:
    """Return alpha and b of ``min sum (y - f - b)^2 + gamma ||f||^2`` from its linear system."""
    right = np.append(y, 0.0) if bias else y
    x = np.linalg.solve(system(K, gamma, bias), right)
    return (x[:-1], float(x[-1])) if bias else (x, 0.0)


def predict(K_test: Array, alpha: Array, b: float) -> Array:
    """Return ``f(x) = sum_i alpha_i k(x, x_i) + b``."""
    return K_test @ alpha + b


def fold_ridge(n: int, m: int, lam: float, per_fold: bool) -> float:
    """Return the ridge of the model trained without a fold of m rows."""
    return (n - m) * lam if per_fold else n * lam


def without(F: Index, n: int) -> Index:
    """Return the rows outside a fold."""
    return np.setdiff1d(np.arange(n), F)


def held_out(
    K: Array, y: Array, folds: Iterable[Index], lam: float, bias: bool, per_fold: bool
) -> Array:
    """Predict every row by the model trained without its fold."""
    n = len(y)
    out = np.empty(n)
    for F in folds:
        T = without(F, n)
        alpha, b = fit(K[np.ix_(T, T)], y[T], fold_ridge(n, len(F), lam, per_fold), bias)
        out[F] = predict(K[np.ix_(F, T)], alpha, b)
    return out


def leave_one_out(K: Array, y: Array, lam: float, bias: bool) -> Array:
    """Predict every row by the model trained without it, with the ridge n lam unchanged."""
    return held_out(K, y, singletons(len(y)), lam, bias, per_fold=False)


def singletons(n: int) -> list[Index]:
    """Return the folds of leave-one-out."""
    return [np.array([i], dtype=np.intp) for i in range(n)]


# --- losses and means ------------------------------------------------------------------------------


def loss(name: str, y: float, f: float) -> float:
    """Return the loss of one point."""
    if name == "squared":
        return (y - f) * (y - f)
    if name == "hinge":
        return 1 - y * f if y * f < 1 else 0.0
    if name == "zero-one":
        return 0.0 if y * f > 0 else 1.0
    raise ValueError(name)


def losses(name: str, y: Array, f: Array) -> Array:
    """Return the loss of every point."""
    return np.array([loss(name, a, b) for a, b in zip(y.tolist(), f.tolist(), strict=True)])


def mean_of_points(values: Array, folds: Iterable[Index]) -> float:
    """Return the mean over all points."""
    return math.fsum(values) / len(values)


def mean_of_folds(values: Array, folds: Iterable[Index]) -> float:
    """Return the mean over folds of each fold's mean."""
    means = [math.fsum(values[F]) / len(F) for F in folds]
    return math.fsum(means) / len(means)


MEANS = {"points": mean_of_points, "folds": mean_of_folds}

# --- criteria --------------------------------------------------------------------------------------


def stability(K: Array) -> float:
    """Return ``max_i ||K - K^i||_2`` by singular values, where K^i is K with row and column i set to zero."""
    norms = []
    for i in range(len(K)):
        Ki = K.copy()
        Ki[i, :] = 0.0
        Ki[:, i] = 0.0
        norms.append(np.linalg.svd(K - Ki, compute_uv=False)[0])
    return float(max(norms))


def bayesian_regularisation(residuals: Array, eta: Sequence[float]) -> float:
    """Return ``(n/2) log Q + (d/2) log Omega`` with ``Q = sum e^2 / 2`` and ``Omega = sum eta^2 / 2``."""
    Q = 0.5 * math.fsum(e * e for e in residuals)
    score = len(residuals) / 2 * math.log(Q)
    if eta:
        score += len(eta) / 2 * math.log(0.5 * math.fsum(e * e for e in eta))
    return score


def integral_eigenvalues(d: int, n: int, tau: float, period: float) -> Array:
    """Return the n largest ``(2 pi tau)^{d/2} v^{-d} exp(-2 pi^2 tau ||j||^2 / v^2)`` over j in Z^d, descending.

    The box [-B, B]^d contains every j with ||j|| <= B, and more than n of them: a ball of radius B >= n^{1/d} +
    1 contains a cube of side > 2 n^{1/d} / sqrt(d) if d <= 3, and for d = 1 the box has 2 B + 1 points.
    """
    B = math.ceil(n ** (1 / d)) + 1
    box = itertools.product(range(-B, B + 1), repeat=d)
    values = [
        (2 * math.pi * tau) ** (d / 2)
        * period ** (-d)
        * math.exp(-2 * math.pi**2 * tau * sum(j * j for j in point) / period**2)
        for point in box
        if sum(j * j for j in point) <= B * B
    ]
    assert len(values) >= n
    return np.array(sorted(values, reverse=True)[:n])


def perturbation(X: Array, K: Array, tau: float) -> float:
    """Return ``sum_j |lambda_j(L_K) - sigma_j(K)/n|``, both descending; the period is the largest range."""
    n, d = X.shape
    period = max(float(column.max() - column.min()) for column in X.T)
    of_kernel = sorted(np.linalg.eigvalsh(K) / n, reverse=True)
    return math.fsum(np.abs(integral_eigenvalues(d, n, tau, period) - of_kernel))


def grid_search(score: Callable[[int, int], float], kernels: int, ridges: int) -> tuple[int, int]:
    """Return the first position of the lowest score, with kernels in the outer loop and ridges in the inner one."""
    place, lowest = (0, 0), math.inf
    for kernel in range(kernels):
        for ridge in range(ridges):
            found = score(kernel, ridge)
            if found < lowest:
                place, lowest = (kernel, ridge), found
    return place


# --- the largest difference between a fast form and its definition ------------------------------

# Each side takes fewer than ten steps (a factorisation, products, sums, a solve), each with a rounding error of
# at most n eps relative to the norms that enter below.
STEPS = 10


def norm(A: Array) -> float:
    """Return the 2-norm of a matrix or vector."""
    return float(np.linalg.norm(A, 2))


def bias_growth(K: Array, gamma: float, bias: bool) -> float:
    """Return how much more accuracy ``P = G - p p^T / (1^T p)`` loses than G.

    ``||p||^2 = 1^T G^2 1 <= ||G|| 1^T p`` and ``||dp|| <= n eps ||G|| sqrt(n)``, so the rounding of the second
    term, ``2 ||dp|| ||p|| / (1^T p)``, is at most ``n eps ||G||`` times ``2 sqrt(n ||G|| / (1^T p))``.
    """
    if not bias:
        return 1.0
    n = len(K)
    one = np.ones(n)
    total = max(float(one @ np.linalg.solve(system(K, gamma, False), one)), 0.0)
    total = max(total, n / (norm(K) + gamma))  # a lower bound, from the largest eigenvalue
    return 1.0 + 2.0 * math.sqrt(n * inverse_norm(K, gamma) / total)


def inverse_norm(K: Array, gamma: float) -> float:
    """Return ``||G|| = 1 / (smallest eigenvalue + gamma)`` for a kernel positive semidefinite up to rounding."""
    return 1.0 / (max(float(np.linalg.eigvalsh(K)[0]), 0.0) + gamma)


def fold_bound(K: Array, y: Array, F: Index, gamma: float, bias: bool) -> float:
    r"""Bound the difference between two computations of one fold's held-out predictions.

    With A the (bordered) system without the fold, C the fold's rows against it, x = A^{-1} y and
    H = C A^{-1}, S = K_FF + gamma I - C A^{-1} C^T (which is P_FF^{-1}), e = y_F - C x:

    * the retrained model: dx = A^{-1} (dA) x with ||dA|| <= n eps ||A||, so ``n eps cond(A) ||C|| ||x||``;
    * an eigendecomposition is exact for K + E, ||E|| <= n eps ||K||; such a change of the kernel
      moves the predictions by [I, -H] E x, so ``n eps (1 + ||H||) ||K|| ||x||``;
    * ``P_FF^{-1} alpha_F`` is solved with rounded P and alpha, ``||dP|| <= n eps ||G||`` (times the bias's
      growth): ``n eps ||S|| ||G|| (||y|| + ||e||)``.
    """
    n = len(y)
    T = without(F, n)
    A = system(K[np.ix_(T, T)], gamma, bias)
    C = K[np.ix_(F, T)]
    right = y[T]
    if bias:
        C = np.hstack([C, np.ones((len(F), 1))])
        right = np.append(right, 0.0)
    x = np.linalg.solve(A, right)
    H = np.linalg.solve(A, C.T).T
    S = K[np.ix_(F, F)] + gamma * np.eye(len(F)) - H @ C.T
    e = y[F] - C @ x
    retrained = float(np.linalg.cond(A)) * norm(C) * norm(x)
    changed = (1.0 + norm(H)) * norm(K) * norm(x)
    solved = norm(S) * inverse_norm(K, gamma) * (norm(y) + norm(e)) * bias_growth(K, gamma, bias)
    return STEPS * n * EPS * (retrained + changed + solved + norm(y))


def held_out_bound(
    K: Array, y: Array, folds: Iterable[Index], lam: float, bias: bool, per_fold: bool
) -> Array:
    """Return the bound for every row's held-out prediction."""
    n = len(y)
    out = np.empty(n)
    for F in folds:
        out[F] = fold_bound(K, y, F, fold_ridge(n, len(F), lam, per_fold), bias)
    return out


def fit_bound(K: Array, y: Array, gamma: float, bias: bool) -> tuple[float, float]:
    r"""Bound the difference between two computations of (alpha, b), and of the fitted values.

    A backward stable solver changes x = A^{-1} y by ``n eps cond(A) ||x||``; the eigendecomposition, which
    changes K by E, by ``||A^{-1}|| n eps ||K|| ||x||``; its rounding of P y adds ``n eps ||G|| ||y||`` to
    alpha, and that of b = p^T y / (1^T p) adds ``n eps ||G|| sqrt(n) ||y|| / (1^T p)``, both with the bias's
    growth. The fitted values are K alpha + b on one side and y - gamma alpha on the other: the sum of both.
    """
    n = len(y)
    A = system(K, gamma, bias)
    x = np.linalg.solve(A, np.append(y, 0.0) if bias else y)
    G, growth = inverse_norm(K, gamma), bias_growth(K, gamma, bias)
    total = n / (norm(K) + gamma)
    solved = float(np.linalg.cond(A)) * norm(x)
    changed = norm(np.linalg.inv(A)) * norm(K) * norm(x)
    rounded = G * norm(y) * growth * (1.0 + math.sqrt(n) / total if bias else 1.0)
    solution = STEPS * n * EPS * (solved + changed + rounded)
    wide = norm(K) + (math.sqrt(n) if bias else 0.0)
    alpha_error = STEPS * n * EPS * (G * norm(K) * norm(x) + G * norm(y) * growth)
    fitted = STEPS * n * EPS * (wide * solved + wide * norm(x) + norm(y)) + gamma * alpha_error
    return solution, fitted


def loss_bound(name: str, y: Array, f: Array, off: Array) -> Array:
    """Return how much each loss can change if f changes by up to ``off``, which may flip its sign."""
    if name == "squared":
        return 2 * np.abs(y - f) * off + off**2
    if name == "hinge":
        return np.abs(y) * off
    return (np.abs(y * f) <= np.abs(y) * off).astype(np.float64)


def distance_to_identity(K: Array) -> float:
    """Return ``||R - I||_F / n``, where R holds the cosines between rows in feature space, entry by entry."""
    n, total = len(K), 0.0
    for i in range(n):
        for j in range(n):
            if i != j and K[i, i] > 0 and K[j, j] > 0:
                total += K[i, j] ** 2 / (K[i, i] * K[j, j])
    return float(np.sqrt(total)) / n


def spectral_perturbation(K: Array) -> float:
    """Return ``(1/n^2) sum_i sum_j |sigma_j(K) - sigma_j(K^i)|``, sorted; row and column i of K^i are zero."""
    n, total = len(K), 0.0
    for i in range(n):
        less = K.copy()
        less[i], less[:, i] = 0.0, 0.0
        total += float(np.abs(np.linalg.eigvalsh(K) - np.linalg.eigvalsh(less)).sum())
    return total / n**2
