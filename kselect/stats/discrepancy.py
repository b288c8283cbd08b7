"""A probe figure's numbers: what was found over a parameter where each column has its best."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd

from kselect.criteria import PROBES
from kselect.model.experiment import Experiment
from kselect.stats.samples import select
from kselect.stats.sweeps import read_parameter

EXACT = 0.01


@dataclass(frozen=True)
class Discrepancy:
    """A figure of a config: how far the series is from cross-validation over its order, at the best of columns."""

    name: str
    at: tuple[str, ...]
    orders: tuple[int, ...]
    datasets: tuple[str, ...]
    kind: str = "discrepancy"


@dataclass(frozen=True)
class Track:
    """One column on one data set: (parameter, mean over splits), the mean rate, the scale to judge by.

    ``predicted``: what the first value and the rate of each split promise, v_1 rate^(2 (x - x_1)), averaged.
    """

    method: str
    points: tuple[tuple[float, float], ...]
    predicted: tuple[tuple[float, float], ...]
    rate: float
    scale: float

    def at(self, x: float) -> float:
        """The mean at a value, NaN where there is none."""
        return dict(self.points).get(x, math.nan)

    def relative(self, x: float) -> float:
        """The root mean square at a value as a share of the scale."""
        return math.sqrt(self.at(x)) / self.scale if self.scale > 0 else math.nan


@dataclass(frozen=True)
class ProbePanel:
    """One data set."""

    dataset: str
    tracks: tuple[Track, ...]


@dataclass(frozen=True)
class ProbeGraph:
    """A figure of probes."""

    name: str
    parameter: str
    methods: tuple[str, ...]
    panels: tuple[ProbePanel, ...]


def follow(experiment: Experiment, records: pd.DataFrame, figure: ProbeFigure) -> ProbeGraph:
    """The panels of a probe figure, one for each of its data sets, also where it is empty."""
    mine = records[(records["part"] == figure.name) & (records["status"] == "ok")]
    table = select(records, TABLE, experiment.loss)
    panels = tuple(
        ProbePanel(
            dataset,
            tuple(
                make_track(
                    mine[(mine["dataset"] == dataset) & (mine["method"] == label)],
                    table[(table["dataset"] == dataset) & (table["method"] == label)],
                    figure,
                    label,
                )
                for label in figure.at
            ),
        )
        for dataset in figure.datasets
    )
    return ProbeGraph(figure.name, figure.parameter, figure.at, panels)


def make_track(found: pd.DataFrame, column: pd.DataFrame, figure: ProbeFigure, label: str) -> Track:
    """The means over splits of what the probes found on one data set for one column."""
    rates = found[found["criterion"].isin([p for p in figure.probes if PROBES[p].rate])]
    values = found.drop(rates.index)
    values = values.assign(x=[read_parameter(p, figure.parameter) for p in values["params"]])
    means = values.groupby("x")["score"].mean()
    points = tuple((float(str(x)), float(v)) for x, v in sorted(means.items()))
    rate = float(rates["score"].mean()) if len(rates) else math.nan
    return Track(label, points, predict(values, rates), rate, target_scale(column))


def predict(values: pd.DataFrame, rates: pd.DataFrame) -> tuple[tuple[float, float], ...]:
    """The mean over splits of ``v_1 rate^(2 (x - x_1))``, split by split: large rates rule a mean."""
    if not len(values) or not len(rates):
        return ()
    start = float(values["x"].min())
    first = values[values["x"] == start].set_index("split")["score"]
    rate = rates.set_index("split")["score"]
    xs = sorted({float(x) for x in values["x"]})
    return tuple((x, float((first * rate ** (2 * (x - start))).mean())) for x in xs)


def target_scale(column: pd.DataFrame) -> float:
    """1 for labels -1 and +1; in a regression the root of the cross-validation error."""
    good = column[column["status"] == "ok"]
    if not len(good):
        return math.nan
    if (good["metric"] == "zero-one").all():
        return 1.0
    return math.sqrt(float(good["score"].mean()))


@dataclass(frozen=True)
class Exactness:
    """Whether the series is as good as exact from an order on: on how many of the tracks, and how far off."""

    figure: str
    order: int
    exact: int
    total: int
    worst: tuple[str, str, float, float]

    @property
    def verdict(self) -> str:
        """By the rule of the claim."""
        if not self.total:
            return "no numbers"
        if self.exact == self.total:
            return "supported"
        return "mixed" if 2 * self.exact > self.total else "not supported"


def judge_exactness(graph: ProbeGraph, order: int) -> Exactness | None:
    """Where the root mean square difference at an order is below one percent of the target's scale."""
    tracks = [
        (panel.dataset, track, track.relative(order))
        for panel in graph.panels
        for track in panel.tracks
        if not math.isnan(track.relative(order))
    ]
    if not tracks:
        return None
    dataset, track, relative = max(tracks, key=lambda t: t[2])
    exact = sum(r < EXACT for _, _, r in tracks)
    worst = (dataset, track.method, relative, track.rate)
    return Exactness(graph.name, order, exact, len(tracks), worst)
