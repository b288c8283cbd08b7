"""How often a criterion's guard acted: candidates that it took out of the grid."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from kselect.model.experiment import TABLE, Experiment
from kselect.stats.samples import select


@dataclass(frozen=True)
class Guarded:
    """One column on one data set: the mean number of candidates taken out, and how many there were."""

    dataset: str
    method: str
    excluded: float
    candidates: int


def count_guarded(experiment: Experiment, records: pd.DataFrame, loss: str) -> tuple[Guarded, ...]:
    """Every (data set, column) in which some candidate had an infinite score."""
    table = select(records, TABLE, loss)
    good = table[table["status"] == "ok"]
    ridges = len(experiment.lam.values) if experiment.lam.mode == "select" else 1
    candidates = len(experiment.kernels) * ridges
    found = []
    for label in experiment.labels:
        for name in experiment.datasets:
            rows = good[(good["dataset"] == name) & (good["method"] == label)]["excluded"]
            if rows.sum() > 0:
                found.append(Guarded(name, label, float(rows.mean()), candidates))
    return tuple(found)
