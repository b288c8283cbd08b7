"""What a path can be asked. A criterion names what it needs, and a learner offers what it can.

Every learner offers ``Path``; the other protocols are offered by having their methods.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol, TypeVar

from kselect.learners.problem import Fit, Problem
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array, Mask

T = TypeVar("T", bound=type[Any])
RightSide = Literal["exact", "nystrom"]
WORDS: dict[type[Any], str] = {}


def capability(words: str) -> Callable[[T], T]:
    """A protocol that a criterion may need, and how a message names it."""

    def register(protocol: T) -> T:
        WORDS[protocol] = words
        return protocol

    return register


@capability("held-out predictions")
class Path(Protocol):
    """One (training set, kernel), every ridge."""

    problem: Problem

    def decision(self) -> Array:
        """(n_ridges, n): the fitted values on the training rows."""
        ...

    def held_out(self, folds: Folds) -> Array:
        """(n_ridges, n): each row predicted by exact k-fold cross-validation."""
        ...

    def fit(self) -> Fit:
        """The fit itself."""
        ...


@capability("a closed form of leave-one-out")
class LeaveOneOut(Path, Protocol):
    """Exact leave-one-out without training n times."""

    def loo(self) -> Array:
        """(n_ridges, n): each row predicted by leave-one-out."""
        ...


@capability("fits without single rows")
class LeaveOut(Path, Protocol):
    """The model without a row, at all rows."""

    def without(self, row: int) -> Array:
        """(n_ridges, n): every row predicted by the model that is trained without that one, at n lam."""
        ...


@capability("a series")
class Series(Path, Protocol):
    """Cross-validation as a Taylor series around the fit on all rows (icml2014, ijcai2018)."""

    def bif(self, folds: Folds, order: int) -> Array:
        """(n_ridges, n): each row predicted by its fold's series of that order."""
        ...

    def rates(self, folds: Folds) -> Array:
        """(n_ridges,): the factor that an order gains, the largest over folds."""
        ...

    def interpolating(self, folds: Folds, cap: float) -> Mask:
        """(n_ridges,): where that rate reaches the cap for some fold; inf: nowhere."""
        ...


@capability("a series on Nystrom columns")
class NystromSeries(Path, Protocol):
    """That series with the kernel approximated within its inverse (ijcai2018, section 4)."""

    def fbif(self, folds: Folds, *, c: float, order: int, rhs: RightSide) -> Array:
        """(n_ridges, n): each row predicted by its fold's series; ``c`` is the share of rows drawn as columns."""
        ...


@capability("a Newton step without a fold")
class NewtonStep(Path, Protocol):
    """One step from the fit on all rows towards the one without a fold."""

    def frozen_step(self, folds: Folds) -> Array:
        """(n_ridges, n): each row predicted after that step."""
        ...


@capability("a hat matrix")
class HatMatrix(Path, Protocol):
    """Fitted values that are linear in the targets, ``S y``."""

    def leverages(self) -> Array:
        """(n_ridges, n): ``S_ii``."""
        ...


def lacks(path: type[Any], need: type[Any]) -> bool:
    """Whether a class of paths misses a method of a protocol."""
    wanted = {
        name
        for protocol in need.__mro__
        if getattr(protocol, "_is_protocol", False)
        for name, member in vars(protocol).items()
        if callable(member) and not name.startswith("_")
    }
    return any(not callable(getattr(path, name, None)) for name in wanted)
