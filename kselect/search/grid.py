"""The grid: the best of all kernels and ridges, or of all kernels at each ridge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from kselect.core.grid_point import BestPoint, GridPoint, SearchFailure
from kselect.core.method import Method, Setting
from kselect.learners import Fit
from kselect.numerics.linalg import Array
from kselect.search.engine import Visit, walk
from kselect.search.training_context import TrainingContext

Demand = Mapping[Method, tuple[Setting, ...]]
Results = dict[tuple[Method, Setting], BestPoint | SearchFailure]


@dataclass
class Best:
    """The lowest score so far of one cell; of equal ones the first in the grid's order, as scikit-learn does.

    ``held_out`` (q, n) are the held-out predictions there, where the visit has them.
    """

    setting: Setting
    score: float = np.inf
    point: GridPoint | None = None
    fits: tuple[Fit, ...] = ()
    held_out: Array | None = None
    excluded: list[tuple[GridPoint, str]] = field(default_factory=list)

    def see(self, context: TrainingContext, visit: Visit, method: Method) -> None:
        """One more kernel."""
        scores, lams = visit.scores[method], context.lams
        one = self.setting.position
        ridges = range(len(lams)) if one is None else (one,)
        for ridge, why in sorted(visit.reasons[method].items()):
            if ridge in ridges:
                self.excluded.append((GridPoint(visit.kernel, lams[ridge]), why))
        ridge = int(np.argmin(scores)) if one is None else one
        if scores[ridge] < self.score:
            self.score = float(scores[ridge])
            self.point = GridPoint(visit.kernel, lams[ridge])
            self.fits = tuple(dual.at(ridge) for dual in visit.fits)
            held = visit.held_out.get(method)
            self.held_out = None if held is None else np.array([each[ridge] for each in held])

    def result(self) -> BestPoint | SearchFailure:
        """What was found."""
        if self.point is None:
            return SearchFailure(nothing_left(self.excluded))
        return BestPoint(self.point, self.score, self.fits, tuple(self.excluded))


def nothing_left(excluded: list[tuple[GridPoint, str]]) -> str:
    """Why a method has nothing to choose: the first candidate's reason speaks for the others."""
    if not excluded:
        return "there is no kernel to choose from"
    point, why = excluded[0]
    return f"no kernel and ridge has a finite score; at {point.text}: {why}"


def search_grid(context: TrainingContext, demand: Demand, n_jobs: int = 1) -> Results:
    """Every method at every kernel and ridge; the best of each cell."""
    best = {(m, s): Best(s) for m, settings in demand.items() for s in settings}
    for visit in walk(context, tuple(demand), n_jobs):
        for (method, _), cell in best.items():
            cell.see(context, visit, method)
    return {cell: found.result() for cell, found in best.items()}
