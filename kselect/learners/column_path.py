r"""Least squares on streamed columns: k-fold cross-validation, GCV and leave-one-out from sums over rows.

``G_F, b_F, h_F`` are the moments of a fold (blocks.py). Training without F solves the others' normal equations:

    w = (G - G_F + gamma I)^{-1} (b - b_F),    y_F^T y_F - 2 w^T b_F + w^T G_F w = the squared held-out errors on F

A bias centres the moments first: ``G - h h^T / n``, ``b - h y^T 1 / n``; targets have mean 0, which costs no digit.
One pass over the rows serves every fold and ridge. Other losses, and leave-one-out with

    leverage_i = 1/n + sum_j B_ij^2 / (s_j + gamma),    f_-i = (f_i - leverage_i y_i) / (1 - leverage_i)

take a second pass. Series of cross-validation keep one matrix of n rows and c columns (primal.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kselect.errors import TrialError
from kselect.kernels.columns import Monomials
from kselect.learners.base import memoised
from kselect.learners.blocks import FoldMoments
from kselect.learners.primal import LARGEST_SHARE, PrimalPath, solve_normal
from kselect.learners.problem import Fit, Problem
from kselect.learners.spectral import require_digits
from kselect.learners.streamed import Streamed
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import EPS, Array

# Squared errors below this share of the targets' squares have lost digits as a difference of sums.
LOST = 1e-5
# A leave-one-out prediction below this share of the target is rounding error.
CANCELLED = 64.0 * EPS


@dataclass(frozen=True, eq=False)
class ColumnFit:
    """Weights (q, ridges, r) and biases (q, ridges) of the fits on some rows."""

    w: Array
    b: Array


class ColumnPath(PrimalPath):
    """Least squares on the features of a kernel over all ridges, from sums over blocks of rows."""

    matrix: Streamed

    def __init__(self, problem: Problem, *, bias: bool) -> None:
        if not isinstance(problem.matrix, Streamed):
            raise TrialError("this path needs a kernel whose columns are streamed")
        super().__init__(problem, bias=bias)
        y = problem.right_sides
        self.shift = y.mean(axis=1) if bias else np.zeros(len(y))
        self.roots = None if problem.weights is None else problem.weights.roots

    def moments(self, folds: Folds | None) -> FoldMoments:
        """Return the moments of each fold, with the targets' means subtracted if there is a bias."""
        return self.matrix.moments(folds, self.shift)

    def _require_ridges(self, gammas: Array) -> None:
        """Accept all ridges; ``solve`` refuses those that the rounding of its own equations hides."""

    def solve(self, rows: FoldMoments, gammas: Array) -> ColumnFit:
        """Return the fits on the rows of some moments, for targets with their means subtracted."""
        G, right, n = rows.gram, rows.right, float(rows.count)
        if self.bias:
            G = G - np.outer(rows.ones, rows.ones) / n
            right = right - np.outer(rows.totals, rows.ones) / n
        self._require_digits(G, gammas)
        w = solve_normal(G, gammas, right.T)
        b = np.zeros(w.shape[:2])
        if self.bias:
            b = (rows.totals[:, None] - w @ rows.ones) / n
        return ColumnFit(w, b)

    def _require_digits(self, G: Array, gammas: Array) -> None:
        """Refuse ridges for which the rounding of the normal equations changes more than ``LARGEST_SHARE``."""
        rounding, smallest = self.matrix.rounding, float(gammas.min())
        least = rounding / LARGEST_SHARE
        if smallest >= least:
            return
        # The normal equations may be well-conditioned without a ridge, as those of a linear kernel.
        known = max(float(np.linalg.eigvalsh(G)[0]) - rounding, 0.0)
        if not smallest + known >= least:
            raise TrialError(
                f"the rounding of the Nystrom columns hides a ridge n lam = {smallest:.2g}: "
                f"it takes {least:.2g}, or the exact kernel"
            )

    @memoised
    def _whole(self) -> ColumnFit:
        """Return the fits on all rows."""
        return self.solve(self.moments(None).fold(0), self.gammas)

    @memoised
    def _without_folds(self, folds: Folds) -> tuple[ColumnFit, ...]:
        """Return the fits without each fold."""
        parts = self.moments(folds)
        total = parts.total()
        return tuple(
            self.solve(total - parts.fold(i), self.problem.rows(F) * self.problem.lams)
            for i, F in enumerate(folds.members)
        )

    def fit(self) -> Fit:
        """Return the coefficients of the kernel at the landmarks, or at all rows for an exact polynomial kernel."""
        return self._expanded(self._whole(), self.gammas)

    def fold_fits(self, folds: Folds) -> tuple[Fit, ...]:
        """Return the fit without each fold, with coefficients at the same points as ``fit``."""
        found = []
        for F, fit in zip(folds.members, self._without_folds(folds), strict=True):
            expanded = self._expanded(fit, self.problem.rows(F) * self.problem.lams)
            if not len(self.matrix.features.support):
                expanded.alpha[:, F] = 0.0
            found.append(expanded)
        return tuple(found)

    def _expanded(self, found: ColumnFit, gammas: Array) -> Fit:
        """Return the coefficients of weights at the landmarks, or else at the rows that they were trained on."""
        mine, features = self.problem.position, self.matrix.features
        b = found.b[mine] + self.shift[mine]
        if isinstance(features, Monomials) and not len(features.support):
            whole = found is self._whole()
            values = self.decision() if whole else self._predictions((found,), None)[mine]
            alpha = (self.problem.y - values) / gammas[:, None]
            return Fit(alpha if self.roots is None else alpha * np.square(self.roots), b)
        return Fit(features.expansion(found.w[mine].T).T, b)

    def decision(self) -> Array:
        """Return the fitted values on the training rows."""
        return np.asarray(self._decisions()[self.problem.position])

    @memoised
    def _decisions(self) -> Array:
        found = self._whole()
        return self._predictions((found,), None)

    def _predictions(self, found: tuple[ColumnFit, ...], folds: Folds | None) -> Array:
        """Return (q, ridges, n) predictions of each row by the fit of its fold."""
        w = np.stack([one.w for one in found])
        b = np.stack([one.b + self.shift[:, None] for one in found])
        return self.matrix.predict(w, b, folds, settled=True)

    @memoised
    def held_out(self, folds: Folds) -> Array:
        """Return exact k-fold cross-validation with one more pass over the rows, which serves all targets."""
        key = ("held out", self.bias, self.gammas.tobytes(), self.problem.ridge, folds)
        found = self.problem.of_targets.once(
            key, lambda: self._predictions(self._without_folds(folds), folds)
        )
        return np.asarray(found[self.problem.position])

    @memoised
    def held_out_squares(self, folds: Folds) -> Array:
        """Return the sum of squared held-out errors of each fold (ridges, k), without predicting a row."""
        parts, mine = self.moments(folds), self.problem.position
        out = np.empty((len(self.gammas), len(folds.members)))
        for i, fit in enumerate(self._without_folds(folds)):
            F, w, b = parts.fold(i), fit.w[mine], fit.b[mine]
            quadratic = np.einsum("lr,lr->l", w @ F.gram, w) + b * (2.0 * w @ F.ones + F.count * b)
            out[:, i] = F.squares[mine] - 2.0 * (w @ F.right[mine] + b * F.totals[mine]) + quadratic
        if not out.min() > LOST * self.moments(None).squares[0, mine] / len(folds.members):
            errors = np.square(self.problem.y - self.held_out(folds))
            if self.roots is not None:
                errors *= np.square(self.roots)
            out = np.stack([errors[:, F].sum(axis=1) for F in folds.members], axis=1)
        return out

    def unexplained(self) -> tuple[Array, Array]:
        """Return the root mean square of ``y - S y`` and the mean of ``1 - S_ii``, (ridges, 1)."""
        rows, mine, n = self.moments(None).fold(0), self.problem.position, self.problem.n
        found = self._whole()
        w, b = found.w[mine], found.b[mine]
        squares = rows.squares[mine]
        total = squares - 2.0 * (w @ rows.right[mine] + b * rows.totals[mine])
        total += np.einsum("lr,lr->l", w @ rows.gram, w) + b * (2.0 * w @ rows.ones + n * b)
        if not total.min() > LOST * squares:
            total = np.square(self.problem.y - self.decision()).sum(axis=1)
        s = np.maximum(np.linalg.eigvalsh(self._centred(rows)), 0.0)
        freedom = 1.0 - (self.bias + (s / (s + self.gammas[:, None])).sum(axis=1)) / n
        kept = np.sqrt(total / max(float(squares), np.finfo(float).tiny))
        if not min(freedom.min(), kept.min()) > 0:
            raise TrialError("rounding hides the result: the fit interpolates the targets")
        require_digits(n / np.minimum(freedom, kept))
        return np.sqrt(total / n)[:, None], freedom[:, None]

    def _centred(self, rows: FoldMoments) -> Array:
        """Return the Gram matrix of features, centred if there is a bias."""
        if not self.bias:
            return rows.gram
        return np.asarray(rows.gram - np.outer(rows.ones, rows.ones) / float(rows.count))

    def loo(self) -> Array:
        """Return exact leave-one-out predictions (ridges, n), from the leverage of each row."""
        y, leverage = self.problem.y, self._leverage()
        own = leverage * y
        rest = self.decision() - own
        rest[np.abs(rest) <= CANCELLED * np.abs(own)] = 0.0
        rest /= 1.0 - leverage
        return np.asarray(rest)

    def _leverage(self) -> Array:
        """Return the leverage of each row (ridges, n), once for all targets."""
        key = ("leverage", self.bias, self.gammas.tobytes())
        return np.asarray(self.problem.of_targets.once(key, self._form_leverage))

    def _form_leverage(self) -> Array:
        rows, n = self.moments(None).fold(0), self.problem.n
        self._require_digits(self._centred(rows), self.gammas)
        s, Q = np.linalg.eigh(self._centred(rows))
        offset = Q.T @ rows.ones / n if self.bias else np.zeros(len(s))
        shares = 1.0 / (np.maximum(s, 0.0) + self.gammas[:, None])
        found = self.matrix.project(Q, offset, shares)
        if self.bias:
            found += 1.0 / n
        if self.roots is not None:
            found *= np.square(self.roots)
        if not found.max() < 1.0 - CANCELLED:
            raise TrialError("rounding hides the result: a row has leverage 1")
        return found


def column_path(problem: Problem, *, bias: bool) -> PrimalPath:
    """Return the path on the columns of a kernel, streamed or in memory."""
    form = ColumnPath if isinstance(problem.matrix, Streamed) else PrimalPath
    return form(problem, bias=bias)
