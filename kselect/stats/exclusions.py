"""How many candidates a column could not choose, and why."""

from __future__ import annotations

from dataclasses import dataclass

from kselect.stats.samples import table_records
from kselect.stats.study import Study


@dataclass(frozen=True)
class Excluded:
    """One column on one data set: the mean number over splits, and the first record's reasons."""

    dataset: str
    method: str
    mean: float
    reasons: str


def count_excluded(study: Study, loss: str) -> tuple[Excluded, ...]:
    """Every (data set, column) in which some candidate was excluded."""
    experiment = study.experiment
    table = table_records(study.records, experiment, loss)
    good = table[table["status"] == "ok"]
    found = []
    for label in experiment.labels:
        for name in experiment.datasets:
            rows = good[(good["dataset"] == name) & (good["method"] == label)]
            some = rows[rows["excluded"] > 0]
            if len(some):
                reasons = str(some["exclusions"].iloc[0])
                found.append(Excluded(name, label, float(rows["excluded"].mean()), reasons))
    return tuple(found)


def candidates(study: Study) -> int:
    """How many kernels and ridges a column chooses from."""
    experiment = study.experiment
    ridges = len(experiment.lam.values) if experiment.lam.mode == "select" else 1
    return len(experiment.kernels) * ridges
