r"""The whole k-fold surface of kernel ridge regression on one kernel, in the cheaper of two ways.

With few folds, not the eigenvectors of K but a reduction ``K_TT = Q H Q^T``, H tridiagonal, for the t rows T
without each fold: ``4/3 t^3`` operations, and then every ridge is a tridiagonal system,

    f_F = K_FT (K_TT + gamma I)^{-1} y_T = K_FT Q (H + gamma I)^{-1} Q^T y_T

Five reductions of four fifths of the rows take about the time of one eigendecomposition, and leave no fold block.
With more folds one eigendecomposition serves them all: ``e_F = (gamma P_FF)^{-1} gamma alpha_F``, section 1.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dormqr, dposv, dptsv, dsyevd, dsytrd

from kselect.errors import TrialError
from kselect.learners.base import Problem
from kselect.learners.factor import SpectralFactor, find_core, thin_columns
from kselect.learners.krr import krr
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array, Index, symmetric_eigh

# With more folds one eigendecomposition for all of them is cheaper.
MOST_FOLDS = 6
# LAPACK's block of reflectors.
REFLECTORS = 32
# Folds of fewer rows have the blocks of all ridges made in one product.
SMALL_FOLD = 32


def held_out_surface(problem: Problem, folds: Folds) -> Array:
    """(n_ridges, n): KRR's exact k-fold predictions for every ridge."""
    K, y = problem.K, problem.y
    if find_core(K) is not None or thin_columns(K) is not None:
        return krr(problem).held_out(folds)  # a cheap factor serves all folds
    factor = LapackFactor(K) if len(folds.members) > MOST_FOLDS else None
    out = np.empty((len(problem.lams), problem.n))
    for m, positions in folds.by_size.items():
        rows = problem.n - m if problem.ridge == "per-fold" else problem.n
        gammas = rows * problem.lams
        residual = gammas[:, None] * factor.solve(gammas, y) if factor else np.empty(0)
        for F in (folds.members[position] for position in positions):
            if factor:
                out[:, F] = y[F] - held_out_residual(factor, residual[:, F], F, gammas)
            else:
                out[:, F] = without_fold(K, y, F, gammas)
    return out


class LapackFactor(SpectralFactor):
    """The eigenvectors by scipy's LAPACK, whose divide and conquer takes a tenth less time than numpy's."""

    def __init__(self, K: Array) -> None:
        s, U, failed = dsyevd(K.T, lower=1)
        if failed:
            s, U = symmetric_eigh(K)
        self.s, self.U = np.maximum(s, 0.0), np.ascontiguousarray(U)


def held_out_residual(factor: SpectralFactor, residual: Array, F: Index, gammas: Array) -> Array:
    """(gammas, len(F)): ``e_F`` from ``gamma alpha_F``."""
    if len(F) < SMALL_FOLD:
        blocks = iter(factor.stack(F[None], gammas)[0].transpose(0, 2, 1))
    else:
        blocks = factor.blocks(F, gammas)
    out = np.empty_like(residual)
    for i, block in enumerate(blocks):
        _, out[i], failed = dposv(block, residual[i], lower=1, overwrite_a=1)
        if failed:
            raise TrialError("a fold block is singular")
    return out


def without_fold(K: Array, y: Array, F: Index, gammas: Array) -> Array:
    """(gammas, len(F)): the fold predicted from the other rows, by a tridiagonal form."""
    T = np.setdiff1d(np.arange(len(K)), F)
    rows = K.take(T, 0)
    A, diagonal, beside, tau, _ = dsytrd(
        rows.take(T, 1).T, lower=1, overwrite_a=1, lwork=REFLECTORS * len(T)
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
        out[1:] = dormqr("L", how, reflectors, tau, B[1:], REFLECTORS * B.shape[1])[0]
    return out
