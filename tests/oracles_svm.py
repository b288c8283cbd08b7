"""The support vector machine by LIBSVM, and by its optimality conditions, written down one by one."""

from __future__ import annotations

import numpy as np
from sklearn.svm import SVC

from kselect.numerics.linalg import Array

TOLERANCE = 1e-8


def libsvm(K: Array, y: Array, C: float, across: Array) -> Array:
    """LIBSVM's decision values at rows whose kernel against the training rows is ``across``.

    Where no coefficient is strictly between 0 and C, the bias is an interval, and the middle of it is taken, which
    LIBSVM takes as well unless rounding keeps one of them off its end.
    """
    model = SVC(C=C, kernel="precomputed", tol=TOLERANCE, cache_size=50).fit(K, y)
    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_[0]
    a = y * beta
    if ((a > 1e-9 * C) & (a < C * (1 - 1e-9))).any():
        return np.asarray(model.decision_function(across))
    return np.asarray(across @ beta + np.mean(biases(K, y, beta, C)))


def biases(K: Array, y: Array, beta: Array, C: float) -> tuple[float, float]:
    """The least and the largest bias for which every row at 0 has ``y f >= 1``, and every row at C ``y f <= 1``."""
    slack, at_zero = y - K @ beta, np.abs(beta) < C / 2
    least = slack[at_zero == (y > 0)]
    most = slack[at_zero == (y < 0)]
    return float(least.max()), float(most.min())


def violation(K: Array, y: Array, beta: Array, b: float, C: float, bias: bool) -> float:
    r"""By how much a fit breaks ``0 <= a <= C``, ``y f >= 1`` at 0, ``= 1`` between, ``<= 1`` at C, ``y^T a = 0``.

    Relative to C, or to 1, the margin.
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
    """``(1/n) sum max(0, 1 - y (f + b)) + lam ||f||^2``."""
    hinge = np.maximum(0.0, 1.0 - y * (K @ beta + b))
    return float(hinge.mean() + lam * beta @ K @ beta)
