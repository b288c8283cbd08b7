r"""The square loss on few columns: ``K ~ B B^T`` with r columns, every question answered in ``O(n r^2)``.

For the Nystrom approximation (mathematics, sections 1 and 6). With ``B^T B = diag(s)`` (rotated so once),
``w = 1 / (s + gamma)`` and ``p = 1 - B diag(w) B^T 1``:

    b = p^T y / (p^T 1) with bias, 0 without;  beta = w * (B^T y - b B^T 1);  f = B beta + b
    leave-one-out: e_i = r_i / h_i,  h_i = 1 - sum_j w_j B_ij^2 - p_i^2 / (p^T 1)
    k-fold: the normal equations without the fold, ``diag(s) + gamma I - B_F^T B_F``, r by r
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from kselect.errors import TrialError
from kselect.learners.bouligand import HeldOutSeries, Modes, is_positive_definite, rates_reaching
from kselect.learners.factor import weights
from kselect.learners.matrix import LowRank
from kselect.learners.problem import Dual, Problem
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array, Index, Mask


class PrimalPath:
    """Least squares on the columns of a low-rank kernel over all ridges, with or without a bias."""

    def __init__(self, problem: Problem, *, bias: bool) -> None:
        if not isinstance(problem.matrix, LowRank):
            raise TrialError("a primal path needs the columns of a low-rank kernel")
        self.problem = problem
        self.bias = bias
        self.matrix = problem.matrix
        self.s, self.B = self.matrix.s, self.matrix.B
        self.gammas = problem.gammas
        self._held: dict[Folds, Array] = {}
        self._series: dict[Folds, HeldOutSeries] = {}

    @cached_property
    def _sums(self) -> tuple[Array, Array]:
        """``B^T y`` and ``B^T 1``."""
        return self.problem.y @ self.B, self.B.sum(axis=0)

    @cached_property
    def _fit(self) -> tuple[Array, Array]:
        """beta (n_ridges, r) and b (n_ridges,)."""
        w = weights(self.s, self.gammas)
        By, Bone = self._sums
        if not self.bias:
            return w * By, np.zeros(len(w))
        y = self.problem.y
        b = (y.sum() - (w * Bone) @ By) / (len(y) - w @ Bone**2)
        return w * (By - b[:, None] * Bone), b

    def dual(self) -> Dual:
        """Coefficients of the kernel against the landmarks."""
        beta, b = self._fit
        return Dual(beta @ self.matrix.root.T, b)

    def decision(self) -> Array:
        """``B beta + b``."""
        beta, b = self._fit
        return np.asarray(beta @ self.B.T + b[:, None])

    def loo(self) -> Array:
        """``y_i - r_i / h_i``."""
        y = self.problem.y
        return np.asarray(y - (y - self.decision()) / self._rest)

    @cached_property
    def _rest(self) -> Array:
        """``h_i = 1 - S_ii``."""
        smooth = weights(self.s, self.gammas) @ np.square(self.B).T
        return np.asarray(1.0 - smooth - np.square(self._along))

    def leverages(self) -> Array:
        """``S_ii``."""
        return 1.0 - self._rest

    @cached_property
    def _along(self) -> Array:
        """``p / sqrt(p^T 1)`` (n_ridges, n); zero without a bias."""
        if not self.bias:
            return np.zeros((len(self.gammas), self.problem.n))
        p = 1.0 - (weights(self.s, self.gammas) * self._sums[1]) @ self.B.T
        return np.asarray(p / np.sqrt(p.sum(axis=1, keepdims=True)))

    @cached_property
    def modes(self) -> Modes:
        """The hat matrices."""
        return Modes(self.B, self.s, weights(self.s, self.gammas), self._along)

    def bif(self, folds: Folds, order: int) -> Array:
        """k-fold cross-validation by its Taylor series of that order (icml2014)."""
        if folds not in self._series:
            residual = self.problem.y - self.decision()
            self._series[folds] = HeldOutSeries(residual, folds)
        return np.asarray(self.problem.y - self._series[folds].residual(self.modes, order))

    def interpolating(self, folds: Folds, cap: float) -> Mask:
        """Where ``lambda_max(S_FF)`` reaches the cap for some fold."""
        return rates_reaching(cap, self.gammas, folds, lambda F, i: self._reaches(F, i, cap))

    def rates(self, folds: Folds) -> Array:
        """(n_ridges,): the largest ``lambda_max(S_FF)`` over folds."""
        found = np.zeros(len(self.gammas))
        for F in folds.members:
            for i in range(len(self.gammas)):
                found[i] = max(found[i], np.linalg.eigvalsh(self._inner(F, i))[-1])
        return found

    def _inner(self, F: Index, i: int) -> Array:
        """``A^T A`` where ``S_FF = A A^T``: the same eigenvalues with r + 1 rows instead of m."""
        w = weights(self.s, self.gammas[[i]])[0]
        A = np.column_stack([self.B[F] * np.sqrt(w), self._along[i, F]])
        return np.asarray(A.T @ A)

    def _reaches(self, F: Index, i: int, cap: float) -> bool:
        rest = -self._inner(F, i)
        rest[np.diag_indices_from(rest)] += cap
        return not is_positive_definite(rest)

    def held_out(self, folds: Folds) -> Array:
        """Exact k-fold cross-validation, ``O(n r^2 / k + r^3)`` a fold and ridge."""
        if folds not in self._held:
            out = np.empty((len(self.gammas), self.problem.n))
            for F in folds.members:
                out[:, F] = self._fold(F)
            self._held[folds] = out
        return self._held[folds]

    def _fold(self, F: Index) -> Array:
        """The predictions of one fold by the normal equations of the others."""
        from scipy.linalg.lapack import dposv

        y, n, m = self.problem.y, self.problem.n, len(F)
        BF = self.B[F]
        normal = np.diag(self.s) - BF.T @ BF
        By, Bone = self._sums
        right = np.stack([By - y[F] @ BF, Bone - BF.sum(axis=0)], axis=1)
        total = y.sum() - y[F].sum()
        kept = n - m if self.problem.ridge == "per-fold" else n
        out = np.empty((len(self.gammas), m))
        for i, gamma in enumerate(kept * self.problem.lams):
            system = normal.copy(order="F")
            system[np.diag_indices_from(system)] += gamma
            _, solved, failed = dposv(system, right, lower=1, overwrite_a=1)
            if failed:
                raise TrialError("the normal equations without a fold are singular")
            u, v = solved.T
            h = right[:, 1]
            b = (total - h @ u) / (n - m - h @ v) if self.bias else 0.0
            out[i] = BF @ (u - b * v) + b
        return out
