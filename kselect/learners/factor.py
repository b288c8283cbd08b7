r"""How ``(K + gamma I)^{-1}`` is had for every ridge: three factors of one kernel matrix.

    spectral   K = U diag(s) U^T, the general case
    thin       K = B B^T with r < n columns, for kernels of low numerical rank and for Nystrom, O(n r^2)
    scattered  K is diagonal but for few rows, what a narrow Gaussian kernel is to machine precision

A path asks for ``G = (K + gamma I)^{-1}`` applied to vectors, its diagonal, and its blocks ``gamma G_FF``.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Protocol, Self

import numpy as np

from kselect.errors import TrialError
from kselect.learners.blocks import gram_of_rows, identity_minus, identity_minus_each, stacked
from kselect.learners.pivoted import EPS, thin_columns
from kselect.numerics.linalg import Array, Index, symmetric_eigh

# Leaving out eigenvectors pays from here on.
SHORT_SHARE = 0.95
# A core of fewer than this share of the rows is worth a factor of its own.
CORE_SHARE = 0.7


class Factor(Protocol):
    """One kernel matrix, ready for every ridge."""

    def solve(self, gammas: Array, v: Array) -> Array:
        """``G v`` for every ridge, (n_ridges, n); v is one vector, or one for each ridge."""
        ...

    def diagonal(self, gammas: Array) -> Array:
        """``diag(G)`` for every ridge, (n_ridges, n)."""
        ...

    def blocks(self, F: Index, gammas: Array) -> Iterator[Array]:
        """``gamma G_FF`` for every ridge, Fortran-ordered and free to be overwritten."""
        ...

    def stack(self, folds: Index, gammas: Array) -> Array:
        """The blocks of folds of one size (k, m) at once, (k, n_ridges, m, m): for many small ones."""
        ...

    def modes(self, gammas: Array) -> tuple[Array, Array, Array]:
        """``(A, a, c)`` with ``K G = A diag(c) A^T`` for every ridge and ``A^T A = diag(a)``."""
        ...

    def eigenvalues(self) -> Array:
        """Those of K, descending, n of them."""
        ...

    def reordered(self, order: Index) -> Self:
        """The factor of K with its rows and columns in another order."""
        ...


def weights(s: Array, gammas: Array) -> Array:
    """``1 / (s + gamma)``, (n_ridges, len(s))."""
    # Eigenvalues are known up to this: a singular kernel's may come out a little above zero.
    rounding = len(s) * EPS * s.max(initial=0.0)
    if not (gammas.min() > 0 or s.min(initial=np.inf) > rounding):
        raise TrialError("a singular kernel matrix and no ridge")
    inverse: Array = 1.0 / (s[None, :] + gammas[:, None])
    return inverse


class SpectralFactor:
    """``G = U diag(w) U^T``."""

    def __init__(self, K: Array) -> None:
        s, self.U = symmetric_eigh(K)
        # A kernel is positive semidefinite: what lies below zero is rounding.
        self.s = np.maximum(s, 0.0)

    def solve(self, gammas: Array, v: Array) -> Array:
        """Two products with U for all ridges."""
        return np.asarray((weights(self.s, gammas) * (v @ self.U)) @ self.U.T)

    def diagonal(self, gammas: Array) -> Array:
        """``sum_j w_j U_ij^2``."""
        return np.asarray(weights(self.s, gammas) @ np.square(self.U).T)

    def blocks(self, F: Index, gammas: Array) -> Iterator[Array]:
        """``U_F diag(gamma w) U_F^T``, or ``I - U_F diag(s w) U_F^T`` where that needs fewer columns."""
        UF, w = self.U[F], weights(self.s, gammas)
        kept = self.s * w
        counts = np.count_nonzero(kept > EPS, axis=1).tolist()
        short = [used < SHORT_SHARE * len(self.s) for used in counts]
        roots = np.sqrt(np.where(np.array(short)[:, None], kept, gammas[:, None] * w))
        for used, is_short, root in zip(counts, short, roots, strict=True):
            if is_short:
                yield identity_minus(gram_of_rows(UF[:, -used:] * root[-used:]))
            else:
                yield gram_of_rows(UF * root)

    def stack(self, folds: Index, gammas: Array) -> Array:
        """As above, with the columns that the smallest ridge needs."""
        w = weights(self.s, gammas)
        kept = self.s * w
        used = int(np.count_nonzero(kept.max(axis=0) > EPS))
        if used < SHORT_SHARE * len(self.s):
            part = slice(len(self.s) - used, None)
            return identity_minus_each(stacked(self.U[folds, part], kept[:, part]))
        return stacked(self.U[folds], gammas[:, None] * w)

    def modes(self, gammas: Array) -> tuple[Array, Array, Array]:
        """The eigenvectors, and ``s w``."""
        return self.U, np.ones_like(self.s), self.s * weights(self.s, gammas)

    def eigenvalues(self) -> Array:
        """The spectrum."""
        return self.s[::-1]

    def reordered(self, order: Index) -> Self:
        """The rows of U."""
        twin = copy(self)
        twin.U = self.U[order]
        return twin


class ThinFactor:
    r"""``K = B B^T`` with ``B^T B = diag(s)``: ``gamma G = I - B diag(w) B^T``."""

    def __init__(self, columns: Array) -> None:
        s, V = symmetric_eigh(columns.T @ columns)
        self.s = np.maximum(s[::-1], 0.0)
        self.B = columns @ np.ascontiguousarray(V[:, ::-1])

    def weights(self, gammas: Array) -> Array:
        """Those of the columns; what they do not span has the eigenvalue 0 and needs a ridge."""
        if not gammas.min() > 0:
            raise TrialError("a singular kernel matrix and no ridge")
        return weights(self.s, gammas)

    def solve(self, gammas: Array, v: Array) -> Array:
        """``(v - B diag(w) B^T v) / gamma``."""
        smooth = (self.weights(gammas) * (v @ self.B)) @ self.B.T
        return np.asarray((v - smooth) / gammas[:, None])

    def diagonal(self, gammas: Array) -> Array:
        """``(1 - sum_j w_j B_ij^2) / gamma``."""
        return np.asarray((1.0 - self.weights(gammas) @ np.square(self.B).T) / gammas[:, None])

    def blocks(self, F: Index, gammas: Array) -> Iterator[Array]:
        """``I - B_F diag(w) B_F^T``, without the columns whose share ``s w`` is below rounding."""
        BF = self.B[F]
        for w in self.weights(gammas):
            used = int(np.count_nonzero(self.s * w > EPS))
            yield identity_minus(gram_of_rows(BF[:, :used] * np.sqrt(w[:used])))

    def stack(self, folds: Index, gammas: Array) -> Array:
        """As above, with the columns that the smallest ridge needs."""
        w = self.weights(gammas)
        used = int(np.count_nonzero((self.s * w).max(axis=0) > EPS))
        return identity_minus_each(stacked(self.B[folds, :used], w[:, :used]))

    def modes(self, gammas: Array) -> tuple[Array, Array, Array]:
        """The columns, and ``w``."""
        return self.B, self.s, self.weights(gammas)

    def eigenvalues(self) -> Array:
        """The spectrum, filled up with zeros."""
        return np.concatenate([self.s, np.zeros(len(self.B) - len(self.s))])

    def reordered(self, order: Index) -> Self:
        """The rows of B."""
        twin = copy(self)
        twin.B = self.B[order]
        return twin


class ScatteredFactor:
    """Most rows have no neighbour: K is diagonal but for a core of rows, which has a factor of its own."""

    def __init__(self, K: Array, core: Index) -> None:
        self.kappa = np.diagonal(K).copy()
        self.core = core
        self.place = np.full(len(K), -1, dtype=np.intp)
        self.place[core] = np.arange(len(core))
        self.inner = SpectralFactor(K[np.ix_(core, core)]) if len(core) else None

    def solve(self, gammas: Array, v: Array) -> Array:
        """A division, and the core's own solution."""
        out = weights(self.kappa, gammas) * v
        if self.inner:
            out[:, self.core] = self.inner.solve(gammas, v[..., self.core])
        return out

    def diagonal(self, gammas: Array) -> Array:
        """A division, and the core's own diagonal."""
        out = weights(self.kappa, gammas)
        if self.inner:
            out[:, self.core] = self.inner.diagonal(gammas)
        return out

    def blocks(self, F: Index, gammas: Array) -> Iterator[Array]:
        """Diagonal blocks, with the core's block where the fold meets it."""
        inside = np.flatnonzero(self.place[F] >= 0)
        diagonals = gammas[:, None] * weights(self.kappa[F], gammas)
        if not (self.inner and len(inside)):
            yield from (np.asfortranarray(np.diag(d)) for d in diagonals)
            return
        dense = self.inner.blocks(self.place[F[inside]], gammas)
        if len(inside) == len(F):
            yield from dense
            return
        for diagonal, block in zip(diagonals, dense, strict=True):
            whole = np.asfortranarray(np.diag(diagonal))
            whole[inside[:, None], inside] = block
            yield whole

    def stack(self, folds: Index, gammas: Array) -> Array:
        """Diagonal blocks, with the core's block where a fold meets it."""
        k, m = folds.shape
        diagonals = gammas[:, None] * weights(self.kappa[folds.ravel()], gammas)
        out = np.zeros((k, len(gammas), m * m))
        out[:, :, :: m + 1] = diagonals.reshape(-1, k, m).swapaxes(0, 1)
        out = out.reshape(k, -1, m, m)
        for fold, F in zip(out, folds, strict=True):
            inside = np.flatnonzero(self.place[F] >= 0)
            if self.inner and len(inside):
                core = self.inner.stack(self.place[F[inside]][None], gammas)[0]
                fold[:, inside[:, None], inside] = core
        return out

    def modes(self, gammas: Array) -> tuple[Array, Array, Array]:
        """Unit vectors for the rows alone, the core's own eigenvectors beside them."""
        n = len(self.kappa)
        A, s = np.eye(n), self.kappa.copy()
        if self.inner:
            A[np.ix_(self.core, self.core)] = self.inner.U
            s[self.core] = self.inner.s
        return A, np.ones(n), s * weights(s, gammas)

    def eigenvalues(self) -> Array:
        """The diagonal and the core's spectrum, sorted."""
        alone = self.kappa[self.place < 0]
        inner = self.inner.eigenvalues() if self.inner else alone[:0]
        return np.sort(np.concatenate([alone, inner]))[::-1]

    def reordered(self, order: Index) -> Self:
        """The core's rows keep the order that its own factor has."""
        twin = copy(self)
        twin.kappa, twin.place = self.kappa[order], self.place[order]
        twin.core = np.argsort(order)[self.core]
        return twin


def factorise(K: Array) -> Factor:
    """The cheapest factor that is exact to rounding."""
    core = find_core(K)
    if core is not None:
        return ScatteredFactor(K, core)
    columns = thin_columns(K)
    return SpectralFactor(K) if columns is None else ThinFactor(columns)


def find_core(K: Array) -> Index | None:
    """The rows with a neighbour; None unless they are a minority, as for a narrow Gaussian kernel.

    What is left out is below ``eps min K_ii / n`` in each entry, so below rounding in the 2-norm. A first
    row with many neighbours ends the search: a full kernel costs nothing.
    """
    n = len(K)
    limit = EPS * float(np.diagonal(K).min()) / n
    if np.count_nonzero(np.abs(K[0]) > limit) > 1 + CORE_SHARE * n:
        return None
    neighbours = np.count_nonzero(np.abs(K) > limit, axis=1)
    core = np.flatnonzero(neighbours > 1)
    return core if len(core) <= CORE_SHARE * n else None
