"""The variance of cross-validation against kernel stability, along the widths of a Gaussian."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, isnan, log10
from typing import TYPE_CHECKING

from kselect.report.panels import colour, columns_in, lay_out, say_no_data, tidy_up
from kselect.report.schemes import PAPER
from kselect.stats.theory import Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure as Canvas

PANEL, HEIGHT = 2.3, 2.1
# Within a decade; an axis takes the first of these steps that leaves it enough labels.
STEPS: tuple[tuple[int, ...], ...] = ((1,), (1, 3), (1, 2, 5))
FEWEST, MOST = 3, 6
# Of an axis, in logarithms: what is free beyond the outermost points.
ROOM = 0.06


def draw_theory(panels: Sequence[Panel], width: float) -> Canvas:
    """A panel for each data set, with axes of its own."""
    columns = columns_in(width, len(panels), PANEL)
    rows = ceil(len(panels) / columns) if columns else 1
    canvas, axes = lay_out(len(panels), columns or 1, width, HEIGHT * rows + 0.5)
    for panel, ax in zip(panels, axes, strict=True):
        draw_panel(ax, panel)
    canvas.supxlabel("beta", fontsize=10)
    canvas.supylabel("variance over splits", fontsize=10)
    return canvas


def draw_panel(ax: Axes, panel: Panel) -> None:
    """The widths of one data set, the narrowest hollow."""
    rho = "" if isnan(panel.correlation) else f"  rho = {panel.correlation:.2f}"
    ax.set_title(panel.dataset + rho, fontsize=9)
    points = [(w.betas[-1], w.variance) for w in panel.widths if w.variance > 0]
    if not points:
        say_no_data(ax)
        ax.set_xticks([])
        return
    xs, ys = zip(*points, strict=True)
    ax.plot(xs, ys, color=colour(0), marker="o", markersize=2.8, linewidth=0.8)
    ax.plot(xs[:1], ys[:1], color=colour(0), marker="o", markersize=5, markerfacecolor=PAPER)
    for axis, values in ((ax.xaxis, xs), (ax.yaxis, ys)):
        scale_axis(ax, axis, values)
    tidy_up(ax)


def scale_axis(ax: Axes, axis: Axis, values: Sequence[float]) -> None:
    """Logarithmic, with three labels at least wherever the numbers lie."""
    low, high = log10(min(values)), log10(max(values))
    room = max(ROOM * (high - low), 0.02)
    ends = (10 ** (low - room), 10 ** (high + room))
    horizontal = axis is ax.xaxis
    (ax.set_xscale if horizontal else ax.set_yscale)("log")
    (ax.set_xlim if horizontal else ax.set_ylim)(*ends)
    ticks = find_ticks(*ends)
    axis.set_ticks(ticks, [show_tick(t) for t in ticks])
    axis.set_ticks([], minor=True)


def find_ticks(low: float, high: float) -> list[float]:
    """Three to six numbers of one digit, or powers of ten so many decades apart; of a short axis evenly."""
    decades = range(floor(log10(low)), ceil(log10(high)) + 1)
    for step in STEPS:
        found = [m * 10.0**d for d in decades for m in step if low <= m * 10.0**d <= high]
        if len(found) >= FEWEST:
            return found[:: ceil(len(found) / MOST)]
    return even_ticks(low, high)


def even_ticks(low: float, high: float) -> list[float]:
    """Multiples of 1, 2 or 5 of some power of ten."""
    unit = 10.0 ** floor(log10((high - low) / FEWEST))
    for step in (10 * unit, 5 * unit, 2 * unit, unit):
        found = [i * step for i in range(ceil(low / step), floor(high / step) + 1)]
        if len(found) >= FEWEST:
            break
    return found


def show_tick(value: float) -> str:
    """``2``, ``50``, or of small and large numbers ``2e-4``."""
    if 0.01 <= value < 1e4:
        return f"{value:.6g}"
    power = floor(log10(value) + 1e-9)
    return f"{value / 10.0**power:.6g}e{power}"
