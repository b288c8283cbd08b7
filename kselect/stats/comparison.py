"""The comparison of methods over data sets, for one loss: everything that a table of test errors shows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from kselect.core.experiment import Experiment
from kselect.core.method import Setting
from kselect.core.record import significant
from kselect.papers import PAPERS
from kselect.papers.base import Claim
from kselect.stats.ranks import Ranks, rank
from kselect.stats.samples import (
    UNITS,
    SplitErrors,
    TTest,
    corrected,
    match,
    paired,
    read_samples,
    table_records,
    within,
)

if TYPE_CHECKING:
    import pandas as pd

# Relative difference of means that is only rounding.
EQUAL = 1e-12


@dataclass(frozen=True)
class WinTieLoss:
    """The number of comparisons in which a method has the lower, the same, or the higher error."""

    wins: int
    ties: int
    losses: int

    @property
    def total(self) -> int:
        """Return the number of comparisons."""
        return self.wins + self.ties + self.losses


@dataclass(frozen=True)
class Outcome:
    """A method against a rival on one data set: 1 lower, 0 the same, -1 higher error; None without a test.

    ``pairs`` counts the splits on which both have an error.
    """

    dataset: str
    pairs: int
    by_mean: int
    by_ttest: int | None
    by_corrected: int | None


@dataclass(frozen=True)
class Contest:
    """A method against a rival over data sets; several contests can be added up.

    ``planned`` counts the splits of all data sets: it equals ``pairs`` if nothing is missing.
    """

    method: str
    rival: str
    outcomes: tuple[Outcome, ...]
    planned: int

    @property
    def pairs(self) -> int:
        """Return the number of splits on which both have an error."""
        return sum(o.pairs for o in self.outcomes)

    @property
    def by_mean(self) -> WinTieLoss:
        """Return the counts by the means over the shared splits; equal means are ties."""
        return count(o.by_mean for o in self.outcomes)

    @property
    def by_ttest(self) -> WinTieLoss:
        """Return the counts by the papers' paired t-test at 5 %; no significant difference is a tie."""
        return count(o.by_ttest for o in self.outcomes)

    @property
    def by_corrected(self) -> WinTieLoss:
        """Return the counts by the t-test corrected for overlapping splits at 5 %."""
        return count(o.by_corrected for o in self.outcomes)

    def among(self, splits: Mapping[str, int]) -> Contest:
        """Return the contest over some data sets, given with their numbers of planned splits."""
        kept = tuple(o for o in self.outcomes if o.dataset in splits)
        return Contest(self.method, self.rival, kept, sum(splits.values()))


@dataclass(frozen=True)
class Coverage:
    """The numbers of runs, failures and missing runs."""

    runs: int
    failures: int
    missing: int

    @property
    def planned(self) -> int:
        """Return the number of planned runs."""
        return self.runs + self.failures + self.missing


@dataclass(frozen=True)
class Comparison:
    """Methods over data sets: cells, ranks and contests of each setting.

    ``splits`` is the number of planned splits of each data set; ``units`` lacks data sets without records.
    """

    loss: str
    methods: tuple[str, ...]
    splits: Mapping[str, int]
    units: Mapping[str, str]
    cells: Mapping[Setting, Mapping[tuple[str, str], SplitErrors]]
    ranks: Mapping[Setting, Ranks]
    contests: Mapping[Setting, tuple[Contest, ...]]

    def cell(self, setting: Setting, dataset: str, method: str) -> SplitErrors | None:
        """Return one cell, None if the table has no such place."""
        return self.cells.get(setting, {}).get((dataset, method))

    def coverage(self, dataset: str | None = None) -> Coverage:
        """Return how much of the table, or of one data set, has been run."""
        found = [
            cell
            for cells in self.cells.values()
            for (name, _), cell in cells.items()
            if dataset in (None, name)
        ]
        return Coverage(
            sum(c.runs for c in found),
            sum(c.failures for c in found),
            sum(c.missing for c in found),
        )


def labels_of(experiment: Experiment, loss: str) -> tuple[str, ...]:
    """Return the methods in the table of a loss: those that use it, and those that use none."""
    mine = {m.label for m in experiment.table if m.loss in (loss, "")}
    return tuple(label for label in experiment.labels if label in mine)


def find_pairs(experiment: Experiment, claim: Claim) -> tuple[tuple[str, str], ...]:
    """Return the pairs of methods that a claim compares, in the order of the table."""
    found = (
        (a.label, b.label)
        for a in experiment.table
        for b in experiment.table
        if a.criterion == claim.criterion
        and b.criterion == claim.rival
        and (a.folds == b.folds or None in (a.folds, b.folds))
    )
    return tuple(dict.fromkeys(found))


def all_pairs(experiment: Experiment) -> tuple[tuple[str, str], ...]:
    """Return every pair that a claim of any paper compares and whose methods the experiment has."""
    claims = (c for paper in PAPERS.values() for c in paper.claims)
    return tuple(dict.fromkeys(p for c in claims for p in find_pairs(experiment, c)))


def compare(
    experiment: Experiment, records: pd.DataFrame, loss: str, pairs: Sequence[tuple[str, str]]
) -> Comparison:
    """Return the comparison of one loss; the ``pairs`` of methods are counted against each other."""
    methods = labels_of(experiment, loss)
    samples = read_samples(table_records(records, experiment, loss), experiment)
    splits = count_splits(records, experiment)
    wanted = [(a, b) for a, b in pairs if a in methods and b in methods]
    twins = {d: experiment.info(d).stands_for for d in experiment.datasets}
    # A data set that stands for another one is not ranked next to it.
    ranked = [
        d
        for d in splits
        if not any(
            (s, str(twins[d]), m) in samples for s in experiment.lam.settings() for m in methods
        )
    ]
    cells, ranks, contests = {}, {}, {}
    for setting in experiment.lam.settings():
        mine = {
            (d, m): samples.get((setting, d, m), SplitErrors()) for d in splits for m in methods
        }
        cells[setting] = {
            (d, m): cell
            for d, planned in splits.items()
            for m, cell in compare_row({m: mine[d, m] for m in methods}, planned).items()
        }
        ranks[setting] = rank_complete(mine, ranked, methods)
        contests[setting] = tuple(contest(a, b, mine, splits) for a, b in wanted)
    known = records.drop_duplicates("dataset")
    units = {str(d): UNITS[m] for d, m in zip(known["dataset"], known["metric"], strict=True)}
    return Comparison(loss, methods, splits, units, cells, ranks, contests)


def count_splits(records: pd.DataFrame, experiment: Experiment) -> dict[str, int]:
    """Return data set -> number of planned splits, with those that a flag added to the config's."""
    held = within(records, experiment)
    pairs = {*zip(held["dataset"], held["split"], strict=True)}
    pairs |= {(d, s) for d in experiment.datasets for s in experiment.splits_on(d)}
    return {d: sum(name == d for name, _ in pairs) for d in experiment.datasets}


def compare_row(row: Mapping[str, SplitErrors], planned: int) -> dict[str, SplitErrors]:
    """Return the cells of one data set, tested against the best; exact ties for the lowest mean are all best."""
    lowest = min((s.mean for s in row.values() if s.runs), default=math.nan)
    best = [m for m, s in row.items() if s.runs and compare_means(s.mean, lowest) == 0]
    cells = {}
    for method, mine in row.items():
        worse = worse_corrected = None
        if best and method != best[0] and mine.runs:
            pairs = match(mine, row[best[0]])
            worse = paired(pairs.difference)
            worse_corrected = corrected(pairs.difference, pairs.test_over_train)
        cells[method] = replace(
            mine,
            planned=planned,
            best=method in best,
            worse=worse,
            worse_corrected=worse_corrected,
        )
    return cells


def rank_complete(
    samples: Mapping[tuple[str, str], SplitErrors], datasets: Sequence[str], methods: Sequence[str]
) -> Ranks:
    """Return ranks by the means over the splits that all methods share; drop data sets without such a split."""
    if not methods:
        return rank(np.empty((0, 0)), ())
    rows = {}
    for dataset in datasets:
        shared = frozenset.intersection(*(frozenset(samples[dataset, m].errors) for m in methods))
        if shared:
            rows[dataset] = [samples[dataset, m].on(shared).mean for m in methods]
    # Rounded as records are, so that equal means that differ in their last bit share a rank.
    errors = np.array([[significant(e) for e in row] for row in rows.values()])
    return rank(errors.reshape(len(rows), len(methods)), tuple(rows))


def contest(
    method: str,
    rival: str,
    samples: Mapping[tuple[str, str], SplitErrors],
    splits: Mapping[str, int],
) -> Contest:
    """Return one method against another, by mean and by both tests, each test tried in both directions."""

    def direction(lower: TTest, higher: TTest) -> int | None:
        return int(lower.significant) - int(higher.significant) if lower.possible else None

    outcomes = []
    for dataset in splits:
        mine, other = (samples.get((dataset, m), SplitErrors()) for m in (method, rival))
        pairs = match(mine, other)
        d, ratio = pairs.difference, pairs.test_over_train
        if pairs.a.runs:
            outcomes.append(
                Outcome(
                    dataset,
                    pairs.a.runs,
                    compare_means(pairs.a.mean, pairs.b.mean),
                    direction(paired(-d), paired(d)),
                    direction(corrected(-d, ratio), corrected(d, ratio)),
                )
            )
    return Contest(method, rival, tuple(outcomes), sum(splits.values()))


def compare_means(mine: float, other: float) -> int:
    """Return 1 if mine is lower, -1 if higher; a difference in the last digit is rounding, hence a tie (0)."""
    if math.isclose(mine, other, rel_tol=EQUAL, abs_tol=0.0):
        return 0
    return 1 if mine < other else -1


def count(signs: Iterable[int | None]) -> WinTieLoss:
    """Count the signs 1, 0 and -1 as wins, ties and losses; None is not counted."""
    found = list(signs)
    return WinTieLoss(found.count(1), found.count(0), found.count(-1))
