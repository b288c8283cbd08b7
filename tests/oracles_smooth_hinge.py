"""Slow definitions of the smoothed-hinge SVM, its series and FBIF: nothing here uses code of kselect.

(1/n) sum V(y f) + lam ||f||^2 without a bias, V as ijcai2018 prints it, h given
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import oracles
from numpy.typing import NDArray
from scipy.optimize import lsq_linear

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Mask = NDArray[np.bool_]
MOST_CHANGES = 2000


def loss(z: float, h: float) -> float:
    """Return V at one margin."""
    if z > 1 + h:
        return 0.0
    if z < 1 - h:
        return 1 - z
    return (1 + h - z) ** 2 / (4 * h)


def slope(z: float, h: float) -> float:
    """Return dV/dz at one margin; dV/df is y times this."""
    if z > 1 + h:
        return 0.0
    if z < 1 - h:
        return -1.0
    return -(1 + h - z) / (2 * h)


def curvature(z: float, h: float) -> float:
    """Return V'' at one margin."""
    return 1 / (2 * h) if 1 - h <= z <= 1 + h else 0.0


def fit(K: Array, y: Array, lam: float, h: float, w: Array) -> Array:
    """Return beta with ``f = K beta`` of ``min sum_i w_i V(y_i f_i) + lam ||f||^2``, all w > 0.

    Its dual, ``min a^T (Ky + diag(4 h lam / w)) a / 2 - (1 + h) 1^T a`` over ``0 <= a <= w / (2 lam)``, is a
    bounded least-squares problem, which scipy's active-set method solves. Murty's rule then corrects the sides
    that rounding left wrong: of the rows on a wrong side, only the last one changes. For a positive definite
    matrix, no set of sides occurs twice, whatever the start.
    """
    Ky = K * np.outer(y, y)
    A = Ky + np.diag(4 * h * lam / w)
    top = w / (2 * lam)
    L = np.linalg.cholesky(A)
    found = lsq_linear(
        L.T, np.linalg.solve(L, np.full(len(y), 1 + h)), (0.0, top), method="bvls", tol=1e-15
    )
    side = np.where(found.x <= 1e-9 * top, -1, np.where(found.x >= (1 - 1e-9) * top, 1, 0))
    for _ in range(MOST_CHANGES):
        a, wrong = at_sides(A, top, h, side)
        if not wrong.any():
            break
        last = int(np.flatnonzero(wrong)[-1])
        side[last] = 0 if side[last] else (1 if a[last] > top[last] else -1)
    a = np.clip(a, 0.0, top)
    pull = -np.array([slope(v, h) for v in (Ky @ a).tolist()])
    # V' is as accurate as its margin, which may be a sum of large terms.
    exact = 1e-11 + rounding(A, a, h) / (2 * h)
    assert (np.abs(a / top - pull) <= exact).all(), "no minimum"
    return y * a


def rounding(A: Array, a: Array, h: float) -> Array:
    """Return a bound for the rounding error of the sums ``A a - (1 + h)``."""
    return np.asarray(1e-14 * (np.abs(A) @ np.abs(a) + 1 + h))


def at_sides(A: Array, top: Array, h: float, side: NDArray[np.int_]) -> tuple[Array, Mask]:
    """Minimise over the free rows (0) with the others at 0 (-1) or at their upper bound (1).

    Also return the rows on a wrong side; violations within the rounding error of the sums are ignored.
    """
    free = side == 0
    a = np.where(side > 0, top, 0.0)
    if free.any():
        inner = A[np.ix_(free, free)]
        right = 1 + h - A[free] @ a
        a[free] = np.linalg.solve(inner, right)
        a[free] += np.linalg.solve(inner, right - inner @ a[free])
    slack = rounding(A, a, h)
    g = A @ a - (1 + h)
    out = np.maximum(-a, a - top) * np.diag(A) > slack
    return a, np.where(free, out, np.where(side < 0, g < -slack, g > slack))


def even(n: int) -> Array:
    """Return the weight 1/n for every row."""
    return np.full(n, 1 / n)


def violation(K: Array, y: Array, beta: Array, lam: float, h: float, w: Array) -> float:
    """Return the largest of ``|2 lam beta + w V'(f)|``, relative to that of a row with slope one."""
    z = (y * (K @ beta)).tolist()
    V1 = y * np.array([slope(v, h) for v in z])
    return float(np.abs(2 * lam * beta / w + V1).max())


def held_out(
    K: Array, y: Array, folds: Iterable[Index], lam: float, h: float, per_fold: bool
) -> Array:
    """Predict every row by the model trained from scratch without its fold."""
    n, out = len(y), np.empty(len(y))
    for F in folds:
        T = oracles.without(F, n)
        w = np.full(len(T), 1 / len(T) if per_fold else 1 / n)
        out[F] = K[np.ix_(F, T)] @ fit(K[np.ix_(T, T)], y[T], lam, h, w)
    return out


def weights(n: int, F: Index, e: float) -> Array:
    """Return ``(1 - e)`` times the empirical distribution plus e times that of the fold."""
    w = np.full(n, (1 - e) / n)
    w[F] += e / len(F)
    return w


def operator(K: Array, v: Array, lam: float) -> Array:
    """Return ``L = 2 lam I + K diag(V'') / n``."""
    return 2 * lam * np.eye(len(K)) + K * v / len(K)


def recursion(
    K: Array, inverse: Array, f: Array, u: Array, v: Array, lam: float, F: Index, order: int
) -> Array:
    """Return the predictions of all rows with F held out, by the recursion of section 5, literally.

    ``inverse`` is that of L; K is on the right-hand side; u is V' of the residual, or -V' of a decision.
    """
    n, m = len(f), len(F)
    e = -m / (n - m)
    on = np.zeros(n)
    on[F] = 1.0
    out, right = f, K @ (on * u) / m - 2 * lam * f
    for k in range(1, order + 1):
        h = inverse @ right
        out = out + e**k * h / math.factorial(k)
        right = (k + 1) * (K @ (v * h) / n - K @ (on * v * h) / m)
    return out


def slopes(y: Array, f: Array, h: float) -> tuple[Array, Array]:
    """Return ``-V'(f)`` and ``V''(f)`` of every row."""
    z = (y * f).tolist()
    return -y * np.array([slope(a, h) for a in z]), np.array([curvature(a, h) for a in z])


def frozen(K: Array, y: Array, f: Array, lam: float, h: float, F: Index, per_fold: bool) -> Array:
    """Take one Newton step from f without F: ``f - H^{-1} grad`` in the coordinates of K's range."""
    n = len(y)
    T = oracles.without(F, n)
    rows = len(T) if per_fold else n
    s, U = np.linalg.eigh(K)
    keep = s > 1e-13 * s[-1]
    R = U[:, keep] * np.sqrt(s[keep])
    c = np.linalg.lstsq(R, f, rcond=None)[0]
    u, v = slopes(y, f, h)
    gradient = 2 * lam * c - R[T].T @ u[T] / rows
    hessian = 2 * lam * np.eye(len(c)) + (R[T].T * v[T]) @ R[T] / rows
    return np.asarray(R @ (c - np.linalg.solve(hessian, gradient)))


def nystrom(K: Array, landmarks: Index) -> Array:
    """Return ``C W^+ C^T``."""
    C = K[:, landmarks]
    W = C[landmarks]
    s, U = np.linalg.eigh(W)
    keep = s > 1e-12 * s[-1]
    pseudo = (U[:, keep] / s[keep]) @ U[:, keep].T
    return np.asarray(C @ pseudo @ C.T)


def surface(
    grams: list[Array], y: Array, folds: list[Index], lams: list[float], h: float, per_fold: bool
) -> Array:
    """Return the mean hinge loss (kernels, ridges) of smoothed-hinge SVMs, each trained from scratch."""
    out = np.empty((len(grams), len(lams)))
    for i, K in enumerate(grams):
        for j, lam in enumerate(lams):
            f = held_out(K, y, folds, lam, h, per_fold)
            out[i, j] = np.mean([oracles.loss("hinge", a, b) for a, b in zip(y, f, strict=True)])
    return out
