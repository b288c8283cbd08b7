"""Criterion value against test error, per split: over-fitting lowers the former but not the latter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING, Self

from kselect.report import style
from kselect.report.elements import File, Passage
from kselect.report.figures.base import FigureBase, FigureReader, good_records
from kselect.stats.samples import factor_of, unit_of
from kselect.stats.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

KEYS = ("criteria", "datasets")
# The most panels in a row, and the width of a panel in inches.
ACROSS, PANEL = 4, 1.7
Numbers = tuple[list[float], list[float]]


@dataclass(frozen=True)
class Overfitting(FigureBase, kind="overfitting"):
    """``{kind: overfitting, criteria: [ARD-XVAL, ARD-FLKL]}``; the criteria should have the same unit."""

    criteria: tuple[str, ...]
    datasets: tuple[str, ...]

    @classmethod
    def parse(cls, name: str, config: FigureReader) -> Self:
        """Read methods of the table."""
        config.check_keys("criteria", "datasets")
        return cls(name, config.labels("criteria"), config.datasets())

    def show(self, study: Study) -> Iterator[File | Passage]:
        """Yield a figure with one panel per data set that has numbers."""
        found = {d: scores_and_errors(study, d, self) for d in self.datasets}
        yield from style.show_figure(
            self.name,
            lambda width: draw_overfitting(self, {k: v for k, v in found.items() if v[1]}, width),
            "The criterion's value against the test error, one panel per data set",
            "The lowest value of the criterion against the test error there: one point per split, and a large one "
            "for the mean. A method to the left of another and above it has a lower criterion but a higher error: "
            "it over-fits its criterion.",
        )


# Numbers


def scores_and_errors(
    study: Study, dataset: str, figure: Overfitting
) -> tuple[str, dict[int, Numbers]]:
    """Return the unit of a data set, and the scores and errors of all splits for each position of a method."""
    table = study.once(good_records)
    here = table[table["dataset"] == dataset]
    metric = str(here["metric"].iloc[0]) if len(here) else "zero-one"
    found = {}
    for i, label in enumerate(figure.criteria):
        rows = here[(here["method"] == label) & here["score"].notna() & here["error"].notna()]
        errors = factor_of(metric) * rows["error"].to_numpy(float)
        if len(rows):
            found[i] = (rows["score"].to_numpy(float).tolist(), errors.tolist())
    return unit_of(metric), found


# Drawing


def draw_overfitting(
    figure: Overfitting, found: Mapping[str, tuple[str, dict[int, Numbers]]], width: float
) -> Canvas:
    """Draw one panel per data set."""
    count = max(1, len(found))
    canvas, axes = style.lay_out(count, width, PANEL, 2.2, 0.7, most=ACROSS)
    if not found:
        style.say_no_data(axes[0])
    for (dataset, (unit, numbers)), ax in zip(found.items(), axes, strict=False):
        ax.set_title(f"{dataset} ({unit})", fontsize=9.5)
        draw_points(ax, numbers)
        style.tidy_up(ax)
    looks = [
        {**style.look(i), "linestyle": "", "markersize": 5} for i, _ in enumerate(figure.criteria)
    ]
    names = ("criterion at its best", "test error")
    style.label_canvas(canvas, *names, looks, figure.criteria, int(width / 1.7))
    return canvas


def draw_points(ax: Axes, numbers: Mapping[int, Numbers]) -> None:
    """Draw the splits of all methods as small marks of their shape and colour, then the means above them."""
    for i, (scores, errors) in numbers.items():
        look = style.look(i)
        look |= {"color": (look["color"], 0.6), "markersize": 3.2, "markeredgewidth": 0}
        ax.plot(scores, errors, linestyle="", **look)
    for i, (scores, errors) in numbers.items():
        ax.plot(
            *([fsum(scores) / len(scores)], [fsum(errors) / len(errors)]),
            **style.look(i),
            linestyle="",
            markersize=8,
            markeredgecolor=style.INK,
            markeredgewidth=1,
            zorder=3,
        )
