r"""The support vector machine with the hinge loss, every C at once (tcyb2018).

min (1/n) sum max(0, 1 - y (f + b)) + lam ||f||^2,   f = K beta,   0 <= y_i beta_i <= C = 1 / (2 n lam)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from kselect.errors import ConfigError, TrialError
from kselect.learners.base import Fit, Problem, learner
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array, Index, Mask

if TYPE_CHECKING:
    from kselect.learners.svm_path.equal import EqualRows
    from kselect.learners.svm_path.ladder import Ladder


R = TypeVar("R")


class SVMPath:
    """All ridges, from the smallest C on; folds start from the solutions of all rows."""

    def __init__(self, problem: Problem, *, bias: bool) -> None:
        if problem.columns is not None:
            raise ConfigError("svm takes the whole kernel matrix, not Nystrom columns")
        if not np.isin(problem.y, (-1.0, 1.0)).all():
            raise ConfigError("svm is for two classes, labelled -1 and +1")
        self.problem = problem
        self.bias = bias
        self._held: dict[Folds, Array] = {}
        self._failures: dict[Folds | None, TrialError] = {}

    @cached_property
    def rows(self) -> EqualRows:
        """Which rows stand for others."""
        from kselect.learners.svm_path.equal import EqualRows

        return EqualRows.find(self.problem.X, self.problem.y)

    @cached_property
    def order(self) -> Index:
        """The ridges by C, ascending."""
        return np.argsort(-self.problem.lams, kind="stable")

    @cached_property
    def ladder(self) -> Ladder:
        """The solutions for all rows, by C."""
        whole = np.ones(self.problem.n, dtype=np.bool_)
        return self._once(None, lambda: self._climb(whole, self.problem.n, None))

    def _once(self, folds: Folds | None, work: Callable[[], R]) -> R:
        """What has failed is not tried again for the next criterion that asks."""
        if folds in self._failures:
            raise self._failures[folds]
        try:
            return work()
        except TrialError as failure:
            self._failures[folds] = failure
            raise

    def _climb(self, kept: Mask, rows: int, above: Ladder | None) -> Ladder:
        from kselect.learners.svm_path.gram import gram_of
        from kselect.learners.svm_path.ladder import climb, hinge_task

        p = self.problem
        name = f"{p.kernel.name} {p.kernel.text}".rstrip()
        task = hinge_task(p.once(gram_of), p.y, self.rows.weights(kept), self.bias, name)
        return climb(task, 1.0 / (2 * rows * p.lams[self.order]), above)

    def _decisions(self, ladder: Ladder) -> Array:
        """(n_ridges, n), by ridge; equal rows have one decision."""
        slacks = np.empty((len(self.order), self.problem.n))
        slacks[self.order] = ladder.slack[:, self.rows.first]
        return self.problem.y - slacks

    def fit(self) -> Fit:
        """``beta = y alpha`` and b for every ridge."""
        alpha, bias = np.empty((len(self.order), self.problem.n)), np.empty(len(self.order))
        bias[self.order] = self.ladder.bias
        for ridge, beta in zip(self.order, self.ladder.beta, strict=True):
            alpha[ridge] = self.rows.spread(beta)
        return Fit(alpha, bias)

    def decision(self) -> Array:
        """``K beta + b``."""
        return self._decisions(self.ladder)

    def held_out(self, folds: Folds) -> Array:
        """Exact k-fold cross-validation by retraining, each fold from the solutions for all rows.

        ``ridge: per-fold`` trains with ``C = 1 / (2 (n - m) lam)``, ``fixed`` keeps ``1 / (2 n lam)``.
        """
        if folds not in self._held:
            self._held[folds] = self._once(folds, lambda: self._retrain(folds))
        return self._held[folds]

    def _retrain(self, folds: Folds) -> Array:
        out = np.empty((len(self.problem.lams), self.problem.n))
        for F in folds.members:
            rows = self.problem.n - (len(F) if self.problem.ridge == "per-fold" else 0)
            out[:, F] = self._without(F, rows)[:, F]
        return out

    def _without(self, F: Index, rows: int) -> Array:
        """(n_ridges, n): every row predicted without the rows F, at ``C = 1 / (2 rows lam)``."""
        kept = np.ones(self.problem.n, dtype=np.bool_)
        kept[F] = False
        return self._decisions(self._climb(kept, rows, self.ladder))

    def without(self, row: int) -> Array:
        """The model without a row; one with ``beta = 0`` at every C has no say."""
        if not self.fit().alpha[:, row].any():
            return self.decision()
        return self._without(np.array([row]), self.problem.n)

    def loo(self) -> Array:
        """Leave-one-out by training, with the ridge n lam kept."""
        return np.stack([self.without(i)[:, i] for i in range(self.problem.n)], axis=1)


@learner(
    "svm",
    paper="tcyb2018; Cortes and Vapnik 1995",
    tasks=frozenset({"classification"}),
    loss="hinge",
)
def svm(problem: Problem, *, bias: bool = True) -> SVMPath:
    r"""Support vector machine: min (1/n) sum max(0, 1 - y (f + b)) + lam ||f||^2, b = 0 with bias=false."""
    return SVMPath(problem, bias=bias)
