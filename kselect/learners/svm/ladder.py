"""The solutions of an SVM's dual at every C, from the smallest to the largest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kselect.errors import TrialError
from kselect.learners.svm.bias_interval import settle
from kselect.learners.svm.quadratic import BoxQP, KernelMatrix
from kselect.learners.svm.smo_fallback import NO_MARGINS, NotSolved, lost, solve_by_smo
from kselect.learners.svm.stride import Space, space_for, stride
from kselect.numerics.linalg import Array

# Where the solver stops, it gets there from smaller C: these multiples of the C.
RUNGS: Array = 8.0 ** np.arange(-16.0, 1.0)


@dataclass(frozen=True, eq=False)
class Ladder:
    """Solutions in ascending order of C, (n_C, n) and (n_C,); the decision values are ``K beta + b``."""

    beta: Array
    bias: Array
    decision: Array


def hinge_dual(kernel: KernelMatrix, y: Array, weights: Array, bias: bool) -> BoxQP:
    """Build the dual with ``0 <= y_i beta_i <= C w_i``; w_i counts equal rows and is 0 for rows left out."""
    low, high = np.minimum(y, 0.0) * weights, np.maximum(y, 0.0) * weights
    # With a bias, subtract the label of the larger class, which the bias approaches as C goes to 0.
    shift = 0.0 if not bias else 1.0 if float((low + high).sum()) > 0 else -1.0
    room = np.empty(len(y), np.intp), np.empty((3, len(y)))
    return BoxQP(*kernel, y - shift, low, high, bias, shift, *room)


def climb(q: BoxQP, Cs: Array, name: str, above: Ladder | None = None) -> Ladder:
    """Solve at every C, ascending; ``above`` holds the solutions for all rows if the dual leaves some out."""
    start = above.beta[0] if above else Cs[0] * even_start(q)
    betas, biases, slacks = ascend(q, space_for(len(q.target)), Cs, start, name)
    if any(lost(q, beta) for beta in betas):
        raise TrialError(f"{NO_MARGINS}: {name}")
    return settled(q, Cs, betas, biases, slacks)


def ascend(
    q: BoxQP, space: Space, Cs: Array, start: Array, name: str, rungs: bool = True
) -> tuple[Array, Array, Array]:
    """Return betas, biases and slacks; a C without a solution is reached on rungs, the same for any other Cs."""
    shape = (len(Cs), len(q.target))
    betas, biases, slacks = np.zeros(shape), np.zeros(len(Cs)), np.zeros(shape)
    at = stride(q, space, Cs, 0, start, betas, biases, slacks)
    while at < len(Cs):
        C = float(Cs[at])
        last = betas[at - 1] * (C / Cs[at - 1]) if at else start
        try:
            betas[at], biases[at], slacks[at] = solve_by_smo(q, space, C, last, name)
        except NotSolved:
            if not rungs:
                raise
            found = ascend(q, space, C * RUNGS, C * RUNGS[0] * even_start(q), name, rungs=False)
            betas[at], biases[at], slacks[at] = (values[-1] for values in found)
        at = stride(q, space, Cs, at + 1, betas[at], betas, biases, slacks)
    return betas, biases, slacks


def settled(q: BoxQP, Cs: Array, betas: Array, biases: Array, slacks: Array) -> Ladder:
    """Move the biases to the middle of their intervals and give the slacks the right signs, in place."""
    found = Ladder(betas, np.empty_like(biases), np.empty_like(slacks))
    status = np.empty(len(q.target), np.int8)
    for at, C in enumerate(Cs.tolist()):
        where = found.beta[at], status, slacks[at], float(biases[at]), found.decision[at]
        found.bias[at] = settle(q, C, *where)
    return found


def leave(q: BoxQP, Cs: Array, above: Ladder) -> Ladder:
    """Return the solutions without rows whose beta is 0 at every C; these can still bound the bias."""
    slacks = q.target + q.shift - above.decision
    return settled(q, Cs, above.beta, above.bias - q.shift, slacks)


def even_start(q: BoxQP) -> Array:
    """Return a feasible beta at C = 1: the smaller class at its ends, the larger one evenly balancing it."""
    ends = q.low + q.high
    if not q.bias:
        return ends
    larger = ends * (1.0 if ends.sum() > 0 else -1.0) > 0
    whole = float(np.abs(ends[larger]).sum())
    share = float(np.abs(ends[~larger]).sum()) / whole if whole else 0.0
    return np.where(larger, share * ends, ends)
