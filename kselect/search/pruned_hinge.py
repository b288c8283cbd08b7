r"""Bounds for the smoothed-hinge SVM with the hinge loss, for the pruned search.

Let f be the fit on all rows at ``gamma = 2 lam min_F (n - m_F)``, and ``gamma_F >= gamma`` the ridge of the model
without the fold F. The sum of both optimality conditions gives

    sum_F V(f_{-F}) >= sum_F V(f) - (gamma_F - gamma) / 2 ||f||^2,     hinge >= V - h / 4

The training loss rises with the ridge, so that the smallest ridges survive. Their number is close to the number at
a neighbouring kernel.

Before any fit, the margins of a kernel matrix that is nearly diagonal are bounded above. In a model trained on the
rows T, the optimality condition of row j bounds its coefficient a_j once the contributions of the other rows are
bounded. A few rounds over all rows tighten these bounds. They hold for the models without any of the folds: if the
absence of a fold helps, the fold that helps most counts as absent.

With weights w of the rows, every loss and the bound C of a coefficient is multiplied by w, and rho is divided by w.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kselect.learners.smooth_hinge import FoldTrainer
from kselect.learners.smooth_hinge_trainer import (
    HingeProblem,
    HingeSolution,
    SignedKernel,
    carried_over,
    minimise,
    value,
    zones_of,
)
from kselect.numerics.linalg import Array, Mask
from kselect.numerics.losses import hinge
from kselect.search.pruned_grid import (
    AT_REST,
    FAR,
    ROUNDS,
    BestPair,
    Candidate,
    FoldedGrid,
    GammaRange,
    without_own_fold,
)


@dataclass(frozen=True, eq=False)
class Trail:
    """The start for a neighbouring kernel: zones ``(free, top)`` for each ridge, and the number of ridges left."""

    zones: Mapping[int, tuple[Mask, Mask]]
    survivors: int


class HingeBounds:
    """One kernel; the fits on all rows are made on demand and start from the fits of a neighbouring kernel."""

    def __init__(self, K: Array, grid: FoldedGrid, near: Trail | None, *, h: float) -> None:
        self.grid, self.h = grid, h
        self.weights = np.square(grid.ones)
        own = self.weights if grid.weighted else None
        self.signed = SignedKernel.of(K, grid.y, h, "the kernel", own)
        self.gammas = grid.gammas(2.0)
        self.near = near
        self.survivors = 0
        self.fits: dict[int, HingeSolution] = {}
        self.trainers: dict[tuple[int, float], FoldTrainer] = {}

    def untrained(self, best: float) -> Array:
        """Return ``sum_F max(0, 1 - z)`` with z bounded above, and bounded tighter if a ridge is left."""
        Ky, slices, weights = self.signed.Ky, self.grid.slices, self.signed.weights
        bounds = self._losses(margins_at_most(Ky, slices, self.gammas, self.h, weights))
        left = (bounds.sum(axis=1) <= best).nonzero()[0]
        if len(left) and not is_far_from_diagonal(Ky):
            gammas = GammaRange(self.gammas.least[left], self.gammas.most[left])
            z = largest_margins(Ky, slices, gammas, self.h, weights)
            bounds[left] = np.maximum(bounds[left], self._losses(z))
        return bounds

    def _losses(self, z: Array) -> Array:
        """Return the hinge losses (ridges, folds) of margins (n, ridges)."""
        return self.grid.by_fold(self.weights * np.maximum(0.0, 1.0 - z.T))

    def trained(self, ridge: int) -> Array:
        """Return lower bounds (folds,) from the fit on all rows at the smallest ridge of a fold."""
        if ridge not in self.fits:
            problem = HingeProblem(self.signed, float(self.gammas.least[ridge]))
            if self.near and ridge in self.near.zones:
                zones = zones_of(self.signed, *self.near.zones[ridge])
            else:
                nearest = min(self.fits, key=lambda i: abs(i - ridge), default=None)
                zones = carried_over(problem, None if nearest is None else self.fits[nearest])
            self.fits[ridge] = minimise(problem, zones)
        fit, grid = self.fits[ridge], self.grid
        spread = grid.more_rows * float(grid.lams[ridge]) * float(fit.a @ fit.z)
        losses = self.weights * (value(fit.z, self.h) - 0.25 * self.h)
        return np.asarray(grid.by_fold(losses) - spread)

    def candidates(self, bounds: Array, best: float) -> list[Candidate]:
        """Return the smallest ridges, up to the first that the bounds exclude."""
        left = [i for i in np.argsort(self.grid.lams) if bounds[i].sum() <= best]
        tight = {}

        def survives(position: int) -> bool:
            ridge = left[position]
            if ridge not in tight:
                tight[ridge] = np.maximum(bounds[ridge], self.trained(ridge))
            return bool(tight[ridge].sum() <= best)

        start = len(left) - 1 if self.near is None else min(self.near.survivors, len(left) - 1)
        self.survivors = boundary(survives, start, len(left))
        for position in reversed(range(self.survivors)):
            survives(position)
        kept = [ridge for ridge in left[: self.survivors] if tight[ridge].sum() <= best]
        return [Candidate(int(i), tight[i], self._expected(i)) for i in kept]

    def _expected(self, ridge: int) -> Array:
        """Return the losses (folds,) without the coefficients of the fold, the other coefficients scaled up."""
        fit, grid = self.fits[ridge], self.grid
        z = fit.z.copy()
        for F in grid.slices:
            z[F] -= self.signed.Ky[F, F] @ fit.a[F]
        z *= np.repeat(grid.n / grid.others, grid.sizes)
        return grid.by_fold(self.weights * hinge(np.ones_like(z), z))

    def loss(self, ridge: int, fold: int) -> float:
        """Return the hinge loss on a fold of the model without it."""
        grid, rows = self.grid, self.grid.rows(fold)
        gamma = 2.0 * float(grid.lams[ridge]) * rows
        if (ridge, gamma) not in self.trainers:
            alike = sum(grid.rows(other) == rows for other in range(len(grid.sizes)))
            zones = self.fits[ridge].zones
            self.trainers[ridge, gamma] = FoldTrainer(self.signed, zones, gamma, alike)
        F = np.arange(grid.n)[grid.slices[fold]]
        z = self.trainers[ridge, gamma].fit(F).z[F]
        losses = np.maximum(0.0, 1.0 - z)
        return float(self.weights[F] @ losses if grid.weighted else losses.sum())

    def trail(self) -> Trail | None:
        """Return the zones of the fits."""
        zones = {ridge: (fit.zones.free, fit.zones.top) for ridge, fit in self.fits.items()}
        return Trail(zones, self.survivors) if zones else None


def judge(kernel: int, K: Array, grid: FoldedGrid, best: BestPair, h: float) -> None:
    """Settle the ridges of one kernel that the bounds leave, the most promising first; K is in fold order."""
    found = HingeBounds(K, grid, best.near(kernel), h=h)
    bounds = found.untrained(best.limit)
    if not (bounds.sum(axis=1) <= best.limit).any():
        return
    best.count(kernels_fitted=1)
    candidates = found.candidates(bounds, best.limit)
    for candidate in sorted(candidates, key=lambda c: (float(c.expected.sum()), c.ridge)):
        best.try_folds(kernel, candidate, found.loss)
    if trail := found.trail():
        best.leave(kernel, trail)


def boundary(survives: Callable[[int], bool], start: int, count: int) -> int:
    """Return how many of the first positions survive; ``start`` is a guess of the last one."""
    end = start + 1
    if survives(start):
        while end < count and survives(end):
            end += 1
        return end
    while end > 0 and not survives(end - 1):
        end -= 1
    return end


def margins_at_most(
    Ky: Array, folds: Sequence[slice], gammas: GammaRange, h: float, weights: Array | None = None
) -> Array:
    r"""Return upper bounds (n, ridges) of the margins of held-out rows.

    ``z_i <= min(C, (1 + h) / (d + rho - r)) sum_{j in T} max(Ky_ij, 0)``, if ``r < d + rho``. Here d is the
    smallest ``K_ii`` and r the largest sum over rows of the other class. With weights, ``z_i <= C sum_{j in T} w_j
    max(Ky_ij, 0)``.
    """
    size = np.abs(Ky)
    if weights is not None:
        w = weights[:, None]
        most = without_own_fold(size, w, folds) + without_own_fold(Ky, w, folds)
        return np.asarray(0.5 * most / gammas.least)
    ones = np.ones((len(Ky), 1))
    sums = Ky.sum(axis=1)
    unlike = 0.5 * float((size.sum(axis=1) - sums).max())
    likes = 0.5 * (without_own_fold(size, ones, folds) + without_own_fold(Ky, ones, folds))
    slack = float(np.diagonal(Ky).min()) + 2.0 * h * gammas.least - unlike
    bounded = (1.0 + h) / np.where(slack > 0, slack, np.inf)
    return likes * np.where(slack > 0, np.minimum(bounded, 1.0 / gammas.least), 1.0 / gammas.least)


def is_far_from_diagonal(Ky: Array) -> bool:
    """Return whether ``largest_margins`` would find no bound tighter than C."""
    return bool(0.5 * (np.abs(Ky).sum() - Ky.sum()) > FAR * len(Ky))


def largest_margins(
    Ky: Array, folds: Sequence[slice], gammas: GammaRange, h: float, weights: Array | None = None
) -> Array:
    r"""Return tighter upper bounds (n, ridges) of the same margins, row by row.

    ``Ky = P - N + diag(d)`` by sign. Starting from ``0 <= a <= C = 1 / gamma``, with u above a and l below a,

        u_j = (1 + h + N u - P l)_j / (d_j + rho),   l_j = (1 + h - P u + N l)_j / (d_j + rho),   clipped to [0, C]

    and ``z_i <= P_iT u_T - N_iT l_T``.
    """
    w = 1.0 if weights is None else weights[:, None]
    tops, room_below = w / gammas.least, w / gammas.most
    most, least = 2.0 * h * gammas.most / w, 2.0 * h * gammas.least / w
    likes = np.maximum(Ky, 0.0)
    unlikes = likes - Ky
    diagonal = np.diagonal(Ky)[:, None].copy()
    np.fill_diagonal(likes, 0.0)
    upper = np.array(np.broadcast_to(tops, (len(Ky), len(gammas.least))))
    lower = np.zeros_like(upper)
    for _ in range(ROUNDS):
        room = 1.0 + h + unlikes @ upper - at_least(likes, lower, folds)
        need = 1.0 + h - likes @ upper + at_least(unlikes, lower, folds)
        tighter = np.minimum(upper, np.maximum(room, 0.0) / (diagonal + least))
        below = np.minimum(need / (diagonal + most), room_below)
        lower = np.maximum(lower, below)
        still = bool((upper - tighter <= AT_REST * tops).all())
        upper = tighter
        if still:
            break
    return without_own_fold(likes, upper, folds) - without_own_fold(unlikes, lower, folds)


def at_least(A: Array, x: Array, folds: Sequence[slice]) -> Array:
    """Return ``A x`` minus the largest contribution of a fold other than the row's own; ``A, x >= 0``."""
    parts = np.stack([A[:, F] @ x[F] for F in folds])
    total = parts.sum(axis=0)
    for part, F in zip(parts, folds, strict=True):
        part[F] = 0.0
    return np.asarray(total - parts.max(axis=0))
