r"""The Taylor series of k-fold cross-validation for the square loss, by the Bouligand influence function.

With the hat matrix S, the residual r of the full fit and a fold F of m of the n points (section 5):

    T = S diag(1 on F, -m / (n - m) off F),   held-out residual = (I - T)^{-1} r = sum_q T^q r  on F,

cut off after ``T^t r`` for order t. The series converges at the rate ``lambda_max(S_FF)``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from kselect.folds import Folds
from kselect.linalg import Array, Index

Hat = Callable[[Array], Array]


class HeldOutSeries:
    """Partial sums of the series for all ridges and folds; a higher order goes on from a lower one."""

    def __init__(self, hat: Hat, residual: Array, folds: Folds) -> None:
        self.hat = hat
        self.folds = folds
        n = residual.shape[-1]
        self.weights = np.empty((len(folds.members), n))
        for row, F in zip(self.weights, folds.members, strict=True):
            row[:] = -len(F) / (n - len(F))
            row[F] = 1.0
        # (ridges, folds, n): T^q r of each.
        self.term = np.repeat(residual[:, None, :], len(folds.members), axis=1)
        self.sums = [residual]

    def residual(self, order: int) -> Array:
        """(n_ridges, n): the residual of each row when its fold is held out, to that order."""
        while len(self.sums) <= order:
            self.term = self.hat(self.term * self.weights)
            self.sums.append(self.sums[-1] + self._on_own_fold(self.term))
        return self.sums[order]

    def _on_own_fold(self, values: Array) -> Array:
        out = np.empty((values.shape[0], values.shape[2]))
        for position, F in enumerate(self.folds.members):
            out[:, F] = values[:, position, F]
        return out


def rates_reaching(
    cap: float, gammas: Array, folds: Folds, reaches: Callable[[Index, int], bool]
) -> NDArray[np.bool_]:
    """(n_ridges,): where ``lambda_max(S_FF) >= cap`` for some fold; ``reaches(F, ridge)`` is asked seldom.

    The rate falls as the ridge grows, so that each fold needs one question at the smallest ridge that is
    still allowed, and a bisection only where it moves that bound.
    """
    order = np.argsort(gammas)
    allowed = 0
    for F in folds.members if cap < 1.0 else ():
        low, high = allowed, len(order)
        if low < high and reaches(F, int(order[low])):
            while high - low > 1:
                middle = (low + high) // 2
                if reaches(F, int(order[middle])):
                    low = middle
                else:
                    high = middle
            allowed = high
    found = np.zeros(len(gammas), dtype=np.bool_)
    found[order[:allowed]] = True
    return found


def is_positive_definite(matrix: Array) -> bool:
    """By trying a Cholesky factorisation; the matrix is overwritten."""
    from scipy.linalg.lapack import dpotrf

    return bool(dpotrf(matrix, lower=1, overwrite_a=1, clean=0)[1] == 0)
