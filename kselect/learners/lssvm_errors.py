r"""The LSSVM at one ridge: its solution, its exact held-out errors, and their gradient.

``A = K + lam I``, ``p = A^{-1} 1``, ``P = A^{-1} - p p^T / (1^T p)``, ``alpha = P y``, ``b = p^T y / (1^T p)``.
lam is defined as in flkl2014, ``sum 0.5 (y - f)^2 + (lam / 2) ||w||^2``: n times the lam of the other papers.

``Q = 0.5 sum e^2`` over the held-out errors e changes by ``dQ = sum_ij dK_ij M_ij`` for any change of K. So
``dQ/dlam = tr M`` and, for a width, ``dQ/dtheta_r = -sum_ij D_r,ij K_ij M_ij`` (the ridge
stays lam in every fold). This follows from ``dP = -P dK P``, which holds for the bordered system too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from kselect.errors import TrialError
from kselect.kernels.widths import KernelWidths
from kselect.numerics.folds import Folds
from kselect.numerics.lapack import dposv, dpotrf, dpotri, dpotrs, dtrtrs
from kselect.numerics.linalg import Array


class LSSVMSolution:
    """The solution for a kernel matrix, a target and a ridge, from one Cholesky factor; P on request."""

    def __init__(self, K: Array, y: Array, lam: float) -> None:
        self.y = y
        A = K.copy()
        A.flat[:: len(y) + 1] += lam
        # A is symmetric, so its transpose is the same matrix in the column order that LAPACK wants.
        self._factor, failed = dpotrf(A.T, overwrite=True)
        if failed:
            raise TrialError(f"K + {lam:g} I is not positive definite")
        self._p, along = self._solve(np.column_stack([np.ones_like(y), y])).T
        self._sum = float(self._p.sum())
        self.bias = float(along.sum() / self._sum)
        self.alpha: Array = along - self.bias * self._p
        if not np.isfinite(self.alpha).all():
            raise TrialError(f"K + {lam:g} I has no finite solution")

    def _solve(self, B: Array) -> Array:
        """Return ``A^{-1} B``."""
        return dpotrs(self._factor, B)

    def biases(self, B: Array) -> Array:
        """Return ``p^T B / (1^T p)``: the bias for each column of B as the target."""
        return np.asarray(self._p @ B / self._sum)

    def projected(self, B: Array) -> Array:
        """Return ``P B``: the coefficients for each column of B as the target."""
        return self._solve(B) - np.outer(self._p, self.biases(B))

    def among(self, B: Array) -> Array:
        """Return ``B^T P B``, from ``L^{-1} B`` with the Cholesky factor L of A: half of a solve."""
        half = dtrtrs(self._factor, B)
        bias = self._p @ B
        return np.asarray(half.T @ half - np.outer(bias, bias / self._sum))

    @cached_property
    def P(self) -> Array:
        """The whole matrix, O(n^3)."""
        inverse = dpotri(self._factor)
        P: Array = np.tril(inverse, -1)
        P += P.T
        P.flat[:: len(P) + 1] = np.diagonal(inverse)
        P -= np.outer(self._p / self._sum, self._p)
        return P


class LeaveOneOutErrors:
    """Leave-one-out, ``e_i = alpha_i / P_ii`` (Cawley 2006); the sum of squares is PRESS."""

    def __init__(self, K: Array, y: Array, lam: float) -> None:
        self.system = LSSVMSolution(K, y, lam)
        self._diagonal = np.diagonal(self.system.P)
        if not self._diagonal.min() > 0.0:
            raise TrialError("leave-one-out has a row that no other rows determine")
        self.errors: Array = self.system.alpha / self._diagonal

    def sensitivity(self) -> Array:
        """Return ``M = P diag(v o e) P - (P v) alpha^T``, ``v = e / diag P``; M is not symmetric."""
        P, e = self.system.P, self.errors
        root = P * (np.abs(e) / np.sqrt(self._diagonal))
        M: Array = root @ root.T
        M -= np.outer(P @ (e / self._diagonal), self.system.alpha)
        return M


class KFoldErrors:
    """k-fold cross-validation, ``e_F = P_FF^{-1} alpha_F`` for each fold F, and ``v_F = P_FF^{-1} e_F``."""

    def __init__(self, K: Array, y: Array, lam: float, folds: Folds) -> None:
        self.system = LSSVMSolution(K, y, lam)
        self._folds = folds
        self.errors: Array = np.empty_like(y)
        self._v = np.empty_like(y)
        for F in folds.members:
            block = self.system.P[np.ix_(F, F)]
            factor, self.errors[F], failed = dposv(block, self.system.alpha[F])
            if failed:
                raise TrialError("a fold block is singular")
            self._v[F] = dpotrs(factor, self.errors[F])

    def sensitivity(self) -> Array:
        """Return ``M = sum_F (P_:F v_F) (P_:F e_F)^T - (P v) alpha^T``, a matrix of rank k + 1."""
        left, right = np.zeros((2, self._folds.n, len(self._folds.members)))
        for k, F in enumerate(self._folds.members):
            left[F, k], right[F, k] = self._v[F], self.errors[F]
        P = self.system.P
        outer = np.column_stack([P @ left, -(P @ self._v)])
        return outer @ np.column_stack([P @ right, self.system.alpha]).T


# A function that returns the held-out errors of a kernel matrix, a target and a ridge.
ErrorFunction = Callable[[Array, Array, float], LeaveOneOutErrors | KFoldErrors]


def slope(
    errors_of: ErrorFunction, widths: KernelWidths, y: Array, theta: Array, lam: float
) -> tuple[float, Array]:
    """Return ``Q = 0.5 sum e^2`` and its gradient over theta and lam: O(n^3), and O(n^2 d) for all widths."""
    K = widths.gram(theta)
    held = errors_of(K, y, lam)
    M = held.sensitivity()
    ridge = float(np.trace(M))
    np.multiply(M, K, out=M)
    return 0.5 * float(held.errors @ held.errors), np.append(-widths.totals(M), ridge)
