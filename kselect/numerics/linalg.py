"""Arrays and the few linear-algebra steps that several parts share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kselect.errors import TrialError

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Mask = NDArray[np.bool_]

# A shift is worth its rounding where it shortens the longest row by this factor, squared.
FAR_FROM_ZERO = 4.0


def squared_distances(X: Array, Z: Array) -> Array:
    r"""``||x_i - z_j||^2`` as ``|x|^2 + |z|^2 - 2 x.z``, cut off at 0 where rounding makes it negative.

    Each is off by some (d + 3) eps of the longest row's square, which is at most ``FAR_FROM_ZERO`` times the
    square of the largest distance: rows far from zero are centred first.
    """
    X, Z = near_zero(X, Z)
    D = X @ Z.T
    D *= -2.0
    D += np.einsum("ij,ij->i", X, X)[:, None]
    D += np.einsum("ij,ij->i", Z, Z)[None, :]
    np.maximum(D, 0.0, out=D)
    if Z is X:
        np.fill_diagonal(D, 0.0)
    return D


def near_zero(X: Array, Z: Array) -> tuple[Array, Array]:
    """The rows less the mean of Z where they are far from zero, and as they are otherwise.

    Rows near zero keep every bit: centring them would gain nothing.
    """
    if not len(Z):
        return X, Z
    shift = Z.mean(axis=0)
    centred = X - shift
    pair = (centred, centred if Z is X else Z - shift)
    return pair if longest_square(X, Z) > FAR_FROM_ZERO * longest_square(*pair) else (X, Z)


def longest_square(X: Array, Z: Array) -> float:
    """The largest ``|x|^2`` of two sets of rows."""
    return max(float(np.einsum("ij,ij->i", A, A).max(initial=0.0)) for A in (X, Z))


def distance_rounding(X: Array, Z: Array) -> float:
    """What ``squared_distances`` may be off in any entry, but for a factor of the order of 1."""
    return 2.0 * float(np.finfo(np.float64).eps) * longest_square(*near_zero(X, Z))


def squared_differences(X: Array, Z: Array) -> Array:
    """``||x_i - z_j||^2`` difference by difference: each to a relative (d + 2) eps, O(d) slower than a product.

    For what ``squared_distances`` cannot tell from zero: close rows where others are far away.
    """
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(X, Z, "sqeuclidean"))


def symmetric_eigh(K: Array) -> tuple[Array, Array]:
    """Eigenvalues, ascending, and eigenvectors of a symmetric matrix.

    LAPACK's divide and conquer is the fastest by far but may fail to converge; the QR iteration then serves.
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
