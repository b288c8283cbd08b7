r"""FLKL's inner minima on the training parts of folds, and how the held-out errors move with (lam, mu).

Implicit differentiation of the inner optimum among the free widths (mathematics, section 8):

    d theta / d log lam = -H^{-1} (g_data + lam^2 U^T P alpha),    d theta / d log mu = -H^{-1} mu theta
    d alpha = -P c,  d b = -p^T c / (1^T p),  c = lam alpha d log lam + U d theta

A fold follows its minimum along that tangent. Where the minimum ceases to be one, the next is another's: a change
of branch, at which the held-out errors jump.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kselect.kernels.widths import KernelWidths
from kselect.numerics.linalg import Array, Index
from kselect.search.continuous import State
from kselect.search.first_level import Inner, Point, Settled, settle

# A fold's widths are near enough where a step would be this share of them: it is made in the errors alone, which
# leaves a share of the objective of 1e-8 mostly and of 5e-6 at most (heart, twonorm, waveform).
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

    widths: KernelWidths
    across: KernelWidths
    y: Array
    targets: Array

    @classmethod
    def of(cls, widths: KernelWidths, y: Array, held: Index) -> Fold:
        """Training and validation rows of one fold."""
        rest = np.delete(np.arange(len(y)), held)
        return cls(widths.part(rest, rest), widths.part(held, rest), y[rest], y[held])

    def inner(self, u: Array) -> Inner:
        """The inner problem at ``u = (log lam, log mu)``."""
        return Inner(self.widths, self.y, float(np.exp(u[0])), float(np.exp(u[1])))

    def fit(self, u: Array, start: Array, near: float = NEAR) -> FoldFit:
        """The inner minimum that a start leads to."""
        return FoldFit.of(self, u, settle(self.inner(u), start, near))


@dataclass(frozen=True, eq=False)
class FoldFit:
    """An inner minimum of a fold; ``jumped`` if it is not the continuation of the one that it was reached from.

    It keeps what the outer search asks for and none of the matrices behind it, whose room the next fit takes.
    ``tangent`` is ``d theta / d (log lam, log mu)``; ``errors`` are ``y - f`` on the rows held out, ``jacobian``
    theirs; widths and errors are those after the last move, which is ``unmade`` times as long as the widths.
    """

    fold: Fold
    u: Array
    theta: Array
    tangent: Array
    errors: Array
    jacobian: Array
    state: State
    straight: bool
    evaluations: int
    unmade: float
    jumped: bool = False

    @classmethod
    def of(cls, fold: Fold, u: Array, found: Settled) -> FoldFit:
        """The errors of a minimum, and how they move."""
        moves = tangent(found.point)
        errors, moving = held_out(fold, found.point, np.column_stack([moves, found.pending]))
        return cls(
            fold,
            u,
            found.theta,
            moves,
            errors + moving[:, 2],
            moving[:, :2],
            found.state,
            found.straight,
            found.evaluations,
            found.unmade,
        )

    def sharper(self, near: float) -> FoldFit:
        """The same minimum, the last move made if it was longer than ``near``; counting from here on."""
        if self.unmade > near:
            return self.fold.fit(self.u, self.theta, near)
        return replace(self, evaluations=0, jumped=False)

    def ahead(self, s: Array) -> Array:
        """Where the tangent puts the widths at ``u + s``; in logarithms, as they stay positive there."""
        found = self.theta.copy()
        positive = found > 0.0
        logs = (self.tangent @ s)[positive] / found[positive]
        found[positive] *= np.exp(np.clip(logs, -FARTHEST, FARTHEST))
        return found


def held_out(fold: Fold, point: Point, moves: Array) -> tuple[Array, Array]:
    """The errors at a point, and how they move with log lam, with log mu, and with the last move, as columns.

    ``moves`` are those of the widths, of the free ones alone.
    """
    solution, free, lam = point.solution, moves[point.free], point.problem.lam
    dual = point.pulled[:, 1:] @ free
    dual[:, 0] += lam * point.pulled[:, 0]
    change = point.U[:, point.free] @ free
    change[:, 0] += lam * solution.alpha
    across = fold.across.gram(point.theta)
    by_kernel = fold.across.moments(across, solution.alpha).applied @ moves
    errors = fold.targets - across @ solution.alpha - solution.bias
    return errors, across @ dual + solution.biases(change) + by_kernel


def tangent(point: Point) -> Array:
    """``d theta / d (log lam, log mu)`` along the branch of inner minima, (widths, 2)."""
    free, lam = point.free, point.problem.lam
    by_lam = point.data_gradient[free] + lam**2 * (point.U[:, free].T @ point.pulled[:, 0])
    by_mu = point.problem.mu * point.theta[free]
    model = point.quadratic
    right = model.axes.T @ np.column_stack([by_lam, by_mu])
    moves = np.zeros((len(point.theta), 2))
    moves[free] = -model.axes @ (right / model.curvatures[:, None])
    return moves


def follow_all(fits: Sequence[FoldFit], s: Array, near: float = NEAR) -> tuple[FoldFit, ...]:
    """All folds at ``u + s``.

    The folds share most of their rows, and so the bend of their minima: each starts from its tangent's end with
    the mean correction, as logarithms, of those that have gone before it.
    """
    found: list[FoldFit] = []
    bends: list[Array] = []
    for fit in fits:
        bend = np.mean(bends, axis=0) if bends else np.zeros_like(fit.theta)
        there = follow(fit, s, bend, near)
        found.append(there)
        if not there.jumped:
            bends.append(between(fit.ahead(s), there.theta))
    return tuple(found)


def between(ahead: Array, theta: Array) -> Array:
    """``log(theta / ahead)``, zero where a width has left or come from its bound."""
    both = (ahead > 0.0) & (theta > 0.0)
    ratio = np.divide(theta, ahead, out=np.ones_like(theta), where=both)
    return np.asarray(np.log(np.where(both, ratio, 1.0)))


def follow(fit: FoldFit, s: Array, bend: Array | float = 0.0, near: float = NEAR) -> FoldFit:
    """The fit at ``u + s``: Newton from the tangent's end, or in parts where that was not a plain descent.

    ``bend`` is how far from the tangent's end the widths are expected, as logarithms.
    """
    direct, plain = leap(fit, s, bend, near)
    return direct if plain else in_parts(fit, s, direct, near)


def leap(
    fit: FoldFit, s: Array, bend: Array | float = 0.0, near: float = NEAR
) -> tuple[FoldFit, bool]:
    """The fit from the tangent's end, and whether it surely is the same minimum.

    It is if Newton had to make no more than a correction, and the widths are not all others at once.
    """
    ahead = fit.ahead(s)
    found = fit.fold.fit(fit.u + s, ahead * np.exp(bend), near)
    old, new = fit.theta, found.theta
    sizes = np.linalg.norm(old), np.linalg.norm(new)
    moved = np.linalg.norm(new - old)
    small = bool(np.linalg.norm(new - ahead) <= 0.5 * moved + SMALL * max(sizes))
    alike = bool(sizes[0] <= CHANGE * sizes[1] and sizes[1] <= CHANGE * sizes[0])
    return found, found.straight and alike and small


def in_parts(fit: FoldFit, s: Array, direct: FoldFit, near: float) -> FoldFit:
    """The way to ``u + s`` in parts, halved where Newton leaves them; the direct fit if the minimum is lost."""
    here, done, part, used = fit, 0.0, 0.5, direct.evaluations
    while done < 1.0:
        part = min(part, 1.0 - done)
        there, plain = leap(here, part * s, near=near)
        used += there.evaluations
        if plain:
            here, done = there, done + part
        elif part <= SHORTEST:
            return replace(direct, evaluations=used, jumped=True)
        else:
            part *= 0.5
    return replace(here, evaluations=used)
