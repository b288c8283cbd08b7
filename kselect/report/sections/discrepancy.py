"""How far a series is from cross-validation over its order, at the best of some columns (icml2014, figure 1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING, Any

from kselect.criteria import PROBES
from kselect.model.experiment import Columns
from kselect.model.method import Method
from kselect.report.blocks import Shown
from kselect.report.panels import colour, lay_out, marker, say_no_data, show_figure, tidy_up
from kselect.report.sections.base import (
    Wrong,
    figure,
    parse_values,
    read_datasets,
    read_labels,
    read_sweep,
)
from kselect.report.words import mark_label
from kselect.stats.discrepancy import ORDER, RATE, VALUE, Discrepancy, Panel, Track, follow
from kselect.stats.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

KEYS = ("at", "datasets")
COLUMNS = 5
# Below this a mean square of differences is nothing but rounding.
FLOOR = 1e-30


@figure("discrepancy")
class DiscrepancyFigure:
    """``{kind: discrepancy, at: [5-CV, 10-CV], order: 1:10, datasets: [heart]}``."""

    def read(
        self, name: str, written: Mapping[str, Any], columns: Columns, wrong: Wrong
    ) -> Discrepancy:
        """Each column has folds, and the order is a whole number."""
        parameter, values = read_sweep(written, KEYS, wrong)
        labels = read_labels("at", written, columns, wrong)
        for label in labels:
            if columns.first(label).folds is None:
                wrong(("at",), f"{label} has no folds for a probe to look at")
        orders = (
            tuple(parse_values(PROBES[VALUE], VALUE, parameter, values, wrong)) if values else ()
        )
        return Discrepancy(name, tuple(labels), orders, read_datasets(written, columns, wrong))

    def methods(self, figure: Discrepancy, columns: Columns) -> Iterable[Method]:
        """The difference at each order, and the rate once."""
        # A flag may have left none of its data sets, and a method without any stands for all.
        for label in figure.at if figure.datasets else ():
            folds = columns.first(label).folds
            for order in figure.orders:
                yield probe(figure, label, VALUE, folds, ((ORDER, order),))
            yield probe(figure, label, RATE, folds, ())

    def keep(self, figure: Discrepancy, labels: frozenset[str]) -> Discrepancy | None:
        """With some of its columns."""
        kept = tuple(c for c in figure.at if c in labels)
        return replace(figure, at=kept) if kept else None

    def show(self, figure: Discrepancy, study: Study) -> Shown:
        """One panel per data set, on a log axis; what the rate of the series predicts is a dashed line."""
        panels = study.once(follow, figure)
        return show_figure(
            figure.name,
            lambda: make_canvas(figure, panels, study.reconstructed),
            f"Mean square difference over the {ORDER}, one panel per data set",
            "Mean square difference between the approximated and the exact held-out predictions over "
            f"the {ORDER}, at the parameters that {', '.join(figure.at)} select; dashed: "
            "what the rate of the series predicts from the first value on.",
        )


def probe(
    figure: Discrepancy,
    label: str,
    name: str,
    folds: int | None,
    params: tuple[tuple[str, Any], ...],
) -> Method:
    """What is looked at where a column has its best."""
    return Method(label, name, folds, params, part=figure.name, at=label, datasets=figure.datasets)


def make_canvas(
    figure: Discrepancy, panels: Sequence[Panel], reconstructed: Mapping[str, str]
) -> Canvas:
    """Panels in rows of at most five, one legend above them."""
    from matplotlib.lines import Line2D

    columns = min(COLUMNS, max(1, len(panels)))
    rows = ceil(len(panels) / columns) or 1
    width, height = 2.15 * columns + 0.6, 2.1 * rows + 0.8
    canvas, axes = lay_out(len(panels), columns, width, height, sharex=True)
    for panel, ax in zip(panels, axes, strict=True):
        draw_panel(ax, panel)
    canvas.supxlabel(ORDER, fontsize=10)
    canvas.supylabel("mean square difference to exact k-CV", fontsize=10)
    handles = [
        Line2D([], [], color=colour(i), marker=marker(i), markersize=4, linewidth=1.2)
        for i, _ in enumerate(figure.at)
    ]
    thin = Line2D([], [], color="0.4", linewidth=0.7, linestyle="--")
    names = [mark_label(label, reconstructed) for label in figure.at]
    labels = [*names, "predicted by the rate of the series"]
    canvas.legend([*handles, thin], labels, loc="outside upper center", ncols=4, frameon=False)
    return canvas


def draw_panel(ax: Axes, panel: Panel) -> None:
    """One data set: one line per column with what its rate predicts, or "no data"."""
    ax.set_title(panel.dataset, fontsize=9.5)
    if not any(track.points for track in panel.tracks):
        say_no_data(ax)
        return
    for i, track in enumerate(panel.tracks):
        draw_track(ax, track, i)
    ax.set_yscale("log")
    low, high = ax.get_ylim()
    ax.set_ylim(max(low, FLOOR / 10), high)
    tidy_up(ax)
    ax.tick_params(labelsize=8)


def draw_track(ax: Axes, track: Track, i: int) -> None:
    """The means, and from the first of them on what the rates predict."""
    ax.plot(
        *cut_off(track.points), color=colour(i), marker=marker(i), markersize=2.8, linewidth=1.1
    )
    ax.plot(*cut_off(track.predicted), color=colour(i), linewidth=0.7, linestyle="--")


def cut_off(points: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    """Abscissae and ordinates, none below the floor."""
    return [x for x, _ in points], [max(v, FLOOR) for _, v in points]
