"""What a paper's algorithm is: one kernel matrix in, a function of the ridge out that scores one grid point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kselect.core.method import Method
from kselect.errors import TrialError
from kselect.kernels import Kernel
from kselect.learners.base import RidgeMode
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array, Index
from kselect.numerics.losses import LOSSES
from kselect.registry import Registry

# The learners of the square loss, and whether each has a bias: the papers' algorithms are theirs.
BIAS = {"lssvm": True, "krr": False}
SMOOTH_HINGE = "smooth-hinge"

Score = Callable[[float], float]


@dataclass(frozen=True, eq=False)
class Task:
    """One method on one training part: all that an algorithm knows but the kernel and the ridge.

    ``order`` is the random order of the rows from which columns are drawn, ``h`` the smoothed hinge's.
    """

    X: Array
    y: Array
    bias: bool
    ridge: RidgeMode
    drawn: Folds | None = None
    params: dict[str, Any] = field(default_factory=dict)
    order: Index | None = None
    h: float = 0.0

    @property
    def n(self) -> int:
        """The number of training rows."""
        return len(self.y)

    @property
    def folds(self) -> Folds:
        """The folds, for those who need them."""
        if self.drawn is None:
            raise TrialError("this algorithm needs folds")
        return self.drawn

    def columns(self, c: float) -> Index:
        """A share c of the rows, at least one."""
        order = np.arange(self.n) if self.order is None else self.order
        return np.sort(order[: max(1, round(c * self.n))])

    def mean_loss(self, predicted: Array) -> float:
        """The loss of the method, averaged as its ``average`` says."""
        values = LOSSES[self.params["loss"]](self.y, predicted)
        if self.params.get("average") == "folds":
            return float(self.folds.average(values))
        return float(values.mean())


# What is done before the ridge is known, once for a kernel, stands before the inner function.
Algorithm = Callable[[Task, Kernel, Array], Score]
ALGORITHMS: Registry[Algorithm] = Registry("timed criterion", "kselect.timing.paper")
HINGE: Registry[Algorithm] = Registry("timed criterion of the hinge", "kselect.timing.paper")


def algorithm(
    criterion: str, registry: Registry[Algorithm] = ALGORITHMS
) -> Callable[[Algorithm], Algorithm]:
    """Register ``function(task, kernel, K) -> (lam -> score)`` as the paper's way to a criterion.

    That of the square loss's learners, or in the registry ``HINGE`` of the smoothed hinge.
    """

    def register(function: Algorithm) -> Algorithm:
        registry[criterion] = function
        return function

    return register


def find_algorithm(learner: str, method: Method) -> Algorithm | None:
    """The paper's algorithm of a method, None where there is none: then ours alone is timed."""
    if learner == SMOOTH_HINGE:
        return HINGE.get(method.criterion)
    return ALGORITHMS.get(method.criterion) if learner in BIAS else None
