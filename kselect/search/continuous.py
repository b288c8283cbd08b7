"""Continuous searches: they move through all values of the kernel's widths and the ridge, without a grid.

Each is registered under the name that the key ``search`` of a config takes. This module has their registry, the
unit of the features in which they work, and the conversion of their solutions to grid points.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np

from kselect.core.grid_point import BestPoint, GridPoint, SearchFailure
from kselect.core.method import Method
from kselect.errors import TrialError
from kselect.kernels import Kernel
from kselect.kernels.ard import Ard
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.widths import KernelWidths, OneWidth, WidthPerFeature
from kselect.learners import Fit
from kselect.learners.lssvm_errors import LSSVMSolution
from kselect.numerics.linalg import Array, Mask
from kselect.numerics.memory import Memo, keep_freed_memory
from kselect.registry import Part, Registry, read_parameters
from kselect.search.grid import NUMERICAL, Demand, Results, reason
from kselect.search.training_context import TrainingContext

State = Literal["converged", "iteration limit", "no further descent", "branch change"]

KERNELS = ("gaussian", "ard")
LEARNER = "lssvm"
# The forms of the criteria whose gradients are known here.
FORMS: Mapping[str, Any] = {"loss": "squared", "form": "press", "average": "points"}
# The digits of a width that records keep: the rounded kernel is the one that is tested.
DIGITS = 8
# Features outside this range have a fourth power, which scales mu, that is no number.
SMALLEST, LARGEST = 1e-70, 1e70


@dataclass(frozen=True, eq=False)
class Unit:
    """The varying features, centred and divided with one common number, so that their mean variance is one.

    For z-scored features that number is 1 and nothing changes. The unit gives the starts and bounds of a search the
    same meaning for features of any scale; the problem itself is the same in every unit (theta times ``square``, mu
    over ``square^2``). Constant features are left out, because their widths change nothing.
    """

    X: Array
    square: float
    varying: Mask

    @classmethod
    def of(cls, X: Array, y: Array) -> Unit:
        """Return the unit of a training set; a TrialError if no search is possible on these rows and targets."""
        if len(X) != len(y):
            raise TrialError(f"{len(X)} rows, {len(y)} targets")
        if not np.isfinite(y).all() or np.ptp(y) == 0.0:
            raise TrialError("the targets are all equal, or not finite")
        if not np.isfinite(X).all():
            raise TrialError("a feature is not a finite number")
        varying = np.ptp(X, axis=0) > 0.0
        if not varying.any():
            raise TrialError("all rows are equal: no width changes anything")
        kept = X[:, varying]
        largest = float(np.abs(kept).max())
        centred = kept / largest  # so that no square overflows
        centred = centred - centred.mean(axis=0)
        scale = float(np.sqrt(centred.var(axis=0, ddof=1).mean()))
        size = scale * largest
        if not SMALLEST < size < LARGEST:
            raise TrialError(
                f"features of size {size:.3g}: a width for them is no number; scale them"
            )
        return cls(centred / scale, size**2, varying)

    def widths(self, *, ard: bool) -> KernelWidths:
        """Return one width, or one per varying feature."""
        return WidthPerFeature(self.X) if ard else OneWidth.of(self.X)

    def inside(self, theta: Array, size: int) -> Array:
        """Return a user's theta as ``size`` widths in this unit: one for all features, or one per feature."""
        return (
            np.broadcast_to(theta if len(theta) == 1 else theta[self.varying], size) * self.square
        )

    def outside(self, theta: Array, *, ard: bool) -> Array:
        """Return widths of this unit as a user's theta, zero for constant features."""
        if not ard:
            return theta / self.square
        found = np.zeros(len(self.varying))
        found[self.varying] = theta / self.square
        return found


@dataclass(frozen=True)
class Solution:
    """The minimum that a continuous search found, with one theta (RBF) or one per feature (ARD).

    ``lam`` is the ridge of ``sum 0.5 (y - f)^2 + (lam / 2) ||w||^2``, n times the lam of a grid search. ``value``
    is the mean squared held-out error, or the criterion BR. ``evaluations`` counts Cholesky factors. ``held``
    counts the variables at a limit of the search. FLKL, which learns the widths at the first level, also has
    ``mu``, the outer ``steps``, and ``jumps``: how often a fold lost its minimum, at accepted or refused points.
    """

    theta: Array
    lam: float
    value: float
    evaluations: int
    state: State
    held: int = 0
    mu: float | None = None
    steps: int = 0
    jumps: int = 0


class KnownSolutions(Memo):
    """The solutions found for one training context, from which other searches start."""

    def __init__(self, context: TrainingContext) -> None:
        self.context = context

    @property
    def y(self) -> Array:
        """The target; more than two classes have several targets and no common kernel."""
        if len(self.context.targets) != 1:
            raise TrialError(
                "this search learns one kernel for one target, two classes or numbers; here are "
                f"{len(self.context.targets)} classes"
            )
        target: Array = self.context.targets[0]
        return target


@dataclass(frozen=True)
class ContinuousSearch(Part):
    """A registered search; ``criteria`` names the criteria that it can minimise."""

    criteria: tuple[str, ...]

    def misfit(self, method: Method) -> str:
        """Return why it cannot search for a method; empty if it can."""
        if method.criterion not in self.criteria:
            return f"{self.name} minimises {' or '.join(self.criteria)}, not {method.criterion}"
        if method.kernel not in KERNELS:
            return f"{self.name} moves the kernel {' or '.join(KERNELS)}, not {method.kernel!r}"
        wrong = {k: v for k, v in method.params if FORMS.get(k, v) != v}
        return " and ".join(
            f"{self.name} takes {k} {FORMS[k]} only, not {v}" for k, v in wrong.items()
        )


SEARCHES: Registry[ContinuousSearch] = Registry(
    "search", "kselect.search", "kselect list searches", entries="kselect.searches"
)
F = TypeVar("F", bound=Callable[..., Solution])


def continuous_search(name: str, *, paper: str, criteria: tuple[str, ...]) -> Callable[[F], F]:
    """Register ``function(known, method, *, parameter=default...) -> Solution`` as a search."""

    def register(function: F) -> F:
        own = (name, function, paper, read_parameters(function), criteria)
        SEARCHES.add(name, ContinuousSearch(*own))
        return function

    return register


def search_continuously(context: TrainingContext, demand: Demand) -> Results:
    """Run the search of every method; searches with one width come first, because the others start from them."""
    keep_freed_memory()
    known = KnownSolutions(context)
    found: Results = {}
    for method in sorted(demand, key=lambda m: m.kernel == "ard"):
        assert method.search is not None
        function = SEARCHES[method.search.name].function
        result: BestPoint | SearchFailure
        try:
            solution = function(known, method, **dict(method.search.params))
            kernel = kernel_of(method.kernel, solution.theta)
            with np.errstate(over="raise", invalid="raise", divide="raise"):
                final = LSSVMSolution(kernel.gram(context.points), known.y, solution.lam)
            extra = ("held", solution.held) if solution.mu is None else ("mu", solution.mu)
            point = GridPoint(
                kernel, solution.lam / context.n, (extra,)
            )  # the lam of a grid search
            fit = Fit(final.alpha[None], np.array([final.bias]))
            result = BestPoint(point, solution.value, (fit,), state=solution.state)
        except NUMERICAL as error:
            result = SearchFailure(reason(error))
        found |= {(method, setting): result for setting in demand[method]}
    return found


def kernel_of(name: str, theta: Array) -> Kernel:
    """Return the kernel of rounded widths: Gaussian with ``tau = 1 / (2 theta)``, or one theta per feature."""
    ard = name == "ard"
    values = theta.tolist() if ard else [0.5 / float(theta[0]) if theta[0] else np.inf]
    rounded = tuple(float(f"{value:.{DIGITS}g}") for value in values)
    return Ard(rounded) if ard else Gaussian(*rounded)
