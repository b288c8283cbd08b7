"""What a learner is: one kernel matrix in, a path over all ridges out; criteria ask the path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from kselect.errors import ConfigError, nearest
from kselect.kernels import Kernel
from kselect.kernels.nystrom import Columns
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array
from kselect.parameters import Parameter, read_parameters

RidgeMode = Literal["fixed", "per-fold"]
R = TypeVar("R")


@dataclass(frozen=True)
class Problem:
    """One kernel on one training set, with the ridges to fit: all that a learner needs.

    ``columns`` stand for K where it is approximated; then K itself is empty.
    """

    X: Array
    y: Array
    kernel: Kernel
    K: Array
    lams: Array
    ridge: RidgeMode = "fixed"
    columns: Columns | None = None

    @property
    def n(self) -> int:
        """The number of training rows."""
        return len(self.y)


@dataclass(frozen=True)
class Dual:
    """``f(x) = sum_i alpha_i k(x, x_i) + bias`` for every ridge: (n_ridges, n) and (n_ridges,)."""

    alpha: Array
    bias: Array

    def decision(self, ridge: int, K: Array) -> Array:
        """The decision values at rows whose kernel against the training rows is K (rows, n)."""
        return np.asarray(K @ self.alpha[ridge] + self.bias[ridge])


@runtime_checkable
class Path(Protocol):
    """One (training set, kernel), every ridge."""

    problem: Problem

    def decision(self) -> Array:
        """(n_ridges, n): the fitted values on the training rows."""
        ...

    def held_out(self, folds: Folds) -> Array:
        """(n_ridges, n): each row predicted by exact k-fold cross-validation."""
        ...

    def bif(self, folds: Folds, order: int) -> Array:
        """(n_ridges, n): the same by the Taylor series of that order (icml2014)."""
        ...

    def interpolating(self, folds: Folds, cap: float) -> NDArray[np.bool_]:
        """(n_ridges,): where that series' rate reaches the cap for some fold; inf: nowhere."""
        ...

    def rates(self, folds: Folds) -> Array:
        """(n_ridges,): the series' rate, the largest over folds."""
        ...

    def loo(self) -> Array:
        """(n_ridges, n): each row predicted by leave-one-out."""
        ...

    def spectrum(self) -> Array:
        """The eigenvalues of the kernel matrix, descending."""
        ...

    def dual(self) -> Dual:
        """The fit itself."""
        ...

    def retarget(self, y: Array) -> Path:
        """The path of the same kernel for another target; what the kernel alone decides is shared."""
        ...

    def kernel_diagonal(self) -> Array:
        """``K_ii``."""
        ...

    def kernel_row_squares(self) -> Array:
        """``sum_j K_ij^2``."""
        ...

    def once(self, compute: Callable[[Path], R]) -> R:
        """``compute(path)``, remembered while the path lives: criteria share what they need."""
        ...


class Remembering:
    """What the paths of every learner share: an answer is computed once while the path lives."""

    def __init__(self) -> None:
        self._memo: dict[object, Any] = {}

    def once(self, compute: Callable[[Any], R]) -> R:
        """``compute(self)``, remembered."""
        if compute not in self._memo:
            self._memo[compute] = compute(self)
        found: R = self._memo[compute]
        return found


@dataclass(frozen=True)
class Learner:
    """A registered learner."""

    name: str
    path: Callable[..., Path]
    summary: str
    paper: str
    tasks: frozenset[str]
    parameters: tuple[Parameter, ...]
    low_rank: bool

    def parameter(self, name: str) -> Parameter | None:
        """The parameter of a name, None where there is none."""
        return next((p for p in self.parameters if p.name == name), None)


LEARNERS: dict[str, Learner] = {}
F = TypeVar("F", bound=Callable[..., Path])


def learner(
    name: str, *, paper: str, tasks: frozenset[str], low_rank: bool = False
) -> Callable[[F], F]:
    """Register ``function(problem, *, parameter=default...) -> Path`` as a learner.

    ``low_rank``: it works on the columns of an approximated kernel too.
    """

    def register(function: F) -> F:
        summary = (function.__doc__ or "").partition("\n")[0]
        LEARNERS[name] = Learner(
            name, function, summary, paper, tasks, read_parameters(function), low_rank
        )
        return function

    return register


def find_learner(name: str) -> Learner:
    """The learner of a name, or a ConfigError with the nearest one."""
    if name not in LEARNERS:
        raise ConfigError(
            f"unknown learner {name!r}{nearest(name, LEARNERS)} (kselect list learners)"
        )
    return LEARNERS[name]
