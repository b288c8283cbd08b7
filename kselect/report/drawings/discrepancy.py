"""How far a series is from cross-validation over its order: one axis for all, and the line that judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, isnan, nan
from typing import TYPE_CHECKING, Any

from kselect.report.panels import (
    colour,
    columns_in,
    lay_out,
    marker,
    say_no_data,
    tidy_up,
)
from kselect.report.schemes import BAD, INK, PAPER, SOFT
from kselect.report.words import mark_label
from kselect.stats.discrepancy import ORDER, Panel, Track

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

EXACT = 0.01
PANEL = 1.7
DODGE = 0.45
# The axis, in percent: what is smaller is as good as exact, and lines may leave it at the bottom.
LOWEST, HIGHEST = 1e-4, 100.0
DECADES = (1e-4, 1e-2, 1.0, 100.0)


def draw_discrepancy(
    labels: Sequence[str],
    panels: Sequence[Panel],
    order: int | None,
    names: Mapping[str, str],
    width: float,
) -> Canvas:
    """A panel for each data set; ``order`` is where the paper calls the series exact."""
    count = max(1, len(panels))
    columns = min(5, columns_in(width, count, PANEL))
    height = 1.9 * ceil(count / columns) + 0.9
    canvas, axes = lay_out(count, columns, width, height, sharex=True, sharey=True)
    orders = sorted({x for p in panels for t in p.tracks for x, _ in t.points})
    ticks = [x for x in orders if order is None or (x - order) % 2 == 0]
    known = [t.relative(x) for p in panels for t in p.tracks for x, _ in t.points]
    highest = max([HIGHEST, *(150.0 * v for v in known if not isnan(v))])
    for panel, ax in zip(panels, axes, strict=False):
        draw_panel(ax, panel, order)
        ax.set_ylim(LOWEST, highest)
        ax.set_xticks(ticks)
    canvas.supxlabel(f"{ORDER} of the series", fontsize=10)
    canvas.supylabel("root mean square difference to exact k-CV (% of the scale)", fontsize=10)
    add_legend(canvas, [mark_label(label, names) for label in labels], width)
    return canvas


def draw_panel(ax: Axes, panel: Panel, order: int | None) -> None:
    """One data set: one line per column with what its rate predicts, or "no data"."""
    ax.set_title(describe(panel, order), fontsize=9.5)
    if not any(track.points for track in panel.tracks):
        say_no_data(ax)
        return
    tidy_up(ax)
    ax.set_yscale("log")
    ax.set_yticks(DECADES, ["0.0001", "0.01", "1", "100"])
    ax.minorticks_off()
    ax.axhline(100 * EXACT, color=BAD, linewidth=1.0)
    if order is not None:
        ax.axvline(order, color=SOFT, linewidth=0.8, linestyle=":")
    for i, track in enumerate(panel.tracks):
        draw_track(ax, track, i, order)


def describe(panel: Panel, order: int | None) -> str:
    """``heart: 2 of 3``: how many are below one percent at the order."""
    shares = [t.relative(order) for t in panel.tracks] if order is not None else []
    known = [s for s in shares if not isnan(s)]
    return (
        f"{panel.dataset}: {sum(s < EXACT for s in known)} of {len(known)}"
        if known
        else panel.dataset
    )


def draw_track(ax: Axes, track: Track, i: int, order: int | None) -> None:
    """The means, from the first of them on what the rates predict, and the value at the order."""
    ax.plot(
        *in_percent(track, track.predicted), color=colour(i), linewidth=0.8, linestyle=(0, (4, 2))
    )
    ax.plot(*in_percent(track, track.points), color=colour(i), linewidth=1.2)
    share = nan if order is None else track.relative(order)
    if not isnan(share):
        ax.plot([(order or 0) + DODGE * (i - 1)], [100 * share], zorder=3, **mark(i, share < EXACT))


def in_percent(
    track: Track, points: Sequence[tuple[float, float]]
) -> tuple[list[float], list[float]]:
    """Orders and shares; below the axis a share stays just below it, as the log of 0 has no place."""
    shares = [100 * track.share(v) for _, v in points]
    return [x for x, _ in points], [s if isnan(s) else max(s, LOWEST / 100) for s in shares]


def mark(i: int, full: bool) -> dict[str, Any]:
    """A marker, full below one percent."""
    return {
        "marker": marker(i),
        "markersize": 5,
        "markeredgewidth": 1.2,
        "linestyle": "",
        "color": colour(i),
        "markerfacecolor": colour(i) if full else PAPER,
    }


def add_legend(canvas: Canvas, labels: Sequence[str], width: float) -> None:
    """One legend for all panels, above them."""
    from matplotlib.lines import Line2D

    curves = [
        Line2D([], [], linewidth=1.2, **{**mark(i, True), "linestyle": "-"})
        for i, _ in enumerate(labels)
    ]
    dashed = Line2D([], [], color=INK, linewidth=0.8, linestyle=(0, (4, 2)))
    canvas.legend(
        [*curves, dashed],
        [*labels, "predicted by the rate"],
        loc="outside upper center",
        ncols=max(1, min(4, int(width / 1.7))),
        frameon=False,
    )
