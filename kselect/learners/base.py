"""The registry of learners, and the protocols by which a criterion queries a learner's path.

A learner takes one kernel matrix and returns a path, the fits at all ridges. A criterion names the protocol
that it needs. Every path offers ``Path``; it offers another protocol by having its methods.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, Literal, Protocol, TypeVar, cast, get_type_hints, runtime_checkable

from kselect.errors import ConfigError
from kselect.learners.problem import Fit as Fit
from kselect.learners.problem import Problem as Problem
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array, Mask
from kselect.numerics.losses import Loss
from kselect.registry import Part, Registry, read_parameters

RightSide = Literal["exact", "nystrom"]
# Whether the hinge operator of FBIF counts the rows in the free zone only, as it must, or all rows, as printed.
Operator = Literal["corrected", "printed"]
ANY_TASK = frozenset({"classification", "regression"})


class Path(Protocol):
    """The fits of one training set and kernel at every ridge."""

    problem: Problem

    def decision(self) -> Array:
        """Return the fitted values on the training rows, (n_ridges, n)."""
        ...

    def held_out(self, folds: Folds) -> Array:
        """Return the prediction of each row by exact k-fold cross-validation, (n_ridges, n)."""
        ...

    def fit(self) -> Fit:
        """Return the coefficients and the bias for every ridge."""
        ...


@runtime_checkable
class HeldOutSquares(Protocol):
    """A path that knows the squared held-out errors of each fold without predicting a row."""

    def held_out_squares(self, folds: Folds) -> Array:
        """Return the sum of squared held-out errors of each fold, (n_ridges, k)."""
        ...


@runtime_checkable
class WithoutFolds(Protocol):
    """A path that knows the fits without each fold, for predicting new rows with them."""

    def fold_fits(self, folds: Folds) -> tuple[Fit, ...]:
        """Return the fit without each fold, at every ridge."""
        ...


class LeaveOneOut(Path, Protocol):
    """A path with exact leave-one-out that does not train n times."""

    def loo(self) -> Array:
        """Return the prediction of each row by leave-one-out, (n_ridges, n)."""
        ...


class LeaveOut(Path, Protocol):
    """A path that trains without one row and predicts all rows."""

    def without(self, row: int) -> Array:
        """Return the predictions of all rows without ``row``, at the problem's ridge, (n_ridges, n)."""
        ...


class Series(Path, Protocol):
    """A path with the Taylor series of cross-validation around the fit on all rows (icml2014, ijcai2018)."""

    def bif(self, folds: Folds, order: int) -> Array:
        """Return the prediction of each row from its fold's series of that order, (n_ridges, n)."""
        ...

    def rates(self, folds: Folds) -> Array:
        """Return the series' rate, the factor gained per order, the largest over folds, (n_ridges,)."""
        ...

    def interpolating(self, folds: Folds, cap: float) -> Mask:
        """Return the ridges whose rate reaches the cap for some fold, (n_ridges,); none if the cap is inf."""
        ...


class NystromSeries(Path, Protocol):
    """A path with that series, the kernel approximated within its inverse (ijcai2018, section 4)."""

    def fbif(
        self,
        folds: Folds,
        *,
        c: float,
        order: int,
        rhs: RightSide,
        operator: Operator = "corrected",
    ) -> Array:
        """Return the prediction of each row from its fold's series, (n_ridges, n).

        ``c`` is the share of rows that are drawn as columns.
        """
        ...


class NewtonStep(Path, Protocol):
    """A path with one Newton step from the fit on all rows towards the fit without a fold."""

    def frozen_step(self, folds: Folds) -> Array:
        """Return the prediction of each row after that step, (n_ridges, n)."""
        ...


class HatMatrix(Path, Protocol):
    """A path whose fitted values ``S y`` are linear in the targets."""

    def unexplained(self) -> tuple[Array, Array]:
        """Return ``y - S y`` and ``1 - S_ii``, (n_ridges, n) each, up to one common factor per ridge.

        A path that never forms single rows returns one column instead: the root mean square of ``y - S y`` and the
        mean of ``1 - S_ii``. Both keep their relative accuracy where the fit interpolates; a ridge where rounding
        makes that impossible is a TrialError.
        """
        ...


class SquareLoss(Path, Protocol):
    """A path of the square loss: for criteria that are meaningful for it only, such as a marginal likelihood."""

    def quadratic_form(self) -> Array:
        """Return ``y' (K + n lam I)^{-1} y`` for every ridge, (n_ridges,); with a bias, at ``y - b``.

        It is n times the minimum of the objective ``(1/n) sum (y - f)^2 + lam ||w||^2``, divided by ``n lam``.
        """
        ...


# The name of each protocol in messages.
WORDS: dict[type[Any], str] = {
    Path: "held-out predictions",
    LeaveOneOut: "a closed form of leave-one-out",
    LeaveOut: "fits without single rows",
    Series: "a series",
    NystromSeries: "a series on Nystrom columns",
    NewtonStep: "a Newton step without a fold",
    HatMatrix: "a hat matrix",
    SquareLoss: "the square loss",
}
M = TypeVar("M", bound=Callable[..., Any])


def memoised(method: M) -> M:
    """Cache the results of a path's method for each set of arguments, for as long as the path exists."""

    @wraps(method)
    def cached(self: Any, *args: Any) -> Any:
        known = self.__dict__.setdefault("_memoised", {})
        key = method.__name__, *args
        if key not in known:
            known[key] = method(self, *args)
        return known[key]

    return cast(M, cached)


def nothing() -> None:
    """Prepare nothing."""


@dataclass(frozen=True)
class Learner(Part):
    """A registered learner.

    ``low_rank`` makes its paths from the columns of an approximated kernel. ``loss`` is the learner's own,
    which cross-validation averages by default. ``weighted`` says whether its paths use the weights of a problem.
    ``prepare`` does what its paths would do once per machine; call it before anything is timed.
    """

    tasks: frozenset[str]
    low_rank: Callable[..., Path] | None
    loss: Loss = "squared"
    weighted: bool = False
    prepare: Callable[[], None] = nothing

    def path(self, problem: Problem, **params: Any) -> Path:
        """Return the path of a problem."""
        make = self.function if problem.columns is None else self.low_rank
        if make is None:
            raise ConfigError(f"the learner {self.name} does not work with Nystrom columns")
        problem.learn = Again(self, tuple(sorted(params.items())))
        found: Path = make(problem, **params)
        return found

    def lacks(self, need: type[Any], *, columns: bool = False) -> bool:
        """Return whether its paths lack what a criterion needs."""
        make = self.low_rank if columns else self.function
        if make is None:
            return True
        made = make.func if isinstance(make, partial) else make
        path = get_type_hints(made)["return"]
        wanted = {
            name
            for protocol in need.__mro__
            if getattr(protocol, "_is_protocol", False)
            for name, member in vars(protocol).items()
            if callable(member) and not name.startswith("_")
        }
        return any(not callable(getattr(path, name, None)) for name in wanted)


@dataclass(frozen=True)
class Again:
    """Makes paths of one learner with the same parameters for other problems."""

    learner: Learner
    params: tuple[tuple[str, Any], ...]

    def __call__(self, problem: Problem) -> Path:
        """Return the path of another problem."""
        return self.learner.path(problem, **dict(self.params))

    def __hash__(self) -> int:
        return hash((self.learner.name, self.params))


LEARNERS: Registry[Learner] = Registry(
    "learner", "kselect.learners", "kselect list learners", entries="kselect.learners"
)
F = TypeVar("F", bound=Callable[..., Path])


def learner(
    name: str,
    *,
    paper: str,
    tasks: frozenset[str] = ANY_TASK,
    low_rank: Callable[..., Path] | None = None,
    loss: Loss = "squared",
    weighted: bool = False,
    prepare: Callable[[], None] = nothing,
) -> Callable[[F], F]:
    """Register ``function(problem, *, parameter=default...) -> its class of paths`` as a learner.

    The annotation of the result tells which protocols the paths offer. ``low_rank`` is the same for the columns
    of an approximated kernel, or a partial class of paths; a learner without it refuses them. ``weighted`` says
    that its paths use the weights of a problem. ``prepare`` does what is done once per machine, such as compiling.
    """

    def register(function: F) -> F:
        parameters = read_parameters(function)
        found = Learner(name, function, paper, parameters, tasks, low_rank, loss, weighted, prepare)
        LEARNERS.add(name, found)
        return function

    return register
