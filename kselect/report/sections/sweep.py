"""Test error over one parameter of some criteria, at one fixed ridge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import ceil, isclose, isnan, sqrt
from typing import TYPE_CHECKING, Any

from kselect.criteria import CRITERIA
from kselect.errors import ConfigError
from kselect.grids import parse_number, show_number
from kselect.model.experiment import Columns
from kselect.model.method import Method
from kselect.report.blocks import Shown
from kselect.report.panels import (
    colour,
    lay_out,
    marker,
    say_no_data,
    show_figure,
    symbol,
    tidy_up,
)
from kselect.report.sections.base import (
    Wrong,
    figure,
    parse_values,
    read_datasets,
    read_labels,
    read_sweep,
)
from kselect.report.words import LAM, mark_label
from kselect.stats.study import Study
from kselect.stats.sweeps import Curve, Curves, Panel, Sweep, trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

KEYS = ("criteria", "lam", "datasets")
DODGE = 0.12
AXES = {"%": "test error (%)", "MSE": "mean squared error"}


@figure("sweep")
class SweepFigure:
    """``{kind: sweep, criteria: [5-KS], eta: 2^-10:2^10, lam: 0.001}``, on some ``datasets`` or all."""

    def read(self, name: str, written: Mapping[str, Any], columns: Columns, wrong: Wrong) -> Sweep:
        """Each criterion is a column of the table and has the parameter; the lam is one of the grid."""
        parameter, values = read_sweep(written, KEYS, wrong)
        labels = read_labels("criteria", written, columns, wrong)
        for label in labels if values else []:
            criterion = CRITERIA[columns.first(label).criterion]
            list(parse_values(criterion, label, parameter, values, wrong))
        some = "datasets" in written
        datasets = read_datasets(written, columns, wrong) if some else None
        lam = read_lam(written, columns, wrong)
        return Sweep(name, tuple(labels), parameter, values, lam, datasets)

    def methods(self, figure: Sweep, columns: Columns) -> Iterable[Method]:
        """One method per criterion and value, with the experiment's own loss."""
        # A flag may have left none of its data sets, and a method without any stands for all.
        for label in figure.criteria if figure.datasets != () else ():
            method = columns.first(label)
            parameter = CRITERIA[method.criterion].parameter(figure.parameter)
            assert parameter is not None
            for value in figure.values:
                changed = method.with_params(**{figure.parameter: parameter.parse(value)})
                mine = figure.datasets or ()
                yield replace(changed, part=figure.name, lam=figure.lam, datasets=mine)

    def keep(self, figure: Sweep, labels: frozenset[str]) -> Sweep | None:
        """With some of its criteria."""
        kept = tuple(c for c in figure.criteria if c in labels)
        return replace(figure, criteria=kept) if kept else None

    def show(self, figure: Sweep, study: Study) -> Shown:
        """One panel per data set; k-CV with the same folds is a dashed line."""
        curves = study.once(trace, figure)
        return show_figure(
            figure.name,
            lambda: make_canvas(figure, curves, study.reconstructed),
            f"Test error over {figure.parameter}, one panel per data set",
            f"Test error over {figure.parameter} at {LAM} = {figure.lam:g}: mean and standard "
            f"deviation over splits of {describe_lines(curves)}.",
        )


def read_lam(written: Mapping[str, Any], columns: Columns, wrong: Wrong) -> float:
    """One value of the grid of fixed ridges."""
    if columns.lam.mode == "select":
        wrong(("lam",), "a figure needs a fixed lam; this config selects it")
        return 0.0
    if written.get("lam") is None:
        wrong(("lam",), "this key is missing")
        return 0.0
    try:
        lam = parse_number(written["lam"])
    except ConfigError as error:
        wrong(("lam",), str(error))
        return 0.0
    near = [v for v in columns.lam.values if isclose(v, lam)]
    if not near:
        valid = ", ".join(show_number(v) for v in columns.lam.values)
        wrong(("lam",), f"{show_number(lam)} is not in the grid of lam; valid: {valid}")
    return near[0] if near else 0.0


def describe_lines(curves: Curves) -> str:
    """The curves of a figure, and its reference lines if it has any."""
    references = ", ".join(label for label, _ in curves.references)
    return ", ".join(curves.methods) + (f"; dashed: {references}" if references else "")


def make_canvas(figure: Sweep, curves: Curves, reconstructed: Mapping[str, str]) -> Canvas:
    """Panels in rows of at most four, one legend above them."""
    count = max(1, len(curves.panels))
    columns = min(4, ceil(sqrt(count)))
    width, height = max(2.6 * columns, 4.5), 1.95 * ceil(count / columns) + 0.7
    canvas, axes = lay_out(count, columns, width, height)
    for panel, ax in zip(curves.panels, axes, strict=False):
        draw_panel(ax, panel, dict(curves.references))
    canvas.supxlabel(symbol(figure.parameter), fontsize=10)
    units = {panel.unit for panel in curves.panels if panel.unit}
    label = AXES[units.pop()] if len(units) == 1 else "test error (% or mean squared error)"
    canvas.supylabel(label, fontsize=10)
    add_legend(canvas, curves, reconstructed)
    return canvas


def draw_panel(ax: Axes, panel: Panel, positions: Mapping[str, int]) -> None:
    """One data set: its curves over a log axis, and their references."""
    ax.set_title(panel.dataset, fontsize=9.5)
    if not any(curve.points for curve in panel.curves):
        say_no_data(ax)
        ax.set_xticks([])
        return
    for label, level in panel.references:
        i = positions[label]
        ax.axhline(level, color=colour(i), linewidth=0.9, linestyle=dash(i), zorder=1)
    for i, curve in enumerate(panel.curves):
        draw_curve(ax, curve, i, len(panel.curves))
    ax.set_xscale("log", base=2)
    tidy_up(ax)


def draw_curve(ax: Axes, curve: Curve, i: int, count: int) -> None:
    """Means with standard deviations, shifted a little so that the bars of curves stand apart."""
    shift = 2.0 ** (DODGE * (2 * i - count + 1))
    ax.errorbar(
        [p.x * shift for p in curve.points],
        [p.mean for p in curve.points],
        yerr=[0.0 if isnan(p.sd) else p.sd for p in curve.points],
        color=colour(i),
        ecolor=(colour(i), 0.5),
        marker=marker(i),
        markersize=2.6,
        linewidth=1.1,
        elinewidth=0.5,
        capsize=1.2,
        zorder=2,
    )


def dash(position: int) -> tuple[float, tuple[float, ...]]:
    """Lines that coincide stay apart: the dashes of one fall into the gaps of the other."""
    return (4.0 * position, (4.0, 4.0))


def add_legend(canvas: Canvas, curves: Curves, reconstructed: Mapping[str, str]) -> None:
    """One legend for all panels, above them."""
    from matplotlib.lines import Line2D

    lines = [
        Line2D([], [], color=colour(i), marker=marker(i), markersize=4, linewidth=1.2)
        for i, _ in enumerate(curves.methods)
    ]
    levels = [
        Line2D([], [], color=colour(i), linewidth=0.9, linestyle="--") for _, i in curves.references
    ]
    labels = [*curves.methods, *(label for label, _ in curves.references)]
    if labels:
        canvas.legend(
            [*lines, *levels],
            [mark_label(label, reconstructed) for label in labels],
            loc="outside upper center",
            ncols=min(4, len(labels)),
            frameon=False,
        )
