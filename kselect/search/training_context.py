"""The training context of a split: everything that a search may see."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from kselect.core.method import Choice, LamGrid
from kselect.datasets.registry import Task
from kselect.kernels import Kernel, Points
from kselect.kernels.nystrom import nystrom_columns
from kselect.learners import Problem
from kselect.learners.base import RidgeMode
from kselect.learners.factor import Factor
from kselect.numerics.folds import Folds, draw_folds
from kselect.numerics.linalg import Array, Index

Streams = Callable[..., np.random.Generator]


@dataclass(frozen=True, eq=False)
class TrainingContext:
    """Training rows, what to choose from, and the folds to choose by.

    ``targets`` is (q, n): one row in a regression or for two classes, one row per class for more. ``stream``
    gives the random numbers of a purpose. ``landmarks`` approximate the kernel matrix by their columns. With
    ``keeps_held_out`` the held-out predictions that a criterion has made anyway are kept at its best place.
    """

    X: Array
    targets: Array
    task: Task
    kernels: tuple[Kernel, ...]
    ridges: LamGrid
    learner: Choice
    ridge: RidgeMode
    folds: Callable[[int], Folds]
    stream: Streams
    landmarks: Index | None = None
    keeps_held_out: bool = False

    @property
    def n(self) -> int:
        """The number of training rows."""
        return len(self.X)

    @property
    def lams(self) -> tuple[float, ...]:
        """The ridges as lam for so many rows."""
        return self.ridges.lams(self.n)

    @cached_property
    def points(self) -> Points:
        """What the kernels of every parameter share."""
        return Points(self.X) if self.landmarks is None else Points(self.X, self.X[self.landmarks])

    def problem(self, kernel: Kernel) -> Problem:
        """One kernel matrix or its columns, with the first target and every ridge."""
        lams = np.array(self.lams)
        if self.landmarks is None:
            K, columns = kernel.gram(self.points), None
        else:
            K, columns = np.empty((0, 0)), nystrom_columns(kernel, self.points, self.landmarks)
        y, ridge = self.targets[0], self.ridge
        known = self.factors.get(kernel)
        return Problem(
            *(self.X, y, kernel, K, lams, ridge, columns),
            order=self.order,
            targets=self.targets,
            factor=known,
        )

    @cached_property
    def factors(self) -> dict[Kernel, Factor]:
        """Of kernel matrices, kept by a search while others follow that need them too."""
        return {}

    @cached_property
    def order(self) -> Index:
        """A random order of the rows, the same for every kernel and method that draws some of them."""
        return self.stream("columns").permutation(self.n).astype(np.intp)

    def part(self, rows: Index, name: str) -> TrainingContext:
        """Some of the rows as a training context of their own, with random streams of their own."""
        stream = partial(self.stream, name)
        return replace(
            self,
            X=self.X[rows],
            targets=self.targets[:, rows],
            folds=folds_from(stream, len(rows)),
            stream=stream,
        )


def folds_from(stream: Streams, n: int) -> Callable[[int], Folds]:
    """k -> the same k folds for every method that asks."""
    drawn: dict[int, Folds] = {}

    def folds(k: int) -> Folds:
        if k not in drawn:
            drawn[k] = draw_folds(n, k, stream(f"{k} folds"))
        return drawn[k]

    return folds
