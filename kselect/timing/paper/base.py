"""The interface of a paper's algorithm: it takes one kernel matrix and returns a function that scores a ridge."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from kselect.core.method import Method
from kselect.errors import TrialError
from kselect.kernels import Kernel
from kselect.learners.problem import RidgeMode
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array, Index
from kselect.numerics.losses import LOSSES
from kselect.registry import Registry

# The learners of the square loss, and whether each has a bias: the papers' algorithms are for these.
BIAS = {"lssvm": True, "krr": False}
SMOOTH_HINGE = "smooth-hinge"

Score = Callable[[float], float]


class Stopwatch:
    """The CPU and wall seconds of several laps."""

    def __init__(self) -> None:
        self.cpu, self.wall, self.laps = 0.0, 0.0, 0

    def __enter__(self) -> Self:
        self._wall, self._cpu = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: Any) -> None:
        self.cpu += time.process_time() - self._cpu
        self.wall += time.perf_counter() - self._wall
        self.laps += 1


@dataclass(frozen=True, eq=False)
class TimedProblem:
    """One method on one training part: all that an algorithm knows except the kernel and the ridge.

    ``order`` is the random order of the rows from which columns are drawn, ``h`` belongs to the smoothed hinge.
    ``fits`` times the training within an algorithm whose paper counts its cost without the training.
    """

    X: Array
    y: Array
    bias: bool
    ridge: RidgeMode
    drawn: Folds | None = None
    params: dict[str, Any] = field(default_factory=dict)
    order: Index | None = None
    h: float = 0.0
    fits: Stopwatch = field(default_factory=Stopwatch)

    @property
    def n(self) -> int:
        """Return the number of training rows."""
        return len(self.y)

    @property
    def folds(self) -> Folds:
        """Return the folds, or raise a TrialError without any."""
        if self.drawn is None:
            raise TrialError("this algorithm needs folds")
        return self.drawn

    def columns(self, c: float) -> Index:
        """Return a share c of the rows, at least one."""
        order = np.arange(self.n) if self.order is None else self.order
        return np.sort(order[: max(1, round(c * self.n))])

    def mean_loss(self, predicted: Array) -> float:
        """Return the method's loss, averaged as its ``average`` says."""
        values = LOSSES[self.params["loss"]](self.y, predicted)
        if self.params.get("average") == "folds":
            return float(self.folds.average(values))
        return float(values.mean())


# An algorithm does what it needs once per kernel, and returns the function of the ridge.
Algorithm = Callable[[TimedProblem, Kernel, Array], Score]
ALGORITHMS: Registry[Algorithm] = Registry("timed criterion", "kselect.timing.paper")
HINGE: Registry[Algorithm] = Registry("timed criterion of the hinge", "kselect.timing.paper")


def algorithm(
    criterion: str, registry: Registry[Algorithm] = ALGORITHMS
) -> Callable[[Algorithm], Algorithm]:
    """Register ``function(problem, kernel, K) -> (lam -> score)`` as the paper's algorithm of a criterion.

    ``ALGORITHMS`` are for the learners of the square loss, ``HINGE`` for the smoothed hinge.
    """

    def register(function: Algorithm) -> Algorithm:
        registry[criterion] = function
        return function

    return register


def find_algorithm(learner: str, method: Method) -> Algorithm | None:
    """Return the paper's algorithm of a method, or None."""
    if learner == SMOOTH_HINGE:
        return HINGE.get(method.criterion)
    return ALGORITHMS.get(method.criterion) if learner in BIAS else None
