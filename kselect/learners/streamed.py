r"""The low-rank kernel matrix of rows that are visited in blocks: nothing of n rows and c columns is kept.

``ColumnPasses`` makes one pass over the rows for all kernels together; ``Streamed`` is the matrix of one kernel,
with the questions that a criterion may ask of it. Questions about single rows take a further pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock

import numpy as np

from kselect.errors import TrialError
from kselect.kernels import Kernel
from kselect.kernels.columns import FeatureMap
from kselect.learners.blocks import (
    FoldMoments,
    PredictTask,
    ProjectTask,
    RowBlocks,
    RowTask,
    sum_blocks,
)
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import EPS, Array, Index, symmetric_eigh
from kselect.numerics.memory import BLOCK, Memo
from kselect.numerics.weights import Weights

# The bytes of moments that one pass over the rows may hold.
MOST_SUMS = 2**28
# The threads that may ask for the kernels of one pass in another order.
MOST_THREADS = 16
# The rounding errors of eps that a factorisation of the normal equations adds up to.
STEPS = 8.0


@dataclass(eq=False)
class ColumnPasses:
    """The rows and the features of all kernels; ``folds`` are those that the first pass should serve.

    Parameters
    ----------
    rows : the rows in blocks.
    make : returns the features of a kernel; a TrialError excludes the kernel.
    kernels : the kernels of the search, in the order in which they are asked for.
    y : the targets (q, n).
    weights : the weights of the rows; None if all rows weigh the same.
    watch : called with the number of kernels done, which may rise by several at once, and their total.
    """

    rows: RowBlocks
    make: Callable[[Kernel], FeatureMap]
    kernels: Sequence[Kernel]
    y: Array
    folds: Folds | None = None
    watch: Callable[[int, int], object] = lambda done, total: None
    weights: Weights | None = None
    _done: int = 0
    _features: dict[Kernel, FeatureMap | str] = field(default_factory=dict)
    _sums: dict[Kernel, FoldMoments | str] = field(default_factory=dict)
    _asked: set[Kernel] = field(default_factory=set)
    _key: object = None
    _lock: Lock = field(default_factory=Lock)

    def features(self, kernel: Kernel) -> FeatureMap:
        """Return the features of a kernel."""
        if kernel not in self._features:
            try:
                with np.errstate(divide="raise", invalid="raise", over="raise"):
                    self._features[kernel] = self.make(kernel)
            except (TrialError, FloatingPointError, np.linalg.LinAlgError) as error:
                self._features[kernel] = str(error)
        found = self._features[kernel]
        if isinstance(found, str):
            raise TrialError(found)
        return found

    def moments(self, kernel: Kernel, folds: Folds | None, shift: Array) -> FoldMoments:
        """Return the moments of each fold, over the features V; the same pass serves the kernels that follow."""
        with self._lock:
            key = (folds, shift.tobytes())
            if key != self._key:
                self._key, self._sums, self._asked = key, {}, set()
            if kernel not in self._sums:
                # Other threads still ask for these.
                self._sums = {k: s for k, s in self._sums.items() if k not in self._asked}
            while kernel not in self._sums:
                self._sums |= self.sweep(self.first_for(kernel), folds, shift)
            self._asked.add(kernel)
            found = self._sums[kernel]
        if isinstance(found, str):
            raise TrialError(found)
        return found

    def first_for(self, kernel: Kernel) -> Kernel:
        """Return the kernel with which a pass begins that serves this one.

        Of several threads, one with a later kernel may come first. A pass without the kernels of the others
        would have to be made again for them.
        """
        if kernel not in self.kernels or kernel in self._asked:
            return kernel
        at = self.kernels.index(kernel)
        before = self.kernels[max(0, at - MOST_THREADS) : at]
        open_ = (k for k in before if k not in self._asked and k not in self._sums)
        return next((k for k in open_ if not isinstance(self._features.get(k), str)), kernel)

    def sweep(
        self, first: Kernel, folds: Folds | None, shift: Array
    ) -> dict[Kernel, FoldMoments | str]:
        """Make one pass for a kernel and those after it whose moments fit into ``MOST_SUMS`` together."""
        k = 1 if folds is None else len(folds.members)
        group: list[tuple[Kernel, FeatureMap]] = []
        space = 0
        at = self.kernels.index(first) if first in self.kernels else None
        alone = at is None or first in self._asked
        for kernel in [first] if alone else self.kernels[at:]:
            try:
                features = self.features(kernel)
            except TrialError:
                continue
            space += 8 * k * features.size**2
            if group and (space > MOST_SUMS or not same_points(features, group[0][1])):
                break
            group.append((kernel, features))
        numbers = np.zeros(self.rows.n, np.intp) if folds is None else folds.numbers
        last = 0 if at is None else self.kernels.index(group[-1][0]) + 1

        def after_block(done: int) -> None:
            share = min(1.0, done * BLOCK / self.rows.n)
            reached = (at or 0) + int(share * (last - (at or 0)))
            if self._done < reached:
                self._done = reached
                self.watch(reached, len(self.kernels))

        maps, y = [f for _, f in group], self.y
        if self.weights is not None:
            y = np.vstack([y, self.weights.roots])
        given = self.rows, maps, k, shift, y, numbers
        sums = sum_blocks(*given, after_block, self.weights is not None)
        return {kernel: s for (kernel, _), s in zip(group, sums, strict=True)}

    def each_row(self, task: RowTask, numbers: Index | None = None) -> Array:
        """Return the results of a task for all rows, (lines, n)."""
        numbers = np.zeros(self.rows.n, np.intp) if numbers is None else numbers
        return np.concatenate(
            [found for (found,) in self.rows.map([task], self.y, numbers)], axis=1
        )


def same_points(one: FeatureMap, other: FeatureMap) -> bool:
    """Return whether two kernels share their landmarks, and so the distances to the rows."""
    return type(one) is type(other) and one.support is other.support


class Streamed:
    """The approximated kernel matrix ``V^T V`` of one kernel, in terms of its moments."""

    def __init__(self, passes: ColumnPasses, kernel: Kernel) -> None:
        self.passes = passes
        self.features = passes.features(kernel)
        self.kernel = kernel
        self.memo = Memo()

    def moments(self, folds: Folds | None, shift: Array) -> FoldMoments:
        """Return the moments over V of each fold; without folds, all rows are one fold."""
        self.memo["shift"] = shift
        if folds is None and (known := self.passes.folds) is not None:
            total = self.moments(known, shift).total()
            return FoldMoments(*(part[None] for part in total.parts()))
        return self.memo.once((folds, shift.tobytes()), lambda: self.of_features(folds, shift))

    def of_features(self, folds: Folds | None, shift: Array) -> FoldMoments:
        """Turn the moments over R into those over V."""
        raw, scaled = self.passes.moments(self.kernel, folds, shift), self.features.scaled
        self.memo["rounding"] = self.features.rounding(raw.gram.sum(axis=0))
        gram = np.stack([scaled(scaled(each).T) for each in raw.gram])
        if not np.isfinite(gram).all():
            raise TrialError("the columns of the kernel are not finite")
        return FoldMoments(
            (gram + gram.transpose(0, 2, 1)) / 2.0,
            np.stack([scaled(each.T).T for each in raw.right]),
            np.stack([scaled(each) for each in raw.ones]),
            *(raw.squares, raw.totals, raw.count),
        )

    def predict(self, w: Array, b: Array, folds: Folds | None, *, settled: bool) -> Array:
        """Return the predictions (q, ridges, n) for weights (k, q, ridges, r) of V and biases (k, q, ridges)."""
        k, q, count, r = w.shape
        raw = np.stack([self.features.unscaled(each.reshape(-1, r).T).T for each in w])
        task = PredictTask(self.features, raw, b.reshape(k, -1), settled)
        numbers = None if folds is None else folds.numbers
        return self.passes.each_row(task, numbers).reshape(q, count, -1)

    def project(self, Q: Array, offset: Array, shares: Array | None = None) -> Array:
        """Return ``Q^T V - offset`` (p, n), or ``shares @`` its squares."""
        A = np.ascontiguousarray(self.features.unscaled(Q).T)
        return self.passes.each_row(ProjectTask(self.features, A, offset, shares))

    @cached_property
    def total(self) -> FoldMoments:
        """The moments of all rows; only the Gram matrix and the sums of features count."""
        return self.moments(None, self.memo.get("shift", np.zeros(len(self.passes.y)))).fold(0)

    @cached_property
    def _eigen(self) -> tuple[Array, Array]:
        s, Q = symmetric_eigh(self.total.gram)
        return np.maximum(s, 0.0), Q

    @property
    def s(self) -> Array:
        """The eigenvalues of ``V V^T``, ascending."""
        return self._eigen[0]

    @cached_property
    def B(self) -> Array:
        """``V^T Q`` (n, r), the only matrix of n rows: for the series of cross-validation."""
        Q = self._eigen[1]
        return np.ascontiguousarray(self.project(Q, np.zeros(Q.shape[1])).T)

    @cached_property
    def root(self) -> Array:
        """The matrix from coefficients of B to coefficients of the kernel at the landmarks."""
        return self.features.expansion(self._eigen[1])

    @cached_property
    def rounding(self) -> float:
        """The error of ``V V^T`` in the 2-norm: of the columns, of the sums, and of a factorisation."""
        largest = float(self.s[-1])
        return (self.features.defect + STEPS * EPS) * largest + float(self.memo["rounding"])

    @cached_property
    def _row_sums(self) -> Array:
        s, Q = self._eigen
        return self.project(Q, np.zeros(len(s)), np.stack([np.ones(len(s)), s]))

    @property
    def diagonal(self) -> Array:
        """The diagonal of the matrix."""
        return np.asarray(self._row_sums[0])

    def row_squares(self) -> Array:
        """Return ``sum_j K_ij^2 = b_i^T diag(s) b_i``."""
        return np.asarray(self._row_sums[1])

    def times(self, R: Array) -> Array:
        """Return ``K R``."""
        return np.asarray(self.B @ (self.B.T @ R))

    def at(self, columns: Index) -> Array:
        """Return some columns of K."""
        return np.asarray(self.B @ self.B[columns].T)

    def off_diagonal_squares(self) -> float:
        """Return ``sum_{i != j} K_ij^2 / (K_ii K_jj)``."""
        inverse = np.divide(
            1.0, self.diagonal, out=np.zeros(self.passes.rows.n), where=self.diagonal > 0
        )
        C = self.B * np.sqrt(inverse)[:, None]
        return max(float(np.square(C.T @ C).sum()) - float((self.diagonal > 0).sum()), 0.0)

    @cached_property
    def spectrum(self) -> Array:
        """The eigenvalues of K, descending, padded with zeros."""
        return np.concatenate([self.s[::-1], np.zeros(max(self.passes.rows.n - len(self.s), 0))])
