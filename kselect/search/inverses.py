r"""``G = (K + gamma I)^{-1}``: applied to a vector, its blocks, and its quadratic form on a fold, in two ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs

from kselect.errors import TrialError
from kselect.learners.factor import Factor, SpectralFactor, weights
from kselect.numerics.linalg import Array


class Inverses(Protocol):
    """One kernel matrix, rows in the order of the folds."""

    def solve(self, gammas: Array, y: Array) -> Array:
        """``G y`` for every gamma, (gammas, n)."""
        ...

    def forms(self, gammas: Array, v: Array, folds: Sequence[slice]) -> Array:
        """(gammas, folds): ``v_F^T G_FF v_F``, v being (gammas, n); 0 where that is not known cheaply."""
        ...

    def block(self, gamma: float, F: slice) -> Array:
        """``G_FF``, Fortran-ordered and free to be overwritten."""
        ...


class SpectralInverses:
    """By one factor for all gamma."""

    def __init__(self, factor: Factor) -> None:
        self.factor = factor

    def solve(self, gammas: Array, y: Array) -> Array:
        """Two products with the eigenvectors."""
        return self.factor.solve(gammas, y)

    def forms(self, gammas: Array, v: Array, folds: Sequence[slice]) -> Array:
        """``sum_j w_j (U_F^T v_F)_j^2``: a sum of squares, so that what is small is known as well."""
        out = np.zeros((len(gammas), len(folds)))
        if isinstance(self.factor, SpectralFactor):
            w = weights(self.factor.s, gammas)
            for j, F in enumerate(folds):
                out[:, j] = (np.square(v[:, F] @ self.factor.U[F]) * w).sum(axis=1)
        return out

    def block(self, gamma: float, F: slice) -> Array:
        """The factor's."""
        (block,) = self.factor.blocks(np.arange(F.start, F.stop), np.array([gamma]))
        return block / gamma


class CholeskyInverses:
    """By a factor for each gamma, kept."""

    def __init__(self, K: Array) -> None:
        self.K = K
        self.factors: dict[float, Array] = {}
        self.solutions: dict[float, Array] = {}

    def factor(self, gamma: float) -> Array:
        """``L`` with ``L L^T = K + gamma I``."""
        if gamma not in self.factors:
            A = self.K.copy()
            A.ravel()[:: len(A) + 1] += gamma
            L, failed = dpotrf(A.T, lower=1, overwrite_a=1)
            if failed:
                raise TrialError("K + n lam I is not positive definite to rounding")
            self.factors[gamma] = L
        return self.factors[gamma]

    def solve(self, gammas: Array, y: Array) -> Array:
        """One factor each; y is always the same."""
        for gamma in gammas.tolist():
            if gamma not in self.solutions:
                self.solutions[gamma] = dpotrs(self.factor(gamma), y, lower=1)[0]
        return np.array([self.solutions[gamma] for gamma in gammas.tolist()])

    def forms(self, gammas: Array, v: Array, folds: Sequence[slice]) -> Array:
        """``|L^{-1} v_F|^2``, a column per fold."""
        out = np.empty((len(gammas), len(folds)))
        for i, gamma in enumerate(gammas.tolist()):
            right = np.zeros((len(self.K), len(folds)), order="F")
            for j, F in enumerate(folds):
                right[F, j] = v[i, F]
            half = dtrtrs(self.factor(gamma), right, lower=1, overwrite_b=1)[0]
            out[i] = np.square(half).sum(axis=0)
        return out

    def block(self, gamma: float, F: slice) -> Array:
        """``(L^{-1} I_F)^T L^{-1} I_F``: nothing above the fold's first row is needed."""
        L = self.factor(gamma)[F.start :, F.start :]
        right = np.zeros((len(L), F.stop - F.start), order="F")
        np.fill_diagonal(right, 1.0)
        half = dtrtrs(L, right, lower=1, overwrite_b=1)[0]
        return np.asarray((half.T @ half).T)
