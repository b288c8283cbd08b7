"""Box plots of learned kernel parameters over splits, a panel per data set and column (flkl2014, figures 4, 5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING, Any, ClassVar

from kselect.core.experiment import FigureContext
from kselect.core.method import Method
from kselect.report.blocks import Shown
from kselect.report.panels import colour, columns_in, lay_out, say_no_data, show_figure, tidy_up
from kselect.report.schemes import INK
from kselect.report.sections.base import Wrong, figure, read_datasets, read_labels
from kselect.stats.learned import Learned, learned, limits
from kselect.stats.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

KEYS = ("criteria", "datasets")
PANEL = 3.0
MOST_TICKS = 12


@dataclass(frozen=True)
class Widths:
    """Whose parameters are drawn, and on which data sets."""

    name: str
    criteria: tuple[str, ...]
    datasets: tuple[str, ...]
    kind: ClassVar[str] = "widths"


@figure("widths")
class WidthsFigure:
    """``{kind: widths, criteria: [ARD-XVAL, ARD-FLKL], datasets: [thyroid]}``."""

    def read(
        self, name: str, written: Mapping[str, Any], columns: FigureContext, wrong: Wrong
    ) -> Widths:
        """Columns that learn a kernel."""
        for key in written:
            if key not in KEYS:
                wrong((key,), f"unknown key; valid: {', '.join(KEYS)}")
        labels = read_labels("criteria", written, columns, wrong)
        for label in labels:
            if columns.first(label).search is None:
                wrong(("criteria",), f"{label} tries a grid and learns no kernel")
        return Widths(name, tuple(labels), read_datasets(written, columns, wrong))

    def methods(self, figure: Widths, columns: FigureContext) -> Iterable[Method]:
        """Nothing beside the table's."""
        return ()

    def keep(self, figure: Widths, labels: frozenset[str]) -> Widths | None:
        """With some of its columns."""
        kept = tuple(c for c in figure.criteria if c in labels)
        return replace(figure, criteria=kept) if kept else None

    def show(self, figure: Widths, study: Study) -> Shown:
        """Data sets down, columns across; the axis of a data set is shared."""
        rows = [[learned(study, d, m) for m in figure.criteria] for d in figure.datasets]
        return show_figure(
            figure.name,
            lambda width: make_canvas(rows, width),
            f"Box plots of the kernel parameters of {', '.join(figure.criteria)} over splits",
            f"Kernel parameters of {', '.join(figure.criteria)} over splits, one box per feature: quartiles and "
            "median, whiskers to the 5th and 95th percentile. Parameters near zero lie at the foot of the axis.",
        )


def make_canvas(rows: Sequence[Sequence[Learned]], width: float) -> Canvas:
    """One panel per data set and column."""
    across = max((len(row) for row in rows), default=1)
    count = across * len(rows)
    columns = columns_in(width, across, PANEL)
    lines = ceil(max(count, 1) / columns)
    canvas, axes = lay_out(max(count, 1), columns, width, 2.0 * lines)
    for i, row in enumerate(rows):
        floor, top = limits(row)
        for j, one in enumerate(row):
            draw(axes[i * across + j], one, j, floor, top)
    canvas.supxlabel("feature", fontsize=10)
    canvas.supylabel("kernel parameter", fontsize=10)
    return canvas


def draw(ax: Axes, one: Learned, position: int, floor: float, top: float) -> None:
    """The boxes of one column on one data set."""
    ax.set_title(f"{one.dataset}, {one.method} ({len(one.splits)} splits)", fontsize=9)
    if not one.values.size:
        say_no_data(ax)
        ax.set_xticks([])
        return
    values = one.raised(floor)
    ax.boxplot(
        values,
        whis=(5, 95),
        showfliers=False,
        widths=0.65,
        patch_artist=True,
        boxprops={
            "facecolor": (colour(position), 0.35),
            "edgecolor": colour(position),
            "linewidth": 0.7,
        },
        medianprops={"color": INK, "linewidth": 1.1},
        whiskerprops={"color": colour(position), "linewidth": 0.7},
        capprops={"color": colour(position), "linewidth": 0.7},
    )
    ax.set_yscale("log")
    ax.set_ylim(0.7 * floor, 2.0 * top)
    step = max(1, -(-values.shape[1] // MOST_TICKS))
    shown = list(range(1, values.shape[1] + 1, step))
    ax.set_xticks(shown, [str(v) for v in shown])
    tidy_up(ax)
