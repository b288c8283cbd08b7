"""The training context: everything that a search may see of one split."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np

from kselect.core.method import Choice, LamGrid
from kselect.datasets.registry import Task
from kselect.errors import ConfigError
from kselect.kernels import Kernel, Points
from kselect.learners import Problem
from kselect.learners.factor import Factor
from kselect.learners.problem import RidgeMode
from kselect.learners.streamed import ColumnPasses, Streamed
from kselect.numerics.folds import Folds, draw_folds
from kselect.numerics.linalg import Array, Index
from kselect.numerics.splits import HowHeldOut
from kselect.numerics.weights import Weights

Streams = Callable[..., np.random.Generator]


@dataclass(eq=False)
class TrainingContext:
    """Training rows, and the kernels and ridges to choose from.

    ``targets`` is (q, n): one row for a regression or two classes, one row per class for more classes. ``stream``
    returns the random generator of a purpose. If ``columns`` are given, they stand for the kernel matrices, and X
    may be empty. With ``keeps_held_out`` the search keeps the held-out predictions of cross-validation at its best
    point.
    ``weights`` weigh the rows; None: all rows weigh the same. ``units`` (q,) are what the targets were divided by.
    ``given_folds`` returns the folds for a number of folds if they are not to be drawn from the stream.

    Attributes
    ----------
    n : the number of training rows.
    lams : the lam grid for this number of rows.
    points : the rows, with the matrices that kernels of all parameters share.
    order : a random order of the rows, the same for every kernel and method that samples rows.
    folds : returns k folds, the same for every method that asks.
    factors : factors of kernel matrices that one search keeps for the next.
    """

    X: Array
    targets: Array
    task: Task
    kernels: tuple[Kernel, ...]
    ridges: LamGrid
    learner: Choice
    ridge: RidgeMode
    stream: Streams
    columns: ColumnPasses | None = None
    keeps_held_out: bool = False
    given_folds: HowHeldOut | None = None
    weights: Weights | None = None
    units: Array | None = None

    def __post_init__(self) -> None:
        self.n = self.targets.shape[1]
        self.lams = self.ridges.lams(self.n)
        self.points = Points(self.X)
        self.order: Index = self.stream("columns").permutation(self.n).astype(np.intp)
        n, stream = self.n, self.stream  # not the context, which would then refer to itself
        drawn = cache(lambda k: draw_folds(n, k, stream(f"{k} folds")))
        self.folds: HowHeldOut = self.given_folds or drawn
        self.factors: dict[Kernel, Factor] = {}

    def problem(self, kernel: Kernel, lams: Array | None = None) -> Problem:
        """Return the kernel matrix or its columns, with the first target and every ridge, or some."""
        if self.columns is None:
            K, columns = kernel.gram(self.points), None
        else:
            K, columns = np.empty((0, 0)), Streamed(self.columns, kernel)
        lams = np.array(self.lams) if lams is None else lams
        return Problem(
            *(self.X, self.targets[0], kernel, K, lams, self.ridge, columns),
            order=self.order,
            targets=self.targets,
            factor=self.factors.get(kernel),
            weights=self.weights,
        )

    def partition(self, k: int) -> Folds:
        """Return k folds, for what works with a partition of the rows only."""
        folds = self.folds(k)
        if isinstance(folds, Folds):
            return folds
        raise ConfigError(
            "repeated folds and splits that do not partition the rows do not work with this search"
        )

    def part(self, rows: Index, name: str) -> TrainingContext:
        """Return a training context of some of the rows, with its own random streams."""
        stream, targets = partial(self.stream, name), self.targets[:, rows]
        weights = self.weights and self.weights.part(rows)
        part = replace(self, X=self.X[rows], targets=targets, stream=stream, given_folds=None)
        part.weights = weights
        return part
