r"""Exact selection without the whole surface: pairs whose bound already exceeds the best are dropped.

The k-fold error of a (kernel, ridge) is a sum over folds, each bounded from below before it is known: without any
fit (intervals.py), then by the loss on the fold of the model that was trained on all rows, which has seen it. What
survives is trained fold by fold until the sum of the known and the bounded exceeds the best. The minimum is that
of the surface (mathematics, section 6), for the losses that the bounds know: the hinge with the smoothed-hinge
SVM, the square with kernel ridge regression.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kselect.errors import TrialError
from kselect.learners.base import RidgeMode
from kselect.learners.factor import Factor
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array, Index
from kselect.search.intervals import Ridges

Mask = NDArray[np.bool_]
# A bound must exceed the best by this much, relative to it: the trainers' tolerance shall not drop the minimum.
SLACK = 1e-9


@dataclass(frozen=True, eq=False)
class Grid:
    """What all kernels share: the rows in the order of the folds, the ridges."""

    y: Array
    lams: Array
    sizes: Index
    ridge: RidgeMode

    @classmethod
    def of(cls, y: Array, lams: Array, folds: Folds, ridge: RidgeMode) -> Grid:
        """The rows of fold 0, then those of fold 1, ..."""
        sizes = np.array([len(F) for F in folds.members], dtype=np.intp)
        return cls(y[order_of(folds)], lams, sizes, ridge)

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.y)

    @cached_property
    def starts(self) -> Index:
        """The first row of each fold."""
        return np.cumsum(self.sizes) - self.sizes

    @cached_property
    def slices(self) -> tuple[slice, ...]:
        """The rows of each fold."""
        return tuple(slice(s, s + m) for s, m in zip(self.starts, self.sizes, strict=True))

    def rows(self, fold: int | None = None) -> int:
        """By how many rows lam is multiplied for a fold; None: for the fit on all rows that bounds them all."""
        if self.ridge == "fixed":
            return self.n
        return self.n - int(self.sizes.max() if fold is None else self.sizes[fold])

    def ridges(self, factor: float) -> Ridges:
        """``factor lam rows``, the smallest and the largest over folds."""
        most = self.n if self.ridge == "fixed" else self.n - int(self.sizes.min())
        return Ridges(factor * self.rows() * self.lams, factor * most * self.lams)

    def by_fold(self, values: Array) -> Array:
        """Sums over folds of the rows (the last axis)."""
        return np.add.reduceat(values, self.starts, axis=-1)


def order_of(folds: Folds) -> Index:
    """The rows, fold by fold."""
    return np.concatenate(folds.members)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A ridge that the bounds leave, with what bounds the loss of each fold and what it is expected to be."""

    ridge: int
    bounds: Array
    expected: Array


@dataclass(frozen=True, eq=False)
class Trail:
    """What a neighbouring kernel starts from: zones ``(free, top)`` by ridge, and how many ridges were left."""

    zones: Mapping[int, tuple[Mask, Mask]]
    survivors: int


class Width(Protocol):
    """One kernel matrix: bounds, the cheapest first, and exact losses."""

    def untrained(self, best: float) -> Array:
        """(ridges, folds): below the losses, without any fit; no closer than it takes to exceed the best."""
        ...

    def candidates(self, bounds: Array, best: float) -> list[Candidate]:
        """The ridges whose bounds, by a fit on all rows too, do not sum up to more than the best."""
        ...

    def loss(self, ridge: int, fold: int) -> float:
        """The summed loss of the fold held out."""
        ...

    def trail(self) -> Trail | None:
        """What a neighbouring kernel may start from; None where nothing was fitted."""
        ...


MakeFactor = Callable[[], Factor]
MakeWidth = Callable[[int, Array, Grid, Trail | None], Width]


@dataclass
class Work:
    """How much was done, of how much there was."""

    kernels: int = 0
    kernels_fitted: int = 0
    pairs: int = 0
    folds: int = 0


@dataclass(frozen=True)
class Pruned:
    """The pair with the lowest error: positions in the kernels and the ridges, the mean loss over rows."""

    kernel: int
    ridge: int
    score: float
    work: Work
    excluded: tuple[tuple[int, str], ...]


@dataclass
class Search:
    """The best so far, in summed losses."""

    grid: Grid
    best: float = np.inf
    place: tuple[int, int] | None = None
    work: Work = field(default_factory=Work)
    excluded: list[tuple[int, str]] = field(default_factory=list)

    @property
    def limit(self) -> float:
        """What a bound must exceed."""
        return self.best + SLACK * abs(self.best)

    def visit(self, kernel: int, width: Width) -> None:
        """The ridges of one kernel, the most promising first."""
        self.work.kernels += 1
        bounds = width.untrained(self.limit)
        if not (bounds.sum(axis=1) <= self.limit).any():
            return
        self.work.kernels_fitted += 1
        found = width.candidates(bounds, self.limit)
        for candidate in sorted(found, key=lambda c: (float(c.expected.sum()), c.ridge)):
            self.try_candidate(kernel, candidate, width)

    def try_candidate(self, kernel: int, candidate: Candidate, width: Width) -> None:
        """Fold by fold, the most telling first, until the sum is known to exceed the best."""
        bounds = candidate.bounds.copy()
        if bounds.sum() > self.limit:
            return
        self.work.pairs += 1
        for fold in np.argsort(candidate.bounds - candidate.expected, kind="stable").tolist():
            bounds[fold] = width.loss(candidate.ridge, fold)
            self.work.folds += 1
            if bounds.sum() > self.limit:
                return
        place, total = (kernel, candidate.ridge), float(bounds.sum())
        if total < self.best or (total == self.best and place < (self.place or place)):
            self.best, self.place = total, place

    def found(self) -> Pruned:
        """The best pair."""
        if self.place is None or not np.isfinite(self.best):
            why = f": {self.excluded[0][1]}" if self.excluded else ""
            raise TrialError(f"no kernel and ridge of the grid has a finite score{why}")
        score = self.best / self.grid.n
        return Pruned(*self.place, score, self.work, tuple(self.excluded))


def outward(start: int, count: int) -> list[int]:
    """start, then its neighbours, then theirs: 3 of 6 -> 3, 2, 4, 1, 5, 0."""
    return sorted(range(count), key=lambda i: abs(i - start))


def select_pruned(
    grams: Sequence[Callable[[], Array]],
    make_width: MakeWidth,
    grid: Grid,
    visit: Sequence[int],
) -> Pruned:
    """The lowest k-fold error over kernels and ridges; ``grams`` give K in the order of the folds.

    ``make_width`` is told the position of the kernel too.
    """
    search = Search(grid)
    trails: dict[int, Trail] = {}
    for kernel in visit:
        near = min(trails, key=lambda i: abs(i - kernel), default=None)
        try:
            trail = None if near is None else trails[near]
            width = make_width(kernel, grams[kernel](), grid, trail)
            search.visit(kernel, width)
        except TrialError as error:
            search.excluded.append((kernel, str(error)))
            continue
        if trail := width.trail():
            trails[kernel] = trail
    return search.found()
