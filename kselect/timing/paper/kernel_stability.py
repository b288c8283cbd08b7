"""k-fold cross-validation with kernel stability, by training k times for every grid point (ecml2014)."""

from __future__ import annotations

import numpy as np

from kselect.kernels import Kernel
from kselect.numerics.linalg import Array
from kselect.timing.paper.base import Score, Task, algorithm
from kselect.timing.paper.cv import held_out


@algorithm("k-KS")
def kernel_stability(task: Task, kernel: Kernel, K: Array) -> Score:
    r"""k-CV plus ``(eta / n) beta``; beta by the closed form of Theorem 4, once for a width, ``O(n^2)``."""
    own = np.diagonal(K)
    others = np.einsum("ij,ij->i", K, K) - own**2
    beta = float(np.max(own + np.sqrt(own**2 + 4.0 * np.maximum(others, 0.0)))) / 2.0
    penalty = task.params["eta"] / task.n * beta
    predict = held_out(task, K)
    return lambda lam: task.mean_loss(predict(lam)) + penalty
