"""The support vector machine with the smoothed hinge loss, without a bias (ijcai2018, section 3.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kselect.errors import ConfigError
from kselect.learners.base import Fit, Problem, RidgeMode, RightSide, learner
from kselect.learners.block_pivoting import (
    HingeProblem,
    HingeSolution,
    SignedKernel,
    carried_over,
    settle,
)
from kselect.learners.hinge_folds import Ceiling, FoldTrainer
from kselect.learners.hinge_series import largest_rate, taylor_series
from kselect.learners.nystrom_series import NystromFactor, fbif_smooth_hinge
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array, Index


class SmoothHingePath:
    """All ridges, each started from the next larger one; one signed kernel matrix serves them and all folds."""

    def __init__(self, problem: Problem, *, h: float) -> None:
        if problem.columns is not None:
            raise ConfigError("smooth-hinge takes the whole kernel matrix, not Nystrom columns")
        if not h > 0:
            raise ConfigError(f"h must be positive, not {h}")
        if not np.isin(problem.y, (-1.0, 1.0)).all():
            raise ConfigError("smooth-hinge is for two classes, labelled -1 and +1")
        self.problem = problem
        self.h = h
        self._held: dict[Folds, Array] = {}
        self._frozen: dict[Folds, Array] = {}
        self._series: dict[Folds, Array] = {}
        self._rates: dict[Folds, Array] = {}

    @cached_property
    def signed(self) -> SignedKernel:
        """``y_i K_ij y_j``."""
        p = self.problem
        return SignedKernel.of(p.K, p.y, self.h, f"{p.kernel.name} {p.kernel.text}")

    def task(self, ridge: int) -> HingeProblem:
        """The problem on all rows at a ridge."""
        return HingeProblem(self.signed, 2.0 * float(self.problem.lams[ridge]) * self.problem.n)

    @cached_property
    def fits(self) -> list[HingeSolution]:
        """From the largest ridge, where every row is at the top, down; in the order of the problem."""
        found: dict[int, HingeSolution] = {}
        fit: HingeSolution | None = None
        for ridge in np.argsort(-self.problem.lams, kind="stable").tolist():
            task = self.task(ridge)
            found[ridge] = fit = settle(task, carried_over(task, fit))
        return [found[ridge] for ridge in range(len(found))]

    def fit(self) -> Fit:
        """``alpha = y a`` for every ridge; no bias."""
        alpha = self.problem.y * np.array([f.a for f in self.fits])
        return Fit(alpha, np.zeros(len(alpha)))

    def decision(self) -> Array:
        """``f = y z``."""
        return np.asarray(self.problem.y * np.array([f.z for f in self.fits]))

    def held_out(self, folds: Folds) -> Array:
        """Exact k-fold cross-validation by retraining, each fold started from the full fit's zones.

        ``ridge: per-fold`` trains with the ridge ``2 lam (n - m)``, ``fixed`` keeps ``2 lam n``.
        """
        if folds not in self._held:
            self._held[folds] = self._left_out(folds.members, self.problem.ridge, retrained)
        return self._held[folds]

    def frozen_step(self, folds: Folds) -> Array:
        """(n_ridges, n): each row predicted after one Newton step towards the problem without its fold.

        It starts from the full fit, whose zones it keeps. With ``ridge: per-fold`` it is the limit of the series,
        the best approximation of cross-validation known; with ``fixed`` the same step at that ridge.
        """
        if folds not in self._frozen:
            self._frozen[folds] = self._left_out(
                folds.members, self.problem.ridge, FoldTrainer.step
            )
        return self._frozen[folds]

    def loo(self) -> Array:
        """Leave-one-out by n trainings, with the ridge n lam kept; rows with ``a = 0`` need none."""
        singles = [np.array([i]) for i in range(self.problem.n)]
        return self._left_out(singles, "fixed", retrained)

    def _left_out(
        self,
        members: Sequence[Index],
        mode: RidgeMode,
        margins_without: Callable[[FoldTrainer, Index], Array],
    ) -> Array:
        margins = np.array([f.z for f in self.fits])
        ceiling = Ceiling.of(self.signed, members)
        for ridge, fit in enumerate(self.fits):
            trainers: dict[int, FoldTrainer] = {}
            for F, reach in zip(members, ceiling.reach.tolist(), strict=True):
                rows = self.problem.n - (len(F) if mode == "per-fold" else 0)
                gamma = 2.0 * float(self.problem.lams[ridge]) * rows
                if fit.zones.top.all() and reach <= (1.0 - self.h) * gamma:
                    margins[ridge, F] = ceiling.own[F] / gamma
                # Rows with a = 0 have no say: without them, and with the ridge kept, nothing changes.
                elif mode == "per-fold" or fit.a[F].any():
                    if rows not in trainers:
                        alike = sum(mode == "fixed" or len(G) == len(F) for G in members)
                        trainers[rows] = FoldTrainer(self.signed, fit.zones, gamma, alike)
                    margins[ridge, F] = margins_without(trainers[rows], F)[F]
        return np.asarray(self.problem.y * margins)

    def bif(self, folds: Folds, order: int) -> Array:
        """(n_ridges, n): k-fold cross-validation by its Taylor series (t-BIF: order 1); its ridge is per fold."""
        known = self._series.get(folds)
        if known is None or known.shape[1] <= order:
            # Who asks for one order after another shall not have each of them from the start.
            most = order if known is None else 2 * order
            margins = [
                taylor_series(self.task(i), fit, folds, most) for i, fit in enumerate(self.fits)
            ]
            self._series[folds] = known = self.problem.y * np.array(margins)
        return known[:, order].copy()

    def fbif(self, folds: Folds, *, c: float, order: int, rhs: RightSide) -> Array:
        """(n_ridges, n): the same series with the kernel approximated by a share c of its columns."""
        p = self.problem
        V, K = p.once(NystromFactor(c)), p.K if rhs == "exact" else None
        return fbif_smooth_hinge(K, V, p.y, self.decision(), p.lams, folds, h=self.h, order=order)

    def rates(self, folds: Folds) -> Array:
        """(n_ridges,): ``max_F lambda_max(S_FF)``, S being the hat matrix of the free rows."""
        if folds not in self._rates:
            found = [
                largest_rate(self.task(i), fit, folds.members) for i, fit in enumerate(self.fits)
            ]
            self._rates[folds] = np.array(found)
        return self._rates[folds]

    def interpolating(self, folds: Folds, cap: float) -> NDArray[np.bool_]:
        """Where that rate reaches the cap for some fold; inf: nowhere."""
        if np.isposinf(cap):
            return np.zeros(len(self.problem.lams), dtype=np.bool_)
        return np.asarray(self.rates(folds) >= cap)


def retrained(trainer: FoldTrainer, F: Index) -> Array:
    """The margins of the model that is trained without F."""
    return trainer.fit(F).z


@learner("smooth-hinge", paper="ijcai2018", tasks=frozenset({"classification"}), loss="hinge")
def smooth_hinge(problem: Problem, *, h: float = 0.05) -> SmoothHingePath:
    r"""The smoothed-hinge SVM without bias: min (1/n) sum V_h(y f) + lam ||f||^2."""
    return SmoothHingePath(problem, h=h)
