r"""The square loss: one eigendecomposition of the kernel serves every ridge and every fold.

``K = U diag(s) U^T``; for a ridge gamma = n lam, ``w = 1 / (s + gamma)``, ``G = U diag(w) U^T``, ``p = G 1``:

    with bias (LSSVM):  P = G - p p^T / (1^T p),  alpha = P y,  b = p^T y / (1^T p)
    without (KRR):      P = G,                    alpha = G y
    hat matrix S = I - gamma P,  residual r = y - S y = gamma alpha

No n-by-n matrix is formed for a ridge, only the blocks of the folds (mathematics, section 1).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from kselect.errors import TrialError
from kselect.folds import Folds
from kselect.learners.base import Dual, Path, Problem
from kselect.linalg import Array, symmetric_eigh

R = TypeVar("R")


class SquareLossPath:
    """Least squares with a kernel over all ridges, with or without a bias."""

    def __init__(self, problem: Problem, *, bias: bool) -> None:
        self.problem = problem
        self.bias = bias
        self._memo: dict[object, Any] = {}
        self._held: dict[Folds, Array] = {}
        s, self.U = symmetric_eigh(problem.K)
        # A kernel is positive semidefinite: what lies below zero is rounding.
        self.s = np.maximum(s, 0.0)

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

    @cached_property
    def _projections(self) -> tuple[Array, Array]:
        """``U^T y`` and ``U^T 1``."""
        return self.U.T @ self.problem.y, self.U.sum(axis=0)

    def _weights(self, gammas: Array) -> Array:
        """``1 / (s + gamma)``, (n_ridges, n)."""
        # Eigenvalues are known up to this: a singular kernel's may come out a little above zero.
        rounding = self.problem.n * np.finfo(np.float64).eps * self.s[-1]
        if not (gammas.min() > 0 or self.s[0] > rounding):
            raise TrialError(f"singular kernel at {self.problem.kernel.text} and no ridge")
        weights: Array = 1.0 / (self.s[None, :] + gammas[:, None])
        return weights

    def _solution(self, gammas: Array) -> tuple[Array, Array, Array]:
        """``alpha`` (n_ridges, n), the bias (n_ridges,) and ``p / sqrt(1^T p)``, zero without a bias."""
        w = self._weights(gammas)
        Uy, Uone = self._projections
        alpha = (w * Uy) @ self.U.T
        if not self.bias:
            return alpha, np.zeros(len(gammas)), np.zeros_like(alpha)
        p = (w * Uone) @ self.U.T
        total = (w * Uone**2).sum(axis=1)
        b = (p @ self.problem.y) / total
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

    def spectrum(self) -> Array:
        """The eigenvalues of K, descending."""
        return self.s[::-1]

    def loo(self) -> Array:
        r"""``y_i - alpha_i / P_ii``: exact leave-one-out with the ridge n lam kept (Cawley 2006)."""
        alpha, _, q = self._fit
        diagonal = self._weights(self.gammas) @ np.square(self.U).T - np.square(q)
        return self.problem.y - alpha / diagonal

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
        UF = self.U[F]
        roots = np.sqrt(gammas[:, None] * self._weights(gammas))
        blocks = np.empty((len(gammas), len(F), len(F)))
        for block, root, gamma, qF in zip(blocks, roots, gammas, q[:, F], strict=True):
            A = UF * root
            np.matmul(A, A.T, out=block)
            if self.bias:
                block -= gamma * np.outer(qF, qF)
        errors = np.linalg.solve(blocks, (gammas[:, None] * alpha[:, F])[..., None])[..., 0]
        held: Array = self.problem.y[F] - errors
        return held
