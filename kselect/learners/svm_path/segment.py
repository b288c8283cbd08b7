r"""Given the status of every row, the solution is affine in C: one factor of the free rows' block.

    beta_i = C low_i or C high_i at an end of the box;   K_FF beta_F + b 1 = r_F - K_FB beta_B,   1^T beta = 0
    beta(C) = beta_0 + C beta_1,   b(C) = b_0 + C b_1

until a row's status changes (Hastie et al. 2004). Where no row is free, b is an interval: its middle, as LIBSVM has
it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from kselect.learners.svm_path.gram import Factor
from kselect.learners.svm_path.task import FREE, HIGH, LOW, TOLERANCE, Fit, Status, Task, judged
from kselect.numerics.linalg import Array

# Slacks of free rows above this are refined away, so many times at the most.
REFINED, REFINEMENTS = 1e-10, 3


class Segment:
    """What the statuses make of C, and ``fit`` of one."""

    def __init__(self, task: Task, status: Status, C: float) -> None:
        self.task, self.status = task, status
        self.free = np.flatnonzero(status == FREE)
        self.held = task.held(status)
        self.factor = Factor(task.gram, self.free)
        self.beta_0, self.beta_1 = np.zeros_like(self.held), self.held.copy()
        self.bias_0 = self.bias_1 = 0.0
        if len(self.free) and not self.factor.failed:
            self._solve()
        self.fit = self._first(C)

    def _solve(self) -> None:
        """The free rows' share, by block elimination of the bias."""
        F, task = self.free, self.task
        right = np.empty((len(F), 3), order="F")
        right[:, 0] = 1.0
        right[:, 1] = task.target[F]
        right[:, 2] = -task.gram.times_on(F, self.held)
        if task.bias:
            # Rows of one class have beta_0 = 0 then: to the last bit, for tiny C.
            self.bias_0 = float(right[:, 1].max() + right[:, 1].min()) / 2
            right[:, 1] -= self.bias_0
        self.p, u, w = self.factor.solve(right).T
        if task.bias:
            whole = float(self.p.sum())
            b, self.bias_1 = float(u.sum()) / whole, float(w.sum() + self.held.sum()) / whole
            self.bias_0 += b
            u, w = u - b * self.p, w - self.bias_1 * self.p
        self.beta_0[F], self.beta_1[F] = u, w

    def _first(self, C: float) -> Fit:
        """To full accuracy: what the ridge and rounding changed is refined away."""
        task, F = self.task, self.free
        if not len(F):
            return self._without_free(C)
        beta, bias = self.beta_0 + C * self.beta_1, C * self.bias_1
        for left in reversed(range(1 if self.factor.failed else REFINEMENTS + 1)):
            # In this order nothing is left of the target where C is tiny.
            slack = task.target - self.bias_0 - task.gram.times(beta) - bias
            if not left or np.abs(slack[F]).max() <= REFINED * task.margin:
                break
            step = self.factor.solve(slack[F])
            if task.bias:
                b = float(step.sum() + beta.sum()) / float(self.p.sum())
                step -= b * self.p
                bias += b
            beta[F] += step
        return judged(task, C, self.status, beta, self.bias_0 + bias, slack)

    @cached_property
    def _load(self) -> Array:
        return self.task.gram.times(self.held)

    def _without_free(self, C: float) -> Fit:
        """The bias is the middle of an interval; where the sum is wrong, the rows at its ends become free."""
        task, bias = self.task, 0.0
        slack = task.target - C * self._load
        if task.bias:
            bias = middle(slack, self.status)
            slack = slack - bias
        fit = judged(task, C, self.status, C * self.held, bias, slack)
        if not task.bias or abs(float(self.held.sum())) <= TOLERANCE:
            return fit
        rows = [np.flatnonzero(self.status == kind) for kind in (LOW, HIGH)]
        nearest = [row[np.abs(slack[row]).argmin()] for row in rows if len(row)]
        return replace(fit, pulled=np.unique(np.append(fit.pulled, nearest)))


def middle(slack: Array, status: Status) -> float:
    """Of the biases that leave ``slack - b`` at most 0 at the lower ends and at least 0 at the upper ones."""
    least = slack[status == LOW].max(initial=-np.inf)
    most = slack[status == HIGH].min(initial=np.inf)
    if np.isinf(least) or np.isinf(most):
        return float(np.clip(0.0, least, most))
    return float((least + most) / 2)
