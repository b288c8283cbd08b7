"""One method's selection over the grid in pieces that can be timed: the paper's way, and ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from kselect.core.experiment import Experiment
from kselect.core.method import Choice, Method
from kselect.datasets.dataset import Source
from kselect.numerics.linalg import Array
from kselect.run.trial import PreparedSplit, load, prepare, split_of, training_context
from kselect.search.engine import Paths, score
from kselect.search.minimum import prunes, select_minimum
from kselect.search.training_context import TrainingContext
from kselect.timing.paper.base import BIAS, Algorithm, Task

# Prepared widths that are kept while others are visited: beyond it they are prepared again.
KEPT_BYTES = 512 * 2**20

Piece = Callable[[int], Array]


@dataclass(frozen=True, eq=False)
class Training:
    """The first split's training part of one data set, scaled as the protocol says."""

    experiment: Experiment
    dataset: str
    parts: PreparedSplit

    def bare(self) -> TrainingContext:
        """A fresh training side in which nothing is remembered."""
        return training_context(
            self.experiment, self.dataset, self.experiment.splits[0], self.parts
        )

    def side(self) -> TrainingContext:
        """The same whose points have what all kernels start from; nothing else is remembered in it."""
        side = self.bare()
        for kernel in side.kernels:
            kernel.shared(side.points)
        return side

    @property
    def learner(self) -> Choice:
        """What is trained."""
        return self.experiment.learner(self.experiment.task(self.dataset))

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of features."""
        rows, features = self.parts.train.shape
        return rows, features


def training_part(experiment: Experiment, dataset: str, source: Source) -> Training:
    """The rows that every method selects on; a split without two classes is a TrialError."""
    data = load(experiment.info(dataset), source)
    split = split_of(experiment, data, experiment.splits[0])
    return Training(experiment, dataset, prepare(experiment, data, split))


def scoring(training: Training, method: Method) -> Choice:
    """The learner that a method asks."""
    task = training.experiment.task(training.dataset)
    return dict(method.scored_by).get(task, training.learner)


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


class Paper:
    """The paper's algorithm: the kernel once for a width, then each ridge by itself."""

    def __init__(self, training: Training, method: Method, algorithm: Algorithm) -> None:
        self.training, self.method, self.algorithm = training, method, algorithm
        self.lams = training.experiment.lam.lams(training.shape[0])
        self.pieces = len(self.lams)

    def start(self) -> None:
        """Distances, and the folds."""
        parts, learner = self.training.parts, scoring(self.training, self.method)
        self.side = self.training.side()
        self.task = Task(
            parts.train,
            parts.y_train,
            BIAS.get(learner.name, False),
            self.side.ridge,
            None if self.method.folds is None else self.side.folds(self.method.folds),
            dict(self.method.params),
            self.side.order,
            dict(learner.params).get("h", 0.0),
        )

    def width(self, position: int) -> Piece:
        """The kernel, and what the algorithm does with it before it knows a ridge."""
        kernel = self.side.kernels[position]
        score = self.algorithm(self.task, kernel, kernel.gram(self.side.points))
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
        self.side = self.training.side()

    def width(self, position: int) -> Piece:
        """Nothing: a width is one piece."""
        kernel = self.side.kernels[position]
        return lambda _: score(Paths(self.side, self.side.problem(kernel)), self.method)[0]

    def scores_of(self, piece: int) -> slice:
        """All ridges."""
        return slice(None)


class Bounded:
    """Ours where the experiment's search is by bounds: the minimum of exact k-CV, in one piece."""

    def __init__(self, training: Training, method: Method) -> None:
        self.training, self.method = training, method

    @property
    def applies(self) -> bool:
        """Whether the experiment searches so, and the bounds know the method."""
        by_bounds = self.training.experiment.search == "pruned"
        return by_bounds and prunes(self.training.bare(), self.method)

    def run(self) -> Array:
        """The whole selection; scores (widths, ridges) that are NaN but at the minimum."""
        side = self.training.bare()
        assert self.method.folds is not None
        found = select_minimum(side, side.folds(self.method.folds))
        scores = np.full((len(side.kernels), len(side.lams)), np.nan)
        scores[found.kernel, found.ridge] = found.score
        return scores


def keeps_widths(selection: Selection) -> bool:
    """Whether the kernels of all widths may stay in memory while the grid is walked through."""
    rows, _ = selection.training.shape
    return 8 * rows**2 * len(selection.training.experiment.kernels) <= KEPT_BYTES
