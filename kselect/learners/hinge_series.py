r"""The Taylor series of cross-validation for the smoothed hinge, its zones frozen (mathematics, 5 and 6).

The weights ``w(e) = (1 - e)/n + e 1_F/m`` leave the fold F of m rows out at ``e = -m/(n - m)``. With
``e = -t m/(n - m)`` and ``D = diag(1 on F, -m/(n - m) off F)``, ``n w = I - t D``, and the weighted problem is

    gamma a = (I - t D) pull(z),   z = Ky a,   gamma = 2 lam n,   rho = 2 h gamma

While the zones stand still, ``a = C (1 - t D)`` on the rows L at the top and ``rho a = (I - t D) s``,
``s = 1 + h - z``, on the free rows Q. The terms of ``a = sum t^q a_q``, with ``s_0 = s``, ``s_q = -z_q``:

    a_1 = -C D on L, 0 from q = 2 on;   (Ky_QQ + rho I) a_q = -D s_{q-1} - Ky_QL a_q on Q

Their margins are the terms ``eps^q h_q / q!`` of the general recursion. ijcai2018 prints plus
``(1/m) (K o C_i) V'`` in the first order: the sign is minus. The limit t = 1 is the problem without the fold, the
zones frozen and the ridge ``(n - m) lam``: one Newton step, not retraining.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from kselect.errors import TrialError
from kselect.learners.block_pivoting import HingeProblem, HingeSolution
from kselect.learners.bouligand import perturbation
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array, Index


def factor_of_free(task: HingeProblem, Q: Index) -> Array:
    """The Cholesky factor of ``Ky_QQ + rho I``."""
    block = task.signed.Ky.take(Q, 0).take(Q, 1)
    block.ravel()[:: len(Q) + 1] += task.rho
    factor, failed = dpotrf(block.T, lower=1, overwrite_a=1)
    if failed:
        raise TrialError(f"K + 4 h lam n I is not positive definite to rounding: {task.name()}")
    return np.asarray(factor)


def taylor_series(task: HingeProblem, fit: HingeSolution, folds: Folds, order: int) -> Array:
    """(order + 1, n): the margins of each row by its fold's series of order 0, 1, ...

    One Cholesky factor, and a solve with a column per fold for each order.
    """
    out = np.tile(fit.z, (order + 1, 1))
    Q, Ky = fit.zones.free.nonzero()[0], task.signed.Ky
    D = perturbation(folds)
    factor = factor_of_free(task, Q) if len(Q) else None
    a = -task.top * D * fit.zones.top[:, None]
    s = ((1.0 + task.signed.h) - fit.z.take(Q))[:, None]
    total = np.zeros_like(D)
    for q in range(1, order + 1):
        if factor is not None:
            right = -D[Q] * s - (Ky.take(Q, 0) @ a if q == 1 else 0.0)
            a[Q] = dpotrs(factor, right, lower=1)[0]
        z = Ky @ a
        total += z
        out[q] += total[np.arange(folds.n), folds.numbers]
        s, a = -z[Q], np.zeros_like(D)
    return out


def largest_rate(task: HingeProblem, fit: HingeSolution, members: Sequence[Index]) -> float:
    """``max_F lambda_max(S_FF)``, ``S = I - rho (Ky_QQ + rho I)^{-1}``; 0 where a fold has no free row."""
    Q = fit.zones.free.nonzero()[0]
    if not len(Q):
        return 0.0
    G = dpotri(factor_of_free(task, Q), lower=1)[0]
    place = np.full(len(fit.a), -1, dtype=np.intp)
    place[Q] = np.arange(len(Q))
    rate = 0.0
    for F in members:
        inside = place[F][place[F] >= 0]
        if len(inside):
            smallest = float(np.linalg.eigvalsh(G[np.ix_(inside, inside)])[0])
            rate = max(rate, 1.0 - task.rho * smallest)
    return rate
