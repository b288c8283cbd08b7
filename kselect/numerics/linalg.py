"""Array types, distances between rows, and the eigendecomposition that never fails silently."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kselect.errors import TrialError

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Mask = NDArray[np.bool_]

EPS = float(np.finfo(np.float64).eps)
# Rows are centred only if that shortens the longest row by this factor, squared; centring itself rounds.
FAR_FROM_ZERO = 4.0
# Up to this number of differences between entries, numpy is faster than the import of scipy's distances.
FEW_DIFFERENCES = 1_000_000
# Rows of a block that is transposed at once, and of a strip that is summed at once.
BLOCK, STRIP = 64, 512


class Distances(NamedTuple):
    """``||x_i - z_j||^2`` for all pairs of rows, the largest of them, and the size of their rounding errors."""

    squared: Array
    largest: float
    rounding: float


def squared_distances(X: Array, Z: Array) -> Distances:
    r"""Return ``||x_i - z_j||^2`` as ``|x|^2 + |z|^2 - 2 x.z``, clipped at 0 because rounding can make it negative.

    The error of each entry is about (d + 3) eps times the square of the longest row. Rows far from zero are centred
    first, by the mean of Z, so that this square is at most ``FAR_FROM_ZERO`` times the square of the largest
    distance. Rows near zero keep every bit, because centring would gain nothing.
    """
    x, z = (np.einsum("ij,ij->i", A, A) for A in (X, Z))
    longest = max(float(x.max(initial=0.0)), float(z.max(initial=0.0)))
    if len(Z):
        shift = Z.mean(axis=0)
        near = X - shift
        pair = near, near if Z is X else Z - shift
        short = [np.einsum("ij,ij->i", A, A) for A in pair]
        least = max(float(A.max(initial=0.0)) for A in short)
        if longest > FAR_FROM_ZERO * least:
            (X, Z), (x, z), longest = pair, short, least
    D = X @ Z.T
    D *= -2.0
    D += x[:, None]
    D += z[None, :]
    np.maximum(D, 0.0, out=D)
    if Z is X:
        np.fill_diagonal(D, 0.0)
    return Distances(D, float(D.max(initial=0.0)), 2.0 * EPS * longest)


def squared_differences(X: Array, Z: Array) -> Array:
    """Return ``||x_i - z_j||^2`` from the differences, each to a relative (d + 2) eps; O(d) slower than a product.

    This serves close rows among distant ones, which ``squared_distances`` cannot tell from equal rows.
    """
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(X, Z, "sqeuclidean"))


def absolute_differences(X: Array, Z: Array) -> Array:
    """Return ``sum_j |x_ij - z_kj|`` for all pairs of rows; few are not worth an import."""
    if len(X) * len(Z) * X.shape[1] <= FEW_DIFFERENCES:
        out = np.zeros((len(X), len(Z)))
        for x, z in zip(X.T, Z.T, strict=True):
            out += np.abs(x[:, None] - z)
        return out
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(X, Z, "cityblock"))


def row_sizes(K: Array) -> Array:
    """Return the sum of the absolute values of each row, without a second matrix of the size of K."""
    out = np.empty(len(K))
    for start in range(0, len(K), STRIP):
        rows = slice(start, start + STRIP)
        np.abs(K[rows]).sum(axis=1, out=out[rows])
    return out


def symmetric_eigh(K: Array) -> tuple[Array, Array]:
    """Return the ascending eigenvalues and the eigenvectors of a symmetric matrix.

    LAPACK's divide and conquer is by far the fastest method, but it may fail to converge. The fallback is QR.
    """
    try:
        s, U = np.linalg.eigh(K)
    except np.linalg.LinAlgError:
        from scipy.linalg import eigh

        try:
            s, U = eigh(K, driver="ev")
        except (np.linalg.LinAlgError, ValueError) as error:
            raise TrialError(f"no eigendecomposition: {error}") from None
    if not np.isfinite(s).all():
        raise TrialError("no eigendecomposition: the kernel matrix is not finite")
    return s, U


def mirrored(lower: Array) -> Array:
    """Write the lower half of a matrix over its upper half, in place, by blocks that fit the cache."""
    n = len(lower)
    for start in range(0, n, BLOCK):
        end = min(start + BLOCK, n)
        lower[start:end, end:] = lower[end:, start:end].T
        block = lower[start:end, start:end]
        block[:] = np.where(np.tri(end - start, dtype=bool), block, block.T)
    return lower
