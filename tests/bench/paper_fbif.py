"""The algorithms of ijcai2018 with every grid point trained separately, and no overhead.

Newton's method for the smoothed hinge is the paper's: in the primal from f = 0, a Cholesky solve on
the rows of the quadratic zone, with back-tracking, until the optimality conditions hold. Next to it
stands kselect's trainer from scratch, which is faster than any paper's, so that the benchmark
separates the gain of the trainer from that of the selection. The kernel matrix is computed once per
width for all, and so is the Nystrom factor of FBIF.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dposv

from kselect.kernels import Points
from kselect.kernels.gaussian import Gaussian
from kselect.learners.nystrom_series import nystrom_factor
from kselect.learners.smooth_hinge_trainer import (
    TOLERANCE,
    HingeProblem,
    HingeSolution,
    SignedKernel,
    all_top,
    carried_over,
    minimise,
    pull,
    solve,
    value,
    violation,
    zones_of,
)
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array, Index

Trainer = Callable[[HingeProblem], HingeSolution]
ARMIJO = 1e-4
H = 0.05


def newton(task: HingeProblem) -> HingeSolution:
    """Train by the paper's Newton method."""
    signed, h = task.signed, task.signed.h
    a, z = np.zeros(len(signed.Ky)), np.zeros(len(signed.Ky))
    zones = all_top(signed)
    for _ in range(500):
        fit = solve(task, zones)
        if violation(task, fit) <= TOLERANCE:
            return fit
        da, dz = fit.a - a, fit.z - z
        now = value(z, h).sum() + 0.5 * task.gamma * float(a @ z)
        slope = task.gamma * float(a @ dz) - float(pull(z, h) @ dz)
        t = 1.0
        while t > 1e-12:
            further = a + t * da, z + t * dz
            new = value(further[1], h).sum() + 0.5 * task.gamma * float(further[0] @ further[1])
            if new <= now + ARMIJO * t * slope:
                break
            t /= 2.0
        a, z = further
        zones = zones_of(signed, np.abs(1.0 - z) <= h, z < 1.0 - h)
    raise RuntimeError(f"Newton's method left {violation(task, fit):.1e}")


def from_scratch(task: HingeProblem) -> HingeSolution:
    """Train by kselect's trainer without a start."""
    return minimise(task, carried_over(task, None))


def matrices(X: Array, taus: Array) -> Iterator[Array]:
    """Return the kernel matrix of every width."""
    points = Points(X)
    for tau in taus.tolist():
        yield Gaussian(tau).gram(points)


@dataclass(frozen=True, eq=False)
class Formula:
    """The first-order series of one width:

    ``Lt`` inverted by Woodbury, K on the right hand side.
    """

    V: Array
    rows: tuple[Array, ...]
    folds: Folds

    @classmethod
    def of(cls, K: Array, landmarks: Index, folds: Folds) -> Formula:
        """Return V, and the rows of K of each fold."""
        V = nystrom_factor(K[:, landmarks], landmarks)
        return cls(V, tuple(K.take(F, 0) for F in folds.members), folds)

    def predict(self, f: Array, u: Array, curved: Index | None, shift: float, lam: float) -> Array:
        """Return ``f + eps Lt^{-1} [K (1_F u) / m - 2 lam f]`` on each fold; ``curved``:

        V'' > 0.
        """
        V = self.V if curved is None else self.V.take(curved, 0)
        inner = V.T @ V
        inner.ravel()[:: len(inner) + 1] += shift
        right = np.empty((len(f), len(self.rows)), order="F")
        for j, (F, rows) in enumerate(zip(self.folds.members, self.rows, strict=True)):
            right[:, j] = u[F] @ rows / len(F)
        right -= (2.0 * lam * f)[:, None]
        inner_right = V.T @ (right if curved is None else right.take(curved, 0))
        shares = dposv(inner, inner_right, lower=1, overwrite_a=1, overwrite_b=1)[1]
        out = np.empty_like(f)
        for j, F in enumerate(self.folds.members):
            term = (right[F, j] - self.V.take(F, 0) @ shares[:, j]) / (2.0 * lam)
            out[F] = f[F] - len(F) / (len(f) - len(F)) * term
        return out


def hinge_fbif(
    X: Array, y: Array, taus: Array, lams: Array, folds: Folds, landmarks: Index, train: Trainer
) -> Array:
    """Return the (widths, ridges) hinge loss by FBIF."""
    scores = []
    for K in matrices(X, taus):
        signed, formula = SignedKernel.of(K, y, H, ""), Formula.of(K, landmarks, folds)
        for lam in lams.tolist():
            z = train(HingeProblem(signed, 2.0 * lam * len(y))).z
            curved = (np.abs(1.0 - z) <= H).nonzero()[0]
            f = formula.predict(y * z, y * pull(z, H), curved, 4.0 * len(y) * lam * H, lam)
            scores.append(np.maximum(0.0, 1.0 - y * f).mean())
    return np.array(scores).reshape(len(taus), -1)


def without(K: Array, F: Index) -> tuple[Index, Array, Array]:
    """Return the rows T without F, ``K_TT`` and ``K_FT``."""
    T = np.setdiff1d(np.arange(len(K)), F)
    rows = K.take(T, 0)
    return T, rows.take(T, 1), K.take(F, 0).take(T, 1)


def hinge_cv(X: Array, y: Array, taus: Array, lams: Array, folds: Folds, train: Trainer) -> Array:
    """Return the (widths, ridges) hinge loss by k trainings per point, with ``2 lam (n - m)``."""
    rows = []
    for K in matrices(X, taus):
        held = np.empty((len(lams), len(y)))
        for F in folds.members:
            T, inner, outer = without(K, F)
            signed = SignedKernel.of(inner, y[T], H, "")
            for i, lam in enumerate(lams.tolist()):
                held[i, F] = outer @ (y[T] * train(HingeProblem(signed, 2.0 * lam * len(T))).a)
        rows.append(np.maximum(0.0, 1.0 - y * held).mean(axis=1))
    return np.array(rows)


def ridge_regression(K: Array, y: Array, gamma: float) -> Array:
    """Return ``alpha`` by one Cholesky factor, computed in a copy."""
    A = K.copy()
    A.ravel()[:: len(A) + 1] += gamma
    return np.asarray(dposv(A.T, y, lower=1, overwrite_a=1)[1])


def square_fbif(
    X: Array, y: Array, taus: Array, lams: Array, folds: Folds, landmarks: Index
) -> Array:
    """Return the (widths, ridges) squared loss of KRR by FBIF."""
    scores, n = [], len(y)
    for K in matrices(X, taus):
        formula = Formula.of(K, landmarks, folds)
        for lam in lams.tolist():
            residual = n * lam * ridge_regression(K, y, n * lam)
            f = formula.predict(y - residual, 2.0 * residual, None, n * lam, lam)
            scores.append(np.square(y - f).mean())
    return np.array(scores).reshape(len(taus), -1)


def square_cv(X: Array, y: Array, taus: Array, lams: Array, folds: Folds) -> Array:
    """Return the (widths, ridges) squared loss of KRR by k Cholesky factors per point."""
    rows: list[Array] = []
    for K in matrices(X, taus):
        held = np.empty((len(lams), len(y)))
        for F in folds.members:
            T, inner, outer = without(K, F)
            for i, lam in enumerate(lams.tolist()):
                held[i, F] = outer @ ridge_regression(inner, y[T], len(T) * lam)
        rows.append(np.square(y - held).mean(axis=1))
    return np.array(rows)


def contestants(
    X: Array, y: Array, taus: Array, lams: Array, folds: Folds, landmarks: Index
) -> Sequence[tuple[str, Callable[[], Array]]]:
    """Return a surface function per algorithm of the paper, the hinge by both trainers."""
    grid = (X, y, taus, lams, folds)
    return [
        ("FBIF", lambda: hinge_fbif(*grid, landmarks, newton)),
        ("k-CV", lambda: hinge_cv(*grid, newton)),
        ("FBIF, our trainer", lambda: hinge_fbif(*grid, landmarks, from_scratch)),
        ("k-CV, our trainer", lambda: hinge_cv(*grid, from_scratch)),
        ("KRR FBIF", lambda: square_fbif(*grid, landmarks)),
        ("KRR k-CV", lambda: square_cv(*grid)),
    ]
