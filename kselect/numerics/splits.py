"""Pairs of training and test rows, as scikit-learn's splitters give them.

Folds (folds.py) partition the rows, and each is held out of all others: closed forms serve them. The test parts of
splits may overlap or leave rows out, and training parts may be any rows, as in expanding windows of time. Splits
that are several partitions one after the other, as of repeated k-fold cross-validation, are ``rounds`` of folds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kselect.errors import ConfigError
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array, Index
from kselect.numerics.weights import Weights, mean_loss


@dataclass(frozen=True, eq=False)
class Splits:
    """Training and test rows of each split of n rows; predictions stand in the order of the test parts."""

    n: int
    pairs: tuple[tuple[Index, Index], ...]

    @cached_property
    def rows(self) -> Index:
        """The row of each prediction."""
        return np.concatenate([test for _, test in self.pairs])

    @cached_property
    def members(self) -> tuple[Index, ...]:
        """The positions of each split's predictions."""
        ends = np.cumsum([len(test) for _, test in self.pairs])
        return tuple(
            np.arange(end - len(test), end)
            for end, (_, test) in zip(ends.tolist(), self.pairs, strict=True)
        )

    @cached_property
    def rounds(self) -> tuple[Folds, ...]:
        """The partitions that the splits are, one after the other; none if a split has to be trained by itself."""
        found: list[Folds] = []
        members: list[Index] = []
        seen = np.zeros(self.n, dtype=np.intp)
        for train, test in self.pairs:
            seen[test] += 1
            if seen.max() > 1 or not is_rest(train, test, self.n):
                return ()
            members.append(np.sort(test))
            if seen.all():
                found.append(Folds(tuple(members)))
                members, seen = [], np.zeros_like(seen)
        return () if members else tuple(found)

    def average(self, values: Array, weights: Weights | None = None) -> Array:
        """Return the mean over splits of the splits' means along the last axis, in the order of the predictions."""
        means = [mean_loss(values, weights, at) for at in self.members]
        return np.asarray(np.mean(means, axis=0))


# Returns how the rows are held out for a number of folds.
HowHeldOut = Callable[[int], Folds | Splits]


def is_rest(train: Index, test: Index, n: int) -> bool:
    """Return whether the training rows are all rows but the test rows."""
    kept = np.ones(n, dtype=np.bool_)
    kept[test] = False
    return (
        len(train) == int(kept.sum())
        and bool(kept[train].all())
        and len(np.unique(train)) == len(train)
    )


def as_folds(pairs: Sequence[tuple[Index, Index]], n: int) -> Folds | Splits:
    """Return pairs of training and test rows as folds if they are one partition, as splits otherwise."""
    if not pairs:
        raise ConfigError("no pair of training and test rows")
    for number, (train, test) in enumerate(pairs):
        for rows, part in ((train, "training"), (test, "test")):
            if not len(rows):
                raise ConfigError(f"split {number} has no {part} rows")
            if rows.min() < 0 or rows.max() >= n:
                raise ConfigError(f"a row number of split {number} is outside 0 to {n - 1}")
        if len(np.intersect1d(train, test)):
            raise ConfigError(f"split {number} tests rows that it trains on")
    splits = Splits(n, tuple(pairs))
    return splits.rounds[0] if len(splits.rounds) == 1 else splits


def rounds_of(folds: Folds | Splits) -> tuple[Folds | Splits, ...]:
    """Return the partitions of repeated folds; otherwise what is given."""
    return (folds.rounds or (folds,)) if isinstance(folds, Splits) else (folds,)


def tested_rows(folds: Folds | Splits) -> Index | slice:
    """Return the row of each held-out prediction: every row once for folds."""
    return folds.rows if isinstance(folds, Splits) else slice(None)


def weights_of(folds: Folds | Splits, weights: Weights | None) -> Weights | None:
    """Return the weight of each held-out prediction."""
    return None if weights is None else weights.part(tested_rows(folds))
