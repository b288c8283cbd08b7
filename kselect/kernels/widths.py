r"""Derivatives of Gaussian and Laplacian kernels with respect to their widths, without an n-by-n-by-d array.

``k = exp(-sum_r theta_r D_r)`` has ``dK/dtheta_r = -K o D_r`` and ``d2K/dtheta_r dtheta_s = K o D_r o D_s``.
``D_r`` holds one number per pair of rows. With a width per feature (ARD) it is ``(x_r - z_r)^2`` for a Gaussian
and ``|x_r - z_r|`` for a Laplacian kernel; with one theta it is their sum over the features. A search
needs only three sums over these derivatives. For a matrix W and a vector a:

    totals   sum_ij W_ij D_r,ij for every r
    applied  (W o D_r) a for every r, as columns
    pairs    a' (W o D_r o D_s) a for the r and s in ``among``; W symmetric, both sets of rows equal
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Self

import numpy as np

from kselect.numerics.lapack import dtrmm
from kselect.numerics.linalg import Array, Index, absolute_differences, squared_distances

# Below this exponent exp is less than 1e-100: close enough to zero, and far from the slow subnormal numbers.
LOWEST = -230.0
# Columns of products of two features that are multiplied at a time.
COLUMNS = 512
# Distances between rows by feature that are formed at a time.
DISTANCES = 2**21


class DistanceKernel:
    """The base class of kernels of distances: how a sum over K changes with their widths."""

    def totals(self, W: Array) -> Array:
        """Return ``sum_ij W_ij D_r,ij`` for every r."""
        raise NotImplementedError

    def slopes(self, M: Array, K: Array) -> Array:
        """Return ``sum_ij M_ij dK_ij / dtheta_r = -sum_ij M_ij K_ij D_r,ij`` for every r; M is overwritten."""
        np.multiply(M, K, out=M)
        return -self.totals(M)


class OneWidth(DistanceKernel):
    """One theta for a distance (RBF: the squared one), which is computed once for all thetas."""

    size = 1

    def __init__(self, distances: Array) -> None:
        self.distances = distances
        self._largest = float(distances.max(initial=0.0))

    @classmethod
    def of(cls, X: Array, *, absolute: bool = False) -> OneWidth:
        """Return the width for all rows against all rows; ``absolute`` takes the L1 distance."""
        return cls(absolute_differences(X, X) if absolute else squared_distances(X, X).squared)

    def gram(self, theta: Array) -> Array:
        """Return ``exp(-theta D)``."""
        exponents = self.distances * -theta[0]
        return exponential(exponents, float(self._largest * theta[0]))

    def totals(self, W: Array) -> Array:
        """Return ``sum_ij W_ij D_ij``."""
        return np.array([np.vdot(W, self.distances)])

    def moments(self, W: Array, a: Array) -> DistanceMoments:
        """Return the sums for a matrix and a vector."""
        return DistanceMoments(self.distances, W, a)

    def part(self, rows: Index, columns: Index) -> OneWidth:
        """Return the same for some rows against some columns."""
        return OneWidth(self.distances.take(rows, axis=0).take(columns, axis=1))


class OfFeatures(DistanceKernel):
    """A kernel with one parameter per feature, between the rows X and Z."""

    def __init__(self, X: Array, Z: Array | None = None) -> None:
        self.X = X
        self.Z = X if Z is None else Z

    @property
    def size(self) -> int:
        """The number of features."""
        return int(self.X.shape[1])

    def part(self, rows: Index, columns: Index) -> Self:
        """Return the same for some rows against some columns."""
        X = self.X[rows]
        return type(self)(X, None if rows is columns else self.Z[columns])


class WidthPerFeature(OfFeatures):
    """ARD: matrix products, after ``(x - z)^2 = x^2 - 2 x z + z^2``; the rows should be centred."""

    def gram(self, theta: Array) -> Array:
        """Return ``exp(-sum_r theta_r (x_r - z_r)^2)``; one matrix product gives all exponents."""
        root = np.sqrt(theta)
        left, right = self.X * root, self.Z * root
        x, z = (np.einsum("ir,ir->i", A, A)[:, None] for A in (left, right))
        rows = np.hstack([2.0 * left, -x, np.full_like(x, -1.0)])
        exponents: Array = rows @ np.hstack([right, np.ones_like(z), z]).T
        return exponential(exponents, 2.0 * float(x.max(initial=0.0) + z.max(initial=0.0)))

    def totals(self, W: Array) -> Array:
        """Return ``x^2' W 1 + z^2' W' 1 - 2 sum x o W z``: O(n^2 d) for all features."""
        squares = np.square(self.X).T @ W.sum(axis=1) + np.square(self.Z).T @ W.sum(axis=0)
        return np.asarray(squares - 2.0 * np.einsum("ir,ir->r", self.X, W @ self.Z))

    def moments(self, W: Array, a: Array) -> FeatureMoments:
        """Return the sums for a matrix and a vector."""
        return FeatureMoments(self.X, self.Z, W, a)


class AbsoluteWidthPerFeature(OfFeatures):
    """The Laplacian kernel with a width per feature: ``|x - z|`` has no products; all sums are over pairs."""

    def gram(self, theta: Array) -> Array:
        """Return ``exp(-sum_r theta_r |x_r - z_r|)``."""
        exponents = absolute_differences(self.X * theta, self.Z * theta)
        np.negative(exponents, out=exponents)
        return exponential(exponents, -float(exponents.min(initial=0.0)))

    def totals(self, W: Array) -> Array:
        """Return ``sum_ij W_ij |x_ir - z_jr|``: O(n^2 d)."""
        found = np.zeros(self.size)
        for rows, D in distances_in_blocks(self.X, self.Z):
            found += W[rows].ravel() @ D.reshape(-1, self.size)
        return found

    def moments(self, W: Array, a: Array) -> AbsoluteMoments:
        """Return the sums for a matrix and a vector."""
        return AbsoluteMoments(self.X, self.Z, W, a)


def distances_in_blocks(X: Array, Z: Array) -> Iterator[tuple[slice, Array]]:
    """Yield blocks of rows of X with ``|x_ir - z_jr|``, (rows, rows of Z, features)."""
    step = max(1, DISTANCES // max(1, Z.size))
    for start in range(0, len(X), step):
        rows = slice(start, start + step)
        D = X[rows, None, :] - Z
        yield rows, np.abs(D, out=D)


class WeighedRows:
    """``r K r`` for a kernel with widths: rows of weight ``r_i^2``, as the LSSVM takes them.

    The derivatives of K are products with distances, so that the kernel's own sums serve ``r K r`` as well.
    """

    def __init__(self, widths: UnweighedWidths, left: Array, right: Array) -> None:
        self.widths, self.left, self.right = widths, left, right

    @property
    def size(self) -> int:
        """The number of widths."""
        return self.widths.size

    def gram(self, theta: Array) -> Array:
        """Return ``r_i K_ij r_j``."""
        K = self.widths.gram(theta)
        K *= self.left[:, None]
        K *= self.right
        return K

    def slopes(self, M: Array, K: Array) -> Array:
        """Return ``sum_ij M_ij r_i dK_ij r_j / dtheta_r`` for every r at ``K = gram(theta)``; M is overwritten."""
        return self.widths.slopes(M, K)

    def moments(self, W: Array, a: Array) -> Moments:
        """Return the sums for a matrix and a vector."""
        return self.widths.moments(W, a)

    def part(self, rows: Index, columns: Index) -> WeighedRows:
        """Return the same for some rows against some columns."""
        return WeighedRows(self.widths.part(rows, columns), self.left[rows], self.right[columns])


class DistanceMoments:
    """The sums for one distance."""

    def __init__(self, D: Array, W: Array, a: Array) -> None:
        self.D, self.a = D, a
        self.weighted = W * D

    @cached_property
    def applied(self) -> Array:
        """``(W o D) a``, one column."""
        return np.asarray(self.weighted @ self.a)[:, None]

    def pairs(self, among: Index) -> Array:
        """Return ``a' (W o D o D) a`` as (1, 1), or as (0, 0) if ``among`` is empty."""
        total = self.a @ ((self.weighted * self.D) @ self.a)
        return np.full((len(among), len(among)), total)


class FeatureMoments:
    """The sums for one distance per feature: one product gives ``W a``, ``W (a o z)``, ``W (a o z^2)``."""

    def __init__(self, X: Array, Z: Array, W: Array, a: Array) -> None:
        self.X, self.W, self.a = X, W, a
        first = a[:, None] * Z
        sums = W @ np.hstack([a[:, None], first, first * Z])
        self.zero, self.one, self.two = np.split(sums, [1, 1 + X.shape[1]], axis=1)

    @cached_property
    def applied(self) -> Array:
        """``x^2 o W a - 2 x o W (a o z) + W (a o z^2)``: O(n^2 d) for all features."""
        return (self.X * self.zero - 2.0 * self.one) * self.X + self.two

    def pairs(self, among: Index) -> Array:
        """Return ``a' (W o D_r o D_s) a`` in O(n^2 d^2), which is the cost of the last term.

        With ``V = a a' o W, x = x_ir, z = x_jr, u = x_is, v = x_js`` this is the sum over V of
        ``2 x^2 u^2 + 2 x^2 v^2 - 4 x^2 u v - 4 u^2 x z + 4 (x u)(z v)``.
        """
        X, a = self.X[:, among], self.a[:, None]
        Q = a * X**2
        mixed = Q.T @ (X * self.one[:, among])
        sums = Q.T @ (self.zero * X**2 + self.two[:, among])
        last = products(np.ascontiguousarray(X.T), self.W, self.a)
        return 2.0 * sums - 4.0 * (mixed + mixed.T) + 4.0 * last


class AbsoluteMoments:
    """The sums for one absolute difference per feature, over blocks of rows."""

    def __init__(self, X: Array, Z: Array, W: Array, a: Array) -> None:
        self.X, self.Z, self.W, self.a = X, Z, W, a

    @cached_property
    def applied(self) -> Array:
        """``(W o D_r) a``: O(n^2 d) for all features."""
        blocks = distances_in_blocks(self.X, self.Z)
        return np.concatenate([np.einsum("ijr,ij->ir", D, self.W[i] * self.a) for i, D in blocks])

    def pairs(self, among: Index) -> Array:
        """Return ``a' (W o D_r o D_s) a`` in O(n^2 d^2), from matrix products over the pairs of rows."""
        found = np.zeros((len(among), len(among)))
        for rows, D in distances_in_blocks(self.X[:, among], self.Z[:, among]):
            weights = self.a[rows, None] * self.W[rows] * self.a
            flat = D.reshape(-1, len(among))
            found += flat.T @ (weights.reshape(-1, 1) * flat)
        return found


Moments = DistanceMoments | FeatureMoments | AbsoluteMoments
UnweighedWidths = OneWidth | WidthPerFeature | AbsoluteWidthPerFeature
KernelWidths = UnweighedWidths | WeighedRows


def products(columns: Array, W: Array, a: Array) -> Array:
    """Return ``sum_ij (a_i x_ir x_is) W_ij (a_j x_jr x_js)``, each pair r, s once, from the lower triangle of W."""
    first, second = np.triu_indices(len(columns))
    values, weighted, diagonal = np.empty(len(first)), a * columns, np.diagonal(W)
    for start in range(0, len(first), COLUMNS):
        chunk = slice(start, start + COLUMNS)
        Z = columns[first[chunk]] * weighted[second[chunk]]
        half = dtrmm(2.0, W.T, Z.T).T
        half -= diagonal * Z
        values[chunk] = np.einsum("pi,pi->p", Z, half)
    out = np.empty((len(columns), len(columns)))
    out[first, second] = values
    out[second, first] = values
    return out


def exponential(exponents: Array, largest: float) -> Array:
    """Compute ``exp`` in place; clip the exponents first if the largest distance could give too small numbers."""
    if largest > -LOWEST:
        np.maximum(exponents, LOWEST, out=exponents)
    return np.exp(exponents, out=exponents)
