r"""Least squares on few columns: ``K ~ B B^T`` with r columns, every question answered in ``O(n r^2)``.

For the Nystrom approximation. B is rotated once such that ``B^T B = diag(s)``. With
``w = 1 / (s + gamma)`` and ``p = 1 - B diag(w) B^T 1``:

    b = p^T y / (p^T 1) with bias, 0 without;  beta = w * (B^T y - b B^T 1);  f = B beta + b
    leave-one-out: e_i = r_i / h_i,  h_i = 1 - sum_j w_j B_ij^2 - p_i^2 / (p^T 1)
    k-fold: the normal equations without the fold, ``diag(s) + gamma I - B_F^T B_F``, r by r

Predictions that ``y - e`` would lose are recomputed as sums over the columns (tiny_predictions.py). A landmark's
own row is rounded as a whole. So near ``K = I`` its prediction by others is within that rounding error, and is 0.
"""

from __future__ import annotations

from functools import cached_property, partial

import numpy as np

from kselect.errors import TrialError
from kselect.learners.base import memoised
from kselect.learners.problem import Dense, Fit, LowRank, Problem
from kselect.learners.series import HeldOutSeries, Modes, is_positive_definite, rates_reaching
from kselect.learners.spectral import require_digits, weights
from kselect.learners.streamed import Streamed
from kselect.learners.tiny_predictions import (
    Sums,
    batches,
    bias,
    closed_form_rounding,
    doubtful,
    in_parts,
    products,
    put,
    row_by_row,
    sums_of_others,
)
from kselect.numerics.folds import Folds
from kselect.numerics.lapack import dposv
from kselect.numerics.linalg import Array, Index, Mask

# The largest share of a ridge that rounding errors of the columns may reach: the predictions keep four digits.
LARGEST_SHARE = 3e-5


class PrimalPath:
    """Least squares on the columns of a low-rank kernel over all ridges, with or without a bias."""

    def __init__(self, problem: Problem, *, bias: bool) -> None:
        if isinstance(problem.matrix, Dense):
            raise TrialError("a primal path needs the columns of a low-rank kernel")
        if problem.weights is not None and isinstance(problem.matrix, LowRank):
            raise TrialError("weights need columns that are streamed")
        self.problem = problem
        self.bias = bias
        self.matrix: LowRank | Streamed = problem.matrix
        self.gammas = problem.gammas
        # What determines the work that targets share, apart from the columns.
        self._kind = bias, self.gammas.tobytes()

    @property
    def s(self) -> Array:
        """The eigenvalues of the kernel matrix that are not zero, ascending."""
        return self.matrix.s

    @property
    def B(self) -> Array:
        """The columns, with ``B^T B = diag(s)``."""
        return self.matrix.B

    @cached_property
    def _sums(self) -> tuple[Array, Array]:
        """``B^T y`` and ``B^T 1``."""
        ones = self.problem.of_targets.once("sums of columns", lambda: self.B.sum(axis=0))
        return self.problem.y @ self.B, ones

    @cached_property
    def _w(self) -> Array:
        """``1 / (s + gamma)``, (n_ridges, r)."""
        self._require_ridges(self.gammas)
        return weights(self.s, self.gammas)

    def _require_ridges(self, gammas: Array) -> None:
        """Refuse ridges that the rounding error of the columns hides: predictions are off by their ratio."""
        least = self.matrix.rounding / LARGEST_SHARE
        if not gammas.min() >= least:
            raise TrialError(
                f"the rounding of the Nystrom columns hides a ridge n lam = {gammas.min():.2g}: "
                f"it takes {least:.2g}, or the exact kernel"
            )

    @cached_property
    def _fit(self) -> tuple[Array, Sums]:
        """beta (n_ridges, r) and b (n_ridges, 1)."""
        By, ridges = self._sums[0], np.arange(len(self.gammas))
        return self._solve(By, np.full((len(ridges), 1), self.problem.y.sum()), ridges)

    def _solve(self, Bz: Array, totals: Array, ridges: Index) -> tuple[Array, Sums]:
        """Return ``beta = w * (B^T z - b B^T 1)`` and b for targets z, from ``B^T z`` and ``1^T z``.

        Each target has one ridge.
        """
        w, Bone = self._w[ridges], self._sums[1]
        if not self.bias:
            return w * Bz, Sums(np.zeros((len(w), 1)), np.zeros((len(w), 1)))
        terms = row_by_row(w * Bone, np.broadcast_to(Bz, w.shape)).column
        b = bias(totals, terms, (self.problem.n - w @ Bone**2)[:, None])
        return w * (Bz - b.settled * Bone), Sums(b.settled, b.size)

    def fit(self) -> Fit:
        """Return the coefficients of the kernel at the landmarks."""
        beta, b = self._fit
        return Fit(beta @ self.matrix.root.T, b.values[:, 0])

    def decision(self) -> Array:
        """Return ``B beta + b``."""
        beta, b = self._fit
        values = np.asarray(beta @ self.B.T + b.values)
        doubt = doubtful(self.problem.y, values, self._rounding)
        rows = np.flatnonzero(doubt.any(axis=0))
        small = products(self.B[rows], beta) + b
        put(self.problem.y, values, np.ix_(np.arange(len(beta)), rows), small, doubt)
        return values

    @cached_property
    def _rounding(self) -> Array:
        """The rounding error of a closed form, relative to ``|y| + |e|``."""
        total = np.square(self._along.sum(axis=1)) if self.bias else None
        largest = self.s[-1] + self.gammas
        return closed_form_rounding(self.problem.n, largest, self.gammas, total)

    def loo(self) -> Array:
        """Return ``y_i - r_i / h_i``."""
        y = self.problem.y
        held = np.asarray(y - (y - self.decision()) / self._rest)
        doubt = doubtful(y, held, self._rounding)
        for ridges, rows in in_parts(np.argwhere(doubt), len(self.s)):
            put(y, held, (ridges, rows), self._without(held, ridges, rows), doubt)
        return held

    @cached_property
    def _rest(self) -> Array:
        """``h_i = 1 - S_ii``."""
        return self.problem.of_targets.once(
            ("rest", *self._kind),
            lambda: np.asarray(1.0 - self._w @ np.square(self.B).T - np.square(self._along)),
        )

    def unexplained(self) -> tuple[Array, Array]:
        """Return ``y - f`` and ``h_i``, which are differences: they must exceed their rounding error."""
        y = self.problem.y
        residual, rest = y - self.decision(), self._rest
        kept = np.sqrt(np.square(residual).mean(axis=1) / np.square(y).mean())
        require_digits(self.problem.n / np.minimum(rest.mean(axis=1), kept))
        return residual, rest

    def _without(self, held: Array, ridges: Index, rows: Index) -> Sums:
        """Predict rows by the others, each at one ridge: ``beta - e_i B^T P_i``, and b as the others' mean."""
        B, y, n = self.B[rows], self.problem.y, self.problem.n
        e = (y[rows] - held[ridges, rows])[:, None]
        along, total = self._along[ridges, rows][:, None], self._along.sum(axis=1)[ridges, None]
        Bone = self._sums[1]
        reach = B - Bone * along / total if self.bias else B
        beta = self._fit[0][ridges] - e * self._w[ridges] * reach
        small = row_by_row(B, beta)
        if self.bias:
            small += bias(y.sum() - y[rows], row_by_row(Bone - B, beta), n - 1)
        return small

    @cached_property
    def _along(self) -> Array:
        """``p / sqrt(p^T 1)`` (n_ridges, n); zero without a bias."""

        def form() -> Array:
            if not self.bias:
                return np.zeros((len(self.gammas), self.problem.n))
            p = 1.0 - (self._w * self._sums[1]) @ self.B.T
            return np.asarray(p / np.sqrt(p.sum(axis=1, keepdims=True)))

        return self.problem.of_targets.once(("along", *self._kind), form)

    @cached_property
    def modes(self) -> Modes:
        """The hat matrices."""
        return Modes(self.B, self.s, self._w, self._along)

    @memoised
    def _series(self, folds: Folds) -> HeldOutSeries:
        return HeldOutSeries(self.problem.y - self.decision(), folds)

    def bif(self, folds: Folds, order: int) -> Array:
        """Return the Taylor series of k-fold cross-validation to that order (icml2014)."""
        held = np.asarray(self.problem.y - self._series(folds).residual(self.modes, order))
        self._form_series(held, folds, order)
        return held

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")
    def _form_series(self, held: Array, folds: Folds, order: int) -> None:
        """Recompute predictions within their rounding error as ``S z = B beta + b``.

        For z see ``tiny_predictions.form_series``.
        """
        y, n, doubt = self.problem.y, self.problem.n, doubtful(self.problem.y, held, self._rounding)
        for batch in batches(doubt, folds.members, range(len(folds.members))):
            z = np.tile(y, (len(batch.ridges), 1))
            totals = z.sum(axis=1, keepdims=True)
            for q in range(order + 1):
                beta, b = self._solve(z @ self.B, totals, batch.ridges)
                h = beta @ self.B.T + b.values
                for F, _, ridges, span in batch.parts:
                    small = products(self.B[F], beta[span])
                    shift = Sums(b.values[span], b.size[span])
                    if q == order:
                        put(y, held, np.ix_(ridges, F), small + shift, doubt)
                    e = len(F) / (n - len(F))
                    kept = np.delete(y, F).sum() + small.values.sum(axis=1, keepdims=True)
                    totals[span] = (1.0 + e) * kept - e * beta[span] @ self._sums[1][:, None]
                    z[span] = (1.0 + e) * y - e * h[span]
                    z[span, F] = small.values + shift.values

    def interpolating(self, folds: Folds, cap: float) -> Mask:
        """Return the ridges at which ``lambda_max(S_FF)`` reaches the cap for some fold."""

        def reaches(F: Index, i: int) -> bool:
            rest = -self._inner(F, i)
            rest[np.diag_indices_from(rest)] += cap
            return not is_positive_definite(rest)

        return rates_reaching(cap, self.gammas, folds, reaches)

    def rates(self, folds: Folds) -> Array:
        """Return the largest ``lambda_max(S_FF)`` over folds, (n_ridges,)."""
        found = np.zeros(len(self.gammas))
        for F in folds.members:
            for i in range(len(self.gammas)):
                found[i] = max(found[i], np.linalg.eigvalsh(self._inner(F, i))[-1])
        return found

    def _inner(self, F: Index, i: int) -> Array:
        """Return ``A^T A``, where ``S_FF = A A^T``: the same eigenvalues with r + 1 rows instead of m."""
        w = self._w[i]
        A = np.column_stack([self.B[F] * np.sqrt(w), self._along[i, F]])
        return np.asarray(A.T @ A)

    @memoised
    def held_out(self, folds: Folds) -> Array:
        """Return exact k-fold cross-validation: ``O(n r^2 / k + r^3)`` per fold and ridge for all targets."""
        key = ("held out", *self._kind, self.problem.ridge, folds)
        found = self.problem.of_targets.once(key, partial(self._all_folds, folds))
        return np.asarray(found[self.problem.position])

    def _all_folds(self, folds: Folds) -> Array:
        """Return the held-out predictions (q, n_ridges, n) of all targets that share the columns."""
        targets = self.problem.right_sides
        out = np.empty((len(targets), len(self.gammas), self.problem.n))
        # ``B_F^T y_F`` of each target and ``B_F^T 1``, (r, q + 1).
        parts = [
            lambda F=F: self.B[F].T @ np.stack([*targets[:, F], np.ones(len(F))], axis=1)
            for F in folds.members
        ]
        for F, right in zip(folds.members, sums_of_others(parts), strict=True):
            out[:, :, F] = self._fold(F, right)
        return out

    def _fold(self, F: Index, right: Array) -> Array:
        """Return the predictions of one fold, (q, n_ridges, m), by the normal equations of the others."""
        n, m, BF = self.problem.n, len(F), self.B[F]
        trained = n - m if self.problem.ridge == "per-fold" else n
        gammas = trained * self.problem.lams
        self._require_ridges(gammas)
        solved = solve_normal(np.diag(self.s) - BF.T @ BF, gammas, right)
        u, v, h = solved[:-1], solved[-1], right[:, -1]
        b = Sums(np.zeros(u.shape[:2]), np.zeros(u.shape[:2]))
        if self.bias:
            totals = np.delete(self.problem.right_sides, F, axis=1).sum(axis=1, keepdims=True)
            b = bias(totals, Sums(u @ h, np.abs(u) @ np.abs(h)), n - m - v @ h)
        beta = (u - b.values[:, :, None] * v).reshape(-1, len(h))
        shift = Sums(b.values.reshape(-1, 1), b.size.reshape(-1, 1))
        return (products(BF, beta) + shift).settled.reshape(*u.shape[:2], m)


def solve_normal(normal: Array, gammas: Array, right: Array) -> Array:
    """Return ``(normal + gamma I)^{-1} right`` for every ridge, (columns of right, n_ridges, r)."""
    out = np.empty((right.shape[1], len(gammas), len(normal)))
    for i, gamma in enumerate(gammas.tolist()):
        system = normal.copy(order="F")
        system[np.diag_indices_from(system)] += gamma
        _, solved, failed = dposv(system, right, overwrite=True)
        if failed:
            raise TrialError("the normal equations without a fold are singular")
        out[:, i] = solved.T
    return out
