r"""The Taylor series of cross-validation for the quadratic eps-insensitive loss (mathematics, 5 and 7).

The weights ``w(e) = (1 - e)/n + e 1_F/m`` leave the fold F of m rows out at ``e = -m/(n - m)``. V'' is constant
while the zones stand still, so that all derivatives are those of the square loss on A, the rows outside the
tube of the full fit, with the targets ``z = y - eps s``. With ``e = -t m/(n - m)`` and
``D = diag(1 on F, -m/(n - m) off F)``, ``n w = I - t D``, and the weighted problem

    (K_AA + gamma I) beta + b 1 = z - t D rho,  1^T beta = 0,  rho = z - f - b = gamma beta + t D rho

is ``rho = rho_0 + t S D rho`` with the hat matrix ``S = I - gamma P`` of the rows A. The term of order q is

    rho_q = S D rho_{q-1},  beta_q = -P D rho_{q-1},  b_q = -p^T D rho_{q-1} / (1^T p),  f_q = K_{.A} beta_q

on all rows, those within the tube too; m and n count them all. The limit is the problem without the fold, the
zones frozen and the ridge ``(n - m) lam``: one Newton step, not retraining.

The rate is the largest absolute eigenvalue of ``S D``, those of ``S^{1/2} D S^{1/2}``: between ``-m/(n - m)``
and ``lambda_max(S_FF)``. The latter is what the guard of BIF looks at.
"""

from __future__ import annotations

import numpy as np

from kselect.learners.active_set import TubeProblem, TubeSolution, TubeSystem
from kselect.learners.bouligand import perturbation
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array


def taylor_series(task: TubeProblem, fit: TubeSolution, folds: Folds, order: int) -> Array:
    """(order + 1, n): each row predicted by its fold's series of order 0, 1, ...

    One Cholesky factor, and a solve with a column a fold for each order.
    """
    out = np.tile(fit.decision, (order + 1, 1))
    A = np.flatnonzero(fit.zones)
    if not len(A):
        return out  # L's pseudo-inverse: f = 0, and nothing says which way b would go
    system = TubeSystem(task.K, A, task.gamma, task.name)
    D = perturbation(folds)[A]
    rho = (task.gamma * fit.alpha[A])[:, None]
    beta, b = np.zeros_like(D), np.zeros(len(folds.members))
    for q in range(1, order + 1):
        pushed = D * rho
        step, shift = system.solve(pushed)
        beta, b, rho = beta - step, b - shift, pushed - task.gamma * step
        for j, F in enumerate(folds.members):
            out[q, F] += task.K[np.ix_(F, A)] @ beta[:, j] + b[j]
    return out


def largest_rate(task: TubeProblem, fit: TubeSolution, folds: Folds) -> float:
    """``max_F lambda_max(S_FF)``, S on the rows outside the tube; 0 where a fold has none of them."""
    A = np.flatnonzero(fit.zones)
    if not len(A):
        return 0.0
    system = TubeSystem(task.K, A, task.gamma, task.name)
    place = np.full(folds.n, -1, dtype=np.intp)
    place[A] = np.arange(len(A))
    rate = 0.0
    for F in folds.members:
        inside = place[F][place[F] >= 0]
        if len(inside):
            smallest = float(np.linalg.eigvalsh(system.block(inside))[0])
            rate = max(rate, 1.0 - task.gamma * smallest)
    return rate
