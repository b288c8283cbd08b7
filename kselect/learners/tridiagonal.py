r"""Factors of a whole kernel matrix without its eigenvectors: one tridiagonal form, or Cholesky for few ridges.

``K = Q T Q^T`` with T tridiagonal takes about a third of an eigendecomposition, Q as much again; Q is formed when
it is asked for more than few vectors. For each ridge ``T + gamma I = L D L^T`` takes O(n), and with
``W = D^{-1/2} L^{-1} Q^T``, a recursion over the rows of ``Q^T``,

    (K + gamma I)^{-1} = W^T W,   G y = W^T W y,   G_FF = W_F^T W_F

T may be indefinite by rounding. At ridges near that rounding error the tridiagonal form is decomposed further, and
its negative eigenvalues are set to 0, as in spectral.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import cached_property
from typing import Self

import numpy as np

from kselect.errors import TrialError
from kselect.learners.spectral import KernelFactor, SpectralFactor, refuse_lost
from kselect.numerics.lapack import (
    dorgtr,
    dpotrf,
    dpotri,
    dpotrs,
    dpttrf,
    dpttrs,
    dstebz,
    dstedc,
    dsterf,
    dsytrd,
)
from kselect.numerics.linalg import EPS, Array, Index, row_sizes
from kselect.numerics.reflectors import Reflectors

# The reduction of n rows rounds by less than this many roundings of the largest eigenvalue per row.
UNSURE = 4.0
# From this number of rows on, the tridiagonal form is cheaper than the eigendecomposition: with blocks, and for
# products with vectors only. (Blocks also take compiled code, whose import is not worth it for few rows.)
REDUCED, REDUCED_ALONE = 300, 100
# Below this number of rows, forming Q is cheaper than its reflectors for the products of a search.
FORMED = 500
# Rows of a matrix that are mirrored at once.
STRIP = 256
# Steps of the power method for the norm of an inverse; it only says which predictions are in doubt.
POWER_STEPS = 5


class TridiagonalFactor(KernelFactor):
    """The tridiagonal form; the rows may have another ``order`` than in K."""

    def __init__(self, K: Array) -> None:
        self.V, self.scales, self.d, self.e = dsytrd(K.T)
        least, self.largest = dstebz(self.d, self.e)
        self.least = max(least, 0.0)
        if not np.isfinite(self.largest):
            raise TrialError("no tridiagonal form: the kernel matrix is not finite")
        self.order: Index | None = None
        self._pieces: dict[float, tuple[Array, Array]] = {}
        self._known_halves: dict[float, Array] = {}

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.d)

    @property
    def forms(self) -> bool:
        """Whether products with vectors take Q; else they take its reflectors."""
        return self.blocks_expected or self.n < FORMED or "across" in self.__dict__

    @cached_property
    def eigenvalues(self) -> Array:  # type: ignore[override]
        """The eigenvalues of T, descending."""
        s, failed = dsterf(self.d, self.e)
        if failed:
            raise TrialError("no eigenvalues of the tridiagonal form")
        return np.maximum(s[::-1], 0.0)

    @cached_property
    def across(self) -> Array:
        """``Q^T``, in C order, with its columns in the order of the rows."""
        across = dorgtr(self.V, self.scales).T
        return across if self.order is None else across.take(self.order, 1)

    @cached_property
    def reflectors(self) -> Reflectors:
        """Q in a form for few vectors."""
        return Reflectors(self.V, self.scales)

    @cached_property
    def spectral(self) -> SpectralFactor:
        """The eigendecomposition of K, from the one of T."""
        s, Z, failed = dstedc(self.d, self.e)
        if failed:
            raise TrialError("no eigendecomposition of the tridiagonal form")
        return SpectralFactor(s, np.asarray(self.across.T @ Z))

    def answers(self, gammas: Array) -> bool:
        """Return whether all ridges are large enough for the recursion; refuse ridges that rounding hides."""
        refuse_lost(gammas, self.n, self.largest, self.least)
        return bool(gammas.min() + self.least > UNSURE * self.n * EPS * self.largest)

    def factors(self, gammas: Array) -> Iterator[tuple[Array, Array]]:
        """Yield D and the subdiagonal of L for every ridge."""
        return map(self.piece, gammas.tolist())

    def piece(self, gamma: float) -> tuple[Array, Array]:
        """Return D and the subdiagonal of L for one ridge."""
        if gamma not in self._pieces:
            D, below, failed = dpttrf(self.d + gamma, self.e)
            if failed:
                raise TrialError("a kernel matrix with a large negative eigenvalue")
            self._pieces[gamma] = D, below
        return self._pieces[gamma]

    def solve(self, gammas: Array, v: Array) -> Array:
        """Return ``G v`` for every ridge, (n_ridges, n); v is one vector, or one per ridge."""
        if not self.answers(gammas):
            return self.spectral.solve(gammas, v)
        inner: Array = np.broadcast_to(self._along(v), (len(gammas), self.n)).copy()
        if v.ndim == 1:
            for gamma, row in zip(gammas.tolist(), inner, strict=True):
                dpttrs(*self.piece(gamma), row, overwrite=True)
            return self._back(inner)
        every, place = np.unique(gammas, return_inverse=True)
        for i, factor in enumerate(self.factors(every)):
            mine = place == i
            inner[mine] = dpttrs(*factor, inner[mine].T).T
        return self._back(inner)

    def solve_several(self, gammas: Array, V: Array) -> Array:
        """Return ``G v`` for several vectors (q, n) at every ridge, (q, n_ridges, n)."""
        if not self.answers(gammas):
            return self.spectral.solve_several(gammas, V)
        inner: Array = np.repeat(self._along(V)[None], len(gammas), axis=0)
        for gamma, rows in zip(gammas.tolist(), inner, strict=True):
            dpttrs(*self.piece(gamma), rows.T, overwrite=True)
        return self._back(inner.reshape(-1, self.n)).reshape(inner.shape).swapaxes(0, 1)

    def solve_within(self, gammas: Array, V: Array, folds: Sequence[slice]) -> Array:
        """Return ``G_FF v_F`` for every fold, by the columns of ``Q^T`` of its rows if Q is formed."""
        if not self.answers(gammas):
            return self.spectral.solve_within(gammas, V, folds)
        if not self.forms:
            return super().solve_within(gammas, V, folds)
        (ridges, q, n), out = V.shape, np.empty_like(V)
        rows, found = V.reshape(-1, n), out.reshape(-1, n)
        inner = np.empty((ridges, len(folds), q, n))
        for f, F in enumerate(folds):
            inner[:, f] = (rows[:, F] @ self.across[:, F].T).reshape(ridges, q, n)
        for each, mine in zip(gammas.tolist(), inner, strict=True):
            if len({*each}) == 1:  # one call for all folds
                dpttrs(*self.piece(each[0]), mine.reshape(-1, n).T, overwrite=True)
                continue
            for gamma, part in zip(each, mine, strict=True):
                dpttrs(*self.piece(gamma), part.T, overwrite=True)
        for f, F in enumerate(folds):
            found[:, F] = inner[:, f].reshape(-1, n) @ self.across[:, F]
        return out

    def _back(self, inner: Array) -> Array:
        """Return ``Q v`` for every row of a matrix, which may be overwritten."""
        if self.forms:
            return np.asarray(inner @ self.across)
        self.reflectors.apply(inner, back=True)
        return inner if self.order is None else inner.take(self.order, 1)

    def _combined(self, v: Array) -> Array:
        """Return ``Q^T v`` from Q; a vector with one entry takes a column of ``Q^T``, with the same bits."""
        if v.ndim == 2 and np.count_nonzero(v) == len(v):
            rows, at = np.nonzero(v)
            if (rows == np.arange(len(v))).all():
                return np.asarray(self.across.take(at, 1).T * v[rows, at][:, None])
        return np.asarray(v @ self.across.T)

    def _along(self, v: Array) -> Array:
        """Return ``Q^T v`` for one vector, or for every row of v."""
        if self.forms:
            return self._combined(v)
        along = np.empty((v.size // self.n, self.n))
        along[:, slice(None) if self.order is None else self.order] = v
        self.reflectors.apply(along, back=False)
        return along

    def diagonal(self, gammas: Array) -> Array:
        """Return ``diag(G)``, the column sums of squares of W, for every ridge, (n_ridges, n)."""
        if not self.answers(gammas):
            return self.spectral.diagonal(gammas)
        from kselect.numerics.bidiagonal import STRIP, column_squares

        D, below = (np.array(each) for each in zip(*self.factors(gammas), strict=True))
        out = np.empty((len(gammas), self.n))
        column_squares(self.across, below, 1.0 / D, out, np.empty((len(gammas), STRIP)))
        return out

    def blocks(self, F: Index, gammas: Array) -> Iterator[Array]:
        """Yield ``gamma G_FF`` for every ridge, in Fortran order; the caller may overwrite it."""
        if not self.answers(gammas):
            yield from self.spectral.blocks(F, gammas)
            return
        for W in self._halves(F, gammas):
            yield np.asarray(W.T @ W).T

    def _halves(self, rows: Index, gammas: Array) -> Iterator[Array]:
        """Yield ``sqrt(gamma) W`` of some rows for every ridge, which the next one may overwrite."""
        if not self.blocks_expected and self.n < FORMED:
            yield from (half.take(rows, 1) for half in self._whole_halves(gammas))
            return
        across = self.across.take(rows, 1)
        if not self.blocks_expected:  # few blocks are not worth the import of numba
            for gamma in gammas[:, None]:
                yield from self._by_rows(across, gamma)
            return
        from kselect.numerics.bidiagonal import half_solve

        W, row = np.empty_like(across), np.empty(len(rows))
        for gamma, (D, below) in zip(gammas.tolist(), self.factors(gammas), strict=True):
            half_solve(across, below, np.sqrt(gamma / D), W, row)
            yield W

    def _whole_halves(self, gammas: Array) -> Iterator[Array]:
        """Return ``sqrt(gamma) W`` for every ridge, which is cached; new ones are found together."""
        new = np.array(sorted({*gammas.tolist()} - self._known_halves.keys()))
        if len(new):
            self._known_halves |= zip(new.tolist(), self._by_rows(self.across, new), strict=True)
        return map(self._known_halves.__getitem__, gammas.tolist())

    def _by_rows(self, B: Array, gammas: Array) -> Array:
        """Return what bidiagonal.half_solve writes for each ridge, bit for bit, by calls of numpy for each row."""
        D, below = (np.array(each) for each in zip(*self.factors(gammas), strict=True))
        out = np.empty((len(B), len(gammas), B.shape[1]))
        before = np.empty(out.shape[1:])
        out[0] = B[0]
        for row, factor, last, found in zip(B[1:], below.T[..., None], out, out[1:], strict=False):
            np.multiply(last, factor, out=before)
            np.subtract(row, before, out=found)
        out *= np.sqrt(gammas[:, None] / D).T[..., None]
        return out.swapaxes(0, 1)

    def stack(self, folds: Index, gammas: Array) -> Array:
        """Return the blocks of many small folds of one size (k, m), as (k, n_ridges, m, m)."""
        if not self.answers(gammas):
            return self.spectral.stack(folds, gammas)
        k, m = folds.shape
        out = np.empty((k, len(gammas), m, m))
        for i, W in enumerate(self._halves(folds.ravel(), gammas)):
            rows = W.T.reshape(k, m, self.n)
            np.matmul(rows, rows.swapaxes(1, 2), out=out[:, i])
        return out

    def modes(self, gammas: Array) -> tuple[Array, Array, Array]:
        """Return ``(A, a, c)`` with ``K G = A diag(c) A^T`` for every ridge and ``A^T A = diag(a)``."""
        return self.spectral.modes(gammas)

    def reordered(self, order: Index) -> Self:
        """Return the factor of K with its rows and columns in another order."""
        twin = copy(self)
        twin.order = order if self.order is None else self.order[order]
        twin._known_halves = {}
        if "across" in self.__dict__:
            twin.across = self.across.take(order, 1)
        if "spectral" in self.__dict__:
            twin.spectral = self.spectral.reordered(order)
        return twin


class CholeskyFactor(KernelFactor):
    """``K + gamma I = L L^T``, and its inverse, for each of few ridges; ``other`` makes the factor for all others.

    The largest eigenvalue is bounded by the sums of the rows, the smallest one follows from an inverse.
    """

    def __init__(self, K: Array, other: Callable[[Array], KernelFactor]) -> None:
        self.K, self._make_other = K, other
        self.largest = float(row_sizes(K).max())
        self._factors: dict[float, Array] = {}
        self._inverses: dict[float, Array] = {}

    @cached_property
    def other(self) -> KernelFactor:
        """The factor that serves every ridge."""
        return self._make_other(self.K)

    @property
    def eigenvalues(self) -> Array:  # type: ignore[override]
        """The eigenvalues, descending."""
        return self.other.eigenvalues

    @cached_property
    def least(self) -> float:
        """The smallest eigenvalue, about, from the largest one of an inverse by the power method."""
        if not self._factors:
            return self.other.least
        gamma, L = min(self._factors.items(), key=lambda one: one[0])
        v = np.random.default_rng(0).normal(size=len(L))
        for _ in range(POWER_STEPS):
            v = dpotrs(L, v / np.linalg.norm(v))
        return max(0.0, 1.0 / float(np.linalg.norm(v)) - gamma)

    def answers(self, gammas: Array) -> bool:
        """Return whether every ridge is above the rounding error of K and has a factor, which is cached."""
        if not gammas.min() > UNSURE * len(self.K) * EPS * self.largest:
            return False
        for gamma in gammas.tolist():
            if gamma not in self._factors:
                A = self.K.copy()
                A.ravel()[:: len(A) + 1] += gamma
                L, failed = dpotrf(A.T, overwrite=True)
                if failed:
                    return False
                self._factors[gamma] = L
        return True

    def solve(self, gammas: Array, v: Array) -> Array:
        """Return ``G v`` for every ridge, (n_ridges, n); v is one vector, or one per ridge."""
        if not self.answers(gammas):
            return self.other.solve(gammas, v)
        out: Array = np.broadcast_to(v, (len(gammas), len(self.K))).copy()
        for gamma in np.unique(gammas).tolist():
            mine = gammas == gamma
            out[mine] = dpotrs(self._factors[gamma], out[mine].T).T
        return out

    def diagonal(self, gammas: Array) -> Array:
        """Return ``diag(G)`` for every ridge, (n_ridges, n)."""
        if not self.answers(gammas):
            return self.other.diagonal(gammas)
        return np.array([np.diagonal(self._inverse(gamma)) / gamma for gamma in gammas.tolist()])

    def blocks(self, F: Index, gammas: Array) -> Iterator[Array]:
        """Yield ``gamma G_FF`` for every ridge, in Fortran order; the caller may overwrite it."""
        if not self.answers(gammas):
            yield from self.other.blocks(F, gammas)
            return
        for gamma in gammas.tolist():
            yield self._inverse(gamma)[np.ix_(F, F)].T

    def stack(self, folds: Index, gammas: Array) -> Array:
        """Return the blocks of many small folds of one size (k, m), as (k, n_ridges, m, m)."""
        if not self.answers(gammas):
            return self.other.stack(folds, gammas)
        rows, columns = folds[:, :, None], folds[:, None, :]
        return np.stack([self._inverse(gamma)[rows, columns] for gamma in gammas.tolist()], axis=1)

    def modes(self, gammas: Array) -> tuple[Array, Array, Array]:
        """Return ``(A, a, c)`` with ``K G = A diag(c) A^T`` for every ridge and ``A^T A = diag(a)``."""
        return self.other.modes(gammas)

    def reordered(self, order: Index) -> Self:
        """Return the factor of K with its rows and columns in another order."""
        return type(self)(self.K.take(order, 0).take(order, 1), self._make_other)

    def _inverse(self, gamma: float) -> Array:
        """Return ``gamma G``."""
        if gamma not in self._inverses:
            G = dpotri(self._factors[gamma]).T
            G *= gamma
            for start in range(0, len(G), STRIP):
                block = slice(start, start + STRIP)
                G[block.stop :, block] = G[block, block.stop :].T
                upper = np.triu(G[block, block])
                G[block, block] = upper + np.triu(upper, 1).T
            self._inverses[gamma] = G
        return self._inverses[gamma]


def whole_factor(K: Array, *, blocks: bool = True) -> SpectralFactor | TridiagonalFactor:
    """Return the cheaper factor of a whole matrix for all its ridges, which depends on its number of rows.

    Without ``blocks`` it is to serve products with vectors.
    """
    if len(K) < (REDUCED if blocks else REDUCED_ALONE):
        return SpectralFactor.of(K)
    factor = TridiagonalFactor(K)
    factor.blocks_expected = blocks
    return factor
