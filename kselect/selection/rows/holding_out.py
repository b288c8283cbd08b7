"""How the rows of a selection are held out: in folds at random, by groups, by classes or along time.

A ``HoldOut`` belongs to a table. The training part of an outer fold holds its own rows out in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kselect.errors import ConfigError
from kselect.numerics.folds import Folds, draw_folds, stream
from kselect.numerics.linalg import Array, Index
from kselect.numerics.splits import Splits, as_folds


@dataclass(frozen=True, eq=False)
class HoldOut:
    """The request: one group, time or class per row, and the number of repeated partitions.

    Rows of one group stay together. ``classes`` are given if every fold should have the same share of each. With
    times, rows are tested by fits on earlier rows only.
    """

    groups: NDArray[Any] | None = None
    times: Array | None = None
    classes: Index | None = None
    repeats: int = 1

    def __post_init__(self) -> None:
        if self.times is not None:
            for what, given in (
                ("groups", self.groups is not None),
                ("stratify", self.classes is not None),
                ("repeats", self.repeats > 1),
            ):
                if given:
                    raise ConfigError(f"time orders the rows: leave out {what}")

    def __bool__(self) -> bool:
        asked = self.groups, self.times, self.classes
        return self.repeats > 1 or any(one is not None for one in asked)

    def part(self, rows: Index) -> HoldOut:
        """Return the same for some of the rows."""
        return HoldOut(
            None if self.groups is None else self.groups[rows],
            None if self.times is None else self.times[rows],
            None if self.classes is None else self.classes[rows],
            self.repeats,
        )

    def once(self) -> HoldOut:
        """Return the same without repeating it."""
        return HoldOut(self.groups, self.times, self.classes)

    def split(self, n: int, k: int, seed: int, purpose: str = "folds") -> Folds | Splits:
        """Return k folds of n rows, or k windows of time; repeated folds are drawn independently."""
        if self.times is not None:
            return windows(self.times, k)
        every = [self._draw(n, k, seed, purpose, i) for i in range(self.repeats)]
        if len(every) == 1:
            return every[0]
        pairs = [(np.setdiff1d(np.arange(n), F), F) for folds in every for F in folds.members]
        return as_folds(pairs, n)

    def _draw(self, n: int, k: int, seed: int, purpose: str, number: int) -> Folds:
        """Return one partition of the rows."""
        name = (purpose,) if number == 0 else (purpose, number)
        rng = stream(seed, *name)
        if self.groups is None and self.classes is None:
            return draw_folds(n, k, rng)
        if self.groups is not None and len(np.unique(self.groups)) < k:
            count = len(np.unique(self.groups))
            raise ConfigError(f"{k} folds need at least {k} groups, not {count}")
        if self.classes is None:
            assert self.groups is not None
            return draw_groups(self.groups, k, rng)
        return Folds(tuple(self._stratified(n, k, rng)))

    def _stratified(self, n: int, k: int, rng: np.random.Generator) -> Iterator[Index]:
        """Yield folds with the same share of each class, as scikit-learn's StratifiedKFold makes them."""
        from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

        assert self.classes is not None
        rarest = int(np.unique(self.classes, return_counts=True)[1].min())
        if self.groups is None and rarest < k:
            raise ConfigError(f"stratify: {k} folds need {k} rows of each class, not {rarest}")
        form = StratifiedKFold if self.groups is None else StratifiedGroupKFold
        splitter = form(k, shuffle=True, random_state=int(rng.integers(2**31)))
        for _, test in splitter.split(np.zeros((n, 1)), self.classes, self.groups):
            if not len(test):
                raise ConfigError(
                    f"stratify: a fold of {k} by groups has no rows; take fewer folds"
                )
            yield np.sort(test).astype(np.intp)


def draw_groups(groups: NDArray[Any], k: int, rng: np.random.Generator) -> Folds:
    """Return k folds of whole groups: the largest group goes to the smallest fold, equal ones in random order."""
    _, codes, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    order = rng.permutation(len(sizes))
    fold_of, filled = np.empty(len(sizes), dtype=np.intp), np.zeros(k)
    for group in order[np.argsort(-sizes[order], kind="stable")].tolist():
        fold = int(filled.argmin())
        fold_of[group] = fold
        filled[fold] += sizes[group]
    return Folds.from_numbers(fold_of[codes])


def windows(times: Array, k: int) -> Folds | Splits:
    """Return k expanding windows, as scikit-learn's TimeSeriesSplit: train on earlier rows, test the next ones.

    Rows with the same time stay on one side of a border.
    """
    n = len(times)
    order = np.argsort(times, kind="stable")
    size = n // (k + 1)
    if size < 1:
        raise ConfigError(f"{k} windows of time need at least {k + 1} rows, not {n}")
    ordered = times[order]
    borders = [int(np.searchsorted(ordered, ordered[at])) for at in range(n - k * size, n, size)]
    edges = [*borders, n]
    pairs = [(order[:start], order[start:end]) for start, end in pairwise(edges)]
    if any(len(train) < 2 or not len(test) for train, test in pairs):
        raise ConfigError(f"{k} windows of time need more rows with different times")
    return as_folds(pairs, n)


def pairs_of(folds: Folds | Splits) -> Iterator[tuple[Index, Index, Index]]:
    """Yield the training rows, the test rows and the positions of their predictions of each split."""
    if isinstance(folds, Splits):
        for (train, test), at in zip(folds.pairs, folds.members, strict=True):
            yield np.sort(train), test, at
        return
    for F in folds.members:
        yield np.setdiff1d(np.arange(folds.n), F), F, F
