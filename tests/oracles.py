"""Slow definitions, word for word: what the fast forms of kselect are compared with.

Nothing here uses an eigendecomposition of the whole problem, a closed form or code of kselect: models are
retrained, norms come from singular values, lattices are enumerated, kernels are double loops.

The bounds at the end say how far a fast form and its oracle may differ. They are first-order error
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
    """``K_ij = k(x_i, z_j)``, entry by entry."""
    return np.array([[k(x, z) for z in Z] for x in X])


def gaussian(tau: float) -> Callable[[Array, Array], float]:
    """``exp(-||x - z||^2 / (2 tau))``."""
    return lambda x, z: math.exp(-sum((a - b) ** 2 for a, b in zip(x, z, strict=True)) / (2 * tau))


def polynomial(degree: int) -> Callable[[Array, Array], float]:
    """``(1 + x.z)^degree``."""
    return lambda x, z: (1.0 + sum(a * b for a, b in zip(x, z, strict=True))) ** degree


def linear() -> Callable[[Array, Array], float]:
    """``x.z``."""
    return lambda x, z: sum(a * b for a, b in zip(x, z, strict=True))


# --- learners: retraining --------------------------------------------------------------------------


def system(K: Array, gamma: float, bias: bool) -> Array:
    """``K + gamma I``, bordered by ones and a zero where there is a bias."""
    n = len(K)
    A = K + gamma * np.eye(n)
    if not bias:
        return A
    one = np.ones((n, 1))
    return np.block([[A, one], [one.T, np.zeros((1, 1))]])


def fit(K: Array, y: Array, gamma: float, bias: bool) -> tuple[Array, float]:
    """alpha and b of ``min sum (y - f - b)^2 + gamma ||f||^2`` by its linear system."""
    right = np.append(y, 0.0) if bias else y
    x = np.linalg.solve(system(K, gamma, bias), right)
    return (x[:-1], float(x[-1])) if bias else (x, 0.0)


def predict(K_test: Array, alpha: Array, b: float) -> Array:
    """``f(x) = sum_i alpha_i k(x, x_i) + b``."""
    return K_test @ alpha + b


def fold_ridge(n: int, m: int, lam: float, per_fold: bool) -> float:
    """The ridge of the model that is trained without a fold of m rows."""
    return (n - m) * lam if per_fold else n * lam


def without(F: Index, n: int) -> Index:
    """The rows that are not in a fold."""
    return np.setdiff1d(np.arange(n), F)


def held_out(
    K: Array, y: Array, folds: Iterable[Index], lam: float, bias: bool, per_fold: bool
) -> Array:
    """Every row predicted by the model that is trained without its fold."""
    n = len(y)
    out = np.empty(n)
    for F in folds:
        T = without(F, n)
        alpha, b = fit(K[np.ix_(T, T)], y[T], fold_ridge(n, len(F), lam, per_fold), bias)
        out[F] = predict(K[np.ix_(F, T)], alpha, b)
    return out


def leave_one_out(K: Array, y: Array, lam: float, bias: bool) -> Array:
    """Every row predicted by the model that is trained without it, the ridge n lam kept."""
    return held_out(K, y, singletons(len(y)), lam, bias, per_fold=False)


def singletons(n: int) -> list[Index]:
    """The folds of leave-one-out."""
    return [np.array([i], dtype=np.intp) for i in range(n)]


# --- losses and means ------------------------------------------------------------------------------


def loss(name: str, y: float, f: float) -> float:
    """The loss of one point."""
    if name == "squared":
        return (y - f) * (y - f)
    if name == "hinge":
        return 1 - y * f if y * f < 1 else 0.0
    if name == "zero-one":
        return 0.0 if y * f > 0 else 1.0
    raise ValueError(name)


def losses(name: str, y: Array, f: Array) -> Array:
    """The loss of every point."""
    return np.array([loss(name, a, b) for a, b in zip(y.tolist(), f.tolist(), strict=True)])


def mean_of_points(values: Array, folds: Iterable[Index]) -> float:
    """The mean over all points."""
    return math.fsum(values) / len(values)


def mean_of_folds(values: Array, folds: Iterable[Index]) -> float:
    """The mean over folds of each fold's mean."""
    means = [math.fsum(values[F]) / len(F) for F in folds]
    return math.fsum(means) / len(means)


MEANS = {"points": mean_of_points, "folds": mean_of_folds}

# --- criteria --------------------------------------------------------------------------------------


def stability(K: Array) -> float:
    """``max_i ||K - K^i||_2``, K^i being K with row and column i set to zero, by singular values."""
    norms = []
    for i in range(len(K)):
        Ki = K.copy()
        Ki[i, :] = 0.0
        Ki[:, i] = 0.0
        norms.append(np.linalg.svd(K - Ki, compute_uv=False)[0])
    return float(max(norms))


def bayesian_regularisation(residuals: Array, eta: Sequence[float]) -> float:
    """``(n/2) log Q + (d/2) log Omega``, ``Q = sum e^2 / 2``, ``Omega = sum eta^2 / 2``."""
    Q = 0.5 * math.fsum(e * e for e in residuals)
    score = len(residuals) / 2 * math.log(Q)
    if eta:
        score += len(eta) / 2 * math.log(0.5 * math.fsum(e * e for e in eta))
    return score


def integral_eigenvalues(d: int, n: int, tau: float, period: float) -> Array:
    """The n largest ``(2 pi tau)^{d/2} v^{-d} exp(-2 pi^2 tau ||j||^2 / v^2)`` over j in Z^d, descending.

    The box [-B, B]^d holds every j with ||j|| <= B, and more than n of them: a ball of radius
    B >= n^{1/d} + 1 has a cube of side > 2 n^{1/d} / sqrt(d) in it, d <= 3, and for d = 1 it has 2 B + 1.
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
    """``sum_j |lambda_j(L_K) - sigma_j(K)/n|``, both descending; the period is the largest range."""
    n, d = X.shape
    period = max(float(column.max() - column.min()) for column in X.T)
    of_kernel = sorted(np.linalg.eigvalsh(K) / n, reverse=True)
    return math.fsum(np.abs(integral_eigenvalues(d, n, tau, period) - of_kernel))


def grid_search(score: Callable[[int, int], float], kernels: int, ridges: int) -> tuple[int, int]:
    """The first place of the lowest score, kernels outside, ridges inside."""
    place, lowest = (0, 0), math.inf
    for kernel in range(kernels):
        for ridge in range(ridges):
            found = score(kernel, ridge)
            if found < lowest:
                place, lowest = (kernel, ridge), found
    return place


# --- how far a fast form may be from its definition --------------------------------------------------

# Each side takes fewer than ten steps (a factorisation, products, sums, a solve), each with a rounding
# error of at most n eps relative to the norms that enter below.
STEPS = 10


def norm(A: Array) -> float:
    """The 2-norm of a matrix or vector."""
    return float(np.linalg.norm(A, 2))


def bias_growth(K: Array, gamma: float, bias: bool) -> float:
    r"""By how much ``P = G - p p^T / (1^T p)`` loses more than G does.

    ``||p||^2 = 1^T G^2 1 <= ||G|| 1^T p`` and ``||dp|| <= n eps ||G|| sqrt(n)``, so that the rounding of the
    second term, ``2 ||dp|| ||p|| / (1^T p)``, is at most ``n eps ||G||`` times ``2 sqrt(n ||G|| / (1^T p))``.
    """
    if not bias:
        return 1.0
    n = len(K)
    one = np.ones(n)
    total = max(float(one @ np.linalg.solve(system(K, gamma, False), one)), 0.0)
    total = max(total, n / (norm(K) + gamma))  # at least, by the largest eigenvalue
    return 1.0 + 2.0 * math.sqrt(n * inverse_norm(K, gamma) / total)


def inverse_norm(K: Array, gamma: float) -> float:
    """``||G|| = 1 / (smallest eigenvalue + gamma)``, for a kernel positive semidefinite but for rounding."""
    return 1.0 / (max(float(np.linalg.eigvalsh(K)[0]), 0.0) + gamma)


def fold_bound(K: Array, y: Array, F: Index, gamma: float, bias: bool) -> float:
    r"""How far two computations of one fold's held-out predictions may differ.

    With A the (bordered) system without the fold, C the fold's rows against it, x = A^{-1} y and
    H = C A^{-1}, S = K_FF + gamma I - C A^{-1} C^T (which is P_FF^{-1}), e = y_F - C x:

    * the retrained model: dx = A^{-1} (dA) x with ||dA|| <= n eps ||A||, so ``n eps cond(A) ||C|| ||x||``;
    * an eigendecomposition is that of K + E, ||E|| <= n eps ||K||: the predictions of a kernel so changed
      move by [I, -H] E x, so ``n eps (1 + ||H||) ||K|| ||x||``;
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
    """The bound of every row's held-out prediction."""
    n = len(y)
    out = np.empty(n)
    for F in folds:
        out[F] = fold_bound(K, y, F, fold_ridge(n, len(F), lam, per_fold), bias)
    return out


def fit_bound(K: Array, y: Array, gamma: float, bias: bool) -> tuple[float, float]:
    r"""How far two computations of (alpha, b), and of the fitted values, may differ.

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
    """How far each loss moves where the prediction f is off by at most ``off``; a sign within it may turn."""
    if name == "squared":
        return 2 * np.abs(y - f) * off + off**2
    if name == "hinge":
        return np.abs(y) * off
    return (np.abs(y * f) <= np.abs(y) * off).astype(np.float64)


def distance_to_identity(K: Array) -> float:
    """``||R - I||_F / n`` of the cosines R between the rows in feature space, entry by entry."""
    n, total = len(K), 0.0
    for i in range(n):
        for j in range(n):
            if i != j and K[i, i] > 0 and K[j, j] > 0:
                total += K[i, j] ** 2 / (K[i, i] * K[j, j])
    return float(np.sqrt(total)) / n


def spectral_perturbation(K: Array) -> float:
    """``(1/n^2) sum_i sum_j |sigma_j(K) - sigma_j(K^i)|``, K^i with row and column i zero, eigenvalues sorted."""
    n, total = len(K), 0.0
    for i in range(n):
        less = K.copy()
        less[i], less[:, i] = 0.0, 0.0
        total += float(np.abs(np.linalg.eigvalsh(K) - np.linalg.eigvalsh(less)).sum())
    return total / n**2
