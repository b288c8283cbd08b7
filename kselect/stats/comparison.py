"""The comparison of methods over data sets, for one loss: everything that a table of test errors shows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kselect.core.experiment import Experiment
from kselect.core.method import Setting
from kselect.core.record import significant
from kselect.numerics.linalg import Array
from kselect.stats.ranks import Ranks, holm_adjusted, rank, wilcoxon
from kselect.stats.samples import (
    LEVEL,
    SplitErrors,
    match,
    read_samples,
    t_test,
    table_records,
    unit_of,
)

if TYPE_CHECKING:
    import pandas as pd

# Differences of means, in points or per cent, have rounding errors below 1e-9.
DECIMALS = 8
# The relative difference of means up to which they are a tie: it is only rounding.
EQUAL = 1e-12


class WinTieLoss(NamedTuple):
    """The number of comparisons in which a method has the lower, the same, or the higher error."""

    wins: int
    ties: int
    losses: int


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
    """A method against a rival over data sets, counted by the means and by both t-tests at 5 %.

    No significant difference is a tie. ``planned`` counts the splits of all data sets, ``pairs`` those on which
    both methods have an error.
    """

    method: str
    rival: str
    outcomes: tuple[Outcome, ...]
    planned: int
    pairs: int
    by_mean: WinTieLoss
    by_ttest: WinTieLoss
    by_corrected: WinTieLoss


@dataclass(frozen=True)
class MethodPair:
    """Two methods under one setting, over the data sets on which both have an error.

    ``difference`` is the mean over data sets of the first mean error minus the second, in points, or for regression
    in per cent of the second. ``p_value`` comes from Wilcoxon's signed ranks over data sets, adjusted by Holm's
    procedure over all pairs; NaN below two data sets.
    """

    first: str
    second: str
    datasets: int
    difference: float
    by_mean: WinTieLoss
    p_value: float


class Coverage(NamedTuple):
    """The numbers of runs, failures and missing runs; their sum is the number of planned runs."""

    runs: int
    failures: int
    missing: int


@dataclass(frozen=True)
class Comparison:
    """Methods over data sets: cells, ranks and pairs of methods of each setting.

    ``splits`` is the number of planned splits of each data set; ``units`` lacks data sets without records;
    ``ranked`` lacks those that stand for another one with records. ``estimators`` are the methods without lam: they
    have the same cells under every setting, which count once.
    """

    loss: str
    methods: tuple[str, ...]
    splits: Mapping[str, int]
    units: Mapping[str, str]
    cells: Mapping[Setting, Mapping[tuple[str, str], SplitErrors]]
    ranks: Mapping[Setting, Ranks]
    ranked: tuple[str, ...]
    estimators: frozenset[str] = frozenset()

    def coverage(self, dataset: str | None = None) -> Coverage:
        """Return how much of the table, or of one data set, has been run."""
        found = [
            cell
            for i, cells in enumerate(self.cells.values())
            for (name, method), cell in cells.items()
            if dataset in (None, name) and not (i and method in self.estimators)
        ]
        return Coverage(
            sum(c.runs for c in found),
            sum(c.failures for c in found),
            sum(c.missing for c in found),
        )


def compare(experiment: Experiment, records: pd.DataFrame, loss: str) -> Comparison:
    """Return the comparison of one loss: the methods that use it, and those that use none."""
    mine = {m.label for m in experiment.table if m.loss in (loss, "")}
    methods = tuple(label for label in experiment.labels if label in mine)
    samples = read_samples(table_records(records, experiment, loss), experiment)
    # A flag may have added splits to those of the config.
    run: dict[Any, Set[Any]] = {d: {*rows} for d, rows in records.groupby("dataset")["split"]}
    splits = {
        d: len({*experiment.splits_on(d), *(run.get(d, set()) & {*experiment.splits})})
        for d in experiment.datasets
    }
    twins = {d: experiment.info(d).stands_for for d in experiment.datasets}
    # A data set that stands for another one is not ranked next to it.
    ranked = [
        d
        for d in splits
        if not any(
            (s, str(twins[d]), m) in samples for s in experiment.lam.settings() for m in methods
        )
    ]
    none: dict[str, frozenset[str]] = {
        d: experiment.estimators - {m.label for m in experiment.methods_on(d)} for d in splits
    }
    cells, ranks = {}, {}
    for setting in experiment.lam.settings():
        found = {
            (d, m): samples.get((setting, d, m), SplitErrors()) for d in splits for m in methods
        }
        cells[setting] = {
            (d, m): cell
            for d, planned in splits.items()
            for m, cell in compare_row({m: found[d, m] for m in methods}, planned, none[d]).items()
        }
        ranks[setting] = rank_complete(found, ranked, methods)
    known = records.drop_duplicates("dataset")
    units = {str(d): unit_of(m) for d, m in zip(known["dataset"], known["metric"], strict=True)}
    others = experiment.estimators
    return Comparison(loss, methods, splits, units, cells, ranks, tuple(ranked), others)


def compare_row(
    row: Mapping[str, SplitErrors],
    planned: int,
    none: Set[str] = frozenset(),
    level: float = LEVEL,
) -> dict[str, SplitErrors]:
    """Return the cells of one data set, tested against the best; exact ties for the lowest mean are all best.

    Nothing is planned for the methods in ``none``: they are for another task.
    """
    lowest = min((s.mean for s in row.values() if s.runs), default=math.nan)
    best = [m for m, s in row.items() if s.runs and math.isclose(s.mean, lowest, rel_tol=EQUAL)]
    cells = {}
    for method, mine in row.items():
        worse = worse_corrected = None
        if best and method != best[0] and mine.runs:
            pairs = match(mine, row[best[0]])
            worse = t_test(pairs.difference, level=level)
            worse_corrected = t_test(pairs.difference, pairs.test_over_train, level)
        cells[method] = replace(
            mine,
            planned=0 if method in none else planned,
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
    level: float = LEVEL,
) -> Contest:
    """Return one method against another, by mean and by both tests, each test tried in both directions."""
    outcomes = []
    for dataset in splits:
        mine, other = (samples.get((dataset, m), SplitErrors()) for m in (method, rival))
        pairs = match(mine, other)
        if not pairs.a.runs:
            continue
        tests = [
            (t_test(-pairs.difference, ratio, level), t_test(pairs.difference, ratio, level))
            for ratio in (0.0, pairs.test_over_train)
        ]
        signs = [
            int(lower.significant) - int(higher.significant) if lower.pairs > 1 else None
            for lower, higher in tests
        ]
        a, b = pairs.a.mean, pairs.b.mean
        by_mean = 0 if math.isclose(a, b, rel_tol=EQUAL) else 1 if a < b else -1
        outcomes.append(Outcome(dataset, pairs.a.runs, by_mean, *signs))
    return add_up(method, rival, outcomes, sum(splits.values()))


def add_up(method: str, rival: str, outcomes: Iterable[Outcome], planned: int) -> Contest:
    """Count the outcomes of a contest; a test that was not possible does not count."""
    found = tuple(outcomes)
    tests = zip(*((o.by_mean, o.by_ttest, o.by_corrected) for o in found), strict=True)
    counts = [WinTieLoss(*map(signs.count, (1, 0, -1))) for signs in tests]
    counts = counts or [WinTieLoss(0, 0, 0)] * 3
    return Contest(method, rival, found, planned, sum(o.pairs for o in found), *counts)


def method_pairs(comparison: Comparison, setting: Setting) -> tuple[MethodPair, ...]:
    """Compare every pair of methods under a setting; adding a method changes no difference and no count."""
    found, p_values = [], []
    for a, b in combinations(comparison.methods, 2):
        differences = mean_differences(comparison, setting, a, b)
        counts = WinTieLoss(*(int(np.sum(np.sign(differences) == s)) for s in (-1, 0, 1)))
        count = len(differences)
        mean = math.fsum(differences) / count if count else math.nan
        # Rounded, so that differences that are equal but for the rounding of the means share a rank.
        p_values.append(wilcoxon(np.round(differences, DECIMALS), np.zeros(count)))
        found.append(MethodPair(a, b, count, mean, counts, math.nan))
    known = [i for i, p in enumerate(p_values) if not math.isnan(p)]
    for i, p in zip(known, holm_adjusted([p_values[i] for i in known]), strict=True):
        found[i] = replace(found[i], p_value=p)
    return tuple(found)


def mean_differences(comparison: Comparison, setting: Setting, first: str, second: str) -> Array:
    """Return the mean error of the first method minus the second's on each ranked data set that both have.

    Differences are in points, or for regression in per cent of the second.
    """
    cells, differences = comparison.cells[setting], []
    for dataset in comparison.ranked:
        pairs = match(cells[dataset, first], cells[dataset, second])
        if not pairs.a.runs:
            continue
        # Rounded as records are, so that equal means that differ in their last bit are a tie.
        mine, other = significant(pairs.a.mean), significant(pairs.b.mean)
        relative = comparison.units.get(dataset) == "MSE" and other
        differences.append((mine - other) / (abs(other) / 100 if relative else 1.0))
    return np.array(differences)
