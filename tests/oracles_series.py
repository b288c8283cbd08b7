"""The Taylor series of cross-validation by its definition: dense hat matrices, one product per term."""

from __future__ import annotations

import numpy as np
import oracles
from oracles import Array, Index


def hat_matrix(K: Array, gamma: float, bias: bool) -> Array:
    """Return ``S``, whose columns are the fitted values of the unit vectors, each trained from scratch."""
    n = len(K)
    columns = [oracles.predict(K, *oracles.fit(K, unit, gamma, bias)) for unit in np.eye(n)]
    return np.array(columns).T


def series(K: Array, y: Array, F: Index, lam: float, bias: bool, order: int) -> Array:
    """Return ``y - sum_q T^q r`` on a fold F of m rows, with ``T = S diag(1 on F, -m/(n-m) off F)``."""
    n, m = len(y), len(F)
    S = hat_matrix(K, n * lam, bias)
    weight = np.full(n, -m / (n - m))
    weight[F] = 1.0
    term = total = y - S @ y
    for _ in range(order):
        term = S @ (weight * term)
        total = total + term
    return np.asarray((y - total)[F])


def rate(K: Array, F: Index, lam: float, bias: bool) -> float:
    """Return ``lambda_max(S_FF)``."""
    S = hat_matrix(K, len(K) * lam, bias)
    return float(np.linalg.eigvalsh((S + S.T)[np.ix_(F, F)] / 2)[-1])
