r"""The linear system of the square loss by Cholesky, as one would write it without an eigendecomposition.

``K + gamma I`` is symmetric positive definite; bordered by ones and a zero for the bias it is not, and its
Schur form needs two solutions with the same factor, of ``y`` and of ones (mathematics, section 1):

    (K + gamma I) [a, eta] = [y, 1],   b = eta^T y / 1^T eta,   alpha = a - b eta

LAPACK works on one triangle, in place, in Fortran order: the leanest that a direct method can be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dsymm, dsymv
from scipy.linalg.lapack import dposv, dpotrf, dpotri

from kselect.errors import TrialError
from kselect.numerics.linalg import Array

SINGULAR = "K + gamma I is not positive definite"


def shifted(K: Array, gamma: float) -> Array:
    """``K + gamma I``, a copy in Fortran order."""
    A = np.array(K.T, order="F", copy=True)
    A[np.diag_indices_from(A)] += gamma
    return A


def train(A: Array, y: Array, bias: bool) -> tuple[Array, float]:
    """``alpha`` and ``b`` of one model: one Cholesky with both right-hand sides; A is overwritten."""
    right = np.ones((len(y), 2 if bias else 1), order="F")
    right[:, 0] = y
    _, solved, failed = dposv(A, right, lower=1, overwrite_a=1, overwrite_b=1)
    if failed:
        raise TrialError(SINGULAR)
    if not bias:
        return solved[:, 0], 0.0
    eta = solved[:, 1]
    b = float(eta @ y) / float(eta.sum())
    return solved[:, 0] - b * eta, b


@dataclass(frozen=True, eq=False)
class Inverse:
    """``P = G - p p^T / 1^T p`` with G = (K + gamma I)^{-1} in the lower triangle; without a bias P = G.

    P is the leading block of the bordered matrix's inverse; no other part of it is needed.
    """

    G: Array
    p: Array
    total: float

    def apply(self, V: Array) -> Array:
        """``P V`` for the columns of V."""
        product = dsymm(1.0, self.G, V, lower=1)
        if self.total:
            product -= np.outer(self.p, (self.p @ V) / self.total)
        return np.asarray(product)

    def diagonal(self) -> Array:
        """``P_ii``."""
        diagonal = np.diagonal(self.G)
        return diagonal - np.square(self.p) / self.total if self.total else diagonal


def invert(K: Array, gamma: float, bias: bool) -> Inverse:
    """One inverse, n^3 operations: Cholesky, then LAPACK's inverse from it."""
    factor, failed = dpotrf(shifted(K, gamma), lower=1, overwrite_a=1, clean=0)
    if failed:
        raise TrialError(SINGULAR)
    G, _ = dpotri(factor, lower=1, overwrite_c=1)
    if not bias:
        return Inverse(G, np.zeros(len(K)), 0.0)
    p = dsymv(1.0, G, np.ones(len(K)), lower=1)
    return Inverse(G, p, float(p.sum()))
