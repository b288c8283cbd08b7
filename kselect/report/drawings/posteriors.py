"""The Bayesian signed-rank test of every pair as a bar: first better, the same in practice, second better."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kselect.report.panels import colour, lay_out
from kselect.report.schemes import INK, LINE, PAPER
from kselect.stats.ranks import ROPE, Posterior

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

WIDEST = 7.2
# Inches a bar, of the axis below, and a line of the legend above.
BAR, FRAME, LEGEND = 0.27, 0.75, 0.2
# Shares that have room for their number.
READABLE, READABLE_NARROW = 0.06, 0.2


def draw_posteriors(
    found: Sequence[Posterior], width: float, show: Callable[[str], str] = str
) -> Canvas:
    """One bar for each pair, its methods at its two ends as they are to be shown."""
    from matplotlib.patches import Patch

    lines = 1 if width >= WIDEST else 3
    height = FRAME + LEGEND * lines + BAR * len(found)
    canvas, (ax,) = lay_out(1, 1, min(WIDEST, width), height)
    readable = READABLE if width >= WIDEST else READABLE_NARROW
    for row, pair in enumerate(found):
        draw_bar(ax, row, pair, readable)
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
    names = ("left better", f"the same within {ROPE:g} point", "right better")
    handles = [Patch(facecolor=fill) for fill in (colour(0), LINE, colour(1))]
    columns = len(names) // lines
    canvas.legend(
        handles, names, loc="outside upper center", ncols=columns, frameon=False, fontsize=8
    )
    return canvas


def draw_bar(ax: Axes, row: int, pair: Posterior, readable: float) -> None:
    """Three lengths that add up to one, with their numbers where there is room."""
    left = 0.0
    for share, fill, ink in (
        (pair.better, colour(0), PAPER),
        (pair.same, LINE, INK),
        (pair.worse, colour(1), PAPER),
    ):
        ax.barh(row, share, left=left, height=0.72, color=fill)
        if share >= readable:
            ax.text(
                left + share / 2,
                row,
                f"{share:.2f}",
                ha="center",
                va="center",
                fontsize=7.5,
                color=ink,
            )
        left += share
