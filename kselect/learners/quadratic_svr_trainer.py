r"""Newton's method for the quadratic eps-insensitive loss: a square loss on the rows outside a tube.

    min_{f, b}  sum_i V(y_i - f_i - b) + gamma ||f||^2,   V(r) = (|r| - eps)_+^2,   gamma = n lam

The zone s of a row is 0 within the tube ``|r| <= eps`` and the sign of r outside it. With the zones frozen, this is
the square loss of the rows ``A = {s != 0}`` with the targets ``z = y - eps s``, so a step is a linear system:

    (K_AA + gamma I) alpha_A + b 1 = z_A,   1^T alpha_A = 0,   alpha = 0 elsewhere
    optimal:  gamma alpha_i = sgn(r_i) (|r_i| - eps)_+,   1^T alpha = 0

With weights w of the rows, ``gamma alpha_i = w_i sgn(r_i) (|r_i| - eps)_+`` and the diagonal gets ``gamma / w_i``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from kselect.errors import TrialError
from kselect.learners.tiny_predictions import SMALL, bias, products
from kselect.numerics.lapack import dpotrf, dpotrs, dtrtri
from kselect.numerics.linalg import EPS, Array, Index, Mask

# The tolerance of the optimality conditions, relative to the range of the targets.
TOLERANCE = 1e-10
# If n lam is so small that ``K alpha`` is less exact, its rounding error is tolerated up to this limit.
LOOSEST = 1e-6
# A violation of at most this size, relative to the range of the targets, is a rounding error.
ROUNDING = 1e-14
# A bias of at most this share of the targets may be its own rounding error.
DOUBTFUL = 1e-6
STEPS = 50
# If so many steps are not enough, the ridge descends to its value from these multiples of it.
DETOUR = 8.0 ** np.arange(12, -1, -1)
HALVINGS = 40
# The share of the decrease predicted by the slope that a step must reach.
ARMIJO = 1e-4


@dataclass(frozen=True, eq=False)
class TubeProblem:
    """The problem at one ridge; the sum runs over the rows kept, and errors cite kernel and ridge as ``name``."""

    K: Array
    y: Array
    gamma: float
    eps: float
    kept: Mask
    name: str
    weights: Array | None = None

    def weigh(self, values: Array) -> Array:
        """Return the values times the weights of their rows."""
        return values if self.weights is None else values * self.weights

    def system(self, A: Index) -> TubeSystem:
        """Return the linear system of some rows."""
        ridge = self.gamma if self.weights is None else self.gamma / self.weights[A]
        return TubeSystem(self.K, A, ridge, self.name)

    def zones(self, residual: Array) -> Array:
        """Return -1, 0 or +1 per row; without a tube the loss is the square, and every row is in zone 1."""
        if self.eps == 0:
            return self.kept.astype(np.float64)
        outside = self.kept & (np.abs(residual) > self.eps)
        return np.asarray(np.sign(residual) * outside)

    def excess(self, residual: Array) -> Array:
        """Return ``V'(r) / 2 = sgn(r) (|r| - eps)_+``, 0 on the rows left out."""
        over = np.maximum(np.abs(residual) - self.eps, 0.0)
        return np.asarray(np.sign(residual) * over * self.kept)

    @cached_property
    def centre(self) -> tuple[float, float]:
        """The middle of the range of the targets, and half its width."""
        low, high = float(self.y[self.kept].min()), float(self.y[self.kept].max())
        return low + (high - low) / 2, (high - low) / 2

    @property
    def scale(self) -> float:
        """Half the range of the targets."""
        return self.centre[1]


@dataclass(frozen=True, eq=False)
class Start:
    """A function and a bias to start from: f on all rows, b, ``||f||^2``; f may lie outside the rows' span."""

    values: Array
    b: float
    square_norm: float


@dataclass(frozen=True, eq=False)
class TubeSolution:
    """``f = K alpha``, b, and the zones whose linear system they solve; alpha is 0 where the zone is 0."""

    alpha: Array
    b: float
    values: Array
    zones: Array

    @property
    def start(self) -> Start:
        """The start for the next ridge, or for the problem without a fold."""
        return Start(self.values, self.b, float(self.alpha @ self.values))

    @property
    def decision(self) -> Array:
        """``f + b``."""
        return self.values + self.b


class TubeSystem:
    r"""``[[K_AA + gamma I, 1], [1^T, 0]]`` solved with one Cholesky factor ``C C^T = K_AA + gamma I``.

    ``G = (C C^T)^{-1}, p = G 1, P = G - p p^T / (1^T p)``: the top left block of the inverse is P.
    """

    def __init__(self, K: Array, A: Index, gamma: float | Array, name: str) -> None:
        M = K[np.ix_(A, A)] if len(A) < len(K) else K.copy()
        M[np.diag_indices_from(M)] += gamma
        self.C, failed = dpotrf(M.T, overwrite=True, clean=True)
        if failed or not np.isfinite(self.C[-1, -1]):
            raise TrialError(f"K + n lam I is not positive definite to rounding: {name}")
        self.p = dpotrs(self.C, np.ones(len(A)))
        self.total = float(self.p.sum())

    def solve(self, right: Array) -> tuple[Array, Array]:
        """Return ``P right`` and the bias ``p^T right / (1^T p)``, column by column.

        Refining the solution gains nothing: the residual of the equations is the rounding error of ``K alpha``.
        """
        b = (self.p @ right) / self.total
        return dpotrs(self.C, right) - np.multiply.outer(self.p, b), np.asarray(b)

    @cached_property
    def _inverse(self) -> Array:
        """``C^{-1}``, a triangle that costs as much as C did."""
        return dtrtri(self.C)

    def block(self, F: Index) -> Array:
        """Return ``P_FF`` for positions F in A."""
        rows = self._inverse[:, F]
        return np.asarray(rows.T @ rows - np.outer(self.p[F], self.p[F]) / self.total)


def middle(problem: TubeProblem) -> Start:
    """Return f = 0 and the middle of the range: either both ends of it are outside the tube, or none is."""
    return Start(np.zeros_like(problem.y), problem.centre[0], 0.0)


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def train(problem: TubeProblem, start: Start | None = None) -> TubeSolution:
    """Return the minimum, or raise a TrialError; the start affects the number of steps only.

    The minimum is unique except for b if all targets fit into the tube: then f = 0, and b is the middle of the
    range. At tiny ridges the steps become short, and the minima at larger ridges lead to the minimum.
    """
    if not problem.gamma > 0:
        raise TrialError(f"the quadratic SVR needs a ridge: {problem.name}")
    if problem.eps > 0 and problem.scale <= problem.eps:
        zero = np.zeros_like(problem.y)
        return TubeSolution(zero, problem.centre[0], zero, zero)
    found = descend(problem, start or middle(problem))
    if not is_optimal(problem, found):
        at = middle(problem)
        for factor in DETOUR.tolist():
            found = descend(replace(problem, gamma=factor * problem.gamma), at)
            at = found.start
    if not is_optimal(problem, found):
        raise TrialError(
            "the Newton trainer of the quadratic SVR left a residual of "
            f"{violation(problem, found):.1e} in the optimality conditions: {problem.name}"
        )
    return found


def descend(problem: TubeProblem, at: Start) -> TubeSolution:
    """Iterate Newton steps with back-tracking until the zones stay, which takes 3 steps in icml2014."""
    best: TubeSolution | None = None
    for _ in range(STEPS):
        zones = problem.zones(problem.y - at.values - at.b)
        found = newton_step(problem, at, zones)
        if best is None or violation(problem, found) < violation(problem, best):
            best = found
        still = (problem.zones(problem.y - found.decision) == zones).all()
        if still or violation(problem, found) <= ROUNDING * problem.scale:
            break
        # If rounding hides the descent, take the whole step; the best solution is kept.
        at = back_track(problem, at, found) or found.start
    assert best is not None
    return best


def newton_step(problem: TubeProblem, at: Start, zones: Array) -> TubeSolution:
    """Return the minimum with the zones frozen; if no row is outside the tube, f = 0 with the same bias."""
    A = np.flatnonzero(zones)
    alpha, b = np.zeros_like(problem.y), at.b
    if len(A):
        system = problem.system(A)
        right = problem.y[A] - problem.eps * zones[A]
        alpha[A], closed = system.solve(right)
        b = float(closed)
        if problem.weights is None:
            b = settled_bias(problem, A, right, alpha[A], b)
    return TubeSolution(alpha, b, problem.K @ alpha, zones)


def settled_bias(problem: TubeProblem, A: Index, right: Array, alpha: Array, b: float) -> float:
    """Return b, or ``1^T (z_A - (K_AA - kappa I) alpha) / |A|`` if rounding hides b; see tiny_predictions.py."""
    scale = float(np.abs(right).max())
    if abs(b) > DOUBTFUL * scale:
        return b
    K = problem.K[np.ix_(A, A)]
    K[np.diag_indices_from(K)] -= problem.K[0, 0]
    small = bias(right.sum(), products(K.sum(axis=0)[None], alpha[None]), len(A))
    return float(small.settled[0, 0]) if small.size[0, 0] <= SMALL * scale else b


def objective(problem: TubeProblem, at: Start) -> float:
    """Return ``sum V + gamma ||f||^2``: n times the primal objective."""
    excess = problem.excess(problem.y - at.values - at.b)
    return float(problem.weigh(excess) @ excess) + problem.gamma * at.square_norm


def between(at: Start, found: TubeSolution, t: float) -> Start:
    """Return ``(1 - t) at + t found``; ``<f, K alpha> = alpha^T f`` for any f, by the reproducing property."""
    mixed = 2 * t * (1 - t) * float(found.alpha @ at.values)
    norm = (1 - t) ** 2 * at.square_norm + mixed + t**2 * float(found.alpha @ found.values)
    return Start((1 - t) * at.values + t * found.values, (1 - t) * at.b + t * found.b, norm)


def back_track(problem: TubeProblem, at: Start, found: TubeSolution) -> Start | None:
    """Return the first of the points 1, 1/2, 1/4, ... of the step that decreases the objective, or None."""
    now = objective(problem, at)
    ahead = found.values + found.b - at.values - at.b
    excess = problem.excess(problem.y - at.values - at.b)
    along = float(found.alpha @ at.values) - at.square_norm
    slope = 2 * (problem.gamma * along - float(problem.weigh(excess) @ ahead))
    # Close to the minimum the decrease is below the rounding error of the objective. Equal rows with different
    # targets have huge alphas that cancel in ``gamma alpha^T K alpha`` and leave their rounding error.
    size = float(np.abs(found.alpha).sum())
    cancelled = problem.gamma * size**2 * float(np.abs(problem.K).max())
    allowance = len(problem.y) * EPS * (now + cancelled)
    for halving in range(HALVINGS):
        t = 0.5**halving
        trial = between(at, found, t)
        if objective(problem, trial) <= now + ARMIJO * t * slope + allowance:
            return trial
    return None


def violation(problem: TubeProblem, found: TubeSolution) -> float:
    """Return the error of the optimality conditions, in the units of y."""
    excess = problem.weigh(problem.excess(problem.y - found.decision))
    off = np.abs(problem.gamma * found.alpha - excess).max()
    return float(max(off, problem.gamma * abs(found.alpha.sum())))


def is_optimal(problem: TubeProblem, found: TubeSolution) -> bool:
    """Return whether the violation is within the tolerance, or the rounding error of ``K alpha`` if larger."""
    size = float(np.abs(found.alpha).sum())
    rounding = 10 * EPS * float(np.diagonal(problem.K).max()) * size
    limit = TOLERANCE * problem.scale + min(rounding, LOOSEST * problem.scale)
    limit += 10 * EPS * float(np.abs(problem.y).max())
    return violation(problem, found) <= limit
