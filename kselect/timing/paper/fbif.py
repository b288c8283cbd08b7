r"""FBIF as ijcai2018 computes it: every grid point trained for itself, then one small inverse by Woodbury.

The kernel matrix and its Nystrom factor V (n, c) are made once for a width. A grid point then takes a Cholesky
factor of n rows (KRR) or Newton's method (smoothed hinge), ``O(n c^2 + k n c)`` for the series, and products
``K_{.F} u_F`` of ``n^2`` operations.
"""

from __future__ import annotations

import numpy as np

from kselect.criteria.shortcuts import NO_MARGIN
from kselect.kernels import Kernel
from kselect.learners.bouligand import perturbation
from kselect.learners.nystrom_series import nystrom_factor, woodbury, wrong_where_exploded
from kselect.learners.smooth_hinge_trainer import HingeProblem as Training
from kselect.learners.smooth_hinge_trainer import SignedKernel, curvature, pull
from kselect.numerics.linalg import Array
from kselect.timing.paper.base import HINGE, Score, Task, algorithm
from kselect.timing.paper.newton import newton
from kselect.timing.paper.system import shifted, train


class Series:
    """What a width needs once: V, and K or its approximation on the right hand side."""

    def __init__(self, task: Task, K: Array) -> None:
        landmarks = task.columns(float(task.params["c"]))
        self.task, self.V = task, nystrom_factor(K[:, landmarks], landmarks)
        self.K = K if task.params["rhs"] == "exact" else self.V @ self.V.T
        self.rows = [self.K.take(F, 0) for F in task.folds.members]
        self.sizes = np.array([len(F) for F in task.folds.members])

    def predict(self, f: Array, u: Array, v: Array, shift: float, lam: float) -> Array:
        r"""``f + p_1 + ... + p_order`` read on each fold, ``p_1 = eps Lt^{-1} [K (1_F u) / m - 2 lam f]``."""
        folds, n = self.task.folds, self.task.n
        curved = (v > 0).nonzero()[0]
        V = self.V.take(curved, 0)
        on_zone = np.zeros_like(self.V)
        on_zone[curved] = V
        solve = woodbury(self.V, on_zone, V.T @ V, shift, 2.0 * lam)
        pushed = [u[F] @ rows / len(F) for F, rows in zip(folds.members, self.rows, strict=True)]
        term = solve(
            (2.0 * lam * f[:, None] - np.stack(pushed, 1)) * (self.sizes / (n - self.sizes))
        )
        total = f[:, None] + term
        for _ in range(1, int(self.task.params["order"])):
            term = solve(self.K @ (v[:, None] * perturbation(folds) * term) / n)
            total += term
        return np.asarray(total[np.arange(n), folds.numbers])

    def score(self, f: Array, u: Array, v: Array, shift: float, lam: float) -> float:
        """The loss of the method, averaged as it says; infinite where the series explodes."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            if int(self.task.params["order"]):
                f = wrong_where_exploded(self.predict(f, u, v, shift, lam), self.task.y)
            if self.task.params["loss"] == "zero-one":
                f = np.where(np.abs(f) <= NO_MARGIN, 0.0, f)
            return self.task.mean_loss(f)


@algorithm("k-FBIF")
def fast_cross_validation(task: Task, kernel: Kernel, K: Array) -> Score:
    """For kernel ridge regression: one Cholesky factor a grid point."""
    series, y, n = Series(task, K), task.y, task.n

    def score(lam: float) -> float:
        residual = n * lam * train(shifted(K, n * lam), y, False)[0]
        return series.score(y - residual, 2.0 * residual, np.full(n, 2.0), n * lam, lam)

    return score


@algorithm("k-FBIF", HINGE)
def fast_cross_validation_of_hinge(task: Task, kernel: Kernel, K: Array) -> Score:
    """For the smoothed hinge: Newton's method at every grid point."""
    series, y, h = Series(task, K), task.y, task.h
    signed = SignedKernel.of(K, y, h, f"{kernel.name} {kernel.text}")

    def score(lam: float) -> float:
        z = newton(Training(signed, 2.0 * lam * task.n)).z
        shift = 4.0 * task.n * lam * h
        return series.score(y * z, y * pull(z, h), curvature(z, h), shift, lam)

    return score


@algorithm("k-CV", HINGE)
def cross_validation_of_hinge(task: Task, kernel: Kernel, K: Array) -> Score:
    """k-CV of the smoothed hinge: k trainings by Newton's method for every grid point."""
    signed = SignedKernel.of(K, task.y, task.h, f"{kernel.name} {kernel.text}")
    return lambda lam: task.mean_loss(held_out(task, signed, lam))


def held_out(task: Task, signed: SignedKernel, lam: float) -> Array:
    """Every row predicted by the model that is trained from nothing without its fold."""
    out = np.empty(task.n)
    for F in task.folds.members:
        kept = np.ones(task.n, dtype=np.bool_)
        kept[F] = False
        rows = task.n - len(F) if task.ridge == "per-fold" else task.n
        out[F] = newton(Training(signed, 2.0 * lam * rows, kept)).z[F]
    return np.asarray(task.y * out)
