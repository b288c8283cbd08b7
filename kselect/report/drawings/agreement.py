"""Published and ours: every cell a point, its ratio over the published error, and the far ones named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log
from typing import TYPE_CHECKING, Any

from kselect.report.panels import WIDE, lay_out, tidy_up
from kselect.report.schemes import BAD, FAIR, GOOD, INK, PAPER, SOFT
from kselect.report.words import mark_label
from kselect.stats.distances import Agreement
from kselect.stats.outliers import Outlier, Point, outliers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

COLOURS: dict[Agreement, str] = {
    "within 2": GOOD,
    "2 to 4": FAIR,
    "beyond 4": BAD,
    "no spread": SOFT,
}
LABELS: dict[Agreement, str] = {
    "within 2": "within 2 standard errors",
    "2 to 4": "2 to 4",
    "beyond 4": "beyond 4",
    "no spread": "no spread to judge by",
}
TITLES = {"%": "published error (%)", "MSE": "published mean squared error"}
TICKS = (0.25, 0.33, 0.5, 0.67, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0)
# Beyond this factor a point stands at the edge; the axis is never narrower than the other.
FURTHEST, NEAREST = 3.0, 1.25
HEIGHT = 3.9
# As many names as fit a panel, a line of them apart.
MOST, APART = 17, 0.056
# Inches at the right, as the names, which move with the panels, turn out a little longer than laid out.
MARGIN = 0.2


def draw_agreement(points: Sequence[Point], names: Mapping[str, str], width: float) -> Canvas:
    """A panel for each unit, side by side on a wide page."""
    units = [u for u in TITLES if any(p.unit == u for p in points)]
    columns = len(units) if width >= WIDE else 1
    rows = max(1, len(units) // max(1, columns))
    canvas, axes = lay_out(max(1, len(units)), columns or 1, width, HEIGHT * rows + 0.5)
    canvas.set_layout_engine("constrained", rect=(0.0, 0.0, 1.0 - MARGIN / width, 1.0))
    limit = find_limit(points)
    for unit, ax in zip(units, axes, strict=False):
        draw_panel(ax, [p for p in points if p.unit == unit], limit, names)
        ax.set_xlabel(TITLES[unit])
    axes[0].set_ylabel("ours / published")
    add_legend(canvas, points, names, width)
    # The names stand outside the panels, which have their final width the second time only.
    canvas.draw_without_rendering()
    return canvas


def find_limit(points: Sequence[Point]) -> float:
    """The factor at which the axis ends, above and below."""
    factors = (max(p.ratio, 1 / p.ratio) if p.ratio > 0 else FURTHEST for p in points)
    return min(FURTHEST, max([NEAREST, *(1.05 * f for f in factors)]))


def draw_panel(ax: Axes, points: Sequence[Point], limit: float, names: Mapping[str, str]) -> None:
    """The points, the near ones behind the far, and the names of the data sets that are far off."""
    tidy_up(ax)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_ylim(1 / limit, limit)
    ticks = [t for t in TICKS if 1 / limit <= t <= limit]
    ax.set_yticks(ticks, [f"{t:g}" for t in ticks])
    few_ticks(ax, [p.published for p in points])
    ax.minorticks_off()
    ax.axhline(1.0, color=INK, linewidth=0.8)
    for point in sorted(points, key=lambda p: list(COLOURS).index(p.verdict)):
        draw_point(ax, point, limit, point.method in names)
    name_outliers(ax, outliers(points), limit, names)


def few_ticks(ax: Axes, values: Sequence[float]) -> None:
    """Within two decades round numbers of one digit; beyond them matplotlib's own powers of ten."""
    low, high = min(values), max(values)
    if high > 100 * low:
        return
    marks = [
        m * 10.0**e
        for e in range(-6, 7)
        for m in (1, 2, 5)
        if low / 1.5 <= m * 10.0**e <= high * 1.5
    ]
    ax.set_xticks(marks, [f"{m:g}" for m in marks])


def draw_point(ax: Axes, point: Point, limit: float, reconstructed: bool) -> None:
    """A circle; a triangle at the edge where it lies beyond; hollow where the criterion is reconstructed."""
    colour = COLOURS[point.verdict]
    inside = 1 / limit < point.ratio < limit
    ax.plot(
        [point.published],
        [clip(point.ratio, limit)],
        marker="o" if inside else "^" if point.ratio > 1 else "v",
        markersize=4.5,
        linestyle="",
        color=colour,
        markerfacecolor=PAPER if reconstructed else colour,
        markeredgewidth=1.0,
        alpha=0.85,
        clip_on=False,
    )


def clip(ratio: float, limit: float) -> float:
    """A ratio that the axis has."""
    return min(max(ratio, 1 / limit), limit)


def name_outliers(
    ax: Axes, found: Sequence[Outlier], limit: float, names: Mapping[str, str]
) -> None:
    """Names at the right in the order of the points, a line apart, each with a thin line to its point."""
    shown = sorted(found, key=lambda o: -abs(log(max(o.ratio, 1e-6))))[:MOST]
    shown.sort(key=lambda o: -o.ratio)
    wanted = [0.5 + 0.5 * log(clip(o.ratio, limit)) / log(limit) for o in shown]
    for outlier, y in zip(shown, spread_out(wanted), strict=True):
        ax.annotate(
            describe(outlier, names),
            (outlier.published, clip(outlier.ratio, limit)),
            (1.03, y),
            textcoords="axes fraction",
            fontsize=7.5,
            va="center",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": SOFT, "linewidth": 0.5, "relpos": (0.0, 0.5)},
        )
    if len(found) > len(shown):
        more = f"and {len(found) - len(shown)} data sets more"
        ax.text(1.03, -0.03, more, transform=ax.transAxes, fontsize=7.5, color=SOFT)


def spread_out(wanted: Sequence[float]) -> list[float]:
    """Descending heights pushed apart downwards, then, where they leave the panel, upwards again."""
    found: list[float] = []
    for y in wanted:
        found.append(min(y, found[-1] - APART) if found else min(y, 1.0))
    floor = 0.0
    for i in reversed(range(len(found))):
        found[i] = max(found[i], floor)
        floor = found[i] + APART
    return found


def describe(outlier: Outlier, names: Mapping[str, str]) -> str:
    """``heart, BIF-5-CV: 1.4``; a count where several cells are meant."""
    method = mark_label(outlier.method, names)
    cells = f"{outlier.cells} cells" if outlier.cells > 1 else ""
    return f"{', '.join(filter(None, (outlier.dataset, method, cells)))}: {outlier.ratio:.2g}"


def add_legend(
    canvas: Canvas, points: Sequence[Point], names: Mapping[str, str], width: float
) -> None:
    """The colours that occur, and the hollow marker where there is one."""
    from matplotlib.lines import Line2D

    style: dict[str, Any] = {"linestyle": "", "marker": "o", "markersize": 4.5}
    there = [v for v in COLOURS if any(p.verdict == v for p in points)]
    handles = [Line2D([], [], color=COLOURS[v], **style) for v in there]
    labels = [LABELS[v] for v in there]
    if any(p.method in names for p in points):
        handles.append(Line2D([], [], color=INK, markerfacecolor="none", **style))
        labels.append("hollow: reconstructed criterion")
    columns = 4 if width >= WIDE else 1
    canvas.legend(handles, labels, loc="outside upper center", ncols=columns, frameon=False)
