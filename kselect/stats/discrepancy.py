"""A figure's numbers: how far a series is from cross-validation over its order, and what its rate predicts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kselect.stats.samples import table_records, within

if TYPE_CHECKING:
    import pandas as pd

    from kselect.stats.study import Study

# The probes that find the mean square difference and the rate, and the parameter of the first.
VALUE, RATE, ORDER = "bif-discrepancy", "bif-rate", "order"


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
    """One column on one data set: (order, mean over splits), the mean rate, the scale to judge by.

    ``predicted``: what the first value and the rate of each split promise, v_1 rate^(2 (x - x_1)), averaged.
    ``runs`` is how many splits have a value at an order.
    """

    method: str
    points: tuple[tuple[float, float], ...]
    predicted: tuple[tuple[float, float], ...]
    rate: float
    scale: float
    runs: Mapping[float, int]

    def at(self, x: float) -> float:
        """The mean at an order, NaN where there is none."""
        return dict(self.points).get(x, math.nan)

    def relative(self, x: float) -> float:
        """The root mean square at an order as a share of the scale."""
        return self.share(self.at(x))

    def share(self, mean_square: float) -> float:
        """A mean square as the share of the scale that its root is."""
        return math.sqrt(mean_square) / self.scale if self.scale > 0 else math.nan


@dataclass(frozen=True)
class Panel:
    """One data set."""

    dataset: str
    tracks: tuple[Track, ...]


def follow(study: Study, figure: Discrepancy) -> tuple[Panel, ...]:
    """The panels of a figure, one per data set that it names, also where it is empty."""
    experiment = study.experiment
    mine = within(study.records, experiment)
    found = with_order(study, mine[(mine["part"] == figure.name) & (mine["status"] == "ok")])
    table = table_records(mine, experiment, experiment.loss)

    def track(dataset: str, label: str) -> Track:
        probed, column = (
            rows[(rows["dataset"] == dataset) & (rows["method"] == label)]
            for rows in (found, table)
        )
        return make_track(probed, column, label)

    return tuple(Panel(d, tuple(track(d, c) for c in figure.at)) for d in figure.datasets)


def with_order(study: Study, rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with the order under ``x``, from the method that made each; NaN for the rate."""
    names = zip(rows["part"], rows["method"], rows["params"], strict=True)
    made = [study.methods.get(name) for name in names]
    return rows.assign(
        x=[float(dict(m.params).get(ORDER, math.nan)) if m else math.nan for m in made]
    )


def make_track(found: pd.DataFrame, column: pd.DataFrame, label: str) -> Track:
    """The means over splits of what the probes found on one data set for one column."""
    rates = found[found["criterion"] == RATE]
    values = found[found["criterion"] == VALUE]
    by_order = [(float(rows["x"].iloc[0]), rows["score"]) for _, rows in values.groupby("x")]
    points = tuple((x, float(scores.mean())) for x, scores in by_order)
    rate = float(rates["score"].mean()) if len(rates) else math.nan
    runs = {x: len(scores) for x, scores in by_order}
    return Track(label, points, predict(values, rates), rate, target_scale(column), runs)


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
