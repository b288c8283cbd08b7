"""A figure's numbers: test error over one parameter of some criteria, with k-CV for reference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from kselect.model.experiment import Experiment
from kselect.model.method import TABLE
from kselect.stats.comparison import Comparison
from kselect.stats.samples import sample, select


@dataclass(frozen=True)
class Sweep:
    """A figure of a config: test error over one parameter of some criteria, at one fixed lam."""

    name: str
    criteria: tuple[str, ...]
    parameter: str
    values: tuple[float, ...]
    lam: float
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
    """One data set: a curve for each criterion, and k-CV's mean error for each number of folds."""

    dataset: str
    unit: str
    curves: tuple[Curve, ...]
    references: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Figure:
    """A sweep over a parameter; a reference stands with the curve (0, 1, ..) of its folds."""

    name: str
    parameter: str
    lam: float
    methods: tuple[str, ...]
    references: tuple[tuple[str, int], ...]
    panels: tuple[Panel, ...]


def trace(
    experiment: Experiment, records: pd.DataFrame, sweep: Sweep, comparison: Comparison
) -> Figure:
    """The panels of a sweep, one for each data set of the experiment, also where it is empty."""
    mine = select(records, sweep.name, experiment.loss)
    mine = mine[mine["split"].isin(experiment.splits)]
    mine = mine.assign(x=[read_parameter(p, sweep.parameter) for p in mine["params"]])
    methods = tuple(dict.fromkeys(m.label for m in experiment.methods if m.part == sweep.name))
    references = find_references(experiment, methods)
    panels = tuple(
        Panel(
            dataset,
            comparison.units.get(dataset, ""),
            tuple(make_curve(mine, dataset, m) for m in methods),
            find_levels(experiment, sweep, comparison, dataset, [r for r, _ in references]),
        )
        for dataset in experiment.datasets
    )
    return Figure(sweep.name, sweep.parameter, sweep.lam, methods, references, panels)


def read_parameter(params: object, name: str) -> float:
    """``average=folds;eta=0.5`` -> the value of a parameter, NaN where it has none."""
    pairs = (part.partition("=") for part in str(params).split(";"))
    return next((float(value) for key, _, value in pairs if key == name), math.nan)


def make_curve(records: pd.DataFrame, dataset: str, method: str) -> Curve:
    """The points of a criterion, ascending; a log axis has only positive finite values."""
    mine = records[(records["dataset"] == dataset) & (records["method"] == method)]
    samples = {float(str(x)): sample(rows) for x, rows in mine.groupby("x")}
    drawn = sorted(x for x, s in samples.items() if s.runs and 0 < x < math.inf)
    return Curve(method, tuple(Point(x, samples[x].mean, samples[x].sd) for x in drawn))


def find_references(experiment: Experiment, methods: Sequence[str]) -> tuple[tuple[str, int], ...]:
    """The k-CV columns of the table that have the folds of a curve, and which curve that is."""
    folds = {m.folds: methods.index(m.label) for m in experiment.methods if m.label in methods}
    table = (m for m in experiment.methods if m.part == TABLE and m.criterion == "k-CV")
    return tuple({m.label: folds[m.folds] for m in table if m.folds in folds}.items())


def find_levels(
    experiment: Experiment,
    sweep: Sweep,
    comparison: Comparison,
    dataset: str,
    labels: Sequence[str],
) -> tuple[tuple[str, float], ...]:
    """The mean error of each reference on one data set, from the table at the sweep's ridge."""
    chosen = "selected" if experiment.lam.mode == "select" else setting(sweep.lam)
    block = comparison.block(chosen)
    cells = {label: block.cells.get((dataset, label)) if block else None for label in labels}
    return tuple((label, c.mean) for label, c in cells.items() if c is not None and c.runs)
