"""Published errors and ours: every cell of the paper's table as a point, with the distant ones named."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, log
from typing import TYPE_CHECKING, Any

from kselect.report import style
from kselect.report.elements import File, Passage
from kselect.report.sections import section
from kselect.report.words import mark_label
from kselect.stats.distances import Agreement, distances
from kselect.stats.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

# Verdict -> colour, marker and legend; the points of later verdicts are drawn on top.
VERDICTS: dict[Agreement, tuple[str, str, str]] = {
    "within 2": (style.GOOD, "o", "within 2 standard errors"),
    "2 to 4": (style.FAIR, "s", "2 to 4"),
    "beyond 4": (style.BAD, "D", "beyond 4"),
    "no spread": (style.SOFT, "P", "no spread to judge by"),
}
TITLES = {"%": "published error (%)", "MSE": "published mean squared error"}
TICKS = (0.25, 0.33, 0.5, 0.67, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0)
# The factor beyond which a point is drawn at the edge, and the smallest factor at which the axis ends.
FURTHEST, NEAREST = 3.0, 1.25
HEIGHT = 3.9
# The number of names that fit into a panel, and their distance as a share of its height.
MOST, APART = 17, 0.056
# Inches at the right, as the names move with the panels and become a little longer than planned.
MARGIN = 0.2


@section("agreement")
def show(study: Study) -> Iterator[File | Passage]:
    """Yield one figure for the experiment's own loss, if the paper has published numbers."""
    reconstructed = study.reconstructed  # a figure is drawn again if what it uses has changed
    experiment = study.experiment
    points = study.once(ratios, experiment.loss)
    loss = f" with the {experiment.loss} loss" if len(experiment.losses) > 1 else ""
    if points:
        near = sum(point.verdict == "within 2" for point in points)
        yield from style.show_figure(
            "published-and-ours",
            lambda width: draw_agreement(points, reconstructed, width),
            "Our test errors over the published ones, one point per cell of the paper's table",
            f"Every cell of {experiment.paper}'s table is a point: across, the published error; upwards, "
            f"ours{loss} divided by it. On the line at 1 both are equal; below it, ours is lower. Colour and shape "
            "show the distance in standard errors of the two means: on a small data set, a large ratio may be "
            "within the noise. Each data set with a cell beyond 4 is named, with the ratio of its furthest cell. "
            f"A triangle marks a ratio beyond a factor of {FURTHEST:g}.",
            f"{near} of {len(points)} published cells are within two standard errors of ours",
            chapter="published",
            numbers="published",
        )


# Numbers


@dataclass(frozen=True)
class CellRatio:
    """One cell: the published error, and ours divided by it; ``cells`` counts the cells that it stands for."""

    dataset: str
    method: str
    unit: str
    published: float
    ratio: float
    verdict: Agreement
    cells: int = 1


def ratios(study: Study, loss: str) -> tuple[CellRatio, ...]:
    """Return every published cell for which we have a number; a published 0 has no ratio."""
    units = study.comparison(loss).units
    return tuple(
        CellRatio(
            d.published.dataset,
            d.method,
            units.get(d.published.dataset, ""),
            d.published.mean,
            d.mean / d.published.mean,
            d.verdict,
        )
        for d in study.once(distances, loss)
        if d.runs and d.published.mean > 0
    )


def outliers(points: Iterable[CellRatio]) -> list[CellRatio]:
    """Return the most distant cell of each data set with cells beyond 4, the highest ratio first.

    Its ``method`` is empty if the cells belong to several methods.
    """
    far: dict[str, list[CellRatio]] = {}
    for point in points:
        if point.verdict == "beyond 4":
            far.setdefault(point.dataset, []).append(point)
    found = []
    for dataset, mine in far.items():
        furthest = max(mine, key=lambda p: abs(log(p.ratio)) if p.ratio > 0 else inf)
        method = furthest.method if len({p.method for p in mine}) == 1 else ""
        numbers = (furthest.published, furthest.ratio, furthest.verdict)
        found.append(CellRatio(dataset, method, furthest.unit, *numbers, len(mine)))
    return sorted(found, key=lambda p: -p.ratio)


# Drawing


def draw_agreement(points: Sequence[CellRatio], names: Mapping[str, str], width: float) -> Canvas:
    """Draw one panel per unit, side by side on a wide page."""
    units = [u for u in TITLES if any(p.unit == u for p in points)]
    canvas, axes = style.lay_out(max(1, len(units)), width, style.WIDE / 2, HEIGHT, 0.5)
    canvas.set_layout_engine("constrained", rect=(0.0, 0.0, 1.0 - MARGIN / width, 1.0))
    factors = (max(p.ratio, 1 / p.ratio) if p.ratio > 0 else FURTHEST for p in points)
    limit = min(FURTHEST, max([NEAREST, *(1.05 * f for f in factors)]))
    for unit, ax in zip(units, axes, strict=False):
        draw_panel(ax, [p for p in points if p.unit == unit], limit, names)
        ax.set_xlabel(TITLES[unit])
    axes[0].set_ylabel("ours / published")
    look: dict[str, Any] = {"linestyle": "", "markersize": 4.0}
    shown = [VERDICTS[v] for v in VERDICTS if any(p.verdict == v for p in points)]
    handles = [{"color": shade, "marker": mark, **look} for shade, mark, _ in shown]
    labels = [label for *_, label in shown]
    if any(p.method in names for p in points):
        handles.append({"color": style.INK, "marker": "o", "markerfacecolor": "none", **look})
        labels.append("hollow: reconstructed criterion")
    columns = 4 if width >= style.WIDE else 1
    style.label_canvas(canvas, looks=handles, labels=labels, columns=columns)
    # The names are outside the panels, which have their final width only when arranged a second time.
    style.arrange(canvas)
    return canvas


def draw_panel(
    ax: Axes, points: Sequence[CellRatio], limit: float, names: Mapping[str, str]
) -> None:
    """Draw the points of one unit: triangles at the edge lie beyond it, hollow ones are reconstructed."""
    style.tidy_up(ax)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_ylim(1 / limit, limit)
    ticks = [t for t in TICKS if 1 / limit <= t <= limit]
    ax.set_yticks(ticks, [f"{t:g}" for t in ticks])
    low, high = (f(p.published for p in points) for f in (min, max))
    if high <= 100 * low:  # beyond two decades matplotlib's powers of ten serve
        numbers = [m * 10.0**e for e in range(-6, 7) for m in (1, 2, 5)]
        marks = [x for x in numbers if low / 1.5 <= x <= high * 1.5]
        ax.set_xticks(marks, [f"{m:g}" for m in marks])
    ax.minorticks_off()
    ax.axhline(1.0, color=style.INK, linewidth=0.8)
    for point in sorted(points, key=lambda p: list(VERDICTS).index(p.verdict)):
        shade, mark, _ = VERDICTS[point.verdict]
        inside = 1 / limit < point.ratio < limit
        ax.plot(
            *([point.published], [min(max(point.ratio, 1 / limit), limit)]),
            marker=mark if inside else "^" if point.ratio > 1 else "v",
            markersize=4.0,
            linestyle="",
            color=shade,
            markerfacecolor=style.PAPER if point.method in names else shade,
            markeredgewidth=1.0,
            alpha=0.85,
            clip_on=False,
        )
    name_outliers(ax, outliers(points), limit, names)


def name_outliers(
    ax: Axes, found: Sequence[CellRatio], limit: float, names: Mapping[str, str]
) -> None:
    """Write names such as ``heart, BIF-5-CV: 1.4`` at the right, each with a thin line to its point."""
    shown = sorted(found, key=lambda o: -abs(log(max(o.ratio, 1e-6))))[:MOST]
    shown.sort(key=lambda o: -o.ratio)
    places = [min(max(o.ratio, 1 / limit), limit) for o in shown]
    heights = spread_out([0.5 + 0.5 * log(place) / log(limit) for place in places])
    for one, place, y in zip(shown, places, heights, strict=True):
        count = f"{one.cells} cells" if one.cells > 1 else ""
        words = filter(None, (one.dataset, mark_label(one.method, names), count))
        ax.annotate(
            f"{', '.join(words)}: {one.ratio:.2g}",
            (one.published, place),
            (1.03, y),
            textcoords="axes fraction",
            va="center",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": style.SOFT,
                "linewidth": 0.5,
                "relpos": (0.0, 0.5),
            },
        )
    if len(found) > len(shown):
        more = f"and {len(found) - len(shown)} more data sets"
        ax.text(1.03, -0.03, more, transform=ax.transAxes, color=style.SOFT)


def spread_out(wanted: Sequence[float]) -> list[float]:
    """Push descending heights apart downwards and, if they leave the panel, upwards again."""
    found: list[float] = []
    for y in wanted:
        found.append(min(y, found[-1] - APART) if found else min(y, 1.0))
    floor = 0.0
    for i in reversed(range(len(found))):
        found[i] = max(found[i], floor)
        floor = found[i] + APART
    return found
