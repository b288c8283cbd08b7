"""Each split's criterion value against its test error: over-fitted, the one falls and the other does not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING, Any, ClassVar

from kselect.core.experiment import FigureContext
from kselect.core.method import Method
from kselect.report.blocks import Shown
from kselect.report.panels import (
    colour,
    columns_in,
    lay_out,
    marker,
    say_no_data,
    show_figure,
    tidy_up,
)
from kselect.report.schemes import PAPER
from kselect.report.sections.base import Wrong, figure, read_datasets, read_labels
from kselect.stats.overfitting import Cloud, clouds
from kselect.stats.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

KEYS = ("criteria", "datasets")
ACROSS, PANEL = 4, 1.7


@dataclass(frozen=True)
class Overfitting:
    """Whose values are drawn, and on which data sets."""

    name: str
    criteria: tuple[str, ...]
    datasets: tuple[str, ...]
    kind: ClassVar[str] = "overfitting"


@figure("overfitting")
class OverfittingFigure:
    """``{kind: overfitting, criteria: [ARD-XVAL, ARD-FLKL]}``; the criteria should have one unit."""

    def read(
        self, name: str, written: Mapping[str, Any], columns: FigureContext, wrong: Wrong
    ) -> Overfitting:
        """Columns of the table."""
        for key in written:
            if key not in KEYS:
                wrong((key,), f"unknown key; valid: {', '.join(KEYS)}")
        labels = read_labels("criteria", written, columns, wrong)
        return Overfitting(name, tuple(labels), read_datasets(written, columns, wrong))

    def methods(self, figure: Overfitting, columns: FigureContext) -> Iterable[Method]:
        """Nothing beside the table's."""
        return ()

    def keep(self, figure: Overfitting, labels: frozenset[str]) -> Overfitting | None:
        """With some of its columns."""
        kept = tuple(c for c in figure.criteria if c in labels)
        return replace(figure, criteria=kept) if kept else None

    def show(self, figure: Overfitting, study: Study) -> Shown:
        """One panel per data set that has numbers, one legend above them."""
        found = {d: clouds(study, d, figure.criteria) for d in figure.datasets}
        there = {d: row for d, row in found.items() if any(c.errors for c in row)}
        return show_figure(
            figure.name,
            lambda width: make_canvas(figure, there, width),
            "The criterion's value against the test error, one panel per data set",
            "The criterion at its best against the test error there: a point per split, a large one for the mean. "
            "A column that lies to the left of another and above it has a lower criterion and a higher error: it "
            "over-fits its criterion.",
        )


def make_canvas(figure: Overfitting, found: Mapping[str, Sequence[Cloud]], width: float) -> Canvas:
    """Panels in rows of at most four."""
    from matplotlib.lines import Line2D

    count = max(1, len(found))
    across = min(ACROSS, columns_in(width, count, PANEL))
    canvas, axes = lay_out(count, across, width, 2.2 * ceil(count / across) + 0.7)
    if not found:
        say_no_data(axes[0])
    for (dataset, row), ax in zip(found.items(), axes, strict=False):
        draw(ax, dataset, row)
    canvas.supxlabel("criterion at its best", fontsize=10)
    canvas.supylabel("test error", fontsize=10)
    handles = [
        Line2D([], [], color=colour(i), marker=marker(i), linestyle="", markersize=5)
        for i, _ in enumerate(figure.criteria)
    ]
    canvas.legend(
        handles,
        figure.criteria,
        loc="outside upper center",
        ncols=max(1, int(width / 1.7)),
        frameon=False,
    )
    return canvas


def draw(ax: Axes, dataset: str, row: Sequence[Cloud]) -> None:
    """The points of one data set, the means above them."""
    ax.set_title(f"{dataset} ({row[0].unit})", fontsize=9.5)
    for i, cloud in enumerate(row):
        if cloud.errors:
            ax.plot(
                *(cloud.scores, cloud.errors),
                marker(i),
                color=(colour(i), 0.25),
                markersize=2.2,
                markeredgewidth=0,
            )
    for i, cloud in enumerate(row):
        if cloud.errors:
            score, error = cloud.mean
            ax.plot(
                *([score], [error], marker(i)),
                color=colour(i),
                markersize=6.5,
                markeredgecolor=PAPER,
                markeredgewidth=0.8,
                zorder=3,
            )
    tidy_up(ax)
