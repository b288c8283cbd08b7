"""What has no number, and why: failed records put together, and how much of a plan is there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kselect.stats.comparison import Cell, Comparison

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Failure:
    """A method that failed on a data set for one reason: how many records, on which splits."""

    dataset: str
    part: str
    method: str
    reason: str
    count: int
    splits: tuple[int, ...]


@dataclass(frozen=True)
class Coverage:
    """How many numbers there are, out of those planned."""

    runs: int
    failures: int
    missing: int

    @property
    def planned(self) -> int:
        """Every data set, split, setting and method."""
        return self.runs + self.failures + self.missing


def group_failures(records: pd.DataFrame) -> tuple[Failure, ...]:
    """The failed records, one line for each (data set, part, method, reason)."""
    failed = records[records["status"] != "ok"]
    groups = failed.groupby(["dataset", "part", "method", "reason"], sort=True)
    return tuple(
        Failure(
            str(d), str(p), str(m), str(r), len(rows), tuple(sorted({*rows["split"].astype(int)}))
        )
        for (d, p, m, r), rows in groups
    )


def cover(comparison: Comparison) -> Coverage:
    """The counts of all cells added up."""
    return add_cells(c for block in comparison.blocks for c in block.cells.values())


def short_of(comparison: Comparison) -> dict[str, Coverage]:
    """Data set -> its counts, where it has some planned numbers but not all."""
    counts = {
        dataset: add_cells(c for block in comparison.blocks for c in block.row(dataset))
        for dataset in comparison.datasets
    }
    return {d: c for d, c in counts.items() if c.missing and c.runs + c.failures}


def add_cells(cells: Iterable[Cell]) -> Coverage:
    """The sums of runs, failures and missing runs."""
    found = list(cells)
    return Coverage(
        sum(c.runs for c in found), sum(c.failures for c in found), sum(c.missing for c in found)
    )
