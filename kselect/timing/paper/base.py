"""What a paper's algorithm is: one kernel matrix in, a function of the ridge out that scores one grid point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kselect.errors import TrialError
from kselect.kernels import Kernel
from kselect.learners.base import RidgeMode
from kselect.model.method import Method
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array
from kselect.numerics.losses import LOSSES
from kselect.registry import Registry

# The learners of the square loss, and whether each has a bias: the papers' algorithms are theirs.
BIAS = {"lssvm": True, "krr": False}

Score = Callable[[float], float]


@dataclass(frozen=True, eq=False)
class Task:
    """One method on one training part: all that an algorithm knows but the kernel and the ridge."""

    X: Array
    y: Array
    bias: bool
    ridge: RidgeMode
    drawn: Folds | None = None
    params: dict[str, Any] = field(default_factory=dict)

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

    def mean_loss(self, predicted: Array) -> float:
        """The loss of the method, averaged as its ``average`` says."""
        values = LOSSES[self.params["loss"]](self.y, predicted)
        if self.params.get("average") == "folds":
            return float(self.folds.average(values))
        return float(values.mean())


# What is done before the ridge is known, once for a kernel, stands before the inner function.
Algorithm = Callable[[Task, Kernel, Array], Score]
ALGORITHMS: Registry[Algorithm] = Registry("timed criterion", "kselect.timing.paper")


def algorithm(criterion: str) -> Callable[[Algorithm], Algorithm]:
    """Register ``function(task, kernel, K) -> (lam -> score)`` as the paper's way to a criterion."""

    def register(function: Algorithm) -> Algorithm:
        ALGORITHMS[criterion] = function
        return function

    return register


def find_algorithm(learner: str, method: Method) -> Algorithm | None:
    """The paper's algorithm of a method, None where there is none: then ours alone is timed."""
    return ALGORITHMS.get(method.criterion) if learner in BIAS else None
