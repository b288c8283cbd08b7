"""Published and ours as points: each cell by its ratio, and those that are far apart, gathered by data set."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kselect.stats.distances import Agreement, Distance, distances
from kselect.stats.study import Study


@dataclass(frozen=True)
class Point:
    """One cell: what the paper printed, and ours over it."""

    dataset: str
    method: str
    unit: str
    published: float
    ratio: float
    verdict: Agreement


@dataclass(frozen=True)
class Outlier:
    """The cells of one data set beyond four standard errors, at the furthest; ``method`` is empty for several."""

    dataset: str
    method: str
    cells: int
    published: float
    ratio: float


def agreement(study: Study, loss: str) -> tuple[Point, ...]:
    """Every published cell that we have a number for; a published 0 has no ratio."""
    units = study.comparison(loss).units
    return tuple(
        to_point(d, units.get(d.published.dataset, ""))
        for d in study.once(distances, loss)
        if d.runs and d.published.mean > 0
    )


def to_point(d: Distance, unit: str) -> Point:
    """One cell."""
    mean = d.published.mean
    return Point(d.published.dataset, d.method, unit, mean, d.mean / mean, d.verdict)


def outliers(points: Iterable[Point]) -> tuple[Outlier, ...]:
    """One for each data set that has any, the highest ratio first."""
    far: dict[str, list[Point]] = {}
    for point in points:
        if point.verdict == "beyond 4":
            far.setdefault(point.dataset, []).append(point)
    return tuple(sorted(map(gather, far.values()), key=lambda o: -o.ratio))


def gather(points: Sequence[Point]) -> Outlier:
    """The cells of one data set as one."""
    methods = {p.method for p in points}
    furthest = max(points, key=lambda p: abs(math.log(p.ratio)) if p.ratio > 0 else math.inf)
    method = methods.pop() if len(methods) == 1 else ""
    return Outlier(furthest.dataset, method, len(points), furthest.published, furthest.ratio)
