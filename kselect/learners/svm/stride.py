r"""All values of C in one compiled call, from the smallest to the largest.

While the statuses of one C hold, the solution is affine: ``beta(C) = beta_0 + C beta_1``. If some are wrong at the
next C, they are flipped all at once. If that fails, the path is followed one status at a time, or a search starts
from that point, moved into the box.

Constant arguments are wrapped in ``np.int64`` or ``np.bool_``: numba compiles a function again for each literal.
"""

from __future__ import annotations

import numpy as np

from kselect.learners.svm.active_set import flip_until_right, follow_path, origin, refine
from kselect.learners.svm.bias_interval import middle
from kselect.learners.svm.compiled import compiled
from kselect.learners.svm.free_rows import ALL, FreeRows, find_free, no_free_rows
from kselect.learners.svm.quadratic import (
    BoxQP,
    Status,
    allowance,
    balance,
    ends,
    flip,
    read_status,
    refresh,
    residual,
    subtract,
    wrongs,
)
from kselect.learners.svm.working_set import choose, descend, gather, pairs, singles
from kselect.numerics.linalg import Array, Index

PathPoint = tuple[Status, Array, Array]  # statuses, beta, h
Count = int | np.int64
Flag = bool | np.bool_
Solved = tuple[Array, Array, float, float]  # beta, h, b and C of the solution before
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


@compiled
def update(q: BoxQP, rows: Index, values: Array, beta: Array, h: Array) -> None:
    """Set beta of some rows to new values and update h."""
    changed, moves, moved = np.empty(len(rows), np.intp), np.empty(len(rows)), 0
    for a in range(len(rows)):
        t = rows[a]
        if values[a] != beta[t]:
            changed[moved], moves[moved] = t, values[a] - beta[t]
            beta[t] = values[a]
            moved += 1
    subtract(q, changed, moves, moved, h)


@compiled
def reduce_violation(
    q: BoxQP, beta: Array, h: Array, C: float, tolerance: float, exact: Flag, left: Count
) -> Count:
    """Solve working sets until no pair violates more than the tolerance; return the steps left, or -1."""
    floor = LEAST_CURVATURE * q.largest
    for _ in range(EXACT_SETS if exact else SETS):
        top, bottom = ends(q, beta, h, C)
        if top - bottom <= tolerance:
            return left
        k = gather(q, choose(q, beta, h, C, top, bottom), beta, h, C, floor)
        within = max(LEFT * (top - bottom), 0.5 * tolerance)
        most = min(left, STEPS * len(k.W))
        left -= pairs(k, within, most) if q.bias else singles(k, within, most)
        if exact:
            descend(q, k, 0.25 * tolerance)
        update(q, k.W, k.beta, beta, h)
        if left <= 0:
            return -1
    return -1


@compiled
def search(
    q: BoxQP, free: FreeRows, status: Status, beta: Array, h: Array, C: float, left: Count
) -> float:
    """Alternate SMO and active sets from a feasible point, in place; return b, or NaN after ``left`` steps."""
    violation = FIRST * min(1.0, C * q.largest)
    status_2, beta_2, h_2 = np.empty_like(status), np.empty_like(beta), np.empty_like(h)
    for _ in range(TRIES):
        left = reduce_violation(q, beta, h, C, violation, np.bool_(False), left)
        count = read_status(q, beta, C, status)
        if count >= MANY or not q.bias:
            status_2[:], beta_2[:], h_2[:] = status, beta, h
            b = flip_until_right(q, free, status_2, beta_2, h_2, C, len(h))
            if not np.isnan(b):
                status[:], beta[:], h[:] = status_2, beta_2, h_2
                return b
        if count <= FEW:
            allowed = allowance(q, beta, C)
            done = reduce_violation(q, beta, h, C, allowed, np.bool_(True), left) >= 0
            read_status(q, beta, C, status)
            if done:
                find_free(q, free, status)
                return float(middle(q, beta, h, C))
        if left < 0:
            break
        violation *= LESS
    return np.nan


@compiled
def accept(
    q: BoxQP, free: FreeRows, status: Status, beta: Array, h: Array, b: float, C: float
) -> float:
    """Refine a candidate in place; return b, or NaN if it is not optimal."""
    if np.isnan(b) or not find_free(q, free, status):
        return np.nan
    if free.sizes[ALL] == 0:
        refresh(q, beta, h)
        b = middle(q, beta, h, C)
    return float(refine(q, free, status, beta, h, b, C))


@compiled
def searched(
    q: BoxQP, free: FreeRows, status: Status, beta: Array, h: Array, C: float, steps: Count
) -> float:
    """Search from a feasible point and refine the result."""
    return float(accept(q, free, status, beta, h, search(q, free, status, beta, h, C, steps), C))


@compiled
def followed(
    q: BoxQP,
    free: FreeRows,
    status: Status,
    beta: Array,
    h: Array,
    last: Solved,
    C: float,
    most: int,
) -> float:
    """Follow the path from the last solution, whose statuses are given, and refine the result."""
    beta[:], h[:] = last[0], last[1]
    b = follow_path(q, free, status, beta, h, last[2], last[3], C, most)
    return float(accept(q, free, status, beta, h, b, C))


@compiled
def copy(here: PathPoint, there: PathPoint) -> None:
    """Overwrite ``there`` by ``here``."""
    there[0][:], there[1][:], there[2][:] = here


@compiled
def correct(
    q: BoxQP,
    free: FreeRows,
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
    count, found = np.count_nonzero(at[0] == 0), np.nan
    copy(at, spare)
    if count >= MANY and wrong <= AHEAD * count:
        status, beta, h = spare
        flip(q, status, beta, h, b, C, allowance(q, beta, C))
        found = flip_until_right(q, free, status, beta, h, C, wrong)
        found = accept(q, free, status, beta, h, found, C)
    if np.isnan(found) and wrong * count <= QUICK:
        spare[0][:] = at[0]
        found = followed(q, free, *spare, last, C, QUICK_EVENTS)
    if not np.isnan(found):
        copy(spare, at)
    return float(found)


@compiled
def search_along(
    q: BoxQP, free: FreeRows, at: PathPoint, spare: PathPoint, last: Solved, C: float
) -> float:
    """Search from a point in the box: briefly, then along the path if few rows are free, then for longer."""
    count = np.count_nonzero(at[0] == 0)
    spare[0][:] = at[0]
    found = searched(q, free, *at, C, np.int64(QUICK_STEPS))
    if np.isnan(found) and count <= MOST_FREE:
        found = followed(q, free, *spare, last, C, EVENTS)
        if not np.isnan(found):
            copy(spare, at)
    if np.isnan(found):
        found = searched(q, free, *at, C, np.int64(SMO_STEPS))
    return float(found)


@compiled
def stride(
    q: BoxQP, Cs: Array, at: int, start: Array, betas: Array, biases: Array, slacks: Array
) -> int:
    """Solve at Cs[at] from ``start`` and at all larger C; return the index of the first C without a solution.

    ``slacks`` are ``h - b``.
    """
    n = len(start)
    free, status = no_free_rows(n), np.empty(n, np.int8)
    beta, h, beta_0, load = start.copy(), np.empty(n), np.zeros(n), np.zeros(n)
    here, spare = (status, beta, h), (np.empty(n, np.int8), np.empty(n), np.empty(n))
    b = b_0 = 0.0
    known, anchor = False, 0.0
    for k in range(at, len(Cs)):
        C, found, last = Cs[k], np.nan, (beta, h, b, Cs[k])
        if k > at:
            last = (betas[k - 1], slacks[k - 1] + biases[k - 1], biases[k - 1], Cs[k - 1])
            times = C / Cs[k - 1]
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
                found = correct(q, free, here, spare, last, C, b, wrong)
            anchor = anchor if trusted else C
        if np.isnan(found):
            known, anchor = False, C
            feasible = beta.copy()
            balance(q, feasible, C)
            update(q, np.arange(n), feasible, beta, h)
            if k > at:
                found = search_along(q, free, here, spare, last, C)
            else:
                refresh(q, beta, h)
                found = searched(q, free, status, beta, h, C, np.int64(SMO_STEPS))
        if np.isnan(found):
            return k
        b = found
        betas[k], biases[k], slacks[k] = beta, b, h - b
    return len(Cs)
