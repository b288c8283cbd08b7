"""A figure's numbers: test error over one parameter of some criteria, with k-CV for reference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kselect.model.experiment import Experiment
from kselect.stats.samples import sample, select, within

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
class Curve:
    """One criterion on one data set."""

    method: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Panel:
    """One data set: one curve per criterion, and k-CV's mean error for each number of folds."""

    dataset: str
    unit: str
    curves: tuple[Curve, ...]
    references: tuple[tuple[str, float], ...]


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
    units = study.comparison(experiment.loss).units
    panels = tuple(
        Panel(
            dataset,
            units.get(dataset, ""),
            tuple(make_curve(mine, dataset, m) for m in methods),
            find_levels(study, sweep, dataset, [r for r, _ in references]),
        )
        for dataset in (experiment.datasets if sweep.datasets is None else sweep.datasets)
    )
    return Curves(methods, references, panels)


def swept(study: Study, sweep: Sweep) -> pd.DataFrame:
    """The records of a sweep with the parameter's value under ``x``, from the method that made each."""
    experiment = study.experiment
    mine = select(within(study.records, experiment), sweep.name, experiment.loss)
    names = zip(mine["part"], mine["method"], mine["params"], strict=True)
    made = [study.methods.get(name) for name in names]
    values = [dict(m.params).get(sweep.parameter, math.nan) if m else math.nan for m in made]
    return mine.assign(x=[float(v) for v in values])


def make_curve(records: pd.DataFrame, dataset: str, method: str) -> Curve:
    """The points of a criterion, ascending; a log axis has only positive finite values."""
    mine = records[(records["dataset"] == dataset) & (records["method"] == method)]
    groups = {float(rows["x"].iloc[0]): sample(rows) for _, rows in mine.groupby("x")}
    drawn = sorted(x for x, s in groups.items() if s.runs and 0 < x < math.inf)
    return Curve(method, tuple(Point(x, groups[x].mean, groups[x].sd) for x in drawn))


def find_references(experiment: Experiment, methods: Sequence[str]) -> tuple[tuple[str, int], ...]:
    """The k-CV columns of the table that have the folds of a curve, and which curve that is."""
    folds = {m.folds: methods.index(m.label) for m in experiment.methods if m.label in methods}
    table = (m for m in experiment.table if m.criterion == "k-CV")
    return tuple({m.label: folds[m.folds] for m in table if m.folds in folds}.items())


def find_levels(
    study: Study, sweep: Sweep, dataset: str, labels: Sequence[str]
) -> tuple[tuple[str, float], ...]:
    """The mean error of each reference on one data set, from the table at the sweep's ridge."""
    experiment = study.experiment
    setting = next(s for s in experiment.settings if s.value in (None, sweep.lam))
    comparison = study.comparison(experiment.loss)
    cells = {label: comparison.cell(setting, dataset, label) for label in labels}
    return tuple((label, c.mean) for label, c in cells.items() if c is not None and c.runs)
