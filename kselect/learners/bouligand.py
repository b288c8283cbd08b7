r"""The Taylor series of k-fold cross-validation for the square loss, by the Bouligand influence function.

With the hat matrix S, the residual r of the full fit and a fold F of m of the n points (section 5):

    T = S diag(1 on F, -m / (n - m) off F),   held-out residual = (I - T)^{-1} r = sum_q T^q r  on F,

cut off after ``T^t r`` for order t. The series converges at the rate ``lambda_max(S_FF)``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array, Index, Mask


@dataclass(frozen=True, eq=False)
class Modes:
    """The hat matrices of all ridges: ``S = A diag(c) A^T + q q^T`` with ``A^T A = diag(a)``.

    A is (n, r) and a (r,); c is (n_ridges, r); q is (n_ridges, n), zero without a bias.
    """

    A: Array
    a: Array
    c: Array
    q: Array

    @cached_property
    def qA(self) -> Array:
        """``q^T A``."""
        return np.asarray(self.q @ self.A)

    @cached_property
    def qq(self) -> Array:
        """``q^T q``."""
        return np.asarray(np.einsum("ln,ln->l", self.q, self.q))


class HeldOutSeries:
    """Partial sums of the series for all ridges and folds; a higher order goes on from a lower one.

    A term ``v = T^q r`` is kept as ``A^T v``, ``q^T v`` and its values on its own fold: since
    ``D v = -e v + (1 + e) 1_F v`` with ``e = m / (n - m)``, no more of it is needed, and a step costs O(n r) a
    ridge for all folds together, where the recursion on whole vectors takes O(k n r).
    """

    def __init__(self, residual: Array, folds: Folds) -> None:
        self.residual_of_fit = residual
        self.sums = [residual]
        self.groups = [
            Group(np.array([folds.members[i] for i in positions]), folds.n)
            for positions in folds.by_size.values()
        ]

    def residual(self, modes: Modes, order: int) -> Array:
        """(n_ridges, n): the residual of each row when its fold is held out, to that order.

        The modes are lent for the call: a series that kept them would keep its path alive.
        """
        while len(self.sums) <= order:
            total = self.sums[-1].copy()
            for group in self.groups:
                if group.inside is None:
                    group.start(modes, self.residual_of_fit)
                term = group.step(modes)
                total[:, group.folds] += term.transpose(1, 0, 2)
            self.sums.append(total)
        return self.sums[order]


class Group:
    """The folds of one size (k, m), and the current term of each, (k, n_ridges, .)."""

    def __init__(self, folds: Index, n: int) -> None:
        self.folds = folds
        self.e = folds.shape[1] / (n - folds.shape[1])
        self.inside: Array | None = None
        self.along_modes = self.along_bias = np.empty(0)

    def start(self, modes: Modes, residual: Array) -> None:
        """The residual of the fit, the same for every fold but for the rows inside."""
        self.inside = residual[:, self.folds].transpose(1, 0, 2)
        self.along_modes = (residual @ modes.A)[None]
        self.along_bias = np.einsum("ln,ln->l", residual, modes.q)[None]

    def step(self, modes: Modes) -> Array:
        """``v <- S D v``; its values on the folds."""
        assert self.inside is not None
        A, q = modes.A[self.folds], modes.q[:, self.folds].transpose(1, 0, 2)
        more = 1.0 + self.e
        x = self.inside @ A
        x *= more
        x -= self.e * self.along_modes
        x *= modes.c
        bias = more * np.einsum("klm,klm->kl", self.inside, q) - self.e * self.along_bias
        self.inside = x @ A.transpose(0, 2, 1) + bias[..., None] * q
        self.along_bias = np.einsum("klr,lr->kl", x, modes.qA) + bias * modes.qq
        x *= modes.a
        x += bias[..., None] * modes.qA
        self.along_modes = x
        return self.inside


def rates_reaching(
    cap: float, gammas: Array, folds: Folds, reaches: Callable[[Index, int], bool]
) -> Mask:
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
