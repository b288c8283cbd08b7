"""Searches that move through all values of a kernel's parameters and of the ridge, beside the grid.

Each is a function that is registered under the name that a config's ``search`` takes; what it finds becomes a
place and a fit here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from kselect.core.grid_point import BestPoint, GridPoint, SearchFailure
from kselect.core.method import Method, Setting
from kselect.errors import TrialError
from kselect.kernels import Kernel
from kselect.kernels.ard import Ard
from kselect.kernels.gaussian import Gaussian
from kselect.learners import Fit
from kselect.learners.lssvm_errors import LSSVMSolution
from kselect.numerics.linalg import Array
from kselect.numerics.memory import keep_freed_memory
from kselect.registry import Part, Registry, read_parameters
from kselect.search.continuous import FirstLevel, SecondLevel
from kselect.search.engine import NUMERICAL, reason
from kselect.search.training_context import TrainingContext

Solution = SecondLevel | FirstLevel
S = TypeVar("S", bound=Solution)
DIGITS = 8
KERNELS = ("gaussian", "ard")
LEARNER = "lssvm"


class Solutions:
    """What has been found on a training context: searches start from each other's solutions."""

    def __init__(self, context: TrainingContext) -> None:
        self.context = context
        self._known: dict[object, Any] = {}

    @property
    def y(self) -> Array:
        """The target; several of them, one per class, have no kernel in common."""
        if len(self.context.targets) != 1:
            raise TrialError(
                "a kernel is learned for two classes or one number, not for more classes"
            )
        target: Array = self.context.targets[0]
        return target

    def once(self, key: object, compute: Callable[[], S]) -> S:
        """The solution of a key, computed the first time."""
        if key not in self._known:
            self._known[key] = compute()
        found: S = self._known[key]
        return found


@dataclass(frozen=True)
class Kind(Part):
    """A registered search: ``criteria`` are those that it can minimise."""

    criteria: tuple[str, ...]

    def misfit(self, method: Method) -> str:
        """Why it cannot look for the best of a method; empty where it can."""
        if method.criterion not in self.criteria:
            return f"{self.name} minimises {' or '.join(self.criteria)}, not {method.criterion}"
        if method.kernel not in KERNELS:
            return f"{self.name} moves the kernel {' or '.join(KERNELS)}, not {method.kernel!r}"
        wrong = {k: v for k, v in method.params if FORMS.get(k, v) != v}
        return " and ".join(
            f"{self.name} takes {k} {FORMS[k]} only, not {v}" for k, v in wrong.items()
        )


# The forms of the criteria that have gradients here.
FORMS: Mapping[str, Any] = {"loss": "squared", "form": "press", "average": "points"}
SEARCHES: Registry[Kind] = Registry("search", "kselect.search", "kselect list searches")
F = TypeVar("F", bound=Callable[..., Solution])


def search_kind(name: str, *, paper: str, criteria: tuple[str, ...]) -> Callable[[F], F]:
    """Register ``function(solutions, method, *, parameter=default...)`` as a search."""

    def register(function: F) -> F:
        SEARCHES[name] = Kind(name, function, paper, read_parameters(function), criteria)
        return function

    return register


def search_continuously(
    context: TrainingContext, demand: Mapping[Method, tuple[Setting, ...]]
) -> dict[tuple[Method, Setting], BestPoint | SearchFailure]:
    """Every method by its own search, those of one kernel parameter first: the others start from them."""
    keep_freed_memory()
    solutions = Solutions(context)
    found: dict[tuple[Method, Setting], BestPoint | SearchFailure] = {}
    for method in sorted(demand, key=lambda m: m.kernel == "ard"):
        result = look(solutions, method)
        found |= {(method, setting): result for setting in demand[method]}
    return found


def look(solutions: Solutions, method: Method) -> BestPoint | SearchFailure:
    """What one search finds, or why it finds nothing."""
    assert method.search is not None
    function = SEARCHES[method.search.name].function
    try:
        solution = function(solutions, method, **dict(method.search.params))
        return as_found(solutions, method, solution)
    except NUMERICAL as error:
        return SearchFailure(reason(error))


def as_found(solutions: Solutions, method: Method, solution: Solution) -> BestPoint:
    """A solution as a place with its fit; its lam is n times that of a place."""
    context = solutions.context
    kernel = kernel_of(method.kernel, solution.theta)
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        fit = LSSVMSolution(kernel.gram(context.points), solutions.y, solution.lam)
    score = solution.objective if isinstance(solution, FirstLevel) else solution.value
    other = ("mu", solution.mu) if isinstance(solution, FirstLevel) else ("held", solution.held)
    dual = Fit(fit.alpha[None], np.array([fit.bias]))
    return BestPoint(
        GridPoint(kernel, solution.lam / context.n, (other,)), score, (dual,), state=solution.state
    )


def kernel_of(name: str, theta: Array) -> Kernel:
    """``exp(-theta ||x - z||^2)`` as the Gaussian kernel of tau, or one theta per feature; of so many digits."""
    if name == "ard":
        return Ard(tuple(map(rounded, theta.tolist())))
    return Gaussian(rounded(0.5 / float(theta[0])) if theta[0] else np.inf)


def rounded(value: float) -> float:
    """What records keep of a width: it is the kernel that is tested."""
    return float(f"{value:.{DIGITS}g}")
