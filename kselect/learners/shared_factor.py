"""One Cholesky factor of some rows of a kernel matrix, which solves the systems of many similar sets of rows."""

from __future__ import annotations

import numpy as np

from kselect.errors import TrialError
from kselect.numerics.lapack import dposv, dpotrf, dtrtri
from kselect.numerics.linalg import Array, Index

SINGULAR = "a block of K + rho I is not positive definite to rounding"


class SharedFactor:
    r"""One Cholesky factor ``A = K_UU + rho I = L L^T`` on the rows U that serves many other sets of rows.

    The solution on ``Q = (U - D) + E`` needs no other factor of that size. With ``R = L^{-T}``, in the coordinates
    ``v = L^{-1} (...)``, the rows D are directions ``N = R_D`` that the solution must not have. So everything is
    projected onto their complement:

        t = r_U R,  S = K_EU R;   t, S <- t, S without their parts along N;
        (K_EE + rho I - S S^T) x_E = r_E - S t,   x_U = R (t - S^T x_E),   x_D = 0

    ``ridges`` is rho: one number, or one per row of K.
    """

    def __init__(self, K: Array, U: Index, ridges: float | Array) -> None:
        self.K, self.U = K, U
        self.ridges: Array = np.broadcast_to(ridges, len(K))
        block = K.take(U, 0).take(U, 1)
        block.ravel()[:: len(U) + 1] += self.ridges[U]
        factor, failed = dpotrf(block.T, overwrite=True, clean=True)
        if failed:
            raise TrialError(SINGULAR)
        self.R: Array = dtrtri(factor, overwrite=True).T
        self.place = np.full(len(K), -1, dtype=np.intp)
        self.place[U] = np.arange(len(U))
        # The rows of ``K_EU R`` that have been computed.
        self.known = np.zeros(len(K), dtype=np.bool_)
        self.entering = np.empty((len(K), len(U)))

    def solve(self, Q: Index, right: Array) -> Array:
        """Return ``(K_QQ + rho I)^{-1} right``; Q ascends."""
        place = self.place.take(Q)
        inside = place >= 0
        kept = np.zeros(len(self.U), dtype=np.bool_)
        kept[place[inside]] = True
        r = np.zeros(len(self.U))
        r[kept] = right[inside]
        E = Q[~inside]
        new = E[~self.known.take(E)]
        if len(new):
            self.entering[new] = self.K.take(new, 0).take(self.U, 1) @ self.R
            self.known[new] = True
        B = np.empty((len(E) + 1, len(self.U)))
        B[:-1], B[-1] = self.entering.take(E, 0), r @ self.R
        D = (~kept).nonzero()[0]
        if len(D):
            N = self.R.take(D, 0)
            B -= positive_solution(N @ N.T, N @ B.T).T @ N
        x = np.empty(len(Q))
        S, t = B[:-1], B[-1]
        if len(E):
            block = self.K.take(E, 0).take(E, 1) - S @ S.T
            block.ravel()[:: len(E) + 1] += self.ridges[E]
            x[~inside] = entered = positive_solution(block, right[~inside] - S @ t)
            t = t - entered @ S
        x[inside] = (self.R @ t)[kept]
        return x


def positive_solution(block: Array, right: Array) -> Array:
    """Return ``block^{-1} right``."""
    _, x, failed = dposv(block, right, overwrite=True)
    if failed:
        raise TrialError(SINGULAR)
    return x
