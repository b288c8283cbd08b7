"""Printed error rates that are a whole count of one test part's rows, as a mean of many splits seldom is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kselect.core.experiment import Experiment
from kselect.datasets.splits import count_train
from kselect.stats.distances import Distance

# Printed percentages have two decimals: so many different ones there are.
PRINTABLE = 10_000
HALF = 0.005
ROUNDING = 1e-9
# From this share of a paper's cells on they are worth a word; means of ten splits are whole counts in a tenth.
MANY = 0.25


@dataclass(frozen=True)
class WholeCounts:
    """The whole counts of one data set: (column, rows) of ``rows`` in its test part."""

    dataset: str
    rows: int
    counts: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Findings:
    """All of a table: of so many ``cells``, where ``expected`` would be whole by chance."""

    sets: tuple[WholeCounts, ...]
    cells: int
    expected: float

    @property
    def total(self) -> int:
        """How many cells are whole counts."""
        return sum(len(one.counts) for one in self.sets)

    @property
    def many(self) -> bool:
        """Whether that is worth a word."""
        return self.total >= MANY * max(1, self.cells)


def count_of(percent: float, rows: int) -> int | None:
    """The rows whose share rounds to a percentage of two decimals, None where no number of them does."""
    count = round(percent * rows / 100.0)
    return count if abs(100.0 * count / rows - percent) <= HALF + ROUNDING else None


def whole_counts(experiment: Experiment, found: Iterable[Distance]) -> Findings:
    """Of the classification sets whose test part is a share of their rows."""
    by_set: dict[str, list[Distance]] = {}
    for d in found:
        by_set.setdefault(d.published.dataset, []).append(d)
    mine = {
        name: (test_rows(experiment, name), cells)
        for name, cells in by_set.items()
        if name in experiment.datasets and experiment.task(name) == "classification"
    }
    known = {name: (rows, cells) for name, (rows, cells) in mine.items() if rows}
    sets = tuple(of_set(name, rows, cells) for name, (rows, cells) in known.items())
    expected = sum(rows * len(cells) / PRINTABLE for rows, cells in known.values())
    return Findings(
        tuple(s for s in sets if s.counts), sum(len(c) for _, c in known.values()), expected
    )


def test_rows(experiment: Experiment, name: str) -> int:
    """The rows of its test part, 0 where they are given with the data."""
    rows = experiment.info(name).rows
    return rows - count_train(rows, experiment.train) if experiment.train is not None else 0


def of_set(name: str, rows: int, cells: Sequence[Distance]) -> WholeCounts:
    """Its cells that are whole counts."""
    found = ((d.method, count_of(d.published.mean, rows)) for d in cells)
    return WholeCounts(name, rows, tuple((m, c) for m, c in found if c is not None))
