r"""Three factorisations of a kernel matrix that give ``G = (K + gamma I)^{-1}`` for every ridge.

    spectral   K = U diag(s) U^T, the general case
    thin       K = B B^T with r < n columns, for kernels of low numerical rank, O(n r^2)
    scattered  K is diagonal except for few rows, as a narrow Gaussian kernel is to machine precision

A path asks for G applied to vectors, the diagonal of G, and the blocks ``gamma G_FF`` of the folds. The three
classes have the same methods; ``gammas`` are the ridges, ``eigenvalues`` the n eigenvalues of K, descending.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Self

import numpy as np
from scipy.linalg.lapack import dpstrf

from kselect.errors import TrialError
from kselect.numerics.linalg import EPS, Array, Index, symmetric_eigh

# The largest relative error that rounding may cause.
LOST = 1e-3
# Leaving out eigenvectors saves time if fewer than this share of them is needed.
SHORT_SHARE = 0.95
# The core of a scattered matrix has at most this share of the rows.
CORE_SHARE = 0.7
# A thin factor with fewer than this share of n columns is cheaper than the eigendecomposition.
THIN_SHARE = 0.6
# For products of at most this many multiplications, BLAS multiplies four matrices at once in 0.9 of the
# time of four symmetric updates, or less.
TINY_PRODUCT = 100_000


def weights(s: Array, gammas: Array, *, whole: bool = True) -> Array:
    """Return ``1 / (s + gamma)``, (n_ridges, len(s)).

    Ridges below the rounding error of a singular kernel matrix are refused. Its eigenvalues may come out slightly
    above zero. If s is not the ``whole`` spectrum, the smallest eigenvalue is zero.
    """
    rounding, least = EPS * s.max(initial=0.0), s.min(initial=np.inf) if whole else 0.0
    if not (gammas.min() > rounding or least > len(s) * rounding):
        raise TrialError("a singular kernel matrix and no ridge above its rounding error")
    inverse: Array = 1.0 / (s[None, :] + gammas[:, None])
    return inverse


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


class SpectralFactor:
    """The eigendecomposition: ``G = U diag(w) U^T`` with ``w = 1 / (s + gamma)``."""

    def __init__(self, K: Array) -> None:
        s, self.U = symmetric_eigh(K)
        # A kernel matrix is positive semidefinite: negative eigenvalues are rounding errors.
        self.s = np.maximum(s, 0.0)
        self.eigenvalues: Array = self.s[::-1]

    def solve(self, gammas: Array, v: Array) -> Array:
        """Return ``G v`` for every ridge, (n_ridges, n); v is one vector, or one per ridge."""
        return np.asarray((weights(self.s, gammas) * (v @ self.U)) @ self.U.T)

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


class ThinFactor:
    r"""Few columns, ``K = B B^T`` with ``B^T B = diag(s)``: ``gamma G = I - B diag(w) B^T``.

    The space that the columns do not span has the eigenvalue 0, so it needs a ridge.
    """

    def __init__(self, columns: Array) -> None:
        s, V = symmetric_eigh(columns.T @ columns)
        self.s = np.maximum(s[::-1], 0.0)
        self.B = columns @ np.ascontiguousarray(V[:, ::-1])
        self.eigenvalues = np.concatenate([self.s, np.zeros(len(self.B) - len(self.s))])

    def solve(self, gammas: Array, v: Array) -> Array:
        """Return ``(v - B diag(w) B^T v) / gamma``."""
        smooth = (weights(self.s, gammas, whole=False) * (v @ self.B)) @ self.B.T
        return np.asarray((v - smooth) / gammas[:, None])

    def diagonal(self, gammas: Array) -> Array:
        """Return ``(1 - sum_j w_j B_ij^2) / gamma``."""
        return np.asarray(
            (1.0 - weights(self.s, gammas, whole=False) @ np.square(self.B).T) / gammas[:, None]
        )

    def blocks(self, F: Index, gammas: Array) -> Iterator[Array]:
        """Yield ``I - B_F diag(w) B_F^T``, without the columns whose share ``s w`` is below rounding."""
        BF = self.B[F]
        for w in weights(self.s, gammas, whole=False):
            used = int(np.count_nonzero(self.s * w > EPS))
            A = BF[:, :used] * np.sqrt(w[:used])
            yield identity_minus(A @ A.T).T

    def stack(self, folds: Index, gammas: Array) -> Array:
        """Return the same blocks, with the columns that the smallest ridge needs."""
        w = weights(self.s, gammas, whole=False)
        used = int(np.count_nonzero((self.s * w).max(axis=0) > EPS))
        return identity_minus(weighted_products(self.B[folds, :used], w[:, :used]))

    def modes(self, gammas: Array) -> tuple[Array, Array, Array]:
        """Return the columns, s, and w."""
        return self.B, self.s, weights(self.s, gammas, whole=False)

    def reordered(self, order: Index) -> Self:
        """Reorder the rows of B."""
        twin = copy(self)
        twin.B = self.B[order]
        return twin


class ScatteredFactor:
    """A matrix that is diagonal except for a core of rows, which has a factor of its own.

    ``place`` is each row's position in the core, -1 for rows outside it.
    """

    def __init__(self, K: Array, core: Index) -> None:
        self.kappa = np.diagonal(K).copy()
        self.core = core
        self.place = np.full(len(K), -1, dtype=np.intp)
        self.place[core] = np.arange(len(core))
        self.inner = SpectralFactor(K[np.ix_(core, core)]) if len(core) else None
        inner = self.inner.eigenvalues if self.inner else self.kappa[:0]
        self.eigenvalues: Array = np.sort(np.concatenate([self.kappa[self.place < 0], inner]))[::-1]

    def solve(self, gammas: Array, v: Array) -> Array:
        """Divide by the diagonal, and solve for the core."""
        out = weights(self.kappa, gammas) * v
        if self.inner:
            out[:, self.core] = self.inner.solve(gammas, v[..., self.core])
        return out

    def diagonal(self, gammas: Array) -> Array:
        """Invert the diagonal, and take the core's own."""
        out = weights(self.kappa, gammas)
        if self.inner:
            out[:, self.core] = self.inner.diagonal(gammas)
        return out

    def blocks(self, F: Index, gammas: Array) -> Iterator[Array]:
        """Yield diagonal blocks, with the core's block for the rows of the fold in the core."""
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
        """Return diagonal blocks, with the core's block for the rows of a fold in the core."""
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
        """Return unit vectors for the rows outside the core, and the eigenvectors of the core."""
        n = len(self.kappa)
        A, s = np.eye(n), self.kappa.copy()
        if self.inner:
            A[np.ix_(self.core, self.core)] = self.inner.U
            s[self.core] = self.inner.s
        return A, np.ones(n), s * weights(s, gammas)

    def reordered(self, order: Index) -> Self:
        """Reorder the rows; the core's own factor keeps its order."""
        twin = copy(self)
        twin.kappa, twin.place = self.kappa[order], self.place[order]
        twin.core = np.argsort(order)[self.core]
        return twin


Factor = SpectralFactor | ThinFactor | ScatteredFactor


def factorise(K: Array) -> Factor:
    """Return the cheapest factor that is exact to rounding.

    Scattered: the core is the rows with a neighbour, if these are a minority, as for a narrow Gaussian kernel.
    Entries below ``eps min K_ii / n`` are dropped, which is below rounding in the 2-norm. If the first row has many
    neighbours, nothing else is counted, so that a full kernel costs nothing.

    Thin: pivoted Cholesky (LAPACK's dpstrf) is exact up to ``n eps max K_ii``. A leading block of ``THIN_SHARE`` of
    the rows is tried first: if it has full rank, K has no low rank. The test costs a fifth of the factorisation.
    """
    n, diagonal = len(K), np.diagonal(K)
    limit = EPS * float(diagonal.min()) / n
    if np.count_nonzero(np.abs(K[0]) > limit) <= 1 + CORE_SHARE * n:
        core = np.flatnonzero(np.count_nonzero(np.abs(K) > limit, axis=1) > 1)
        if len(core) <= CORE_SHARE * n:
            return ScatteredFactor(K, core)
    most = int(THIN_SHARE * n)
    leading = K[:most, :most]
    if dpstrf(leading.T, tol=EPS * float(diagonal[:most].max()), lower=1)[2] < most:
        factor, pivots, rank, _ = dpstrf(K.T, tol=EPS * float(diagonal.max()), lower=1)
        if rank <= most:
            columns = np.zeros((n, rank))
            columns[pivots - 1] = np.tril(factor)[:, :rank]
            return ThinFactor(columns)
    return SpectralFactor(K)
