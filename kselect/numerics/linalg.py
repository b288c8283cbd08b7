"""Arrays and the few linear-algebra steps that several parts share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kselect.errors import TrialError

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Mask = NDArray[np.bool_]


def squared_distances(X: Array, Z: Array) -> Array:
    r"""``||x_i - z_j||^2`` as ``|x|^2 + |z|^2 - 2 x.z``, cut off at 0 where rounding makes it negative."""
    D = X @ Z.T
    D *= -2.0
    D += np.einsum("ij,ij->i", X, X)[:, None]
    D += np.einsum("ij,ij->i", Z, Z)[None, :]
    np.maximum(D, 0.0, out=D)
    if Z is X:
        np.fill_diagonal(D, 0.0)
    return D


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
