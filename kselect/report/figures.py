"""A sweep as a figure: one panel a data set, PDF and PNG, the same bytes for the same numbers."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from kselect.report.words import mark_label
from kselect.stats.sweeps import Curve, Figure, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")  # Okabe and Ito
MARKERS = ("o", "s", "^", "D", "v", "P")
DODGE = 0.12
GREEK = ("alpha", "beta", "delta", "eta", "lam", "tau")
METADATA = {
    "pdf": {"Creator": "kselect", "Producer": "kselect", "CreationDate": None},
    "png": {"Software": None},
}


def draw(figure: Figure, reconstructed: Mapping[str, str]) -> dict[str, bytes]:
    """``pdf`` and ``png`` -> the file's bytes; no timestamp goes in."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    with rc_context({"pdf.fonttype": 42, "font.size": 9.0, "axes.linewidth": 0.6}):
        canvas = make_canvas(figure, reconstructed)
        FigureCanvasAgg(canvas)
        return {kind: save(canvas, kind) for kind in METADATA}


def save(canvas: Canvas, kind: str) -> bytes:
    """One file's bytes."""
    stream = io.BytesIO()
    canvas.savefig(stream, format=kind, dpi=150, metadata=METADATA[kind])
    return stream.getvalue()


def make_canvas(figure: Figure, reconstructed: Mapping[str, str]) -> Canvas:
    """Panels on a grid of at most four columns, one legend above them."""
    from matplotlib.figure import Figure as Canvas

    count = max(1, len(figure.panels))
    columns = min(4, math.ceil(math.sqrt(count)))
    rows = math.ceil(count / columns)
    size = (max(2.6 * columns, 4.5), 1.95 * rows + 0.7)
    canvas = Canvas(figsize=size, layout="constrained")
    axes = canvas.subplots(rows, columns, squeeze=False).flatten()
    for panel, ax in zip(figure.panels, axes, strict=False):
        draw_panel(ax, panel, figure)
    for ax in axes[len(figure.panels) :]:
        ax.set_axis_off()
    canvas.supxlabel(symbol(figure.parameter), fontsize=10)
    canvas.supylabel(describe_axis(figure), fontsize=10)
    add_legend(canvas, figure, reconstructed)
    return canvas


def describe_axis(figure: Figure) -> str:
    """The unit of the panels, where they share one."""
    units = {panel.unit for panel in figure.panels if panel.unit}
    words = {"%": "test error (%)", "MSE": "mean squared error"}
    return words[units.pop()] if len(units) == 1 else "test error (% or mean squared error)"


def symbol(parameter: str) -> str:
    """A Greek letter where the parameter is named after one."""
    names = {"lam": "lambda"}
    return rf"$\{names.get(parameter, parameter)}$" if parameter in GREEK else parameter


def draw_panel(ax: Axes, panel: Panel, figure: Figure) -> None:
    """One data set: curves with error bars over thin reference lines, or "no data"."""
    ax.set_title(panel.dataset, fontsize=9.5)
    if not any(curve.points for curve in panel.curves):
        ax.text(0.5, 0.5, "no data", transform=ax.transAxes, ha="center", va="center", color="0.4")
        ax.set_xticks([])
        ax.set_yticks([])
        return
    positions = dict(figure.references)
    for label, level in panel.references:
        style = COLOURS[positions[label] % len(COLOURS)]
        ax.axhline(level, color=style, linewidth=0.9, linestyle=dash(positions[label]), zorder=1)
    for i, curve in enumerate(panel.curves):
        draw_curve(ax, curve, i, len(panel.curves))
    ax.set_xscale("log", base=2)
    ax.grid(axis="y", linewidth=0.4, color="0.9")
    ax.spines[["top", "right"]].set_visible(False)


def draw_curve(ax: Axes, curve: Curve, i: int, count: int) -> None:
    """Means with standard deviations, shifted a little so that the bars of curves stand apart."""
    shift = 2.0 ** (DODGE * (2 * i - count + 1))
    ax.errorbar(
        [p.x * shift for p in curve.points],
        [p.mean for p in curve.points],
        yerr=[0.0 if math.isnan(p.sd) else p.sd for p in curve.points],
        color=COLOURS[i % len(COLOURS)],
        ecolor=(COLOURS[i % len(COLOURS)], 0.5),
        marker=MARKERS[i % len(MARKERS)],
        markersize=2.6,
        linewidth=1.1,
        elinewidth=0.5,
        capsize=1.2,
        zorder=2,
    )


def dash(position: int) -> tuple[float, tuple[float, ...]]:
    """Lines that coincide stay apart: the dashes of one fall into the gaps of the other."""
    return (4.0 * position, (4.0, 4.0))


def add_legend(canvas: Canvas, figure: Figure, reconstructed: Mapping[str, str]) -> None:
    """One legend for all panels, above them."""
    from matplotlib.lines import Line2D

    curves = [
        Line2D([], [], color=COLOURS[i % 6], marker=MARKERS[i % 6], markersize=4, linewidth=1.2)
        for i, _ in enumerate(figure.methods)
    ]
    levels = [
        Line2D([], [], color=COLOURS[i % 6], linewidth=0.9, linestyle="--")
        for _, i in figure.references
    ]
    labels = [*figure.methods, *(label for label, _ in figure.references)]
    if labels:
        canvas.legend(
            [*curves, *levels],
            [mark_label(label, reconstructed) for label in labels],
            loc="outside upper center",
            ncols=min(4, len(labels)),
            frameon=False,
        )
