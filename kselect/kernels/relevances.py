"""The relevance of each feature: how well its bins alone predict the target, by cross-validation.

A column is cut into ten bins of equally many rows, or into its values if there are few; the levels of a category,
which are several features, are the bins of one column. The prediction is the mean of the target in the bin, drawn
towards the mean of all rows by some rows' worth. Its five-fold R2, or 0 if that is negative, is the relevance.
Every feature of one column has the relevance of the column; several targets have their mean. Cost: O(d n log n).
"""

from __future__ import annotations

import numpy as np

from kselect.numerics.folds import draw_folds, stream
from kselect.numerics.linalg import Array, Index

BINS, MOST_VALUES = 10, 12
FOLDS = 5
# The rows' worth by which the mean of a bin is drawn towards the mean of all rows.
DRAWN = 3.0
# The relevances of a larger table come from this many random rows of it.
MOST_ROWS = 20_000
# Added to a relevance, so that a feature without one keeps some weight.
FLOOR = 0.01


def relevances(X: Array, targets: Array, columns: Index | None = None) -> tuple[float, ...]:
    """Return the relevance of each feature of X for the targets (q, n), between 0 and 1.

    ``columns`` has the number of each feature's column. Default: each feature is a column.
    """
    folds = draw_folds(len(X), min(FOLDS, len(X)), stream(0, "relevances")).numbers
    of_column = np.arange(X.shape[1]) if columns is None else columns
    found = np.empty(X.shape[1])
    for column in np.unique(of_column):
        features = np.flatnonzero(of_column == column)
        bins = bins_of(X[:, features])
        found[features] = explained(bins, targets, folds).mean()
    return tuple(found.tolist())


def typical_rows(n: int) -> Index:
    """Return the rows, out of n, that give the relevances: all of them, or some random ones of many."""
    if n <= MOST_ROWS:
        return np.arange(n)
    return np.sort(stream(0, "rows").permutation(n)[:MOST_ROWS])


def bins_of(values: Array) -> Index:
    """Return the bin of each row: its place among the values or levels, or among ten quantiles."""
    x = values[:, 0]
    if values.shape[1] > 1:
        found = np.unique(values, axis=0, return_inverse=True)[1].ravel()
    elif len(distinct := np.unique(x)) <= MOST_VALUES:
        found = np.searchsorted(distinct, x)
    else:
        inner = np.arange(1, BINS) / BINS
        found = np.searchsorted(np.quantile(x, inner), x, side="right")
    return np.asarray(found, dtype=np.intp)


def explained(bins: Index, targets: Array, folds: Index) -> Array:
    """Return the R2 of predicting each target by the mean of its bin in the other folds; 0 if it is negative."""
    largest = np.abs(targets).max(axis=1, keepdims=True)
    Y = targets / np.where(largest > 0.0, largest, 1.0)  # so that no square overflows
    shape = int(bins.max()) + 1, int(folds.max()) + 1
    cell, size = bins * shape[1] + folds, shape[0] * shape[1]
    sums = np.array([np.bincount(cell, weights=y, minlength=size) for y in Y]).reshape(-1, *shape)
    counts = np.bincount(cell, minlength=size).reshape(shape)
    sums, counts = (each.sum(axis=-1, keepdims=True) - each for each in (sums, counts))
    overall = sums.sum(axis=1, keepdims=True) / np.maximum(counts.sum(axis=0), 1)
    means = (sums + DRAWN * overall) / (counts + DRAWN)
    spread = np.square(Y - Y.mean(axis=1, keepdims=True)).sum(axis=1)
    left = np.square(Y - means[:, bins, folds]).sum(axis=1)
    share = np.divide(left, spread, out=np.ones_like(left), where=spread > 0.0)
    return np.asarray(np.maximum(0.0, 1.0 - share))


def scale_of(relevant: tuple[float, ...], power: float) -> tuple[float, ...]:
    """Return the weights of the features, ``(r + 0.01)^power``, of mean 1."""
    u = (np.array(relevant) + FLOOR) ** power
    return tuple((u / u.mean()).tolist())
