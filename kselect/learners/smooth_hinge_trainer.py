r"""The smoothed hinge loss, and the trainer of its SVM: Newton's method in the dual.

The loss as a function of the margin ``z = y f`` (Chapelle 2007; ijcai2018, section 3.3):

    V = 0                       for z > 1 + h
        (1 + h - z)^2 / (4 h)   for |1 - z| <= h
        1 - z                   for z < 1 - h

``pull = -dV/dz = clip((1 + h - z) / (2 h), 0, 1)``, and ``dV/df = -y pull``, ``d^2 V/df^2 = curvature``.
V is at most ``h / 4`` above the hinge, at z = 1, and never below it. The SVM is

    min_f  (1/n) sum V(y f) + lam ||f||^2,   f = sum_i y_i a_i k(x_i, .),   gamma = 2 lam n,   rho = 2 h gamma

With margins ``z = y f = Ky a``, ``Ky_ij = y_i K_ij y_j``, the dual is a quadratic programme in a box,

    min_a  a^T (Ky + rho I) a / 2 - (1 + h) 1^T a,   0 <= a <= C = 1 / gamma,   gradient g = z + rho a - (1 + h)

A row is free (``|1 - z| <= h``), at the top (``a = C``) or at zero. With the zones frozen, one Cholesky solution of
the free rows is the minimum. All rows that are then in the wrong zone change it at once (block principal pivoting,
Judice and Pires 1994): a free row that has left the box, a row at a bound whose gradient points inward. From a
near ridge, or from the fit with a fold's rows, this takes 3 to 6 solutions. If the number of wrong rows stops
falling, Newton's method in the primal takes over; its line search makes it converge from anywhere.

    optimal:  gamma a = pull(z)

With weights w of the rows, the box of row i ends at ``w_i C`` and its ridge is ``rho / w_i``:
``gamma a_i = w_i pull(z_i)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from kselect.errors import TrialError
from kselect.learners.shared_factor import SharedFactor
from kselect.numerics.lapack import dpotrf, dpotrs
from kselect.numerics.linalg import EPS, Array, Index, Mask

# The tolerance of the slope ``gamma a - pull(z)``.
TOLERANCE = 1e-9
# If gamma is so small that ``Ky a`` is less exact, its rounding error is tolerated up to this limit.
LOOSEST = 1e-6
# Rows whose slope is off by at most this much are wrong by rounding.
ROUNDING = 1e-12
STEPS = 60
# How often the number of wrong rows may fail to reach a new low.
PATIENCE = 3
PRIMAL_STEPS = 300
HALVINGS = 60
# A larger residual of the free rows' equations is refined once: a shared factor has lost digits.
REFINED = 1e-11


def value(z: Array, h: float) -> Array:
    """Return V: with ``p = pull``, ``p (1 + h - z) - h p^2`` in all three zones."""
    p = pull(z, h)
    return np.asarray(p * (1.0 + h - z) - h * p * p)


def pull(z: Array, h: float) -> Array:
    """Return ``-dV/dz``, from 0 to 1."""
    # np.clip takes three times as long, and this runs for every fit.
    return np.minimum(np.maximum((1.0 + h - z) / (2.0 * h), 0.0), 1.0)


def curvature(z: Array, h: float) -> Array:
    """Return ``1 / (2 h)`` where ``|1 - z| <= h``, otherwise 0."""
    return np.where(np.abs(1.0 - z) <= h, 0.5 / h, 0.0)


@dataclass(frozen=True, eq=False)
class SignedKernel:
    """``Ky``, the same for all ridges and folds of a kernel; error messages call the kernel ``name``.

    ``weights`` weigh the rows; None: all rows weigh the same.
    """

    Ky: Array
    h: float
    name: str
    weights: Array | None = None

    @classmethod
    def of(
        cls, K: Array, y: Array, h: float, name: str, weights: Array | None = None
    ) -> SignedKernel:
        """Return the kernel with ``y_i K_ij y_j``."""
        Ky = K * y
        Ky *= y[:, None]
        return cls(Ky, h, name, weights)

    @cached_property
    def sums(self) -> Array:
        """``Ky w``: the margins of ``a = w``, which is 1 without weights."""
        return np.asarray(self.Ky.sum(axis=1) if self.weights is None else self.Ky @ self.weights)

    def sums_of(self, rows: Index) -> Array:
        """Return the margins of ``a = w`` on some rows and 0 on the others."""
        found = self.Ky.take(rows, 0)
        return np.asarray(found.sum(axis=0) if self.weights is None else self.weights[rows] @ found)

    @cached_property
    def largest(self) -> float:
        """``max K_ii``."""
        return float(np.diagonal(self.Ky).max())


@dataclass(frozen=True, eq=False)
class HingeProblem:
    """One ridge ``gamma = 2 lam n``; the sum runs over the rows in ``kept``, or all rows if it is None."""

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

    def ridge(self, rows: Index) -> float | Array:
        """Return ``rho`` of some rows: one number without weights."""
        weights = self.signed.weights
        return self.rho if weights is None else self.rho / weights[rows]

    @cached_property
    def ridges(self) -> float | Array:
        """``rho`` of all rows."""
        return self.ridge(np.arange(len(self.signed.Ky)))

    @cached_property
    def box(self) -> float | Array:
        """The largest a of all rows."""
        weights = self.signed.weights
        return self.top if weights is None else self.top * weights

    def name(self) -> str:
        """Return the kernel and the ridge, for error messages."""
        return f"{self.signed.name} 2 lam n={self.gamma:.3g}"

    def factor(self, block: Array, rows: Index) -> Array:
        """Return the Cholesky factor of ``block + rho I`` for the block of some rows, which is overwritten."""
        block.ravel()[:: len(block) + 1] += self.ridge(rows)
        factor, failed = dpotrf(block.T, overwrite=True)
        if failed:
            raise TrialError(f"K + 4 h lam n I is not positive definite to rounding: {self.name()}")
        return factor


class Zones(NamedTuple):
    """The masks of the free rows and of those at the top; ``sums = Ky top`` are the margins for C = 1."""

    free: Mask
    top: Mask
    sums: Array


class HingeSolution(NamedTuple):
    """``a`` with the zones whose equations it solves, and the margins ``z = Ky a`` of all rows."""

    a: Array
    z: Array
    zones: Zones


def all_top(signed: SignedKernel) -> Zones:
    """Return the zones of a large ridge, every row at C, from which every other ridge may start."""
    n = len(signed.Ky)
    return Zones(np.zeros(n, dtype=np.bool_), np.ones(n, dtype=np.bool_), signed.sums)


def zones_of(signed: SignedKernel, free: Mask, top: Mask) -> Zones:
    """Return zones with their sums."""
    return Zones(free, top, signed.Ky @ (top if signed.weights is None else top * signed.weights))


def zones_without(signed: SignedKernel, zones: Zones, F: Index) -> Zones:
    """Return the zones with the rows F left out."""
    free, top = zones.free.copy(), zones.top.copy()
    free[F], top[F] = False, False
    gone = F[zones.top[F]]
    sums = zones.sums - signed.sums_of(gone) if len(gone) else zones.sums
    return Zones(free, top, sums)


def carried_over(problem: HingeProblem, near: HingeSolution | None) -> Zones:
    """Return zones to start from, given a solution at another ridge, or all rows at C if it is None.

    a is scaled by the ratio of the Cs; then rows at a bound whose gradient points inward become free. Without a
    row at C, a depends on C through rho only and is not scaled.
    """
    zones = near.zones if near else all_top(problem.signed)
    if near:
        at_top = near.zones.top.nonzero()[0][:1]
        ends = np.broadcast_to(problem.box, near.a.shape)[at_top] / near.a[at_top]
        z = near.z * (float(ends[0]) if len(ends) else 1.0)
    else:
        z = problem.top * zones.sums
    g = z - (1.0 + problem.signed.h)
    top = zones.top & (g + problem.rho * problem.top <= 0)
    free = zones.free | (zones.top & ~top) | (~zones.free & ~zones.top & (g < 0))
    return moved(problem.signed, zones, free, top)


def moved(signed: SignedKernel, zones: Zones, free: Mask, top: Mask) -> Zones:
    """Return other zones; their sums are updated by the rows that reached or left the top."""
    rows = (top != zones.top).nonzero()[0]
    if not len(rows):
        return Zones(free, top, zones.sums)
    if 4 * len(rows) > len(top):
        return zones_of(signed, free, top)
    signs = np.where(top.take(rows), 1.0, -1.0)
    if signed.weights is not None:
        signs *= signed.weights[rows]
    return Zones(free, top, zones.sums + signs @ signed.Ky.take(rows, 0))


def solve(problem: HingeProblem, zones: Zones, shared: SharedFactor | None = None) -> HingeSolution:
    """Solve ``(Ky_QQ + rho I) a_Q = (1 + h) 1 - C Ky_QL 1`` on the free rows Q, with L those at the top."""
    Ky, C = problem.signed.Ky, problem.top
    Q = zones.free.nonzero()[0]
    fixed = C * zones.sums
    a = np.where(zones.top, problem.box, 0.0)
    if not len(Q):
        return HingeSolution(a, fixed, zones)
    right = (1.0 + problem.signed.h) - fixed.take(Q)
    if shared is not None:
        a[Q] = shared.solve(Q, right)
        z = Ky @ a
        residual = (1.0 + problem.signed.h) - z.take(Q) - problem.ridge(Q) * a.take(Q)
        if np.abs(residual).max() > REFINED:
            a[Q] += shared.solve(Q, residual)
            z = Ky @ a
        return HingeSolution(a, z, zones)
    rows = Ky.take(Q, 0)
    a[Q] = x = dpotrs(problem.factor(rows.take(Q, 1), Q), right)
    return HingeSolution(a, fixed + x @ rows if 3 * len(Q) < len(a) else Ky @ a, zones)


def minimise(
    problem: HingeProblem, zones: Zones, shared: SharedFactor | None = None
) -> HingeSolution:
    """Return the minimum, or raise a TrialError; the start affects the number of steps only."""
    fewest, patience = len(zones.free) + 1, PATIENCE
    for _ in range(STEPS):
        found = solve(problem, zones, shared)
        free, top = turned(problem, found)
        wrong = int(np.count_nonzero((free != zones.free) | (top != zones.top)))
        if wrong >= fewest:
            if violation(problem, found) <= ROUNDING:
                break
            patience -= 1
        fewest = min(wrong, fewest)
        if not wrong or patience < 0:
            break
        zones = moved(problem.signed, zones, free, top)
    return found if is_optimal(problem, found) else descend(problem, found)


def turned(problem: HingeProblem, found: HingeSolution) -> tuple[Mask, Mask]:
    """Return ``(free, top)`` after every wrong row has changed its zone."""
    a, (was_free, was_top, _) = found.a, found.zones
    rising = problem.ridges * a + found.z > 1.0 + problem.signed.h
    top = np.where(was_top, ~rising, a > problem.box)
    free = np.where(was_free, (a >= 0.0) & (a <= problem.box), rising == was_top)
    if problem.kept is not None:
        free &= problem.kept
    return free, top


def violation(problem: HingeProblem, found: HingeSolution) -> float:
    """Return ``max |gamma a - pull(z)|`` over the rows kept: the error of the slope."""
    signed = problem.signed
    slope = problem.gamma * found.a
    if signed.weights is not None:
        slope /= signed.weights
    off = np.abs(slope - pull(found.z, signed.h))
    return float(off.max() if problem.kept is None else off.max(where=problem.kept, initial=0.0))


def is_optimal(problem: HingeProblem, found: HingeSolution) -> bool:
    """Return whether the slope is within the tolerance, or within the rounding error of ``Ky a`` if larger."""
    off = violation(problem, found)
    if off <= TOLERANCE:
        return True
    size = float(np.abs(found.a).sum())
    rounding = 10.0 * EPS * problem.signed.largest * size / problem.signed.h
    return off <= TOLERANCE + min(rounding, LOOSEST)


def descend(problem: HingeProblem, start: HingeSolution) -> HingeSolution:
    """Return the minimum by Newton's method in the primal, with a line search."""
    signed = problem.signed
    a = np.clip(start.a, 0.0, problem.box)
    z = signed.Ky @ a
    for _ in range(PRIMAL_STEPS):
        free, top = np.abs(1.0 - z) <= signed.h, z < 1.0 - signed.h
        if problem.kept is not None:
            free, top = free & problem.kept, top & problem.kept
        found = solve(problem, zones_of(signed, free, top))
        if is_optimal(problem, found):
            return found
        t = step_length(problem, a, z, found)
        a, z = a + t * (found.a - a), z + t * (found.z - z)
    raise TrialError(
        "the Newton trainer of the smoothed-hinge SVM left "
        f"{violation(problem, found):.1e} in the slope: {problem.name()}"
    )


def step_length(problem: HingeProblem, a: Array, z: Array, found: HingeSolution) -> float:
    """Return the share of the step to ``found`` at which the objective's derivative is about to become positive.

    Along the step, derivative / C rises: ``sum -pull(z + t d) d + gamma (a + t (a' - a))^T d``.
    Always taking the whole step would cycle.
    """
    kept = slice(None) if problem.kept is None else problem.kept
    d, z, h = (found.z - z)[kept], z[kept], problem.signed.h
    weighed = d if problem.signed.weights is None else d * problem.signed.weights[kept]
    flat, rise = problem.gamma * float(a[kept] @ d), problem.gamma * float((found.a - a)[kept] @ d)

    def derivative(t: float) -> float:
        return flat + t * rise - float(pull(z + t * d, h) @ weighed)

    low, high = 0.0, 1.0
    if derivative(high) <= 0:
        return high
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if derivative(middle) <= 0 else (low, middle)
        if low > 0 and high - low < 1e-3 * low:
            break
    return low
