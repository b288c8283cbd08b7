"""Searches through all values of a kernel's parameters, each whole: ours, and FLKL as its paper looks for it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kselect.core.grid_point import SearchFailure
from kselect.core.method import SELECTED, Choice, Method
from kselect.errors import TrialError
from kselect.numerics.linalg import Array
from kselect.search.kinds import search_continuously
from kselect.timing.selections import Training

# Ours -> the search that the paper describes for the same objective.
AS_PUBLISHED = {"flkl": Choice("nelder-mead")}


@dataclass(frozen=True)
class Moved:
    """One method's search from nothing: its start, the RBF solution, is looked for anew."""

    training: Training
    method: Method

    def run(self) -> Array:
        """The score at the end of the search, (1, 1)."""
        cells = search_continuously(self.training.bare(), {self.method: (SELECTED,)})
        found = cells[self.method, SELECTED]
        if isinstance(found, SearchFailure):
            raise TrialError(found.reason)
        return np.array([[found.score]])

    @property
    def as_published(self) -> Moved | None:
        """The same objective by the paper's search, None where that is ours."""
        assert self.method.search is not None
        choice = AS_PUBLISHED.get(self.method.search.name)
        return replace(self, method=replace(self.method, search=choice)) if choice else None
