"""Maps of distances over kernels and ridges, and curves of them over a parameter."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kselect.grids import show_number
from kselect.report.panels import (
    colour,
    columns_in,
    lay_out,
    marker,
    say_no_data,
    symbol,
    tidy_up,
)
from kselect.report.schemes import BAD, SOFT
from kselect.report.words import mark_label
from kselect.stats.maps import Map, Panel, Surface, Trace, kernel_names
from kselect.stats.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

# Inches of a map and of a panel of curves.
TILE, PANEL = 1.6, 2.2
BESIDE = 6.0
# The colours go from a thousandth to ten times the exact score; what is beyond has an end's colour.
LOW, HIGH = 1e-3, 10.0
TICKS = 3
FLOOR = 1e-4


def draw_maps(figure: Map, panels: Sequence[Panel], study: Study, width: float) -> Canvas:
    """A row per data set, a column per approximation, one colour bar; data sets side by side where there is one."""
    from matplotlib.colors import LogNorm

    tiles = [(panel, label) for panel in panels for label in figure.of]
    across = columns_in(width, len(figure.of) if len(figure.of) > 1 else len(tiles), TILE)
    height = 0.9 + 2.1 * math.ceil(len(tiles) / across)
    canvas, axes = lay_out(len(tiles), across, width, height)
    norm, image = LogNorm(LOW, HIGH), None
    for ax, (panel, label) in zip(axes, tiles, strict=True):
        known = {s.method: s for s in panel.surfaces}
        ax.set_title(f"{panel.dataset}\n{mark_label(label, study.reconstructed)}", fontsize=9)
        if label in known:
            image = draw_surface(ax, known[label], study, norm)
        else:
            say_no_data(ax)
            ax.set_xticks([])
    if image is not None:
        # On a narrow screen a bar beside the maps would take half of it.
        where: Any = {"location": "bottom", "aspect": 30} if width < BESIDE else {"shrink": 0.5}
        bar = canvas.colorbar(image, ax=axes, extend="both", **where)
        bar.set_label(f"distance to {figure.against}, relative")
    canvas.supxlabel(symbol("lam"), fontsize=10)
    canvas.supylabel(symbol(kernel_names(study)[0]), fontsize=10)
    return canvas


def draw_surface(ax: Axes, surface: Surface, study: Study, norm: Any) -> Any:
    """One map: ridges across, kernels up."""
    errors = surface.errors
    shown = [[drawn(value) for value in row] for row in errors.tolist()]
    ax.patch.set_hatch("////")
    ax.patch.set_edgecolor(SOFT)
    image = ax.imshow(shown, aspect="auto", origin="lower", cmap="cividis", norm=norm)
    for place, form, size in ((surface.exact, "o", 8), (surface.best, "x", 6)):
        if place is not None:
            ax.plot(place[1], place[0], form, ms=size, mfc="none", mec=BAD, mew=1.6)
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

    columns = columns_in(width, max(1, len(panels)), PANEL)
    rows = math.ceil(len(panels) / columns) or 1
    canvas, axes = lay_out(len(panels), columns, width, 2.2 * rows + 0.8, sharex=True)
    for panel, ax in zip(panels, axes, strict=False):
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
    canvas.legend(
        handles, labels, loc="outside upper center", ncols=max(1, int(width / 2.2)), frameon=False
    )
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
