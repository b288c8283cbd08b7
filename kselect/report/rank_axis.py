"""A critical-difference diagram (Demsar 2006, figure 1): methods on an axis of mean ranks, what is alike joined."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kselect.report.panels import colour, say_no_data
from kselect.report.schemes import INK, SOFT
from kselect.stats.rankings import Ranked
from kselect.stats.ranks import LEVELS, Ranks, cliques

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

LEVEL = 0.1
# Inches, and the room for the labels beside the axis as a share of it.
WIDEST, OUTSIDE, OUTSIDE_NARROW = 7.2, 0.34, 0.8
LINE = 0.42  # between labels, in the axis's own units of height
BAR = 0.16


def make_canvas(found: Ranked, paper: str, width: float) -> Canvas:
    """Ours above, the published ranks below where there are any."""
    from matplotlib.figure import Figure as Canvas

    parts = [("ours", found.ranks)]
    parts += [(f"published in {paper}", found.published)] if found.published.datasets else []
    rows = (len(found.labels) + 1) // 2
    canvas = Canvas(
        figsize=(min(WIDEST, width), len(parts) * (1.15 + 0.24 * rows)), layout="constrained"
    )
    axes = canvas.subplots(len(parts), 1, squeeze=False)[:, 0]
    for ax, (title, ranks) in zip(axes, parts, strict=True):
        ax.set_axis_off()
        ax.set_title(f"{title}, {len(ranks.datasets)} data sets", fontsize=9, loc="left")
        if ranks.datasets:
            draw(
                ax,
                tuple(map(found.mark, found.labels)),
                ranks,
                OUTSIDE if width >= WIDEST else OUTSIDE_NARROW,
            )
        else:
            say_no_data(ax)
    return canvas


def draw(ax: Axes, labels: tuple[str, ...], ranks: Ranks, share: float) -> None:
    """The axis from 1 to k, a leader to the label of each method, the critical difference, and the bars."""
    count = len(labels)
    order = sorted(range(count), key=lambda i: ranks.mean[i])
    joined = cliques(ranks, LEVEL)
    low = -(0.35 + BAR * len(joined) + LINE * ((count + 1) // 2))
    outside = share * max(count - 1, 1)
    ax.set_xlim(1 - outside, count + outside)
    ax.set_ylim(low, 0.85)
    ax.plot([1, count], [0, 0], color=INK, linewidth=0.9)
    for tick in range(1, count + 1):
        ax.plot([tick, tick], [0, 0.08], color=INK, linewidth=0.9)
        ax.text(tick, 0.12, str(tick), ha="center", va="bottom", fontsize=8)
    half = (count + 1) // 2
    first = 0.3 + BAR * len(joined)
    for place, i in enumerate(order):
        left = place < half
        depth = -(first + LINE * (place if left else count - 1 - place))
        edge = 1 - 0.05 * outside if left else count + 0.05 * outside
        ax.plot([ranks.mean[i], ranks.mean[i], edge], [0, depth, depth], color=SOFT, linewidth=0.8)
        text = f"{labels[i]}  {ranks.mean[i]:.2f}" if left else f"{ranks.mean[i]:.2f}  {labels[i]}"
        gap = -0.03 * outside if left else 0.03 * outside
        ax.text(edge + gap, depth, text, ha="right" if left else "left", va="center", fontsize=8)
    for level, members in enumerate(joined):
        ends = [ranks.mean[members[0]] - 0.03, ranks.mean[members[-1]] + 0.03]
        ax.plot(
            ends, [-0.14 - BAR * level] * 2, color=colour(0), linewidth=3, solid_capstyle="butt"
        )
    draw_critical(ax, ranks)


def draw_critical(ax: Axes, ranks: Ranks) -> None:
    """The critical difference as a length above the axis."""
    if ranks.critical is None:
        return
    limit = ranks.critical[LEVELS.index(LEVEL)]
    ax.plot([1, 1 + limit], [0.55, 0.55], color=INK, linewidth=1.1)
    for end in (1, 1 + limit):
        ax.plot([end, end], [0.5, 0.6], color=INK, linewidth=1.1)
    ax.text(
        1 + limit + 0.04,
        0.55,
        f"CD {limit:.2f} at {100 * LEVEL:g} %",
        ha="left",
        va="center",
        fontsize=8,
    )
