r"""Support vector regression with the quadratic eps-insensitive loss (icml2014, section 4.2.2).

The Taylor series of cross-validation (series.py): V'' is constant while the zones stay, so
all derivatives equal the square loss's on A, the rows outside the tube of the full fit, with the targets
``z = y - eps s``. With ``e = -t m/(n - m)`` and ``D = diag(1 on F, -m/(n - m) off F)``, ``n w = I - t D``, the
weighted problem

    (K_AA + gamma I) beta + b 1 = z - t D rho,  1^T beta = 0,  rho = z - f - b = gamma beta + t D rho

is ``rho = rho_0 + t S D rho`` with the hat matrix ``S = I - gamma P`` of the rows A. The term of order q is

    rho_q = S D rho_{q-1},  beta_q = -P D rho_{q-1},  b_q = -p^T D rho_{q-1} / (1^T p),  f_q = K_{.A} beta_q

on all rows, including those within the tube; m and n count them all. The rate is the largest absolute eigenvalue
of ``S D``, or of ``S^{1/2} D S^{1/2}``. These lie between ``-m/(n - m)`` and ``lambda_max(S_FF)``. The guard
of BIF uses the latter.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np

from kselect.errors import ConfigError
from kselect.grids import show_number
from kselect.learners.base import Fit, Problem, learner, memoised
from kselect.learners.problem import RidgeMode
from kselect.learners.quadratic_svr_trainer import (
    Start,
    TubeProblem,
    TubeSolution,
    train,
)
from kselect.learners.series import FrozenZoneSeries, largest_rate, perturbation
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array, Index


class QuadraticSVRPath(FrozenZoneSeries):
    """The fits at all ridges, each started from the next larger one; the kernel matrix is only sliced."""

    def __init__(self, problem: Problem, *, eps: float) -> None:
        if not eps >= 0:
            raise ConfigError(f"eps must not be negative, not {eps}")
        self.problem = problem
        self.eps = eps

    def training_problem(
        self, ridge: int, left_out: Index | None = None, *, rows: float | None = None
    ) -> TubeProblem:
        """Return the problem at a ridge ``rows lam`` (default: n), without the rows left out."""
        p = self.problem
        lam = float(p.lams[ridge])
        kept = np.ones(p.n, dtype=np.bool_)
        if left_out is not None:
            kept[left_out] = False
        name = f"{p.kernel.name} {p.kernel.text} lam={show_number(lam)}".replace("  ", " ")
        weights = None if p.weights is None else p.weights.values
        return TubeProblem(p.K, p.y, (rows or p.n) * lam, self.eps, kept, name, weights)

    @cached_property
    def solutions(self) -> list[TubeSolution]:
        """The solutions in the order of the ridges, computed from the largest, the smoothest, down."""
        found: dict[int, TubeSolution] = {}
        start: Start | None = None
        for ridge in np.argsort(-self.problem.lams, kind="stable").tolist():
            found[ridge] = train(self.training_problem(ridge), start)
            start = found[ridge].start
        return [found[ridge] for ridge in range(len(found))]

    def fit(self) -> Fit:
        """Return alpha and b for every ridge."""
        alpha, b = [s.alpha for s in self.solutions], [s.b for s in self.solutions]
        return Fit(np.array(alpha), np.array(b))

    def decision(self) -> Array:
        """Return ``K alpha + b``."""
        return np.array([s.decision for s in self.solutions])

    @memoised
    def held_out(self, folds: Folds) -> Array:
        """Return exact k-fold cross-validation by retraining, each fold started from the full fit.

        ``ridge: per-fold`` trains with the ridge ``(n - m) lam``, ``fixed`` keeps ``n lam``.
        """
        return self._retrain(folds.members, self.problem.ridge)

    @memoised
    def loo(self) -> Array:
        """Return leave-one-out by n trainings with the ridge n lam; rows within the tube need none."""
        return self._retrain([np.array([i]) for i in range(self.problem.n)], "fixed")

    def _retrain(self, left_out: Iterable[Index], mode: RidgeMode) -> Array:
        out = self.decision()
        for F in left_out:
            for ridge, found in enumerate(self._without(F, mode)):
                out[ridge, F] = found.decision[F]
        return out

    def _without(self, F: Index, mode: RidgeMode) -> list[TubeSolution]:
        """Return the solution without the rows F at every ridge."""
        rows = self.problem.rows(F) if mode == "per-fold" else self.problem.n
        return [
            # Rows within the tube do not affect the fit: without them, at the same ridge, nothing changes.
            train(self.training_problem(ridge, F, rows=rows), full.start)
            if mode == "per-fold" or full.zones[F].any() or not full.zones.any()
            else full
            for ridge, full in enumerate(self.solutions)
        ]

    def fold_fits(self, folds: Folds) -> tuple[Fit, ...]:
        """Return the fit without each fold by retraining."""
        every = (self._without(F, self.problem.ridge) for F in folds.members)
        return tuple(
            Fit(np.array([s.alpha for s in found]), np.array([s.b for s in found]))
            for found in every
        )

    def _taylor_series(self, folds: Folds, order: int) -> Array:
        full = enumerate(self.solutions)
        return np.array([taylor_series(self.training_problem(i), s, folds, order) for i, s in full])

    def _largest_rate(self, ridge: int, folds: Folds) -> float:
        problem, A = self.training_problem(ridge), np.flatnonzero(self.solutions[ridge].zones)
        if not len(A):
            return 0.0
        system = problem.system(A)
        return largest_rate(A, folds, problem.gamma, system.block)


def taylor_series(problem: TubeProblem, full: TubeSolution, folds: Folds, order: int) -> Array:
    """Return the predictions of each row from its fold's series of order 0, 1, ..., order: (order + 1, n).

    It takes one Cholesky factor, and per order a solve with one column per fold.
    """
    out = np.tile(full.decision, (order + 1, 1))
    A = np.flatnonzero(full.zones)
    if not len(A):
        return out  # no row is outside the tube: f = 0, and nothing determines in which direction b moves
    system = problem.system(A)
    D = perturbation(folds)[A]
    rho = (problem.gamma * full.alpha[A])[:, None]
    beta, b = np.zeros_like(D), np.zeros(len(folds.members))
    for q in range(1, order + 1):
        pushed = D * rho
        step, shift = system.solve(pushed)
        beta, b, rho = beta - step, b - shift, pushed - problem.gamma * step
        for j, F in enumerate(folds.members):
            out[q, F] += problem.K[np.ix_(F, A)] @ beta[:, j] + b[j]
    return out


@learner("quadratic-svr", paper="icml2014", tasks=frozenset({"regression"}), weighted=True)
def quadratic_svr(problem: Problem, *, eps: float = 0.1) -> QuadraticSVRPath:
    r"""SVR with bias: min (1/n) sum max(0, |y - f - b| - eps)^2 + lam ||f||^2."""
    return QuadraticSVRPath(problem, eps=eps)
