"""What holds for the rows of a table in a selection: how they weigh, and how they are held out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array, Index
from kselect.numerics.splits import HowHeldOut, Splits
from kselect.selection.holding_out import HoldOut
from kselect.selection.request import Request
from kselect.selection.weighting import Weighting


@dataclass(frozen=True, eq=False)
class RowRules:
    """The rules of a table; the training part of an outer fold has the same rules for its own rows.

    ``facts`` are the flags that made them, by name.
    """

    weighting: Weighting = field(default_factory=Weighting)
    hold_out: HoldOut = field(default_factory=HoldOut)
    facts: Mapping[str, Any] = field(default_factory=dict)

    def part(self, rows: Index) -> RowRules:
        """Return the rules of some rows."""
        return RowRules(self.weighting.part(rows), self.hold_out.part(rows), self.facts)

    def weighed(self, request: Request, targets: Array) -> Request:
        """Return a request with the weights of the rows that have these targets (q, n)."""
        return replace(request, weights=self.weighting.of(targets))

    def folds(self, n: int, seed: int) -> HowHeldOut:
        """Return how n rows are held out for any number of folds."""
        return cache(lambda k: self.hold_out.split(n, k, seed))

    def outer(self, n: int, k: int, seed: int) -> Folds | Splits:
        """Return the outer folds of a nested cross-validation; repeats are for the inner ones."""
        groups = self.hold_out.groups
        most = n if groups is None else len(np.unique(groups))
        return self.hold_out.once().split(n, min(k, most), seed, "outer folds")


def pairs_of(folds: Folds | Splits) -> Iterator[tuple[Index, Index, Index]]:
    """Yield the training rows, the test rows and the positions of their predictions of each split."""
    if isinstance(folds, Splits):
        for (train, test), at in zip(folds.pairs, folds.members, strict=True):
            yield np.sort(train), test, at
        return
    for F in folds.members:
        yield np.setdiff1d(np.arange(folds.n), F), F, F
