"""Box plots of learned kernel parameters over splits.

These are figures 4 and 5 of flkl2014. Methods with one width per feature have one panel per data set; methods with
a single width have one panel each, with a box for each data set.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from kselect.core.table import Values
from kselect.kernels.base import read_parameters
from kselect.numerics.linalg import Array
from kselect.report import style
from kselect.report.elements import File, Passage
from kselect.report.figures.base import FigureBase, FigureReader, good_records
from kselect.report.writers import numbers_file
from kselect.stats.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

# Parameters below this share of the largest median are drawn at the bottom of the axis, where zero is.
BOTTOM = 1e-4
PANEL = 2.2  # inches
MOST_TICKS = 12
PERCENTILES = (5, 25, 50, 75, 95)
COLUMNS = ("dataset", "method", "parameter", *(f"percentile_{p}" for p in PERCENTILES), "splits")


@dataclass(frozen=True)
class WidthsFigure(FigureBase, kind="widths"):
    """``{kind: widths, criteria: [ARD-XVAL, ARD-FLKL], datasets: [thyroid]}``."""

    criteria: tuple[str, ...]
    datasets: tuple[str, ...]

    @classmethod
    def parse(cls, name: str, config: FigureReader) -> Self:
        """Read methods that learn a kernel."""
        config.check_keys("criteria", "datasets")
        labels = config.labels("criteria")
        for label in labels:
            if config.context.methods[label].search is None:
                config.wrong(("criteria",), f"{label} searches a grid and does not learn a kernel")
        return cls(name, labels, config.datasets())

    def show(self, study: Study) -> Iterator[File | Passage]:
        """Yield a figure with data sets down and methods across, or one panel per method with a single width."""
        rows = [[learned_widths(study, d, m) for m in self.criteria] for d in self.datasets]
        names = ", ".join(self.criteria)
        single = all(one.values.shape[1] <= 1 for row in rows for one in row)
        yield from style.show_figure(
            self.name,
            lambda width: (draw_single_widths if single else draw_widths)(rows, width),
            f"Box plots of the kernel parameters of {names} over splits",
            f"Kernel parameters of {names} over splits, one box per {'data set' if single else 'feature'}: "
            "quartiles and median, whiskers to the 5th and 95th percentile. Parameters near zero are drawn at the "
            "bottom of the axis.",
            sum_up(rows),
        )
        yield numbers_file(
            self.name, COLUMNS, (row for some in rows for one in some for row in one.rows())
        )


# Numbers


@dataclass(frozen=True, eq=False)
class LearnedWidths:
    """The thetas that one method learned on one data set: ``values`` is (splits, thetas)."""

    dataset: str
    method: str
    values: Array

    def rows(self) -> Iterator[Values]:
        """Yield the quartiles and the outer percentiles of each parameter over splits."""
        for i, column in enumerate(self.values.T, start=1):
            shown = np.percentile(column, PERCENTILES).tolist()
            yield (self.dataset, self.method, i, *shown, len(column))

    @property
    def variation(self) -> float:
        """Return the median over parameters of their coefficient of variation over splits.

        NaN below two splits; parameters that are always zero are left out.
        """
        if len(self.values) < 2:
            return math.nan
        mean = self.values.mean(axis=0)
        used = mean > 0.0
        if not used.any():
            return 0.0
        return float(np.median(self.values[:, used].std(axis=0, ddof=1) / mean[used]))

    @property
    def weak_share(self) -> float:
        """Return the share of a kernel's widths that belongs to the weaker half of the features, over splits.

        The widths of each split are first scaled to a sum of 1. Otherwise one split with a huge width would
        determine the result.
        """
        mean = np.sort(self.shares)
        return float(mean[: len(mean) // 2].sum()) if len(mean) else math.nan

    @property
    def stronger(self) -> LearnedWidths:
        """Return the widths of the half of the features with the larger shares of a kernel's widths."""
        order = np.argsort(self.shares, kind="stable")
        return replace(self, values=self.values[:, np.sort(order[len(order) // 2 :])])

    @property
    def shares(self) -> Array:
        """Return the mean over splits of each feature's share of the kernel's widths; empty without widths."""
        totals = self.values.sum(axis=1, keepdims=True)
        known = totals[:, 0] > 0.0
        found: Array = (
            (self.values[known] / totals[known]).mean(axis=0) if known.any() else totals[:0, 0]
        )
        return found


def learned_widths(study: Study, dataset: str, method: str) -> LearnedWidths:
    """Return the thetas that a method learned on a data set, or on its stand-in if it has none there.

    A Gaussian kernel has ``theta = 1 / (2 tau)``.
    """
    frame = study.once(good_records)
    rows = frame[(frame["dataset"] == dataset) & (frame["method"] == method)].sort_values("split")
    if rows.empty:
        experiment = study.experiment
        twins = [d for d in experiment.datasets if experiment.info(d).stands_for == dataset]
        if twins:
            return learned_widths(study, twins[0], method)
    found = [
        [0.5 / value if name == "tau" else value for name, value in read_parameters(text).items()]
        for text in rows["chosen"]
    ]
    width = len(found[0]) if found else 0
    values = np.array(found, dtype=np.float64).reshape(len(found), width)
    return LearnedWidths(dataset, method, values)


def sum_up(rows: Sequence[Sequence[LearnedWidths]]) -> str:
    """Return the title: the method whose parameters vary least over splits, and on how many data sets."""
    every = [{one.method: one.variation for one in row} for row in rows]
    known = [found for found in every if len(found) > 1 and np.isfinite([*found.values()]).all()]
    if not known:
        return ""
    least = Counter(min(found, key=found.__getitem__) for found in known)
    name, count = least.most_common(1)[0]
    what = f"{count} of {len(known)} data sets"
    return f"The parameters of {name} vary least over splits on {what} (coefficient of variation)"


def axis_ends(row: Sequence[LearnedWidths]) -> tuple[float, float]:
    """Return the ends of a data set's axis, from medians and upper percentiles, which no single split moves."""
    medians = [np.median(one.values, axis=0).max() for one in row if one.values.size]
    tops = [np.percentile(one.values, 95, axis=0).max() for one in row if one.values.size]
    bottom = BOTTOM * max(medians, default=1.0) or BOTTOM
    return float(bottom), float(max([*tops, 10.0 * bottom]))


# Drawing


def draw_widths(rows: Sequence[Sequence[LearnedWidths]], width: float) -> Canvas:
    """Draw one panel per data set and method; the panels of a data set have the same axis."""
    across = max((len(row) for row in rows), default=1)
    count = max(across * len(rows), 1)
    canvas, axes = style.lay_out(count, width, PANEL, 2.0, abreast=across)
    for i, row in enumerate(rows):
        for j, one in enumerate(row):
            draw_boxes(axes[i * across + j], one, style.look(j)["color"], *axis_ends(row))
    style.label_canvas(canvas, "feature", "kernel parameter")
    return canvas


def draw_single_widths(rows: Sequence[Sequence[LearnedWidths]], width: float) -> Canvas:
    """Draw one panel per method, with a box for each data set; all panels have the same axis."""
    methods = [[one for one in column if one.values.size] for column in zip(*rows, strict=True)]
    canvas, axes = style.lay_out(len(methods), width, PANEL, 3.2, sharey=True)
    for j, (ax, column) in enumerate(zip(axes, methods, strict=True)):
        ax.set_title(rows[0][j].method)
        if not column:
            style.say_no_data(ax)
            ax.set_xticks([])
            continue
        known = np.concatenate([one.values[:, 0] for one in column])
        bottom = BOTTOM * float(np.median(known)) or BOTTOM
        shown = [np.maximum(one.values[:, 0], bottom) for one in column]
        ax.boxplot(shown, **boxes(style.look(j)["color"]))
        ax.set_yscale("log")
        names = [one.dataset for one in column]
        ax.set_xticks(range(1, len(names) + 1), names, rotation=60, ha="right")
        style.tidy_up(ax)
    style.label_canvas(canvas, "data set", "kernel parameter")
    return canvas


def boxes(shade: str) -> dict[str, Any]:
    """Return the style of the boxes of one method."""
    line = {"color": shade, "linewidth": 0.7}
    return {
        "whis": (5, 95),
        "showfliers": False,
        "widths": 0.65,
        "patch_artist": True,
        "boxprops": {"facecolor": (shade, 0.35), "edgecolor": shade, "linewidth": 0.7},
        "medianprops": {"color": style.INK, "linewidth": 1.1},
        "whiskerprops": line,
        "capprops": line,
    }


def draw_boxes(ax: Axes, one: LearnedWidths, shade: str, bottom: float, top: float) -> None:
    """Draw the boxes of one method on one data set."""
    ax.set_title(f"{one.dataset}, {one.method} ({len(one.values)} splits)")
    if not one.values.size:
        style.say_no_data(ax)
        ax.set_xticks([])
        return
    ax.boxplot(np.maximum(one.values, bottom), **boxes(shade))
    ax.set_yscale("log")
    ax.set_ylim(0.7 * bottom, 2.0 * top)
    count = one.values.shape[1]
    shown = list(range(1, count + 1, max(1, -(-count // MOST_TICKS))))
    ax.set_xticks(shown, [str(v) for v in shown])
    style.tidy_up(ax)
