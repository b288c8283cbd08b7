r"""A learner's input, ``Problem``, with its kernel matrix, and a learner's result, ``Fit``.

``Dense`` holds the kernel matrix K, ``LowRank`` the columns V of an approximation ``K ~ V V^T`` (mathematics,
section 6). Quantities that depend on the kernel matrix only are computed once, for all criteria, targets and
ridges.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Self, TypeVar

import numpy as np

from kselect.kernels import Kernel
from kselect.kernels.nystrom import NystromColumns
from kselect.learners.factor import Factor, factorise
from kselect.numerics.linalg import Array, Index, symmetric_eigh

RidgeMode = Literal["fixed", "per-fold"]
R = TypeVar("R")
# Attributes of a problem that depend on the kernel matrix only, which other targets and ridges share.
OF_THE_KERNEL = ("matrix", "_memo")
# The number of rows of K that are squared at once.
ROWS = 512


def reciprocal(values: Array) -> Array:
    """Return ``1 / v``, and 0 where v is 0."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)


@dataclass(frozen=True, eq=False)
class Dense:
    """A whole kernel matrix; ``known`` is its factor if it has been computed before."""

    K: Array
    known: Factor | None = None

    @cached_property
    def factor(self) -> Factor:
        """The cheapest factor that is exact to rounding."""
        return factorise(self.K) if self.known is None else self.known

    def diagonal(self) -> Array:
        """Return ``K_ii``."""
        return np.diagonal(self.K)

    @cached_property
    def row_squares(self) -> Array:
        """``sum_j K_ij^2``."""
        return np.asarray(np.einsum("ij,ij->i", self.K, self.K))

    def times(self, R: Array) -> Array:
        """Return ``K R``."""
        return np.asarray(self.K @ R)

    def at(self, columns: Index) -> Array:
        """Return some columns of K."""
        return self.K.take(columns, axis=1)

    def off_diagonal_squares(self) -> float:
        """Return ``sum_{i != j} K_ij^2 / (K_ii K_jj)`` over the rows with ``K_ii > 0``."""
        inverse = reciprocal(np.diagonal(self.K))
        total = 0.0
        for rows in np.array_split(np.arange(len(self.K)), -(-len(self.K) // ROWS)):
            block = np.square(self.K[rows])  # never a second matrix of the size of K
            block[np.arange(len(rows)), rows] = 0.0
            total += float(inverse[rows] @ (block @ inverse))
        return total

    @cached_property
    def spectrum(self) -> Array:
        """The eigenvalues, descending."""
        return self.factor.eigenvalues()


class LowRank:
    """``B B^T`` with ``B^T B = diag(s)``: ``B = V Q``, with the eigenvectors Q of ``V^T V``; s ascends.

    ``root`` turns coefficients of B into coefficients of the kernel at the landmarks.
    """

    def __init__(self, columns: NystromColumns) -> None:
        s, Q = symmetric_eigh(columns.V.T @ columns.V)
        self.s: Array = np.maximum(s, 0.0)
        self.B: Array = columns.V @ Q
        self.root: Array = columns.root @ Q

    def diagonal(self) -> Array:
        """Return ``K_ii``."""
        return np.asarray(np.einsum("ij,ij->i", self.B, self.B))

    @cached_property
    def row_squares(self) -> Array:
        """``sum_j K_ij^2 = b_i^T diag(s) b_i``, without forming the matrix."""
        return np.asarray(np.square(self.B) @ self.s)

    def times(self, R: Array) -> Array:
        """Return ``B B^T R``."""
        return np.asarray(self.B @ (self.B.T @ R))

    def at(self, columns: Index) -> Array:
        """Return some columns of ``B B^T``."""
        return np.asarray(self.B @ self.B[columns].T)

    def off_diagonal_squares(self) -> float:
        """Return ``||C^T C||_F^2 - n``, C being B with rows scaled to length 1."""
        squares = self.diagonal()
        C = self.B * np.sqrt(reciprocal(squares))[:, None]
        return max(float(np.square(C.T @ C).sum()) - float((squares > 0).sum()), 0.0)

    @cached_property
    def spectrum(self) -> Array:
        """The eigenvalues of ``B B^T``, descending, padded with zeros."""
        return np.concatenate([self.s[::-1], np.zeros(len(self.B) - len(self.s))])


@dataclass(frozen=True)
class Problem:
    """One kernel on one training set, with the ridges to fit.

    Parameters
    ----------
    X, y : the rows, and the target of each: a number, or a label -1 or +1.
    kernel, K : the kernel and its matrix; K is empty if ``columns`` approximate it.
    lams : the regularisation parameters.
    ridge : "per-fold" if training without m rows uses the ridge ``(n - m) lam``, "fixed" if ``n lam``.
    columns : the Nystrom columns that approximate K.
    order : a random permutation of the rows. Every sampler takes a prefix of it, so that smaller samples are
        nested in larger ones.
    targets : all targets (q, n) that are learned on the same kernel matrix; work that they share is done once.
    mine : the position of y in ``targets``, if y is one of them.
    factor : the factor of K, if it has been computed before.
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
        return Dense(self.K, self.factor) if self.columns is None else LowRank(self.columns)

    def drawn(self, count: int) -> Index:
        """Return ``count`` random rows, ascending; the first ones if the problem has no random order."""
        order = np.arange(self.n, dtype=np.intp) if self.order is None else self.order
        return np.sort(order[:count])

    def diagonal(self) -> Array:
        """Return ``K_ii``."""
        return self.matrix.diagonal()

    def row_squares(self) -> Array:
        """Return ``sum_j K_ij^2``."""
        return self.matrix.row_squares

    def spectrum(self) -> Array:
        """Return the eigenvalues of K, descending."""
        return self.matrix.spectrum

    def changed(self, *, y: Array | None = None, lams: Array | None = None) -> Self:
        """Return the problem of the same kernel with another target or other ridges; the factor is shared."""
        y, lams = self.y if y is None else y, self.lams if lams is None else lams
        return self._sharing(OF_THE_KERNEL, y, lams, None)

    def of_target(self, position: int, lams: Array) -> Self:
        """Return the problem of one of the targets at some ridges; it shares the work of all targets."""
        assert self.targets is not None
        return self._sharing((*OF_THE_KERNEL, "_shared"), self.targets[position], lams, position)

    def _sharing(self, names: tuple[str, ...], y: Array, lams: Array, mine: int | None) -> Self:
        twin = replace(self, y=y, lams=lams, mine=mine)
        twin.__dict__.update({name: getattr(self, name) for name in names})
        return twin

    @property
    def position(self) -> int:
        """The position of y in ``right_sides``."""
        return self.mine or 0

    @property
    def right_sides(self) -> Array:
        """All targets if this is the problem of one of them, otherwise y, as a matrix (q, n)."""
        return self.y[None] if self.targets is None or self.mine is None else self.targets

    def shared(self, key: object, compute: Callable[[], R]) -> R:
        """Return ``compute()``, cached for all targets: it may depend on y through ``right_sides`` only."""
        if key not in self._shared:
            self._shared[key] = compute()
        found: R = self._shared[key]
        return found

    @cached_property
    def _shared(self) -> dict[object, Any]:
        return {}

    def once(self, compute: Callable[[Problem], R]) -> R:
        """Return ``compute(problem)``, cached with the kernel matrix: it must not depend on y or the ridges."""
        if compute not in self._memo:
            self._memo[compute] = compute(self)
        found: R = self._memo[compute]
        return found

    @cached_property
    def _memo(self) -> dict[object, Any]:
        return {}


@dataclass(frozen=True)
class Fit:
    """Coefficients and bias, ``f(x) = sum_i alpha_i k(x, x_i) + bias``: (n_ridges, n) and (n_ridges,)."""

    alpha: Array
    bias: Array

    def decision(self, ridge: int, K: Array) -> Array:
        """Return the decision values at new rows; K (rows, n) is the kernel of these and the training rows."""
        return np.asarray(K @ self.alpha[ridge] + self.bias[ridge])

    def at(self, ridge: int) -> Fit:
        """Return the fit at one ridge only."""
        return Fit(self.alpha[[ridge]].copy(), self.bias[[ridge]].copy())
