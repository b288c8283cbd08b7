"""Everything that a report shows about an experiment, computed once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from kselect.model.experiment import Experiment
from kselect.stats.claims import Judgement, all_pairs, judge
from kselect.stats.comparison import Comparison, compare
from kselect.stats.failures import Coverage, Failure, cover, group_failures
from kselect.stats.guards import Guarded, count_guarded
from kselect.stats.probes import ProbeGraph, follow
from kselect.stats.published import Distance, Verdict, count_verdicts, measure
from kselect.stats.sweeps import Figure, trace


@dataclass(frozen=True)
class LossResults:
    """The numbers under one loss; ``distances`` is empty where nothing is published."""

    comparison: Comparison
    coverage: Coverage
    judgements: tuple[Judgement, ...]
    distances: tuple[Distance, ...]
    verdicts: Mapping[Verdict, int]
    guarded: tuple[Guarded, ...]

    @property
    def loss(self) -> str:
        """The loss that the criteria average."""
        return self.comparison.loss


@dataclass(frozen=True)
class Results:
    """``losses``: the experiment's own first; ``absent``: why a data set has no numbers."""

    experiment: Experiment
    losses: tuple[LossResults, ...]
    figures: tuple[Figure, ...]
    graphs: tuple[ProbeGraph, ...]
    failures: tuple[Failure, ...]
    absent: Mapping[str, str]

    @property
    def main(self) -> LossResults:
        """Under the experiment's own loss."""
        return self.losses[0]


def analyse(
    experiment: Experiment,
    records: pd.DataFrame,
    missing: Mapping[str, str],
    published: pd.DataFrame | None,
) -> Results:
    """Records (all, some or none) -> Results; ``missing``: why a data set has no data."""
    losses = tuple(analyse_loss(experiment, records, loss, published) for loss in experiment.losses)
    main = losses[0].comparison
    present = set(records["dataset"])
    without = (d for d in experiment.datasets if d not in present)
    absent = {d: missing.get(d, "not run yet") for d in without}
    figures = tuple(trace(experiment, records, s, main) for s in experiment.sweeps)
    graphs = tuple(follow(experiment, records, f) for f in experiment.probes)
    return Results(experiment, losses, figures, graphs, group_failures(records), absent)


def analyse_loss(
    experiment: Experiment, records: pd.DataFrame, loss: str, published: pd.DataFrame | None
) -> LossResults:
    """Table, claims and published numbers under one loss."""
    comparison = compare(experiment, records, loss, all_pairs(experiment))
    runs = len(experiment.splits)
    distances = () if published is None else measure(comparison, published, runs)
    return LossResults(
        comparison,
        cover(comparison),
        judge(experiment, comparison),
        distances,
        count_verdicts(distances),
        count_guarded(experiment, records, loss),
    )
