"""The fallback for problems at which the compiled path stops: 10 of 35,424 in a count over eight data sets.

Sequential minimal optimisation (SMO) reduces the violation step by step. After each step, active sets try to
finish.
"""

from __future__ import annotations

from math import isnan

import numpy as np

from kselect.errors import TrialError
from kselect.grids import show_number
from kselect.learners.svm.active_set import flip_until_right
from kselect.learners.svm.bias_interval import middle
from kselect.learners.svm.free_rows import KNOWN
from kselect.learners.svm.quadratic import (
    LOOSEST,
    TOLERANCE,
    BoxQP,
    allowance,
    balance,
    copy,
    ends,
    largest_rounding,
    read_status,
    refresh,
    rounding,
    total,
)
from kselect.learners.svm.stride import FEW, SMO_STEPS, Space, accept, reduce_violation
from kselect.numerics.compiled import compiled, inner
from kselect.numerics.linalg import Array

# The violations at which active sets are tried, relative to the largest possible slack.
VIOLATIONS = (3e-2, 3e-3, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)
# If the rounding error of ``K beta`` may be larger than this, more steps cannot help: ten times the tolerance.
LOST = 10 * LOOSEST
NO_MARGINS = "the SVM's margins are lost in the rounding of K beta"


class NotSolved(TrialError):
    """SMO reached its limit of steps, or coefficients so large that rounding hides the margins."""


def solve_by_smo(
    q: BoxQP, space: Space, C: float, start: Array, name: str
) -> tuple[Array, float, Array]:
    """Return beta, b and the slack at one C, or raise a TrialError that names the kernel."""
    beta, slack = start.copy(), np.empty_like(start)
    b = search_down(q, space, C, beta, slack)
    if not np.isnan(b):
        return beta, b, slack
    if lost(q, beta):
        raise NotSolved(f"{NO_MARGINS}: {name}")
    raise NotSolved(f"the SVM's solver reached its iteration limit: {name} C={show_number(C)}")


@compiled
def search_down(q: BoxQP, space: Space, C: float, beta: Array, h: Array) -> float:
    """Search in place; return b, with the slack instead of h, or NaN without a solution."""
    free, k, found = space.free, space.block, np.nan
    status, beta_2, h_2 = space.statuses[2], space.numbers[4], space.numbers[5]
    free.sizes[KNOWN] = 0
    balance(q, beta, C)
    for violation in VIOLATIONS:
        refresh(q, beta, h)
        reduce_violation(q, k, beta, h, C, violation * min(1.0, C * q.largest), False, SMO_STEPS)
        copy(beta, beta_2)
        copy(h, h_2)
        found, count = 0.0, read_status(q, beta, C, status)
        if count > 0:
            found = flip_until_right(q, free, status, beta_2, h_2, C, len(h))
        found, allowed = accept(q, free, status, beta_2, h_2, found, C), allowance(q, beta, C)
        if isnan(found) and count <= FEW:
            copy(beta, beta_2)
            copy(h, h_2)
            reduce_violation(q, k, beta_2, h_2, C, allowed, True, SMO_STEPS)
            read_status(q, beta_2, C, status)
            found = middle(q, beta_2, h_2, C)
            found = accept(q, free, status, beta_2, h_2, found, C)
        if not isnan(found) and even(q, beta_2, C):
            copy(beta_2, beta)
            copy(h_2, h)
            break
        found = np.nan
        if lost(q, beta):
            break
        top, bottom = ends(q, beta, h, C)
        if top - bottom <= allowed and even(q, beta, C):
            found = middle(q, beta, h, C)
            break
    for t in range(len(h)):
        h[t] -= found
    return found


@compiled
def lost(q: BoxQP, beta: Array) -> bool:
    """Return whether the rounding error of ``K beta`` can hide the margins.

    An example is equal rows with different labels in a polynomial kernel of 1e20. Of a solution, the bound does not
    depend on how it was found, so that other values of C do not decide whether this one is refused.
    """
    return rounding(q, beta) > LOST and largest_rounding(q, beta) > LOST


@inner
def even(q: BoxQP, beta: Array, C: float) -> bool:
    """Return whether beta sums to zero, which Newton steps for a singular block can violate."""
    return not q.bias or abs(total(beta)) <= TOLERANCE * C
