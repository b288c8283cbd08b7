"""The drawings of a ranking: mean ranks on an axis, and every pair as a bar of posterior probabilities."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from kselect.report import style
from kselect.stats.ranks import ROPE, Posterior, Ranks, cliques, critical_difference

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

LEVEL = 0.1  # of the critical difference that is drawn
SAME = f"the same within {ROPE:g} point"
# Inches, and the room for the labels next to the axis as a share of it.
WIDEST, OUTSIDE, OUTSIDE_NARROW = 7.2, 0.34, 0.8
# The distance between labels and between bars, in the axis's own units of height.
STEP, BAR = 0.42, 0.16
# Inches of a bar, of the axis below the bars, and of a line of the legend above them.
PAIR, FRAME, LEGEND = 0.27, 0.75, 0.2
# The smallest shares that have room for their number.
READABLE, READABLE_NARROW = 0.06, 0.2


def draw_ranks(
    labels: Sequence[str], ranked: Mapping[str, Ranks], width: float, level: float = LEVEL
) -> Canvas:
    """Draw a critical-difference diagram (Demsar 2006, figure 1) at some level for each title.

    The first is always drawn, the others only if there are ranks.
    """
    from matplotlib.figure import Figure as Canvas

    first = next(iter(ranked))
    shown = {title: r for title, r in ranked.items() if title == first or r.datasets}
    rows = (len(labels) + 1) // 2
    size = (min(WIDEST, width), len(shown) * (1.15 + 0.24 * rows))
    canvas = Canvas(figsize=size, layout="constrained")
    axes = canvas.subplots(len(shown), 1, squeeze=False)[:, 0]
    for ax, (title, ranks) in zip(axes, shown.items(), strict=True):
        ax.set_axis_off()
        ax.set_title(f"{title}, {len(ranks.datasets)} data sets", fontsize=9, loc="left")
        if ranks.datasets:
            share = OUTSIDE if width >= WIDEST else OUTSIDE_NARROW
            draw_axis(ax, labels, ranks, share, level)
        else:
            style.say_no_data(ax)
    return canvas


def draw_axis(ax: Axes, labels: Sequence[str], ranks: Ranks, share: float, level: float) -> None:
    """Draw the axis from 1 to k, a line from each rank to its label, and bars that join similar methods."""
    count = len(labels)
    order = sorted(range(count), key=lambda i: ranks.mean[i])
    joined = cliques(ranks, level)
    half = (count + 1) // 2
    outside = share * max(count - 1, 1)
    ax.set_xlim(1 - outside, count + outside)
    ax.set_ylim(-(0.35 + BAR * len(joined) + STEP * half), 0.85)
    ax.plot([1, count], [0, 0], color=style.INK, linewidth=0.9)
    for tick in range(1, count + 1):
        ax.plot([tick, tick], [0, 0.08], color=style.INK, linewidth=0.9)
        ax.text(tick, 0.12, str(tick), ha="center", va="bottom", fontsize=8)
    first = 0.3 + BAR * len(joined)
    for place, i in enumerate(order):
        left, mean = place < half, ranks.mean[i]
        depth = -(first + STEP * (place if left else count - 1 - place))
        edge = 1 - 0.05 * outside if left else count + 0.05 * outside
        ax.plot([mean, mean, edge], [0, depth, depth], color=style.SOFT, linewidth=0.8)
        text = f"{labels[i]}  {mean:.2f}" if left else f"{mean:.2f}  {labels[i]}"
        x = edge + (-0.03 * outside if left else 0.03 * outside)
        ax.text(x, depth, text, ha="right" if left else "left", va="center", fontsize=8)
    for row, members in enumerate(joined):
        ends, height = [ranks.mean[members[0]] - 0.03, ranks.mean[members[-1]] + 0.03], BAR * row
        ax.plot(
            ends, [-0.14 - height] * 2, color=style.SERIES[0], linewidth=3, solid_capstyle="butt"
        )
    if ranks.critical is not None:
        difference = critical_difference(count, len(ranks.datasets), level)
        ax.plot([1, 1 + difference], [0.55, 0.55], color=style.INK, linewidth=1.1)
        for end in (1, 1 + difference):
            ax.plot([end, end], [0.5, 0.6], color=style.INK, linewidth=1.1)
        text = f"CD {difference:.2f} at {100 * level:g} %"
        ax.text(1 + difference + 0.04, 0.55, text, ha="left", va="center", fontsize=8)


def draw_posteriors(
    found: Sequence[Posterior], width: float, show: Callable[[str], str] = str, same: str = SAME
) -> Canvas:
    """Draw one bar per pair, with its methods at both ends, as ``show`` writes them; ``same`` names the middle."""
    from matplotlib.patches import Patch

    wide = width >= WIDEST
    lines = 1 if wide else 3
    height = FRAME + LEGEND * lines + PAIR * len(found)
    size = min(WIDEST, width)
    canvas, (ax,) = style.lay_out(1, size, size, height)
    for row, pair in enumerate(found):
        draw_bar(ax, row, pair, READABLE if wide else READABLE_NARROW)
    rows = range(len(found))
    ax.set_yticks(rows, [show(p.first) for p in found])
    ax.set_ylim(len(found) - 0.5, -0.5)
    ax.set_xlim(0.0, 1.0)
    ax.set_xticks([0.0, 0.25, 0.5, 0.75, 1.0], ["0", "", "0.5", "", "1"])
    other = ax.secondary_yaxis("right")
    other.set_yticks(rows, [show(p.second) for p in found])
    for axis in (ax, other):
        axis.tick_params(axis="y", length=0, labelsize=8)
        axis.spines[:].set_visible(False)
    ax.tick_params(axis="x", labelsize=8)
    ax.set_xlabel("probability", fontsize=8)
    names = ("left better", same, "right better")
    handles = [Patch(facecolor=fill) for fill in (style.SERIES[0], style.LINE, style.SERIES[1])]
    canvas.legend(
        *(handles, names),
        loc="outside upper center",
        ncols=len(names) // lines,
        frameon=False,
        fontsize=8,
    )
    return canvas


def draw_bar(ax: Axes, row: int, pair: Posterior, readable: float) -> None:
    """Draw three lengths that add up to one, with their numbers if there is room."""
    left = 0.0
    for share, fill, ink in (
        (pair.better, style.SERIES[0], style.PAPER),
        (pair.same, style.LINE, style.INK),
        (pair.worse, style.SERIES[1], style.PAPER),
    ):
        ax.barh(row, share, left=left, height=0.72, color=fill)
        if share >= readable:
            text, x = f"{share:.2f}", left + share / 2
            ax.text(x, row, text, ha="center", va="center", fontsize=7.5, color=ink)
        left += share
