"""One method's selection over the grid in pieces that can be timed: the paper's way, and ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from kselect.datasets.dataset import Source
from kselect.datasets.splits import draw_split, require_two_classes
from kselect.model.experiment import Experiment, Method
from kselect.model.trial import Trial
from kselect.numerics.linalg import Array
from kselect.numerics.streams import stream
from kselect.run.trial import Grid, Parts, load, prepare
from kselect.search.grid import evaluate
from kselect.timing.paper.base import BIAS, Algorithm, Task

# Prepared widths that are kept while others are visited: beyond it they are prepared again.
KEPT_BYTES = 512 * 2**20

Piece = Callable[[int], Array]


@dataclass(frozen=True, eq=False)
class Training:
    """The first split's training part of one data set, scaled as the protocol says."""

    experiment: Experiment
    dataset: str
    source: Source
    parts: Parts

    def grid(self, method: Method) -> Grid:
        """A fresh grid: nothing of another selection is remembered in it."""
        split = self.experiment.splits[0]
        trial = Trial(self.dataset, split, (method,), self.source)
        return Grid(self.experiment, trial, self.parts)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of features."""
        rows, features = self.parts.train.shape
        return rows, features


def training_part(experiment: Experiment, dataset: str, source: Source) -> Training:
    """The rows that every method selects on; a split without two classes is a TrialError."""
    data = load(dataset, source)
    rng = stream(experiment.seed, dataset, experiment.splits[0], "split")
    split = draw_split(data.y, experiment.train, experiment.stratify, rng)
    if data.task == "classification":
        require_two_classes(data.y[split.train])
    return Training(experiment, dataset, source, prepare(experiment, data, split))


class Selection(Protocol):
    """A selection in pieces: ``start``, then for each width a preparation, then its pieces."""

    training: Training
    pieces: int

    def start(self) -> None:
        """What is done once: distances between the rows."""
        ...

    def width(self, position: int) -> Piece:
        """What is done once for a width; gives what is done for each piece: its scores."""
        ...

    def scores_of(self, piece: int) -> slice:
        """The ridges whose scores a piece gives."""
        ...


def grid_of(training: Training, method: Method) -> Grid:
    """A grid whose points have what all its kernels start from."""
    grid = training.grid(method)
    for kernel in training.experiment.kernels:
        kernel.shared(grid.points)
    return grid


class Paper:
    """The paper's algorithm: the kernel once for a width, then each ridge by itself."""

    def __init__(self, training: Training, method: Method, algorithm: Algorithm) -> None:
        self.training, self.method, self.algorithm = training, method, algorithm
        self.lams = training.experiment.lam.values
        self.pieces = len(self.lams)

    def start(self) -> None:
        """Distances, and the folds."""
        experiment, parts = self.training.experiment, self.training.parts
        self.grid = grid_of(self.training, self.method)
        self.task = Task(
            parts.train,
            parts.y_train,
            BIAS[experiment.learner],
            experiment.ridge,
            None if self.method.folds is None else self.grid.folds(self.method.folds),
            dict(self.method.params),
        )

    def width(self, position: int) -> Piece:
        """The kernel, and what the algorithm does with it before it knows a ridge."""
        kernel = self.training.experiment.kernels[position]
        score = self.algorithm(self.task, kernel, kernel.gram(self.grid.points))
        return lambda ridge: np.array([score(self.lams[ridge])])

    def scores_of(self, piece: int) -> slice:
        """One ridge."""
        return slice(piece, piece + 1)


class Ours:
    """The registered criterion on kselect's path: kernel, factorisation and criterion, all ridges at once."""

    pieces = 1

    def __init__(self, training: Training, method: Method) -> None:
        self.training, self.method = training, method

    def start(self) -> None:
        """Distances."""
        self.grid = grid_of(self.training, self.method)

    def width(self, position: int) -> Piece:
        """Nothing: a width is one piece."""
        kernel = self.training.experiment.kernels[position]
        return lambda _: evaluate(self.method, self.grid.path_at(kernel), self.grid.folds)

    def scores_of(self, piece: int) -> slice:
        """All ridges."""
        return slice(None)


def keeps_widths(selection: Selection) -> bool:
    """Whether the kernels of all widths may stay in memory while the grid is walked through."""
    rows, _ = selection.training.shape
    return 8 * rows**2 * len(selection.training.experiment.kernels) <= KEPT_BYTES
