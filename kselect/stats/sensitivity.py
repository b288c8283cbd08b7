"""How far what comes out depends on a reading of the protocol: the config and its variants, side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from kselect.stats.claims import Judgement, judge
from kselect.stats.distances import distances
from kselect.stats.study import Study

Cell = tuple[str, str, str]


@dataclass(frozen=True)
class Sensitivity:
    """One reading: how far its plain columns lie from the published ones, and what its claims count.

    ``distance`` is the mean |z|, z the difference in standard errors, over ``cells`` published cells; ``usual``
    that of the config itself over the same cells, NaN for the config's own row, which has no name.
    """

    name: str
    changes: str
    datasets: int
    planned: int
    distance: float
    usual: float
    cells: int
    claims: tuple[Judgement, ...]


def sensitivities(study: Study) -> tuple[Sensitivity, ...]:
    """The config's own row, then every variant that was run; nothing where none was."""
    here = [v for v in study.experiment.variants if v.name in study.variants]
    if not here:
        return ()
    rows = [measure(study, "", "as configured", None)]
    return (
        *rows,
        *(measure(study.variants[v.name], v.name, v.changes, study) for v in here),
    )


def not_run(study: Study) -> tuple[str, ...]:
    """Variants of the config without results."""
    return tuple(v.name for v in study.experiment.variants if v.name not in study.variants)


def measure(study: Study, name: str, changes: str, usual: Study | None) -> Sensitivity:
    """One row, under the reading's own loss."""
    mine = plain_errors(study)
    theirs = plain_errors(usual) if usual is not None else {}
    shared = frozenset(mine if usual is None else mine.keys() & theirs.keys())
    return Sensitivity(
        name,
        changes,
        study.records["dataset"].nunique(),
        len(study.experiment.datasets),
        mean(mine, shared),
        mean(theirs, shared & theirs.keys()),
        len(shared),
        judge(study, study.experiment.loss),
    )


def plain_errors(study: Study) -> Mapping[Cell, float]:
    """|z| of the published cells whose criterion leaves nothing to choose, where both have a spread."""
    criteria = {m.label: m.criterion for m in study.experiment.table}
    plain = study.paper.plain if study.paper else ()
    return {
        (d.published.dataset, d.published.setting.text, d.published.method): abs(d.errors)
        for d in distances(study, study.experiment.loss)
        if criteria.get(d.method) in plain and math.isfinite(d.errors)
    }


def mean(errors: Mapping[Cell, float], cells: frozenset[Cell]) -> float:
    """Over some cells; NaN without any."""
    return math.fsum(errors[c] for c in sorted(cells)) / len(cells) if cells else math.nan
