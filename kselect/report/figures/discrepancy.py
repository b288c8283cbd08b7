"""Distance of a series from cross-validation over its order, at the grid points that some methods choose.

This is figure 1 of icml2014.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from kselect.core.experiment import FigureContext
from kselect.core.method import Method
from kselect.core.table import Values
from kselect.criteria import PROBES
from kselect.report import style
from kselect.report.elements import File, Passage
from kselect.report.figures.base import FigureBase, FigureReader
from kselect.report.words import mark_label
from kselect.report.writers import numbers_file
from kselect.stats.samples import select, table_records
from kselect.stats.study import Study

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

# The probes of the mean square difference and of the rate, and the parameter of the first.
VALUE, RATE, ORDER = "bif-discrepancy", "bif-rate", "order"
# Below this share of the scale a series counts as exact.
EXACT = 0.01
COLUMNS = (
    *("dataset", "method", "order", "mean_square", "predicted_mean_square", "share_of_scale"),
    *("scale", "rate", "splits"),
)
PANEL = 1.3  # inches
DODGE = 0.45
# The axis in percent. Smaller values are as good as exact, and lines may leave the axis at the bottom.
LOWEST, HIGHEST = 1e-4, 100.0
DECADES = (1e-4, 1e-2, 1.0, 100.0)


@dataclass(frozen=True)
class Discrepancy(FigureBase, kind="discrepancy"):
    """``{kind: discrepancy, at: [5-CV, 10-CV], order: 1:10, datasets: [heart]}``."""

    LISTED: ClassVar[str] = "at"

    at: tuple[str, ...]
    orders: tuple[int, ...]
    datasets: tuple[str, ...]

    @classmethod
    def parse(cls, name: str, config: FigureReader) -> Self:
        """Read a figure whose methods have folds and whose orders are whole numbers."""
        parameter, values = config.sweep("at", "datasets")
        labels = config.labels("at")
        for label in labels:
            if config.context.methods[label].folds is None:
                config.wrong(("at",), f"{label} has no folds for a probe to look at")
        orders = config.values(PROBES[VALUE], VALUE, parameter, values) if values else ()
        return cls(name, labels, orders, config.datasets())

    def methods(self, context: FigureContext) -> Iterable[Method]:
        """Return the probes where each method has its best score: the difference at each order, and the rate."""
        # A method without data sets stands for all of them: yield none if a flag left no data set of the figure.
        for label in self.at if self.datasets else ():
            probes = [(VALUE, ((ORDER, order),)) for order in self.orders]
            for name, params in (*probes, (RATE, ())):
                folds = context.methods[label].folds
                yield Method(
                    *(label, name, folds, params),
                    part=self.name,
                    at=label,
                    datasets=self.datasets,
                )

    def show(self, study: Study) -> Iterator[File | Passage]:
        """Yield one panel per data set, all on one log axis."""
        reconstructed = study.reconstructed  # a figure is drawn again if what it uses has changed
        tracks = study.once(follow, self)
        claims = (c for c in study.experiment.claims if c.kind == "exact")
        order = next((c.order for c in claims if c.figure == self.name), None)
        shares = [] if order is None else known_shares(tracks, order)
        drawn_order = order if shares else None
        yield from style.show_figure(
            self.name,
            lambda width: draw_discrepancy(self, tracks, drawn_order, reconstructed, width),
            f"Root mean square difference over the {ORDER}, one panel per data set",
            describe(self, drawn_order, shares),
            sum_up(tracks, order),
        )
        rows = (row for track in tracks for row in track.rows())
        yield numbers_file(self.name, COLUMNS, rows)
        yield from style.show_figure(
            f"{self.name}-mean-square",
            lambda width: draw_mean_squares(self, tracks, reconstructed, width),
            f"Mean square difference over the {ORDER}, one panel per data set",
            "The same differences as the paper draws them: mean squares in the unit of the target, on linear axes "
            "that begin at zero. A difference that is small next to that of the first order looks like zero here.",
            sum_up_squares(tracks, order),
            "The same as mean square errors, on linear axes",
            numbers=self.name,
        )


# Numbers


@dataclass(frozen=True)
class Track:
    """The mean square difference of one method on one data set over the order.

    Attributes
    ----------
    points
        (order, mean over splits).
    predicted
        (order x, mean over splits of ``v_1 rate^(2 (x - x_1))``): what the first value and the rate of each split
        predict.
    rate
        The mean rate of the series.
    scale
        What a root mean square is divided by.
    runs
        Order -> number of splits with a value.
    """

    dataset: str
    method: str
    points: tuple[tuple[float, float], ...]
    predicted: tuple[tuple[float, float], ...]
    rate: float
    scale: float
    runs: Mapping[float, int]

    def rows(self) -> Iterator[Values]:
        """Yield a row per order: the mean square, what the rate predicts, and the root as a share of the scale."""
        predicted = dict(self.predicted)
        for x, value in self.points:
            numbers = (value, predicted.get(x), self.share(value), self.scale, self.rate)
            yield (self.dataset, self.method, x, *numbers, self.runs[x])

    def share(self, mean_square: float) -> float:
        """Return the root of a mean square as a share of the scale."""
        return math.sqrt(mean_square) / self.scale if self.scale > 0 else math.nan

    def relative(self, x: float) -> float:
        """Return the root mean square at an order as a share of the scale; NaN without a value."""
        return self.share(dict(self.points).get(x, math.nan))


def follow(study: Study, figure: Discrepancy) -> tuple[Track, ...]:
    """Compute the tracks of a figure: every method on every data set, even without values."""
    experiment = study.experiment
    found = select(study.records, experiment, figure.name)
    found = found[found["status"] == "ok"]
    orders = [
        float(dict(m.params).get(ORDER, math.nan)) if m else math.nan for m in found["made_by"]
    ]
    probes, table = (
        found.assign(x=orders),
        table_records(study.records, experiment, experiment.loss),
    )

    def track(dataset: str, label: str) -> Track:
        probed, column = (
            rows[(rows["dataset"] == dataset) & (rows["method"] == label)]
            for rows in (probes, table)
        )
        return make_track(dataset, label, probed, column)

    return tuple(track(dataset, label) for dataset in figure.datasets for label in figure.at)


def make_track(dataset: str, label: str, found: pd.DataFrame, column: pd.DataFrame) -> Track:
    """Compute the means over splits of what the probes found on one data set for one method."""
    rates = found[found["criterion"] == RATE]
    values = found[found["criterion"] == VALUE]
    by_order = {float(rows["x"].iloc[0]): rows["score"] for _, rows in values.groupby("x")}
    return Track(
        dataset,
        label,
        tuple((x, float(scores.mean())) for x, scores in by_order.items()),
        predict(values, rates),
        float(rates["score"].mean()) if len(rates) else math.nan,
        target_scale(column),
        {x: len(scores) for x, scores in by_order.items()},
    )


def predict(values: pd.DataFrame, rates: pd.DataFrame) -> tuple[tuple[float, float], ...]:
    """Return the mean over splits of ``v_1 rate^(2 (x - x_1))``.

    It is computed per split, as large rates dominate a mean.
    """
    if not len(values) or not len(rates):
        return ()
    start = float(values["x"].min())
    first = values[values["x"] == start].set_index("split")["score"]
    rate = rates.set_index("split")["score"]
    xs = sorted({float(x) for x in values["x"]})
    return tuple((x, float((first * rate ** (2 * (x - start))).mean())) for x in xs)


def target_scale(column: pd.DataFrame) -> float:
    """Return 1 for labels -1 and +1, and the root of the cross-validation error for a regression."""
    good = column[column["status"] == "ok"]
    if not len(good):
        return math.nan
    if not (good["metric"] == "mse").any():
        return 1.0
    return math.sqrt(float(good["score"].mean()))


def known_shares(tracks: Iterable[Track], order: float) -> list[float]:
    """Return the share of the scale at an order, of the tracks that have a value there."""
    return [share for t in tracks if not math.isnan(share := t.relative(order))]


# Words


def sum_up(tracks: Sequence[Track], order: float | None) -> str:
    """Return the title: how many series are exact at an order, by default the last one."""
    last = max((x for t in tracks for x, _ in t.points), default=math.nan)
    x = last if order is None else order
    shares = known_shares(tracks, x)
    if not shares:
        return ""
    exact = sum(share < EXACT for share in shares)
    return f"At order {x:g}, {exact} of {len(shares)} series are within {100 * EXACT:g} % of exact k-CV"


def sum_up_squares(tracks: Sequence[Track], order: float | None) -> str:
    """Return the title: what is left at an order, by default the last one, of the first order's difference."""
    ratios, last = [], math.nan
    for points in (dict(t.points) for t in tracks if t.points):
        first, last = min(points), max(points) if order is None else order
        if points[first] > 0 and last in points:
            ratios.append(points[last] / points[first])
    if not ratios:
        return ""
    return (
        f"At order {last:g}, {100 * statistics.median(ratios):.2g} % of the first order's mean square difference "
        f"is left (median of {len(ratios)} series)"
    )


def describe(figure: Discrepancy, order: int | None, shares: Sequence[float]) -> str:
    """Return the caption, with the number of curves below one percent at the paper's order."""
    counted = (
        f" At order {order} (dotted) a filled marker is below it: "
        f"{sum(share < EXACT for share in shares)} of {len(shares)}."
    )
    return (
        "Root mean square difference between the approximated and the exact held-out predictions over "
        f"the {ORDER}, at the parameters that {', '.join(figure.at)} select, in percent of the target's scale "
        "(1 for labels, the root of the cross-validation error for a regression). All panels have the same axis. "
        f"The line is 1 %.{counted if shares else ''} Dashed: the prediction from the first value and the rate of "
        "the series."
    )


# Drawing


def draw_discrepancy(
    figure: Discrepancy,
    tracks: Sequence[Track],
    order: int | None,
    names: Mapping[str, str],
    width: float,
) -> Canvas:
    """Draw one panel per data set; ``order`` is where the paper calls the series exact."""
    count = max(1, len(figure.datasets))
    canvas, axes = style.lay_out(count, width, PANEL, 1.9, 0.9, most=5, sharex=True, sharey=True)
    orders = sorted({x for t in tracks for x, _ in t.points})
    ticks = [x for x in orders if order is None or (x - order) % 2 == 0]
    known = [share for x in orders for share in known_shares(tracks, x)]
    highest = max([HIGHEST, *(150.0 * share for share in known)])
    for dataset, ax in zip(figure.datasets, axes, strict=False):
        draw_panel(ax, dataset, [t for t in tracks if t.dataset == dataset], order)
        ax.set_ylim(LOWEST, highest)
        ax.set_xticks(ticks)
    up = "root mean square difference to exact k-CV (% of the scale)"
    curves = [{**point_style(i, True), "linestyle": "-"} for i, _ in enumerate(figure.at)]
    dashed = {"color": style.INK, "linewidth": 0.8, "linestyle": (0, (4, 2))}
    labels = [*(mark_label(label, names) for label in figure.at), "predicted by the rate"]
    columns = min(4, int(width / 1.7))
    style.label_canvas(canvas, f"{ORDER} of the series", up, [*curves, dashed], labels, columns)
    return canvas


def draw_mean_squares(
    figure: Discrepancy, tracks: Sequence[Track], names: Mapping[str, str], width: float
) -> Canvas:
    """Draw the mean squares, one panel per data set, each with its own linear axis from zero on."""
    count = max(1, len(figure.datasets))
    canvas, axes = style.lay_out(count, width, PANEL, 1.9, 0.9, most=5, sharex=True)
    for dataset, ax in zip(figure.datasets, axes, strict=False):
        mine = [t for t in tracks if t.dataset == dataset]
        highest = max((v for t in mine for _, v in t.points), default=0.0)
        power = math.floor(math.log10(highest)) if highest > 0 else 0
        # The unit is part of the title: above the axis it would run into it.
        ax.set_title(f"{dataset} (1e{power})" if power else dataset)
        if not any(t.points for t in mine):
            style.say_no_data(ax)
            continue
        for i, track in enumerate(mine):
            xs, values = [x for x, _ in track.points], [v / 10.0**power for _, v in track.points]
            ax.plot(xs, values, linewidth=1.2, markersize=3, **style.look(i))
        ax.set_ylim(bottom=0.0)
        style.tidy_up(ax)
    looks = [style.look(i) for i, _ in enumerate(figure.at)]
    labels = [mark_label(label, names) for label in figure.at]
    across, up = f"{ORDER} of the series", "mean square difference to exact k-CV"
    style.label_canvas(canvas, across, up, looks, labels, min(4, int(width / 1.7)))
    return canvas


def draw_panel(ax: Axes, dataset: str, tracks: Sequence[Track], order: int | None) -> None:
    """Draw one data set; the title counts the curves below one percent at the order."""
    shares = [] if order is None else known_shares(tracks, order)
    count = f": {sum(s < EXACT for s in shares)} of {len(shares)}" if shares else ""
    ax.set_title(dataset + count)
    if not any(track.points for track in tracks):
        style.say_no_data(ax)
        return
    style.tidy_up(ax)
    ax.set_yscale("log")
    ax.set_yticks(DECADES, ["0.0001", "0.01", "1", "100"])
    ax.minorticks_off()
    ax.axhline(100 * EXACT, color=style.BAD, linewidth=1.0)
    if order is not None:
        ax.axvline(order, color=style.SOFT, linewidth=0.8, linestyle=":")
    for i, track in enumerate(tracks):
        shade, dashes = style.look(i)["color"], (0, (4, 2))
        predicted = in_percent(track, track.predicted)
        ax.plot(*predicted, color=shade, linewidth=0.8, linestyle=dashes)
        ax.plot(*in_percent(track, track.points), color=shade, linewidth=1.2)
        if order is not None and not math.isnan(share := track.relative(order)):
            x = order + DODGE * (i - 1)
            ax.plot([x], [100 * share], zorder=3, **point_style(i, share < EXACT))


def in_percent(
    track: Track, points: Sequence[tuple[float, float]]
) -> tuple[list[float], list[float]]:
    """Return orders and shares; a share below the axis, even 0, is moved to just below it."""
    shares = [100 * track.share(v) for _, v in points]
    return [x for x, _ in points], [s if math.isnan(s) else max(s, LOWEST / 100) for s in shares]


def point_style(i: int, filled: bool) -> dict[str, Any]:
    """Return the style of the i-th method's marker, which is filled below one percent."""
    look = style.look(i)
    face = look["color"] if filled else style.PAPER
    more = {"markersize": 5, "markeredgewidth": 1.2, "linestyle": "", "markerfacecolor": face}
    return look | more
