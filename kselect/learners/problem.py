r"""A learner's input, ``Problem``, with its kernel matrix, and a learner's result, ``Fit``.

``Dense`` holds the kernel matrix K, ``LowRank`` the columns V of an approximation ``K ~ V V^T``.
Quantities that depend on the kernel matrix only are computed once, for all criteria, targets and
ridges.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np

from kselect.kernels import Kernel
from kselect.kernels.nystrom import NystromColumns
from kselect.learners.factor import Factor, factorise
from kselect.learners.streamed import Streamed
from kselect.numerics.linalg import EPS, Array, Index, symmetric_eigh
from kselect.numerics.memory import Memo
from kselect.numerics.weights import Weights

RidgeMode = Literal["fixed", "per-fold"]
# The rounding errors of eps that the solution of ``B^T B + gamma I`` adds up to.
STEPS = 8.0
# The number of rows of K that are squared at once.
ROWS = 512


def reciprocal(values: Array) -> Array:
    """Return ``1 / v``, and 0 where v is 0."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)


@dataclass(frozen=True, eq=False)
class Dense:
    """A whole kernel matrix; ``known`` is its factor if it has been computed before, ``ridges`` their number."""

    K: Array
    diagonal: Array
    known: Factor | None = None
    ridges: int | None = None

    @cached_property
    def factor(self) -> Factor:
        """The cheapest factor that is exact to rounding."""
        return factorise(self.K, self.ridges) if self.known is None else self.known

    def row_squares(self) -> Array:
        """Return ``sum_j K_ij^2``."""
        return np.asarray(np.einsum("ij,ij->i", self.K, self.K))

    def times(self, R: Array) -> Array:
        """Return ``K R``."""
        return np.asarray(self.K @ R)

    def at(self, columns: Index) -> Array:
        """Return some columns of K."""
        return self.K.take(columns, axis=1)

    def off_diagonal_squares(self) -> float:
        """Return ``sum_{i != j} K_ij^2 / (K_ii K_jj)`` over the rows with ``K_ii > 0``."""
        inverse = reciprocal(self.diagonal)
        total = 0.0
        for rows in np.array_split(np.arange(len(self.K)), -(-len(self.K) // ROWS)):
            block = np.square(self.K[rows])  # never a second matrix of the size of K
            block[np.arange(len(rows)), rows] = 0.0
            total += float(inverse[rows] @ (block @ inverse))
        return total

    @cached_property
    def spectrum(self) -> Array:
        """The eigenvalues, descending."""
        return self.factor.eigenvalues


class LowRank:
    """``B B^T`` with ``B^T B = diag(s)``: ``B = V Q``, with the eigenvectors Q of ``V^T V``; s ascends.

    ``root`` turns coefficients of B into coefficients of the kernel at the landmarks. ``rounding`` is the error of
    ``B B^T`` in the 2-norm: of the columns, and of a factorisation of ``B^T B``.
    """

    def __init__(self, columns: NystromColumns) -> None:
        s, Q = symmetric_eigh(columns.V.T @ columns.V)
        self.s: Array = np.maximum(s, 0.0)
        self.B: Array = columns.V @ Q
        self.root: Array = columns.root @ Q
        self.diagonal: Array = np.einsum("ij,ij->i", self.B, self.B)
        self.rounding = float((columns.defect + STEPS * EPS) * self.s[-1])

    def row_squares(self) -> Array:
        """Return ``sum_j K_ij^2 = b_i^T diag(s) b_i``, without forming the matrix."""
        return np.asarray(np.square(self.B) @ self.s)

    def times(self, R: Array) -> Array:
        """Return ``B B^T R``."""
        return np.asarray(self.B @ (self.B.T @ R))

    def at(self, columns: Index) -> Array:
        """Return some columns of ``B B^T``."""
        return np.asarray(self.B @ self.B[columns].T)

    def off_diagonal_squares(self) -> float:
        """Return ``||C^T C||_F^2 - n``, C being B with rows scaled to length 1."""
        C = self.B * np.sqrt(reciprocal(self.diagonal))[:, None]
        return max(float(np.square(C.T @ C).sum()) - float((self.diagonal > 0).sum()), 0.0)

    @cached_property
    def spectrum(self) -> Array:
        """The eigenvalues of ``B B^T``, descending, padded with zeros."""
        return np.concatenate([self.s[::-1], np.zeros(len(self.B) - len(self.s))])


Matrix = Dense | LowRank | Streamed


@dataclass(eq=False)
class Problem:
    """One kernel on one training set, with the ridges to fit.

    Parameters
    ----------
    X, y : the rows, and the target of each: a number, or a label -1 or +1.
    kernel, K : the kernel and its matrix; K is empty if ``columns`` approximate it.
    lams : the regularisation parameters.
    ridge : "per-fold" if training without m rows uses the ridge ``(n - m) lam``, "fixed" if ``n lam``.
    columns : the Nystrom columns that approximate K, in memory or streamed.
    order : a random permutation of the rows. Every sampler takes a prefix of it, so that smaller samples are
        nested in larger ones.
    targets : all targets (q, n) that are learned on the same kernel matrix; work that they share is done once.
    mine : the position of y in ``targets``, if y is one of them.
    factor : the factor of K, if it has been computed before.
    shared : the matrix of another problem of the same kernel.
    weights : the weights of the rows; None if all rows weigh the same.
    learn : makes a path of the same learner for another problem; a learner sets it.
    of_kernel : results that depend on the kernel matrix only, not on y or the ridges.
    of_targets : results that depend on y through ``right_sides`` only.

    Attributes
    ----------
    n : the number of training rows.
    gammas : ``n lam``, the ridges of the fit on all rows.
    right_sides : all targets (q, n) if y is one of them, otherwise y alone.
    position : the position of y in ``right_sides``.
    matrix : the kernel matrix, with its factor on first use.
    """

    X: Array
    y: Array
    kernel: Kernel
    K: Array
    lams: Array
    ridge: RidgeMode = "fixed"
    columns: NystromColumns | Streamed | None = None
    order: Index | None = None
    targets: Array | None = None
    mine: int | None = None
    factor: Factor | None = None
    shared: Matrix | None = None
    weights: Weights | None = None
    learn: Callable[[Any], Any] | None = None
    of_kernel: Memo = field(default_factory=Memo, init=False, repr=False)
    of_targets: Memo = field(default_factory=Memo, init=False, repr=False)

    def __post_init__(self) -> None:
        self.n = len(self.y)
        self.gammas: Array = self.n * self.lams
        self.right_sides: Array = self.y[None]
        if self.targets is not None and self.mine is not None:
            self.right_sides = self.targets
        self.position = self.mine or 0
        # With another K, ``replace`` still hands on the matrix of the old one.
        self.matrix: Matrix
        if self.shared is not None and getattr(self.shared, "K", self.K) is self.K:
            self.matrix = self.shared
        elif isinstance(self.columns, Streamed):
            self.matrix = self.columns
        elif self.columns is not None:
            self.matrix = LowRank(self.columns)
        else:
            # Folds of another size have ridges of their own.
            ridges = len(self.lams) * (1 if self.ridge == "fixed" else 2)
            self.matrix = Dense(self.K, np.diagonal(self.K), self.factor, ridges)

    def rows(self, F: Index) -> float:
        """Return what multiplies lam without the rows F: the weight of all rows, or of the other rows."""
        if self.ridge == "fixed":
            return self.n
        return self.n - (len(F) if self.weights is None else float(self.weights.values[F].sum()))

    def balanced(self) -> Self:
        r"""Return the problem whose square loss is the weighted one of this problem.

        ``sum_i w_i (y_i - f_i - b)^2 + gamma ||f||^2`` is, with ``r = sqrt(w)``, the square loss of the targets
        ``r y``, the kernel matrix ``r K r`` and the vector r in place of the ones of the bias. Its coefficients are
        ``alpha / r``, its predictions ``r f``. Without weights this is the problem itself.
        """
        if self.weights is None:
            return self
        r = self.weights.roots

        def scaled() -> Dense:
            K = self.K * r
            K *= r[:, None]
            return Dense(K, np.diagonal(K), None, getattr(self.matrix, "ridges", None))

        matrix = self.of_kernel.once("balanced", scaled)
        targets = None if self.targets is None else self.targets * r
        twin = replace(self, y=self.y * r, K=matrix.K, targets=targets, factor=None, shared=matrix)
        twin.of_targets = self.of_targets
        return twin

    def drawn(self, count: int) -> Index:
        """Return ``count`` random rows, ascending; the first ones if the problem has no random order."""
        order = np.arange(self.n, dtype=np.intp) if self.order is None else self.order
        return np.sort(order[:count])

    def part(self, rows: Index) -> Self:
        """Return the problem of some rows; with ``ridge: fixed`` the ridges stay the same."""
        w = self.weights
        mass = len(rows) if w is None else float(w.values[rows].sum())
        lams = self.lams * (self.n / mass) if self.ridge == "fixed" else self.lams
        return replace(
            self,
            X=self.X[rows],
            y=self.y[rows],
            K=self.K[np.ix_(rows, rows)],
            lams=lams,
            ridge="fixed",
            order=None,
            targets=self.right_sides[:, rows],
            factor=None,
            shared=None,
            weights=None if w is None else w.part(rows),
        )

    def changed(self, *, y: Array | None = None, lams: Array | None = None) -> Self:
        """Return the problem of the same kernel with another target or other ridges; the factor is shared."""
        y, lams = self.y if y is None else y, self.lams if lams is None else lams
        twin = replace(self, y=y, lams=lams, mine=None, shared=self.matrix)
        twin.of_kernel = self.of_kernel
        return twin

    def of_target(self, position: int, lams: Array) -> Self:
        """Return the problem of one of the targets at some ridges; it shares the work of all targets."""
        assert self.targets is not None
        y = self.targets[position]
        twin = replace(self, y=y, lams=lams, mine=position, shared=self.matrix)
        twin.of_kernel, twin.of_targets = self.of_kernel, self.of_targets
        return twin


@dataclass(frozen=True)
class Fit:
    """Coefficients and bias, ``f(x) = sum_i alpha_i k(x, x_i) + bias``: (n_ridges, n) and (n_ridges,)."""

    alpha: Array
    bias: Array

    def decision(self, ridge: int, K: Array) -> Array:
        """Return the decision values at new rows; K (rows, n) is the kernel of these and the training rows."""
        return np.asarray(K @ self.alpha[ridge] + self.bias[ridge])
