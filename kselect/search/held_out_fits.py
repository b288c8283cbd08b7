r"""FLKL's inner minima on the training parts of folds, and how the held-out errors move with (lam, mu).

Implicit differentiation of the inner optimum among the free widths (mathematics, section 8):

    d theta / d log lam = -H^{-1} (g_data + lam^2 U^T P alpha),    d theta / d log mu = -H^{-1} mu theta
    d alpha = -P c,  d b = -p^T c / (1^T p),  c = lam alpha d log lam + U d theta

A fold follows its minimum along that tangent. Where the minimum ceases to be one, the next is another's: a change
of branch, at which the held-out errors jump.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kselect.kernels.widths import Widths
from kselect.numerics.linalg import Array, Index
from kselect.search.first_level import Inner, Point, Settled, settle

# A fold's widths are near enough where a step would be this share of them: it is made in the errors alone.
NEAR = 3e-3
# A width is followed by at most this factor at once, as a logarithm.
FARTHEST = 3.0
# The same minimum's widths change by no larger factor at once; a correction that is small whatever was predicted.
CHANGE = 3.0
SMALL = 0.05
# The shortest part of a way along which a minimum is followed before it is given up for lost.
SHORTEST = 1.0 / 32.0


@dataclass(frozen=True, eq=False)
class Fold:
    """The inner problem on the rows that are left when a fold is held out, and the fold's rows."""

    widths: Widths
    across: Widths
    y: Array
    targets: Array

    @classmethod
    def of(cls, widths: Widths, y: Array, held: Index) -> Fold:
        """Training and validation rows of one fold."""
        rest = np.setdiff1d(np.arange(len(y)), held)
        return cls(widths.part(rest, rest), widths.part(held, rest), y[rest], y[held])

    def inner(self, u: Array) -> Inner:
        """The inner problem at ``u = (log lam, log mu)``."""
        return Inner(self.widths, self.y, float(np.exp(u[0])), float(np.exp(u[1])))

    def fit(self, u: Array, start: Array, near: float = NEAR) -> FoldFit:
        """The inner minimum that a start leads to."""
        found = settle(self.inner(u), start, near)
        return FoldFit(self, u, found, found.evaluations)


@dataclass(frozen=True, eq=False)
class FoldFit:
    """An inner minimum of a fold; ``jumped`` if it is not the continuation of the one that it was reached from."""

    fold: Fold
    u: Array
    settled: Settled
    evaluations: int
    jumped: bool = False

    @cached_property
    def across(self) -> Array:
        """The kernel of the rows held out against the others."""
        return self.fold.across.gram(self.settled.point.theta)

    @cached_property
    def tangent(self) -> Array:
        """``d theta / d (log lam, log mu)``."""
        return tangent(self.settled.point)

    @cached_property
    def responses(self) -> Array:
        """How the errors move with log lam, with log mu, and with the last move of the widths, as columns."""
        point = self.settled.point
        moves = np.column_stack([self.tangent, self.settled.pending])
        change = point.U @ moves
        change[:, 0] += point.problem.lam * point.solution.alpha
        dual = point.solution.projected(change)
        by_dual = self.across @ dual + point.solution.biases(change)
        by_kernel = self.fold.across.moments(self.across, point.solution.alpha).applied @ moves
        return np.asarray(by_dual + by_kernel)

    @cached_property
    def errors(self) -> Array:
        """``y - f`` on the rows held out, of the model after the last move."""
        solution = self.settled.point.solution
        raw = self.fold.targets - self.across @ solution.alpha - solution.bias
        return np.asarray(raw + self.responses[:, 2])

    @property
    def jacobian(self) -> Array:
        """``d errors / d (log lam, log mu)``."""
        return self.responses[:, :2]

    def ahead(self, s: Array) -> Array:
        """Where the tangent puts the widths at ``u + s``; in logarithms, as they stay positive there."""
        found = self.settled.theta
        positive = found > 0.0
        logs = (self.tangent @ s)[positive] / found[positive]
        found[positive] *= np.exp(np.clip(logs, -FARTHEST, FARTHEST))
        return found


def tangent(point: Point) -> Array:
    """``d theta / d (log lam, log mu)`` along the branch of inner minima, (widths, 2)."""
    free, lam = point.free, point.problem.lam
    pulled = point.solution.projected(point.solution.alpha[:, None])[:, 0]
    by_lam = point.data_gradient[free] + lam**2 * (point.U[:, free].T @ pulled)
    by_mu = point.problem.mu * point.theta[free]
    model = point.quadratic
    right = model.axes.T @ np.column_stack([by_lam, by_mu])
    moves = np.zeros((len(point.theta), 2))
    moves[free] = -model.axes @ (right / model.curvatures[:, None])
    return moves


def follow(fit: FoldFit, s: Array) -> FoldFit:
    """The fit at ``u + s``: Newton from the tangent's end, or in parts where that was not a plain descent."""
    direct, plain = leap(fit, s)
    return direct if plain else in_parts(fit, s, direct)


def leap(fit: FoldFit, s: Array) -> tuple[FoldFit, bool]:
    """The fit from the tangent's end, and whether it surely is the same minimum.

    It is if Newton had to make no more than a correction, and the widths are not all others at once.
    """
    ahead = fit.ahead(s)
    found = fit.fold.fit(fit.u + s, ahead)
    old, new = fit.settled.theta, found.settled.theta
    sizes = np.linalg.norm(old), np.linalg.norm(new)
    moved = np.linalg.norm(new - old)
    corrected = np.linalg.norm(new - ahead)
    alike = sizes[0] <= CHANGE * sizes[1] and sizes[1] <= CHANGE * sizes[0]
    return found, found.settled.straight and alike and corrected <= 0.5 * moved + SMALL * max(sizes)


def in_parts(fit: FoldFit, s: Array, direct: FoldFit) -> FoldFit:
    """The way to ``u + s`` in parts, halved where Newton leaves them; the direct fit if the minimum is lost."""
    here, done, part, used = fit, 0.0, 0.5, direct.evaluations
    while done < 1.0:
        part = min(part, 1.0 - done)
        there, plain = leap(here, part * s)
        used += there.evaluations
        if plain:
            here, done = there, done + part
        elif part <= SHORTEST:
            return FoldFit(fit.fold, direct.u, direct.settled, used, jumped=True)
        else:
            part *= 0.5
    return FoldFit(fit.fold, here.u, here.settled, used)
