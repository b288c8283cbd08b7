r"""The bookkeeping of the pruned search: folds, bounds and the best pair of kernel and ridge so far.

The k-fold error of a (kernel, ridge) pair is a sum over folds. Each term is bounded from below, first without any
fit, then with the loss on the fold of the model that was trained on all rows. Pairs whose bounds exceed the best
error are dropped. The other pairs are trained fold by fold, until the sum of known losses and bounds exceeds the
best error. The result is the minimum over the grid.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np

from kselect.errors import TrialError
from kselect.learners.factor import Factor
from kselect.learners.problem import RidgeMode
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array, Index, Mask

# A bound must exceed the best error by this share, so that the tolerance of the trainers cannot drop the minimum.
SLACK = 1e-9
# The rounds of tightening a bound before any fit, and the change relative to C that ends them early.
ROUNDS = 12
AT_REST = 1e-3
# The mean sum of a row's entries for the other class from which on rounds would not tighten the bound C.
FAR = 2.5


@dataclass(frozen=True, eq=False)
class GammaRange:
    """``gamma`` at every ridge, the smallest and the largest over the folds: a bound must hold for both."""

    least: Array
    most: Array


@dataclass(frozen=True, eq=False)
class FoldedGrid:
    """The data that all kernels share: the targets in fold order, the ridges and the fold sizes."""

    y: Array
    lams: Array
    sizes: Index
    ridge: RidgeMode

    @classmethod
    def of(cls, y: Array, lams: Array, folds: Folds, ridge: RidgeMode) -> FoldedGrid:
        """Sort the rows: first fold 0, then fold 1, ..."""
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
        """Return the number of rows that multiplies lam without a fold; None: the least of all folds."""
        if self.ridge == "fixed":
            return self.n
        return self.n - int(self.sizes.max() if fold is None else self.sizes[fold])

    @cached_property
    def more_rows(self) -> Index:
        """The number of rows that multiplies lam without each fold, beyond the least one."""
        return np.array([self.rows(fold) - self.rows() for fold in range(len(self.sizes))])

    def gammas(self, factor: float) -> GammaRange:
        """Return ``factor lam rows``, the smallest and the largest over the folds."""
        most = self.n if self.ridge == "fixed" else self.n - int(self.sizes.min())
        return GammaRange(factor * self.rows() * self.lams, factor * most * self.lams)

    def by_fold(self, values: Array) -> Array:
        """Return the sums over the rows (the last axis) of each fold."""
        return np.add.reduceat(values, self.starts, axis=-1)


def order_of(folds: Folds) -> Index:
    """Return the rows, fold by fold."""
    return np.concatenate(folds.members)


def without_own_fold(A: Array, x: Array, folds: Sequence[slice]) -> Array:
    """Return ``A_{iT} x_T`` for each row i, where T are the rows of the other folds; rows are in fold order."""
    out = A @ x
    for F in folds:
        out[F] -= A[F, F] @ x[F]
    return out


@dataclass(frozen=True, eq=False)
class Candidate:
    """A ridge that the bounds leave, with a lower bound and an expected value of each fold's loss."""

    ridge: int
    bounds: Array
    expected: Array


@dataclass(frozen=True, eq=False)
class Trail:
    """The start for a neighbouring kernel: zones ``(free, top)`` for each ridge, and the number of ridges left."""

    zones: Mapping[int, tuple[Mask, Mask]]
    survivors: int


class KernelBounds(Protocol):
    """Bounds and exact losses for one kernel matrix."""

    def untrained(self, best: float) -> Array:
        """Return lower bounds (ridges, folds) without any fit, only as tight as needed to exceed the best error."""

    def candidates(self, bounds: Array, best: float) -> list[Candidate]:
        """Return the ridges whose bounds, after a fit on all rows, do not exceed the best error."""

    def loss(self, ridge: int, fold: int) -> float:
        """Return the summed loss on a fold of the model without it."""

    def trail(self) -> Trail | None:
        """Return the start for a neighbouring kernel; None if nothing was fitted."""


MakeFactor = Callable[[], Factor]
MakeBounds = Callable[[int, Array, Trail | None], KernelBounds]


@dataclass
class Work:
    """The numbers of kernels seen, kernels fitted, pairs trained and folds trained."""

    kernels: int = 0
    kernels_fitted: int = 0
    pairs: int = 0
    folds: int = 0


@dataclass(frozen=True)
class Pruned:
    """The pair with the lowest error: its positions among kernels and ridges, and the mean loss over rows."""

    kernel: int
    ridge: int
    score: float
    work: Work
    excluded: tuple[tuple[int, str], ...]


@dataclass
class BestPair:
    """The pair with the lowest summed loss so far."""

    grid: FoldedGrid
    best: float = np.inf
    pair: tuple[int, int] | None = None
    work: Work = field(default_factory=Work)
    excluded: list[tuple[int, str]] = field(default_factory=list)
    trails: dict[int, Trail] = field(default_factory=dict)

    @property
    def limit(self) -> float:
        """The sum that bounds must exceed to drop a pair."""
        return self.best + SLACK * abs(self.best)

    def add(self, kernel: int, gram: Callable[[], Array], make_bounds: MakeBounds) -> None:
        """Compare one more kernel, which starts from the trail of the nearest kernel."""
        near = min(self.trails, key=lambda i: abs(i - kernel), default=None)
        try:
            bounds = make_bounds(kernel, gram(), None if near is None else self.trails[near])
            self._try_ridges(kernel, bounds)
        except TrialError as error:
            self.excluded.append((kernel, str(error)))
            return
        if trail := bounds.trail():
            self.trails[kernel] = trail

    def _try_ridges(self, kernel: int, found: KernelBounds) -> None:
        """Train the ridges of one kernel, the most promising first."""
        self.work.kernels += 1
        bounds = found.untrained(self.limit)
        if not (bounds.sum(axis=1) <= self.limit).any():
            return
        self.work.kernels_fitted += 1
        candidates = found.candidates(bounds, self.limit)
        for candidate in sorted(candidates, key=lambda c: (float(c.expected.sum()), c.ridge)):
            self._try_folds(kernel, candidate, found)

    def _try_folds(self, kernel: int, candidate: Candidate, found: KernelBounds) -> None:
        """Train fold by fold, the most informative first, until the sum exceeds the limit."""
        bounds = candidate.bounds.copy()
        if bounds.sum() > self.limit:
            return
        self.work.pairs += 1
        for fold in np.argsort(candidate.bounds - candidate.expected, kind="stable").tolist():
            bounds[fold] = found.loss(candidate.ridge, fold)
            self.work.folds += 1
            if bounds.sum() > self.limit:
                return
        pair, total = (kernel, candidate.ridge), float(bounds.sum())
        if total < self.best or (total == self.best and pair < (self.pair or pair)):
            self.best, self.pair = total, pair

    def found(self) -> Pruned:
        """Return the best pair."""
        if self.pair is None or not np.isfinite(self.best):
            why = f": {self.excluded[0][1]}" if self.excluded else ""
            raise TrialError(f"no kernel and ridge of the grid has a finite score{why}")
        score = self.best / self.grid.n
        return Pruned(*self.pair, score, self.work, tuple(self.excluded))
