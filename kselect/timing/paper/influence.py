r"""Cross-validation by influence functions, BIF (icml2014) and FBIF (ijcai2018); k-CV and ER of the smoothed hinge.

FBIF computes the kernel matrix and its Nystrom factor V (n, c) once per width. For each grid point it computes
the fit, by a Cholesky factor of n rows (KRR) or Newton's method (smoothed hinge); the products ``K_{.F} u_F`` in
``n^2`` operations; and the series in ``O(n c^2 + k n c)``, with one small inverse by Woodbury.
"""

from __future__ import annotations

from math import factorial

import numpy as np

from kselect.criteria.shortcuts import NO_MARGIN
from kselect.errors import TrialError
from kselect.kernels import Kernel
from kselect.learners.nystrom_series import nystrom_factor, woodbury, wrong_where_exploded
from kselect.learners.series import perturbation
from kselect.learners.smooth_hinge_trainer import (
    TOLERANCE,
    HingeProblem,
    HingeSolution,
    SignedKernel,
    curvature,
    pull,
    solve,
    value,
    violation,
    zones_of,
)
from kselect.numerics.linalg import Array, Mask
from kselect.numerics.losses import LOSSES
from kselect.timing.paper.base import HINGE, Score, TimedProblem, algorithm
from kselect.timing.paper.square_loss import eigenvalue_penalty, invert, shifted, train

# Newton's method: the Armijo constant, the largest number of steps, and the shortest step.
ARMIJO = 1e-4
STEPS = 500
SHORTEST = 1e-12


def bouligand_held_out(problem: TimedProblem, K: Array, lam: float, order: int) -> Array:
    r"""Return ``f_{-F} ~ f + b + sum_{s<=t} eps^s h_s / s!``, ``eps = -m / (n - m)``, on each fold F.

    The square loss has V' = 2 r and V'' = 2. With ``x = (K z, b)``, the equations of section 5

        L x = [K (1_F u) / m - 2 lam f;  1^T (1_F u) / m],   L x = (k+1) [K (v h_k) / n - K (1_F v h_k) / m; ...]

    become ``[[K + gamma I, 1], [1^T, 0]] (z, b) = (c, 0)``. One inverse therefore serves
    every order and fold, and ``h = K z + b = c - gamma P c`` (the tests compare with the bordered L itself):

        c_1 = (n / m) 1_F r - r,      c_{k+1} = (k+1) (h_k - (n / m) 1_F h_k).

    All folds are columns of one product, 2 n^2 operations per fold and order.
    """
    n, gamma, folds = problem.n, problem.n * lam, problem.folds
    inverse = invert(K, gamma, problem.bias)
    residual = gamma * inverse.apply(problem.y[:, None])
    sizes = np.array([len(F) for F in folds.members], dtype=np.float64)
    inside = np.zeros((n, len(sizes)), order="F")
    for position, F in enumerate(folds.members):
        inside[F, position] = n / len(F)
    eps = -sizes / (n - sizes)
    c = (inside - 1.0) * residual
    predicted = np.repeat(problem.y[:, None] - residual, len(sizes), axis=1)
    for s in range(1, order + 1):
        h = c - gamma * inverse.apply(c)
        predicted += eps**s * h / factorial(s)
        c = (s + 1) * (h - inside * h)
    return np.asarray(predicted[np.arange(n), folds.numbers])


@algorithm("BIF-k-CV")
def bouligand_cross_validation(problem: TimedProblem, kernel: Kernel, K: Array) -> Score:
    r"""``O(n^3 + t k n^2)`` per grid point; ``identity`` and ``cap`` have no effect: guards are not timed."""
    order = problem.params["order"]
    return lambda lam: problem.mean_loss(bouligand_held_out(problem, K, lam, order))


class FBIFSeries:
    """V, the right-hand side's K or ``V V^T``, and its rows for each fold: they depend on the width only."""

    def __init__(self, problem: TimedProblem, K: Array) -> None:
        landmarks = problem.columns(float(problem.params["c"]))
        self.problem, self.V = problem, nystrom_factor(K[:, landmarks], landmarks)
        self.K = K if problem.params["rhs"] == "exact" else self.V @ self.V.T
        self.rows = [self.K.take(F, 0) for F in problem.folds.members]
        self.sizes = np.array([len(F) for F in problem.folds.members])

    def predict(self, f: Array, u: Array, v: Array, shift: float, lam: float) -> Array:
        r"""Return ``f + p_1 + ... + p_order`` on each fold, ``p_1 = eps Lt^{-1} [K (1_F u) / m - 2 lam f]``."""
        folds, n = self.problem.folds, self.problem.n
        printed = self.problem.params["operator"] == "printed"
        zone = np.arange(n) if printed else (v > 0).nonzero()[0]
        V = self.V.take(zone, 0)
        on_zone = np.zeros_like(self.V)
        on_zone[zone] = V
        apply_inverse = woodbury(self.V, on_zone, V.T @ V, shift, 2.0 * lam)
        pushed = [u[F] @ rows / len(F) for F, rows in zip(folds.members, self.rows, strict=True)]
        term = apply_inverse(
            (2.0 * lam * f[:, None] - np.stack(pushed, 1)) * (self.sizes / (n - self.sizes))
        )
        total = f[:, None] + term
        for _ in range(1, int(self.problem.params["order"])):
            term = apply_inverse(self.K @ (v[:, None] * perturbation(folds) * term) / n)
            total += term
        return np.asarray(total[np.arange(n), folds.numbers])

    def score(self, f: Array, u: Array, v: Array, shift: float, lam: float) -> float:
        """Return the mean loss; infinite if the series diverges."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            if int(self.problem.params["order"]):
                f = wrong_where_exploded(self.predict(f, u, v, shift, lam), self.problem.y)
            if self.problem.params["loss"] == "zero-one":
                f = np.where(np.abs(f) <= NO_MARGIN, 0.0, f)
            return self.problem.mean_loss(f)


@algorithm("k-FBIF")
def fast_cross_validation(problem: TimedProblem, kernel: Kernel, K: Array) -> Score:
    """FBIF of kernel ridge regression: one Cholesky factor per grid point."""
    series, y, n = FBIFSeries(problem, K), problem.y, problem.n

    def score(lam: float) -> float:
        with problem.fits:
            residual = n * lam * train(shifted(K, n * lam), y, False)[0]
        return series.score(y - residual, 2.0 * residual, np.full(n, 2.0), n * lam, lam)

    return score


@algorithm("k-FBIF", HINGE)
def fast_cross_validation_of_hinge(problem: TimedProblem, kernel: Kernel, K: Array) -> Score:
    """FBIF of the smoothed hinge: Newton's method at every grid point."""
    series, y, h = FBIFSeries(problem, K), problem.y, problem.h
    signed = SignedKernel.of(K, y, h, f"{kernel.name} {kernel.text}")

    def score(lam: float) -> float:
        with problem.fits:
            z = newton(HingeProblem(signed, 2.0 * lam * problem.n)).z
        shift = 4.0 * problem.n * lam * h
        return series.score(y * z, y * pull(z, h), curvature(z, h), shift, lam)

    return score


@algorithm("k-CV", HINGE)
def cross_validation_of_hinge(problem: TimedProblem, kernel: Kernel, K: Array) -> Score:
    """k-CV of the smoothed hinge: k trainings from f = 0 by Newton's method at every grid point."""
    signed = SignedKernel.of(K, problem.y, problem.h, f"{kernel.name} {kernel.text}")

    def score(lam: float) -> float:
        out = np.empty(problem.n)
        for F in problem.folds.members:
            kept = np.ones(problem.n, dtype=np.bool_)
            kept[F] = False
            rows = problem.n - len(F) if problem.ridge == "per-fold" else problem.n
            out[F] = newton(HingeProblem(signed, 2.0 * lam * rows, kept)).z[F]
        return problem.mean_loss(np.asarray(problem.y * out))

    return score


@algorithm("ER", HINGE)
def eigenvalue_ratio_of_hinge(problem: TimedProblem, kernel: Kernel, K: Array) -> Score:
    """ER of the smoothed hinge: the eigenvalues once per width, Newton's method at every grid point."""
    penalty = eigenvalue_penalty(problem, K)
    signed = SignedKernel.of(K, problem.y, problem.h, f"{kernel.name} {kernel.text}")
    loss = LOSSES[problem.params["loss"]]

    def score(lam: float) -> float:
        z = newton(HingeProblem(signed, 2.0 * lam * problem.n)).z
        return float(loss(problem.y, problem.y * z).mean()) + penalty

    return score


def newton(task: HingeProblem) -> HingeSolution:
    """Minimise over the kept rows by Newton's method in the primal, from f = 0 (ijcai2018).

    A full step solves the linear system of the rows in the quadratic zone by Cholesky. Back-tracking halves it
    until the objective decreases enough (Armijo). The method stops when the conditions of optimality hold.
    """
    signed, h = task.signed, task.signed.h
    n = len(signed.Ky)
    kept = np.ones(n, dtype=np.bool_) if task.kept is None else task.kept
    a, z = np.zeros(n), np.zeros(n)
    zones = zones_of(signed, np.zeros(n, dtype=np.bool_), kept)
    for _ in range(STEPS):
        fit = solve(task, zones)
        if violation(task, fit) <= TOLERANCE:
            return fit
        a, z = back_tracked(task, kept, (a, z), fit)
        zones = zones_of(signed, (np.abs(1.0 - z) <= h) & kept, (z < 1.0 - h) & kept)
    raise TrialError(
        f"Newton's method did not converge, the slope is still {violation(task, fit):.1e}: {task.name()}"
    )


def back_tracked(
    task: HingeProblem, kept: Mask, start: tuple[Array, Array], fit: HingeSolution
) -> tuple[Array, Array]:
    """Halve the step from a start to a fit until the objective decreases enough; return ``(a, z)`` there."""
    (a, z), gamma, h = start, task.gamma, task.signed.h
    da, dz = fit.a - a, fit.z - z

    def objective(a: Array, z: Array) -> float:
        return float(value(z[kept], h).sum() + 0.5 * gamma * (a @ z))

    now = objective(a, z)
    slope = gamma * float(a @ dz) - float(pull(z[kept], h) @ dz[kept])
    t = 1.0
    while t > SHORTEST and objective(a + t * da, z + t * dz) > now + ARMIJO * t * slope:
        t /= 2.0
    return a + t * da, z + t * dz
