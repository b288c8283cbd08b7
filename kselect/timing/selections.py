"""Selections to be timed, each of one method: with the paper's algorithm or with ours, in pieces or as a whole."""

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
from kselect.kernels.base import warm
from kselect.numerics.linalg import Array
from kselect.run.trial import PreparedSplit, load, prepare
from kselect.search.continuous import search_continuously
from kselect.search.grid import Paths, score
from kselect.search.pruned import prunes, select_minimum
from kselect.search.training_context import TrainingContext
from kselect.timing.paper.base import BIAS, Algorithm, Stopwatch, TimedProblem

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
        return cls(experiment, dataset, prepare(experiment, data, experiment.splits[0]))

    def bare(self) -> TrainingContext:
        """Return a new context with empty caches."""
        return replace(self.parts.context)

    def context(self) -> TrainingContext:
        """Return a new context that caches only what all kernels share, such as distances."""
        found = self.bare()
        warm(found.points, found.kernels)
        return found

    def learner(self, method: Method) -> Choice:
        """Return the learner that scores a method."""
        return learner_of(self.experiment, self.dataset, method)

    @property
    def shape(self) -> tuple[int, int]:
        """Return the numbers of rows and features."""
        rows, features = self.parts.context.X.shape
        return rows, features


def learner_of(experiment: Experiment, dataset: str, method: Method) -> Choice:
    """Return the learner that scores a method on a data set."""
    task = experiment.info(dataset).task
    return dict(method.scored_by).get(task, dict(experiment.learners)[task])


class TimedSelection(Protocol):
    """A selection over the grid in pieces; each of the ``pieces`` of a width has equally many ridges.

    ``fits`` times the trainings, if laps tell them apart.
    """

    training: Training
    pieces: int
    fits: Stopwatch

    def start(self) -> None:
        """Do what is needed once: distances between the rows."""
        ...

    def width(self, position: int) -> Piece:
        """Prepare a width; return the function that computes the scores of a piece."""
        ...


class PaperSelection:
    """The paper's algorithm: one kernel matrix per width, then each ridge separately."""

    def __init__(self, training: Training, method: Method, algorithm: Algorithm) -> None:
        self.training, self.method, self.algorithm = training, method, algorithm
        self.lams = training.experiment.lam.lams(training.shape[0])
        self.pieces, self.fits = len(self.lams), Stopwatch()

    def start(self) -> None:
        """Compute distances and draw the folds."""
        parts, learner = self.training.parts, self.training.learner(self.method)
        self.context = self.training.context()
        self.problem = TimedProblem(
            parts.context.X,
            parts.y_train,
            BIAS.get(learner.name, False),
            self.context.ridge,
            None if self.method.folds is None else self.context.partition(self.method.folds),
            dict(self.method.params),
            self.context.order,
            dict(learner.params).get("h", 0.0),
        )
        self.fits = self.problem.fits

    def width(self, position: int) -> Piece:
        """Compute the kernel matrix and what the algorithm needs of it for every ridge."""
        kernel = self.context.kernels[position]
        score = self.algorithm(self.problem, kernel, kernel.gram(self.context.points))
        return lambda ridge: np.array([score(self.lams[ridge])])


class OurSelection:
    """The registered criterion on kselect's path: kernel, factorisation and scores of all ridges at once."""

    pieces = 1

    def __init__(self, training: Training, method: Method) -> None:
        self.training, self.method, self.fits = training, method, Stopwatch()

    def start(self) -> None:
        """Compute distances."""
        self.context = self.training.context()

    def width(self, position: int) -> Piece:
        """Prepare nothing: a width is one piece."""
        kernel = self.context.kernels[position]
        return lambda _: score(Paths(self.context, self.context.problem(kernel)), self.method)[0]


def is_pruned(training: Training, method: Method) -> bool:
    """Return whether the experiment searches by bounds and the bounds cover the method."""
    return training.experiment.search == "pruned" and prunes(training.bare(), method)


def select_pruned(training: Training, method: Method) -> Array:
    """Search by bounds for the minimum of exact k-CV; return scores that are NaN except at the minimum."""
    context = training.bare()
    assert method.folds is not None
    found = select_minimum(context, context.partition(method.folds))
    scores = np.full((len(context.kernels), len(context.lams)), np.nan)
    scores[found.kernel, found.ridge] = found.score
    return scores


def search_all_values(training: Training, method: Method) -> Array:
    """Search all values of the kernel's parameters, with the search for the start; return the score, (1, 1)."""
    found = search_continuously(training.bare(), {method: (SELECTED,)})[method, SELECTED]
    if isinstance(found, SearchFailure):
        raise TrialError(found.reason)
    return np.array([[found.score]])


def as_published(method: Method) -> Method | None:
    """Return the method with the paper's search for the same objective, or None if that is ours."""
    assert method.search is not None
    choice = AS_PUBLISHED.get(method.search.name)
    return replace(method, search=choice) if choice else None
