r"""Held-out predictions under large ridges: few products with K serve all of them.

For the rows T without a fold F the eigenvalues of ``K_TT`` lie between those of K (interlacing), in
``[c - h, c + h]``. Under a ridge far above that spread the inverse is a short Chebyshev series,

    (K_TT + gamma I)^{-1} = (2 / w) sum'_j (-r)^j T_j((K_TT - c I) / h),
    w = sqrt((c + gamma)^2 - h^2),   r = h / (c + gamma + w) < 1,   sum' halves its first term,

and ``z_j = T_j y_T`` does not depend on the ridge: ``f_F = K_FT (K_TT + gamma I)^{-1} y_T`` is the same
combination of ``K_FT z_j``. So p products of K with a vector for each fold hold out every ridge with
``r^p`` below rounding, where the other way takes ``O(n m^2)`` a fold and ridge.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np

from kselect.learners.factor import EPS
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array, Mask

# The first term that is left out, next to the first of all.
TAIL = EPS / 4
# What a call takes beside its arithmetic, in floating-point operations: a product with K, the block of a fold.
PRODUCT, BLOCK = 600_000, 300_000
# Reading K for a product takes as long as so many columns' arithmetic.
READING = 4


@dataclass(frozen=True)
class Spread:
    """The eigenvalues lie in ``[center - half, center + half]``."""

    center: float
    half: float

    @classmethod
    def of(cls, eigenvalues: Array) -> Self:
        """Those of K, descending."""
        largest, least = float(eigenvalues[0]), float(eigenvalues[-1])
        return cls(0.5 * (largest + least), max(0.5 * (largest - least), EPS * largest))

    def width(self, gammas: Array) -> Array:
        """``w``; zero where the ridge is rounding next to the eigenvalues."""
        far = self.center + gammas
        return np.asarray(np.sqrt(np.maximum(far - self.half, 0.0) * (far + self.half)))

    def decay(self, gammas: Array) -> Array:
        """``r``."""
        return np.asarray(self.half / (self.center + gammas + self.width(gammas)))

    def terms(self, gammas: Array) -> Array:
        """How many terms each ridge needs, infinite where the series does not converge."""
        with np.errstate(divide="ignore"):
            speed = -np.log(self.decay(gammas))
            return np.where(speed > 0, np.ceil(-np.log(TAIL) / speed), np.inf)

    def coefficients(self, gammas: Array, count: int) -> Array:
        """(n_ridges, count): those of ``(2 / h) K_FT z_j``."""
        powers = (-self.decay(gammas))[:, None] ** np.arange(count)
        powers[:, 0] = 0.5
        return np.asarray((self.half / self.width(gammas))[:, None] * powers)


@dataclass(frozen=True, eq=False)
class LargeRidges:
    """The ridges that a series holds out, and its number of terms; ``gammas`` are by the size of the folds."""

    folds: Folds
    gammas: Mapping[int, Array]
    spread: Spread
    served: Mask
    count: int

    @classmethod
    def of(
        cls, eigenvalues: Array, folds: Folds, gammas: Mapping[int, Array], targets: int
    ) -> Self:
        """Those that take less time than by one block a fold and ridge; perhaps none."""
        spread = Spread.of(eigenvalues)
        terms = np.max([spread.terms(ridges) for ridges in gammas.values()], axis=0)
        count = worthwhile(terms, targets, folds)
        return cls(folds, gammas, spread, terms <= count, count)

    def predictions(self, K: Array, targets: Array) -> Array:
        """(targets, ridges that are served, n)."""
        terms = images(K, targets, self.folds, self.spread, self.count)
        out = np.empty((len(targets), int(self.served.sum()), self.folds.n))
        for m, positions in self.folds.by_size.items():
            rows = np.concatenate([self.folds.members[i] for i in positions])
            weights = self.spread.coefficients(self.gammas[m][self.served], self.count)
            out[:, :, rows] = weights @ terms[:, :, rows]
        return out


def worthwhile(terms: Array, targets: int, folds: Folds) -> int:
    """The number of terms that saves most; 0 where none saves anything."""
    sizes = np.array([len(F) for F in folds.members])
    columns = targets * len(sizes)
    product = 2.0 * folds.n**2 * (columns + READING) + PRODUCT
    blocks = float((2.0 * np.square(sizes) * (folds.n + sizes) + BLOCK).sum())
    counts = np.unique(terms[np.isfinite(terms)])
    saved = np.searchsorted(np.sort(terms), counts, side="right") * blocks - counts * product
    return int(counts[saved.argmax()]) if saved.max(initial=0.0) > 0.0 else 0


def images(K: Array, targets: Array, folds: Folds, spread: Spread, count: int) -> Array:
    """``(2 / h) K_FT T_j y_T`` for every fold F: (targets, count, n), each row from its own fold."""
    (q, n), k = targets.shape, len(folds.members)
    own = np.arange(q)[:, None] * k + folds.numbers, np.arange(n)
    scale, shift = 2.0 / spread.half, 2.0 * spread.center / spread.half
    out = np.empty((q, count, n))
    before, z = np.zeros((q * k, n)), np.repeat(targets, k, axis=0)
    z[own] = 0.0
    for j in range(count):
        after = z @ K
        after *= scale
        out[:, j] = after[own]
        after -= shift * z
        after[own] = 0.0
        if j == 0:
            after *= 0.5
        else:
            after -= before
        before, z = z, after
    return out
