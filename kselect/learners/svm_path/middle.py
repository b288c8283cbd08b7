"""What rounding leaves open: the bias where it is an interval, and slacks that optimality fixes."""

from __future__ import annotations

import numpy as np

from kselect.learners.svm_path.compiled import compiled
from kselect.learners.svm_path.quadratic import Quadratic, looseness
from kselect.numerics.linalg import Array


@compiled
def centred(q: Quadratic, C: float, beta: Array, slack: Array, bias: float) -> float:
    """What to add to the bias; 0 where a row is free by more than rounding.

    Where only one end of the interval is finite, the value in it that is nearest to 0.
    """
    if not q.bias:
        return 0.0
    least, most = -np.inf, np.inf
    for t in range(len(beta)):
        low, high, loose = C * q.low[t], C * q.high[t], looseness(q, C, t)
        if low == high:
            continue
        if beta[t] <= low + loose:
            least = max(least, slack[t])
        elif beta[t] >= high - loose:
            most = min(most, slack[t])
        else:
            return 0.0
    if np.isinf(least) or np.isinf(most):
        return float(min(max(-bias, least), most))
    return 0.5 * (least + most)


@compiled
def settle_slack(q: Quadratic, C: float, beta: Array, slack: Array) -> None:
    """``y - f``: 0 on free rows, and of the sign that the others' ends have; held-out rows as they are.

    That is what optimality says. Without it the empirical risks of two kernels that separate the training rows
    would be rounding, and rounding would choose between them; so they are both 0.
    """
    for t in range(len(beta)):
        low, high, loose = C * q.low[t], C * q.high[t], looseness(q, C, t)
        if low == high:
            continue
        if beta[t] <= low + loose:
            slack[t] = min(slack[t], 0.0)
        elif beta[t] >= high - loose:
            slack[t] = max(slack[t], 0.0)
        else:
            slack[t] = 0.0
