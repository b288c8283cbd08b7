r"""The Taylor series of k-fold cross-validation, by the Bouligand influence function.

The weights ``w(e) = (1 - e)/n + e 1_F/m`` leave the fold F of m rows out at ``e = -m/(n - m)``. For the square loss
with the hat matrix S and the residual r of the full fit:

    T = S diag(1 on F, -m / (n - m) off F),   held-out residual = (I - T)^{-1} r = sum_q T^q r  on F,

cut off after ``T^t r`` for order t. The series converges at the rate ``lambda_max(S_FF)``. Losses with zones
(quadratic SVR, smoothed hinge) have the series of the square loss on the rows in the free zone of the full fit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kselect.learners.base import memoised
from kselect.learners.problem import Problem
from kselect.numerics.folds import Folds
from kselect.numerics.lapack import dpotrf
from kselect.numerics.linalg import Array, Index, Mask


def perturbation(folds: Folds) -> Array:
    """Return the diagonal of D for each fold, 1 on it and ``-m/(n - m)`` off it: (n, folds)."""
    sizes = np.array([len(F) for F in folds.members])
    D = np.tile(-sizes / (folds.n - sizes), (folds.n, 1))
    for j, F in enumerate(folds.members):
        D[F, j] = 1.0
    return D


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
    """Partial sums of the square loss's series for all ridges and folds; a higher order continues a lower one.

    A term ``v = T^q r`` is stored as ``A^T v``, ``q^T v`` and its values on its own fold. No more is needed, since
    ``D v = -e v + (1 + e) 1_F v`` with ``e = m / (n - m)``. So a step costs O(n r) per ridge for all folds
    together, whereas the recursion on whole vectors costs O(k n r).
    """

    def __init__(self, residual: Array, folds: Folds) -> None:
        self.folds = folds
        self.sums = [residual]
        self.groups: list[FoldGroup] = []

    def residual(self, modes: Modes, order: int) -> Array:
        """Return the residual of each row with its fold held out, to that order, (n_ridges, n).

        The series does not store the modes, because these would keep their path alive.
        """
        if order and not self.groups:
            for positions in self.folds.by_size.values():
                members = np.array([self.folds.members[i] for i in positions])
                self.groups.append(FoldGroup(members, modes, self.sums[0]))
        while len(self.sums) <= order:
            total = self.sums[-1].copy()
            for group in self.groups:
                term = group.step(modes)
                total[:, group.folds] += term.transpose(1, 0, 2)
            self.sums.append(total)
        return self.sums[order]


class FoldGroup:
    """The folds of one size (k, m), and the current term of each, (k, n_ridges, .).

    The first term is the residual of the fit, which all folds share except for their own rows.
    """

    def __init__(self, folds: Index, modes: Modes, residual: Array) -> None:
        self.folds = folds
        self.e = folds.shape[1] / (residual.shape[1] - folds.shape[1])
        self.inside = residual[:, folds].transpose(1, 0, 2)
        self.along_modes = (residual @ modes.A)[None]
        self.along_bias = np.einsum("ln,ln->l", residual, modes.q)[None]

    def step(self, modes: Modes) -> Array:
        """Replace v by ``S D v`` and return its values on the folds."""
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
    """Return the ridges with ``lambda_max(S_FF) >= cap`` for some fold, by few calls of ``reaches(F, ridge)``.

    The rate falls as the ridge grows. So each fold needs one call, at the smallest ridge that no fold has
    excluded yet, and a bisection only if it excludes more ridges.
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
    """Return whether a Cholesky factorisation succeeds; the matrix is overwritten."""
    return not dpotrf(matrix, overwrite=True)[1]


def largest_rate(rows: Index, folds: Folds, ridge: float, block: Callable[[Index], Array]) -> float:
    """Return ``max_F lambda_max(S_FF)``, ``S = I - ridge P`` being the hat matrix of some rows.

    ``block(F)`` is ``P_FF`` for positions F in ``rows``; the rate is 0 if no fold has any of these rows.
    """
    place = np.full(folds.n, -1, dtype=np.intp)
    place[rows] = np.arange(len(rows))
    rate = 0.0
    for F in folds.members:
        inside = place[F][place[F] >= 0]
        if len(inside):
            smallest = float(np.linalg.eigvalsh(block(inside))[0])
            rate = max(rate, 1.0 - ridge * smallest)
    return rate


class FrozenZoneSeries(ABC):
    """The series of a path whose loss has zones, which stay as in the full fit, so that derivatives are linear.

    The limit of the series is the fit without the fold, with the zones frozen and the ridge ``(n - m) lam``: one
    Newton step, not retraining.
    """

    problem: Problem

    @abstractmethod
    def _taylor_series(self, folds: Folds, order: int) -> Array:
        """Return the predictions by the series of order 0, 1, ..., order: (n_ridges, order + 1, n)."""

    @abstractmethod
    def _largest_rate(self, ridge: int, folds: Folds) -> float:
        """Return ``max_F lambda_max(S_FF)`` at one ridge, S being the hat matrix of the free rows."""

    def bif(self, folds: Folds, order: int) -> Array:
        """Return the Taylor series of k-fold cross-validation to that order; its ridge is per fold."""
        series: dict[Folds, Array] = self.__dict__.setdefault("_series", {})
        known = series.get(folds)
        if known is None or known.shape[1] <= order:
            # Doubling the order avoids recomputing the series for each of several ascending orders.
            series[folds] = known = self._taylor_series(
                folds, 2 * order if folds in series else order
            )
        return known[:, order].copy()

    @memoised
    def rates(self, folds: Folds) -> Array:
        """Return the largest rate over folds for each ridge, (n_ridges,)."""
        ridges = range(len(self.problem.lams))
        return np.array([self._largest_rate(ridge, folds) for ridge in ridges])

    def interpolating(self, folds: Folds, cap: float) -> Mask:
        """Return the ridges whose rate reaches the cap for some fold; none if the cap is infinite."""
        if np.isposinf(cap):
            return np.zeros(len(self.problem.lams), dtype=np.bool_)
        return np.asarray(self.rates(folds) >= cap)
