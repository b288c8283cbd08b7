r"""Kernel ridge regression and the LSSVM: one eigendecomposition serves every ridge and every fold.

``K = U diag(s) U^T``; for a ridge gamma = n lam, ``w = 1 / (s + gamma)``, ``G = U diag(w) U^T``, ``p = G 1``:

    with bias (LSSVM):  P = G - p p^T / (1^T p),  alpha = P y,  b = p^T y / (1^T p)
    without (KRR):      P = G,                    alpha = G y
    hat matrix S = I - gamma P,  residual r = y - S y = gamma alpha

No n-by-n matrix is formed for a ridge, only the blocks of the folds. Predictions are
computed as ``y - e``, with the error e. If such a difference is within its own rounding error, it is recomputed as
a sum (tiny_predictions.py).

Weights w of the rows scale the system by ``r = sqrt(w)``: K becomes ``r K r``, y becomes ``r y`` and the vector 1
of the bias becomes r. Then all of this holds as it stands, for ``alpha / r`` and ``r f``.
"""

from __future__ import annotations

from functools import cached_property, partial

import numpy as np

from kselect.errors import TrialError
from kselect.learners.base import Fit, Operator, Problem, RightSide, learner, memoised
from kselect.learners.column_path import column_path
from kselect.learners.factor import Factor
from kselect.learners.fold_solves import FoldSolver, SharedFits, solve_all, stacks
from kselect.learners.nystrom_series import factor_of_share, fbif_square
from kselect.learners.problem import Dense
from kselect.learners.series import HeldOutSeries, Modes, is_positive_definite, rates_reaching
from kselect.learners.spectral import require_digits
from kselect.learners.tiny_predictions import (
    Fitted,
    bias_as_sum,
    closed_form_rounding,
    form_fitted,
    form_held_out,
    form_left_out,
    form_series,
)
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array, Index, Mask


class SquareLossPath:
    """Least squares with a kernel over all ridges, with or without a bias."""

    def __init__(self, problem: Problem, *, bias: bool) -> None:
        self.problem = problem
        self.bias = bias
        # What is solved: the problem itself, or its system scaled by the roots of the weights.
        self.system = problem.balanced()
        self.roots = None if problem.weights is None else problem.weights.roots
        assert isinstance(self.system.matrix, Dense)
        self.factor: Factor = self.system.matrix.factor
        self.gammas = problem.gammas
        self.n = problem.n
        # The targets of one kernel matrix share every result that depends only on the bias and the ridges.
        self._kind = bias, self.gammas.tobytes()
        # For each set of folds, the blocks ``gamma P_FF`` at the smallest ridge.
        self._edges: dict[Folds, list[Array]] = {}

    @memoised
    def _fits(self, rows: float) -> tuple[SharedFits, Fitted]:
        """Return the fits of all targets at the ridges ``rows lam``, and this target's for tiny_predictions.py."""
        problem, factor = self.system, self.factor
        gammas: Array = rows * problem.lams
        fits = problem.of_targets.once(
            ("fits", self.bias, gammas.tobytes()),
            lambda: solve_all(factor, gammas, problem.right_sides, self.bias, self.roots),
        )

        def push(ridges: Index, v: Array) -> Array:
            along = fits.q[ridges]
            pushed = factor.solve(gammas[ridges], v)
            pushed -= np.einsum("pn,pn->p", along, v)[:, None] * along
            return pushed

        total = np.square(fits.q.sum(axis=1)) if self.bias else None
        rounding = closed_form_rounding(
            problem.n, factor.largest + gammas, factor.least + gammas, total
        )
        with np.errstate(over="ignore", divide="ignore"):
            inverse = 1.0 / (factor.least + gammas)
        alpha = fits.alpha[problem.position]
        return fits, Fitted(problem.K, problem.y, gammas, alpha, push, rounding, inverse, self.bias)

    def fit(self) -> Fit:
        """Return alpha and b for every ridge."""
        fits, fitted = self._fits(self.n)
        b = fits.b[self.problem.position]
        if self.roots is not None:
            return Fit(fitted.alpha * self.roots, b)
        doubt = np.abs(b) <= fitted.rounding * float(np.abs(fitted.y).max())
        if self.bias and doubt.any():  # a bias within its rounding error is recomputed as a sum
            b = bias_as_sum(fitted, b, doubt)
        return Fit(fitted.alpha, b)

    @property
    def _recomputes(self) -> bool:
        """Whether predictions within their rounding error are recomputed: not with weights and a bias."""
        return self.roots is None or not self.bias

    def _plain(self, values: Array) -> Array:
        """Return predictions of the scaled system as predictions of the rows."""
        return values if self.roots is None else np.asarray(values / self.roots)

    def decision(self) -> Array:
        """Return the fitted values ``S y = y - gamma alpha``; small ones as ``K alpha + b``."""
        fits, fitted = self._fits(self.n)
        values = np.asarray(self.system.y - self.gammas[:, None] * fitted.alpha)
        if self._recomputes:
            form_fitted(fitted, values, fits.b[self.problem.position])
        return self._plain(values)

    @cached_property
    def _inverse_diagonal(self) -> Array:
        """``P_ii``."""
        return self.problem.of_targets.once(
            ("inverse diagonal", *self._kind),
            lambda: np.asarray(
                self.factor.diagonal(self.gammas) - np.square(self._fits(self.n)[0].q)
            ),
        )

    @memoised
    def loo(self) -> Array:
        r"""Return ``y_i - alpha_i / P_ii``: exact leave-one-out with the ridge n lam (Cawley 2006)."""
        _, fitted = self._fits(self.n)
        held = np.asarray(self.system.y - fitted.alpha / self._inverse_diagonal)
        if self._recomputes:
            form_left_out(fitted, held)
        return self._plain(held)

    def without(self, row: int) -> Array:
        r"""Return all predictions without one row: ``alpha - P_:i e_i`` with ``e_i = alpha_i / P_ii``.

        The ridge is ``(n - 1) lam`` with ``ridge: per-fold``, n lam otherwise.
        """
        problem, ridges = self.problem, np.arange(len(self.gammas))
        rows = problem.n - (problem.ridge == "per-fold")
        _, fitted = self._fits(rows)
        gammas = rows * problem.lams
        pushed = fitted.push(ridges, np.eye(1, problem.n, row).repeat(len(ridges), axis=0))
        error = fitted.alpha[:, row] / pushed[:, row]
        out = problem.y - gammas[:, None] * (fitted.alpha - pushed * error[:, None])
        out[:, row] = problem.y[row] - error
        return np.asarray(out)

    def quadratic_form(self) -> Array:
        """Return ``y' alpha``; the coefficients sum to zero where there is a bias."""
        return np.asarray(self._fits(self.n)[1].alpha @ self.problem.y)

    def unexplained(self) -> tuple[Array, Array]:
        """Return alpha and ``P_ii``: ``(y - S y) / gamma`` and ``(1 - S_ii) / gamma`` without cancellation."""
        largest, least = self.factor.largest, self.factor.least
        require_digits((largest + self.gammas) / (least + self.gammas))
        return self._fits(self.n)[1].alpha, self._inverse_diagonal

    @cached_property
    def modes(self) -> Modes:
        """The hat matrices ``S = I - gamma P``."""
        q = np.sqrt(self.gammas)[:, None] * self._fits(self.n)[0].q
        return Modes(*self.factor.modes(self.gammas), q)

    @memoised
    def _series(self, folds: Folds) -> HeldOutSeries:
        y = self.problem.y
        return HeldOutSeries(y - (y - self.gammas[:, None] * self._fits(self.n)[1].alpha), folds)

    def bif(self, folds: Folds, order: int) -> Array:
        """Return the Taylor series of k-fold cross-validation to that order (icml2014).

        The series is expanded around the fit with the ridge n lam. With growing order it tends to the predictions
        after retraining without the fold, with the fold's own ridge ``(n - m) lam``.
        """
        held = np.asarray(self.problem.y - self._series(folds).residual(self.modes, order))
        form_series(self._fits(self.n)[1], held, folds.members, order)
        return held

    def interpolating(self, folds: Folds, cap: float) -> Mask:
        """Return the ridges at which the series' rate ``lambda_max(S_FF)`` reaches the cap for some fold.

        ``lambda_max(S_FF) < cap`` if and only if ``gamma P_FF - (1 - cap) I`` is positive definite.
        """
        bound = 1.0 - cap
        if cap >= 1.0 or self._all_above(folds, bound):
            return np.zeros(len(self.gammas), dtype=np.bool_)

        def reaches(F: Index, i: int) -> bool:
            block = self._block(F, i)
            block[np.diag_indices_from(block)] -= bound
            return not is_positive_definite(block)

        return rates_reaching(cap, self.gammas, folds, reaches)

    def _all_above(self, folds: Folds, bound: float) -> bool:
        """Return whether all eigenvalues of ``gamma P_FF`` exceed a bound for all folds at the smallest ridge.

        If they do, no other ridge has to be checked. The blocks of an exact cross-validation are reused. With
        ``ridge: per-fold``, these are at the smaller ridge ``(n - m) lam``. The eigenvalues are smaller there, so
        the answer True is still correct.
        """
        if folds not in self._edges:
            self._edges[folds] = found = []
            i = int(np.argmin(self.gammas))
            rows = np.sqrt(self.gammas[i]) * self._fits(self.n)[0].q[i]
            for positions in folds.by_size.values():
                members = np.array([folds.members[j] for j in positions])
                for _, chunk in stacks(self.gammas[[i]], members, folds.n):
                    q, blocks = rows[chunk], self.factor.stack(chunk, self.gammas[[i]])[:, 0]
                    found.append(blocks - q[:, :, None] * q[:, None])
        for blocks in self._edges[folds]:
            try:
                np.linalg.cholesky(blocks - bound * np.eye(blocks.shape[-1]))
            except np.linalg.LinAlgError:
                return False
        return True

    def rates(self, folds: Folds) -> Array:
        """Return the largest ``lambda_max(S_FF)`` over folds, (n_ridges,)."""
        found = np.zeros(len(self.gammas))
        for F in folds.members:
            for i in range(len(self.gammas)):
                found[i] = max(found[i], 1.0 - np.linalg.eigvalsh(self._block(F, i))[0])
        return found

    def _block(self, F: Index, i: int) -> Array:
        """Return ``gamma P_FF`` at one ridge."""
        (block,) = self.factor.blocks(F, self.gammas[[i]])
        if self.bias:
            q = self._fits(self.n)[0].q[i, F]
            block -= self.gammas[i] * np.outer(q, q)
        return block

    @memoised
    def held_out(self, folds: Folds) -> Array:
        r"""Return ``y_F - P_FF^{-1} alpha_F``: exact k-fold cross-validation, ``O(n m^2)`` per fold and ridge.

        ``ridge: per-fold`` retrains with the objective's own ridge ``(n - m) lam``,
        ``fixed`` keeps ``n lam``.
        """
        if self.roots is not None and self.problem.ridge == "per-fold":
            return self._each_fold(folds)
        problem, fits, fitted = self.system, {}, {}
        for m in folds.by_size:
            trained = self.n - m if problem.ridge == "per-fold" else self.n
            fits[m], fitted[m] = self._fits(trained)
        solver = FoldSolver(problem.K, self.factor, self.bias, folds, self.roots)
        key = ("held out", *self._kind, problem.ridge, folds)
        errors, blocks = problem.of_targets.once(
            key, lambda: solver.solve(problem.right_sides, fits)
        )
        out = np.asarray(problem.y - errors[problem.position])
        for m, positions in folds.by_size.items() if self._recomputes else ():
            form_held_out(fitted[m], out, folds.members, positions)
        # Store the blocks only when all folds are solved, because ``_all_above`` has to check every fold.
        if blocks is not None:
            self._edges[folds] = blocks
        return self._plain(out)

    def _each_fold(self, folds: Folds) -> Array:
        """Return the same where each fold has its own ridge, the weight of the other rows times lam."""
        out = np.empty((len(self.gammas), self.n))
        for F in folds.members:
            fits, _ = self._fits(self.problem.rows(F))
            solver = FoldSolver(self.system.K, self.factor, self.bias, Folds((F,)))
            errors, _ = solver.by_blocks({len(F): fits})
            out[:, F] = self.system.y[F] - errors[self.system.position][:, F]
        return self._plain(out)

    def fold_fits(self, folds: Folds) -> tuple[Fit, ...]:
        r"""Return the fit without each fold F: ``alpha - P_:F e_F``, and ``b - p_F^T e_F / (1^T p)``.

        It is the fit on all rows to targets from which ``e_F``, the held-out errors of F, are subtracted. Cost: one
        solve per fold and ridge, next to ``held_out``.
        """
        errors, found = self.problem.y - self.held_out(folds), []
        roots = np.ones(self.n) if self.roots is None else self.roots
        errors *= roots
        for F in folds.members:
            fits, fitted = self._fits(self.problem.rows(F))
            e = np.zeros_like(errors)
            e[:, F] = errors[:, F]
            alpha = fitted.alpha - fitted.push(np.arange(len(e)), e)
            alpha[:, F] = 0.0
            b = fits.b[self.problem.position]
            if self.bias:
                b = b - np.einsum("ln,ln->l", fits.q, e) / (fits.q @ roots)
            found.append(Fit(alpha * roots, b))
        return tuple(found)


class RidgePath(SquareLossPath):
    """The path without a bias, which offers FBIF and the Newton step, too."""

    def fbif(
        self,
        folds: Folds,
        *,
        c: float,
        order: int,
        rhs: RightSide,
        operator: Operator = "corrected",
    ) -> Array:
        """Return the FBIF series of k-fold cross-validation (ijcai2018).

        Its Nystrom approximation uses a share c of the columns.
        """
        if operator == "printed":
            raise TrialError("operator: printed is a reading of the hinge loss, not of this one")
        p = self.problem
        V, K = factor_of_share(p, c), p.K if rhs == "exact" else None
        return fbif_square(K, V, p.y, self.decision(), p.lams, folds, order=order)

    def frozen_step(self, folds: Folds) -> Array:
        """Return exact cross-validation: for the square loss one Newton step is retraining."""
        return self.held_out(folds)


@learner(
    "krr", paper="tcyb2018, ijcai2018", low_rank=partial(column_path, bias=False), weighted=True
)
def krr(problem: Problem) -> RidgePath:
    r"""Kernel ridge regression without bias: min (1/n) sum (y - f)^2 + lam ||f||^2."""
    return RidgePath(problem, bias=False)


@learner(
    "lssvm",
    paper="ecml2014, icml2014, flkl2014",
    low_rank=partial(column_path, bias=True),
    weighted=True,
)
def lssvm(problem: Problem) -> SquareLossPath:
    r"""Least-squares SVM with bias: min (1/n) sum (y - f - b)^2 + lam ||f||^2."""
    return SquareLossPath(problem, bias=True)
