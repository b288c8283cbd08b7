"""Whether a truncated series is as good as exact from an order on, as a paper claims."""

from __future__ import annotations

import math
from dataclasses import dataclass

from kselect.stats.discrepancy import Discrepancy, follow
from kselect.stats.study import Study
from kselect.stats.verdicts import Verdict, too_few

EXACT = 0.01
RULE = (
    "Supported: the root mean square difference at order {order} is below one percent of the target's scale (1 for "
    "labels, the root of the cross-validation error in a regression) on every data set and number of folds. "
    "Not supported: on no more than half of them. Mixed: anything between. "
    "Withheld: where less than half of the planned numbers at that order are there."
)


@dataclass(frozen=True)
class Worst:
    """The curve that is furthest off, as a share of the target's scale."""

    dataset: str
    method: str
    relative: float
    rate: float


@dataclass(frozen=True)
class Exactness:
    """On how many of a figure's curves the series is exact at an order, and the curve that is furthest off.

    ``numbers`` of the ``planned`` values at that order are there.
    """

    figure: Discrepancy
    order: int
    exact: int
    total: int
    numbers: int
    planned: int
    worst: Worst

    @property
    def claim(self) -> str:
        """What the paper says."""
        return f"The series is exact for orders t >= {self.order}"

    @property
    def verdict(self) -> Verdict:
        """By ``RULE``."""
        if too_few(self.numbers, self.planned):
            return "too few numbers"
        if self.exact == self.total:
            return "supported"
        return "mixed" if 2 * self.exact > self.total else "not supported"


def judge_exactness(study: Study) -> tuple[Exactness, ...]:
    """The paper's claim, by each figure that can tell."""
    order = study.paper.exact_order if study.paper else None
    figures = [f for f in study.experiment.figures if isinstance(f, Discrepancy)]
    found = [judge_figure(study, f, order) for f in figures] if order is not None else []
    return tuple(f for f in found if f is not None)


def judge_figure(study: Study, figure: Discrepancy, order: int) -> Exactness | None:
    """Where the root mean square difference at an order is below one percent of the target's scale."""
    panels = study.once(follow, figure)
    tracks = [(p.dataset, t, t.relative(order)) for p in panels for t in p.tracks]
    known = [found for found in tracks if not math.isnan(found[2])]
    if not known:
        return None
    dataset, track, relative = max(known, key=lambda found: found[2])
    splits = study.comparison(study.experiment.loss).splits
    return Exactness(
        figure,
        order,
        sum(share < EXACT for _, _, share in known),
        len(known),
        sum(t.runs.get(float(order), 0) for _, t, _ in tracks),
        sum(splits[name] for name, _, _ in tracks),
        Worst(dataset, track.method, relative, track.rate),
    )
