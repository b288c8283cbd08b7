"""Newton's method for the smoothed hinge as ijcai2018 has it: in the primal, from f = 0, with back-tracking.

A Cholesky solution on the rows of the quadratic zone is a full step; the step is halved until the objective falls
enough (Armijo), until the conditions of optimality hold.
"""

from __future__ import annotations

import numpy as np

from kselect.errors import TrialError
from kselect.learners.smooth_hinge_trainer import (
    TOLERANCE,
    HingeProblem,
    HingeSolution,
    pull,
    solve,
    value,
    violation,
    zones_of,
)
from kselect.numerics.linalg import Array, Mask

ARMIJO = 1e-4
STEPS = 500
SHORTEST = 1e-12


def newton(task: HingeProblem) -> HingeSolution:
    """The minimum over the rows kept, with the margins of all rows."""
    signed, h = task.signed, task.signed.h
    n = len(signed.Ky)
    kept = np.ones(n, dtype=np.bool_) if task.kept is None else task.kept
    a, z = np.zeros(n), np.zeros(n)
    zones = zones_of(signed, np.zeros(n, dtype=np.bool_), kept)
    for _ in range(STEPS):
        fit = solve(task, zones)
        if violation(task, fit) <= TOLERANCE:
            return fit
        a, z = back_tracked(task, kept, (a, z), fit)
        zones = zones_of(signed, (np.abs(1.0 - z) <= h) & kept, (z < 1.0 - h) & kept)
    raise TrialError(f"Newton's method left {violation(task, fit):.1e} in the slope: {task.name()}")


def back_tracked(
    task: HingeProblem, kept: Mask, start: tuple[Array, Array], fit: HingeSolution
) -> tuple[Array, Array]:
    """``(a, z)`` on the way from a start to a fit, where the objective is lower by enough."""
    (a, z), gamma, h = start, task.gamma, task.signed.h
    da, dz = fit.a - a, fit.z - z

    def objective(a: Array, z: Array) -> float:
        return float(value(z[kept], h).sum() + 0.5 * gamma * (a @ z))

    now = objective(a, z)
    slope = gamma * float(a @ dz) - float(pull(z[kept], h) @ dz[kept])
    t = 1.0
    while t > SHORTEST and objective(a + t * da, z + t * dz) > now + ARMIJO * t * slope:
        t /= 2.0
    return a + t * da, z + t * dz
