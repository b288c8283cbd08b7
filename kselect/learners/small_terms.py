r"""Sums of small terms, for predictions that the closed form ``y - e`` cannot tell from 0.

A difference is rounded as y is; a sum as its largest term is. So a prediction in doubt is replaced where its
terms are small next to y and e, and otherwise stays, bit for bit. What is within a few roundings of its own
terms, sum or difference, is 0, which the zero-one loss counts as wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kselect.numerics.linalg import Array, Index

Mask = NDArray[np.bool_]
EPS = float(np.finfo(np.float64).eps)
# Terms of at most this share of ``|y| + |e|`` make a better sum than the closed form is a difference.
SMALL = 0.125
# Roundings of its terms within which a sum is 0.
ZERO = 2.0
# What a closed form takes: a factorisation, products, a solve.
STEPS = 8.0
# Rows of the kernel that are copied at once.
ROWS = 256
# Numbers in a batch of coefficients: eight megabytes.
BATCH = 1_000_000


@dataclass(frozen=True, eq=False)
class Sums:
    """Predictions, and the sums of the absolute values of their terms."""

    values: Array
    size: Array

    def __add__(self, other: Sums) -> Sums:
        return Sums(self.values + other.values, self.size + other.size)

    @property
    def column(self) -> Sums:
        """(n_ridges, 1): the same for every row that is predicted."""
        return Sums(self.values[:, None], self.size[:, None])

    @property
    def settled(self) -> Array:
        """The values, 0 where they are within the rounding of their terms."""
        return np.where(np.abs(self.values) <= ZERO * EPS * self.size, 0.0, self.values)


@dataclass(frozen=True, eq=False)
class Fitted:
    """The fit on all rows for every ridge: gammas (n_ridges,), alpha (n_ridges, n).

    ``push(ridges, v)`` is ``P v`` for rows v, one ridge for each; ``rounding`` (n_ridges,) what a closed
    form may be off, relative to ``|y| + |e|``; ``inverse`` (n_ridges,) the norm of ``(K + gamma I)^{-1}``.
    """

    K: Array
    y: Array
    gammas: Array
    alpha: Array
    push: Callable[[Index, Array], Array]
    rounding: Array
    inverse: Array
    bias: bool

    def doubtful(self, values: Array) -> Mask:
        """Which of the closed form's (n_ridges, n) are within their rounding."""
        return doubtful(self.y, values, self.rounding)

    def column_sums(self, rows: Index) -> Array:
        """``sum_j (K - kappa I)_ji`` over some rows j; kappa is the first of the diagonal, of most kernels all."""
        block = self.K[rows]
        block[np.arange(len(rows)), rows] -= self.K[0, 0]
        return np.asarray(block.sum(axis=0))

    def all_column_sums(self) -> Array:
        """The same over all rows."""
        blocks = in_blocks(len(self.y))
        return np.asarray(np.sum([self.column_sums(rows) for rows in blocks], axis=0))

    def column_sums_outside(self, folds: Sequence[Index]) -> Array:
        """(folds, n): the same over the rows outside each fold."""
        return sums_of_others([partial(self.column_sums, F) for F in folds])

    def put(self, values: Array, where: Any, small: Sums, doubt: Mask) -> None:
        """Replace those of ``values[where]`` that are in doubt."""
        put(self.y, values, where, small, doubt)


def doubtful(y: Array, values: Array, rounding: Array) -> Mask:
    """Which of the differences ``y - e`` (n_ridges, n) are within the rounding of their closed form."""
    size = np.abs(y) + np.abs(y - values)
    return np.asarray(np.abs(values) <= rounding[:, None] * size)


def put(y: Array, values: Array, where: Any, small: Sums, doubt: Mask) -> None:
    """Replace those in doubt of ``values[where]``: by a sum of small terms, by 0, or not at all.

    ``where`` is a pair of indices, of ridges and rows, that broadcast to the shape of the sums.
    """
    rows, closed = y[where[1]], values[where]
    difference = Sums(closed, np.abs(rows) + np.abs(rows - closed))
    better = np.where(small.size <= SMALL * difference.size, small.settled, difference.settled)
    values[where] = np.where(doubt[where], better, closed)


def sums_of_others(parts: Sequence[Callable[[], Array]]) -> Array:
    """For each part the sum of all others: of those before it and those after it.

    Taken off a total, a part would leave its rounding. The parts are computed twice, and not kept.
    """
    out: list[Array | float] = [0.0] * len(parts)
    for order in (range(len(parts)), range(len(parts) - 1, -1, -1)):
        passed: Array | float = 0.0
        for j in order:
            out[j] = out[j] + passed
            passed = passed + parts[j]()
    return np.array(out)


def in_parts(pairs: Index, width: int) -> list[Index]:
    """Pairs (ridge, row) as two arrays each time, so many that ``width`` numbers for each make a batch."""
    parts = min(len(pairs), 1 + len(pairs) * width // BATCH)
    return [part.T for part in np.array_split(pairs, parts)] if parts else []


def in_blocks(n: int) -> list[Index]:
    """n rows, few at a time."""
    return np.array_split(np.arange(n), -(-n // ROWS)) if n else []


def closed_form_rounding(n: int, largest: Array, least: Array, total: Array | None) -> Array:
    """Some ``n eps cond(K + gamma I)`` for each ridge, from the eigenvalues at both ends; at most ``SMALL``.

    With a bias P is a difference too, and worse by ``2 sqrt(n ||G|| / (1^T p))``; ``total`` is ``1^T p``.
    """
    with np.errstate(over="ignore", divide="ignore"):
        growth = 1.0 if total is None else 1.0 + 2.0 * np.sqrt(n / (least * total))
        return np.asarray(np.minimum(SMALL, STEPS * n * EPS * largest / least * growth))


def products(K: Array, a: Array) -> Sums:
    """``K a`` for every row of a."""
    return Sums(a @ K.T, np.abs(a) @ np.abs(K).T)


def row_by_row(K: Array, a: Array) -> Sums:
    """``K_p a_p`` of every row of K with the row of a beside it."""
    size = np.einsum("pn,pn->p", np.abs(K), np.abs(a))
    return Sums(np.einsum("pn,pn->p", K, a), size)


def bias(total: Array | float, terms: Sums, n: Array | int) -> Sums:
    """``b = (1^T z - 1^T (K - kappa I) a) / n`` for n targets z; the terms are what the columns' sums give."""
    return Sums((total - terms.values) / n, (np.abs(total) + terms.size) / n)
