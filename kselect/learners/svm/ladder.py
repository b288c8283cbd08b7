"""The solutions of an SVM's dual at every C, from the smallest to the largest."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kselect.learners.svm.bias_interval import correction, fix_signs
from kselect.learners.svm.quadratic import BoxQP, KernelMatrix
from kselect.learners.svm.smo_fallback import solve_by_smo
from kselect.learners.svm.stride import stride
from kselect.numerics.linalg import Array


@dataclass(frozen=True, eq=False)
class Ladder:
    """Solutions in ascending order of C, (n_C, n) and (n_C,); the slack is ``y - K beta - b``."""

    beta: Array
    bias: Array
    slack: Array


def hinge_dual(kernel: KernelMatrix, y: Array, weights: Array, bias: bool) -> BoxQP:
    """Build the dual with ``0 <= y_i beta_i <= C w_i``; w_i counts equal rows and is 0 for rows left out."""
    low, high = np.minimum(y, 0.0) * weights, np.maximum(y, 0.0) * weights
    # With a bias, subtract the label of the larger class, which the bias approaches as C goes to 0.
    shift = 0.0 if not bias else 1.0 if float((low + high).sum()) > 0 else -1.0
    return BoxQP(*kernel, y - shift, low, high, bias, shift)


def climb(q: BoxQP, Cs: Array, name: str, above: Ladder | None = None) -> Ladder:
    """Solve at every C, ascending; ``above`` holds the solutions for all rows if the dual leaves some out."""
    shape = (len(Cs), len(q.target))
    found = Ladder(np.zeros(shape), np.zeros(len(Cs)), np.zeros(shape))
    start = above.beta[0] if above else Cs[0] * even_start(q)
    at = stride(q, Cs, 0, start, found.beta, found.bias, found.slack)
    while at < len(Cs):
        last = found.beta[at - 1] * (Cs[at] / Cs[at - 1]) if at else start
        beta, b, slack = solve_by_smo(q, float(Cs[at]), last, name)
        found.beta[at], found.bias[at], found.slack[at] = beta, b, slack
        at = stride(q, Cs, at + 1, beta, found.beta, found.bias, found.slack)
    for at, C in enumerate(Cs.tolist()):
        off = correction(q, C, found.beta[at], found.slack[at], found.bias[at] + q.shift)
        found.bias[at] += off
        found.slack[at] -= off
        fix_signs(q, C, found.beta[at], found.slack[at])
    return replace(found, bias=found.bias + q.shift)


def even_start(q: BoxQP) -> Array:
    """Return a feasible beta at C = 1: the smaller class at its ends, the larger one evenly balancing it."""
    ends = q.low + q.high
    if not q.bias:
        return ends
    larger = ends * (1.0 if ends.sum() > 0 else -1.0) > 0
    whole = float(np.abs(ends[larger]).sum())
    share = float(np.abs(ends[~larger]).sum()) / whole if whole else 0.0
    return np.where(larger, share * ends, ends)
