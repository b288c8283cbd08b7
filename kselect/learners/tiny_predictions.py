r"""Predictions that are too small for ``y - e``: the rounding error of y hides them, including their sign.

Near ``K = I``, or under a ridge far above K, a held-out row has a prediction far smaller than ``eps |y|``, yet
its sign still identifies the class of its neighbours. If a closed form leaves a prediction within its own
rounding error (the prediction is then *in doubt*), it is recomputed as a sum of small terms. A difference is
rounded as y is, a sum as its largest term is. So the sum is used if its terms are small next to y and e;
otherwise the prediction stays, bit for bit. A prediction within a few roundings of its own terms is set to 0,
which the zero-one loss counts as wrong. For the rows T without a fold F:

    a = alpha - P 1_F e_F  (0 on F),   f_F = K_FT a_T + b,   b = (1^T y_T - 1^T (K_TT - kappa I) a_T) / (n - m)

Any kappa gives the same b, as ``1^T a = 0``; with the diagonal of the kernel its terms are as small as the
terms of f. The error of a is ``eps cond`` of these terms, as if the model had been trained without F. At ridges
near the smallest numbers a bound may be infinite; then nothing is replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from kselect.numerics.linalg import EPS, Array, Index, Mask

# A sum is better than the closed form's difference if its terms are at most this share of ``|y| + |e|``.
SMALL = 0.125
# A sum within this many roundings of its terms is 0.
ZERO = 2.0
# The number of rounding steps of a closed form: a factorisation, products, a solve.
STEPS = 8.0
# The number of rows of the kernel that are copied at once.
ROWS = 256
# The number of coefficients in a batch: eight megabytes.
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
        """The same as (n_ridges, 1), to add it to every predicted row."""
        return Sums(self.values[:, None], self.size[:, None])

    @property
    def settled(self) -> Array:
        """The values, 0 if they are within the rounding error of their terms."""
        return np.where(np.abs(self.values) <= ZERO * EPS * self.size, 0.0, self.values)


NOTHING = Sums(np.zeros((1, 1)), np.zeros((1, 1)))


def products(K: Array, a: Array) -> Sums:
    """Return ``K a`` for every row of a."""
    return Sums(a @ K.T, np.abs(a) @ np.abs(K).T)


def row_by_row(K: Array, a: Array) -> Sums:
    """Return ``K_p a_p`` for each row of K and the same row of a."""
    size = np.einsum("pn,pn->p", np.abs(K), np.abs(a))
    return Sums(np.einsum("pn,pn->p", K, a), size)


def bias(total: Array | float, terms: Sums, n: Array | int) -> Sums:
    """Return ``b = (1^T z - 1^T (K - kappa I) a) / n`` for n targets z; ``terms`` is the product in it."""
    return Sums((total - terms.values) / n, (np.abs(total) + terms.size) / n)


def doubtful(y: Array, values: Array, rounding: Array) -> Mask:
    """Return which differences ``y - e`` (n_ridges, n) are within the rounding error of their closed form."""
    size = np.abs(y) + np.abs(y - values)
    return np.asarray(np.abs(values) <= rounding[:, None] * size)


def put(y: Array, values: Array, where: Any, small: Sums, doubt: Mask) -> None:
    """Replace ``values[where]`` that are in doubt: by a sum of small terms, by 0, or not at all.

    ``where`` is a pair of index arrays, of ridges and of rows, that broadcast to the shape of the sums.
    """
    rows, closed = y[where[1]], values[where]
    difference = Sums(closed, np.abs(rows) + np.abs(rows - closed))
    better = np.where(small.size <= SMALL * difference.size, small.settled, difference.settled)
    values[where] = np.where(doubt[where], better, closed)


def sums_of_others(parts: Sequence[Callable[[], Array]]) -> Array:
    """Return for each part the sum of all others: of those before it and those after it.

    Subtracting a part from the total would leave its rounding error. The parts are computed twice, not stored.
    """
    out: list[Array | float] = [0.0] * len(parts)
    for order in (range(len(parts)), range(len(parts) - 1, -1, -1)):
        passed: Array | float = 0.0
        for j in order:
            out[j] = out[j] + passed
            passed = passed + parts[j]()
    return np.array(out)


def in_parts(pairs: Index, width: int) -> list[Index]:
    """Split pairs (ridge, row) so that each part needs at most a batch of numbers, ``width`` per pair.

    Each part is an array of ridges and one of rows.
    """
    parts = min(len(pairs), 1 + len(pairs) * width // BATCH)
    return [part.T for part in np.array_split(pairs, parts)] if parts else []


def in_blocks(n: int) -> list[Index]:
    """Split n rows into blocks of at most ``ROWS``."""
    return np.array_split(np.arange(n), -(-n // ROWS)) if n else []


def closed_form_rounding(n: int, largest: Array, least: Array, total: Array | None) -> Array:
    """Return about ``n eps cond(K + gamma I)`` per ridge, from the extreme eigenvalues; at most ``SMALL``.

    With a bias, P is a difference too, which is worse by ``2 sqrt(n ||G|| / (1^T p))``; ``total`` is ``1^T p``.
    """
    with np.errstate(over="ignore", divide="ignore"):
        growth = 1.0 if total is None else 1.0 + 2.0 * np.sqrt(n / (least * total))
        return np.asarray(np.minimum(SMALL, STEPS * n * EPS * largest / least * growth))


@dataclass(frozen=True, eq=False)
class Fitted:
    """The fit on all rows for every ridge, with what it takes to recompute its predictions as sums.

    Parameters
    ----------
    gammas, alpha : the ridges (n_ridges,) and the coefficients (n_ridges, n).
    push : ``push(ridges, v)`` is ``P v`` for the rows of v, one ridge for each.
    rounding : the relative rounding error of a closed form next to ``|y| + |e|``, per ridge.
    inverse : the norm of ``(K + gamma I)^{-1}``, per ridge.
    """

    K: Array
    y: Array
    gammas: Array
    alpha: Array
    push: Callable[[Index, Array], Array]
    rounding: Array
    inverse: Array
    bias: bool

    def column_sums(self, rows: Index) -> Array:
        """Return ``sum_j (K - kappa I)_ji`` over some rows j; kappa is the diagonal's first element."""
        block = self.K[rows]
        block[np.arange(len(rows)), rows] -= self.K[0, 0]
        return np.asarray(block.sum(axis=0))

    def all_column_sums(self) -> Array:
        """Return the same over all rows."""
        blocks = in_blocks(len(self.y))
        return np.asarray(np.sum([self.column_sums(rows) for rows in blocks], axis=0))


class Batch(NamedTuple):
    """Pairs of a fold and a ridge at which the fold is in doubt: a vector of coefficients each.

    ``ridges`` are the ridges of all pairs. ``parts`` has for each fold its rows, its position, its ridges and
    their span among the pairs.
    """

    ridges: Index
    parts: list[tuple[Index, int, Index, slice]]


def batches(doubt: Mask, folds: Sequence[Index], positions: Sequence[int]) -> Iterator[Batch]:
    """Yield the folds in doubt, in batches whose coefficients form a matrix of moderate size."""
    if not doubt.any():
        return
    ridges = [np.flatnonzero(doubt[:, folds[j]].any(axis=1)) for j in positions]
    numbers = np.cumsum([len(found) for found in ridges]) * doubt.shape[1] // BATCH
    for number in np.unique(numbers):
        at = [i for i in np.flatnonzero(numbers == number).tolist() if len(ridges[i])]
        ends = np.cumsum([len(ridges[i]) for i in at]).tolist()
        if at:
            yield Batch(
                np.concatenate([ridges[i] for i in at]),
                [
                    (folds[positions[i]], positions[i], ridges[i], slice(end - len(ridges[i]), end))
                    for i, end in zip(at, ends, strict=True)
                ],
            )


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def form_fitted(fitted: Fitted, values: Array, b: Array) -> None:
    """Recompute fitted values ``K alpha + b`` (n_ridges, n) that are within their rounding error."""
    doubt = doubtful(fitted.y, values, fitted.rounding)
    if not doubt.any():
        return
    rows = np.flatnonzero(doubt.any(axis=0))
    if fitted.bias:
        # b may cancel against K alpha; then its rounding error counts, however large b is.
        b = bias_as_sum(fitted, b, np.ones_like(b, dtype=np.bool_))
    for part in in_blocks(len(rows)):
        small = products(fitted.K[rows[part]], fitted.alpha) + Sums(b, np.abs(b)).column
        put(fitted.y, values, np.ix_(np.arange(len(values)), rows[part]), small, doubt)


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def bias_as_sum(fitted: Fitted, b: Array, doubt: Mask) -> Array:
    """Return the biases, those in doubt as the sums of their terms if these are small next to y."""
    terms = products(fitted.all_column_sums()[None], fitted.alpha)
    small = bias(fitted.y.sum(), terms, len(fitted.y))
    better = doubt & (small.size[:, 0] <= SMALL * float(np.abs(fitted.y).max()))
    return np.where(better, small.settled[:, 0], b)


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def form_held_out(
    fitted: Fitted, held: Array, folds: Sequence[Index], positions: Sequence[int]
) -> None:
    """Recompute predictions without a fold (n_ridges, n) that are within their rounding error.

    ``positions`` are the positions of the folds that were held out with these ridges.
    """
    doubt = doubtful(fitted.y, held, fitted.rounding)
    if not doubt.any():
        return
    outside: Array | None = None
    for batch in batches(doubt, folds, positions):
        if fitted.bias and outside is None:
            outside = sums_of_others([partial(fitted.column_sums, F) for F in folds])
        errors = np.zeros((len(batch.ridges), len(fitted.y)))
        for F, _, ridges, span in batch.parts:
            errors[span, F] = fitted.y[F] - held[ridges[:, None], F]
        a = fitted.alpha[batch.ridges] - fitted.push(batch.ridges, errors)
        for F, j, ridges, span in batch.parts:
            a[span, F] = 0.0
            small = products(fitted.K[F], a[span])
            if outside is not None:
                kept = np.delete(fitted.y, F)
                small += bias(kept.sum(), products(outside[[j]], a[span]), len(kept))
            put(fitted.y, held, (ridges[:, None], F), small, doubt)


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def form_left_out(fitted: Fitted, held: Array) -> None:
    """Recompute predictions by leave-one-out (n_ridges, n) that are within their rounding error.

    The column sums without a row are taken as the total minus the row, whose own terms are excluded anyway.
    """
    doubt = doubtful(fitted.y, held, fitted.rounding)
    if not doubt.any():
        return
    if not fitted.bias:
        doubt &= ~form_isolated(fitted, held, doubt)
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
        put(fitted.y, held, (ridges, rows), small, doubt)


def form_isolated(fitted: Fitted, held: Array, doubt: Mask) -> Mask:
    """Recompute rows without near neighbours as ``K_i alpha`` without ``K_ii``; return which these were.

    Leaving such a row out changes the other coefficients by ``e_i sum_j K_ij P_ji``, at most
    ``|alpha_i| ||G|| sum_j K_ij^2``, which is below rounding. One product serves all these rows.
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
        put(fitted.y, held, np.ix_(np.arange(len(held)), at), small, done)
    return done


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def form_series(fitted: Fitted, held: Array, folds: Sequence[Index], order: int) -> None:
    r"""Recompute predictions of the series of some order (n_ridges, n) that are within their rounding error.

    ``h_t = y - sum_{q <= t} T^q r`` is ``S z``, with ``z = h_{t-1}`` on F, ``(1 + e) y - e h_{t-1}`` off it,
    ``e = m / (n - m)``, and ``z = y`` for order 0: near ``K = I`` it falls by a factor from order to order.
    With a bias ``1^T z = (1 + e) 1^T (y_T + (K a)_F) - e 1^T (K - kappa I) a``, with a of the order before.
    """
    doubt, n = doubtful(fitted.y, held, fitted.rounding), len(fitted.y)
    if not doubt.any():
        return
    sums = fitted.all_column_sums()[None] if fitted.bias else None
    for batch in batches(doubt, folds, range(len(folds))):
        z = np.tile(fitted.y, (len(batch.ridges), 1))
        totals = z.sum(axis=1, keepdims=True)
        for q in range(order + 1):
            a = fitted.push(batch.ridges, z)
            h = z - fitted.gammas[batch.ridges, None] * a
            for F, _, ridges, span in batch.parts:
                terms = NOTHING if sums is None else products(sums, a[span])
                shift = NOTHING if sums is None else bias(totals[span], terms, n)
                small = smooth(fitted, F, ridges, z[span][:, F] - shift.values, a[span])
                if q == order:
                    put(fitted.y, held, np.ix_(ridges, F), small + shift, doubt)
                e = len(F) / (n - len(F))
                kept = np.delete(fitted.y, F).sum() + small.values.sum(axis=1, keepdims=True)
                totals[span] = (1.0 + e) * kept - e * terms.values
                z[span] = (1.0 + e) * fitted.y - e * h[span]
                z[span, F] = (small + shift).settled


def smooth(fitted: Fitted, F: Index, ridges: Index, z: Array, a: Array) -> Sums:
    """Return ``(K a)_F``, with a_F computed from the other rows: ``(K_FF + gamma I) a_F = z - K_FT a_T``."""
    others = a.copy()
    others[:, F] = 0.0
    small = products(fitted.K[F], others)
    inside, right = fitted.K[np.ix_(F, F)], z - small.values
    own = np.empty_like(right)
    for i, gamma in enumerate(fitted.gammas[ridges].tolist()):
        own[i] = np.linalg.solve(inside + gamma * np.eye(len(F)), right[i])
    return small + products(inside, own)
