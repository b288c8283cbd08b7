"""All values of C, from the smallest on: by compiled strides, and a C where one stops by what is slow and sure."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kselect.errors import TrialError
from kselect.grids import show_number
from kselect.learners.svm_path.gram import Gram
from kselect.learners.svm_path.middle import centred, settle_slack
from kselect.learners.svm_path.quadratic import Quadratic
from kselect.learners.svm_path.settle import by_smo
from kselect.learners.svm_path.stride import stride
from kselect.learners.svm_path.task import Fit, Task
from kselect.numerics.linalg import Array


@dataclass(frozen=True, eq=False)
class Ladder:
    """(n_C, n) and (n_C,): the solutions by C, ascending; the slack is ``y - K beta - b``."""

    beta: Array
    bias: Array
    slack: Array


def hinge_task(gram: Gram, y: Array, weights: Array, bias: bool, name: str) -> Task:
    """``0 <= y_i beta_i <= C w_i``, w_i being the number of equal rows; 0 for those left out."""
    box = np.stack([np.minimum(y, 0.0), np.maximum(y, 0.0)]) * weights
    return Task(gram, y, box, np.zeros_like(y), bias, name)


def climb(task: Task, Cs: Array, above: Ladder | None = None) -> Ladder:
    """The solutions at every C, ascending; ``above``: those of all rows, where the task leaves some out."""
    shift = larger_class(task)
    q = quadratic(task, shift)
    shape = (len(Cs), len(task.target))
    found = Ladder(np.zeros(shape), np.zeros(len(Cs)), np.zeros(shape))
    start = above.beta[0] if above else Cs[0] * evenly(task)
    at = stride(q, Cs, 0, start, found.beta, found.bias, found.slack)
    while at < len(Cs):
        last = found.beta[at - 1] * (Cs[at] / Cs[at - 1]) if at else start
        fit = slowly(task, float(Cs[at]), last)
        found.beta[at], found.bias[at], found.slack[at] = fit.beta, fit.bias - shift, fit.slack
        at = stride(q, Cs, at + 1, fit.beta, found.beta, found.bias, found.slack)
    for at, C in enumerate(Cs.tolist()):
        off = centred(q, C, found.beta[at], found.slack[at], found.bias[at] + shift)
        found.bias[at] += off
        found.slack[at] -= off
        settle_slack(q, C, found.beta[at], found.slack[at])
    return replace(found, bias=found.bias + shift)


def larger_class(task: Task) -> float:
    """Its label, which the bias tends to as C goes to 0."""
    if not task.bias:
        return 0.0
    return 1.0 if float(task.box.sum()) > 0 else -1.0


def quadratic(task: Task, shift: float) -> Quadratic:
    """What compiled loops take."""
    gram = task.gram
    return Quadratic(
        *(gram.routines, gram.K, gram.ridge, gram.inverse_diagonal, gram.alone, gram.largest),
        *(task.target - shift, task.box[0].copy(), task.box[1].copy(), task.bias),
    )


def evenly(task: Task) -> Array:
    """Per unit of C: the smaller class at its ends, of the larger one all rows at the same share of theirs."""
    ends = task.box.sum(axis=0)
    if not task.bias:
        return np.asarray(ends)
    sign = 1.0 if ends.sum() > 0 else -1.0
    larger = ends * sign > 0
    whole = float(np.abs(ends[larger]).sum())
    share = float(np.abs(ends[~larger]).sum()) / whole if whole else 0.0
    return np.asarray(np.where(larger, share * ends, ends))


def slowly(task: Task, C: float, start: Array) -> Fit:
    """SMO from a start; a TrialError where its limit is reached."""
    fit = by_smo(task, C, start)
    if fit is None:
        raise TrialError(
            f"the SVM's solver reached its iteration limit: {task.name} C={show_number(C)}"
        )
    return fit
