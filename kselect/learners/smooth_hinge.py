r"""The support vector machine with the smoothed hinge loss, without a bias (ijcai2018, section 3.3).

Without a fold, training starts from the zones of the full fit. The first solution with the fold's rows taken out
is one Newton step from the full fit, the limit of its Taylor series; few rows are then in
the wrong zone. If there are many free rows and folds, all folds share one factor of the free rows.

The series with the zones frozen (series.py): with ``e = -t m/(n - m)`` and
``D = diag(1 on F, -m/(n - m) off F)``, ``n w = I - t D``, and the weighted problem is

    gamma a = (I - t D) pull(z),   z = Ky a,   gamma = 2 lam n,   rho = 2 h gamma

While the zones stay, ``a = C (1 - t D)`` on the rows L at the top and ``rho a = (I - t D) s``,
``s = 1 + h - z``, on the free rows Q. The terms of ``a = sum t^q a_q``, with ``s_0 = s``, ``s_q = -z_q``:

    a_1 = -C D on L, 0 from q = 2 on;   (Ky_QQ + rho I) a_q = -D s_{q-1} - Ky_QL a_q on Q

Their margins are the terms ``eps^q h_q / q!`` of the general recursion. ijcai2018 prints plus
``(1/m) (K o C_i) V'`` in the first order: the sign is minus.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from kselect.errors import ConfigError
from kselect.learners.base import Fit, Operator, Problem, RightSide, learner, memoised
from kselect.learners.nystrom_series import factor_of_share, fbif_smooth_hinge
from kselect.learners.problem import RidgeMode
from kselect.learners.series import FrozenZoneSeries, largest_rate, perturbation
from kselect.learners.shared_factor import SharedFactor
from kselect.learners.smooth_hinge_trainer import (
    HingeProblem,
    HingeSolution,
    SignedKernel,
    Zones,
    carried_over,
    minimise,
    solve,
    zones_without,
)
from kselect.numerics.folds import Folds
from kselect.numerics.lapack import dpotri, dpotrs
from kselect.numerics.linalg import Array, Index

# With this many free rows and folds, a shared factor is cheaper than one per fold and step.
WORTH_SHARING = 250
FOLDS_SHARING = 3


class FoldTrainer:
    """Training without a fold at one ridge ``gamma``, for ``folds`` folds, from the zones of the full fit."""

    def __init__(self, signed: SignedKernel, zones: Zones, gamma: float, folds: int) -> None:
        self.signed, self.zones, self.gamma, self.folds = signed, zones, gamma, folds

    @cached_property
    def shared(self) -> SharedFactor | None:
        """The factor of the free rows of the full fit, None if it does not pay."""
        U = self.zones.free.nonzero()[0]
        if len(U) < WORTH_SHARING or self.folds < FOLDS_SHARING:
            return None
        ridges = HingeProblem(self.signed, self.gamma).ridges
        return SharedFactor(self.signed.Ky, U, ridges)

    def problem(self, F: Index) -> HingeProblem:
        """Return the problem without the rows F."""
        kept = np.ones(len(self.signed.Ky), dtype=np.bool_)
        kept[F] = False
        return HingeProblem(self.signed, self.gamma, kept)

    def fit(self, F: Index) -> HingeSolution:
        """Return the minimum without the rows F."""
        return minimise(self.problem(F), zones_without(self.signed, self.zones, F), self.shared)

    def step(self, F: Index) -> HingeSolution:
        """Return the solution after one Newton step: the minimum with the zones frozen."""
        return solve(self.problem(F), zones_without(self.signed, self.zones, F), self.shared)


def ceiling(signed: SignedKernel, members: Sequence[Index]) -> tuple[Array, list[float]]:
    """Return ``Ky_{iT} 1`` for each row i in its fold, and for each fold ``max_{i in T} Ky_{iT} 1``.

    T are the rows outside the fold. At a large ridge they are all at the top, and need no training:
    ``z = C Ky_{iT} 1`` is optimal while ``C max_{i in T} Ky_{iT} 1 <= 1 - h``.
    """
    own, reach = np.empty_like(signed.sums), list[float]()
    for F in members:
        others = signed.sums - signed.sums_of(F)
        own[F] = others[F]
        others[F] = -np.inf
        reach.append(float(others.max()))
    return own, reach


class SmoothHingePath(FrozenZoneSeries):
    """The fits at all ridges, each started from the next larger one; the signed kernel matrix is shared."""

    def __init__(self, problem: Problem, *, h: float) -> None:
        if problem.columns is not None:
            raise ConfigError("smooth-hinge takes the whole kernel matrix, not Nystrom columns")
        if not h > 0:
            raise ConfigError(f"h must be positive, not {h}")
        if not np.isin(problem.y, (-1.0, 1.0)).all():
            raise ConfigError("smooth-hinge is for two classes, labelled -1 and +1")
        self.problem = problem
        self.h = h

    @cached_property
    def signed(self) -> SignedKernel:
        """``y_i K_ij y_j``."""
        p = self.problem
        weights = None if p.weights is None else p.weights.values
        return SignedKernel.of(p.K, p.y, self.h, f"{p.kernel.name} {p.kernel.text}", weights)

    def training_problem(self, ridge: int) -> HingeProblem:
        """Return the problem on all rows at a ridge."""
        return HingeProblem(self.signed, 2.0 * float(self.problem.lams[ridge]) * self.problem.n)

    @cached_property
    def solutions(self) -> list[HingeSolution]:
        """The solutions in the order of the ridges, computed from the largest, all rows at the top, down."""
        found: dict[int, HingeSolution] = {}
        near: HingeSolution | None = None
        for ridge in np.argsort(-self.problem.lams, kind="stable").tolist():
            problem = self.training_problem(ridge)
            found[ridge] = near = minimise(problem, carried_over(problem, near))
        return [found[ridge] for ridge in range(len(found))]

    def fit(self) -> Fit:
        """Return ``alpha = y a`` and a bias of 0 for every ridge."""
        alpha = self.problem.y * np.array([s.a for s in self.solutions])
        return Fit(alpha, np.zeros(len(alpha)))

    def decision(self) -> Array:
        """Return ``f = y z``."""
        return np.asarray(self.problem.y * np.array([s.z for s in self.solutions]))

    @memoised
    def held_out(self, folds: Folds) -> Array:
        """Return exact k-fold cross-validation by retraining, each fold from the zones of the full fit.

        ``ridge: per-fold`` trains with the ridge ``2 lam (n - m)``, ``fixed`` keeps ``2 lam n``.
        """
        return self._left_out(folds.members, self.problem.ridge, FoldTrainer.fit)

    @memoised
    def frozen_step(self, folds: Folds) -> Array:
        """Return each row's prediction after one Newton step towards the problem without its fold.

        The step starts from the full fit, whose zones it keeps. With ``ridge: per-fold`` it is the limit of the
        series, the best approximation of cross-validation known; with ``fixed`` the same step at that ridge.
        """
        return self._left_out(folds.members, self.problem.ridge, FoldTrainer.step)

    def loo(self) -> Array:
        """Return leave-one-out by n trainings with the ridge n lam; rows with ``a = 0`` need none."""
        singles = [np.array([i]) for i in range(self.problem.n)]
        return self._left_out(singles, "fixed", FoldTrainer.fit)

    def _left_out(
        self,
        members: Sequence[Index],
        mode: RidgeMode,
        solution_without: Callable[[FoldTrainer, Index], HingeSolution],
    ) -> Array:
        margins = np.array([s.z for s in self.solutions])
        own, reaches = ceiling(self.signed, members)
        for ridge, full in enumerate(self.solutions):
            trainers: dict[float, FoldTrainer] = {}
            for F, reach in zip(members, reaches, strict=True):
                rows = self.problem.rows(F) if mode == "per-fold" else self.problem.n
                gamma = 2.0 * float(self.problem.lams[ridge]) * rows
                if full.zones.top.all() and reach <= (1.0 - self.h) * gamma:
                    margins[ridge, F] = own[F] / gamma
                # Rows with a = 0 do not affect the fit: without them, at the same ridge, nothing changes.
                elif mode == "per-fold" or full.a[F].any():
                    if rows not in trainers:
                        alike = sum(mode == "fixed" or len(G) == len(F) for G in members)
                        trainers[rows] = FoldTrainer(self.signed, full.zones, gamma, alike)
                    margins[ridge, F] = solution_without(trainers[rows], F).z[F]
        return np.asarray(self.problem.y * margins)

    def _taylor_series(self, folds: Folds, order: int) -> Array:
        margins = [
            taylor_series(self.training_problem(i), s, folds, order)
            for i, s in enumerate(self.solutions)
        ]
        return np.asarray(self.problem.y * np.array(margins))

    def _largest_rate(self, ridge: int, folds: Folds) -> float:
        problem, Q = self.training_problem(ridge), self.solutions[ridge].zones.free.nonzero()[0]
        if not len(Q):
            return 0.0
        G = dpotri(problem.factor(self.signed.Ky.take(Q, 0).take(Q, 1), Q), overwrite=True)
        return largest_rate(Q, folds, problem.rho, lambda F: G[np.ix_(F, F)])

    def fbif(
        self,
        folds: Folds,
        *,
        c: float,
        order: int,
        rhs: RightSide,
        operator: Operator = "corrected",
    ) -> Array:
        """Return the series with the kernel approximated by a share c of its columns."""
        p = self.problem
        V, K = factor_of_share(p, c), p.K if rhs == "exact" else None
        given = K, V, p.y, self.decision(), p.lams, folds
        return fbif_smooth_hinge(*given, h=self.h, order=order, operator=operator)


def taylor_series(problem: HingeProblem, full: HingeSolution, folds: Folds, order: int) -> Array:
    """Return the margins of each row from its fold's series of order 0, 1, ..., order: (order + 1, n).

    It takes one Cholesky factor, and per order a solve with one column per fold.
    """
    out = np.tile(full.z, (order + 1, 1))
    Q, Ky = full.zones.free.nonzero()[0], problem.signed.Ky
    D = perturbation(folds)
    factor = problem.factor(Ky.take(Q, 0).take(Q, 1), Q) if len(Q) else None
    a = -problem.top * D * full.zones.top[:, None]
    s = ((1.0 + problem.signed.h) - full.z.take(Q))[:, None]
    total = np.zeros_like(D)
    for q in range(1, order + 1):
        if factor is not None:
            right = -D[Q] * s - (Ky.take(Q, 0) @ a if q == 1 else 0.0)
            a[Q] = dpotrs(factor, right)
        z = Ky @ a
        total += z
        out[q] += total[np.arange(folds.n), folds.numbers]
        s, a = -z[Q], np.zeros_like(D)
    return out


@learner(
    "smooth-hinge",
    paper="ijcai2018",
    tasks=frozenset({"classification"}),
    loss="hinge",
    weighted=True,
)
def smooth_hinge(problem: Problem, *, h: float = 0.05) -> SmoothHingePath:
    r"""The smoothed-hinge SVM without bias: min (1/n) sum V_h(y f) + lam ||f||^2."""
    return SmoothHingePath(problem, h=h)
