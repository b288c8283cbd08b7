"""The support vector machine by LIBSVM, and its optimality conditions, written out one by one."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from sklearn.svm import SVC

from kselect.numerics.linalg import Array

TOLERANCE = 1e-8


def libsvm(K: Array, y: Array, C: float, across: Array) -> Array:
    """Return LIBSVM's decision values at rows whose kernel against the training rows is ``across``.

    If no coefficient is strictly between 0 and C, the bias can be anywhere in an interval; this takes the
    middle, as LIBSVM does unless rounding keeps a coefficient off its bound.
    """
    model = SVC(C=C, kernel="precomputed", tol=TOLERANCE, cache_size=50).fit(K, y)
    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_[0]
    a = y * beta
    if ((a > 1e-9 * C) & (a < C * (1 - 1e-9))).any():
        return np.asarray(model.decision_function(across))
    return np.asarray(across @ beta + np.mean(biases(K, y, beta, C)))


def biases(K: Array, y: Array, beta: Array, C: float) -> tuple[float, float]:
    """Return the least and largest bias with ``y f >= 1`` for rows at 0 and ``y f <= 1`` for rows at C."""
    slack, at_zero = y - K @ beta, np.abs(beta) < C / 2
    least = slack[at_zero == (y > 0)]
    most = slack[at_zero == (y < 0)]
    return float(least.max()), float(most.min())


def violation(K: Array, y: Array, beta: Array, b: float, C: float, bias: bool) -> float:
    """Return how much a fit violates the optimality conditions, relative to C or to the margin 1.

    These are ``0 <= a <= C``, ``y f >= 1`` at 0, ``= 1`` between, ``<= 1`` at C, ``y^T a = 0``.
    """
    a, margin = y * beta, y * (K @ beta + b)
    off = [max(0.0, -float(a.min())) / C, max(0.0, float(a.max()) - C) / C]
    if bias:
        off.append(abs(float(beta.sum())) / (C * len(y)))
    inside = 1e-9 * C
    off.append(float((1.0 - margin[a < C - inside]).max(initial=0.0)))
    off.append(float((margin[a > inside] - 1.0).max(initial=0.0)))
    return max(off)


def objective(K: Array, y: Array, beta: Array, b: float, lam: float) -> float:
    """Return ``(1/n) sum max(0, 1 - y (f + b)) + lam ||f||^2``."""
    hinge = np.maximum(0.0, 1.0 - y * (K @ beta + b))
    return float(hinge.mean() + lam * beta @ K @ beta)


def every_status(K: Array, y: Array, C: float) -> tuple[Array, float]:
    """Return beta and the bias by trying every status of every row: 3^n systems.

    Each row is at 0, at C or free. The systems that satisfy the optimality conditions have the same ``K beta``.
    If none of them has a free row strictly inside its box, the bias is the middle of its interval.
    """
    n = len(y)
    at = np.array(np.meshgrid(*[[0, 1, 2]] * n, indexing="ij")).reshape(n, -1).T
    free = at == 2
    A, right = np.zeros((len(at), n + 1, n + 1)), np.zeros((len(at), n + 1))
    A[:, :n, :n] = np.where(free[:, :, None], K, np.eye(n))
    A[:, :n, n] = free
    right[:, :n] = np.where(free, y, C * y * (at == 1))
    some = free.any(axis=1)
    A[:, n, :n], A[:, n, n] = some[:, None], ~some
    x = np.einsum("sij,sj->si", np.linalg.pinv(A, rcond=1e-13), right)
    beta, b = x[:, :n], x[:, n]
    a, slack = y * beta, y - beta @ K
    inside = ((a > 1e-9 * C) & (a < (1 - 1e-9) * C)).any(axis=1)
    least = np.where((a < C / 2) == (y > 0), slack, -np.inf).max(axis=1)
    most = np.where((a < C / 2) == (y < 0), slack, np.inf).min(axis=1)
    b = np.where(inside, b, (least + most) / 2)
    margin = y * (beta @ K + b[:, None])
    off = np.maximum(np.abs(beta.sum(axis=1)), np.maximum(-a, a - C).max(axis=1)) / C
    below = np.where(a < (1 - 1e-9) * C, 1.0 - margin, 0.0).max(axis=1)
    above = np.where(a > 1e-9 * C, margin - 1.0, 0.0).max(axis=1)
    off = np.maximum(off, np.maximum(below, above))
    right_ones = off <= max(1e-9, 2 * off.min())
    best = int(
        np.argmin(np.where(right_ones & (inside | ~(right_ones & inside).any()), off, np.inf))
    )
    return beta[best], float(b[best])


def bias_near_identity(K: Array, y: Array, C: float) -> float:
    """Return the bias of balanced classes in whole numbers, if all rows are at C, or all free.

    All at C: the middle of the largest and smallest ``y - K beta``. All free: the solution of the bordered system,
    by two steps of refinement from ``beta = y``, which leave a relative error of the third power of ``K - I``.
    """
    n = len(y)
    k = [[Fraction(v) for v in row] for row in K.tolist()]
    labels = [Fraction(v) for v in y.tolist()]

    def residuals(beta: list[Fraction]) -> list[Fraction]:
        return [
            v - sum((a * b for a, b in zip(row, beta, strict=True)), Fraction())
            for v, row in zip(labels, k, strict=True)
        ]

    if C < 1.0:
        h = residuals([v * Fraction(C) for v in labels])
        ends = (
            [v for v, z in zip(h, y, strict=True) if z < 0],
            [v for v, z in zip(h, y, strict=True) if z > 0],
        )
        return float((max(ends[0]) + min(ends[1])) / 2)
    beta, b = labels, Fraction()
    for _ in range(3):
        h = residuals(beta)
        b = sum(h, Fraction()) / n
        beta = [v + r - b for v, r in zip(beta, h, strict=True)]
    return float(b)
