"""Criterion value against test error, per split: over-fitting lowers the former but not the latter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING, Self

from kselect.report import style
from kselect.report.elements import File, Passage
from kselect.report.figures.base import FigureBase, FigureReader, good_records
from kselect.report.writers import numbers_file
from kselect.stats.samples import factor_of, unit_of
from kselect.stats.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

KEYS = ("criteria", "datasets")
# The most panels in a row, and the width of a panel in inches.
ACROSS, PANEL = 4, 1.6
# The size of the mean of the first method; each later one is smaller, so that none is hidden.
LARGEST, SMALLER = 11.0, 1.5
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
            sum_up(numbers for _, numbers in found.values()),
        )
        yield numbers_file(
            self.name,
            ("dataset", "method", "criterion", "test_error"),
            (
                (dataset, self.criteria[i], score, error)
                for dataset, (_, numbers) in found.items()
                for i, points in numbers.items()
                for score, error in zip(*points, strict=True)
            ),
            digits=6,
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


# Words


def sum_up(panels: Iterable[Mapping[int, Numbers]]) -> str:
    """Return the title: how often the method with the lowest criterion does not have the lowest error."""
    misled = []
    for numbers in (n for n in panels if len(n) > 1):
        means = {i: [fsum(values) / len(values) for values in n] for i, n in numbers.items()}
        lowest = min(means, key=lambda i: means[i][0])
        misled.append(means[lowest][1] > min(error for _, error in means.values()))
    if not misled:
        return ""
    return (
        f"On {sum(misled)} of {len(misled)} data sets, the method with the lowest mean criterion does not have the "
        "lowest mean error"
    )


# Drawing


def draw_overfitting(
    figure: Overfitting, found: Mapping[str, tuple[str, dict[int, Numbers]]], width: float
) -> Canvas:
    """Draw one panel per data set."""
    count = max(1, len(found))
    canvas, axes = style.lay_out(count, width, PANEL, 2.2, 0.7, most=ACROSS)
    units = {unit for unit, _ in found.values()}
    if not found:
        style.say_no_data(axes[0])
    for (dataset, (unit, numbers)), ax in zip(found.items(), axes, strict=False):
        ax.set_title(dataset if len(units) == 1 else f"{dataset} ({unit})")
        draw_points(ax, numbers)
        style.tidy_up(ax)
        ax.locator_params(axis="x", nbins=2, steps=[1, 2, 4, 5, 10])
        ax.xaxis.set_major_formatter("{x:g}")
    looks = [
        {**style.look(i), "linestyle": "", "markersize": 5} for i, _ in enumerate(figure.criteria)
    ]
    unit = f" ({next(iter(units))})" if len(units) == 1 else ""
    names = ("criterion at its best", f"test error{unit}")
    style.label_canvas(canvas, *names, looks, figure.criteria, int(width / 1.3))
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
            markersize=max(LARGEST - SMALLER * i, 4.0),
            markeredgecolor=style.INK,
            markeredgewidth=0.8,
            zorder=3,
        )
