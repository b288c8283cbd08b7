"""How many candidates a column could not choose, and why."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from kselect.core.record import count_exclusions
from kselect.stats.samples import table_records
from kselect.stats.study import Study


@dataclass(frozen=True)
class Excluded:
    """One column on one data set: the mean number over splits, the total of each reason, and the first record's."""

    dataset: str
    method: str
    mean: float
    totals: Counter[str]
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
                described = some["exclusions"].astype(str)
                totals = sum((Counter(count_exclusions(d)) for d in described), Counter[str]())
                mean = float(rows["excluded"].mean())
                found.append(Excluded(name, label, mean, totals, described.iloc[0]))
    return tuple(found)


def candidates(study: Study) -> int:
    """How many kernels and ridges a column chooses from."""
    experiment = study.experiment
    ridges = len(experiment.lam.values) if experiment.lam.mode == "select" else 1
    return len(experiment.kernels) * ridges
