"""What a learner is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Self, TypeVar

import numpy as np

from kselect.kernels import Kernel
from kselect.kernels.nystrom import NystromColumns
from kselect.learners.factor import Factor
from kselect.learners.matrix import Dense, LowRank
from kselect.numerics.linalg import Array, Index

RidgeMode = Literal["fixed", "per-fold"]
R = TypeVar("R")
# What depends on the kernel matrix alone, and so is handed on to other targets and ridges.
OF_THE_KERNEL = ("matrix", "_memo")


@dataclass(frozen=True)
class Problem:
    """One kernel on one training set, with the ridges to fit: all that a learner needs.

    ``columns`` stand for K where it is approximated; then K itself is empty. ``order`` is a random order of the
    rows, for what draws some of them: whoever draws fewer has a part of what others have. ``targets`` (q, n) are
    those that are learned on the same kernel matrix: what they share is computed once. Where y is one of them for
    that purpose, ``mine`` is its position. ``factor`` is that of K where somebody has made it before.
    """

    X: Array
    y: Array
    kernel: Kernel
    K: Array
    lams: Array
    ridge: RidgeMode = "fixed"
    columns: NystromColumns | None = None
    order: Index | None = None
    targets: Array | None = None
    mine: int | None = None
    factor: Factor | None = None

    @property
    def n(self) -> int:
        """The number of training rows."""
        return len(self.y)

    @property
    def gammas(self) -> Array:
        """``n lam``: the ridge of the fit on all rows."""
        return self.n * self.lams

    @cached_property
    def matrix(self) -> Dense | LowRank:
        """The kernel matrix with its factor."""
        if self.columns is not None:
            return LowRank(self.columns)
        return Dense(self.K) if self.factor is None else Dense(self.K, self.factor)

    def drawn(self, count: int) -> Index:
        """So many rows at random, ascending; where there is no random order, the first."""
        order = np.arange(self.n, dtype=np.intp) if self.order is None else self.order
        return np.sort(order[:count])

    def diagonal(self) -> Array:
        """``K_ii``."""
        return self.matrix.diagonal()

    def row_squares(self) -> Array:
        """``sum_j K_ij^2``."""
        return self.once(row_squares)

    def spectrum(self) -> Array:
        """The eigenvalues of K, descending."""
        return self.once(spectrum)

    def changed(self, *, y: Array | None = None, lams: Array | None = None) -> Self:
        """The same kernel for another target or other ridges, its factor shared."""
        y, lams = self.y if y is None else y, self.lams if lams is None else lams
        twin = replace(self, y=y, lams=lams, mine=None)
        twin.__dict__.update({name: getattr(self, name) for name in OF_THE_KERNEL})
        return twin

    def of_target(self, position: int, lams: Array) -> Self:
        """The problem of one of the targets at some of the ridges, what all of them share kept."""
        assert self.targets is not None
        twin = replace(self, y=self.targets[position], lams=lams, mine=position)
        twin.__dict__.update({name: getattr(self, name) for name in (*OF_THE_KERNEL, "_shared")})
        return twin

    @property
    def position(self) -> int:
        """That of y among the right-hand sides."""
        return self.mine or 0

    @property
    def right_sides(self) -> Array:
        """The targets, where this is the problem of one of them, else y alone."""
        return self.y[None] if self.targets is None or self.mine is None else self.targets

    def shared(self, key: object, compute: Callable[[], R]) -> R:
        """``compute()``, remembered for all targets: of y it may see the right-hand sides alone."""
        if key not in self._shared:
            self._shared[key] = compute()
        found: R = self._shared[key]
        return found

    @cached_property
    def _shared(self) -> dict[object, Any]:
        return {}

    def once(self, compute: Callable[[Problem], R]) -> R:
        """``compute(problem)``, remembered with the kernel matrix: it must not look at y or the ridges."""
        if compute not in self._memo:
            self._memo[compute] = compute(self)
        found: R = self._memo[compute]
        return found

    @cached_property
    def _memo(self) -> dict[object, Any]:
        return {}


def row_squares(problem: Problem) -> Array:
    """For ``once``."""
    return problem.matrix.row_squares()


def spectrum(problem: Problem) -> Array:
    """For ``once``."""
    return problem.matrix.spectrum()


@dataclass(frozen=True)
class Fit:
    """``f(x) = sum_i alpha_i k(x, x_i) + bias`` for every ridge: (n_ridges, n) and (n_ridges,)."""

    alpha: Array
    bias: Array

    def decision(self, ridge: int, K: Array) -> Array:
        """The decision values at rows whose kernel against the training rows is K (rows, n)."""
        return np.asarray(K @ self.alpha[ridge] + self.bias[ridge])

    def at(self, ridge: int) -> Fit:
        """The fit at one ridge alone."""
        return Fit(self.alpha[[ridge]].copy(), self.bias[[ridge]].copy())
