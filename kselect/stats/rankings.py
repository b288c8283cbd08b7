"""Some columns of a table ranked over data sets, with columns from the literature, and the published ranks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from kselect.core.method import SELECTED
from kselect.core.record import significant
from kselect.numerics.linalg import Array
from kselect.stats.ranks import Contrast, Posterior, Ranks, contrasts, posteriors, rank, wilcoxon
from kselect.stats.samples import Sample, read_samples, table_records
from kselect.stats.sources import Published
from kselect.stats.study import Study

LEVEL = 0.05


@dataclass(frozen=True)
class Column:
    """A column from the literature: per data set a mean and its spread, NaN where none is known."""

    label: str
    values: Mapping[str, tuple[float, float]] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Ranking:
    """A figure that ranks some columns; ``printed`` are labels of the paper's own table to take as they are."""

    name: str
    criteria: tuple[str, ...]
    printed: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    table: str = ""
    kind: ClassVar[str] = "ranking"

    @property
    def labels(self) -> tuple[str, ...]:
        """Every column, ours first."""
        return (*self.criteria, *self.printed, *(c.label for c in self.columns))


@dataclass(frozen=True)
class Entry:
    """One cell: mean, standard error (of a literature column: its spread), and how many runs are behind it.

    ``close``: by Wilcoxon's signed ranks over splits not significantly different from the best of ours.
    """

    mean: float
    spread: float
    runs: int
    best: bool
    close: bool | None


@dataclass(frozen=True, eq=False)
class Ranked:
    """The table of a ranking: its rows, the ranks of them, every pair, and the ranks of the paper's own numbers."""

    labels: tuple[str, ...]
    literature: frozenset[str]
    rows: Mapping[str, tuple[Entry, ...]]
    ranks: Ranks
    contrasts: tuple[Contrast, ...]
    posteriors: tuple[Posterior, ...]
    published: Ranks
    absent: tuple[str, ...]
    stand_ins: frozenset[str]

    def mark(self, label: str) -> str:
        """``MKL (lit.)`` where a column is from the literature."""
        return f"{label} (lit.)" if label in self.literature else label


def rank_columns(study: Study, figure: Ranking) -> Ranked:
    """All of it from the records of the experiment's own loss and the published numbers."""
    columns = (*printed_columns(study, figure), *figure.columns)
    samples = samples_of(study)
    rows = {d: make_row(study, d, figure, columns, samples) for d in study.experiment.datasets}
    present = {d: row for d, row in rows.items() if any(e.runs for e in row)}
    errors, names = matrix(study, figure, columns, samples)
    ranks = rank(errors, names)
    literature = frozenset(c.label for c in columns)
    absent = tuple(d for d in present if d not in names)
    return Ranked(
        figure.labels,
        literature,
        present,
        ranks,
        contrasts(errors, ranks, figure.labels),
        posteriors(errors, figure.labels),
        published_ranks(study, figure),
        absent,
        frozenset(d for d in absent if study.experiment.info(d).stands_for in names),
    )


def samples_of(study: Study) -> dict[tuple[str, str], Sample]:
    """(data set, column) -> its errors by split, where the ridge is selected or the only one."""
    experiment = study.experiment
    table = table_records(study.records, experiment, experiment.loss)
    found = read_samples(table, experiment)
    return {(d, m): s for (setting, d, m), s in found.items() if setting == SELECTED}


def printed_columns(study: Study, figure: Ranking) -> tuple[Column, ...]:
    """Columns of the paper's own table."""
    return tuple(
        Column(label, {r.dataset: (r.mean, r.spread) for r in rows_of(study.published, label)})
        for label in figure.printed
    )


def rows_of(published: Iterable[Published], label: str) -> list[Published]:
    """The printed rows of one column."""
    return [row for row in published if row.method == label]


def make_row(
    study: Study,
    dataset: str,
    figure: Ranking,
    columns: Iterable[Column],
    samples: Mapping[tuple[str, str], Sample],
) -> tuple[Entry, ...]:
    """Ours with Wilcoxon's test against the best of ours, then the literature's."""
    mine = [samples.get((dataset, label), Sample()) for label in figure.criteria]
    means = [s.mean for s in mine if s.runs]
    lowest = min(means, default=math.nan)
    best = next((s for s in mine if s.runs and s.mean == lowest), None)
    ours = [
        Entry(
            s.mean,
            s.sd / math.sqrt(max(s.runs, 1)),
            s.runs,
            s is best or s.mean == lowest,
            close(s, best),
        )
        for s in mine
    ]
    name = study.experiment.info(dataset).stands_for or dataset
    known = [c.values.get(name, (math.nan, math.nan)) for c in columns]
    return (*ours, *(Entry(mean, spread, 0, False, None) for mean, spread in known))


def close(mine: Sample, best: Sample | None) -> bool | None:
    """Not significantly different from the best at 5 %; None where nothing can be tested."""
    if best is None or not mine.runs:
        return None
    shared = frozenset(mine.errors) & frozenset(best.errors)
    a, b = (np.array(list(s.on(shared).errors.values())) for s in (mine, best))
    p = wilcoxon(a, b) if mine is not best else 1.0
    return None if math.isnan(p) else p >= LEVEL


def matrix(
    study: Study,
    figure: Ranking,
    columns: Iterable[Column],
    samples: Mapping[tuple[str, str], Sample],
) -> tuple[Array, tuple[str, ...]]:
    """(data sets, columns) of means over shared splits, where every column has a number.

    No stand-in is ranked beside what it stands for.
    """
    rows: dict[str, list[float]] = {}
    for dataset in study.experiment.datasets:
        mine = [samples.get((dataset, label), Sample()) for label in figure.criteria]
        shared = frozenset.intersection(*(frozenset(s.errors) for s in mine))
        name = study.experiment.info(dataset).stands_for or dataset
        known = [c.values.get(name, (math.nan, 0.0))[0] for c in columns]
        if shared and not any(map(math.isnan, known)) and name not in rows:
            rows[dataset] = [significant(s.on(shared).mean) for s in mine] + known
    values = np.array(list(rows.values()), dtype=np.float64).reshape(len(rows), len(figure.labels))
    return values, tuple(rows)


def published_ranks(study: Study, figure: Ranking) -> Ranks:
    """The ranks of the printed means: of one table, or where none is named of all, the first print of a number."""
    paper, labels = study.paper, figure.labels
    found: dict[str, dict[str, float]] = {}
    for row in study.published:
        name = paper.column(row.method) if paper else row.method
        if name in labels and figure.table in ("", row.table):
            found.setdefault(row.dataset, {}).setdefault(name, row.mean)
    rows = {d: means for d, means in found.items() if len(means) == len(labels)}
    values = np.array([[means[m] for m in labels] for means in rows.values()], dtype=np.float64)
    return rank(values.reshape(len(rows), len(labels)), tuple(rows))
