"""What a learner is: one kernel matrix in, a path over all ridges out; criteria ask the path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar, runtime_checkable

import numpy as np

from kselect.errors import ConfigError, nearest
from kselect.folds import Folds
from kselect.kernels import Kernel
from kselect.kernels.nystrom import Columns
from kselect.linalg import Array

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


@dataclass(frozen=True)
class Learner:
    """A registered learner."""

    name: str
    path: Callable[[Problem], Path]
    summary: str
    paper: str
    tasks: frozenset[str]


LEARNERS: dict[str, Learner] = {}
F = TypeVar("F", bound=Callable[[Problem], Path])


def learner(name: str, *, paper: str, tasks: frozenset[str]) -> Callable[[F], F]:
    """Register ``function(problem) -> Path`` as a learner."""

    def register(function: F) -> F:
        summary = (function.__doc__ or "").partition("\n")[0]
        LEARNERS[name] = Learner(name, function, summary, paper, tasks)
        return function

    return register


def find_learner(name: str) -> Learner:
    """The learner of a name, or a ConfigError with the nearest one."""
    if name not in LEARNERS:
        raise ConfigError(
            f"unknown learner {name!r}{nearest(name, LEARNERS)} (kselect list learners)"
        )
    return LEARNERS[name]
