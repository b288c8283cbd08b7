r"""The smoothed-hinge SVM without a fold, from the full fit's zones, by one factor of its free rows where it pays.

The first solution with the fold's rows taken out of the zones is one Newton step from the full fit, the limit of
its series (mathematics, section 6); the rows that it turns out to place wrong are few.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kselect.learners.block_pivoting import (
    HingeProblem,
    HingeSolution,
    SignedKernel,
    Zones,
    settle,
    solve,
    without,
)
from kselect.learners.downdating import SharedFactor
from kselect.numerics.linalg import Array, Index


@dataclass(frozen=True, eq=False)
class Ceiling:
    """Where every row of every other fold is at the top: a ridge so large needs no training.

    With T the rows without the fold, ``z = C Ky_{iT} 1``, optimal while ``C max_{i in T} Ky_{iT} 1 <= 1 - h``.
    """

    own: Array
    reach: Array

    @classmethod
    def of(cls, signed: SignedKernel, members: Sequence[Index]) -> Ceiling:
        """``own_i = Ky_{iT} 1`` for i in its fold, and for each fold the largest of the rows of T."""
        own, reach = np.empty_like(signed.sums), np.empty(len(members))
        for j, F in enumerate(members):
            others = signed.sums - signed.Ky.take(F, 0).sum(axis=0)
            own[F] = others[F]
            others[F] = -np.inf
            reach[j] = others.max()
        return cls(own, reach)


# From so many free rows on, and for so many folds, a shared factor is cheaper than one for each fold and step.
WORTH_SHARING = 250
FOLDS_SHARING = 3


class FoldTrainer:
    """The folds at one ridge ``gamma``, so many of them, from the zones of the fit on all rows."""

    def __init__(self, signed: SignedKernel, zones: Zones, gamma: float, folds: int) -> None:
        self.signed, self.zones, self.gamma, self.folds = signed, zones, gamma, folds

    @cached_property
    def shared(self) -> SharedFactor | None:
        """The factor of the free rows of the full fit, None where there are few."""
        U = self.zones.free.nonzero()[0]
        if len(U) < WORTH_SHARING or self.folds < FOLDS_SHARING:
            return None
        return SharedFactor(self.signed.Ky, U, 2.0 * self.signed.h * self.gamma)

    def task(self, F: Index) -> HingeProblem:
        """The problem without the rows F."""
        kept = np.ones(len(self.signed.Ky), dtype=np.bool_)
        kept[F] = False
        return HingeProblem(self.signed, self.gamma, kept)

    def fit(self, F: Index) -> HingeSolution:
        """The minimum without the rows F."""
        return settle(self.task(F), without(self.signed, self.zones, F), self.shared)

    def step(self, F: Index) -> Array:
        """The margins after one Newton step: the minimum with the zones frozen."""
        return solve(self.task(F), without(self.signed, self.zones, F), self.shared).z
