"""How much the results depend on the reading of the protocol: the config and its variants next to each other."""

from __future__ import annotations

import math
from dataclasses import dataclass

from kselect.stats.distances import distances
from kselect.stats.study import Study


@dataclass(frozen=True)
class Sensitivity:
    """One reading: how far its plain methods lie from the published ones.

    ``distance`` is the mean absolute z over ``cells`` published cells, z being the difference in standard errors.
    ``usual`` is the config's own distance over the same cells, NaN in the config's own row, which has no name but a
    title.
    """

    name: str
    title: str
    changes: str
    datasets: int
    planned: int
    distance: float
    usual: float
    cells: int


def sensitivities(study: Study) -> tuple[Sensitivity, ...]:
    """Return the config's own row, then a row per variant that was run; nothing if none was."""
    run = [v for v in study.experiment.variants if v.reading and v.name in study.variants]
    if not run:
        return ()
    usual = plain_distances(study)
    rows = [(study, "", "as configured", "")] + [
        (study.variants[v.name], v.name, v.words, v.changes) for v in run
    ]
    found = []
    for reading, name, title, changes in rows:
        mine = plain_distances(reading)
        shared = sorted(mine.keys() & usual.keys() if name else mine)
        count = len(shared)
        found.append(
            Sensitivity(
                *(name, title, changes or title),
                reading.records["dataset"].nunique(),
                len(reading.experiment.datasets),
                math.fsum(mine[cell] for cell in shared) / count if count else math.nan,
                math.fsum(usual[c] for c in shared) / count if name and count else math.nan,
                count,
            )
        )
    return tuple(found)


def plain_distances(study: Study) -> dict[tuple[str, str, str], float]:
    """Return the absolute z of the published cells of criteria without free parameters, if both have a spread."""
    criteria = {m.label: m.criterion for m in study.experiment.table}
    plain = study.paper.plain if study.paper else ()
    return {
        (d.published.dataset, d.published.setting.text, d.published.method): abs(d.errors)
        for d in study.once(distances, study.experiment.loss)
        if criteria.get(d.method) in plain and math.isfinite(d.errors)
    }
