r"""The square loss: one eigendecomposition of the kernel serves every ridge and every fold.

``K = U diag(s) U^T``; for a ridge gamma = n lam, ``w = 1 / (s + gamma)``, ``G = U diag(w) U^T``, ``p = G 1``:

    with bias (LSSVM):  P = G - p p^T / (1^T p),  alpha = P y,  b = p^T y / (1^T p)
    without (KRR):      P = G,                    alpha = G y
    hat matrix S = I - gamma P,  residual r = y - S y = gamma alpha

No n-by-n matrix is formed for a ridge, only the blocks of the folds (mathematics, section 1).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsyr
from scipy.linalg.lapack import dposv

from kselect.errors import TrialError
from kselect.folds import Folds
from kselect.learners.base import Dual, Path, Problem
from kselect.learners.bouligand import HeldOutSeries, is_positive_definite, rates_reaching
from kselect.learners.factor import Factor, factorise
from kselect.learners.primal import PrimalPath
from kselect.linalg import Array, Index

R = TypeVar("R")


class SquareLossPath:
    """Least squares with a kernel over all ridges, with or without a bias."""

    def __init__(self, problem: Problem, *, bias: bool, shared: Self | None = None) -> None:
        self.problem = problem
        self.bias = bias
        self.factor: Factor = shared.factor if shared else factorise(problem.K)
        self._memo: dict[object, Any] = {}
        self._held: dict[Folds, Array] = {}
        self._series: dict[Folds, HeldOutSeries] = {}

    def retarget(self, y: Array) -> Path:
        """The same factor for another target."""
        return type(self)(replace(self.problem, y=y), bias=self.bias, shared=self)

    def once(self, compute: Callable[[Path], R]) -> R:
        """``compute(self)``, remembered."""
        if compute not in self._memo:
            self._memo[compute] = compute(self)
        found: R = self._memo[compute]
        return found

    @cached_property
    def gammas(self) -> Array:
        """``n lam``."""
        return self.problem.n * self.problem.lams

    def _solution(self, gammas: Array) -> tuple[Array, Array, Array]:
        """``alpha`` (n_ridges, n), the bias (n_ridges,) and ``p / sqrt(1^T p)``, zero without a bias."""
        y = self.problem.y
        alpha = self.factor.solve(gammas, y)
        if not self.bias:
            return alpha, np.zeros(len(gammas)), np.zeros_like(alpha)
        p = self.factor.solve(gammas, np.ones_like(y))
        total = p.sum(axis=1)
        b = (p @ y) / total
        return alpha - b[:, None] * p, b, p / np.sqrt(total)[:, None]

    @cached_property
    def _fit(self) -> tuple[Array, Array, Array]:
        """The solution at ``n lam``."""
        return self._solution(self.gammas)

    def dual(self) -> Dual:
        """alpha and b for every ridge."""
        alpha, b, _ = self._fit
        return Dual(alpha, b)

    def decision(self) -> Array:
        """``S y = y - gamma alpha``: the fitted values."""
        return self.problem.y - self.gammas[:, None] * self._fit[0]

    def kernel_diagonal(self) -> Array:
        """``K_ii``."""
        return np.diagonal(self.problem.K)

    def kernel_row_squares(self) -> Array:
        """``sum_j K_ij^2``."""
        return np.asarray(np.einsum("ij,ij->i", self.problem.K, self.problem.K))

    def spectrum(self) -> Array:
        """The eigenvalues of K, descending."""
        return self.factor.eigenvalues()

    def loo(self) -> Array:
        r"""``y_i - alpha_i / P_ii``: exact leave-one-out with the ridge n lam kept (Cawley 2006)."""
        alpha, _, q = self._fit
        diagonal = self.factor.diagonal(self.gammas) - np.square(q)
        return self.problem.y - alpha / diagonal

    def hat(self, V: Array) -> Array:
        """``S V = (I - gamma P) V`` for every ridge, (n_ridges, k, n)."""
        q = self._fit[2]
        smooth = self.factor.smooth(self.gammas, V)
        if not self.bias:
            return smooth
        along = self.gammas[:, None] * np.einsum("lkn,ln->lk", V, q)
        return np.asarray(smooth + along[:, :, None] * q[:, None, :])

    def bif(self, folds: Folds, order: int) -> Array:
        """k-fold cross-validation by its Taylor series of that order (icml2014); the ridge n lam is kept."""
        if folds not in self._series:
            residual = self.problem.y - self.decision()
            self._series[folds] = HeldOutSeries(self.hat, residual, folds)
        return np.asarray(self.problem.y - self._series[folds].residual(order))

    def interpolating(self, folds: Folds, cap: float) -> NDArray[np.bool_]:
        """Where the series' rate ``lambda_max(S_FF)`` reaches the cap for some fold.

        ``lambda_max(S_FF) < cap`` if and only if ``gamma P_FF - (1 - cap) I`` is positive definite.
        """
        return rates_reaching(
            cap, self.gammas, folds, lambda F, i: not self._is_above(F, i, 1.0 - cap)
        )

    def rates(self, folds: Folds) -> Array:
        """(n_ridges,): the largest ``lambda_max(S_FF)`` over folds."""
        found = np.zeros(len(self.gammas))
        for F in folds.members:
            for i in range(len(self.gammas)):
                found[i] = max(found[i], 1.0 - np.linalg.eigvalsh(self._block(F, i))[0])
        return found

    def _block(self, F: Index, i: int) -> Array:
        """``gamma P_FF`` at one ridge."""
        (block,) = self.factor.blocks(F, self.gammas[[i]])
        if self.bias:
            q = self._fit[2][i, F]
            block -= self.gammas[i] * np.outer(q, q)
        return block

    def _is_above(self, F: Index, i: int, bound: float) -> bool:
        """Whether every eigenvalue of ``gamma P_FF`` is above the bound."""
        block = self._block(F, i)
        block[np.diag_indices_from(block)] -= bound
        return is_positive_definite(block)

    def held_out(self, folds: Folds) -> Array:
        r"""``y_F - P_FF^{-1} alpha_F``: exact k-fold cross-validation, ``O(n m^2)`` a fold and ridge.

        ``ridge: per-fold`` retrains with the objective's own ridge ``(n - m) lam``,
        ``fixed`` keeps ``n lam``.
        """
        if folds not in self._held:
            self._held[folds] = self._held_out(folds)
        return self._held[folds]

    def _held_out(self, folds: Folds) -> Array:
        out = np.empty((len(self.gammas), self.problem.n))
        for m, positions in folds.by_size.items():
            gammas = self.gammas
            solution = self._fit
            if self.problem.ridge == "per-fold":
                gammas = (self.problem.n - m) * self.problem.lams
                solution = self._solution(gammas)
            for position in positions:
                F = folds.members[position]
                out[:, F] = self._fold(F, gammas, solution[0], solution[2])
        return out

    def _fold(self, F: Any, gammas: Array, alpha: Array, q: Array) -> Array:
        """The held-out predictions of one fold for every ridge."""
        errors = np.empty((len(gammas), len(F)))
        right = gammas[:, None] * alpha[:, F]
        for i, block in enumerate(self.factor.blocks(F, gammas)):
            if self.bias:
                block = dsyr(-gammas[i], q[i, F], lower=1, a=block, overwrite_a=1)
            _, errors[i], failed = dposv(block, right[i], lower=1, overwrite_a=1)
            if failed:
                raise TrialError("a fold block is singular")
        held: Array = self.problem.y[F] - errors
        return held


def square_loss_path(problem: Problem, *, bias: bool) -> SquareLossPath | PrimalPath:
    """The exact path, or that on the columns of an approximated kernel."""
    if problem.columns is not None:
        return PrimalPath(problem, bias=bias)
    return SquareLossPath(problem, bias=bias)
