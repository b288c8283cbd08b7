"""A paper's own numbers beside ours: how far apart, in standard errors of the two means."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from kselect.core.experiment import Experiment
from kselect.core.method import Setting
from kselect.papers import Paper
from kselect.stats.comparison import Cell
from kselect.stats.published import Published
from kselect.stats.rankings import Ranking
from kselect.stats.study import Study

Verdict = Literal["within 2", "2 to 4", "beyond 4", "no spread", "missing"]
VERDICTS: tuple[Verdict, ...] = ("within 2", "2 to 4", "beyond 4", "no spread", "missing")


@dataclass(frozen=True)
class Distance:
    """One published cell beside ours, in the data set's unit; ours is NaN where it is missing.

    ``method`` and ``setting`` are our names, ``stand_in`` the data set whose numbers are ours where the paper's
    own was not to be had; ``errors`` is ``difference / sqrt(se_published^2 + se_ours^2)``, and ``deviations`` the
    same by standard deviations of a single split.
    """

    published: Published
    method: str
    setting: Setting
    mean: float
    sd: float
    runs: int
    difference: float
    errors: float
    verdict: Verdict
    deviations: float = math.nan
    stand_in: str = ""


def distances(study: Study, loss: str) -> tuple[Distance, ...]:
    """Every published test error beside ours under one loss; none where the paper is not known.

    Columns that are quoted from the literature have nothing of ours to stand beside.
    """
    paper = study.paper
    if paper is None:
        return ()
    quoted = {
        label for f in study.experiment.figures if isinstance(f, Ranking) for label in f.printed
    }
    return tuple(
        measure(study, loss, paper, row) for row in study.published if row.method not in quoted
    )


def measure(study: Study, loss: str, paper: Paper, row: Published) -> Distance:
    """One published cell, or its stand-in; it stays listed where we have no number for it."""
    method = our_column(study.experiment, paper.column(row.method))
    setting = our_setting(study.experiment, row.setting)
    cell, twin = study.comparison(loss).cell(setting, row.dataset, method), ""
    if cell is None or not cell.runs:
        twin = stand_in(study.experiment, row.dataset)
        cell = study.comparison(loss).cell(setting, twin, method)
    if cell is None or not cell.runs:
        nothing = math.nan
        return Distance(row, method, setting, nothing, nothing, 0, nothing, nothing, "missing")
    difference = cell.mean - row.mean
    errors = divide(difference, combine(published_error(row, paper), cell))
    deviations = divide(difference, math.hypot(published_deviation(row, paper), cell.sd))
    return Distance(
        *(row, method, setting, cell.mean, cell.sd, cell.runs),
        *(difference, errors, judge(errors), deviations, twin),
    )


def our_column(experiment: Experiment, printed: str) -> str:
    """The column of that name, or the only one that is it with other parameters: ``5-KS(eta=4)`` for ``5-KS``."""
    if printed in experiment.labels:
        return printed
    others = [label for label in experiment.labels if label.partition("(")[0] == printed]
    return others[0] if len(others) == 1 else printed


def stand_in(experiment: Experiment, dataset: str) -> str:
    """The data set of the experiment that takes the place of a published one, empty where none does."""
    return next((d for d in experiment.datasets if experiment.info(d).stands_for == dataset), "")


def our_setting(experiment: Experiment, printed: Setting) -> Setting:
    """The setting of the experiment that a paper means, or the paper's own where there is none."""
    return next((s for s in experiment.settings if same(s, printed)), printed)


def same(one: Setting, other: Setting) -> bool:
    """Whether two settings have the same ridge, up to rounding."""
    if one.value is None or other.value is None:
        return one.value is other.value
    return one.unit == other.unit and math.isclose(one.value, other.value)


def published_error(row: Published, paper: Paper) -> float:
    """The paper's standard error: its standard deviation is over the paper's own number of splits."""
    return row.spread if row.kind == "se" else row.spread / math.sqrt(paper.splits_on(row.dataset))


def published_deviation(row: Published, paper: Paper) -> float:
    """The paper's standard deviation over its splits."""
    return row.spread * math.sqrt(paper.splits_on(row.dataset)) if row.kind == "se" else row.spread


def combine(published: float, cell: Cell) -> float:
    """The standard error of the difference of two independent means."""
    return math.hypot(published, cell.sd / math.sqrt(cell.runs))


def divide(difference: float, error: float) -> float:
    """``difference / error``; without any spread only an equal mean is near."""
    if error == 0:
        return math.copysign(math.inf, difference) if difference else 0.0
    return difference / error


def judge(errors: float) -> Verdict:
    """Within 2 standard errors, 2 to 4, or beyond; one split alone has no spread to judge by."""
    if math.isnan(errors):
        return "no spread"
    return "within 2" if abs(errors) <= 2 else "2 to 4" if abs(errors) <= 4 else "beyond 4"


@dataclass(frozen=True)
class ColumnCounts:
    """Of one column, or of all of them: cells by verdict, and those within one deviation of a single split."""

    column: str
    cells: int
    verdicts: dict[Verdict, int]
    near: int


def count_columns(found: Iterable[Distance]) -> tuple[ColumnCounts, ...]:
    """Column by column in the order of the published table, then all."""
    cells = list(found)
    columns = {
        m: [d for d in cells if d.method == m] for m in dict.fromkeys(d.method for d in cells)
    }
    return tuple(count_column(name, mine) for name, mine in [*columns.items(), ("all", cells)])


def count_column(name: str, cells: Sequence[Distance]) -> ColumnCounts:
    """The counts of some cells."""
    near = sum(abs(d.deviations) <= 1.0 for d in cells)
    return ColumnCounts(name, len(cells), count_verdicts(cells), near)


def off_everywhere(found: Iterable[Distance]) -> tuple[str, ...]:
    """The data sets of which every cell that can be judged is beyond 4 standard errors."""
    verdicts: dict[str, set[Verdict]] = {}
    for d in found:
        if d.verdict not in ("no spread", "missing"):
            verdicts.setdefault(d.published.dataset, set()).add(d.verdict)
    return tuple(name for name, seen in verdicts.items() if seen == {"beyond 4"})


def count_verdicts(found: Iterable[Distance]) -> dict[Verdict, int]:
    """How many cells have each verdict, in their fixed order."""
    counts = Counter(d.verdict for d in found)
    return {v: counts[v] for v in VERDICTS}
