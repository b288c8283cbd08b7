"""Columns from the literature that a ranking shows next to ours: printed by the paper, or written in the config."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kselect.report.figures.base import Wrong
from kselect.stats.sources import Published


@dataclass(frozen=True)
class LiteratureColumn:
    """A column from the literature: (mean, spread) per data set, NaN if unknown, and the counts that it prints."""

    label: str
    values: Mapping[str, tuple[float, float]] = field(default_factory=dict, hash=False)
    counts: Mapping[str, float] = field(default_factory=dict, hash=False)


def read_columns(given: Mapping[str, Any], wrong: Wrong) -> Iterator[LiteratureColumn]:
    """Read ``{MKL: {heart: 16.7, banana: [10.5, 0.5]}}``: a mean, or a mean with its spread."""
    for label, values in given.items():
        if not isinstance(values, dict):
            wrong(("literature", label), "must be a mapping of data sets, as in {heart: 16.7}")
            continue
        known: dict[str, tuple[float, float]] = {}
        for dataset, value in values.items():
            numbers = value if isinstance(value, list) else [value]
            right = all(isinstance(v, int | float) and not isinstance(v, bool) for v in numbers)
            if not 1 <= len(numbers) <= 2 or not right:
                wrong(("literature", label, dataset), "must be a number, or [mean, spread]")
            else:
                known[dataset] = (float(numbers[0]), float(numbers[1]) if numbers[1:] else math.nan)
        yield LiteratureColumn(label, known)


def printed_column(published: Iterable[Published], label: str) -> LiteratureColumn:
    """Return a column of the paper's own table."""
    mine = [row for row in published if row.method == label]
    return LiteratureColumn(
        label,
        {row.dataset: (row.mean, row.spread) for row in mine},
        {row.dataset: row.count for row in mine if not math.isnan(row.count)},
    )
