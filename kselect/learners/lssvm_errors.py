r"""The LSSVM at one ridge: its solution, its exact held-out errors, and their gradient.

``A = K + lam I``, ``p = A^{-1} 1``, ``P = A^{-1} - p p^T / (1^T p)``, ``alpha = P y``, ``b = p^T y / (1^T p)``.
lam is defined as in flkl2014, ``sum 0.5 (y - f)^2 + (lam / 2) ||w||^2``: n times the lam of the other papers.
A target y is (n,); several targets on one kernel are the columns of (n, q), as are their errors and alphas.

``Q = 0.5 sum e^2`` over the held-out errors e changes by ``dQ = sum_ij dK_ij M_ij`` for any change of K. So
``dQ/dlam = tr M`` and, for a width, ``dQ/dtheta_r = -sum_ij D_r,ij K_ij M_ij`` (the ridge
stays lam in every fold). This follows from ``dP = -P dK P``, which holds for the bordered system too. The M of
several targets is the sum of theirs. k-KS adds ``eta`` times the stability of K, which changes in the same form.

Rows of weights ``r_i^2`` are the same system with ``r K r``, ``r y`` and ``ones = r`` in the place of K, y and the
vector of ones: its solution is ``alpha / r``, its errors are ``r e``.
"""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

import numpy as np

from kselect.errors import TrialError
from kselect.numerics.folds import Folds
from kselect.numerics.lapack import dposv, dpotrf, dpotri, dpotrs, dtrtrs
from kselect.numerics.linalg import BLOCK, Array, mirrored

# A row with a smaller share of the slope of the stability is left out.
NEGLIGIBLE = 1e-12


class LSSVMSolution:
    """The solution for a kernel matrix, one target or more, and a ridge, from one Cholesky factor; P on request."""

    def __init__(self, K: Array, y: Array, lam: float, ones: Array | None = None) -> None:
        self.y = y
        A = K.copy()
        A.flat[:: len(y) + 1] += lam
        # A is symmetric, so its transpose is the same matrix in the column order that LAPACK wants.
        self._factor, failed = dpotrf(A.T, overwrite=True)
        if failed:
            raise TrialError(f"K + {lam:g} I is not positive definite")
        solved = self._solve(np.column_stack([np.ones(len(y)) if ones is None else ones, y]))
        self._p, along = solved[:, 0], solved[:, 1:]
        totals = solved.sum(axis=0) if ones is None else ones @ solved
        self._sum = float(totals[0])
        biases = totals[1:] / self._sum
        self.bias: Array = biases.reshape(y.shape[1:])
        self.alpha: Array = (along - biases * self._p[:, None]).reshape(y.shape)
        if not np.isfinite(self.alpha).all():
            raise TrialError(f"K + {lam:g} I has no finite solution")

    def _solve(self, B: Array) -> Array:
        """Return ``A^{-1} B``."""
        return dpotrs(self._factor, B)

    def biases(self, B: Array) -> Array:
        """Return ``p^T B / (1^T p)``: the bias for each column of B as the target."""
        return np.asarray(self._p @ B / self._sum)

    def projected(self, B: Array) -> Array:
        """Return ``P B``: the coefficients for each column of B as the target."""
        return self._solve(B) - np.outer(self._p, self.biases(B))

    def among(self, B: Array) -> Array:
        """Return ``B^T P B``, from ``L^{-1} B`` with the Cholesky factor L of A: half of a solve."""
        half = dtrtrs(self._factor, B)
        bias = self._p @ B
        return np.asarray(half.T @ half - np.outer(bias, bias / self._sum))

    @cached_property
    def P(self) -> Array:
        """The whole matrix, O(n^3)."""
        P, share = mirrored(dpotri(self._factor)).T, self._p / self._sum
        for start in range(0, len(share), BLOCK):
            rows = slice(start, start + BLOCK)
            P[rows] -= np.outer(share[rows], self._p)
        return P


class LeaveOneOutErrors:
    """Leave-one-out, ``e_i = alpha_i / P_ii`` (Cawley 2006); the sum of squares is PRESS."""

    def __init__(self, K: Array, y: Array, lam: float, *, ones: Array | None = None) -> None:
        self.system = LSSVMSolution(K, y, lam, ones)
        self._diagonal = np.diagonal(self.system.P)
        if not self._diagonal.min() > 0.0:
            raise TrialError("leave-one-out has a row that no other rows determine")
        self._errors = as_columns(self.system.alpha) / self._diagonal[:, None]
        self.errors: Array = self._errors.reshape(y.shape)

    @property
    def squares(self) -> Array:
        """``Q`` of each target, (q,)."""
        return np.array([0.5 * float(e @ e) for e in self._errors.T])

    def sensitivity(self, weights: Array | float = 1.0) -> Array:
        """Return ``M = P diag(v o e) P - (P v) alpha^T``, ``v = e / diag P``, the weighted sum over targets.

        M is not symmetric.
        """
        P, e = self.system.P, self._errors
        root = P * (np.sqrt(np.sum(weights * e * e, axis=1)) / np.sqrt(self._diagonal))
        M: Array = root @ root.T
        v = weights * e / self._diagonal[:, None]
        M -= (P @ v) @ as_columns(self.system.alpha).T
        return M


class KFoldErrors:
    """k-fold cross-validation, ``e_F = P_FF^{-1} alpha_F`` for each fold F, and ``v_F = P_FF^{-1} e_F``.

    With ``by_folds`` the squares of a fold of m of the n rows weigh ``n / (k m)``: the mean of the folds' means.
    Rows with weights count as often as these say.
    """

    def __init__(
        self,
        K: Array,
        y: Array,
        lam: float,
        folds: Folds,
        *,
        ones: Array | None = None,
        by_folds: bool = False,
    ) -> None:
        self.system = LSSVMSolution(K, y, lam, ones)
        counts = np.ones(len(y)) if ones is None else np.square(ones)
        self._folds, alpha = folds, as_columns(self.system.alpha)
        self._errors, self._v = np.empty_like(alpha), np.empty_like(alpha)
        self._shares, count = np.ones(len(y)), len(folds.members)
        for F in folds.members:
            block = self.system.P[np.ix_(F, F)]
            factor, self._errors[F], failed = dposv(block, alpha[F])
            if failed:
                raise TrialError("a fold block is singular")
            if by_folds:
                self._shares[F] = float(counts.sum()) / (count * float(counts[F].sum()))
            self._v[F] = self._shares[F][:, None] * dpotrs(factor, self._errors[F])
        self.errors: Array = self._errors.reshape(y.shape)

    @property
    def squares(self) -> Array:
        """``Q`` of each target, (q,)."""
        return np.array([0.5 * float((self._shares * e) @ e) for e in self._errors.T])

    def sensitivity(self, weights: Array | float = 1.0) -> Array:
        """Return ``M = sum_F (P_:F v_F) (P_:F e_F)^T - (P v) alpha^T``, the weighted sum over targets.

        The rank is at most k + 1 for each target.
        """
        n, q = self._errors.shape
        v, count = weights * self._v, len(self._folds.members)
        left, right = np.zeros((2, n, count, q))
        for k, F in enumerate(self._folds.members):
            left[F, k], right[F, k] = v[F], self._errors[F]
        P, wide = self.system.P, (n, count * q)
        outer = np.column_stack([P @ left.reshape(wide), -(P @ v)])
        inner = np.column_stack([P @ right.reshape(wide), as_columns(self.system.alpha)])
        return np.asarray(outer @ inner.T)


def as_columns(y: Array) -> Array:
    """Return one target or several as columns, (n, q)."""
    return y.reshape(len(y), -1)


def stability_slope(K: Array, order: float = np.inf) -> tuple[float, Array]:
    """Return ``max_i ||K - K^i||_2`` (ecml2014, Theorem 4) and ``dbeta = sum_ij dK_ij S_ij`` as S.

    With ``R_i = sqrt(K_ii^2 + 4 sum_{j != i} K_ij^2)`` the norm for row i is ``b_i = (K_ii + R_i) / 2``, with the
    slopes ``2 K_ij / R_i`` and ``(1 + K_ii / R_i) / 2`` at j = i. The maximum has kinks where two rows have equal
    norms. A finite ``order`` q takes the smooth ``(sum_i b_i^q)^(1/q)`` instead, which is at most n^(1/q) as large.
    """
    d = np.diagonal(K)
    squares = np.einsum("ij,ij->i", K, K)
    roots = np.sqrt(d**2 + 4.0 * np.maximum(squares - d**2, 0.0))
    norms = 0.5 * (d + roots)
    largest = float(norms.max())
    beta, shares = largest, np.zeros(len(K))
    if largest > 0.0 and np.isfinite(order):
        with np.errstate(under="ignore"):
            ratios = norms / largest
            beta *= float(np.sum(ratios**order)) ** (1.0 / order)
            shares = (norms / beta) ** (order - 1.0)
    else:
        shares[int(np.argmax(norms))] = 1.0
    used = np.flatnonzero(shares > NEGLIGIBLE)
    divisors = np.where(roots[used] > 0.0, roots[used], 1.0)
    S = np.zeros_like(K)
    S[used] = (2.0 * shares[used] / divisors)[:, None] * K[used]
    S[used, used] = 0.5 * shares[used] * (1.0 + d[used] / divisors)
    return beta, S


class ErrorFunction(Protocol):
    """A function that returns the held-out errors of a kernel matrix, targets and a ridge."""

    def __call__(
        self, K: Array, y: Array, lam: float, *, ones: Array | None = None
    ) -> LeaveOneOutErrors | KFoldErrors:
        """Return the errors."""


class MovedKernel(Protocol):
    """A kernel matrix with a vector of parameters theta, as a search moves it."""

    @property
    def size(self) -> int:
        """The number of parameters."""

    def gram(self, theta: Array) -> Array:
        """Return the kernel matrix of a theta."""

    def slopes(self, M: Array, K: Array) -> Array:
        """Return ``sum_ij M_ij dK_ij / dtheta_r`` for every r, at ``K = gram(theta)``; may overwrite M."""


def slope(
    errors_of: ErrorFunction,
    moved: MovedKernel,
    y: Array,
    theta: Array,
    lam: float,
    *,
    ones: Array | None = None,
    eta: float = 0.0,
    order: float = np.inf,
    balanced: bool = False,
) -> tuple[Array, float, Array]:
    """Return Q of each target, a penalty, and the gradient of their sum over theta and lam.

    The penalty is ``(eta / 2) q beta`` (k-KS), of a finite order if one is given. ``balanced`` takes the gradient
    of ``Q mean_t log Q_t`` instead, the first Q held fixed. The cost is O(n^3), and O(n^2 d) for all widths.
    """
    K = moved.gram(theta)
    held = errors_of(K, y, lam, ones=ones)
    squares, penalty = held.squares, 0.0
    weights: Array | float = 1.0
    if balanced and squares.min() > 0.0:
        weights = squares.sum() / (len(squares) * squares)
    M = held.sensitivity(weights)
    ridge = float(np.trace(M))
    if eta:
        beta, S = stability_slope(K, order)
        half = 0.5 * eta * len(squares)
        penalty = half * beta
        M += half * S
    return squares, penalty, np.append(moved.slopes(M, K), ridge)
