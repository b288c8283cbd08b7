"""Weighted learners by their definitions: retraining, and repeated rows. Nothing here uses code of kselect."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import oracles
import oracles_smooth_hinge
import oracles_svr
from numpy.typing import NDArray
from sklearn.svm import SVC

Array = NDArray[np.float64]
Index = NDArray[np.intp]
# Train on rows with weights whose sum is ``total`` when all rows are there, and predict others.
Trainer = Callable[[Array, Array, Array, float, Array], Array]


def least_squares(bias: bool) -> Trainer:
    """Return the trainer of ``min sum_i w_i (y_i - f_i - b)^2 + gamma ||f||^2``, from its normal equations."""

    def train(K: Array, y: Array, w: Array, gamma: float, across: Array) -> Array:
        # The derivative is zero where w_i (y_i - f_i - b) = gamma alpha_i, and sum_i alpha_i = 0.
        A = oracles.system(K, 0.0, bias)
        A[range(len(y)), range(len(y))] += gamma / w
        x = np.linalg.solve(A, np.append(y, 0.0) if bias else y)
        return np.asarray(across @ x[: len(y)] + (x[-1] if bias else 0.0))

    return train


def hinge(K: Array, y: Array, w: Array, gamma: float, across: Array) -> Array:
    """Train the SVM with ``C_i = w_i / (2 gamma)``: statuses by LIBSVM, then the equations of the free rows."""
    C = w / (2 * gamma)
    model = SVC(C=1.0, kernel="precomputed", tol=1e-10).fit(K, y, sample_weight=C)
    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_[0]
    free = np.flatnonzero((np.abs(beta) > 1e-7 * C) & (np.abs(beta) < (1 - 1e-7) * C))
    assert len(free), "no free row: the bias is not unique"
    beta = np.where(np.abs(beta) > C / 2, y * C, 0.0)
    beta[free] = 0.0
    right = np.append(y[free] - K[free] @ beta, -beta.sum())
    *inside, b = np.linalg.solve(oracles.system(K[np.ix_(free, free)], 0.0, True), right)
    beta[free] = inside
    assert (y * beta >= -1e-9).all()
    assert (y * beta <= C + 1e-9).all()
    return np.asarray(across @ beta + b)


def smoothed_hinge(K: Array, y: Array, w: Array, gamma: float, across: Array) -> Array:
    """Train the smoothed-hinge SVM by bounded least squares."""
    return np.asarray(across @ oracles_smooth_hinge.fit(K, y, gamma, 0.05, w))


def quadratic_tube(K: Array, y: Array, w: Array, gamma: float, across: Array) -> Array:
    """Train the quadratic eps-insensitive SVR by scipy, then from its zones."""
    alpha, b = oracles_svr.fit(K, y, gamma, 0.1, w)
    return np.asarray(across @ alpha + b)


TRAINERS: dict[str, Trainer] = {
    "krr": least_squares(False),
    "lssvm": least_squares(True),
    "svm": hinge,
    "smooth-hinge": smoothed_hinge,
    "quadratic-svr": quadratic_tube,
}


def held_out(
    train: Trainer,
    K: Array,
    y: Array,
    w: Array,
    folds: Sequence[Index],
    lam: float,
    per_fold: bool,
) -> Array:
    """Predict every row by the model trained without its fold; the weights count as rows and have mean 1."""
    n, out = len(y), np.empty(len(y))
    w = w * (n / w.sum())
    for F in folds:
        T = oracles.without(F, n)
        gamma = lam * (w[T].sum() if per_fold else n)
        out[F] = train(K[np.ix_(T, T)], y[T], w[T], gamma, K[np.ix_(F, T)])
    return out
