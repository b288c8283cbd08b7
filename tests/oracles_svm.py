"""The support vector machine by LIBSVM, and its optimality conditions, written out one by one."""

from __future__ import annotations

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
