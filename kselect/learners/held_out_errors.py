r"""Exact leave-one-out and k-fold errors of the LSSVM, and how they change with every entry of K.

``Q = 0.5 sum e^2``; ``dQ = sum_ij dK_ij M_ij`` for any change of K, so ``dQ/dlam = tr M`` and, for a width,
``dQ/dtheta_r = -sum_ij D_r,ij K_ij M_ij`` (mathematics, section 8; the ridge stays lam in every fold).
Derived from ``dP = -P dK P``, which holds for the bordered system too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.linalg.lapack import dposv, dpotrs

from kselect.errors import TrialError
from kselect.kernels.widths import KernelWidths
from kselect.learners.bordered import LSSVMSolution
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array, Index


class HeldOutErrors(Protocol):
    """Errors on rows that were left out in turn."""

    @property
    def errors(self) -> Array:
        """``y - f`` of the model that did not see the row."""

    def sensitivity(self) -> Array:
        """M with ``d(0.5 sum e^2) = sum_ij dK_ij M_ij``; not symmetric."""


class ErrorFunction(Protocol):
    """What makes the errors of a kernel matrix, a target and a ridge."""

    def __call__(self, K: Array, y: Array, lam: float) -> HeldOutErrors:
        """The errors at one kernel and ridge."""


class LeaveOneOutErrors:
    """``e_i = alpha_i / P_ii`` (Cawley 2006); the sum of squares is PRESS."""

    def __init__(self, K: Array, y: Array, lam: float) -> None:
        self.system = LSSVMSolution(K, y, lam)
        self._diagonal = np.diagonal(self.system.P)
        if not self._diagonal.min() > 0.0:
            raise TrialError("leave-one-out has a row that no other rows determine")

    @cached_property
    def errors(self) -> Array:
        """Row by row."""
        return self.system.alpha / self._diagonal

    def sensitivity(self) -> Array:
        """``M = P diag(v o e) P - (P v) alpha^T``, ``v = e / diag P``."""
        P, e = self.system.P, self.errors
        root = P * (np.abs(e) / np.sqrt(self._diagonal))
        M: Array = root @ root.T
        M -= np.outer(P @ (e / self._diagonal), self.system.alpha)
        return M


class KFoldErrors:
    """``e_F = P_FF^{-1} alpha_F`` for each fold F."""

    def __init__(self, K: Array, y: Array, lam: float, folds: Folds) -> None:
        self.system = LSSVMSolution(K, y, lam)
        self._folds = folds
        self.errors: Array = np.empty_like(y)
        self._weights = np.empty_like(y)
        for F in folds.members:
            self.errors[F], self._weights[F] = self._fold(F)

    def _fold(self, F: Index) -> tuple[Array, Array]:
        """``e_F`` and ``v_F = P_FF^{-1} e_F``."""
        block = self.system.P[np.ix_(F, F)]
        factor, e, failed = dposv(block, self.system.alpha[F], lower=1)
        if failed:
            raise TrialError("a fold block is singular")
        weights, _ = dpotrs(factor, e, lower=1)
        return e, weights

    def sensitivity(self) -> Array:
        """``M = sum_F (P_:F v_F) (P_:F e_F)^T - (P v) alpha^T``: rank k + 1."""
        left, right = np.zeros((2, self._folds.n, len(self._folds.members)))
        for k, F in enumerate(self._folds.members):
            left[F, k], right[F, k] = self._weights[F], self.errors[F]
        P = self.system.P
        outer = np.column_stack([P @ left, -(P @ self._weights)])
        return outer @ np.column_stack([P @ right, self.system.alpha]).T


@dataclass(frozen=True)
class Slope:
    """A value and its derivatives with respect to the widths and the ridge."""

    value: float
    theta: Array
    lam: float


def slope(
    criterion: ErrorFunction, widths: KernelWidths, y: Array, theta: Array, lam: float
) -> Slope:
    """``Q = 0.5 sum e^2`` and its gradient: O(n^3) for the factor, O(n^2 d) for all widths."""
    K = widths.gram(theta)
    held = criterion(K, y, lam)
    M = held.sensitivity()
    ridge = float(np.trace(M))
    np.multiply(M, K, out=M)
    return Slope(0.5 * float(held.errors @ held.errors), -widths.totals(M), ridge)
