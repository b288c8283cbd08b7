"""Support vector regression with the quadratic eps-insensitive loss (icml2014, section 4.2.2)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np

from kselect.errors import ConfigError
from kselect.grids import show_number
from kselect.learners.active_set import Start, TubeProblem, TubeSolution, train
from kselect.learners.base import Fit, Problem, RidgeMode, learner
from kselect.learners.frozen_zones import largest_rate, taylor_series
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array, Index, Mask


class QuadraticSVRPath:
    """All ridges, each started from the next larger one; K is sliced, never computed again."""

    def __init__(self, problem: Problem, *, eps: float) -> None:
        if not eps >= 0:
            raise ConfigError(f"eps must not be negative, not {eps}")
        self.problem = problem
        self.eps = eps
        self._held: dict[Folds, Array] = {}
        self._series: dict[Folds, Array] = {}
        self._rates: dict[Folds, Array] = {}

    def task(
        self, ridge: int, left_out: Index | None = None, *, rows: int | None = None
    ) -> TubeProblem:
        """The problem at a ridge ``rows lam`` (default: n), without the rows left out."""
        p = self.problem
        lam = float(p.lams[ridge])
        kept = np.ones(p.n, dtype=np.bool_)
        if left_out is not None:
            kept[left_out] = False
        name = f"{p.kernel.name} {p.kernel.text} lam={show_number(lam)}".replace("  ", " ")
        return TubeProblem(p.K, p.y, (rows or p.n) * lam, self.eps, kept, name)

    @cached_property
    def fits(self) -> list[TubeSolution]:
        """From the largest ridge, whose solution is the smoothest, down; in the order of the problem."""
        found: dict[int, TubeSolution] = {}
        start: Start | None = None
        for ridge in np.argsort(-self.problem.lams, kind="stable").tolist():
            found[ridge] = train(self.task(ridge), start)
            start = found[ridge].start
        return [found[ridge] for ridge in range(len(found))]

    def fit(self) -> Fit:
        """alpha and b for every ridge."""
        return Fit(np.array([f.alpha for f in self.fits]), np.array([f.b for f in self.fits]))

    def decision(self) -> Array:
        """``K alpha + b``."""
        return np.array([f.decision for f in self.fits])

    def held_out(self, folds: Folds) -> Array:
        """Exact k-fold cross-validation by retraining, each fold started from the full fit.

        ``ridge: per-fold`` trains with the ridge ``(n - m) lam``, ``fixed`` keeps ``n lam``.
        """
        if folds not in self._held:
            self._held[folds] = self._retrain(folds.members, self.problem.ridge)
        return self._held[folds]

    def loo(self) -> Array:
        """Leave-one-out by n trainings, with the ridge n lam kept; rows within the tube need none."""
        return self._loo

    @cached_property
    def _loo(self) -> Array:
        return self._retrain([np.array([i]) for i in range(self.problem.n)], "fixed")

    def _retrain(self, left_out: Iterable[Index], mode: RidgeMode) -> Array:
        out = self.decision()
        for F in left_out:
            rows = self.problem.n - (len(F) if mode == "per-fold" else 0)
            for ridge, fit in enumerate(self.fits):
                # Rows within the tube have no say: without them, and with the ridge kept, nothing changes.
                if mode == "per-fold" or fit.zones[F].any() or not fit.zones.any():
                    without = train(self.task(ridge, F, rows=rows), fit.start)
                    out[ridge, F] = without.decision[F]
        return out

    def bif(self, folds: Folds, order: int) -> Array:
        """(n_ridges, n): k-fold cross-validation by its Taylor series of that order; its ridge is per fold."""
        known = self._series.get(folds)
        if known is None or known.shape[1] <= order:
            # Orders asked for one after another would each start anew.
            most = order if known is None else 2 * order
            known = np.array(
                [taylor_series(self.task(i), fit, folds, most) for i, fit in enumerate(self.fits)]
            )
            self._series[folds] = known
        return known[:, order].copy()

    def rates(self, folds: Folds) -> Array:
        """(n_ridges,): ``max_F lambda_max(S_FF)``, S being the hat matrix of the rows outside the tube."""
        if folds not in self._rates:
            found = [largest_rate(self.task(i), fit, folds) for i, fit in enumerate(self.fits)]
            self._rates[folds] = np.array(found)
        return self._rates[folds]

    def interpolating(self, folds: Folds, cap: float) -> Mask:
        """Where that rate reaches the cap for some fold; inf: nowhere."""
        if np.isposinf(cap):
            return np.zeros(len(self.problem.lams), dtype=np.bool_)
        return np.asarray(self.rates(folds) >= cap)


@learner("quadratic-svr", paper="icml2014", tasks=frozenset({"regression"}))
def quadratic_svr(problem: Problem, *, eps: float = 0.1) -> QuadraticSVRPath:
    r"""SVR with bias: min (1/n) sum max(0, |y - f - b| - eps)^2 + lam ||f||^2."""
    return QuadraticSVRPath(problem, eps=eps)
