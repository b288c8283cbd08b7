"""All values of C, from the smallest on, each from what is known: the solution before it, or that of all rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from kselect.errors import TrialError
from kselect.grids import show_number
from kselect.learners.svm_path.changed import Base
from kselect.learners.svm_path.gram import Gram
from kselect.learners.svm_path.segment import Rung, Segment, solve
from kselect.learners.svm_path.settle import LEAST_CURVATURE, by_smo, settle
from kselect.learners.svm_path.smo import pairs
from kselect.learners.svm_path.task import FREE, PINNED, Fit, Status, Task, statuses
from kselect.numerics.linalg import Array

# SMO's steps per row and its tolerance, relative to the spread of the slack, for a first guess.
FIRST_STEPS, FIRST_TOLERANCE = 3, 1e-2
# How far below the first C the solution for C -> 0 is looked for: by this factor, so many times.
SMALLER, TIMES = 1.0 / 16.0, 32
# With fewer free rows the active set is not tried before SMO, nor where the tangent more than doubles their number.
MANY, DOUBLED = 64, 2.0
# Of the free rows, how many may be wrong for it to be begun: along C, and without a fold.
AHEAD, WITHOUT = 1.25, 0.75


@dataclass(frozen=True, eq=False)
class Ladder:
    """The solutions at some C, ascending, and before them one at a C so small that all are alike below it."""

    first: Rung
    rungs: list[Rung]


def hinge_task(gram: Gram, y: Array, weights: Array, bias: bool, name: str) -> Task:
    """``0 <= y_i beta_i <= C w_i``, w_i being the number of equal rows; 0 for those left out."""
    box = np.stack([np.minimum(y, 0.0), np.maximum(y, 0.0)]) * weights
    return Task(gram, y, box, np.zeros_like(y), bias, name)


def climb(task: Task, Cs: Array, above: Ladder | None = None) -> Ladder:
    """The solutions at every C, ascending; ``above``: those of all rows, where the task leaves some out."""
    first = known = start(task, float(Cs[0]), above)
    rungs: list[Rung] = []
    for at, C in enumerate(Cs.tolist()):
        known = next_rung(task, C, known, above.rungs[at] if above else None)
        rungs.append(known)
    return Ladder(first, rungs)


def next_rung(task: Task, C: float, known: Rung, full: Rung | None) -> Rung:
    """On the same segment, by the active set, or by SMO; or a TrialError."""
    here: Fit | None = None
    if known.free >= MANY or known.made:
        here = known.segment.at(C)
        if not here.wrong:
            return Rung(task, here, known.segment)
    tries = without(task, C, full) if full else ahead(task, C, known, here)
    for found in tries:
        if not found.fit.wrong:
            return Rung(task, found.fit, found)
    rung = by_smo(task, C, known.fit.beta * (C / known.fit.C), full.base if full else None)
    if rung is None:
        raise failure(task, C)
    return rung


def ahead(task: Task, C: float, known: Rung, here: Fit | None) -> Iterator[Segment]:
    """From the statuses that the tangent asks for."""
    if here is not None:
        free = np.count_nonzero(here.asked == FREE)
        if MANY <= free <= DOUBLED * known.free:
            yield settle(task, here.asked, C, share=AHEAD)


def without(task: Task, C: float, full: Rung) -> Iterator[Segment]:
    """From the solution of all rows, some of them taken out."""
    status = np.where(task.box[0] < task.box[1], full.fit.status, PINNED).astype(np.int8)
    if np.count_nonzero(status == FREE) >= MANY:
        yield settle(task, status, C, full.base, WITHOUT)


def start(task: Task, C: float, above: Ladder | None) -> Rung:
    """The solution at a C that is small enough for the statuses of the limit C -> 0."""
    base = above.first.base if above else None
    segment = solve(task, solve_limit(task, above, base), C, base)
    for times, see in product(range(TIMES), (segment.at, segment.near_zero)):
        fit = see(C * SMALLER**times)
        if not fit.wrong:
            return Rung(task, fit, segment)
    raise failure(task, C)


def solve_limit(task: Task, above: Ladder | None, base: Base | None) -> Status:
    """The statuses for C -> 0."""
    limit = limit_task(task)
    pinned = limit.box[0] == limit.box[1]
    guess = above.first.fit.status if above else first_guess(limit)
    if (guess[~pinned] == PINNED).any():
        guess = first_guess(limit)
    status = settle(limit, np.where(pinned, PINNED, guess).astype(np.int8), 1.0, base)
    if status.fit.wrong:
        rung = by_smo(limit, 1.0, evenly(limit))
        if rung is None:
            raise failure(task, 0.0)
        found = rung.fit.status
    else:
        found = status.status
    return np.where(limit.pinned != 0, np.sign(limit.pinned), found).astype(np.int8)


def limit_task(task: Task) -> Task:
    """For C -> 0, per unit of C: the smaller class is at C, the larger one minimises ``||f||`` for that sum.

    Each f is below its margin then, and nothing but a scale is left of the target. Without a bias all are at C.
    """
    ends = task.box.sum(axis=0)
    at_end = ends * (1.0 if ends.sum() < 0 else -1.0) > 0 if task.bias else ends != 0
    return replace(
        task,
        target=np.zeros_like(ends),
        box=np.where(at_end, 0.0, task.box),
        pinned=np.where(at_end, ends, 0.0),
        margin=task.gram.largest,
    )


def evenly(limit: Task) -> Array:
    """All rows of the larger class at the same share of their box."""
    ends = limit.box.sum(axis=0)
    whole = float(ends.sum())
    share = -float(limit.pinned.sum()) / whole if whole else 0.0
    return np.asarray(np.where(ends != 0, share * ends, limit.pinned))


def first_guess(limit: Task) -> Status:
    """The statuses that a short SMO leads to from there."""
    box, beta, gram = limit.closed_box(1.0), evenly(limit), limit.gram
    movable = box[0] < box[1]
    if movable.any():
        g = -gram.times(beta)
        tolerance = FIRST_TOLERANCE * float(np.ptp(g[movable]))
        least = LEAST_CURVATURE * gram.largest
        pairs(gram.K, beta, g, box, least, tolerance, FIRST_STEPS * len(beta))
    return statuses(beta, box)


def failure(task: Task, C: float) -> TrialError:
    """SMO's limit of iterations was reached."""
    return TrialError(
        f"the SVM's solver reached its iteration limit: {task.name} C={show_number(C)}"
    )
