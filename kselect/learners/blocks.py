r"""Sums over rows, block by block: what normal equations need of a million rows, without a matrix of all of them.

For the features V (features, rows) of a kernel, its targets y and each fold F:

    G_F = V_F V_F^T,  b_F = V_F y_F,  h_F = V_F 1,  y_F y_F,  y_F 1,  |F|

With weights w of the rows, V_F, y_F and the ones are multiplied by ``sqrt(w)``.
A block of rows gives these sums for several kernels, which share the distances between the rows and the landmarks.
The sums of blocks are added in the order of the blocks, so that threads and machines do not change a bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from kselect.errors import TrialError
from kselect.kernels.base import Points
from kselect.kernels.columns import FeatureMap, Monomials
from kselect.numerics.linalg import EPS, Array, Index
from kselect.numerics.memory import BLOCK

# Entries of the kernel matrix that are formed at once. They fit into a processor's cache, and the allocator of any
# thread reuses their memory; larger arrays may be returned to the system, and faulted in again, for each kernel.
ENTRIES = 2**18
FEWEST_ROWS = 512
# A prediction of this size relative to its terms is rounding error.
ROUNDING = 4.0 * EPS
RowTask = Callable[[Array, Array, Index], Any]


class RowBlocks(Protocol):
    """The rows of a table in blocks of ``BLOCK`` rows, wherever they are."""

    @property
    def n(self) -> int:
        """The number of rows."""
        ...

    @property
    def width(self) -> int:
        """The number of features of a row."""
        ...

    def __len__(self) -> int:
        """Return the number of rows."""
        ...

    def gather(self, rows: Index) -> Array:
        """Return some rows, in this order."""
        ...

    def shares(self, kernels: int) -> int:
        """Return the number of tasks into which the work of a block on some kernels is divided."""
        ...

    def map(self, tasks: Sequence[RowTask], y: Array, numbers: Index) -> Iterator[list[Any]]:
        """Yield the results of all tasks for each block, in the order of the blocks.

        A task is called with the rows X (m, d), the targets (q, m) and the fold numbers (m,) of its block.
        """
        ...


@dataclass(frozen=True, eq=False)
class MemoryRows:
    """The rows of an array; ``n_jobs`` threads share the work."""

    X: Array
    n_jobs: int = 1

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.X)

    @property
    def width(self) -> int:
        """The number of features of a row."""
        return int(self.X.shape[1])

    def __len__(self) -> int:
        return self.n

    def gather(self, rows: Index) -> Array:
        """Return some rows."""
        return np.asarray(self.X[rows])

    def shares(self, kernels: int) -> int:
        """Return one task per thread."""
        return min(self.n_jobs, kernels)

    def map(self, tasks: Sequence[RowTask], y: Array, numbers: Index) -> Iterator[list[Any]]:
        """Yield the results for each block."""
        starts = range(0, self.n, BLOCK)
        calls = ((task, slice(start, start + BLOCK)) for start in starts for task in tasks)

        def run(task: RowTask, rows: slice) -> Any:
            return task(self.X[rows], y[:, rows], numbers[rows])

        if self.n_jobs == 1:
            results = (run(*call) for call in calls)
        else:
            from joblib import Parallel, delayed

            threads = Parallel(self.n_jobs, prefer="threads", return_as="generator")
            results = threads(delayed(run)(*call) for call in calls)
        for _ in starts:
            yield [next(results) for _ in tasks]


def chunks(size: int, numbers: Index) -> Iterator[tuple[int, Index]]:
    """Yield the rows of one fold after the other, in pieces that fit into the cache, with the fold's number."""
    length = max(FEWEST_ROWS, ENTRIES // max(size, 1))
    for fold in np.unique(numbers).tolist():
        rows = np.flatnonzero(numbers == fold)
        for start in range(0, len(rows), length):
            yield fold, rows[start : start + length]


def points_of(features: FeatureMap, X: Array) -> Points:
    """Return the landmarks against the rows; explicit features look at the rows only."""
    return Points(X[:0] if isinstance(features, Monomials) else features.support, X)


@dataclass(frozen=True, eq=False)
class FoldMoments:
    """The sums over rows, for each of some folds along the first axis, or of all rows without that axis.

    ``gram`` (r, r), ``right`` (q, r), ``ones`` (r,), ``squares`` (q,), ``totals`` (q,), ``count`` ().
    """

    gram: Array
    right: Array
    ones: Array
    squares: Array
    totals: Array
    count: Array

    def parts(self) -> tuple[Array, ...]:
        """Return the arrays in the order of the fields."""
        return self.gram, self.right, self.ones, self.squares, self.totals, self.count

    def __iadd__(self, other: FoldMoments) -> FoldMoments:
        for mine, its in zip(self.parts(), other.parts(), strict=True):
            mine += its
        return self

    def __sub__(self, other: FoldMoments) -> FoldMoments:
        pairs = zip(self.parts(), other.parts(), strict=True)
        return FoldMoments(*(mine - its for mine, its in pairs))

    def fold(self, i: int) -> FoldMoments:
        """Return the sums of one fold."""
        return FoldMoments(*(part[i] for part in self.parts()))

    def total(self) -> FoldMoments:
        """Return the sums of all folds."""
        return FoldMoments(*(np.asarray(part.sum(axis=0)) for part in self.parts()))


@dataclass(frozen=True, eq=False)
class SumTask:
    """Form the moments of several kernels' raw features, for ``folds`` folds; an error replaces a kernel's.

    With ``weighted``, the targets are followed by a row of the square roots of the weights.
    """

    features: tuple[FeatureMap, ...]
    folds: int
    shift: Array
    weighted: bool = False

    def __call__(self, X: Array, y: Array, numbers: Index) -> list[FoldMoments | str]:
        """Return the moments of the rows of one block."""
        roots = y[-1] if self.weighted else None
        y = y[: len(self.shift)] - self.shift[:, None]
        k, q = self.folds, len(y)
        found: list[FoldMoments | str] = [
            FoldMoments(
                *(
                    np.zeros((k, *own))
                    for own in ((f.size, f.size), (q, f.size), (f.size,), (q,), (q,), ())
                )
            )
            for f in self.features
        ]
        widest = max(f.size if isinstance(f, Monomials) else len(f.support) for f in self.features)
        for fold, rows in chunks(widest, numbers):
            points = points_of(self.features[0], X[rows])
            for i, features in enumerate(self.features):
                sums = found[i]
                if isinstance(sums, str):
                    continue
                try:
                    root = None if roots is None else roots[rows]
                    add_rows(sums, fold, checked_raw(features, points), y[:, rows], root)
                except TrialError as error:
                    found[i] = str(error)
        return found


def add_rows(sums: FoldMoments, fold: int, R: Array, y: Array, roots: Array | None) -> None:
    """Add rows with raw features R and targets y (q, m) to the sums of their fold, times the roots of weights."""
    ones = np.ones(y.shape[1])
    if roots is not None:
        R, y, ones = R * roots, y * roots, roots
    sums.gram[fold] += R @ R.T
    with_ones = np.vstack([y, ones]) @ R.T
    sums.right[fold] += with_ones[:-1]
    sums.ones[fold] += with_ones[-1]
    sums.squares[fold] += np.einsum("qm,qm->q", y, y)
    sums.totals[fold] += y.sum(axis=1) if roots is None else y @ roots
    sums.count[fold] += y.shape[1] if roots is None else roots @ roots


def checked_raw(features: FeatureMap, points: Points) -> Array:
    """Return the raw features; an overflow is a TrialError in every thread and process."""
    try:
        with np.errstate(divide="raise", invalid="raise", over="raise"):
            return features.raw(points)
    except (FloatingPointError, np.linalg.LinAlgError) as error:
        raise TrialError(f"{type(error).__name__}: {error}") from None


@dataclass(frozen=True, eq=False)
class PredictTask:
    """Return the predictions (p, m) of rows by their own fold's weights (k, p, r) of R and biases (k, p).

    With ``settled``, a prediction within the rounding error of its own terms is exactly 0, so that its sign means
    something.
    """

    features: FeatureMap
    weights: Array
    biases: Array
    settled: bool

    def __call__(self, X: Array, y: Array, numbers: Index) -> Array:
        """Return the predictions of one block."""
        out = np.empty((self.weights.shape[1], len(X)))
        for fold, rows in chunks(self.features.size, numbers):
            R = checked_raw(self.features, points_of(self.features, X[rows]))
            w, b = self.weights[fold], self.biases[fold][:, None]
            values = w @ R + b
            if self.settled:
                size = np.abs(w) @ np.abs(R) + np.abs(b)
                values[np.abs(values) <= ROUNDING * size] = 0.0
            out[:, rows] = values
        return out


@dataclass(frozen=True, eq=False)
class ProjectTask:
    """Return ``A R`` (p, m) minus a constant per line; or ``shares @ (A R - offset)^2`` (ridges, m) with shares."""

    features: FeatureMap
    A: Array
    offset: Array
    shares: Array | None = None

    def __call__(self, X: Array, y: Array, numbers: Index) -> Array:
        """Return the lines of one block."""
        lines = len(self.A) if self.shares is None else len(self.shares)
        out = np.empty((lines, len(X)))
        for _, rows in chunks(self.features.size, np.zeros_like(numbers)):
            R = checked_raw(self.features, points_of(self.features, X[rows]))
            P = self.A @ R
            P -= self.offset[:, None]
            out[:, rows] = P if self.shares is None else self.shares @ np.square(P, out=P)
        return out


def sum_blocks(
    rows: RowBlocks,
    features: Sequence[FeatureMap],
    folds: int,
    shift: Array,
    y: Array,
    numbers: Index,
    after_block: Callable[[int], None],
    weighted: bool = False,
) -> list[FoldMoments | str]:
    """Return the moments over R of each kernel, or why it has none; every s-th kernel is in the same task."""
    shares = rows.shares(len(features))
    groups = [tuple(features[i::shares]) for i in range(shares)]
    tasks = [SumTask(group, folds, shift, weighted) for group in groups]
    total: list[list[FoldMoments | str]] | None = None
    for done, results in enumerate(rows.map(tasks, y, numbers), 1):
        total = (
            results
            if total is None
            else [
                [add(a, b) for a, b in zip(mine, its, strict=True)]
                for mine, its in zip(total, results, strict=True)
            ]
        )
        after_block(done)
    assert total is not None
    found: list[FoldMoments | str] = [""] * len(features)
    for i in range(len(groups)):
        found[i :: len(groups)] = total[i]
    return found


def add(total: FoldMoments | str, block: FoldMoments | str) -> FoldMoments | str:
    """Add the sums of a block; the first error stays."""
    if isinstance(total, str) or isinstance(block, str):
        return total if isinstance(total, str) else block
    total += block
    return total
