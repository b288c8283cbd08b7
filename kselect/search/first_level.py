r"""FLKL's inner problem: the kernel's widths as parameters of the first level (flkl2014, section 3).

``L(theta) = min_{w, b} sum 0.5 (y - f)^2 + (lam/2) ||w||^2 + (mu/2) ||theta||^2`` over ``theta >= 0``. The dual
parameters are solved exactly, so that ``L = (lam/2) y^T alpha + (mu/2) ||theta||^2`` and, with
``U_r = (dK/dtheta_r) alpha``,

    g_r  = -(lam/2) alpha^T U_r + mu theta_r
    H_rs = -(lam/2) alpha^T (K o D_r o D_s) alpha + lam U_r^T P U_s + mu delta_rs

Projected Newton uses the exact Hessian with its eigenvalues in absolute value, keeps the bounds inside the
quadratic model, and adds a Levenberg shift if a step fails. L is not convex: the search finds the minimum that its
start leads to. With several targets on one kernel, L is the sum of theirs; alpha and U are stacked by target.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import nnls

from kselect.kernels.widths import KernelWidths, Moments
from kselect.learners.lssvm_errors import LSSVMSolution, as_columns
from kselect.numerics.linalg import Array, Index
from kselect.search.continuous import State

STEPS = 100
# A predicted decrease below this share of L is lost in rounding.
ROUNDING = 1e-15
# A predicted decrease below this share of L counts as none if rounding keeps L from falling.
SETTLED = 1e-9
# The projected gradient, relative to the sizes of its two terms, that ends a search.
FLAT = 1e-7
# Below this projected gradient the next one is about its square.
REGULAR = 0.1
# Curvatures are raised to this share of the largest one.
FLOOR = 1e-8
# A step is accepted if L falls by this share of the predicted decrease, up to NOISE times L.
SHARE = 1e-4
NOISE = 1e-14
ATTEMPTS = 40
# A step may be twice as long as theta, or as a theta of this size over the number of widths.
REACH = 2.0
SMALLEST = 1e-3


@dataclass(frozen=True, eq=False)
class Inner:
    """The inner problem: widths over the training rows, their targets, and the two hyper-parameters.

    If the rows have weights, ``ones`` are their roots r, ``widths`` give ``r K r``, and y stands for ``r y``.
    """

    widths: KernelWidths
    y: Array
    lam: float
    mu: float
    ones: Array | None = None

    def at(self, theta: Array) -> InnerPoint:
        """Solve for the dual parameters at a theta, with one Cholesky factor."""
        K = self.widths.gram(theta)
        return InnerPoint(self, theta, K, LSSVMSolution(K, self.y, self.lam, self.ones))


@dataclass(frozen=True, eq=False)
class InnerPoint:
    """A theta with its dual solution; derivatives are computed on first use."""

    problem: Inner
    theta: Array
    K: Array
    solution: LSSVMSolution

    @cached_property
    def value(self) -> float:
        """``L``."""
        data = 0.5 * self.problem.lam * float(np.vdot(self.problem.y, self.solution.alpha))
        return data + 0.5 * self.problem.mu * float(self.theta @ self.theta)

    @cached_property
    def alpha(self) -> Array:
        """``alpha``, (q n,)."""
        return as_columns(self.solution.alpha).T.ravel()

    @cached_property
    def moments(self) -> tuple[Moments, ...]:
        """The sums that form the derivatives, for each target."""
        alphas = as_columns(self.solution.alpha).T
        return tuple(self.problem.widths.moments(self.K, alpha) for alpha in alphas)

    @cached_property
    def U(self) -> Array:
        """``(dK/dtheta_r) alpha`` as columns, (q n, widths)."""
        return -np.concatenate([one.applied for one in self.moments])

    @cached_property
    def data_gradient(self) -> Array:
        """The gradient without the penalty of theta."""
        return np.asarray(-0.5 * self.problem.lam * (self.alpha @ self.U))

    @cached_property
    def gradient(self) -> Array:
        """``g``."""
        return self.data_gradient + self.problem.mu * self.theta

    @cached_property
    def free(self) -> Index:
        """The widths that are positive or would become positive."""
        return np.flatnonzero((self.theta > 0.0) | (self.gradient < 0.0))

    @cached_property
    def pulled(self) -> Array:
        """``P [alpha, U]`` of the free widths: up to signs, how lam and theta move the dual parameters."""
        right = np.empty((len(self.alpha), 1 + len(self.free)), order="F")
        right[:, 0], right[:, 1:] = self.alpha, self.U[:, self.free]
        blocks = np.split(right, len(self.moments))
        return np.concatenate([self.solution.projected(block) for block in blocks])

    @cached_property
    def hessian(self) -> Array:
        """``H`` of the free widths: O(n^2 f^2)."""
        lam, U = self.problem.lam, self.U[:, self.free]
        pairs = sum(one.pairs(self.free) for one in self.moments)
        H = lam * (U.T @ self.pulled[:, 1:] - 0.5 * pairs)
        H.flat[:: len(H) + 1] += self.problem.mu
        return 0.5 * (H + H.T)

    @cached_property
    def model(self) -> ConvexModel:
        """The convex model of L at this point; curvatures below FLOOR times the largest are raised to it."""
        H, free = self.hessian, self.free
        e, V = np.linalg.eigh(H) if len(H) > 1 else (H.ravel(), np.ones_like(H))
        least = FLOOR * float(np.abs(e).max(initial=0.0))
        convex, indefinite = np.maximum(np.abs(e), least), bool((e < -least).any())
        return ConvexModel(self.gradient[free], self.theta[free], convex, V, indefinite)

    def moved(self, p: Array) -> InnerPoint:
        """Return the point after a move of the free widths."""
        theta = self.theta.copy()
        theta[self.free] = np.maximum(theta[self.free] + p, 0.0)
        return self.problem.at(theta)

    @property
    def unsettled(self) -> float:
        """The largest component of the projected gradient, relative to the gradient's two terms."""
        projected = np.where(self.theta > 0.0, self.gradient, np.minimum(self.gradient, 0.0))
        terms = np.abs(self.data_gradient) + self.problem.mu * self.theta
        return float(np.abs(projected).max() / (terms.max() or 1.0))


@dataclass(frozen=True, eq=False)
class ConvexModel:
    """The quadratic model of L in the free widths at a point, its curvatures in absolute value."""

    slope: Array
    theta: Array
    curvatures: Array
    axes: Array
    indefinite: bool

    def move(self, shift: float) -> Array:
        """Return the minimum in ``theta >= 0`` with all curvatures raised by a shift, shortened to REACH."""
        e = self.curvatures + shift
        along = self.axes.T @ self.slope
        p = -self.axes @ (along / e)
        if (self.theta + p < 0.0).any():
            p = bounded(np.sqrt(e)[:, None] * self.axes.T, along / np.sqrt(e), self.theta)
        reach = REACH * max(float(np.linalg.norm(self.theta)), SMALLEST / len(self.theta))
        return p * min(1.0, reach / max(float(np.linalg.norm(p)), np.finfo(float).tiny))

    def curvature(self, p: Array) -> float:
        """Return ``p' H p``."""
        return float(self.curvatures @ (self.axes.T @ p) ** 2)

    def promised(self, p: Array) -> float:
        """Return the decrease of L that the model predicts."""
        return -float(self.slope @ p) - 0.5 * self.curvature(p)


def bounded(root: Array, slope: Array, theta: Array) -> Array:
    """Return ``argmin 0.5 |root p + slope|^2`` over ``theta + p >= 0``, with non-negative least squares."""
    try:
        reached, _ = nnls(root, root @ theta - slope)
    except RuntimeError:  # its iteration limit: the clipped step is no minimum, but a usable step
        reached = np.maximum(theta - np.linalg.solve(root, slope), 0.0)
    return np.asarray(reached - theta)


@dataclass(frozen=True, eq=False)
class Settled:
    """The end of an inner search, and a last short move of the widths that was not evaluated.

    ``straight`` says that every step was a whole step of a convex model.
    """

    point: InnerPoint
    pending: Array
    evaluations: int
    state: State
    straight: bool

    @property
    def theta(self) -> Array:
        """The widths after the last move."""
        return np.maximum(self.point.theta + self.pending, 0.0)

    @property
    def unmade(self) -> float:
        """The length of the last move as a share of the widths before it."""
        move, widths = np.linalg.norm(self.pending), np.linalg.norm(self.point.theta)
        return float(move / (widths or 1.0))


def settle(problem: Inner, start: Array, near: float = 0.0, *, unseen: bool = False) -> Settled:
    """Run projected Newton from a start, until the gradient is flat or a step is at most ``near`` times theta.

    With ``unseen`` the search also ends before a step that will make the gradient flat, judged from the quadratic
    decrease so far.
    """
    point, used, straight = problem.at(np.maximum(start, 0.0)), 1, True
    state: State = "converged"
    before = 0.0
    for _ in range(STEPS):
        still = np.zeros_like(point.theta)
        now = point.unsettled
        if now <= FLAT:
            return Settled(point, still, used, "converged", straight)
        still[point.free] = p = point.model.move(0.0)
        regular = unseen and straight and before <= REGULAR
        foreseen = regular and now**3 <= FLAT * before**2
        if foreseen or np.linalg.norm(p) <= near * np.linalg.norm(point.theta):
            return Settled(point, still, used, "converged", straight)
        before = now
        found, tried, state = descend(point, p)
        if found is None and state == "converged":
            found, more = flatter(point, p)
            tried += more
        used += tried
        straight = straight and tried <= 1 and not point.model.indefinite
        if found is None:
            return Settled(point, np.zeros_like(still), used, state, straight)
        point = found
    return Settled(point, np.zeros_like(point.theta), used, "iteration limit", straight)


def descend(point: InnerPoint, p: Array) -> tuple[InnerPoint | None, int, State]:
    """Return the next point and its cost, or None if nothing can be gained; ``p`` is the move without a shift."""
    shift, model, whole = 0.0, point.model, p
    for tried in range(ATTEMPTS):
        promised = model.promised(p)
        if promised <= ROUNDING * point.value:
            stuck = model.promised(whole) > SETTLED * point.value
            return None, tried, "no further descent" if stuck else "converged"
        trial = point.moved(p)
        if point.value - trial.value >= SHARE * promised - NOISE * point.value:
            return trial, tried + 1, "converged"
        shift = max(4.0 * shift, model.curvature(p) / float(p @ p))
        p = model.move(shift)
    return None, ATTEMPTS, "no further descent"


def flatter(point: InnerPoint, p: Array) -> tuple[InnerPoint | None, int]:
    """Do the same where rounding hides the decrease of L: accept a move that halves the gradient."""
    if np.linalg.norm(p) <= ROUNDING * max(float(np.linalg.norm(point.theta)), SMALLEST):
        return None, 0
    trial = point.moved(p)
    level = trial.value <= (1.0 + NOISE) * point.value
    return (trial if level and trial.unsettled < 0.5 * point.unsettled else None), 1
