"""A figure's numbers: test error over one parameter of some criteria, with k-CV for reference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kselect.core.experiment import Experiment
from kselect.stats.samples import (
    Pairs,
    Sample,
    half_width,
    match,
    paired,
    sample,
    select,
    table_records,
    within,
)

if TYPE_CHECKING:
    import pandas as pd

    from kselect.stats.study import Study


@dataclass(frozen=True)
class Sweep:
    """A figure of a config: test error over one parameter of some criteria, at one fixed lam.

    ``datasets`` None: all of the experiment.
    """

    name: str
    criteria: tuple[str, ...]
    parameter: str
    values: tuple[float, ...]
    lam: float
    datasets: tuple[str, ...] | None = None
    kind: str = "sweep"


@dataclass(frozen=True)
class Point:
    """Mean and sd of the test error at one value; sd is NaN below two runs."""

    x: float
    mean: float
    sd: float


@dataclass(frozen=True)
class Gap:
    """How much higher a criterion's test error is than k-CV's on the same splits, at one value.

    ``half`` is the half width of a band that leaves 0 where the corrected one-sided t-test at 5 % finds a
    difference; ``clear`` says whether the papers' own t-test finds one.
    """

    x: float
    mean: float
    half: float
    clear: bool


@dataclass(frozen=True)
class Curve:
    """One criterion on one data set: its errors, and how far they are from its reference's."""

    method: str
    points: tuple[Point, ...]
    gaps: tuple[Gap, ...] = ()


@dataclass(frozen=True)
class Level:
    """The mean test error of k-CV with the folds of a curve, and its standard deviation over splits."""

    method: str
    mean: float
    sd: float


@dataclass(frozen=True)
class Panel:
    """One data set: one curve per criterion, and k-CV for each number of folds."""

    dataset: str
    unit: str
    curves: tuple[Curve, ...]
    references: tuple[Level, ...]

    @property
    def sd(self) -> float:
        """The largest standard deviation of a reference, by which differences are judged; 0 without one."""
        return max((r.sd for r in self.references if r.sd > 0), default=0.0)


@dataclass(frozen=True)
class Curves:
    """The numbers of a sweep; a reference stands with the position of the curve that has its folds."""

    methods: tuple[str, ...]
    references: tuple[tuple[str, int], ...]
    panels: tuple[Panel, ...]


def trace(study: Study, sweep: Sweep) -> Curves:
    """The panels of a sweep, one per data set that it names, also where it is empty."""
    experiment = study.experiment
    mine = swept(study, sweep)
    methods = tuple(dict.fromkeys(m.label for m in experiment.methods if m.part == sweep.name))
    references = find_references(experiment, methods)
    rivals = {methods[i]: label for label, i in references}
    units = study.comparison(experiment.loss).units
    here = experiment.datasets if sweep.datasets is None else sweep.datasets

    def panel(dataset: str) -> Panel:
        levels = find_levels(study, sweep, dataset, list(rivals.values()))
        rows = mine[mine["dataset"] == dataset]
        curves = (make_curve(rows, m, levels.get(rivals.get(m, ""), Sample())) for m in methods)
        known = (Level(r, s.mean, s.sd) for r, s in levels.items() if s.runs)
        return Panel(dataset, units.get(dataset, ""), tuple(curves), tuple(known))

    return Curves(methods, references, tuple(panel(d) for d in here))


def swept(study: Study, sweep: Sweep) -> pd.DataFrame:
    """The records of a sweep with the parameter's value under ``x``, from the method that made each."""
    experiment = study.experiment
    mine = select(within(study.records, experiment), sweep.name, experiment.loss)
    names = zip(mine["part"], mine["method"], mine["params"], strict=True)
    made = [study.methods.get(name) for name in names]
    values = [dict(m.params).get(sweep.parameter, math.nan) if m else math.nan for m in made]
    return mine.assign(x=[float(v) for v in values])


def make_curve(records: pd.DataFrame, method: str, reference: Sample) -> Curve:
    """The points of a criterion, ascending; a log axis has only positive finite values."""
    mine = records[records["method"] == method]
    groups = {float(rows["x"].iloc[0]): sample(rows) for _, rows in mine.groupby("x")}
    drawn = {x: s for x, s in sorted(groups.items()) if s.runs and 0 < x < math.inf}
    points = tuple(Point(x, s.mean, s.sd) for x, s in drawn.items())
    gaps = (make_gap(x, match(s, reference)) for x, s in drawn.items())
    return Curve(method, points, tuple(g for g in gaps if not math.isnan(g.mean)))


def make_gap(x: float, pairs: Pairs) -> Gap:
    """The paired difference at one value, NaN where no split is shared."""
    d = pairs.difference
    if not len(d):
        return Gap(x, math.nan, math.nan, False)
    clear = paired(d).significant or paired(-d).significant
    return Gap(x, math.fsum(d) / len(d), half_width(d, pairs.test_over_train), clear)


def find_references(experiment: Experiment, methods: Sequence[str]) -> tuple[tuple[str, int], ...]:
    """The k-CV columns of the table that have the folds of a curve, and which curve that is."""
    folds = {m.folds: methods.index(m.label) for m in experiment.methods if m.label in methods}
    table = (m for m in experiment.table if m.criterion == "k-CV")
    return tuple({m.label: folds[m.folds] for m in table if m.folds in folds}.items())


def find_levels(
    study: Study, sweep: Sweep, dataset: str, labels: Sequence[str]
) -> dict[str, Sample]:
    """The errors of each reference on one data set, from the table at the sweep's ridge."""
    experiment = study.experiment
    setting = next(s for s in experiment.settings if s.value in (None, sweep.lam))
    table = table_records(study.records, experiment, experiment.loss)
    mine = table[(table["dataset"] == dataset) & (table["setting"] == setting.text)]
    return {label: sample(mine[mine["method"] == label]) for label in dict.fromkeys(labels)}
