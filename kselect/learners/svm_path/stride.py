r"""All values of C in one compiled call, from the smallest on.

On the statuses of one C the solution is affine: ``beta(C) = beta_0 + C beta_1``. Where that leaves statuses wrong
at the next C they are flipped all at once, and if that does not settle the path is followed row by row, or a search
goes on from there, brought back into the box.
"""

from __future__ import annotations

import numpy as np

from kselect.learners.svm_path.affine import origin
from kselect.learners.svm_path.compiled import compiled
from kselect.learners.svm_path.events import along
from kselect.learners.svm_path.free import ALL, Free, find, no_free
from kselect.learners.svm_path.quadratic import (
    Quadratic,
    allowance,
    balance,
    flip,
    refresh,
    residual,
    subtract,
    wrongs,
)
from kselect.learners.svm_path.rounds import refined, rounds
from kselect.learners.svm_path.search import MANY, between, search
from kselect.learners.svm_path.task import Status
from kselect.numerics.linalg import Array

Point = tuple[Status, Array, Array]  # statuses, beta, h
Last = tuple[Array, Array, float, float]  # beta, h, b and C of the rung before
# Of the free rows, how many may be wrong for flips of all at once to be tried along C.
AHEAD = 1.25
# Up to which product of free and wrong rows the way row by row is tried at once, and for how many events.
QUICK, QUICK_EVENTS = 1200, 60
# SMO's steps before it is tried for longer: with at most so many free rows, and for so many events; SMO's last.
QUICK_STEPS, MOST_FREE, EVENTS, SMO_STEPS = 3000, 200, 400, 400_000
# By how much C may have grown since h was computed: its rounding grows as well.
TRUSTED = 64.0


@compiled
def to_box(q: Quadratic, beta: Array, h: Array, C: float) -> None:
    """Into the box and with the sum zero, h with it."""
    before, moved = beta.copy(), 0
    rows, moves = np.empty(len(h), np.int64), np.empty(len(h))
    balance(q, beta, C)
    for t in range(len(h)):
        if beta[t] != before[t]:
            rows[moved], moves[moved] = t, beta[t] - before[t]
            moved += 1
    subtract(q, rows, moves, moved, h)


@compiled
def accepted(
    q: Quadratic, free: Free, status: Status, beta: Array, h: Array, b: float, C: float
) -> float:
    """As exact as can be, or not a number."""
    if np.isnan(b) or not find(q, free, status):
        return np.nan
    if free.sizes[ALL] == 0:
        refresh(q, beta, h)
        b = between(q, beta, h, C)
    return float(refined(q, free, status, beta, h, b, C))


@compiled
def by_flips(
    q: Quadratic,
    free: Free,
    status: Status,
    beta: Array,
    h: Array,
    b: float,
    C: float,
    wrong: int,
) -> float:
    """From the tangent, all wrong statuses at once."""
    count = free.sizes[ALL]
    if count < MANY or wrong > AHEAD * count:
        return np.nan
    flip(q, status, beta, h, b, C, allowance(q, beta, C))
    return float(accepted(q, free, status, beta, h, rounds(q, free, status, beta, h, C, wrong), C))


@compiled
def by_events(
    q: Quadratic,
    free: Free,
    status: Status,
    beta: Array,
    h: Array,
    b: float,
    C: float,
    to: float,
    most: int,
) -> float:
    """From the solution at C, row by row."""
    return float(
        accepted(q, free, status, beta, h, along(q, free, status, beta, h, b, C, to, most), to)
    )


@compiled
def by_search(
    q: Quadratic, free: Free, status: Status, beta: Array, h: Array, C: float, steps: int
) -> float:
    """From a feasible point."""
    return float(accepted(q, free, status, beta, h, search(q, free, status, beta, h, C, steps), C))


@compiled
def copy(here: Point, there: Point) -> None:
    """Over what is there."""
    there[0][:], there[1][:], there[2][:] = here


@compiled
def corrected(
    q: Quadratic, free: Free, at: Point, spare: Point, last: Last, C: float, b: float, wrong: int
) -> float:
    """Along C with some statuses wrong: all flipped, or row by row where that is cheap; else ``at`` is kept."""
    count = np.count_nonzero(at[0] == 0)
    copy(at, spare)
    found = by_flips(q, free, *spare, b, C, wrong)
    if np.isnan(found) and wrong * count <= QUICK:
        beta, h, b_last, C_last = last
        copy((at[0], beta, h), spare)
        found = by_events(q, free, *spare, b_last, C_last, C, QUICK_EVENTS)
    if not np.isnan(found):
        copy(spare, at)
    return float(found)


@compiled
def searched(q: Quadratic, free: Free, at: Point, spare: Point, last: Last, C: float) -> float:
    """From a point in the box: for a while, then row by row where few are free, then for as long as it takes."""
    count = np.count_nonzero(at[0] == 0)
    spare[0][:] = at[0]
    found = by_search(q, free, *at, C, QUICK_STEPS)
    if np.isnan(found) and count <= MOST_FREE:
        beta, h, b_last, C_last = last
        spare[1][:], spare[2][:] = beta, h
        found = by_events(q, free, *spare, b_last, C_last, C, EVENTS)
        if not np.isnan(found):
            copy(spare, at)
    if np.isnan(found):
        found = by_search(q, free, *at, C, SMO_STEPS)
    return float(found)


@compiled
def unchanged(
    q: Quadratic, free: Free, at: Point, b: float, C: float, allowed: float, trusted: bool
) -> float:
    """All statuses still right: what the tangent gives, computed anew where its rounding may have grown."""
    status, beta, h = at
    if trusted and residual(status, h, b) <= allowed:
        return float(between(q, beta, h, C)) if free.sizes[ALL] == 0 else b
    return float(accepted(q, free, status, beta, h, b, C))


@compiled
def stride(
    q: Quadratic, Cs: Array, at: int, start: Array, betas: Array, biases: Array, slacks: Array
) -> int:
    """From a beta for Cs[at]: the solutions at it and all above; the first that is not found.

    ``slacks`` are ``h - b``.
    """
    n = len(start)
    free, status = no_free(n), np.empty(n, np.int8)
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
            if known:
                found = unchanged(q, free, here, b, C, allowed, trusted)
            else:
                found = corrected(q, free, here, spare, last, C, b, wrong)
            anchor = anchor if trusted else C
        if np.isnan(found):
            known, anchor = False, C
            to_box(q, beta, h, C)
            if k > at:
                found = searched(q, free, here, spare, last, C)
            else:
                refresh(q, beta, h)
                found = by_search(q, free, status, beta, h, C, SMO_STEPS)
        if np.isnan(found):
            return k
        b = found
        betas[k], biases[k], slacks[k] = beta, b, h - b
    return len(Cs)
