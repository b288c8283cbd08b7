r"""The trainer of the smoothed-hinge SVM: Newton's method in the dual, whole sets of rows changing zone at once.

    min_f  (1/n) sum V(y f) + lam ||f||^2,   f = sum_i y_i a_i k(x_i, .),   gamma = 2 lam n,   rho = 2 h gamma

With margins ``z = y f = Ky a``, ``Ky_ij = y_i K_ij y_j``, the dual is a quadratic programme in a box,

    min_a  a^T (Ky + rho I) a / 2 - (1 + h) 1^T a,   0 <= a <= C = 1 / gamma,   gradient g = z + rho a - (1 + h)

A row is free (``|1 - z| <= h``), at the top (``a = C``) or at zero. With the zones kept, one Cholesky solution of
the free rows is the minimum. All rows that are then wrong change zone at once (block principal pivoting, Judice
and Pires 1994): a free row that has left the box, a row at a bound whose gradient points inward. From a near
ridge or the fit with a fold's rows this takes 3 to 6 solutions. Where the number of wrong rows
stops falling, Newton's method in the primal takes over, whose line search makes it converge from anywhere.

    optimal:  gamma a = pull(z) = clip((1 + h - z) / (2 h), 0, 1)       (mathematics, section 6)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dposv

from kselect.errors import TrialError
from kselect.learners.downdating import SharedFactor
from kselect.learners.smooth_hinge_loss import pull
from kselect.numerics.linalg import Array, Index

Mask = NDArray[np.bool_]
EPS = float(np.finfo(np.float64).eps)
# What the slope ``gamma a - pull(z)`` may be off.
TOLERANCE = 1e-9
# Where gamma is so small that ``Ky a`` is not known so well: its rounding, but not more than this.
LOOSEST = 1e-6
# Rows that are wrong by so little are wrong by rounding.
ROUNDING = 1e-12
STEPS = 60
# How often the number of wrong rows may fail to reach a new low.
PATIENCE = 3
PRIMAL_STEPS = 300
HALVINGS = 60
# A residual of the free rows' equations above this is refined once: a shared factor has lost digits.
REFINED = 1e-11


@dataclass(frozen=True, eq=False)
class SignedKernel:
    """``Ky``, one for all ridges and folds of a kernel; ``name`` says which kernel in an error."""

    Ky: Array
    h: float
    name: str

    @classmethod
    def of(cls, K: Array, y: Array, h: float, name: str) -> SignedKernel:
        """``y_i K_ij y_j``."""
        Ky = K * y
        Ky *= y[:, None]
        return cls(Ky, h, name)

    @cached_property
    def sums(self) -> Array:
        """``Ky 1``: the margins of ``a = 1``."""
        return np.asarray(self.Ky.sum(axis=1))

    @cached_property
    def largest(self) -> float:
        """``max K_ii``."""
        return float(np.diagonal(self.Ky).max())


@dataclass(frozen=True, eq=False)
class HingeProblem:
    """One ridge ``gamma = 2 lam n``; the sum runs over the rows kept, None: all."""

    signed: SignedKernel
    gamma: float
    kept: Mask | None = None

    def __post_init__(self) -> None:
        if not self.gamma > 0:
            raise TrialError(f"the smoothed-hinge SVM needs a ridge: {self.name()}")

    @cached_property
    def top(self) -> float:
        """``C``."""
        return 1.0 / self.gamma

    @cached_property
    def rho(self) -> float:
        """``2 h gamma``."""
        return 2.0 * self.signed.h * self.gamma

    def name(self) -> str:
        """The kernel and the ridge."""
        return f"{self.signed.name} 2 lam n={self.gamma:.3g}"


class Zones(NamedTuple):
    """Which rows are free and which at the top; ``sums = Ky top``, their margins for C = 1."""

    free: Mask
    top: Mask
    sums: Array


class HingeSolution(NamedTuple):
    """``a`` with the zones whose equations it solves, and the margins ``z = Ky a`` of all rows."""

    a: Array
    z: Array
    zones: Zones


def all_top(signed: SignedKernel) -> Zones:
    """Every row at C, what a large ridge ends with: every other ridge may start from there."""
    n = len(signed.Ky)
    return Zones(np.zeros(n, dtype=np.bool_), np.ones(n, dtype=np.bool_), signed.sums)


def zones_of(signed: SignedKernel, free: Mask, top: Mask) -> Zones:
    """Zones with their sums."""
    return Zones(free, top, signed.Ky @ top)


def without(signed: SignedKernel, zones: Zones, F: Index) -> Zones:
    """The zones with the rows F left out."""
    free, top = zones.free.copy(), zones.top.copy()
    free[F], top[F] = False, False
    gone = F[zones.top[F]]
    sums = zones.sums - signed.Ky.take(gone, 0).sum(axis=0) if len(gone) else zones.sums
    return Zones(free, top, sums)


def carried_over(task: HingeProblem, fit: HingeSolution | None) -> Zones:
    """Where to start from a fit at another ridge: a grows with C, then wrong rows at a bound become free."""
    zones = fit.zones if fit else all_top(task.signed)
    z = fit.z * growth(task, fit) if fit else task.top * zones.sums
    g = z - (1.0 + task.signed.h)
    top = zones.top & (g + task.rho * task.top <= 0)
    free = zones.free | (zones.top & ~top) | (~zones.free & ~zones.top & (g < 0))
    return moved(task.signed, zones, free, top)


def growth(task: HingeProblem, fit: HingeSolution) -> float:
    """``C`` over that of the fit; 1 where no row is at it, and a no longer depends on it but through rho."""
    top = fit.a[fit.zones.top]
    return task.top / float(top[0]) if len(top) else 1.0


def moved(signed: SignedKernel, zones: Zones, free: Mask, top: Mask) -> Zones:
    """Other zones; the sums follow from the rows that reached or left the top."""
    rows = (top != zones.top).nonzero()[0]
    if not len(rows):
        return Zones(free, top, zones.sums)
    if 4 * len(rows) > len(top):
        return zones_of(signed, free, top)
    signs = np.where(top.take(rows), 1.0, -1.0)
    return Zones(free, top, zones.sums + signs @ signed.Ky.take(rows, 0))


def solve(task: HingeProblem, zones: Zones, shared: SharedFactor | None = None) -> HingeSolution:
    """``(Ky_QQ + rho I) a_Q = (1 + h) 1 - C Ky_QL 1`` on the free rows Q, L being those at the top."""
    Ky, C = task.signed.Ky, task.top
    Q = zones.free.nonzero()[0]
    fixed = C * zones.sums
    a = np.where(zones.top, C, 0.0)
    if not len(Q):
        return HingeSolution(a, fixed, zones)
    right = (1.0 + task.signed.h) - fixed.take(Q)
    if shared is not None:
        a[Q] = shared.solve(Q, right)
        z = Ky @ a
        residual = (1.0 + task.signed.h) - z.take(Q) - task.rho * a.take(Q)
        if np.abs(residual).max() > REFINED:
            a[Q] += shared.solve(Q, residual)
            z = Ky @ a
        return HingeSolution(a, z, zones)
    rows = Ky.take(Q, 0)
    a[Q] = x = positive_solution(rows.take(Q, 1), task, right)
    return HingeSolution(a, fixed + x @ rows if 3 * len(Q) < len(a) else Ky @ a, zones)


def positive_solution(block: Array, task: HingeProblem, right: Array) -> Array:
    """``(block + rho I)^{-1} right``; the block is overwritten."""
    block.ravel()[:: len(block) + 1] += task.rho
    _, x, failed = dposv(block.T, right, lower=1, overwrite_a=1)
    if failed:
        raise TrialError(f"K + 4 h lam n I is not positive definite to rounding: {task.name()}")
    return np.asarray(x)


def turned(task: HingeProblem, fit: HingeSolution) -> tuple[Mask, Mask]:
    """``(free, top)`` after every wrong row has changed its zone."""
    a, (was_free, was_top, _) = fit.a, fit.zones
    rising = task.rho * a + fit.z > 1.0 + task.signed.h
    top = np.where(was_top, ~rising, a > task.top)
    free = np.where(was_free, (a >= 0.0) & (a <= task.top), rising == was_top)
    if task.kept is not None:
        free &= task.kept
    return free, top


def settle(task: HingeProblem, zones: Zones, shared: SharedFactor | None = None) -> HingeSolution:
    """The minimum, or a TrialError; where it starts decides on nothing but the number of steps."""
    fewest, patience = len(zones.free) + 1, PATIENCE
    for _ in range(STEPS):
        fit = solve(task, zones, shared)
        free, top = turned(task, fit)
        wrong = int(np.count_nonzero((free != zones.free) | (top != zones.top)))
        if wrong >= fewest:
            if violation(task, fit) <= ROUNDING:
                break
            patience -= 1
        fewest = min(wrong, fewest)
        if not wrong or patience < 0:
            break
        zones = moved(task.signed, zones, free, top)
    return fit if is_optimal(task, fit) else descend(task, fit)


def violation(task: HingeProblem, fit: HingeSolution) -> float:
    """``max |gamma a - pull(z)|`` over the rows kept: how far the slope is off."""
    off = np.abs(task.gamma * fit.a - pull(fit.z, task.signed.h))
    return float(off.max() if task.kept is None else off.max(where=task.kept, initial=0.0))


def is_optimal(task: HingeProblem, fit: HingeSolution) -> bool:
    """Whether to the tolerance, or to the rounding of ``Ky a`` where that is larger."""
    found = violation(task, fit)
    if found <= TOLERANCE:
        return True
    rounding = 10.0 * EPS * task.signed.largest * float(np.abs(fit.a).sum()) / task.signed.h
    return found <= TOLERANCE + min(rounding, LOOSEST)


def descend(task: HingeProblem, start: HingeSolution) -> HingeSolution:
    """Newton's method in the primal, each step cut where the objective stops falling."""
    signed = task.signed
    a = np.clip(start.a, 0.0, task.top)
    z = signed.Ky @ a
    for _ in range(PRIMAL_STEPS):
        free, top = np.abs(1.0 - z) <= signed.h, z < 1.0 - signed.h
        if task.kept is not None:
            free, top = free & task.kept, top & task.kept
        fit = solve(task, zones_of(signed, free, top))
        if is_optimal(task, fit):
            return fit
        t = step_length(task, a, z, fit)
        a, z = a + t * (fit.a - a), z + t * (fit.z - z)
    raise TrialError(
        f"the Newton trainer of the smoothed-hinge SVM left {violation(task, fit):.1e} in the slope: {task.name()}"
    )


def step_length(task: HingeProblem, a: Array, z: Array, fit: HingeSolution) -> float:
    """The share of the way to ``fit`` at which the objective's derivative is about to turn positive.

    Along the way the derivative, over C, rises: ``sum -pull(z + t d) d + gamma (a + t (a' - a))^T d``. A whole step
    without this search goes round in circles.
    """
    kept = slice(None) if task.kept is None else task.kept
    d, z, h = (fit.z - z)[kept], z[kept], task.signed.h
    flat, rise = task.gamma * float(a[kept] @ d), task.gamma * float((fit.a - a)[kept] @ d)

    def derivative(t: float) -> float:
        return flat + t * rise - float(pull(z + t * d, h) @ d)

    low, high = 0.0, 1.0
    if derivative(high) <= 0:
        return high
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if derivative(middle) <= 0 else (low, middle)
        if low > 0 and high - low < 1e-3 * low:
            break
    return low
