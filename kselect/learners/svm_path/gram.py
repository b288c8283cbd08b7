"""One kernel matrix for all the problems that are solved with it, and its blocks' Cholesky factors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dgemv, dsymv
from scipy.linalg.lapack import dpotrf, dpotrs

from kselect.learners.factor import find_core
from kselect.learners.problem import Problem
from kselect.learners.svm_path.alone import lonely
from kselect.learners.svm_path.lapack import Addresses, addresses
from kselect.numerics.linalg import Array, Index

# Equal rows make K_FF singular: relative to K_ii, what is added to it; what it changes is refined away.
RIDGE = 1e-12
# Distances that are rounded make a kernel indefinite by more than that: then so many times as much.
RAISED = (1.0, 100.0, 10_000.0)
# Up to this share of the rows a product is cheaper with their rows of K than with half of it.
FEW = 0.1


@dataclass(frozen=True, eq=False)
class Gram:
    """K, C-ordered; of a narrow kernel also the rows that have neighbours: the others are alone, K_ij = 0."""

    K: Array

    @cached_property
    def diagonal(self) -> Array:
        """``K_ii``."""
        return np.diagonal(self.K).copy()

    @cached_property
    def inverse_diagonal(self) -> Array:
        """``1 / K_ii``; of a row of zeros infinite."""
        never = np.full(len(self.K), np.inf)
        return np.asarray(np.divide(1.0, self.diagonal, out=never, where=self.diagonal > 0))

    @cached_property
    def largest(self) -> float:
        """The largest ``K_ii``; 1 for a kernel of zeros."""
        return float(self.diagonal.max()) or 1.0

    @cached_property
    def ridge(self) -> Array:
        """What each K_ii is raised by; a row of zeros, too, needs something."""
        return RIDGE * np.where(self.diagonal > 0, self.diagonal, self.largest)

    @cached_property
    def routines(self) -> Addresses:
        """For compiled loops."""
        return addresses()

    @cached_property
    def alone(self) -> NDArray[np.bool_]:
        """The rows whose K_ij are all small beside ``sqrt(K_ii K_jj)``."""
        return lonely(self.K, np.sqrt(np.maximum(self.diagonal, 0.0)))

    @cached_property
    def core(self) -> Index | None:
        """The rows with neighbours where they are a minority, else None."""
        return find_core(self.K)

    @cached_property
    def core_block(self) -> Array:
        """K among the rows with neighbours."""
        assert self.core is not None
        return self.K.take(self.core, axis=0).take(self.core, axis=1)

    def times(self, v: Array) -> Array:
        """``K v``, from one half of K: scipy's BLAS, as everywhere here, and no product with several columns."""
        if self.core is None:
            return np.asarray(dsymv(1.0, self.K.T, v))
        out = self.diagonal * v
        if len(self.core):
            out[self.core] = dsymv(1.0, self.core_block.T, v[self.core])
        return out

    def times_on(self, F: Index, v: Array) -> Array:
        """``(K v)_F``."""
        if len(F) > FEW * len(v):
            return self.times(v)[F]
        return np.asarray(dgemv(1.0, self.K.take(F, axis=0).T, v, trans=1))

    def block(self, F: Index, times: float = 1.0) -> Array:
        """``K_FF`` plus so many times the ridge."""
        block = self.K.take(F, axis=0).take(F, axis=1)
        block.ravel()[:: len(F) + 1] += times * self.ridge[F]
        return block


def gram_of(problem: Problem) -> Gram:
    """For ``problem.once``: other targets share it."""
    return Gram(np.ascontiguousarray(problem.K))


class Factor:
    """``(K_FF + ridge)^{-1}`` by Cholesky; for the rows that are alone by division."""

    def __init__(self, gram: Gram, F: Index) -> None:
        self.gram, self.F = gram, F
        self.inside: Index | None = None
        inner = F
        if gram.core is not None:
            self.alone = gram.diagonal[F] + gram.ridge[F]
            self.inside = np.flatnonzero(np.isin(F, gram.core))
            inner = F[self.inside]
        self.C, failed = np.empty((0, 0)), 0
        for times in RAISED if len(inner) else ():
            self.C, failed = dpotrf(gram.block(inner, times).T, lower=1, clean=0, overwrite_a=1)
            if not failed:
                break
        self.failed = bool(failed)

    def solve(self, right: Array) -> Array:
        """For one column, or several, on F."""
        if self.inside is None:
            return np.asarray(dpotrs(self.C, right, lower=1)[0])
        out = np.asarray((right.T / self.alone).T)
        if len(self.inside):
            out[self.inside] = dpotrs(self.C, right[self.inside], lower=1)[0]
        return out
