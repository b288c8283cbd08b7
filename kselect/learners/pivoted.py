"""Kernel matrices of low numerical rank, by pivoted Cholesky."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpstrf

from kselect.numerics.linalg import Array

EPS = float(np.finfo(np.float64).eps)
# A factor with fewer than this share of n columns is cheaper than the eigendecomposition.
THIN_SHARE = 0.6


def thin_columns(K: Array) -> Array | None:
    r"""``K = C C^T`` to machine precision by pivoted Cholesky where few columns do, else None.

    A leading block of about that many rows is tried first: where it has full rank, K has no low one, and
    that is known at a fifth of the cost.
    """
    n = len(K)
    most = int(THIN_SHARE * n)
    if pivoted_rank(K[:most, :most]) == most:
        return None
    columns = pivoted_cholesky(K)
    return columns if columns.shape[1] <= most else None


def pivoted_rank(K: Array) -> int:
    """The numerical rank of a positive semidefinite matrix."""
    return int(dpstrf(K.T, tol=EPS * float(np.diagonal(K).max()), lower=1)[2])


def pivoted_cholesky(K: Array) -> Array:
    """``C`` (n, r) with ``K = C C^T`` up to ``n eps max K_ii``, LAPACK's dpstrf."""
    factor, pivots, rank, _ = dpstrf(K.T, tol=EPS * float(np.diagonal(K).max()), lower=1)
    columns = np.zeros((len(K), rank))
    columns[pivots - 1] = np.tril(factor)[:, :rank]
    return columns
