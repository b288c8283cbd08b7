r"""A problem but for C, and a solution of it at one C, with what is wrong about it.

    min beta^T K beta / 2 - r^T beta,   C low <= beta <= C high,   1^T beta = 0 (with a bias)

Optimal are statuses whose free rows lie within the box, with the slack ``g = r - K beta - b`` zero, and whose other
rows push against their ends: g <= 0 at the lower one, g >= 0 at the upper one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kselect.learners.svm_path.gram import Gram
from kselect.numerics.linalg import Array, Index

Status = NDArray[np.int8]
EPS = float(np.finfo(np.float64).eps)
LOW, FREE, HIGH, PINNED = -1, 0, 1, 2
# What the slack may be off, relative to the margin, and beta, relative to C.
TOLERANCE = 1e-9
# Where the rounding of ``K beta`` is larger than that: so many times it, but not more than this.
ROUNDINGS, LOOSEST = 10.0, 1e-4


@dataclass(frozen=True, eq=False)
class Task:
    """``box`` is (low, high) at C = 1, ``pinned`` what the rows outside of it hold then.

    ``margin``: what the slack is measured by.
    """

    gram: Gram
    target: Array
    box: Array
    pinned: Array
    bias: bool
    name: str
    margin: float = 1.0

    def closed_box(self, C: float) -> Array:
        """The box at a C; the pinned rows are in it and cannot move."""
        box: Array = C * np.where(self.box[0] < self.box[1], self.box, self.pinned)
        return box

    def held(self, status: Status) -> Array:
        """What the rows that are not free hold, per unit of C."""
        low, high = self.box
        held = np.where(status == LOW, low, np.where(status == HIGH, high, self.pinned))
        return np.where(status == FREE, 0.0, held)

    def rounding(self, beta: Array) -> float:
        """What ``K beta`` may be off, relative to the margin."""
        terms = self.gram.largest * float(np.abs(beta).sum())
        return ROUNDINGS * EPS * terms / self.margin

    def allowed(self, beta: Array) -> float:
        """How far the slack may be off."""
        return self.margin * (TOLERANCE + min(self.rounding(beta), LOOSEST))

    def loose(self, C: float) -> Array:
        """How far each row may be outside of its box."""
        return TOLERANCE * np.minimum(C, self.margin * self.gram.inverse_diagonal)


def statuses(beta: Array, box: Array) -> Status:
    """Where each row is in its box."""
    found = np.where(beta <= box[0], LOW, np.where(beta >= box[1], HIGH, FREE))
    return np.where(box[0] < box[1], found, PINNED).astype(np.int8)


@dataclass(frozen=True, eq=False)
class Fit:
    """A solution where no row is wrong.

    ``pulled`` are the rows at an end that would be free; ``under`` and ``over`` the free ones outside of the box;
    ``solved``: the slack of the free ones is zero.
    """

    C: float
    status: Status
    beta: Array
    bias: float
    slack: Array
    pulled: Index
    under: Index
    over: Index
    solved: bool = True

    @cached_property
    def wrong(self) -> int:
        """The number of rows whose status is wrong; more than there are where it is not solved."""
        wrong = len(self.pulled) + len(self.under) + len(self.over)
        return wrong if self.solved else wrong + len(self.slack)

    @property
    def asked(self) -> Status:
        """The statuses that it asks for."""
        asked = self.status.copy()
        asked[self.pulled], asked[self.under], asked[self.over] = FREE, LOW, HIGH
        return asked


def judged(task: Task, C: float, status: Status, beta: Array, bias: float, slack: Array) -> Fit:
    """With what is wrong about it."""
    F = np.flatnonzero(status == FREE)
    allowed = task.allowed(beta)
    loose, at, box = task.loose(C)[F], beta[F], C * task.box[:, F]
    # Twice the slack of the pinned rows does not matter: it is left out here.
    pulled = np.flatnonzero((status * slack < -allowed) & (status != PINNED))
    under, over = F[at < box[0] - loose], F[at > box[1] + loose]
    solved = bool(np.abs(slack[F]).max(initial=0.0) <= allowed)
    return Fit(C, status, beta, bias, slack, pulled, under, over, solved)
