r"""The whole k-fold surface of kernel ridge regression from a tridiagonal form of each fold's kernel matrix.

For few folds it is cheaper not to take the eigenvectors of K but to reduce ``K_TT = Q H Q^T``, H tridiagonal, for
the t rows T without each fold: ``4/3 t^3`` operations, and then every ridge is a tridiagonal system:

    f_F = K_FT (K_TT + gamma I)^{-1} y_T = K_FT Q (H + gamma I)^{-1} Q^T y_T

Five reductions of four fifths of the rows take about the time of one eigendecomposition, and leave no fold block.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dormqr, dptsv, dsytrd

from kselect.errors import TrialError
from kselect.learners.base import Problem
from kselect.learners.factor import THIN_SHARE, find_core, pivoted_rank
from kselect.learners.krr import krr
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array, Index

# With more folds one eigendecomposition for all of them is cheaper.
MOST_FOLDS = 6
BLOCK = 32


def held_out_surface(problem: Problem, folds: Folds) -> Array:
    """(n_ridges, n): KRR's exact k-fold predictions for every ridge, in the cheapest way that there is."""
    if len(folds.members) > MOST_FOLDS or has_cheap_factor(problem.K):
        return krr(problem).held_out(folds)
    out = np.empty((len(problem.lams), problem.n))
    for F in folds.members:
        rows = problem.n - len(F) if problem.ridge == "per-fold" else problem.n
        out[:, F] = without_fold(problem.K, problem.y, F, rows * problem.lams)
    return out


def has_cheap_factor(K: Array) -> bool:
    """Whether K is diagonal but for few rows, or of low rank: then its factor serves all folds."""
    most = int(THIN_SHARE * len(K))
    return find_core(K) is not None or pivoted_rank(K[:most, :most]) < most


def without_fold(K: Array, y: Array, F: Index, gammas: Array) -> Array:
    """(gammas, len(F)): the fold predicted from the other rows."""
    T = np.setdiff1d(np.arange(len(K)), F)
    rows = K.take(T, 0)
    A, diagonal, beside, tau, _ = dsytrd(
        rows.take(T, 1).T, lower=1, overwrite_a=1, lwork=BLOCK * len(T)
    )
    # LAPACK's reflectors of the lower form are those of a QR factor of all but the first row and last column.
    reflectors = np.asfortranarray(A[1:, :-1])
    right = turned(reflectors, tau, y[T][:, None], "T")[:, 0]
    if len(T) == 1:
        beside = np.zeros(1)  # as LAPACK's wrapper wants it
    solved = np.empty((len(T), len(gammas)), order="F")
    for i, gamma in enumerate(gammas.tolist()):
        _, _, solved[:, i], failed = dptsv(diagonal + gamma, beside, right)
        if failed:
            raise TrialError("K + n lam I without a fold is not positive definite to rounding")
    return np.asarray(turned(reflectors, tau, solved, "N").T @ rows.take(F, 1))


def turned(reflectors: Array, tau: Array, B: Array, how: str) -> Array:
    """``Q B``, or ``Q^T B`` for how = T; the first row stays."""
    out = np.array(B, order="F")
    if len(reflectors):
        out[1:] = dormqr("L", how, reflectors, tau, B[1:], BLOCK * B.shape[1])[0]
    return out
