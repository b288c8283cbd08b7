"""A probe figure as PDF and PNG: values on a log axis, with the rate that explains them as a thin line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kselect.report.figures import COLOURS, MARKERS, METADATA, save
from kselect.stats.probes import ProbeGraph, ProbePanel, Track

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

# Below this a mean square of differences is nothing but rounding.
FLOOR = 1e-30
COLUMNS = 5


def draw_probes(graph: ProbeGraph) -> dict[str, bytes]:
    """``pdf`` and ``png`` -> the file's bytes."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    with rc_context({"pdf.fonttype": 42, "font.size": 9.0, "axes.linewidth": 0.6}):
        canvas = make_canvas(graph)
        FigureCanvasAgg(canvas)
        return {kind: save(canvas, kind) for kind in METADATA}


def make_canvas(graph: ProbeGraph) -> Canvas:
    """Panels in rows of at most five, one legend above them."""
    from matplotlib.figure import Figure as Canvas
    from matplotlib.lines import Line2D

    columns = min(COLUMNS, max(1, len(graph.panels)))
    rows = math.ceil(len(graph.panels) / columns) or 1
    canvas = Canvas(figsize=(2.15 * columns + 0.6, 2.1 * rows + 0.8), layout="constrained")
    axes = canvas.subplots(rows, columns, squeeze=False, sharex=True).flatten()
    for panel, ax in zip(graph.panels, axes, strict=False):
        draw_panel(ax, panel)
    for ax in axes[len(graph.panels) :]:
        ax.set_axis_off()
    canvas.supxlabel(graph.parameter, fontsize=10)
    canvas.supylabel("mean square difference to exact k-CV", fontsize=10)
    handles = [
        Line2D([], [], color=COLOURS[i], marker=MARKERS[i], markersize=4, linewidth=1.2)
        for i in range(len(graph.methods))
    ]
    thin = Line2D([], [], color="0.4", linewidth=0.7, linestyle="--")
    labels = [*graph.methods, "predicted by the rate of the series"]
    canvas.legend([*handles, thin], labels, loc="outside upper center", ncols=4, frameon=False)
    return canvas


def draw_panel(ax: Axes, panel: ProbePanel) -> None:
    """One data set: a line for each column with its rate, or "no data"."""
    ax.set_title(panel.dataset, fontsize=9.5)
    if not any(track.points for track in panel.tracks):
        ax.text(0.5, 0.5, "no data", transform=ax.transAxes, ha="center", va="center", color="0.4")
        ax.set_yticks([])
        return
    for i, track in enumerate(panel.tracks):
        draw_track(ax, track, i)
    ax.set_yscale("log")
    low, high = ax.get_ylim()
    ax.set_ylim(max(low, FLOOR / 10), high)
    ax.grid(axis="y", linewidth=0.4, color="0.9")
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=8)


def draw_track(ax: Axes, track: Track, i: int) -> None:
    """The means, and from the first of them on what the rates predict."""
    colour, marker = COLOURS[i], MARKERS[i]
    ax.plot(*cut_off(track.points), color=colour, marker=marker, markersize=2.8, linewidth=1.1)
    ax.plot(*cut_off(track.predicted), color=colour, linewidth=0.7, linestyle="--")


def cut_off(points: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    """Abscissae and ordinates, none below the floor."""
    return [x for x, _ in points], [max(v, FLOOR) for _, v in points]
