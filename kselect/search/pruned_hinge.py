r"""The smoothed-hinge SVM with the hinge loss, for the exact selection without the whole surface.

With f the fit on all rows at ``gamma = 2 lam min_F (n - m_F)`` and ``gamma_F >= gamma`` the ridge of the model
without the fold F, adding up what either minimises gives

    sum_F V(f_{-F}) >= sum_F V(f) - (gamma_F - gamma) / 2 ||f||^2,     hinge >= V - h / 4

The training loss rises with the ridge: the ridges that survive are the smallest ones, up to some place that is
close to the one at the neighbouring kernel.
"""

from __future__ import annotations

from collections.abc import Callable

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
from kselect.numerics.linalg import Array
from kselect.numerics.losses import hinge
from kselect.search.intervals import is_far_from_diagonal, largest_margins, margins_at_most
from kselect.search.pruned import Candidate, Grid, Trail


class HingeWidth:
    """One kernel; fits on all rows are made when asked for, from those of a neighbouring kernel."""

    def __init__(self, K: Array, grid: Grid, near: Trail | None, *, h: float) -> None:
        self.grid, self.h = grid, h
        self.signed = SignedKernel.of(K, grid.y, h, "the kernel")
        self.ridges = grid.ridges(2.0)
        self.near = near
        self.survivors = 0
        self.fits: dict[int, HingeSolution] = {}
        self.trainers: dict[tuple[int, float], FoldTrainer] = {}

    def untrained(self, best: float) -> Array:
        """``sum_F max(0, 1 - z)`` with z bounded above; more closely where that leaves a ridge."""
        Ky, slices = self.signed.Ky, self.grid.slices
        bounds = self.losses_at_least(margins_at_most(Ky, slices, self.ridges, self.h))
        left = (bounds.sum(axis=1) <= best).nonzero()[0]
        if len(left) and not is_far_from_diagonal(Ky):
            z = largest_margins(Ky, slices, self.ridges.of(left), self.h)
            bounds[left] = np.maximum(bounds[left], self.losses_at_least(z))
        return bounds

    def losses_at_least(self, z: Array) -> Array:
        """(ridges, folds): the hinge losses of margins (n, ridges)."""
        return self.grid.by_fold(np.maximum(0.0, 1.0 - z.T))

    def fit(self, ridge: int) -> HingeSolution:
        """The fit on all rows at the smallest ridge of a fold."""
        if ridge not in self.fits:
            task = HingeProblem(self.signed, float(self.ridges.least[ridge]))
            if self.near and ridge in self.near.zones:
                zones = zones_of(self.signed, *self.near.zones[ridge])
            else:
                nearest = min(self.fits, key=lambda i: abs(i - ridge), default=None)
                zones = carried_over(task, None if nearest is None else self.fits[nearest])
            self.fits[ridge] = minimise(task, zones)
        return self.fits[ridge]

    def trained(self, ridge: int) -> Array:
        """(folds,): below the loss of each fold, by the fit on all rows."""
        fit, grid = self.fit(ridge), self.grid
        rows = np.array([grid.rows(j) for j in range(len(grid.sizes))])
        spread = (rows - grid.rows()) * float(grid.lams[ridge]) * float(fit.a @ fit.z)
        return grid.by_fold(value(fit.z, self.h)) - 0.25 * self.h * grid.sizes - spread

    def candidates(self, bounds: Array, best: float) -> list[Candidate]:
        """The smallest ridges, as far as the bounds leave them."""
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
        return [Candidate(int(i), tight[i], self.expected(i)) for i in kept]

    def expected(self, ridge: int) -> Array:
        """(folds,): the hinge loss with the fold's coefficients dropped, the others grown to make up for them."""
        fit, grid = self.fits[ridge], self.grid
        z = fit.z.copy()
        for F in grid.slices:
            z[F] -= self.signed.Ky[F, F] @ fit.a[F]
            z[F] *= grid.n / (grid.n - (F.stop - F.start))
        return grid.by_fold(hinge(np.ones_like(z), z))

    def loss(self, ridge: int, fold: int) -> float:
        """The hinge loss on the fold of the model without it."""
        gamma = 2.0 * float(self.grid.lams[ridge]) * self.grid.rows(fold)
        if (ridge, gamma) not in self.trainers:
            alike = sum(
                self.grid.rows(j) == self.grid.rows(fold) for j in range(len(self.grid.sizes))
            )
            zones = self.fits[ridge].zones
            self.trainers[ridge, gamma] = FoldTrainer(self.signed, zones, gamma, alike)
        F = np.arange(self.grid.n)[self.grid.slices[fold]]
        z = self.trainers[ridge, gamma].fit(F).z[F]
        return float(np.maximum(0.0, 1.0 - z).sum())

    def trail(self) -> Trail | None:
        """The zones of the fits."""
        zones = {ridge: (fit.zones.free, fit.zones.top) for ridge, fit in self.fits.items()}
        return Trail(zones, self.survivors) if zones else None


def boundary(survives: Callable[[int], bool], start: int, count: int) -> int:
    """How many of the first positions survive, found from a start near their end."""
    end = start + 1
    if survives(start):
        while end < count and survives(end):
            end += 1
        return end
    while end > 0 and not survives(end - 1):
        end -= 1
    return end
