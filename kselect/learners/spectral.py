"""The eigendecomposition ``K = U diag(s) U^T`` as a factor, and what all factors share.

Among the factors of a whole matrix it is the cheapest one for few rows, and the one that answers at ridges near the
rounding error of K, and with eigenvectors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from copy import copy
from functools import cached_property
from typing import Self

import numpy as np

from kselect.errors import TrialError
from kselect.numerics.linalg import EPS, Array, Index, symmetric_eigh

# The largest relative error that rounding may cause.
LOST = 1e-3
# Leaving out eigenvectors saves time if fewer than this share of them is needed.
SHORT_SHARE = 0.95
# For products of at most this many multiplications, BLAS multiplies four matrices at once in 0.9 of the
# time of four symmetric updates, or less.
TINY_PRODUCT = 100_000


def weights(s: Array, gammas: Array, *, whole: bool = True) -> Array:
    """Return ``1 / (s + gamma)``, (n_ridges, len(s)).

    Ridges below the rounding error of a singular kernel matrix are refused. Its eigenvalues may come out slightly
    above zero. If s is not the ``whole`` spectrum, the smallest eigenvalue is zero.
    """
    refuse_lost(gammas, len(s), s.max(initial=0.0), s.min(initial=np.inf) if whole else 0.0)
    inverse: Array = 1.0 / (s[None, :] + gammas[:, None])
    return inverse


def refuse_lost(gammas: Array, n: int, largest: float, least: float) -> None:
    """Refuse ridges below the rounding error of a singular matrix with these extreme eigenvalues."""
    rounding = EPS * largest
    if not (gammas.min() > rounding or least > n * rounding):
        raise TrialError("a singular kernel matrix and no ridge above its rounding error")


def require_digits(condition: Array) -> None:
    """Refuse ridges with a condition number (n_ridges,) that leaves fewer than three digits."""
    worst = float(condition.max())
    if not EPS * worst <= LOST:
        raise TrialError(f"rounding hides the result: the condition number is {worst:.1g}")


def weighted_products(rows: Array, shares: Array) -> Array:
    """Return ``A_F diag(share) A_F^T`` for folds (k, m, r) and ridges (n_ridges, r): (k, n_ridges, m, m).

    numpy computes ``A A^T`` as a symmetric update, which is half the work of a product. BLAS multiplies tiny
    matrices faster than it updates them if four are stacked into one product.
    """
    (k, m, r), ridges = rows.shape, len(shares)
    if m * m * r > TINY_PRODUCT:
        scaled = rows[:, None] * np.sqrt(shares)[:, None]
        return np.asarray(scaled @ scaled.swapaxes(-1, -2))
    scaled = rows[:, None] * shares[:, None]
    together = next(t for t in (4, 2, 1) if ridges % t == 0)
    across = np.ascontiguousarray(rows.swapaxes(-1, -2))[:, None]
    product = scaled.reshape(k, ridges // together, together * m, r) @ across
    return product.reshape(k, ridges, m, m)


def identity_minus(products: Array) -> Array:
    """Replace each matrix of a stack (..., m, m) in C order by ``I`` minus it, in place."""
    np.negative(products, out=products)
    m = products.shape[-1]
    products.reshape(-1, m * m)[:, :: m + 1] += 1.0
    return products


class KernelFactor(ABC):
    """A factor gives a path ``G = (K + gamma I)^{-1}`` for every ridge; the ``eigenvalues`` of K descend.

    A search that only asks for products with vectors sets ``blocks_expected`` to False.
    """

    eigenvalues: Array
    blocks_expected = True

    @cached_property
    def largest(self) -> float:
        """The largest eigenvalue."""
        return float(self.eigenvalues[0])

    @cached_property
    def least(self) -> float:
        """The smallest eigenvalue."""
        return float(self.eigenvalues[-1])

    @abstractmethod
    def solve(self, gammas: Array, v: Array) -> Array:
        """Return ``G v`` for every ridge, (n_ridges, n); v is one vector, or one per ridge."""

    def solve_several(self, gammas: Array, V: Array) -> Array:
        """Return ``G v`` for several vectors (q, n) at every ridge, (q, n_ridges, n), in one call."""
        rows = np.repeat(V, len(gammas), axis=0)
        return self.solve(np.tile(gammas, len(V)), rows).reshape(len(V), len(gammas), -1)

    def solve_within(self, gammas: Array, V: Array, folds: Sequence[slice]) -> Array:
        """Return ``G_FF v_F`` for every fold; ``gammas`` are (n_ridges, folds).

        V (n_ridges, q, n) and the result hold the vectors of the folds side by side.
        """
        whole = np.zeros((V.shape[0], len(folds), *V.shape[1:]))
        for f, F in enumerate(folds):
            whole[:, f, :, F] = V[..., F]
        each = np.repeat(gammas.ravel(), V.shape[1])
        solved = self.solve(each, whole.reshape(-1, V.shape[-1])).reshape(whole.shape)
        return np.concatenate([solved[:, f, :, F] for f, F in enumerate(folds)], axis=-1)

    @abstractmethod
    def diagonal(self, gammas: Array) -> Array:
        """Return ``diag(G)`` for every ridge, (n_ridges, n)."""

    @abstractmethod
    def blocks(self, F: Index, gammas: Array) -> Iterator[Array]:
        """Yield ``gamma G_FF`` for every ridge, in Fortran order; the caller may overwrite it."""

    @abstractmethod
    def stack(self, folds: Index, gammas: Array) -> Array:
        """Return the blocks of many small folds of one size (k, m), as (k, n_ridges, m, m)."""

    @abstractmethod
    def modes(self, gammas: Array) -> tuple[Array, Array, Array]:
        """Return ``(A, a, c)`` with ``K G = A diag(c) A^T`` for every ridge and ``A^T A = diag(a)``."""

    @abstractmethod
    def reordered(self, order: Index) -> Self:
        """Return the factor of K with its rows and columns in another order."""


class SpectralFactor(KernelFactor):
    """``G = U diag(w) U^T`` with ``w = 1 / (s + gamma)``, from ascending eigenvalues and their eigenvectors."""

    def __init__(self, s: Array, U: Array) -> None:
        # A kernel matrix is positive semidefinite: negative eigenvalues are rounding errors.
        self.s, self.U = np.maximum(s, 0.0), U
        self.eigenvalues = self.s[::-1]

    @classmethod
    def of(cls, K: Array) -> Self:
        """Decompose a kernel matrix."""
        return cls(*symmetric_eigh(K))

    def solve(self, gammas: Array, v: Array) -> Array:
        """Return ``G v`` for every ridge, (n_ridges, n); v is one vector, or one per ridge."""
        return np.asarray((weights(self.s, gammas) * (v @ self.U)) @ self.U.T)

    def solve_within(self, gammas: Array, V: Array, folds: Sequence[slice]) -> Array:
        """Return ``G_FF v_F`` for every fold, by the rows ``U_F``."""
        (ridges, q, n), out = V.shape, np.empty_like(V)
        rows, found = V.reshape(-1, n), out.reshape(-1, n)
        for F, each in zip(folds, gammas.T, strict=True):
            along = (rows[:, F] @ self.U[F]).reshape(ridges, q, n)
            along *= weights(self.s, each)[:, None]
            found[:, F] = along.reshape(-1, n) @ self.U[F].T
        return out

    def diagonal(self, gammas: Array) -> Array:
        """Return ``diag(G)``, ``sum_j w_j U_ij^2``, for every ridge, (n_ridges, n)."""
        return np.asarray(weights(self.s, gammas) @ np.square(self.U).T)

    def blocks(self, F: Index, gammas: Array) -> Iterator[Array]:
        """Yield ``gamma G_FF`` for every ridge, in Fortran order; the caller may overwrite it.

        It is ``U_F diag(gamma w) U_F^T``, or ``I - U_F diag(s w) U_F^T`` if this needs fewer columns.
        """
        UF, w = self.U[F], weights(self.s, gammas)
        kept = self.s * w
        counts = np.count_nonzero(kept > EPS, axis=1).tolist()
        short = [used < SHORT_SHARE * len(self.s) for used in counts]
        roots = np.sqrt(np.where(np.array(short)[:, None], kept, gammas[:, None] * w))
        for used, is_short, root in zip(counts, short, roots, strict=True):
            A = UF[:, -used:] * root[-used:] if is_short else UF * root
            yield identity_minus(A @ A.T).T if is_short else (A @ A.T).T

    def stack(self, folds: Index, gammas: Array) -> Array:
        """Return the blocks of many small folds of one size (k, m), as (k, n_ridges, m, m).

        They use the columns that the smallest ridge needs.
        """
        w = weights(self.s, gammas)
        kept = self.s * w
        used = int(np.count_nonzero(kept.max(axis=0) > EPS))
        if used < SHORT_SHARE * len(self.s):
            part = slice(len(self.s) - used, None)
            return identity_minus(weighted_products(self.U[folds, part], kept[:, part]))
        return weighted_products(self.U[folds], gammas[:, None] * w)

    def modes(self, gammas: Array) -> tuple[Array, Array, Array]:
        """Return ``(A, a, c)`` with ``K G = A diag(c) A^T`` for every ridge and ``A^T A = diag(a)``."""
        return self.U, np.ones_like(self.s), self.s * weights(self.s, gammas)

    def reordered(self, order: Index) -> Self:
        """Return the factor of K with its rows and columns in another order."""
        twin = copy(self)
        twin.U = self.U[order]
        return twin
