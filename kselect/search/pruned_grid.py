r"""The bookkeeping of the pruned search: folds, bounds and the best pair of kernel and ridge so far.

The k-fold error of a (kernel, ridge) pair is a sum over folds. Each term is bounded from below, first without any
fit, then with the loss on the fold of the model that was trained on all rows. Pairs whose bounds exceed the best
error are dropped. The other pairs are trained fold by fold, until the sum of known losses and bounds exceeds the
best error. The result is the minimum over the grid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from types import MappingProxyType
from typing import Any

import numpy as np

from kselect.errors import TrialError
from kselect.learners.problem import RidgeMode
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array, Index
from kselect.search.grid import NUMERICAL

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
    """The data that all kernels share: the targets (q, n) in fold order, the ridges and the fold sizes.

    ``ones`` is what multiplies the bias: the roots of the rows' weights, or ones. With the square loss, the targets
    are scaled by them.
    """

    targets: Array
    lams: Array
    sizes: Index
    ridge: RidgeMode
    ones: Array
    bias: bool = False

    @classmethod
    def of(
        cls,
        targets: Array,
        lams: Array,
        folds: Folds,
        ridge: RidgeMode,
        *,
        bias: bool = False,
        roots: Array | None = None,
        scaled: bool = True,
    ) -> FoldedGrid:
        """Sort the rows of one target (n,) or several: first fold 0, then fold 1, ..."""
        sizes = np.array([len(F) for F in folds.members], dtype=np.intp)
        order, targets = order_of(folds), np.atleast_2d(targets)
        ones = np.ones(len(order)) if roots is None else roots[order]
        mine = targets[:, order]
        return cls(mine * ones if scaled else mine, lams, sizes, ridge, ones, bias)

    @property
    def y(self) -> Array:
        """The first target."""
        return np.asarray(self.targets[0])

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

    @cached_property
    def weighted(self) -> bool:
        """Whether the rows have weights."""
        return bool((self.ones != 1.0).any())

    @cached_property
    def others(self) -> Array:
        """The weight of the rows outside each fold: their number without weights."""
        if not self.weighted:
            return np.asarray(self.n - self.sizes, dtype=np.float64)
        return np.asarray(self.n - self.by_fold(np.square(self.ones)))

    def rows(self, fold: int | None = None) -> float:
        """Return the number of rows that multiplies lam without a fold; None: the least of all folds."""
        if self.ridge == "fixed":
            return self.n
        return float(self.others.min() if fold is None else self.others[fold])

    @cached_property
    def more_rows(self) -> Array:
        """The number of rows that multiplies lam without each fold, beyond the least one."""
        return np.array([self.rows(fold) - self.rows() for fold in range(len(self.sizes))])

    def gammas(self, factor: float) -> GammaRange:
        """Return ``factor lam rows``, the smallest and the largest over the folds."""
        most = self.n if self.ridge == "fixed" else float(self.others.max())
        return GammaRange(factor * self.rows() * self.lams, factor * most * self.lams)

    def fold_gammas(self, ridges: Index) -> Array:
        """Return ``lam rows`` without each fold, (ridges, folds)."""
        rows = np.array([self.rows(fold) for fold in range(len(self.sizes))])
        return np.outer(self.lams[ridges], rows)

    def by_fold(self, values: Array) -> Array:
        """Return the sums over the rows (the last axis) of each fold."""
        return np.add.reduceat(values, self.starts, axis=-1)


def order_of(folds: Folds) -> Index:
    """Return the rows, fold by fold."""
    return np.concatenate(folds.members)


def in_threads(
    tasks: Sequence[Callable[[], None]], n_jobs: int, aside: Callable[[], None] = lambda: None
) -> Iterator[None]:
    """Do the tasks in order, each by the next free thread; yield after each.

    Several threads also do the work ``aside``, before the last tasks.
    """
    if n_jobs == 1:
        yield from (task() for task in tasks)
        return
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs, prefer="threads", return_as="generator", batch_size=1)
    at = max(0, len(tasks) - n_jobs)
    every = [*tasks[:at], aside, *tasks[at:]]
    done = parallel(delayed(task)() for task in every)
    yield from (one for i, one in enumerate(done) if i != at)


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


@dataclass
class Work:
    """The numbers of kernels seen and fitted, pairs settled by conjugate gradients, pairs and folds trained."""

    kernels: int = 0
    kernels_fitted: int = 0
    iterated: int = 0
    pairs: int = 0
    folds: int = 0


@dataclass(frozen=True)
class Pruned:
    """The pair with the lowest error: its positions among kernels and ridges, and its mean loss.

    ``totals`` has the summed loss of every pair within the slack of the best one, or of the most that are asked
    for, ``seen`` the number of kernels that were looked at. ``held`` are the held-out predictions (targets, n) of
    these pairs, in fold order, as far as the search has formed them.
    """

    kernel: int
    ridge: int
    score: float
    work: Work
    excluded: tuple[tuple[int, str], ...]
    totals: Mapping[tuple[int, int], float]
    held: Mapping[tuple[int, int], Array] = field(default_factory=dict)
    seen: int = 0


# Settles the ridges of one kernel: its position, its matrix in fold order, the grid, the best pair so far.
Way = Callable[[int, Array, FoldedGrid, "BestPair"], None]
# Does what follows the search for a kernel and a ridge.
Ahead = Callable[[int, int], object]


@dataclass
class BestPair:
    """The pair with the lowest summed loss so far, for all threads; of pairs that tie the first in grid order.

    Everything within a factor of ``1 + slack`` of the best keeps its exact sum in ``totals``; of more than ``most``
    such pairs, those with the lowest sums. ``upper`` is the lowest upper bound of a sum. ``held`` are the held-out
    predictions of pairs that were within the slack. ``likely`` is the pair with the lowest expected sum, which
    leads until a sum is exact. ``last`` is the highest of the ``most`` lowest sums.
    """

    grid: FoldedGrid
    slack: float = 0.0
    most: int | None = None
    best: float = np.inf
    last: float = np.inf
    upper: float = np.inf
    held: dict[tuple[int, int], Array] = field(default_factory=dict)
    likely: tuple[int, int] | None = None
    totals: dict[tuple[int, int], float] = field(default_factory=dict)
    work: Work = field(default_factory=Work)
    excluded: list[tuple[int, str]] = field(default_factory=list)
    # What a kernel leaves to its neighbours: whatever its way knows how to use.
    trails: dict[int, Any] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    @property
    def near_best(self) -> float:
        """The largest sum within the slack of the best one."""
        return (1.0 + self.slack) * self.best

    @property
    def limit(self) -> float:
        """The sum that bounds must exceed to drop a pair."""
        least = min(self.best, self.upper)
        near = (1.0 + self.slack) * least + SLACK * abs(least)
        return min(near, self.last + SLACK * abs(self.last))

    def bound(self, upper: float) -> None:
        """Note an upper bound of some pair's sum."""
        with self._lock:
            self.upper = min(self.upper, upper)

    def count(self, **more: int) -> None:
        """Add to the counts of the work."""
        with self._lock:
            for name, number in more.items():
                setattr(self.work, name, getattr(self.work, name) + number)

    def near(self, kernel: int) -> Any:
        """Return what the nearest kernel has left; None if none has."""
        with self._lock:
            nearest = min(self.trails, key=lambda i: abs(i - kernel), default=None)
            return None if nearest is None else self.trails[nearest]

    def leave(self, kernel: int, trail: Any) -> None:
        """Leave something to neighbouring kernels."""
        with self._lock:
            self.trails[kernel] = trail

    def add(self, kernel: int, gram: Callable[[], Array], way: Way) -> None:
        """Compare the ridges of one more kernel; a kernel that fails is excluded."""
        self.count(kernels=1)
        try:
            way(kernel, gram(), self.grid, self)
        except TrialError as error:
            self.exclude(kernel, error)

    def exclude(self, kernel: int, error: TrialError) -> None:
        """Note that a kernel has failed."""
        with self._lock:
            self.excluded.append((kernel, str(error)))

    def try_folds(
        self,
        kernel: int,
        candidate: Candidate,
        loss: Callable[[int, int], float],
        held: Mapping[int, Array] = MappingProxyType({}),
    ) -> None:
        """Train fold by fold, the most informative first, until the sum exceeds the limit.

        ``held`` has the predictions of the folds that were trained, by ridge.
        """
        bounds = candidate.bounds.copy()
        if bounds.sum() > self.limit:
            return
        self.count(pairs=1)
        for fold in np.argsort(candidate.bounds - candidate.expected, kind="stable").tolist():
            bounds[fold] = loss(candidate.ridge, fold)
            self.count(folds=1)
            if bounds.sum() > self.limit:
                return
        self.settle(kernel, candidate.ridge, float(bounds.sum()), held.get(candidate.ridge))

    def settle(self, kernel: int, ridge: int, total: float, held: Array | None = None) -> None:
        """Note the exact sum of a pair, and its predictions if it is near the best so far."""
        with self._lock:
            self.totals[kernel, ridge] = total
            if self.most is not None and len(self.totals) >= self.most:
                self.last = sorted(self.totals.values())[self.most - 1]
            if held is not None and total <= self.near_best:
                self.held[kernel, ridge] = held
            self.best = min(self.best, total)

    def leader(self) -> tuple[int, int] | None:
        """Return the best pair so far, or the likely one if no sum is exact."""
        with self._lock:
            least = min(self.totals, key=lambda pair: (self.totals[pair], pair), default=None)
            return self.likely if least is None else least

    def look_ahead(self, ahead: Ahead | None) -> None:
        """Call a function with the best pair so far, if there is one; a failure that lasts comes up again later."""
        if ahead and (pair := self.leader()):
            with suppress(*NUMERICAL), np.errstate(divide="raise", invalid="raise", over="raise"):
                ahead(*pair)

    def found(self) -> Pruned:
        """Return the best pair."""
        self.upper = self.best
        near = {pair: total for pair, total in self.totals.items() if total <= self.limit}
        excluded = tuple(sorted(self.excluded))
        if not np.isfinite(self.best):
            why = f": {excluded[0][1]}" if excluded else ""
            raise TrialError(f"no kernel and ridge of the grid has a finite score{why}")
        pair = self.leader()
        assert pair is not None
        held = {pair: self.held[pair] for pair in near if pair in self.held}
        return Pruned(*pair, near[pair] / self.grid.n, self.work, excluded, near, held)
