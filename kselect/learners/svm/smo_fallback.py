"""The fallback for problems at which the compiled path stops: 10 of 35,424 in a count over eight data sets.

Sequential minimal optimisation (SMO) reduces the violation step by step. After each step, active sets try to
finish.
"""

from __future__ import annotations

import numpy as np

from kselect.errors import TrialError
from kselect.grids import show_number
from kselect.learners.svm.active_set import flip_until_right
from kselect.learners.svm.bias_interval import middle
from kselect.learners.svm.free_rows import no_free_rows
from kselect.learners.svm.quadratic import (
    LOOSEST,
    TOLERANCE,
    BoxQP,
    allowance,
    balance,
    ends,
    largest_rounding,
    read_status,
    refresh,
    rounding,
)
from kselect.learners.svm.stride import FEW, SMO_STEPS, accept, reduce_violation
from kselect.numerics.linalg import Array

# The violations at which active sets are tried, relative to the largest possible slack.
VIOLATIONS = (3e-2, 3e-3, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)
# If the rounding error of ``K beta`` may be larger than this, more steps cannot help: ten times the tolerance.
LOST = 10 * LOOSEST
NO_MARGINS = "the SVM's margins are lost in the rounding of K beta"


class NotSolved(TrialError):
    """SMO reached its limit of steps, or coefficients so large that rounding hides the margins."""


def solve_by_smo(q: BoxQP, C: float, start: Array, name: str) -> tuple[Array, float, Array]:
    """Return beta, b and the slack at one C, or raise a TrialError that names the kernel."""
    beta, h = start.copy(), np.empty_like(start)
    status, free = np.empty(len(h), np.int8), no_free_rows(len(h))
    balance(q, beta, C)
    for violation in VIOLATIONS:
        refresh(q, beta, h)
        tolerance = violation * min(1.0, C * q.largest)
        reduce_violation(q, beta, h, C, tolerance, False, SMO_STEPS)
        point = status, beta.copy(), h.copy()
        count = read_status(q, beta, C, status)
        b = flip_until_right(q, free, *point, C, len(h)) if count else 0.0
        b = accept(q, free, *point, b, C)
        allowed = allowance(q, beta, C)
        if np.isnan(b) and count <= FEW:
            point[1][:], point[2][:] = beta, h
            reduce_violation(q, *point[1:], C, allowed, True, SMO_STEPS)
            read_status(q, point[1], C, status)
            b = accept(q, free, *point, middle(q, *point[1:], C), C)
        if not np.isnan(b) and even(q, point[1], C):
            return point[1], b, point[2] - b
        if lost(q, beta):
            raise NotSolved(f"{NO_MARGINS}: {name}")
        top, bottom = ends(q, beta, h, C)
        if top - bottom <= allowed and even(q, beta, C):
            b = middle(q, beta, h, C)
            return beta, b, h - b
    raise NotSolved(f"the SVM's solver reached its iteration limit: {name} C={show_number(C)}")


def lost(q: BoxQP, beta: Array) -> bool:
    """Return whether the rounding error of ``K beta`` can hide the margins.

    An example is equal rows with different labels in a polynomial kernel of 1e20. Of a solution, the bound does not
    depend on how it was found, so that other values of C do not decide whether this one is refused.
    """
    return rounding(q, beta) > LOST and largest_rounding(q, beta) > LOST


def even(q: BoxQP, beta: Array, C: float) -> bool:
    """Return whether beta sums to zero, which Newton steps for a singular block can violate."""
    return not q.bias or abs(float(beta.sum())) <= TOLERANCE * C
