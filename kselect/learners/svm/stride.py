r"""All values of C in one compiled call, from the smallest to the largest.

While the statuses of one C hold, the solution is affine: ``beta(C) = beta_0 + C beta_1``. If some are wrong at the
next C, they are flipped all at once. If that fails, the path is followed one status at a time, or a search starts
from that point, moved into the box.

"""

from __future__ import annotations

from math import isnan
from typing import Annotated, NamedTuple

import numpy as np

from kselect.learners.svm.active_set import flip_until_right, follow_path, origin, refine
from kselect.learners.svm.bias_interval import middle
from kselect.learners.svm.free_rows import ALL, KNOWN, FreeRows, find_free, no_free_rows
from kselect.learners.svm.quadratic import (
    BoxQP,
    Status,
    allowance,
    balance,
    copy,
    count_free,
    ends,
    flip,
    read_status,
    refresh,
    residual,
    subtract,
    wrongs,
)
from kselect.learners.svm.working_set import (
    ROWS,
    WorkingSet,
    choose,
    descend,
    gather,
    no_working_set,
    pairs,
    singles,
)
from kselect.numerics.compiled import RowMajor, compiled, inner
from kselect.numerics.linalg import Array, Index

PathPoint = tuple[Status, Array, Array]  # statuses, beta, h
Solved = tuple[Array, Array, float, float]  # beta, slack, b and C of the solution before
# With fewer free rows than MANY, or more wrong rows than AHEAD times the free rows, flips are not tried along C.
MANY, AHEAD = 40, 1.25
# Up to this product of free and wrong rows, the path is followed at once, for at most so many changes of a status.
QUICK, QUICK_EVENTS = 1200, 60
# A search first gets QUICK_STEPS. If it fails with at most MOST_FREE free rows, the path is followed for at most
# EVENTS changes. Then the search gets SMO_STEPS.
QUICK_STEPS, MOST_FREE, EVENTS, SMO_STEPS = 3000, 200, 400, 400_000
# h is computed again if C has grown by more than this factor, because its rounding error grows as well.
TRUSTED = 64.0
# A search tries active sets at TRIES violations: FIRST, relative to the largest possible slack, then LESS times it.
FIRST, LESS, TRIES = 0.1, 0.1, 8
# With at most this many free rows, the search solves its working sets exactly.
FEW = 100
# Limits of working sets solved by SMO and exactly.
SETS, EXACT_SETS = 2000, 12
# SMO's steps per row of a working set, and the share of the violation that they leave.
STEPS, LEFT = 8, 0.1
# The least curvature in SMO, relative to the largest K_ii: for equal rows it is zero.
LEAST_CURVATURE = 1e-12


class Space(NamedTuple):
    """Memory for the loops: free rows, a working set, and vectors.

    ``path`` (5, n) is for ``follow_path``. ``numbers`` (9, n) and ``statuses`` (3, n) hold the point, a spare one
    and the one that a search tries, and then beta_0, K beta_0 and a feasible beta.
    """

    free: FreeRows
    block: WorkingSet
    path: RowMajor
    numbers: RowMajor
    statuses: Annotated[Status, 2]


def space_for(n: int) -> Space:
    """Allocate space for n rows."""
    vectors = np.empty((5, n)), np.empty((9, n)), np.empty((3, n), np.int8)
    return Space(no_free_rows(n), no_working_set(n), *vectors)


@inner
def update(q: BoxQP, rows: Index, count: int, values: Array, beta: Array, h: Array) -> None:
    """Set beta of some rows to new values and update h."""
    changed, moves, moved = q.rows, q.numbers[2], 0
    for a in range(count):
        t = rows[a]
        if values[a] != beta[t]:
            changed[moved], moves[moved] = t, values[a] - beta[t]
            beta[t] = values[a]
            moved += 1
    subtract(q, changed, moves, moved, h)


@compiled
def reduce_violation(
    q: BoxQP,
    k: WorkingSet,
    beta: Array,
    h: Array,
    C: float,
    tolerance: float,
    exact: bool,
    left: int,
) -> int:
    """Solve working sets until no pair violates more than the tolerance; return the steps left, or -1."""
    floor = LEAST_CURVATURE * q.largest
    for _ in range(EXACT_SETS if exact else SETS):
        top, bottom = ends(q, beta, h, C)
        if top - bottom <= tolerance:
            return left
        choose(q, k, beta, h, C, top, bottom)
        gather(q, k, beta, h, C, floor)
        within = max(LEFT * (top - bottom), 0.5 * tolerance)
        most = min(left, STEPS * k.sizes[ROWS])
        left -= pairs(k, within, most) if q.bias else singles(k, within, most)
        if exact:
            descend(q, k, 0.25 * tolerance)
        update(q, k.W, k.sizes[ROWS], k.beta, beta, h)
        if left <= 0:
            return -1
    return -1


@compiled
def search(
    q: BoxQP, space: Space, status: Status, beta: Array, h: Array, C: float, left: int
) -> float:
    """Alternate SMO and active sets from a feasible point, in place; return b, or NaN after ``left`` steps."""
    violation = FIRST * min(1.0, C * q.largest)
    free, k, here = space.free, space.block, (status, beta, h)
    tried = space.statuses[2], space.numbers[4], space.numbers[5]
    for _ in range(TRIES):
        left = reduce_violation(q, k, beta, h, C, violation, False, left)
        count = read_status(q, beta, C, status)
        if count >= MANY or not q.bias:
            copy_point(here, tried)
            b = flip_until_right(q, free, tried[0], tried[1], tried[2], C, len(h))
            if not isnan(b):
                copy_point(tried, here)
                return b
        if count <= FEW:
            allowed = allowance(q, beta, C)
            done = reduce_violation(q, k, beta, h, C, allowed, True, left) >= 0
            read_status(q, beta, C, status)
            if done:
                find_free(q, free, status)
                return middle(q, beta, h, C)
        if left < 0:
            break
        violation *= LESS
    return np.nan


@compiled
def accept(
    q: BoxQP, free: FreeRows, status: Status, beta: Array, h: Array, b: float, C: float
) -> float:
    """Refine a candidate in place; return b, or NaN if it is not optimal."""
    if isnan(b) or not find_free(q, free, status):
        return np.nan
    if free.sizes[ALL] == 0:
        refresh(q, beta, h)
        b = middle(q, beta, h, C)
    return refine(q, free, status, beta, h, b, C)


@compiled
def searched(q: BoxQP, space: Space, at: PathPoint, C: float, steps: int) -> float:
    """Search from a feasible point and refine the result."""
    status, beta, h = at
    b = search(q, space, status, beta, h, C, steps)
    return accept(q, space.free, status, beta, h, b, C)


@compiled
def followed(q: BoxQP, space: Space, at: PathPoint, last: Solved, C: float, most: int) -> float:
    """Follow the path from the last solution, whose statuses are given, and refine the result."""
    status, beta, h = at
    for t in range(len(h)):
        beta[t], h[t] = last[0][t], last[1][t] + last[2]
    b = follow_path(q, space.free, status, beta, h, last[2], last[3], C, most, space.path)
    return accept(q, space.free, status, beta, h, b, C)


@inner
def copy_point(here: PathPoint, there: PathPoint) -> None:
    """Overwrite ``there`` by ``here``."""
    copy_status(here[0], there[0])
    copy(here[1], there[1])
    copy(here[2], there[2])


@inner
def copy_status(status: Status, out: Status) -> None:
    """Overwrite ``out`` by the statuses."""
    for t in range(len(out)):
        out[t] = status[t]


@compiled
def correct(
    q: BoxQP,
    space: Space,
    at: PathPoint,
    spare: PathPoint,
    last: Solved,
    C: float,
    b: float,
    wrong: int,
) -> float:
    """Correct wrong statuses along C: flip all, or follow the path if that is cheap.

    Return b, or NaN and keep ``at``.
    """
    count, found = count_free(at[0]), np.nan
    copy_point(at, spare)
    if count >= MANY and wrong <= AHEAD * count:
        status, beta, h = spare
        flip(q, status, beta, h, b, C, allowance(q, beta, C))
        found = flip_until_right(q, space.free, status, beta, h, C, wrong)
        found = accept(q, space.free, status, beta, h, found, C)
    if isnan(found) and wrong * count <= QUICK:
        copy_status(at[0], spare[0])
        found = followed(q, space, spare, last, C, QUICK_EVENTS)
    if not isnan(found):
        copy_point(spare, at)
    return found


@compiled
def search_along(
    q: BoxQP, space: Space, at: PathPoint, spare: PathPoint, last: Solved, C: float
) -> float:
    """Search from a point in the box: briefly, then along the path if few rows are free, then for longer."""
    count = count_free(at[0])
    copy_status(at[0], spare[0])
    found = searched(q, space, at, C, QUICK_STEPS)
    if isnan(found) and count <= MOST_FREE:
        found = followed(q, space, spare, last, C, EVENTS)
        if not isnan(found):
            copy_point(spare, at)
    if isnan(found):
        found = searched(q, space, at, C, SMO_STEPS)
    return found


@inner
def move_into_box(q: BoxQP, space: Space, beta: Array, h: Array, C: float) -> None:
    """Move a point to a feasible one in place."""
    feasible, rows = space.numbers[8], space.block.W
    for t in range(len(h)):
        feasible[t], rows[t] = beta[t], t
    balance(q, feasible, C)
    update(q, rows, len(h), feasible, beta, h)


@compiled
def stride(
    q: BoxQP,
    space: Space,
    Cs: Array,
    at: int,
    start: Array,
    betas: RowMajor,
    biases: Array,
    slacks: RowMajor,
) -> int:
    """Solve at Cs[at] from ``start`` and at all larger C; return the index of the first C without a solution.

    ``slacks`` are ``h - b``.
    """
    n, free, v = len(start), space.free, space.numbers
    status, beta, h, beta_0, load = space.statuses[0], v[0], v[1], v[6], v[7]
    here, spare = (status, beta, h), (space.statuses[1], v[2], v[3])
    copy(start, beta)
    free.sizes[KNOWN] = 0
    b = b_0 = 0.0
    known, anchor = False, 0.0
    for k in range(at, len(Cs)):
        before = max(k - 1, 0)
        C, found = Cs[k], np.nan
        last = betas[before], slacks[before], biases[before], Cs[before]
        if k > at:
            times = C / Cs[before]
            if not known:
                b_0 = origin(q, free, status, beta, h, b, beta_0, load)
            for t in range(n):
                beta[t] = beta_0[t] + times * (beta[t] - beta_0[t])
                h[t] = q.target[t] - load[t] - times * (q.target[t] - h[t] - load[t])
            b = b_0 + times * (b - b_0)
            allowed = allowance(q, beta, C)
            wrong = wrongs(q, status, beta, h, b, C, allowed)
            known, trusted = wrong == 0, wrong == 0 and TRUSTED * anchor >= C
            if trusted and residual(status, h, b) <= allowed:
                found = middle(q, beta, h, C) if free.sizes[ALL] == 0 else b
            elif known:
                found = accept(q, free, status, beta, h, b, C)
            else:
                found = correct(q, space, here, spare, last, C, b, wrong)
            anchor = anchor if trusted else C
        if isnan(found):
            known, anchor = False, C
            move_into_box(q, space, beta, h, C)
            if k > at:
                found = search_along(q, space, here, spare, last, C)
            else:
                refresh(q, beta, h)
                found = searched(q, space, here, C, SMO_STEPS)
        if isnan(found):
            return k
        b, biases[k] = found, found
        for t in range(n):
            betas[k, t], slacks[k, t] = beta[t], h[t] - b
    return len(Cs)
