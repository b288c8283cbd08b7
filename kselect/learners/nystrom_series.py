r"""t-FBIF: the Taylor series of t-fold cross-validation with a Nystrom approximation inside (ijcai2018, section 4).

With ``L = 2 lam I + K diag(v) / n`` (for the square loss twice the paper's), ``u = V'(y - f)`` (square) or
``-V'(f)`` (hinge), ``v = V''``, ``D = diag(1 on F, -m/(n - m) off F)`` and ``eps = -m/(n - m)``, the terms
``p_q = eps^q h_q / q!`` of the general recursion are

    p_1 = eps L^{-1} [K (1_F u) / m - 2 lam f],   p_{q+1} = L^{-1} K (v D p_q) / n

FBIF replaces L by ``Lt``, with ``Kt = V V^T`` in place of K; by Woodbury

    square:  Lt^{-1} = (1 / (2 lam)) [I - V (n lam I + V^T V)^{-1} V^T]
    hinge:   Lt^{-1} = (1 / (2 lam)) [I - V (4 n lam h I + V^T I0 V)^{-1} V^T I0],   I0 = 1[|1 - y f| <= h]

The paper prints the hinge form without I0, which is the inverse of another matrix (``operator: printed``), and
plus for minus in u. It keeps the exact K on the right hand side (``rhs: exact``), which grows without bound at
small lam; without any column it is ``n/(n - m) K_FS a_S``, the fold's coefficients dropped. ``rhs: nystrom`` puts
Kt there too and stays bounded. A prediction that overflows is set infinitely far on the wrong side of its label, so
that any loss of it is the largest, never NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kselect.errors import TrialError
from kselect.kernels.nystrom import DROPPED
from kselect.learners.base import Operator
from kselect.learners.problem import Problem
from kselect.learners.series import perturbation
from kselect.learners.smooth_hinge_trainer import curvature, pull
from kselect.numerics.folds import Folds
from kselect.numerics.lapack import dpotrf, dpotrs
from kselect.numerics.linalg import Array, Index, symmetric_eigh

Linear = Callable[[Array], Array]


def nystrom_factor(columns: Array, landmarks: Index) -> Array:
    """Return ``V`` (n, r) with ``V V^T`` the Nystrom approximation, from ``K_{., landmarks}`` (n, c)."""
    s, U = symmetric_eigh(columns[landmarks])
    kept = s > DROPPED * s[-1]
    return np.asarray(columns @ (U[:, kept] / np.sqrt(s[kept])))


def factor_of_share(problem: Problem, c: float) -> Array:
    """Return ``V`` from a share c of the rows, at least one, computed once; the paper takes a tenth."""
    if not c <= 1.0:
        raise TrialError(f"c is a share of the rows, at most 1, not {c:g}")
    drawn = problem.drawn(max(1, round(c * problem.n)))
    return problem.of_kernel.once(
        ("V", drawn.tobytes()), lambda: nystrom_factor(problem.K[:, drawn], drawn)
    )


def fbif_square(
    K: Array | None, V: Array, y: Array, f: Array, lams: Array, folds: Folds, *, order: int = 1
) -> Array:
    """Return the series for the square loss from the full fit f (n_ridges, n); without K it uses ``V V^T``."""
    side, gram, v = RightHandSide(K, V, folds), V.T @ V, np.full(len(y), 2.0)
    out, pushed = np.empty_like(f), side.of_each_fold(2.0 * (y - f))
    for i, lam in enumerate(lams.tolist()):
        solve = woodbury(V, V, gram, len(y) * lam, 2.0 * lam)
        out[i] = side.partial_sum(solve, pushed[i], f[i], v, lam, order)
    return wrong_where_exploded(out, y)


def fbif_smooth_hinge(
    K: Array | None,
    V: Array,
    y: Array,
    f: Array,
    lams: Array,
    folds: Folds,
    *,
    h: float,
    order: int = 1,
    operator: Operator = "corrected",
) -> Array:
    """Return the series for the smoothed hinge; the arguments are as in ``fbif_square``.

    ``operator: printed`` leaves I0 out of the inverse.
    """
    side, v = RightHandSide(K, V, folds), curvature(y * f, h)
    out, pushed = np.empty_like(f), side.of_each_fold(y * pull(y * f, h))
    for i, lam in enumerate(lams.tolist()):
        on_zone = V if operator == "printed" else V * (v[i] > 0)[:, None]
        solve = woodbury(V, on_zone, on_zone.T @ V, 4.0 * len(y) * lam * h, 2.0 * lam)
        out[i] = side.partial_sum(solve, pushed[i], f[i], v[i], lam, order)
    return wrong_where_exploded(out, y)


@dataclass(frozen=True, eq=False)
class RightHandSide:
    """The kernel matrix on the right hand side: K, or ``V V^T`` if K is None."""

    K: Array | None
    V: Array
    folds: Folds

    def of_each_fold(self, u: Array) -> Array:
        """Return ``K (1_F u)``, (n_ridges, n, folds), with one product per fold for all ridges."""
        if self.K is None:
            parts = [(u[:, F] @ self.V[F]) @ self.V.T for F in self.folds.members]
        else:
            parts = [u[:, F] @ self.K.take(F, 0) for F in self.folds.members]
        return np.stack(parts, axis=-1)

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")
    def partial_sum(
        self, solve: Linear, pushed: Array, f: Array, v: Array, lam: float, order: int
    ) -> Array:
        """Return ``f + p_1 + ... + p_order``, each row from its own fold."""
        if order < 1:
            return f.copy()
        n, own = len(f), (np.arange(len(f)), self.folds.numbers)
        sizes = np.array([len(F) for F in self.folds.members])
        term = solve((2.0 * lam * f[:, None] - pushed / sizes) * (sizes / (n - sizes)))
        total = f + term[own]
        D = perturbation(self.folds) if order > 1 else term
        for _ in range(1, order):
            x = v[:, None] * D * term
            product = self.V @ (self.V.T @ x) if self.K is None else self.K @ x
            term = solve(product / n)
            total += term[own]
        return np.asarray(total)


def woodbury(V: Array, right: Array, gram: Array, shift: float, scale: float) -> Linear:
    """Return the operator ``B -> (B - V (shift I + gram)^{-1} right^T B) / scale``.

    The result is infinite if rounding makes that inverse impossible.
    """
    inner = gram.copy()
    inner.ravel()[:: len(inner) + 1] += shift
    factor, failed = dpotrf(inner)

    def apply(B: Array) -> Array:
        if failed:
            return np.full_like(B, np.inf)
        return np.asarray((B - V @ dpotrs(factor, right.T @ B)) / scale)

    return apply


def wrong_where_exploded(predicted: Array, y: Array) -> Array:
    """Replace non-finite predictions by ``-sign(y) inf``."""
    return np.where(np.isfinite(predicted), predicted, np.where(y > 0, -np.inf, np.inf))
