r"""What given statuses make of every C: ``beta(C) = beta_0 + C beta_1``."""

from __future__ import annotations

import numpy as np

from kselect.learners.svm_path.compiled import compiled
from kselect.learners.svm_path.free import ALL, Free, newton
from kselect.learners.svm_path.quadratic import Quadratic, subtract
from kselect.learners.svm_path.task import Status
from kselect.numerics.linalg import Array


@compiled
def at_no_end(q: Quadratic, status: Status, beta: Array) -> bool:
    """Whether no row is held at C: then the solution is the same for every larger one."""
    held = 0
    for t in range(len(status)):
        held += (status[t] == 1 or status[t] == -1) and beta[t] != 0.0
    return held == 0


@compiled
def origin(
    q: Quadratic,
    free: Free,
    status: Status,
    beta: Array,
    h: Array,
    b: float,
    beta_0: Array,
    load: Array,
) -> float:
    """beta_0, ``K beta_0`` and b_0 of the statuses of a solution."""
    if at_no_end(q, status, beta):
        beta_0[:], load[:] = beta, q.target - h
        return b
    f, right = free.sizes[ALL], np.empty(2 * len(beta))
    beta_0[:], load[:] = 0.0, 0.0
    # Rows of one class have beta_0 = 0, to the last bit.
    some = False
    for a in range(f):
        right[a] = q.target[free.F[a]]
        some = some or right[a] != 0.0
    if not some:
        return 0.0
    b_0 = newton(q, free, right, 0.0)
    for a in range(f):
        beta_0[free.F[a]] = -right[a]
        right[a] = -right[a]
    subtract(q, free.F, right, f, load)
    beta_0[:] = -beta_0
    return b_0
