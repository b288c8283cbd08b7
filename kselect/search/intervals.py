r"""Bounds on held-out losses before anything is trained, where a kernel is not far from diagonal.

A model trained on the rows T has ``a_j`` from its own row of the optimality conditions, the other rows' shares
bounded above and below; going round a few times tightens the bounds. What a row of the fold is given is then
bounded too. They hold for the model without any fold at once: where a fold's absence would help, the fold that
helps most is taken to be the one that is absent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kselect.numerics.linalg import Array, Index

ROUNDS = 12
# The bounds have come to rest, relative to C.
AT_REST = 1e-3
# The mean share of unlike rows beyond which nothing is bounded but by C.
FAR = 2.5


@dataclass(frozen=True, eq=False)
class Blocks:
    """A square matrix whose rows and columns are in the order of the folds, and where each fold lies."""

    whole: Array
    folds: Sequence[slice]

    def parts(self, x: Array) -> Array:
        """(folds, n, columns): ``A_{:F} x_F`` of each fold; their sum is ``A x``."""
        return np.stack([self.whole[:, F] @ x[F] for F in self.folds])

    def at_least(self, x: Array) -> Array:
        """``A x`` less the largest share of a fold that is not the row's own; ``A, x >= 0``."""
        parts = self.parts(x)
        total = parts.sum(axis=0)
        for part, F in zip(parts, self.folds, strict=True):
            part[F] = 0.0
        return np.asarray(total - parts.max(axis=0))

    def from_others(self, x: Array) -> Array:
        """Each row's ``A_{iT} x_T``, T being the rows of the other folds."""
        out = self.whole @ x
        for F in self.folds:
            out[F] -= self.whole[F, F] @ x[F]
        return out


@dataclass(frozen=True, eq=False)
class Ridges:
    """``gamma`` of every ridge, the smallest and the largest over folds: a bound must hold for all of them."""

    least: Array
    most: Array

    def of(self, chosen: Index) -> Ridges:
        """Some of them."""
        return Ridges(self.least[chosen], self.most[chosen])


def margins_at_most(Ky: Array, folds: Sequence[slice], ridges: Ridges, h: float) -> Array:
    r"""(n, ridges): above the margin of each row held out, by the smoothed-hinge SVM of every ridge.

    ``z_i <= min(C, (1 + h) / (d + rho - r)) sum_{j in T} max(Ky_ij, 0)``, r being the largest sum over unlike rows,
    where it is below ``d + rho``, d the smallest ``K_ii``: mathematics' bound 1.
    """
    size = Blocks(np.abs(Ky), folds)
    ones = np.ones((len(Ky), 1))
    sums = Ky.sum(axis=1)
    unlike = 0.5 * float((size.whole.sum(axis=1) - sums).max())
    likes = 0.5 * (size.from_others(ones) + Blocks(Ky, folds).from_others(ones))
    slack = float(np.diagonal(Ky).min()) + 2.0 * h * ridges.least - unlike
    bounded = (1.0 + h) / np.where(slack > 0, slack, np.inf)
    return likes * np.where(slack > 0, np.minimum(bounded, 1.0 / ridges.least), 1.0 / ridges.least)


def is_far_from_diagonal(Ky: Array) -> bool:
    """Whether going round the rows would bound nothing but by C."""
    return bool(0.5 * (np.abs(Ky).sum() - Ky.sum()) > FAR * len(Ky))


def largest_margins(Ky: Array, folds: Sequence[slice], ridges: Ridges, h: float) -> Array:
    r"""(n, ridges): a tighter bound of the same, row by row.

    ``Ky = P - N + diag(d)`` by sign. From ``0 <= a <= C = 1 / gamma`` on, with u above a and l below it,

        u_j = (1 + h + N u - P l)_j / (d_j + rho),   l_j = (1 + h - P u + N l)_j / (d_j + rho),   cut to [0, C]

    and ``z_i <= P_iT u_T - N_iT l_T``.
    """
    tops = 1.0 / ridges.least
    likes = Blocks(np.maximum(Ky, 0.0), folds)
    unlikes = Blocks(likes.whole - Ky, folds)
    diagonal = np.diagonal(Ky)[:, None].copy()
    np.fill_diagonal(likes.whole, 0.0)
    upper = np.tile(tops, (len(Ky), 1))
    lower = np.zeros_like(upper)
    for _ in range(ROUNDS):
        room = 1.0 + h + unlikes.whole @ upper - likes.at_least(lower)
        need = 1.0 + h - likes.whole @ upper + unlikes.at_least(lower)
        tighter = np.minimum(upper, np.maximum(room, 0.0) / (diagonal + 2.0 * h * ridges.least))
        at_least = np.minimum(need / (diagonal + 2.0 * h * ridges.most), 1.0 / ridges.most)
        lower = np.maximum(lower, at_least)
        still = bool((upper - tighter <= AT_REST * tops).all())
        upper = tighter
        if still:
            break
    return likes.from_others(upper) - unlikes.from_others(lower)


def largest_fits(K: Array, folds: Sequence[slice], y: Array, ridges: Ridges) -> Array:
    r"""(n, ridges): above ``|f_i|`` of each row held out, by kernel ridge regression of every ridge.

    ``(K_TT + gamma I) alpha = y`` gives ``|alpha_j| <= |y| / gamma``; with b an upper bound of ``|alpha|``,

        b_j = (|y_j| + sum_{l != j} |K_jl| b_l) / (K_jj + gamma),   |f_i| <= sum_{j in T} |K_ij| b_j
    """
    size = np.abs(K)
    diagonal = np.diagonal(K)[:, None] + ridges.least
    np.fill_diagonal(size, 0.0)
    bound = np.tile(np.linalg.norm(y) / ridges.least, (len(y), 1))
    if size.sum() <= FAR * len(K):
        for _ in range(ROUNDS):
            tighter = (np.abs(y)[:, None] + size @ bound) / diagonal
            still = bool((bound - tighter <= AT_REST * bound).all())
            bound = np.minimum(bound, tighter)
            if still:
                break
    return Blocks(size, folds).from_others(bound)
