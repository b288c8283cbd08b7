"""What a learner is: one kernel matrix in, a path over all ridges out; criteria ask the path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, get_type_hints

from kselect.errors import ConfigError
from kselect.learners.capabilities import (
    HatMatrix,
    LeaveOneOut,
    LeaveOut,
    NewtonStep,
    NystromSeries,
    Path,
    RightSide,
    Series,
    lacks,
)
from kselect.learners.problem import Fit, Problem, RidgeMode
from kselect.numerics.losses import Loss
from kselect.registry import Part, Registry, read_parameters

ANY_TASK = frozenset({"classification", "regression"})


@dataclass(frozen=True)
class Learner(Part):
    """A registered learner; ``low_rank`` makes its paths on the columns of an approximated kernel.

    ``loss`` is what cross-validation averages where nobody says: the learner's own.
    """

    tasks: frozenset[str]
    low_rank: Callable[..., Path] | None
    loss: Loss = "squared"

    def path(self, problem: Problem, **params: Any) -> Path:
        """The path of a problem."""
        make = self.function if problem.columns is None else self.low_rank
        if make is None:
            raise ConfigError(f"the learner {self.name} does not work with Nystrom columns")
        found: Path = make(problem, **params)
        return found

    def lacks(self, need: type[Any], *, columns: bool = False) -> bool:
        """Whether its paths miss what a criterion needs."""
        make = self.low_rank if columns else self.function
        return make is None or lacks(get_type_hints(make)["return"], need)


LEARNERS: Registry[Learner] = Registry("learner", "kselect.learners", "kselect list learners")
F = TypeVar("F", bound=Callable[..., Path])


def learner(
    name: str,
    *,
    paper: str,
    tasks: frozenset[str] = ANY_TASK,
    low_rank: Callable[..., Path] | None = None,
    loss: Loss = "squared",
) -> Callable[[F], F]:
    """Register ``function(problem, *, parameter=default...) -> its class of paths`` as a learner.

    What the class can be asked is read off the annotation. ``low_rank`` does the same for the columns of an
    approximated kernel; a learner without it refuses them.
    """

    def register(function: F) -> F:
        parameters = read_parameters(function)
        LEARNERS[name] = Learner(name, function, paper, parameters, tasks, low_rank, loss)
        return function

    return register


def find_learner(name: str) -> Learner:
    """The learner of a name, or a ConfigError with the nearest one."""
    return LEARNERS.find(name)


__all__ = [
    "ANY_TASK",
    "LEARNERS",
    "Fit",
    "HatMatrix",
    "Learner",
    "LeaveOneOut",
    "LeaveOut",
    "NewtonStep",
    "NystromSeries",
    "Path",
    "Problem",
    "RidgeMode",
    "RightSide",
    "Series",
    "find_learner",
    "learner",
]
