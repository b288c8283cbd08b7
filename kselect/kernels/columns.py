r"""Features of rows: columns of a kernel at landmarks, or the monomials of a kernel that has few of them.

With the kernel W between landmarks, ``W = L L^T`` by Cholesky with pivots, the features of rows with columns C
are ``V = L^{-1} C``, and ``V^T V = C^T W^{-1} C`` is the Nystrom approximation. V has one row per feature.

A triangular solve for every row would cost as much as the Gram matrix ``V V^T``. So most of it is applied to the
Gram matrix instead: with ``L = N D``, D the diagonal blocks of L, the rows are multiplied by ``N^{-1}`` only,

    R = N^{-1} C,    V V^T = D^{-1} (R R^T) D^{-T}

A group of landmarks is one block. Multiplying by ``D^{-1}`` afterwards magnifies the rounding error of ``R R^T`` by
the inverse of the block's smallest eigenvalue. A group therefore ends when that error would reach ``SHARE`` of the
smallest ridge. A well-conditioned W is one group, which costs nothing per row; a wide kernel takes two or three.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations_with_replacement
from math import comb, factorial, prod

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from kselect.errors import TrialError
from kselect.kernels.base import Kernel, Points
from kselect.kernels.polynomial import Linear, Polynomial
from kselect.numerics.linalg import EPS, Array, Index

# Landmarks whose part outside the span of the others is below this share of the largest are dropped.
DROPPED = 1e-12
# The share of the smallest ridge that the rounding of the rows' Gram matrix may reach, as the groups are formed.
SHARE = 1e-6
# The most features of a polynomial kernel that are formed explicitly.
MOST_MONOMIALS = 2000


@dataclass(frozen=True, eq=False)
class Features:
    """The features of one kernel: ``raw`` forms R for rows, ``scaled`` turns sums over R into sums over V.

    ``blocks`` are the diagonal blocks of L, ``couplings`` the parts of N above each of them, ``used`` the landmarks
    in the order of L. ``defect`` is ``||W - V^T V||_F / ||W||_2`` at the landmarks.
    """

    kernel: Kernel
    support: Array
    used: Index
    blocks: tuple[Array, ...]
    couplings: tuple[Array, ...]
    defect: float

    @property
    def size(self) -> int:
        """The number of features."""
        return len(self.used)

    @cached_property
    def smallest(self) -> tuple[float, ...]:
        """The smallest eigenvalue of each group."""
        return tuple(float(np.linalg.eigvalsh(L @ L.T)[0]) for L in self.blocks)

    def raw(self, points: Points) -> Array:
        """Return R (features, rows); ``points`` are the landmarks against the rows."""
        return self.eliminated(self.kernel.gram(points))

    def eliminated(self, C: Array) -> Array:
        """Return ``N^{-1} C`` for the kernel C (landmarks, rows)."""
        if len(self.blocks) == 1 and self.size == len(C):
            return C  # in the order of the landmarks
        R = C[self.used]
        for block, coupling in zip(self.spans(), self.couplings, strict=True):
            if block.start:
                R[block] -= coupling.T @ R[: block.start]
        return R

    def spans(self) -> Iterator[slice]:
        """Yield the features of each group."""
        start = 0
        for block in self.blocks:
            yield slice(start, start + len(block))
            start += len(block)

    def scaled(self, A: Array) -> Array:
        """Return ``D^{-1} A``."""
        parts = zip(self.spans(), self.blocks, strict=True)
        return np.concatenate([solve_triangular(L, A[s], lower=True) for s, L in parts])

    def unscaled(self, w: Array) -> Array:
        """Return ``D^{-T} w``: the weights of R for weights w (features, ...) of V."""
        parts = zip(self.spans(), self.blocks, strict=True)
        return np.concatenate([solve_triangular(L, w[s], lower=True, trans=1) for s, L in parts])

    def expansion(self, w: Array) -> Array:
        """Return ``L^{-T} w`` (support, ...): the coefficients of the kernel at the landmarks."""
        a = self.unscaled(w)
        spans = tuple(self.spans())
        for i in reversed(range(1, len(spans))):
            a[: spans[i].start] -= self.couplings[i] @ a[spans[i]]
        out = np.zeros((len(self.support), *a.shape[1:]))
        out[self.used] = a
        return out

    def rounding(self, gram: Array) -> float:
        """Return the error of ``V V^T`` that the rounding of ``R R^T``, ``gram``, causes: the sum over groups."""
        error = 0.0
        for s, smallest in zip(self.spans(), self.smallest, strict=True):
            error += float(np.linalg.norm(gram[s, s])) / max(smallest, np.finfo(float).tiny)
        return EPS * error


@dataclass(frozen=True, eq=False)
class Monomials:
    """The features of a linear kernel, or of a polynomial one: its monomials with their weights; exact.

    ``factors`` has the columns that each monomial multiplies; a column number beyond the last stands for 1. The
    support of a linear kernel are the unit vectors, so that its coefficients are the weights of the columns.
    """

    kernel: Kernel
    factors: Index
    weights: Array
    support: Array
    defect: float = 0.0

    @property
    def size(self) -> int:
        """The number of features."""
        return len(self.weights)

    def raw(self, points: Points) -> Array:
        """Return the features of the rows ``points.Z``, (features, rows)."""
        if isinstance(self.kernel, Linear):
            return np.ascontiguousarray(points.Z.T)
        columns = np.vstack([points.Z.T, np.ones(len(points.Z))])
        R = self.weights[:, None] * columns[self.factors[:, 0]]
        for j in range(1, self.factors.shape[1]):
            R *= columns[self.factors[:, j]]
        return R

    def scaled(self, A: Array) -> Array:
        """Return A: the features need no further scale."""
        return A

    def unscaled(self, w: Array) -> Array:
        """Return w."""
        return w

    def expansion(self, w: Array) -> Array:
        """Return the coefficients of a linear kernel at the unit vectors."""
        return w

    def rounding(self, gram: Array) -> float:
        """Return the rounding error of the Gram matrix."""
        return EPS * float(np.linalg.norm(gram))


FeatureMap = Features | Monomials


def column_features(kernel: Kernel, support: Array, smallest: float) -> Features:
    """Return the features of a kernel at the landmarks ``support``; ``smallest`` is the smallest lam."""
    W = kernel.gram(Points(support))
    if not np.isfinite(W).all():
        raise TrialError("the kernel matrix of the landmarks is not finite")
    largest = float(W.diagonal().max())
    if largest <= 0:  # for example rows of zeros with a linear kernel
        raise TrialError("the kernel is 0 between all Nystrom landmarks")
    factor, pivots, rank, _ = dpstrf(W, tol=DROPPED * largest, lower=1)
    L, used = np.tril(factor)[:rank, :rank], pivots[:rank].astype(np.intp) - 1
    starts = group_starts(L, smallest, len(support))
    if len(starts) == 1:
        used = np.sort(used)
        try:
            L = np.linalg.cholesky(W[np.ix_(used, used)])
        except np.linalg.LinAlgError:  # rounding differs in another order
            used = pivots[:rank].astype(np.intp) - 1
            L = np.tril(factor)[:rank, :rank]
    ends = [*starts[1:], rank]
    blocks = tuple(L[a:b, a:b] for a, b in zip(starts, ends, strict=True))
    found = Features(kernel, support, used, blocks, couplings(L, starts, ends), 0.0)
    V = found.scaled(found.eliminated(W))
    return replace(found, defect=float(np.linalg.norm(W - V.T @ V) / np.linalg.eigvalsh(W)[-1]))


def group_starts(L: Array, smallest: float, c: int) -> list[int]:
    """Return the first landmark of each group.

    A group whose Schur complement has norm t gives ``R R^T`` a norm of about ``n t^2 / c``. Rounded, and divided by
    the smallest eigenvalue s of the group, it must stay below ``SHARE n lam``.
    """
    starts = [0]
    while True:
        start = starts[-1]
        rest = L[start:, start:]
        t = float(np.linalg.norm(rest.T @ rest))  # with the eigenvalues of rest rest^T
        least = EPS * t**2 / (c * SHARE * smallest)
        below = np.flatnonzero(np.square(rest.diagonal()) < least)
        end = start + (max(int(below[0]), 1) if below.size else len(rest))
        if end >= len(L):
            return starts
        starts.append(end)


def couplings(L: Array, starts: list[int], ends: list[int]) -> tuple[Array, ...]:
    """Return the part of ``N`` above each group, transposed: ``L_hh^{-T} L_gh^T`` for every earlier group h."""
    found = []
    for a, b in zip(starts, ends, strict=True):
        parts = [
            solve_triangular(L[h:e, h:e], L[a:b, h:e].T, lower=True, trans=1)
            for h, e in zip(starts, ends, strict=True)
            if h < a
        ]
        found.append(np.vstack(parts) if parts else np.zeros((0, b - a)))
    return tuple(found)


def monomials(kernel: Kernel, d: int) -> Monomials | None:
    """Return the explicit features of a kernel on d columns; None for a kernel without few of them."""
    if isinstance(kernel, Linear):
        return Monomials(kernel, np.arange(d, dtype=np.intp)[:, None], np.ones(d), np.eye(d))
    if not isinstance(kernel, Polynomial):
        return None
    degree = int(kernel.degree)
    if comb(d + degree, degree) > MOST_MONOMIALS:
        return None
    factors = np.array(list(combinations_with_replacement(range(d + 1), degree)), dtype=np.intp)
    weights = np.sqrt([multiplicity(row, degree) for row in factors.tolist()])
    return Monomials(kernel, factors, weights, np.empty((0, d)))


def multiplicity(row: list[int], degree: int) -> float:
    """Return how often a product occurs in ``(1 + x.z)^degree``: the multinomial coefficient."""
    return factorial(degree) / prod(factorial(row.count(j)) for j in set(row))
