r"""A feasible active set, for kernels of so low a rank that many statuses are right to rounding: the last resort.

From a point within the box: the free rows move to their optimum, or as far as the first of them comes to an end of
its box; once they are there, the row that pushes most against its end becomes free. The objective only falls.
"""

from __future__ import annotations

import numpy as np

from kselect.learners.svm_path.gram import Factor
from kselect.learners.svm_path.segment import middle
from kselect.learners.svm_path.task import FREE, HIGH, LOW, Fit, Status, Task, judged, statuses
from kselect.numerics.linalg import Array

STEPS = 1000


def descended(task: Task, C: float, start: Array) -> Fit | None:
    """From a point within the box; None where it does not arrive."""
    beta, box = start.copy(), task.closed_box(C)
    status = statuses(beta, box)
    for _ in range(STEPS):
        fit = judge(task, C, status, beta)
        if not fit.wrong:
            return fit
        if fit.solved:
            release(status, fit, task.bias)
        if not advance(task, status, beta, box):
            return None
    return None


def judge(task: Task, C: float, status: Status, beta: Array) -> Fit:
    """What is wrong about a point; its bias is the middle of what its free rows ask for."""
    g, F, bias = task.target - task.gram.times(beta), status == FREE, 0.0
    if task.bias:
        bias = float(g[F].max() + g[F].min()) / 2 if F.any() else middle(g, status)
    return judged(task, C, status.copy(), beta.copy(), bias, g - bias)


def release(status: Status, fit: Fit, bias: bool) -> None:
    """The row that pushes most against its end; of each end the one where no row is free to balance it."""
    push = np.where(np.abs(status) == HIGH, status * fit.slack, np.inf)
    alone = bias and not (status == FREE).any()
    for end in [status == LOW, status == HIGH] if alone else [status != FREE]:
        if end.any():
            status[np.where(end, push, np.inf).argmin()] = FREE


def advance(task: Task, status: Status, beta: Array, box: Array) -> bool:
    """To the optimum of the free rows or to the first end; False where their block is singular."""
    F = np.flatnonzero(status == FREE)
    factor = Factor(task.gram, F)
    if not len(F) or factor.failed:
        return False
    move = factor.solve((task.target - task.gram.times(beta))[F])
    if task.bias:
        p = factor.solve(np.ones(len(F)))
        move -= float(move.sum() / p.sum()) * p
    low, high = box[:, F]
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(move > 0, (high - beta[F]) / move, (low - beta[F]) / move)
    room[move == 0] = np.inf
    first = int(room.argmin())
    beta[F] = np.clip(beta[F] + min(1.0, float(room[first])) * move, low, high)
    if room[first] < 1.0:
        end = HIGH if move[first] > 0 else LOW
        status[F[first]], beta[F[first]] = end, (high if end == HIGH else low)[first]
    return True
