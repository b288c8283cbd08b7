"""Solving for free rows that differ little from others with a known inverse: those of a fold from those of all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dgemm, dsymm, dsymv
from scipy.linalg.lapack import dgetrf, dgetrs, dpotri

from kselect.learners.svm_path.gram import Factor, Gram
from kselect.numerics.linalg import Array, Index

# Fewer free rows are factorised at once; more rows taken out or added, as a share, are no gain.
SMALL, LESS, MORE = 200, 0.4, 0.08
# So many products with a vector are faster than one with a matrix.
FEW_COLUMNS = 8


@dataclass(frozen=True, eq=False)
class Base:
    """Rows B, the place of every row among them (or -1), and ``M = (K_BB + ridge)^{-1}``, its lower half."""

    gram: Gram
    rows: Index
    place: Index
    M: Array

    def times(self, v: Array) -> Array:
        """``M v``."""
        return np.asarray(dsymv(1.0, self.M, v, lower=1))

    def times_columns(self, V: Array) -> Array:
        """``M V``."""
        if V.shape[1] > FEW_COLUMNS:
            return np.asarray(dsymm(1.0, self.M, V, lower=1))
        return np.stack([self.times(v) for v in V.T], axis=1)


def base_of(factor: Factor) -> Base | None:
    """None where the rows are few, alone, or dependent."""
    if factor.failed or factor.inside is not None or len(factor.F) < SMALL:
        return None
    M, failed = dpotri(factor.C, lower=1)
    place = np.full(len(factor.gram.K), -1, dtype=np.intp)
    place[factor.F] = np.arange(len(factor.F))
    return None if failed else Base(factor.gram, factor.F, place, M)


def similar(base: Base, F: Index) -> bool:
    """Whether to start from that base."""
    size, common = len(base.rows), int(np.count_nonzero(base.place[F] >= 0))
    return size - common <= LESS * size and len(F) - common <= MORE * size


class Changed:
    r"""``(K_FF + ridge)^{-1}`` for the rows ``F = B - G + N``.

    What is added to the right side on G keeps x zero there, and x on N is a part of the right side elsewhere:

        [M_GG, -W_G; -W_G^T, K_NB W - K_NN] [nu; x_N] = [-(M r)_G; W^T r - r_N],   W = M K_BN
        x_B = M (r - K_BN x_N + nu on G)
    """

    def __init__(self, base: Base, F: Index) -> None:
        gram, at = base.gram, base.place[F]
        self.base, self.old, self.new = base, np.flatnonzero(at >= 0), np.flatnonzero(at < 0)
        self.H, N = at[self.old], F[self.new]
        out = np.ones(len(base.rows), dtype=np.bool_)
        out[self.H] = False
        self.G = np.flatnonzero(out)
        m = len(self.G)
        S = np.zeros((m + len(N), m + len(N)), order="F")
        S[:m, :m] = base.M[np.ix_(self.G, self.G)]
        if len(N):
            self.KNB = gram.K.take(N, axis=0).take(base.rows, axis=1)
            self.W = base.times_columns(self.KNB.T)
            S[m:, :m] = -self.W[self.G].T
            S[m:, m:] = dgemm(1.0, self.KNB, self.W) - gram.block(N)
        S = np.tril(S) + np.tril(S, -1).T
        self.LU, self.failed = S, False
        if len(S):
            self.LU, self.pivots, failed = dgetrf(S, overwrite_a=1)
            self.failed = bool(failed)

    def solve(self, right: Array) -> Array:
        """For one column, or several, on F."""
        if right.ndim == 2:
            return np.stack([self.solve(column) for column in right.T], axis=1)
        m, r, x = len(self.G), np.zeros(len(self.base.rows)), np.zeros(len(right))
        r[self.H] = right[self.old]
        if len(self.LU):
            known = -self.base.times(r)[self.G]
            if len(self.new):
                known = np.append(known, r @ self.W - right[self.new])
            found = dgetrs(self.LU, self.pivots, known)[0]
            r[self.G] = found[:m]
            if len(self.new):
                x[self.new] = found[m:]
                r -= found[m:] @ self.KNB
        x[self.old] = self.base.times(r)[self.H]
        return x
