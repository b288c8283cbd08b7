r"""Finding the statuses: a few primal-dual active-set steps, and SMO where these do not settle.

A step of the active-set method flips all rows whose status is wrong at once and solves again. From statuses that
are nearly right it settles in some three steps; from far away, and where few rows are free and many wait to be,
never. Then SMO goes on from a solution at another C, as far as the active set needs to settle.
"""

from __future__ import annotations

import numpy as np

from kselect.errors import TrialError
from kselect.learners.svm_path.descent import descended
from kselect.learners.svm_path.polish import polish
from kselect.learners.svm_path.segment import Segment
from kselect.learners.svm_path.smo import pairs, singles
from kselect.learners.svm_path.task import LOOSEST, Fit, Status, Task, judged, statuses
from kselect.numerics.linalg import Array

# Active-set steps; they go on while each leaves at most this share of the wrong rows, or few beside the free ones.
STEPS, SLOWEST, FEW = 20, 0.6, 1.0 / 16.0
# SMO's steps in all, and the violations at which the active set is tried again.
SMO_STEPS = 1_000_000
VIOLATIONS = (3e-2, 3e-3, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)
# Relative to the largest K_ii, what a curvature counts at least in SMO: equal rows have none.
LEAST_CURVATURE = 1e-12


def settle(task: Task, status: Status, C: float) -> Fit:
    """Active-set steps from a guess of the statuses: a solution, or the best that they came by."""
    best = at = Segment(task, status, C)
    allowed = np.inf
    for _ in range(STEPS):
        wrong = at.fit.wrong
        if not wrong or wrong > allowed:
            break
        allowed = max(SLOWEST * wrong, FEW * len(at.free))
        at = Segment(task, at.fit.asked, C)
        best = at if at.fit.wrong < best.fit.wrong else best
    return best.fit


def by_smo(task: Task, C: float, beta: Array) -> Fit | None:
    """From a beta that is near; None where all limits are reached."""
    gram, box, left = task.gram, task.closed_box(C), SMO_STEPS
    held = balanced(beta, box) if task.bias else np.clip(beta, box[0], box[1])
    g = task.target - gram.times(held)
    smo, least = pairs if task.bias else singles, LEAST_CURVATURE * gram.largest
    for violation in VIOLATIONS:
        left = smo(gram.K, held, g, box, least, violation * task.margin, left)
        found = polished(task, C, held, g) or settled(task, C, held)
        if found is not None:
            return found
        # As for equal rows with unlike labels in a polynomial kernel of 1e20: more work cannot help.
        if task.rounding(held) > LOOSEST:
            raise TrialError(f"the SVM's margins are lost in the rounding of K beta: {task.name}")
        if not left:
            break
    return descended(task, C, held)


def polished(task: Task, C: float, held: Array, g: Array) -> Fit | None:
    """By active-set steps on few free rows; what they find is computed anew and checked."""
    gram, box, beta = task.gram, task.closed_box(C), held.copy()
    status = statuses(beta, box)
    bias = polish(
        *(gram.K, gram.ridge, box, task.loose(C), status, beta, g.copy()),
        *(task.allowed(beta), task.bias, STEPS),
    )
    if np.isnan(bias):
        return None
    fit = judged(task, C, status, beta, bias, task.target - gram.times(beta) - bias)
    return None if fit.wrong else fit


def settled(task: Task, C: float, held: Array) -> Fit | None:
    """By active-set steps."""
    fit = settle(task, statuses(held, task.closed_box(C)), C)
    return None if fit.wrong else fit


def balanced(beta: Array, box: Array) -> Array:
    """Within the box and with the sum zero: the side that outweighs the other is scaled down."""
    held = np.clip(beta, box[0], box[1])
    excess = float(held.sum())
    heavy = held > 0 if excess > 0 else held < 0
    weight = float(np.abs(held[heavy]).sum())
    if weight > 0:
        held[heavy] *= 1.0 - abs(excess) / weight
    return held
