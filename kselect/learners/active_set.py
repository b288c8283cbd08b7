r"""Newton's method for the quadratic eps-insensitive loss: a square loss on the rows outside a tube.

    min_{f, b}  sum_i V(y_i - f_i - b) + gamma ||f||^2,   V(r) = (|r| - eps)_+^2,   gamma = n lam

A row's zone s is 0 within the tube ``|r| <= eps`` and the sign of r outside of it. With the zones kept, this is
the square loss of the rows ``A = {s != 0}`` with the targets ``z = y - eps s``, and the step a linear system:

    (K_AA + gamma I) alpha_A + b 1 = z_A,   1^T alpha_A = 0,   alpha = 0 elsewhere
    optimal:  gamma alpha_i = sgn(r_i) (|r_i| - eps)_+,   1^T alpha = 0
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtri

from kselect.errors import TrialError
from kselect.learners.tiny_predictions import SMALL, bias, products
from kselect.numerics.linalg import Array, Index

EPS = float(np.finfo(np.float64).eps)
# What the optimality conditions may be off, relative to the targets' range.
TOLERANCE = 1e-10
# Where n lam is so small that ``K alpha`` is not known so well: its rounding, but not more than this.
LOOSEST = 1e-6
# Zones that disagree by this much, relative to the targets' range, disagree by rounding.
ROUNDING = 1e-14
# A bias of this share of the targets may be its own rounding.
DOUBTFUL = 1e-6
STEPS = 50
# Where so many steps do not do, the ridge comes down from this many times its value, by this factor a time.
DETOUR = 8.0 ** np.arange(12, -1, -1)
HALVINGS = 40
# The share of the decrease promised by the slope that a step must bring.
ARMIJO = 1e-4


@dataclass(frozen=True, eq=False)
class TubeProblem:
    """What to minimise: the sum runs over the rows kept; ``name`` says which kernel and ridge in an error."""

    K: Array
    y: Array
    gamma: float
    eps: float
    kept: NDArray[np.bool_]
    name: str

    def zones(self, residual: Array) -> Array:
        """-1, 0 or +1; without a tube the loss is the square, to which every row counts alike."""
        if self.eps == 0:
            return self.kept.astype(np.float64)
        outside = self.kept & (np.abs(residual) > self.eps)
        return np.asarray(np.sign(residual) * outside)

    def excess(self, residual: Array) -> Array:
        """``V'(r) / 2 = sgn(r) (|r| - eps)_+``, 0 on the rows left out."""
        over = np.maximum(np.abs(residual) - self.eps, 0.0)
        return np.asarray(np.sign(residual) * over * self.kept)

    @cached_property
    def centre(self) -> tuple[float, float]:
        """The middle of the targets' range and half its width."""
        low, high = float(self.y[self.kept].min()), float(self.y[self.kept].max())
        return low + (high - low) / 2, (high - low) / 2


@dataclass(frozen=True, eq=False)
class Start:
    """A function and a bias to start from: f on all rows, b, ``||f||^2``; f may lie outside the rows' span."""

    values: Array
    b: float
    square_norm: float


@dataclass(frozen=True, eq=False)
class TubeSolution:
    """``f = K alpha``, b, and the zones whose linear system they solve: alpha is 0 where the zone is."""

    alpha: Array
    b: float
    values: Array
    zones: Array

    @property
    def start(self) -> Start:
        """Where the next ridge, or the problem without a fold, starts from."""
        return Start(self.values, self.b, float(self.alpha @ self.values))

    @property
    def decision(self) -> Array:
        """``f + b``."""
        return self.values + self.b


class TubeSystem:
    r"""``[[K_AA + gamma I, 1], [1^T, 0]]`` by one Cholesky factor ``C C^T = K_AA + gamma I``.

    ``G = (C C^T)^{-1}, p = G 1, P = G - p p^T / (1^T p)``: the top left block of the inverse is P.
    """

    def __init__(self, K: Array, A: Index, gamma: float, name: str) -> None:
        M = K[np.ix_(A, A)] if len(A) < len(K) else K.copy()
        M[np.diag_indices_from(M)] += gamma
        self.C, failed = dpotrf(M.T, lower=1, overwrite_a=1)
        if failed or not np.isfinite(self.C[-1, -1]):
            raise TrialError(f"K + n lam I is not positive definite to rounding: {name}")
        self.p = dpotrs(self.C, np.ones(len(A)), lower=1)[0]
        self.total = float(self.p.sum())

    def solve(self, right: Array) -> tuple[Array, Array]:
        """``P right`` and the bias ``p^T right / (1^T p)``, column by column.

        Refining the solution gains nothing: what remains of the equations is the rounding of ``K alpha``.
        """
        b = (self.p @ right) / self.total
        return dpotrs(self.C, right, lower=1)[0] - np.multiply.outer(self.p, b), np.asarray(b)

    @cached_property
    def _inverse(self) -> Array:
        """``C^{-1}``, a triangle that costs as much as C did."""
        return np.asarray(dtrtri(self.C, lower=1)[0])

    def block(self, F: Index) -> Array:
        """``P_FF``, F being places in A."""
        rows = self._inverse[:, F]
        return np.asarray(rows.T @ rows - np.outer(self.p[F], self.p[F]) / self.total)


def constant(task: TubeProblem) -> TubeSolution:
    """No residual leaves the tube: f = 0, and of the b that do as well the middle of the targets' range."""
    zero = np.zeros_like(task.y)
    return TubeSolution(zero, task.centre[0], zero, zero)


def middle(task: TubeProblem) -> Start:
    """f = 0 and the middle of the range: both ends of it are outside the tube, or none is."""
    return Start(np.zeros_like(task.y), task.centre[0], 0.0)


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def train(task: TubeProblem, start: Start | None = None) -> TubeSolution:
    """The minimum, or a TrialError; where it starts decides on nothing but the number of steps.

    The minimum is unique but for b where all targets fit into the tube, which is seen from them alone. At
    tiny ridges the steps become short; what leads there are the minima at larger ones.
    """
    if not task.gamma > 0:
        raise TrialError(f"the quadratic SVR needs a ridge: {task.name}")
    if task.eps > 0 and task.centre[1] <= task.eps:
        return constant(task)
    fit = descend(task, start or middle(task))
    if not is_optimal(task, fit):
        at = middle(task)
        for factor in DETOUR.tolist():
            fit = descend(replace(task, gamma=factor * task.gamma), at)
            at = fit.start
    if not is_optimal(task, fit):
        raise TrialError(
            f"the Newton trainer of the quadratic SVR left a residual of {violation(task, fit):.1e} in the "
            f"optimality conditions: {task.name}"
        )
    return fit


def descend(task: TubeProblem, at: Start) -> TubeSolution:
    """Newton's method with back-tracking until the zones stand still, which takes 3 steps in icml2014."""
    best: TubeSolution | None = None
    for _ in range(STEPS):
        zones = task.zones(task.y - at.values - at.b)
        fit = newton_step(task, at, zones)
        if best is None or violation(task, fit) < violation(task, best):
            best = fit
        still = (task.zones(task.y - fit.decision) == zones).all()
        if still or violation(task, fit) <= ROUNDING * scale(task):
            break
        # Where rounding hides the descent, the whole step is as good as any: the best fit is kept.
        at = back_track(task, at, fit) or fit.start
    assert best is not None
    return best


def newton_step(task: TubeProblem, at: Start, zones: Array) -> TubeSolution:
    """The minimum of the problem with the zones kept; without any row outside, f = 0 and the same bias."""
    A = np.flatnonzero(zones)
    alpha, b = np.zeros_like(task.y), at.b
    if len(A):
        system = TubeSystem(task.K, A, task.gamma, task.name)
        right = task.y[A] - task.eps * zones[A]
        alpha[A], closed = system.solve(right)
        b = settled_bias(task, A, right, alpha[A], float(closed))
    return TubeSolution(alpha, b, task.K @ alpha, zones)


def settled_bias(task: TubeProblem, A: Index, right: Array, alpha: Array, b: float) -> float:
    """b, or, where its rounding hides it, ``1^T (z_A - (K_AA - kappa I) alpha) / |A|``; see tiny_predictions.py."""
    scale = float(np.abs(right).max())
    if abs(b) > DOUBTFUL * scale:
        return b
    K = task.K[np.ix_(A, A)]
    K[np.diag_indices_from(K)] -= task.K[0, 0]
    small = bias(right.sum(), products(K.sum(axis=0)[None], alpha[None]), len(A))
    return float(small.settled[0, 0]) if small.size[0, 0] <= SMALL * scale else b


def objective(task: TubeProblem, at: Start) -> float:
    """``sum V + gamma ||f||^2``: n times the primal objective."""
    excess = task.excess(task.y - at.values - at.b)
    return float(excess @ excess) + task.gamma * at.square_norm


def between(at: Start, fit: TubeSolution, t: float) -> Start:
    """``(1 - t) at + t fit``; ``<f, K alpha> = alpha^T f`` whatever f is, by the reproducing property."""
    mixed = 2 * t * (1 - t) * float(fit.alpha @ at.values)
    norm = (1 - t) ** 2 * at.square_norm + mixed + t**2 * float(fit.alpha @ fit.values)
    return Start((1 - t) * at.values + t * fit.values, (1 - t) * at.b + t * fit.b, norm)


def back_track(task: TubeProblem, at: Start, fit: TubeSolution) -> Start | None:
    """The first of the points 1, 1/2, 1/4, ... of the way that brings the objective down; None: none does."""
    now = objective(task, at)
    ahead = fit.values + fit.b - at.values - at.b
    excess = task.excess(task.y - at.values - at.b)
    along = float(fit.alpha @ at.values) - at.square_norm
    slope = 2 * (task.gamma * along - float(excess @ ahead))
    # Close to the minimum the decrease is below the rounding of the objective; equal rows with other targets
    # have huge alphas that cancel in ``gamma alpha^T K alpha``, and leave its rounding behind.
    cancelled = task.gamma * float(np.abs(fit.alpha).sum()) ** 2 * float(np.abs(task.K).max())
    allowance = len(task.y) * EPS * (now + cancelled)
    for halving in range(HALVINGS):
        t = 0.5**halving
        trial = between(at, fit, t)
        if objective(task, trial) <= now + ARMIJO * t * slope + allowance:
            return trial
    return None


def scale(task: TubeProblem) -> float:
    """Half the targets' range."""
    return task.centre[1]


def violation(task: TubeProblem, fit: TubeSolution) -> float:
    """How far the optimality conditions are off, in the units of y."""
    off = np.abs(task.gamma * fit.alpha - task.excess(task.y - fit.decision)).max()
    return float(max(off, task.gamma * abs(fit.alpha.sum())))


def is_optimal(task: TubeProblem, fit: TubeSolution) -> bool:
    """Whether to the tolerance, or to the rounding of ``K alpha`` where that is larger."""
    rounding = 10 * EPS * float(np.diagonal(task.K).max()) * float(np.abs(fit.alpha).sum())
    limit = TOLERANCE * scale(task) + min(rounding, LOOSEST * scale(task))
    limit += 10 * EPS * float(np.abs(task.y).max())
    return violation(task, fit) <= limit
