r"""One Cholesky factor for many sets of rows: what a fold, or a change of zones, takes out or puts in.

``A = K_UU + rho I = L L^T`` on the rows U. The solution on ``Q = (U - D) + E`` follows without another factor of
that size. With ``R = L^{-T}``, in the coordinates ``v = L^{-1} (...)`` the rows D are directions ``N = R_D`` along
which nothing may go, so that everything is projected onto their complement:

    t = r_U R,  S = K_EU R;   t, S <- t, S less their parts along N;
    (K_EE + rho I - S S^T) x_E = r_E - S t,   x_U = R (t - S^T x_E),   x_D = 0
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dposv, dpotrf, dtrtri

from kselect.errors import TrialError
from kselect.numerics.linalg import Array, Index

SINGULAR = "a block of K + rho I is not positive definite to rounding"


class SharedFactor:
    """``K_UU + rho I``, factorised once; the rows that enter are taken up once each."""

    def __init__(self, K: Array, U: Index, rho: float) -> None:
        self.K, self.U, self.rho = K, U, rho
        block = K.take(U, 0).take(U, 1)
        block.ravel()[:: len(U) + 1] += rho
        factor, failed = dpotrf(block.T, lower=1, overwrite_a=1)
        if failed:
            raise TrialError(SINGULAR)
        self.R: Array = dtrtri(factor, lower=1, overwrite_c=1)[0].T
        self.place = np.full(len(K), -1, dtype=np.intp)
        self.place[U] = np.arange(len(U))
        self.taken_up = np.zeros(len(K), dtype=np.bool_)
        self.entering = np.empty((len(K), len(U)))

    def rows_of(self, E: Index) -> Array:
        """``K_EU R``."""
        new = E[~self.taken_up.take(E)]
        if len(new):
            self.entering[new] = self.K.take(new, 0).take(self.U, 1) @ self.R
            self.taken_up[new] = True
        return self.entering.take(E, 0)

    def solve(self, Q: Index, right: Array) -> Array:
        """``(K_QQ + rho I)^{-1} right``; Q ascends."""
        place = self.place.take(Q)
        inside = place >= 0
        kept = np.zeros(len(self.U), dtype=np.bool_)
        kept[place[inside]] = True
        r = np.zeros(len(self.U))
        r[kept] = right[inside]
        E = Q[~inside]
        B = np.empty((len(E) + 1, len(self.U)))
        B[:-1], B[-1] = self.rows_of(E), r @ self.R
        self.project(B, (~kept).nonzero()[0])
        x = np.empty(len(Q))
        t = B[-1]
        if len(E):
            x[~inside] = entered = self.enter(E, B[:-1], right[~inside] - B[:-1] @ t)
            t = t - entered @ B[:-1]
        x[inside] = (self.R @ t)[kept]
        return x

    def project(self, B: Array, D: Index) -> None:
        """Takes the parts along the rows D of R out of the rows of B."""
        if len(D):
            N = self.R.take(D, 0)
            _, shares, failed = dposv(N @ N.T, N @ B.T, lower=1, overwrite_a=1)
            if failed:
                raise TrialError(SINGULAR)
            B -= shares.T @ N

    def enter(self, E: Index, S: Array, right: Array) -> Array:
        """``x_E``."""
        block = self.K.take(E, 0).take(E, 1) - S @ S.T
        block.ravel()[:: len(E) + 1] += self.rho
        _, x, failed = dposv(block, right, lower=1, overwrite_a=1)
        if failed:
            raise TrialError(SINGULAR)
        return np.asarray(x)
