"""Slow definitions of the quadratic eps-insensitive SVR: nothing here uses code of kselect.

(1/n) sum V(y - f - b) + lam ||f||^2,   V(r) = max(0, |r| - eps)^2
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import oracles
from numpy.typing import NDArray
from scipy.optimize import minimize

Array = NDArray[np.float64]
Index = NDArray[np.intp]


def loss(r: float, eps: float) -> float:
    """Return V of one residual."""
    return max(0.0, abs(r) - eps) ** 2


def first(r: float, eps: float) -> float:
    """Return V' of one residual."""
    return 2 * math.copysign(1.0, r) * max(0.0, abs(r) - eps)


def second(r: float, eps: float) -> float:
    """Return V'' of one residual."""
    return 2.0 if abs(r) > eps else 0.0


def primal(K: Array, y: Array, lam: float, eps: float, w: Array, alpha: Array, b: float) -> float:
    """Return ``sum_i w_i V(y_i - f_i - b) + lam ||f||^2`` with ``f = K alpha``."""
    f = K @ alpha
    values = [w[i] * loss(float(y[i] - f[i] - b), eps) for i in range(len(y))]
    return math.fsum(values) + lam * float(alpha @ K @ alpha)


def minimise(
    K: Array, y: Array, lam: float, eps: float, w: Array, steps: int = 20000
) -> tuple[Array, float]:
    """Return (f, b) by scipy from zero, with ``f = R c``, ``||f||^2 = c^T c``, ``R R^T = K``."""
    s, U = np.linalg.eigh(K)
    R = U * np.sqrt(np.maximum(s, 0.0))

    def value(x: Array) -> tuple[float, Array]:
        r = (y - R @ x[:-1] - x[-1]).tolist()
        u = w * np.array([first(a, eps) for a in r])
        total = math.fsum(p * loss(a, eps) for p, a in zip(w.tolist(), r, strict=True))
        slope = np.append(2 * lam * x[:-1] - R.T @ u, -u.sum())
        return total + lam * float(x[:-1] @ x[:-1]), slope

    options = {"maxiter": steps, "maxfun": 2 * steps, "ftol": 0.0, "gtol": 1e-13}
    found = minimize(value, np.zeros(len(y) + 1), jac=True, method="L-BFGS-B", options=options)
    return np.asarray(R @ found.x[:-1]), float(found.x[-1])


def fit(K: Array, y: Array, lam: float, eps: float, w: Array) -> tuple[Array, float]:
    """Return alpha and b of ``min sum_i w_i V + lam ||f||^2``: zones from scipy, then their equations.

    Rows outside the tube satisfy ``lam alpha_i = w_i (r_i - eps s_i)``. The optimality conditions are checked.
    """
    scale = float(np.abs(y).max()) + 1e-300
    f, b = minimise(K, y / scale, lam, eps / scale, w, steps=100)
    r = y - scale * (f + b)
    for _ in range(100):
        s = np.where((np.abs(r) > eps) & (w > 0), np.sign(r), 0.0)
        A = np.flatnonzero(s)
        assert len(A), "no row outside the tube: b is not unique"
        system = oracles.system(K[np.ix_(A, A)], 0.0, True)
        system[range(len(A)), range(len(A))] += lam / w[A]
        x = np.linalg.solve(system, np.append(y[A] - eps * s[A], 0.0))
        alpha = np.zeros(len(y))
        alpha[A] = x[:-1]
        r = y - K @ alpha - x[-1]
        u = w * np.array([first(a, eps) for a in r.tolist()])
        if np.abs(2 * lam * alpha - u).max() <= 1e-11 * w.max() * scale:
            return alpha, float(x[-1])
    raise AssertionError("the zones do not stand still")


def held_out(
    K: Array, y: Array, folds: Iterable[Index], lam: float, eps: float, per_fold: bool
) -> Array:
    """Predict each row by the model of the others, or by the middle of their range if the tube holds them."""
    n, out = len(y), np.empty(len(y))
    for F in folds:
        T = oracles.without(F, n)
        low, high = float(y[T].min()), float(y[T].max())
        if (high - low) / 2 <= eps:
            out[F] = low + (high - low) / 2
            continue
        w = np.full(len(T), 1 / len(T) if per_fold else 1 / n)
        alpha, b = fit(K[np.ix_(T, T)], y[T], lam, eps, w)
        out[F] = K[np.ix_(F, T)] @ alpha + b
    return out


def weights(n: int, F: Index, e: float) -> Array:
    """Return ``(1 - e)`` times the empirical distribution plus e times that of the fold."""
    w = np.full(n, (1 - e) / n)
    w[F] += e / len(F)
    return w


def taylor(
    K: Array, y: Array, lam: float, eps: float, f: Array, b: float, F: Index, order: int
) -> Array:
    """Return the predictions of all rows with F held out, by the recursion of section 5, literally."""
    n, m = len(y), len(F)
    e = -m / (n - m)
    r = (y - f - b).tolist()
    u = np.array([first(a, eps) for a in r])
    v = np.array([second(a, eps) for a in r])
    on = np.zeros(n)
    on[F] = 1.0
    L = np.zeros((n + 1, n + 1))
    L[:n, :n] = 2 * lam * np.eye(n) + K @ np.diag(v) / n
    L[:n, n] = K @ v / n
    L[n, :n] = v / n
    L[n, n] = v.sum() / n
    inverse = np.linalg.inv(L) if v.any() else np.linalg.pinv(L)
    right = np.append(K @ (on * u) / m - 2 * lam * f, (on * u).sum() / m)
    out = f + b
    for k in range(1, order + 1):
        x = inverse @ right
        h = x[:n] + x[n]
        out = out + e**k * h / math.factorial(k)
        right = (k + 1) * np.append(
            K @ (v * h) / n - K @ (on * v * h) / m, (v * h).sum() / n - (on * v * h).sum() / m
        )
    return out


def operator(K: Array, lam: float, A: Index, F: Index) -> Array:
    """Return ``S D`` on the rows A: S from the bordered system, D from the fold."""
    n, a, m = len(K), len(A), len(F)
    P = np.linalg.inv(oracles.system(K[np.ix_(A, A)], n * lam, True))[:a, :a]
    D = np.where(np.isin(A, F), 1.0, -m / (n - m))
    return np.asarray((np.eye(a) - n * lam * P) * D)


def frozen(K: Array, y: Array, lam: float, eps: float, zones: Array, F: Index) -> Array:
    """Solve the problem without F in one Newton step: zones of the full fit, ridge ``(n - m) lam``."""
    n = len(y)
    B = np.setdiff1d(np.flatnonzero(zones), F)
    system = oracles.system(K[np.ix_(B, B)], (n - len(F)) * lam, True)
    x = np.linalg.solve(system, np.append(y[B] - eps * zones[B], 0.0))
    return np.asarray(K[np.ix_(F, B)] @ x[:-1] + x[-1])
