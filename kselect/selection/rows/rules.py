"""The rules for the rows of a selection: how they weigh, and how they are held out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from kselect.core.method import Method
from kselect.errors import ConfigError
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array, Index
from kselect.numerics.splits import HowHeldOut, Splits
from kselect.selection.request import Request
from kselect.selection.rows.holding_out import HoldOut
from kselect.selection.rows.weighting import Weighting


@dataclass(frozen=True, eq=False)
class RowRules:
    """The rules of a table; the training part of an outer fold has the same rules for its own rows.

    ``facts`` has the names of the flags that made them.
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

    def folds_of(self, method: Method, n: int, seed: int) -> Folds | Splits | None:
        """Return how a criterion holds n rows out; None for one without folds, which takes no rule about them."""
        if method.folds is not None:
            return self.hold_out.split(n, method.folds, seed)
        if self.hold_out:
            raise ConfigError(
                f"{method.label} has no folds: leave out groups, time, repeats and stratify"
            )
        return None

    def outer(self, n: int, k: int, seed: int) -> Folds | Splits:
        """Return the outer folds of a nested cross-validation; repeats are for the inner ones."""
        groups = self.hold_out.groups
        most = n if groups is None else len(np.unique(groups))
        return self.hold_out.once().split(n, min(k, most), seed, "outer folds")
