"""Records -> Comparison: everything that a table shows, for one loss."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from kselect.model.experiment import TABLE, Experiment
from kselect.stats.counts import Duel, compare_means, duel
from kselect.stats.ranks import Ranks, rank
from kselect.stats.samples import Key, Sample, match, read_samples, read_units
from kselect.stats.ttest import TTest, corrected, paired


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

    setting: str
    cells: Mapping[tuple[str, str], Cell]
    ranks: Ranks
    duels: tuple[Duel, ...]


@dataclass(frozen=True)
class Comparison:
    """Methods over data sets, a block a setting. ``units`` lacks data sets without records."""

    loss: str
    methods: tuple[str, ...]
    datasets: tuple[str, ...]
    units: Mapping[str, str]
    blocks: tuple[Block, ...]

    def block(self, setting: str) -> Block | None:
        """The block of a setting, None where there is none."""
        return next((b for b in self.blocks if b.setting == setting), None)


def compare(
    experiment: Experiment, records: pd.DataFrame, loss: str, pairs: Sequence[tuple[str, str]]
) -> Comparison:
    """The table of one loss; ``pairs`` of labels are counted against each other."""
    methods = labels_of(experiment, loss)
    samples = read_samples(records, experiment, loss)
    wanted = [(a, b) for a, b in pairs if a in methods and b in methods]
    blocks = tuple(make_block(experiment, s, samples, methods, wanted) for s in experiment.settings)
    return Comparison(loss, methods, experiment.datasets, read_units(records), blocks)


def labels_of(experiment: Experiment, loss: str) -> tuple[str, ...]:
    """The columns of the table of a loss: its own methods, and those without a loss to choose."""
    mine = {m.label for m in experiment.methods if m.part == TABLE and m.loss in (loss, "")}
    return tuple(label for label in experiment.labels if label in mine)


def make_block(
    experiment: Experiment,
    setting: str,
    samples: Mapping[Key, Sample],
    methods: tuple[str, ...],
    pairs: Sequence[tuple[str, str]],
) -> Block:
    """Cells, ranks and counts under one setting."""
    mine = {
        (d, m): samples.get((setting, d, m), Sample()) for d in experiment.datasets for m in methods
    }
    cells: dict[tuple[str, str], Cell] = {}
    for dataset in experiment.datasets:
        row = {m: mine[dataset, m] for m in methods}
        cells |= {(dataset, m): c for m, c in make_row(row, len(experiment.splits)).items()}
    duels = tuple(duel(a, b, mine, experiment.datasets) for a, b in pairs)
    return Block(setting, cells, rank_complete(mine, experiment.datasets, methods), duels)


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
    samples: Mapping[tuple[str, str], Sample], datasets: Sequence[str], methods: Sequence[str]
) -> Ranks:
    """Ranks by the means over the splits that all methods share; data sets without one are out."""
    if not methods:
        return rank(np.empty((0, 0)), ())
    rows = {}
    for dataset in datasets:
        shared = frozenset.intersection(*(frozenset(samples[dataset, m].errors) for m in methods))
        if shared:
            rows[dataset] = [samples[dataset, m].on(shared).mean for m in methods]
    # Rounded to 12 digits, so that equal means that differ in their last bit share a rank.
    errors = np.array([[float(f"{e:.12g}") for e in row] for row in rows.values()])
    return rank(errors.reshape(len(rows), len(methods)), tuple(rows))
