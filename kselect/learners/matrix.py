r"""A kernel matrix and what it alone decides: computed once, for every criterion, target and ridge.

``Dense`` holds K itself, ``LowRank`` the columns V of an approximation ``K ~ V V^T`` (mathematics, section 6).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kselect.kernels.nystrom import Columns
from kselect.learners.factor import Factor, factorise
from kselect.numerics.linalg import Array, symmetric_eigh


@dataclass(frozen=True, eq=False)
class Dense:
    """The whole matrix."""

    K: Array

    @cached_property
    def factor(self) -> Factor:
        """The cheapest factor that is exact to rounding."""
        return factorise(self.K)

    def diagonal(self) -> Array:
        """``K_ii``."""
        return np.diagonal(self.K)

    def row_squares(self) -> Array:
        """``sum_j K_ij^2``."""
        return np.asarray(np.einsum("ij,ij->i", self.K, self.K))

    def spectrum(self) -> Array:
        """The eigenvalues, descending."""
        return self.factor.eigenvalues()


@dataclass(frozen=True, eq=False)
class LowRank:
    """``B B^T`` with ``B^T B = diag(s)``: the columns along the eigenvectors of ``V^T V``, ``B = V Q``."""

    columns: Columns

    @cached_property
    def rotation(self) -> tuple[Array, Array]:
        """``s`` and ``Q``."""
        s, Q = symmetric_eigh(self.columns.V.T @ self.columns.V)
        return np.maximum(s, 0.0), Q

    @property
    def s(self) -> Array:
        """The eigenvalues of ``B^T B``, ascending."""
        return self.rotation[0]

    @cached_property
    def B(self) -> Array:
        """The rotated columns."""
        return np.asarray(self.columns.V @ self.rotation[1])

    @property
    def root(self) -> Array:
        """What turns coefficients of B into coefficients of the kernel against the landmarks."""
        return np.asarray(self.columns.root @ self.rotation[1])

    def diagonal(self) -> Array:
        """``K_ii``."""
        return np.asarray(np.einsum("ij,ij->i", self.B, self.B))

    def row_squares(self) -> Array:
        """``sum_j K_ij^2 = b_i^T diag(s) b_i``: row norms without the matrix."""
        return np.asarray(np.square(self.B) @ self.s)

    def spectrum(self) -> Array:
        """The eigenvalues of ``B B^T``, descending, filled up with zeros."""
        return np.concatenate([self.s[::-1], np.zeros(len(self.B) - len(self.s))])
