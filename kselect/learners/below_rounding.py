r"""Predictions that are too small for ``y - e``: the rounding of y hides them, sign and all.

Near ``K = I``, or under a ridge far above K, a held-out row is predicted by many times less than ``eps |y|``,
and still the sign says which class its neighbours are of. So where a closed form leaves a prediction within
its own rounding, it is formed as the sum of small terms that it is. For the rows T without a fold F:

    a = alpha - P 1_F e_F  (0 on F),   f_F = K_FT a_T + b,   b = (1^T y_T - 1^T (K_TT - kappa I) a_T) / (n - m)

Any kappa gives the same b, as ``1^T a = 0``; with the kernel's own diagonal its terms are as small as those of
f. The error is that of a, ``eps cond`` of these terms, as if the model had been trained without F. At ridges
near the smallest numbers a bound may be infinite: then nothing is replaced.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from kselect.learners.small_terms import (
    BATCH,
    SMALL,
    Fitted,
    Mask,
    Sums,
    bias,
    in_blocks,
    in_parts,
    products,
    row_by_row,
)
from kselect.numerics.linalg import Array, Index

NOTHING = Sums(np.zeros((1, 1)), np.zeros((1, 1)))


@dataclass(frozen=True, eq=False)
class Batch:
    """Folds, each with those ridges at which it is in doubt: one vector of coefficients for each of the pairs."""

    folds: tuple[Index, ...]
    positions: tuple[int, ...]
    ridges: Index
    spans: tuple[slice, ...]

    def __iter__(self) -> Iterator[tuple[Index, int, Index, slice]]:
        """(rows of a fold, its position, its ridges, their span among the pairs)."""
        for F, j, span in zip(self.folds, self.positions, self.spans, strict=True):
            yield F, j, self.ridges[span], span


def batches(doubt: Mask, folds: Sequence[Index], positions: Sequence[int]) -> Iterator[Batch]:
    """The folds in doubt, so many together that their coefficients are a matrix of moderate size."""
    if not doubt.any():
        return
    ridges = [np.flatnonzero(doubt[:, folds[j]].any(axis=1)) for j in positions]
    ends = np.cumsum([len(found) for found in ridges])
    numbers = ends * doubt.shape[1] // BATCH
    for number in np.unique(numbers):
        at = [i for i in np.flatnonzero(numbers == number).tolist() if len(ridges[i])]
        if at:
            bounds = np.cumsum([0, *(len(ridges[i]) for i in at)]).tolist()
            yield Batch(
                tuple(folds[positions[i]] for i in at),
                tuple(positions[i] for i in at),
                np.concatenate([ridges[i] for i in at]),
                tuple(slice(*span) for span in pairwise(bounds)),
            )


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def form_fitted(fitted: Fitted, values: Array, b: Array) -> None:
    """Fitted values ``K alpha + b`` in the place of those (n_ridges, n) that are within their rounding."""
    doubt = fitted.doubtful(values)
    rows = np.flatnonzero(doubt.any(axis=0))
    if fitted.bias and len(
        rows
    ):  # b may cancel against K alpha: then its error counts, however large it is
        b = bias_as_sum(fitted, b, np.ones_like(b, dtype=np.bool_))
    for part in in_blocks(len(rows)):
        small = products(fitted.K[rows[part]], fitted.alpha) + Sums(b, np.abs(b)).column
        fitted.put(values, np.ix_(np.arange(len(values)), rows[part]), small, doubt)


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def form_bias(fitted: Fitted, b: Array) -> Array:
    """The biases of the fit; one within its rounding as the sum of its terms."""
    largest = float(np.abs(fitted.y).max())
    doubt = np.abs(b) <= fitted.rounding * largest
    return bias_as_sum(fitted, b, doubt) if doubt.any() else b


def bias_as_sum(fitted: Fitted, b: Array, doubt: Mask) -> Array:
    """The biases in doubt as the sums of their terms, where these are small next to y."""
    largest = float(np.abs(fitted.y).max())
    terms = products(fitted.all_column_sums()[None], fitted.alpha)
    small = bias(fitted.y.sum(), terms, len(fitted.y))
    better = doubt & (small.size[:, 0] <= SMALL * largest)
    return np.where(better, small.settled[:, 0], b)


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def form_held_out(
    fitted: Fitted, held: Array, folds: Sequence[Index], positions: Sequence[int]
) -> None:
    """Predictions by retraining in the place of those (n_ridges, n) that are within their rounding.

    ``positions`` are those of the folds that were held out with these ridges.
    """
    doubt = fitted.doubtful(held)
    outside: Array | None = None
    for batch in batches(doubt, folds, positions):
        if fitted.bias and outside is None:
            outside = fitted.column_sums_outside(folds)
        errors = np.zeros((len(batch.ridges), len(fitted.y)))
        for F, _, ridges, span in batch:
            errors[span, F] = fitted.y[F] - held[ridges[:, None], F]
        a = fitted.alpha[batch.ridges] - fitted.push(batch.ridges, errors)
        for F, j, ridges, span in batch:
            a[span, F] = 0.0
            small = products(fitted.K[F], a[span])
            if outside is not None:
                kept = np.delete(fitted.y, F)
                small += bias(kept.sum(), products(outside[[j]], a[span]), len(kept))
            fitted.put(held, (ridges[:, None], F), small, doubt)


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def form_left_out(fitted: Fitted, held: Array) -> None:
    """The same for leave-one-out; the sums of columns may be a total less a row here, the row's own terms."""
    doubt = fitted.doubtful(held)
    if doubt.any() and not fitted.bias:
        doubt &= ~form_alone(fitted, held, doubt)
    pairs, n = np.argwhere(doubt), len(fitted.y)
    sums = fitted.all_column_sums() if fitted.bias and len(pairs) else None
    for ridges, rows in in_parts(pairs, n):
        at, errors = np.arange(len(rows)), np.zeros((len(rows), n))
        errors[at, rows] = fitted.y[rows] - held[ridges, rows]
        a = fitted.alpha[ridges] - fitted.push(ridges, errors)
        a[at, rows] = 0.0
        K = fitted.K[rows]
        small = row_by_row(K, a)
        if sums is not None:
            small += bias(fitted.y.sum() - fitted.y[rows], row_by_row(sums - K, a), n - 1)
        fitted.put(held, (ridges, rows), small, doubt)


def form_alone(fitted: Fitted, held: Array, doubt: Mask) -> Mask:
    """``f_i = K_i alpha`` without ``K_ii`` where to leave the row out changes no other coefficient that counts.

    By ``e_i sum_j K_ij P_ji``, at most ``|alpha_i| ||G|| sum_j K_ij^2``: one product serves all rows that have
    no neighbours to speak of, and those are in doubt together. Returns for which that was so.
    """
    done = np.zeros_like(doubt)
    rows = np.flatnonzero(doubt.any(axis=0))
    for part in in_blocks(len(rows)):
        at = rows[part]
        K = fitted.K[at]
        K[np.arange(len(at)), at] = 0.0
        small = products(K, fitted.alpha)
        change = np.abs(fitted.alpha[:, at]) * fitted.inverse[:, None] * np.square(K).sum(axis=1)
        done[:, at] = doubt[:, at] & (change <= fitted.rounding[:, None] * small.size)
        fitted.put(held, np.ix_(np.arange(len(held)), at), small, done)
    return done


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def form_series(fitted: Fitted, held: Array, folds: Sequence[Index], order: int) -> None:
    r"""The series of some order in the place of its predictions (n_ridges, n) that are within their rounding.

    ``h_t = y - sum_{q <= t} T^q r`` is ``S z``, with ``z = h_{t-1}`` on F, ``(1 + e) y - e h_{t-1}`` off it,
    ``e = m / (n - m)``, and ``z = y`` for order 0: near ``K = I`` it falls by a factor from order to order.
    With a bias ``1^T z = (1 + e) 1^T (y_T + (K a)_F) - e 1^T (K - kappa I) a``, a being the order before's.
    """
    doubt, n = fitted.doubtful(held), len(fitted.y)
    sums = fitted.all_column_sums()[None] if fitted.bias and doubt.any() else None
    for batch in batches(doubt, folds, range(len(folds))):
        z = np.tile(fitted.y, (len(batch.ridges), 1))
        totals = z.sum(axis=1, keepdims=True)
        for q in range(order + 1):
            a = fitted.push(batch.ridges, z)
            h = z - fitted.gammas[batch.ridges, None] * a
            for F, _, ridges, span in batch:
                terms = NOTHING if sums is None else products(sums, a[span])
                shift = NOTHING if sums is None else bias(totals[span], terms, n)
                small = smooth(fitted, F, ridges, z[span][:, F] - shift.values, a[span])
                if q == order:
                    fitted.put(held, np.ix_(ridges, F), small + shift, doubt)
                e = len(F) / (n - len(F))
                kept = np.delete(fitted.y, F).sum() + small.values.sum(axis=1, keepdims=True)
                totals[span] = (1.0 + e) * kept - e * terms.values
                z[span] = (1.0 + e) * fitted.y - e * h[span]
                z[span, F] = (small + shift).settled


def smooth(fitted: Fitted, F: Index, ridges: Index, z: Array, a: Array) -> Sums:
    """``(K a)_F``, with a_F from the other rows' coefficients: ``(K_FF + gamma I) a_F = z - K_FT a_T``."""
    others = a.copy()
    others[:, F] = 0.0
    small = products(fitted.K[F], others)
    inside, right = fitted.K[np.ix_(F, F)], z - small.values
    own = np.empty_like(right)
    try:
        for i, gamma in enumerate(fitted.gammas[ridges].tolist()):
            own[i] = np.linalg.solve(inside + gamma * np.eye(len(F)), right[i])
    except np.linalg.LinAlgError:  # equal rows and no ridge to speak of: their terms are not small
        return Sums(small.values, np.full_like(small.size, np.inf))
    return small + products(inside, own)
