"""The bias where it is an interval: its middle, as LIBSVM has it."""

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
