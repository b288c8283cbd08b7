"""The figures of a ranking: mean ranks on an axis, and every pair as a bar of posterior probabilities."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from kselect.core.table import Values
from kselect.report import style
from kselect.report.elements import File, Passage
from kselect.report.writers import numbers_file
from kselect.stats.ranks import ROPE, Posterior, Ranks, cliques, critical_difference

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

LEVEL = 0.1  # of the critical difference that is drawn
# A posterior probability that decides a pair.
DECIDED = 0.95
COLUMNS = ("source", "method", "mean_rank", "datasets", "critical_difference")
SAME = f"the same within {ROPE:g} point"
# Inches, and the room for the labels next to the axis as a share of it.
OUTSIDE, OUTSIDE_NARROW = 0.45, 1.1
# The distance between labels and between bars, in the axis's own units of height.
STEP, BAR = 0.42, 0.16
# Inches of a bar, of the axis below the bars, and of a line of the legend above them.
PAIR, FRAME, LEGEND = 0.27, 0.75, 0.2
# The smallest shares that have room for their number.
READABLE, READABLE_NARROW = 0.06, 0.2


def show_ranks(
    name: str,
    labels: Sequence[str],
    ranked: Mapping[str, Ranks],
    caption: str,
    level: float = LEVEL,
    numbers: str = "",
    chapter: str = "rankings",
) -> Iterator[File | Passage]:
    """Yield the critical-difference diagram of some ranks, and its numbers."""
    numbers = numbers or name
    yield numbers_file(numbers, COLUMNS, rank_rows(labels, ranked, level))
    yield from style.show_figure(
        name,
        lambda width: draw_ranks(labels, ranked, width, level),
        f"Mean ranks of {', '.join(labels)} with the critical difference",
        caption,
        sum_up_ranks(labels, next(iter(ranked.values())), level),
        numbers=numbers,
        chapter=chapter,
    )


# Numbers


def rank_rows(labels: Sequence[str], ranked: Mapping[str, Ranks], level: float) -> Iterator[Values]:
    """Yield a row for every title and method."""
    for title, ranks in ranked.items():
        count = len(ranks.datasets)
        limit = critical_difference(len(labels), count, level) if ranks.critical else None
        for label, mean in zip(labels, ranks.mean, strict=False):
            yield (title, label, float(mean), count, limit)


# Words


def sum_up_ranks(labels: Sequence[str], ranks: Ranks, level: float) -> str:
    """Return the title: who has the lowest mean rank, and how many pairs Nemenyi's test tells apart."""
    if not ranks.datasets:
        return ""
    lowest = min(ranks.mean)
    best = [label for label, mean in zip(labels, ranks.mean, strict=True) if mean == lowest]
    lead = f"{' and '.join(best)} {'has' if len(best) == 1 else 'have'} the lowest mean rank"
    if ranks.critical is None:
        return f"{lead} ({lowest:.2f})"
    limit = critical_difference(len(labels), len(ranks.datasets), level)
    pairs = list(combinations(ranks.mean, 2))
    apart = sum(abs(a - b) > limit for a, b in pairs)
    return f"{lead} ({lowest:.2f}); Nemenyi's test at {100 * level:g} % tells {apart} of {len(pairs)} pairs apart"


def sum_up_posteriors(found: Sequence[Posterior], same: str = SAME) -> str:
    """Return the title: how many pairs differ, and how many are the same, with a high probability."""
    apart = sum(max(pair.better, pair.worse) > DECIDED for pair in found)
    equal = sum(pair.same > DECIDED for pair in found)
    return (
        f"With a probability above {DECIDED:g}, {apart} of {len(found)} pairs "
        f"{'differs' if apart == 1 else 'differ'} and {equal} {'is' if equal == 1 else 'are'} {same}"
    )


# Drawing


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
    size = (width, len(shown) * (1.15 + 0.24 * rows))
    canvas = Canvas(figsize=size, layout="constrained")
    axes = canvas.subplots(len(shown), 1, squeeze=False)[:, 0]
    for ax, (title, ranks) in zip(axes, shown.items(), strict=True):
        ax.set_axis_off()
        ax.set_title(f"{title}, {len(ranks.datasets)} data sets", loc="left")
        if ranks.datasets:
            share = OUTSIDE if width >= style.WIDE else OUTSIDE_NARROW
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
        ax.text(tick, 0.12, str(tick), ha="center", va="bottom")
    first = 0.3 + BAR * len(joined)
    for place, i in enumerate(order):
        left, mean = place < half, ranks.mean[i]
        depth = -(first + STEP * (place if left else count - 1 - place))
        edge = 1 - 0.05 * outside if left else count + 0.05 * outside
        ax.plot([mean, mean, edge], [0, depth, depth], color=style.SOFT, linewidth=0.8)
        text = f"{labels[i]}  {mean:.2f}" if left else f"{mean:.2f}  {labels[i]}"
        x = edge + (-0.03 * outside if left else 0.03 * outside)
        ax.text(x, depth, text, ha="right" if left else "left", va="center")
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
        ax.text(1 + difference + 0.04, 0.55, text, ha="left", va="center")


def draw_posteriors(
    found: Sequence[Posterior], width: float, show: Callable[[str], str] = str, same: str = SAME
) -> Canvas:
    """Draw one bar per pair, with its methods at both ends, as ``show`` writes them; ``same`` names the middle."""
    from matplotlib.patches import Patch

    wide = width >= style.WIDE
    lines = 1 if wide else 3
    height = FRAME + LEGEND * lines + PAIR * len(found)
    canvas, (ax,) = style.lay_out(1, width, width, height)
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
        axis.tick_params(axis="y", length=0)
        axis.spines[:].set_visible(False)
    ax.tick_params(axis="x")
    ax.set_xlabel("probability")
    names = ("left better", same, "right better")
    handles = [Patch(facecolor=fill) for fill in (style.SERIES[0], style.LINE, style.SERIES[1])]
    canvas.legend(
        *(handles, names),
        loc="outside upper center",
        ncols=len(names) // lines,
        frameon=False,
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
            ax.text(x, row, text, ha="center", va="center", color=ink)
        left += share
