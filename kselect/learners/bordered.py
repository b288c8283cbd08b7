r"""The LSSVM at one ridge, by one Cholesky factor: what a continuous search solves at every point.

``A = K + lam I``, ``p = A^{-1} 1``, ``P = A^{-1} - p p^T / (1^T p)``, ``alpha = P y``, ``b = p^T y / (1^T p)``.
lam here is flkl2014's, of ``sum 0.5 (y - f)^2 + (lam / 2) ||w||^2``: n times that of the other papers.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs, dtrtrs

from kselect.errors import TrialError
from kselect.numerics.linalg import Array


class LSSVMSolution:
    """The solution for a kernel matrix, a target and a ridge, and P for whoever asks."""

    def __init__(self, K: Array, y: Array, lam: float) -> None:
        self.y = y
        A = K.copy()
        A.flat[:: len(y) + 1] += lam
        # Symmetric, so that the transpose is the same matrix in the order of columns that LAPACK wants.
        self._factor, failed = dpotrf(A.T, lower=1, overwrite_a=1, clean=0)
        if failed:
            raise TrialError(f"K + {lam:g} I is not positive definite")
        self._p, along = self._solve(np.column_stack([np.ones_like(y), y])).T
        self._sum = float(self._p.sum())
        self.bias = float(along.sum() / self._sum)
        self.alpha: Array = along - self.bias * self._p
        if not np.isfinite(self.alpha).all():
            raise TrialError(f"K + {lam:g} I has no finite solution")

    def _solve(self, B: Array) -> Array:
        """``A^{-1} B``."""
        found, _ = dpotrs(self._factor, B, lower=1)
        return np.asarray(found)

    def biases(self, B: Array) -> Array:
        """The bias for every column of B as a target: ``p^T B / (1^T p)``."""
        return np.asarray(self._p @ B / self._sum)

    def projected(self, B: Array) -> Array:
        """``P B``: the dual coefficients for every column of B as a target."""
        return self._solve(B) - np.outer(self._p, self.biases(B))

    def among(self, B: Array) -> Array:
        """``B^T P B``, by half a solution: ``L^{-1} B`` with A's factor L."""
        half, _ = dtrtrs(self._factor, B, lower=1)
        bias = self._p @ B
        return np.asarray(half.T @ half - np.outer(bias, bias / self._sum))

    @cached_property
    def P(self) -> Array:
        """The whole matrix, O(n^3)."""
        inverse, _ = dpotri(self._factor, lower=1)
        P: Array = np.tril(inverse, -1)
        P += P.T
        P.flat[:: len(P) + 1] = np.diagonal(inverse)
        P -= np.outer(self._p / self._sum, self._p)
        return P
