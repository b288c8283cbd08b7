"""What is timed: one method's selection, with the paper's algorithm or with ours, in pieces or as a whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from kselect.core.experiment import Experiment
from kselect.core.grid_point import SearchFailure
from kselect.core.method import SELECTED, Choice, Method
from kselect.datasets.dataset import Source
from kselect.errors import TrialError
from kselect.numerics.linalg import Array
from kselect.run.trial import PreparedSplit, load, prepare, split_of, training_context
from kselect.search.engine import Paths, score
from kselect.search.kinds import search_continuously
from kselect.search.minimum import prunes, select_minimum
from kselect.search.training_context import TrainingContext
from kselect.timing.paper.base import BIAS, Algorithm, TimedProblem

# Our continuous search -> the search that the paper describes for the same objective.
AS_PUBLISHED = {"flkl": Choice("nelder-mead")}

Piece = Callable[[int], Array]


@dataclass(frozen=True, eq=False)
class Training:
    """The training part of the first split of one data set, scaled as the protocol says."""

    experiment: Experiment
    dataset: str
    parts: PreparedSplit

    @classmethod
    def of(cls, experiment: Experiment, dataset: str, source: Source) -> Training:
        """Load the rows; a split without two classes is a TrialError."""
        data = load(experiment.info(dataset), source)
        split = split_of(experiment, data, experiment.splits[0])
        return cls(experiment, dataset, prepare(experiment, data, split))

    def bare(self) -> TrainingContext:
        """Return a new context with empty caches."""
        return training_context(
            self.experiment, self.dataset, self.experiment.splits[0], self.parts
        )

    def context(self) -> TrainingContext:
        """Return a new context that caches only what all kernels share, such as distances."""
        found = self.bare()
        for kernel in found.kernels:
            kernel.shared(found.points)
        return found

    def learner(self, method: Method) -> Choice:
        """Return the learner that scores a method."""
        task = self.experiment.task(self.dataset)
        return dict(method.scored_by).get(task, self.experiment.learner(task))

    @property
    def shape(self) -> tuple[int, int]:
        """Return the numbers of rows and features."""
        rows, features = self.parts.train.shape
        return rows, features


class TimedSelection(Protocol):
    """A selection over the grid in pieces: ``start``, then for each width a preparation and its pieces."""

    training: Training
    pieces: int

    def start(self) -> None:
        """Do what is needed once: distances between the rows."""
        ...

    def width(self, position: int) -> Piece:
        """Prepare a width; return the function that computes the scores of a piece."""
        ...

    def scores_of(self, piece: int) -> slice:
        """Return the ridges that a piece scores."""
        ...


class PaperSelection:
    """The paper's algorithm: one kernel matrix per width, then each ridge separately."""

    def __init__(self, training: Training, method: Method, algorithm: Algorithm) -> None:
        self.training, self.method, self.algorithm = training, method, algorithm
        self.lams = training.experiment.lam.lams(training.shape[0])
        self.pieces = len(self.lams)

    def start(self) -> None:
        """Compute distances and draw the folds."""
        parts, learner = self.training.parts, self.training.learner(self.method)
        self.context = self.training.context()
        self.problem = TimedProblem(
            parts.train,
            parts.y_train,
            BIAS.get(learner.name, False),
            self.context.ridge,
            None if self.method.folds is None else self.context.folds(self.method.folds),
            dict(self.method.params),
            self.context.order,
            dict(learner.params).get("h", 0.0),
        )

    def width(self, position: int) -> Piece:
        """Compute the kernel matrix and what the algorithm needs of it for every ridge."""
        kernel = self.context.kernels[position]
        score = self.algorithm(self.problem, kernel, kernel.gram(self.context.points))
        return lambda ridge: np.array([score(self.lams[ridge])])

    def scores_of(self, piece: int) -> slice:
        """Return one ridge."""
        return slice(piece, piece + 1)


class OurSelection:
    """The registered criterion on kselect's path: kernel, factorisation and scores of all ridges at once."""

    pieces = 1

    def __init__(self, training: Training, method: Method) -> None:
        self.training, self.method = training, method

    def start(self) -> None:
        """Compute distances."""
        self.context = self.training.context()

    def width(self, position: int) -> Piece:
        """Prepare nothing: a width is one piece."""
        kernel = self.context.kernels[position]
        return lambda _: score(Paths(self.context, self.context.problem(kernel)), self.method)[0]

    def scores_of(self, piece: int) -> slice:
        """Return all ridges."""
        return slice(None)


class PrunedSelection:
    """Our search by bounds for the minimum of exact k-fold cross-validation, in one piece."""

    def __init__(self, training: Training, method: Method) -> None:
        self.training, self.method = training, method

    @property
    def applies(self) -> bool:
        """Return whether the experiment searches by bounds and the bounds cover the method."""
        by_bounds = self.training.experiment.search == "pruned"
        return by_bounds and prunes(self.training.bare(), self.method)

    def run(self) -> Array:
        """Return the scores (widths, ridges), which are NaN except at the minimum."""
        context = self.training.bare()
        assert self.method.folds is not None
        found = select_minimum(context, context.folds(self.method.folds))
        scores = np.full((len(context.kernels), len(context.lams)), np.nan)
        scores[found.kernel, found.ridge] = found.score
        return scores


@dataclass(frozen=True)
class ContinuousSearch:
    """A search over all values of the kernel's parameters, including the search for its start."""

    training: Training
    method: Method

    def run(self) -> Array:
        """Return the score at the end of the search, (1, 1)."""
        cells = search_continuously(self.training.bare(), {self.method: (SELECTED,)})
        found = cells[self.method, SELECTED]
        if isinstance(found, SearchFailure):
            raise TrialError(found.reason)
        return np.array([[found.score]])

    @property
    def as_published(self) -> ContinuousSearch | None:
        """Return the paper's search for the same objective, or None if it is ours."""
        assert self.method.search is not None
        choice = AS_PUBLISHED.get(self.method.search.name)
        return replace(self, method=replace(self.method, search=choice)) if choice else None
