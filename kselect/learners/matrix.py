r"""A kernel matrix and what it alone decides: computed once, for every criterion, target and ridge.

``Dense`` holds K itself, ``LowRank`` the columns V of an approximation ``K ~ V V^T`` (mathematics, section 6).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kselect.kernels.nystrom import NystromColumns
from kselect.learners.factor import Factor, factorise
from kselect.numerics.linalg import Array, Index, symmetric_eigh

# Rows of K that are squared at once.
ROWS = 512


def reciprocal(values: Array) -> Array:
    """``1 / v``, and 0 where v is 0."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)


@dataclass(frozen=True, eq=False)
class Dense:
    """The whole matrix; ``known`` is its factor where somebody has made it before."""

    K: Array
    known: Factor | None = None

    @cached_property
    def factor(self) -> Factor:
        """The cheapest factor that is exact to rounding."""
        return factorise(self.K) if self.known is None else self.known

    def diagonal(self) -> Array:
        """``K_ii``."""
        return np.diagonal(self.K)

    def row_squares(self) -> Array:
        """``sum_j K_ij^2``."""
        return np.asarray(np.einsum("ij,ij->i", self.K, self.K))

    def times(self, R: Array) -> Array:
        """``K R``."""
        return np.asarray(self.K @ R)

    def at(self, columns: Index) -> Array:
        """Some columns of K."""
        return self.K.take(columns, axis=1)

    def off_diagonal_squares(self) -> float:
        """``sum_{i != j} K_ij^2 / (K_ii K_jj)``, no row counted whose ``K_ii`` is 0."""
        inverse = reciprocal(np.diagonal(self.K))
        total = 0.0
        for rows in np.array_split(np.arange(len(self.K)), -(-len(self.K) // ROWS)):
            block = np.square(self.K[rows])  # a part of the matrix, not a second one
            block[np.arange(len(rows)), rows] = 0.0
            total += float(inverse[rows] @ (block @ inverse))
        return total

    def spectrum(self) -> Array:
        """The eigenvalues, descending."""
        return self.factor.eigenvalues()


@dataclass(frozen=True, eq=False)
class LowRank:
    """``B B^T`` with ``B^T B = diag(s)``: the columns along the eigenvectors of ``V^T V``, ``B = V Q``."""

    columns: NystromColumns

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

    @cached_property
    def root(self) -> Array:
        """What turns coefficients of B into coefficients of the kernel against the landmarks."""
        return np.asarray(self.columns.root @ self.rotation[1])

    def diagonal(self) -> Array:
        """``K_ii``."""
        return np.asarray(np.einsum("ij,ij->i", self.B, self.B))

    def row_squares(self) -> Array:
        """``sum_j K_ij^2 = b_i^T diag(s) b_i``: row norms without the matrix."""
        return np.asarray(np.square(self.B) @ self.s)

    def times(self, R: Array) -> Array:
        """``B B^T R``."""
        return np.asarray(self.B @ (self.B.T @ R))

    def at(self, columns: Index) -> Array:
        """Some columns of ``B B^T``."""
        return np.asarray(self.B @ self.B[columns].T)

    def off_diagonal_squares(self) -> float:
        """``||C^T C||_F^2 - n`` with the rows of C those of B at length 1."""
        squares = self.diagonal()
        C = self.B * np.sqrt(reciprocal(squares))[:, None]
        return max(float(np.square(C.T @ C).sum()) - float((squares > 0).sum()), 0.0)

    def spectrum(self) -> Array:
        """The eigenvalues of ``B B^T``, descending, filled up with zeros."""
        return np.concatenate([self.s[::-1], np.zeros(len(self.B) - len(self.s))])
