"""How far approximations of cross-validation are from it, over the whole grid and over one of their parameters."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kselect.criteria import CRITERIA
from kselect.grids import show_number
from kselect.model.experiment import Columns
from kselect.model.method import Method
from kselect.report.blocks import Shown
from kselect.report.panels import colour, lay_out, marker, say_no_data, show_figure, symbol, tidy_up
from kselect.report.sections.base import (
    Wrong,
    figure,
    parse_values,
    read_datasets,
    read_label,
    read_labels,
    read_sweep,
)
from kselect.report.words import LAM, mark_label
from kselect.stats.maps import Map, Panel, Surface, Trace, kernel_names, survey
from kselect.stats.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

KEYS = ("of", "against", "datasets")
WIDTH = 9.6
# The colours go from a thousandth to ten times the exact score; what is beyond has an end's colour.
LOW, HIGH = 1e-3, 10.0
TICKS = 3
FLOOR = 1e-4


@figure("map")
class MapFigure:
    """``{kind: map, of: [5-FBIF, 5-BIF], against: 5-CV, c: [0.1, 1], datasets: [heart]}``."""

    def read(self, name: str, written: Mapping[str, Any], columns: Columns, wrong: Wrong) -> Map:
        """Columns of the table; the parameter, if there is one, is one that some of them have."""
        swept = set(written) - set(KEYS)
        parameter, values = read_sweep(written, KEYS, wrong) if swept else ("", ())
        labels = read_labels("of", written, columns, wrong)
        against = read_label("against", written, columns, wrong)
        owners = [label for label in labels if has(columns, label, parameter)]
        if values and labels and not owners:
            wrong((parameter,), f"is no parameter of {', '.join(labels)}")
        for label in owners:
            list(
                parse_values(
                    CRITERIA[columns.first(label).criterion], label, parameter, values, wrong
                )
            )
        datasets = read_datasets(written, columns, wrong)
        return Map(name, tuple(labels), against, parameter, values, datasets)

    def methods(self, figure: Map, columns: Columns) -> Iterable[Method]:
        """Each column as it is and with every value of the parameter, scored everywhere."""
        for label in (figure.against, *figure.of) if figure.datasets else ():
            method = replace(
                columns.first(label), part=figure.name, everywhere=True, datasets=figure.datasets
            )
            yield method
            criterion = CRITERIA[method.criterion]
            if (parameter := criterion.parameter(figure.parameter)) and label != figure.against:
                for value in figure.values:
                    yield method.with_params(**{figure.parameter: parameter.parse(value)})

    def keep(self, figure: Map, labels: frozenset[str]) -> Map | None:
        """With some of its columns; nothing without the exact one."""
        kept = tuple(c for c in figure.of if c in labels)
        return replace(figure, of=kept) if kept and figure.against in labels else None

    def show(self, figure: Map, study: Study) -> Shown:
        """Two pictures: maps over kernel and ridge, and curves over the parameter, if there is one."""
        panels = study.once(survey, figure)

        def maps_of(width: float = WIDTH) -> Canvas:
            return draw_maps(figure, panels, study, width)

        def curves_of(width: float = WIDTH) -> Canvas:
            return draw_curves(figure, panels, study.reconstructed, width)

        maps = show_figure(
            figure.name,
            maps_of,
            f"Relative distance to {figure.against} over the grid, a row per data set",
            describe_maps(figure, panels),
        )
        if not figure.values:
            return maps
        curves = show_figure(
            f"{figure.name}-over-{figure.parameter}",
            curves_of,
            f"Relative distance to {figure.against} over {figure.parameter}, one panel per data set",
            f"Distance to {figure.against} relative to it, over {figure.parameter}: nine tenths of the grid lie "
            f"below the line; dashed: where {figure.against} is lowest. A flat line is a column without that "
            f"parameter. What is below {FLOOR:g} is drawn there.",
        )
        return Shown([*maps.files, *curves.files], [*maps.blocks, *curves.blocks])


def has(columns: Columns, label: str, parameter: str) -> bool:
    """Whether a column's criterion has a parameter of that name."""
    return CRITERIA[columns.first(label).criterion].parameter(parameter) is not None


def describe_maps(figure: Map, panels: Sequence[Panel]) -> str:
    """What the colours and marks are, and how many places have no score."""
    infinite = [
        f"{s.method} on {p.dataset} {s.infinite} ({'; '.join(s.reasons)})"
        for p in panels
        for s in p.surfaces
        if s.infinite
    ]
    count = f" Places without a score, hatched: {', '.join(infinite)}." if infinite else ""
    return (
        f"Distance of each column to {figure.against}, relative to it, at every kernel and {LAM}; dark is near. "
        f"Circle: where {figure.against} is lowest; cross: where the column is.{count}"
    )


def draw_maps(figure: Map, panels: Sequence[Panel], study: Study, width: float) -> Canvas:
    """A row per data set, a column per approximation, one colour bar."""
    from matplotlib.colors import LogNorm

    across = len(figure.of)
    canvas, axes = lay_out(across * len(panels), across, width, 0.9 + 1.9 * len(panels))
    norm, image = LogNorm(LOW, HIGH), None
    for row, panel in enumerate(panels):
        known = {s.method: s for s in panel.surfaces}
        for column, label in enumerate(figure.of):
            ax = axes[row * across + column]
            ax.set_title(f"{panel.dataset}, {mark_label(label, study.reconstructed)}", fontsize=9)
            if label in known:
                image = draw_surface(ax, known[label], study, norm)
            else:
                say_no_data(ax)
                ax.set_xticks([])
    if image is not None:
        bar = canvas.colorbar(image, ax=axes, shrink=0.5, extend="both")
        bar.set_label(f"distance to {figure.against}, relative")
    canvas.supxlabel(symbol("lam"), fontsize=10)
    canvas.supylabel(symbol(kernel_names(study)[0]), fontsize=10)
    return canvas


def draw_surface(ax: Axes, surface: Surface, study: Study, norm: Any) -> Any:
    """One map: ridges across, kernels up."""
    errors = surface.errors
    shown = [[drawn(value) for value in row] for row in errors.tolist()]
    ax.patch.set_hatch("////")
    ax.patch.set_edgecolor("0.6")
    image = ax.imshow(shown, aspect="auto", origin="lower", cmap="cividis", norm=norm)
    for place, form, size in ((surface.exact, "o", 8), (surface.best, "x", 6)):
        if place is not None:
            ax.plot(place[1], place[0], form, ms=size, mfc="none", mec="#d62728", mew=1.6)
    lams = [show_number(lam) for lam in study.experiment.lam.values]
    for axis, names in ((ax.xaxis, lams), (ax.yaxis, kernel_names(study)[1])):
        chosen = range(0, len(names), max(1, (len(names) - 1) // TICKS))
        axis.set_ticks(list(chosen), [short(names[i]) for i in chosen])
    ax.tick_params(labelsize=7)
    return image


def drawn(value: float) -> float:
    """What a logarithm can show: nothing where there is no number, the floor where there is no distance."""
    return max(value, FLOOR) if math.isfinite(value) else math.nan


def short(number: str) -> str:
    """A power of two as such, two digits of anything else, words as they are."""
    try:
        value = float(number)
    except ValueError:
        return number
    exponent = math.log2(value)
    return f"$2^{{{exponent:.0f}}}$" if exponent.is_integer() else f"{value:.2g}"


def draw_curves(
    figure: Map, panels: Sequence[Panel], reconstructed: Mapping[str, str], width: float
) -> Canvas:
    """One panel per data set, one legend above them."""
    from matplotlib.lines import Line2D

    columns = max(1, min(len(panels), int(width / 2.3)))
    rows = math.ceil(len(panels) / columns) or 1
    canvas, axes = lay_out(len(panels), columns, width, 2.2 * rows + 0.8, sharex=True)
    for panel, ax in zip(panels, axes, strict=True):
        ax.set_title(panel.dataset, fontsize=9.5)
        if not panel.traces:
            say_no_data(ax)
            continue
        for trace in panel.traces:
            draw_trace(ax, trace, figure.of.index(trace.method))
        ax.set_xscale("log")
        ax.set_yscale("log")
        tidy_up(ax)
    canvas.supxlabel(symbol(figure.parameter), fontsize=10)
    canvas.supylabel(f"distance to {figure.against}, relative", fontsize=10)
    handles = [
        Line2D([], [], color=colour(i), marker=marker(i), markersize=4, linewidth=1.2)
        for i, _ in enumerate(figure.of)
    ]
    labels = [mark_label(label, reconstructed) for label in figure.of]
    canvas.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False)
    return canvas


def draw_trace(ax: Axes, trace: Trace, i: int) -> None:
    """Nine tenths of the grid, and where it matters; flat where the column has no such parameter."""
    for which, style in ((0, "-"), (1, "--")):
        values = [drawn(found[which]) for _, found in trace.points]
        if trace.constant:
            ax.axhline(values[0], color=colour(i), linewidth=1.0, linestyle=style)
            continue
        ax.plot(
            [x for x, _ in trace.points],
            values,
            color=colour(i),
            marker=marker(i),
            markersize=2.8,
            linewidth=1.1,
            linestyle=style,
        )
