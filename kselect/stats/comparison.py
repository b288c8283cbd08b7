"""Records -> Comparison: everything that a table shows, for one loss."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kselect.core.experiment import Experiment
from kselect.core.method import Setting
from kselect.core.record import significant
from kselect.stats.counts import Duel, compare_means, duel
from kselect.stats.ranks import Ranks, rank
from kselect.stats.samples import (
    Key,
    Sample,
    count_splits,
    match,
    read_samples,
    read_units,
    table_records,
)
from kselect.stats.ttest import TTest, corrected, paired

if TYPE_CHECKING:
    import pandas as pd

Pair = tuple[str, str]


@dataclass(frozen=True)
class Cell:
    """One method on one data set: mean and sd (ddof = 1) in the data set's unit, NaN without runs.

    ``missing`` counts the planned splits that have no record. ``worse`` tests whether it is worse
    than the best of its row (the first of equals): None for that best, and without a number.
    """

    mean: float
    sd: float
    runs: int
    failures: int
    missing: int
    best: bool
    worse: TTest | None
    worse_corrected: TTest | None

    @property
    def tried(self) -> int:
        """How many splits have a record, be it a failure."""
        return self.runs + self.failures

    @property
    def not_worse(self) -> bool | None:
        """Best, or not significantly worse by the papers' test; None where there is no test."""
        return acquitted(self.best, self.worse)

    @property
    def not_worse_corrected(self) -> bool | None:
        """The same by the corrected resampled t-test."""
        return acquitted(self.best, self.worse_corrected)


@dataclass(frozen=True)
class Block:
    """The rows of a table under one setting, with their statistics."""

    setting: Setting
    cells: Mapping[Pair, Cell]
    ranks: Ranks
    duels: tuple[Duel, ...]

    def row(self, dataset: str) -> list[Cell]:
        """The cells of one data set, in the order of the columns."""
        return [cell for (name, _), cell in self.cells.items() if name == dataset]


@dataclass(frozen=True)
class Comparison:
    """Methods over data sets, one block per setting.

    ``units`` lacks data sets without records; ``splits`` is how many each data set has in the plan.
    """

    loss: str
    methods: tuple[str, ...]
    datasets: tuple[str, ...]
    splits: Mapping[str, int]
    units: Mapping[str, str]
    blocks: tuple[Block, ...]

    def cell(self, setting: Setting, dataset: str, method: str) -> Cell | None:
        """One cell, None where the table has no such place."""
        block = next((b for b in self.blocks if b.setting == setting), None)
        return block.cells.get((dataset, method)) if block else None


def compare(
    experiment: Experiment, records: pd.DataFrame, loss: str, pairs: Sequence[Pair]
) -> Comparison:
    """The table of one loss; ``pairs`` of labels are counted against each other."""
    methods = labels_of(experiment, loss)
    samples = read_samples(table_records(records, experiment, loss), experiment)
    splits = count_splits(records, experiment)
    wanted = [(a, b) for a, b in pairs if a in methods and b in methods]
    twins = {d: experiment.info(d).stands_for for d in experiment.datasets}
    ranked = tuple(
        d
        for d in splits
        if not any((s, str(twins[d]), m) in samples for s in experiment.settings for m in methods)
    )
    blocks = tuple(
        make_block(s, samples, methods, splits, wanted, ranked) for s in experiment.settings
    )
    return Comparison(loss, methods, experiment.datasets, splits, read_units(records), blocks)


def labels_of(experiment: Experiment, loss: str) -> tuple[str, ...]:
    """The columns of the table of a loss: its own methods, and those without a loss to choose."""
    mine = {m.label for m in experiment.table if m.loss in (loss, "")}
    return tuple(label for label in experiment.labels if label in mine)


def make_block(
    setting: Setting,
    samples: Mapping[Key, Sample],
    methods: Sequence[str],
    splits: Mapping[str, int],
    pairs: Sequence[Pair],
    ranked: tuple[str, ...],
) -> Block:
    """Cells, ranks and counts under one setting; a stand-in is not ``ranked`` beside what it stands for."""
    mine = {(d, m): samples.get((setting, d, m), Sample()) for d in splits for m in methods}
    cells: dict[Pair, Cell] = {}
    for dataset, count in splits.items():
        row = {m: mine[dataset, m] for m in methods}
        cells |= {(dataset, m): c for m, c in make_row(row, count).items()}
    duels = tuple(duel(a, b, mine, splits) for a, b in pairs)
    return Block(setting, cells, rank_complete(mine, ranked, methods), duels)


def make_row(row: Mapping[str, Sample], splits: int) -> dict[str, Cell]:
    """The cells of one data set: exact ties for the lowest mean are all best."""
    means = {m: s.mean for m, s in row.items() if s.runs}
    lowest = min(means.values(), default=math.nan)
    best = [m for m, mean in means.items() if compare_means(mean, lowest) == 0]
    return {
        m: make_cell(s, row[best[0]] if best else None, m in best, splits) for m, s in row.items()
    }


def make_cell(mine: Sample, best: Sample | None, is_best: bool, splits: int) -> Cell:
    """One cell, tested against the best of its row."""
    worse = worse_corrected = None
    if best is not None and mine is not best and mine.runs:
        pairs = match(mine, best)
        worse = paired(pairs.difference)
        worse_corrected = corrected(pairs.difference, pairs.test_over_train)
    missing = max(0, splits - mine.runs - mine.failures)
    return Cell(
        mine.mean, mine.sd, mine.runs, mine.failures, missing, is_best, worse, worse_corrected
    )


def acquitted(best: bool, test: TTest | None) -> bool | None:
    """What a test against the best says of a cell."""
    if best:
        return True
    return None if test is None or not test.possible else not test.significant


def rank_complete(
    samples: Mapping[Pair, Sample], datasets: Sequence[str], methods: Sequence[str]
) -> Ranks:
    """Ranks by the means over the splits that all methods share; data sets without one are out."""
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
