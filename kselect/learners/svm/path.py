r"""The learner ``svm``: the support vector machine with the hinge loss, at every C of a path (tcyb2018).

min (1/n) sum max(0, 1 - y (f + b)) + lam ||f||^2,   f = K beta,   0 <= y_i beta_i <= C = 1 / (2 n lam)

With weights of the rows, the box of row i ends at ``w_i C``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self, TypeVar

import numpy as np

from kselect.errors import ConfigError, TrialError
from kselect.learners.base import Fit, Problem, learner
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array, Index, Mask

if TYPE_CHECKING:
    from kselect.learners.svm.ladder import Ladder

R = TypeVar("R")


@dataclass(frozen=True, eq=False)
class EqualRows:
    """Equal rows with the same label, which the dual joins into one row with their total weight.

    ``first[i]`` is the first row that equals row i; it represents all of them. ``each`` has the weight of each row.
    """

    first: Index
    each: Array

    @classmethod
    def find(cls, X: Array, y: Array, each: Array | None = None) -> Self:
        """Find rows that are equal bit for bit; their kernel values may still differ by rounding errors."""
        # Adding 0 turns -0 into 0, which has other bits.
        rows = np.ascontiguousarray(np.column_stack([X, y]) + 0.0)
        as_bytes = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
        _, first, group = np.unique(as_bytes, return_index=True, return_inverse=True)
        return cls(first[group], np.ones(len(y)) if each is None else each)

    def weights(self, kept: Mask) -> Array:
        """Return the weight of the kept rows that each row represents."""
        return np.asarray(np.bincount(self.first[kept], self.each[kept], len(self.first)), float)

    def spread(self, beta: Array) -> Array:
        """Divide each coefficient among the equal rows in proportion to their weights."""
        whole = np.bincount(self.first, self.each, len(self.first))
        shares: Array = beta[self.first] / whole[self.first] * self.each
        return shares


class SVMPath:
    """The SVM at every ridge; each fold starts from the solutions for all rows."""

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
        """The groups of equal rows."""
        weights = self.problem.weights
        each = None if weights is None else weights.values
        return EqualRows.find(self.problem.X, self.problem.y, each)

    @cached_property
    def order(self) -> Index:
        """The ridges in ascending order of C."""
        return np.argsort(-self.problem.lams, kind="stable")

    @cached_property
    def ladder(self) -> Ladder:
        """The solutions for all rows, in ascending order of C."""
        whole = np.ones(self.problem.n, dtype=np.bool_)
        return self._once(None, lambda: self._climb(whole, self.problem.n, None))

    def _once(self, folds: Folds | None, work: Callable[[], R]) -> R:
        """Return the result of ``work``; cache failures only, so that later criteria do not repeat the attempt."""
        if folds in self._failures:
            raise self._failures[folds]
        try:
            return work()
        except TrialError as failure:
            self._failures[folds] = failure
            raise

    def _climb(self, kept: Mask, count: float, above: Ladder | None) -> Ladder:
        """Solve the dual of the kept rows at ``C = 1 / (2 count lam)``.

        If rows are left out, ``above`` has the solutions for all rows.
        """
        compile_once()
        from kselect.learners.svm.ladder import climb, hinge_dual, leave
        from kselect.learners.svm.quadratic import kernel_matrix

        p = self.problem
        K = p.of_kernel.once("prepared", lambda: kernel_matrix(p.K))
        q = hinge_dual(K, p.y, self.rows.weights(kept), self.bias)
        Cs = 1.0 / (2 * count * p.lams[self.order])
        if above and count == p.n and not above.beta[:, self.rows.first[~kept]].any():
            return leave(q, Cs, above)
        return climb(q, Cs, f"{p.kernel.name} {p.kernel.text}".rstrip(), above)

    def _decisions(self, ladder: Ladder) -> Array:
        """Return the decision values (n_ridges, n), which are the same for equal rows."""
        decisions = np.empty((len(self.order), self.problem.n))
        decisions[self.order] = ladder.decision[:, self.rows.first]
        return decisions

    def fit(self) -> Fit:
        """Return ``beta = y alpha`` and b for every ridge."""
        alpha, bias = np.empty((len(self.order), self.problem.n)), np.empty(len(self.order))
        bias[self.order] = self.ladder.bias
        for ridge, beta in zip(self.order, self.ladder.beta, strict=True):
            alpha[ridge] = self.rows.spread(beta)
        return Fit(alpha, bias)

    def decision(self) -> Array:
        """Return ``K beta + b`` for every ridge."""
        return self._decisions(self.ladder)

    def held_out(self, folds: Folds) -> Array:
        """Return the exact held-out predictions: train again without each fold.

        Without a fold of m rows, ``ridge: per-fold`` trains with ``C = 1 / (2 (n - m) lam)``, and ``ridge: fixed``
        with ``C = 1 / (2 n lam)``.
        """
        if folds not in self._held:
            self._held[folds] = self._once(folds, lambda: self._retrain(folds))
        return self._held[folds]

    def _retrain(self, folds: Folds) -> Array:
        out = np.empty((len(self.problem.lams), self.problem.n))
        for F in folds.members:
            out[:, F] = self._without(F, self.problem.rows(F))[:, F]
        return out

    def _without(self, F: Index, count: float) -> Array:
        """Train without the rows F at ``C = 1 / (2 count lam)`` and predict every row, (n_ridges, n)."""
        kept = np.ones(self.problem.n, dtype=np.bool_)
        kept[F] = False
        return self._decisions(self._climb(kept, count, self.ladder))

    def without(self, row: int) -> Array:
        """Train without one row, at ``C = 1 / (2 m lam)`` for m rows or for all n, as in ``held_out``."""
        return self._without(np.array([row]), self.problem.rows(np.array([row])))

    def loo(self) -> Array:
        """Return the leave-one-out predictions by training again, with the ridge n lam kept."""
        n = self.problem.n
        return np.stack([self._without(np.array([i]), n)[:, i] for i in range(n)], axis=1)


def compile_once() -> None:
    """Compile the loops, unless this machine has done so."""
    # Imported here: numba takes 0.3 s to load.
    from kselect.learners.svm.compilation import ensure_compiled

    ensure_compiled()


@learner(
    "svm",
    paper="tcyb2018; Cortes and Vapnik 1995",
    tasks=frozenset({"classification"}),
    loss="hinge",
    weighted=True,
    prepare=compile_once,
)
def svm(problem: Problem, *, bias: bool = True) -> SVMPath:
    r"""Support vector machine: min (1/n) sum max(0, 1 - y (f + b)) + lam ||f||^2, b = 0 with bias=false."""
    return SVMPath(problem, bias=bias)
