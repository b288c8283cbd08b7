"""A sweep as two figures: the paired differences to k-CV around zero, and, quieter, the errors themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, floor, isnan, log2
from typing import TYPE_CHECKING, Any

from kselect.report.panels import (
    colour,
    columns_in,
    lay_out,
    marker,
    say_no_data,
    symbol,
    tidy_up,
)
from kselect.report.schemes import INK, PAPER, SOFT
from kselect.report.words import mark_label
from kselect.stats.sweeps import Curve, Curves, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

PANEL = 1.7
DODGE = 0.36
UNITS = {"%": "percentage points", "MSE": "mean squared error"}
AXES = {"%": "test error (%)", "MSE": "mean squared error"}
# Of the reference's standard deviation over splits: what lies further off is not what the figure is about.
REACH, HEADROOM = 2.0, 4.0


def draw_gaps(
    curves: Curves, parameter: str, marks: Sequence[float], names: Mapping[str, str], width: float
) -> Canvas:
    """A panel for each data set: the difference of each curve to its reference, with its band."""
    canvas, axes = make_panels(curves, width)
    for panel, ax in zip(curves.panels, axes, strict=False):
        draw_gap_panel(ax, panel, marks)
    canvas.supxlabel(symbol(parameter), fontsize=10)
    unit = common(UNITS, curves, "in each data set's own unit")
    words = f"better  \N{LEFTWARDS ARROW}  test error minus k-CV's ({unit})  \N{RIGHTWARDS ARROW}  worse"
    canvas.supylabel(words, fontsize=10)
    rivals = {curves.methods[i]: label for label, i in curves.references}
    labels = [f"{mark_label(a, names)} minus {mark_label(b, names)}" for a, b in rivals.items()]
    order = [curves.methods.index(a) for a in rivals]
    add_legend(canvas, labels, [line(i, filled=True) for i in order], width)
    return canvas


def draw_errors(curves: Curves, parameter: str, names: Mapping[str, str], width: float) -> Canvas:
    """A panel for each data set: the errors, and those of the references as dashed lines."""
    canvas, axes = make_panels(curves, width)
    for panel, ax in zip(curves.panels, axes, strict=False):
        draw_error_panel(ax, panel, dict(curves.references))
    canvas.supxlabel(symbol(parameter), fontsize=10)
    label = common(AXES, curves, "test error (% or mean squared error)")
    canvas.supylabel(label, fontsize=10)
    labels = [mark_label(m, names) for m in (*curves.methods, *(r for r, _ in curves.references))]
    lines = [line(i) for i, _ in enumerate(curves.methods)]
    dashes = [line(i, linestyle="--", marker="") for _, i in curves.references]
    add_legend(canvas, labels, [*lines, *dashes], width)
    return canvas


def make_panels(curves: Curves, width: float) -> tuple[Canvas, list[Axes]]:
    """As many panels side by side as are legible, four at most."""
    count = max(1, len(curves.panels))
    columns = min(4, columns_in(width, count, PANEL))
    columns = 3 if columns == 4 and count in (5, 6, 9) else columns
    return lay_out(count, columns, width, 1.7 * ceil(count / columns) + 0.85, sharex=True)


def common(words: Mapping[str, str], curves: Curves, otherwise: str) -> str:
    """The word for the unit of all panels, or another where they differ."""
    units = {panel.unit for panel in curves.panels if panel.unit}
    return words[units.pop()] if len(units) == 1 else otherwise


def draw_gap_panel(ax: Axes, panel: Panel, marks: Sequence[float]) -> None:
    """One data set: zero is k-CV."""
    ax.set_title(panel.dataset, fontsize=9.5)
    drawn = [(i, c) for i, c in enumerate(panel.curves) if c.gaps]
    if not drawn:
        say_no_data(ax)
        return
    tidy_up(ax)
    draw_powers(ax, [g.x for _, c in drawn for g in c.gaps])
    ax.axhline(0.0, color=INK, linewidth=0.8)
    for x in marks:
        ax.axvline(x, color=SOFT, linewidth=0.7, linestyle=":")
    limit = find_limit(panel)
    for i, curve in drawn:
        draw_gap(ax, curve, i, limit)
    ax.set_ylim(-1.12 * limit, 1.12 * limit)
    furthest = max((g.mean for _, c in drawn for g in c.gaps), key=abs)
    if abs(furthest) > limit:
        say_furthest(ax, f"up to {furthest:+.3g}", above=furthest > 0)


def draw_powers(ax: Axes, xs: Sequence[float]) -> None:
    """A log axis with at most five powers of two, zero among them where it can be."""
    ax.set_xscale("log", base=2)
    low, high = ceil(log2(min(xs))), floor(log2(max(xs)))
    step = max(1, ceil((high - low) / 4))
    powers = [e for e in range(low, high + 1) if e % step == 0]
    ax.set_xticks([2.0**e for e in powers], [f"$2^{{{e}}}$" for e in powers])
    ax.minorticks_off()


def find_limit(panel: Panel) -> float:
    """Where the axis ends: at two standard deviations of k-CV's error, or where the bands do if that is nearer."""
    gaps = [g for c in panel.curves for g in c.gaps]
    ends = max(abs(g.mean) + (0.0 if isnan(g.half) else g.half) for g in gaps)
    return min(ends, REACH * panel.sd) if panel.sd else ends or 1.0


def draw_gap(ax: Axes, curve: Curve, i: int, limit: float) -> None:
    """Mean and band; a full marker is a difference that the t-test finds, a triangle at the edge lies beyond it."""
    xs = [g.x * dodge(i) for g in curve.gaps]
    means = [g.mean for g in curve.gaps]
    halves = [0.0 if isnan(g.half) else g.half for g in curve.gaps]
    lows = [m - h for m, h in zip(means, halves, strict=True)]
    highs = [m + h for m, h in zip(means, halves, strict=True)]
    ax.fill_between(xs, lows, highs, color=colour(i), alpha=0.16, linewidth=0)
    ax.plot(xs, means, color=colour(i), linewidth=1.2)
    for clear in (False, True):
        inside = [g for g in curve.gaps if g.clear is clear and abs(g.mean) <= limit]
        draw_marks(ax, [g.x * dodge(i) for g in inside], [g.mean for g in inside], i, clear)
    for far in (g for g in curve.gaps if abs(g.mean) > limit):
        end, kind = (1.05, "^") if far.mean > 0 else (-1.05, "v")
        x = far.x * dodge(i)
        ax.plot([x], [end * limit], color=colour(i), marker=kind, markersize=3.2, linestyle="")


def dodge(i: int) -> float:
    """Curves that coincide stay apart by a little."""
    return float(2.0 ** (DODGE * (i % 2 - 0.5)))


def draw_marks(ax: Axes, xs: Sequence[float], ys: Sequence[float], i: int, filled: bool) -> None:
    """Points of a curve, full or hollow."""
    ax.plot(
        xs,
        ys,
        linestyle="",
        color=colour(i),
        marker=marker(i),
        markersize=2.8,
        markerfacecolor=colour(i) if filled else PAPER,
        markeredgewidth=0.9,
    )


def say_furthest(ax: Axes, text: str, above: bool) -> None:
    """What an axis that ends early leaves out."""
    ax.text(
        0.03,
        0.95 if above else 0.05,
        text,
        transform=ax.transAxes,
        ha="left",
        va="top" if above else "bottom",
        fontsize=7.5,
        color=SOFT,
    )


def draw_error_panel(ax: Axes, panel: Panel, positions: Mapping[str, int]) -> None:
    """One data set: its curves over a log axis, and their references."""
    ax.set_title(panel.dataset, fontsize=9.5)
    if not any(curve.points for curve in panel.curves):
        say_no_data(ax)
        return
    tidy_up(ax)
    draw_powers(ax, [p.x for c in panel.curves for p in c.points])
    for level in panel.references:
        i = positions[level.method]
        ax.axhline(level.mean, color=colour(i), linewidth=0.9, linestyle=dash(i), zorder=1)
    for i, curve in enumerate(panel.curves):
        draw_curve(ax, curve, i)
    end_early(ax, panel)


def end_early(ax: Axes, panel: Panel) -> None:
    """The axis ends some standard deviations above the references, and says how far the curves go."""
    top = max((r.mean for r in panel.references), default=0.0) + HEADROOM * panel.sd
    highest = max(p.mean for c in panel.curves for p in c.points)
    if panel.sd and highest > top:
        ax.set_ylim(top=top)
        say_furthest(ax, f"up to {highest:.3g}", above=True)


def draw_curve(ax: Axes, curve: Curve, i: int) -> None:
    """Means with standard deviations as a band."""
    xs = [p.x * dodge(i) for p in curve.points]
    sds = [0.0 if isnan(p.sd) else p.sd for p in curve.points]
    lows = [p.mean - sd for p, sd in zip(curve.points, sds, strict=True)]
    highs = [p.mean + sd for p, sd in zip(curve.points, sds, strict=True)]
    ax.fill_between(xs, lows, highs, color=colour(i), alpha=0.1, linewidth=0)
    ys = [p.mean for p in curve.points]
    ax.plot(xs, ys, color=colour(i), marker=marker(i), markersize=2.2, linewidth=0.9)


def dash(position: int) -> tuple[float, tuple[float, ...]]:
    """Lines that coincide stay apart: the dashes of one fall into the gaps of the other."""
    return (4.0 * position, (4.0, 4.0))


def line(i: int, filled: bool = False, **changes: Any) -> Any:
    """A curve as the legend shows it."""
    from matplotlib.lines import Line2D

    style = {"marker": marker(i), "markersize": 4, "linewidth": 1.2, "color": colour(i)}
    return Line2D([], [], **{**style, "markerfacecolor": colour(i), **changes})


def add_legend(canvas: Canvas, labels: Sequence[str], lines: Sequence[Any], width: float) -> None:
    """One legend for all panels, above them."""
    if labels:
        canvas.legend(
            lines,
            labels,
            loc="outside upper center",
            ncols=max(1, min(len(labels), int(width / 1.6))),
            frameon=False,
        )
