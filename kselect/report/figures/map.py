"""Distance of approximations from cross-validation, over the whole grid and over one of their parameters.

The distance of a score s from the exact one e is ``|s - e| / e``. It is relative, as a squared error has the unit
of the target; the hinge loss of an empty model is 1.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from kselect.core.experiment import FigureContext
from kselect.core.method import Method
from kselect.core.table import Values
from kselect.criteria import CRITERIA
from kselect.numerics.linalg import Array
from kselect.report import style
from kselect.report.elements import File, Passage
from kselect.report.figures.base import FigureBase, FigureReader
from kselect.report.ticks import label_values, spread
from kselect.report.words import LAM, mark_label
from kselect.report.writers import numbers_file
from kselect.stats.samples import select
from kselect.stats.study import Study

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

KEYS = ("of", "against", "datasets")
# For a large lam little is left of the model and every approximation is close; a median would only show that.
QUANTILE = 0.9
# Inches of a map and of a panel of curves.
TILE, PANEL = 1.35, 1.6
# From this width on the colour bar stands next to the maps; on a narrow screen it would take half of it.
BESIDE = 6.0
# The colours range from a thousandth to ten times the exact score.
LOW, HIGH = 1e-3, 10.0
TICKS = 4
GRID = ("kernel", "parameters", "lam")
# Smaller distances are drawn here, as a logarithm has no 0.
FLOOR = 1e-4


@dataclass(frozen=True)
class DistanceMap(FigureBase, kind="map"):
    """``{kind: map, of: [5-FBIF, 5-BIF], against: 5-CV, c: [0.1, 1], datasets: [heart]}``."""

    LISTED: ClassVar[str] = "of"
    REQUIRED: ClassVar[str] = "against"

    of: tuple[str, ...]
    against: str
    parameter: str
    values: tuple[float, ...]
    datasets: tuple[str, ...]

    @classmethod
    def parse(cls, name: str, config: FigureReader) -> Self:
        """Read methods of the table, and a parameter that some of them have, if there is one."""
        swept = set(config.written) - set(KEYS)
        parameter, values = config.sweep(*KEYS) if swept else ("", ())
        labels, against = config.labels("of"), config.label("against")
        criteria = {label: CRITERIA[config.context.methods[label].criterion] for label in labels}
        owners = [label for label in labels if criteria[label].parameter(parameter) is not None]
        if values and labels and not owners:
            config.wrong((parameter,), f"is no parameter of {', '.join(labels)}")
        for label in owners:
            config.values(criteria[label], label, parameter, values)
        return cls(name, labels, against, parameter, values, config.datasets())

    def methods(self, context: FigureContext) -> Iterable[Method]:
        """Return each method as it is and with every value of the parameter, scored at every grid point."""
        for label in (self.against, *self.of) if self.datasets else ():
            method = replace(
                context.methods[label], part=self.name, everywhere=True, datasets=self.datasets
            )
            yield method
            parameter = CRITERIA[method.criterion].parameter(self.parameter)
            if parameter and label != self.against:
                for value in self.values:
                    yield method.with_params(**{self.parameter: parameter.parse(value)})

    def show(self, study: Study) -> Iterator[File | Passage]:
        """Yield maps over kernel and lam, and curves over the parameter if there is one."""
        reconstructed = study.reconstructed  # a figure is drawn again if what it uses has changed
        found = study.once(survey, self)
        yield from style.show_figure(
            self.name,
            lambda width: draw_maps(self, found, study, width),
            f"Relative distance to {self.against} over the grid, one row per data set",
            describe_maps(self, found),
            sum_up(self, found),
        )
        yield numbers_file(
            self.name, ("dataset", "method", *GRID, "distance"), map_rows(study, found), digits=4
        )
        if self.values:
            columns = ("dataset", "method", self.parameter, f"quantile_{QUANTILE:g}", "at_lowest")
            yield numbers_file(f"{self.name}-over-{self.parameter}", columns, curve_rows(found))
            yield from style.show_figure(
                f"{self.name}-over-{self.parameter}",
                lambda width: draw_curves(self, found, reconstructed, width),
                f"Relative distance to {self.against} over {self.parameter}, one panel per data set",
                f"Distance to {self.against} relative to it, over {self.parameter}: nine tenths of the grid lie "
                f"below the solid line; the dashed line is the distance where {self.against} is lowest. A flat "
                f"line belongs to a method without that parameter. Values below {FLOOR:g} are drawn there.",
                sum_up_curves(self, found),
            )


# Numbers


@dataclass(frozen=True, eq=False)
class DistanceGrid:
    """The distances of one method on one data set over the grid.

    Attributes
    ----------
    errors
        (kernels, lams) -> mean distance over splits, infinite if a score is missing.
    best, exact
        The grid points with the lowest mean score of the method and of the exact criterion.
    infinite, reasons
        The number of grid points without a score on some split, and why there is none.
    """

    method: str
    errors: Array
    best: tuple[int, int] | None
    exact: tuple[int, int] | None
    infinite: int
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class DistanceCurve:
    """One method over the parameter: (value, (quantile over the grid, distance where the exact score is lowest)).

    A ``constant`` method does not have the parameter; its only point holds for all values.
    """

    method: str
    points: tuple[tuple[float, tuple[float, float]], ...]
    constant: bool


Distances = Mapping[str, tuple[Mapping[str, DistanceGrid], Sequence[DistanceCurve]]]


def survey(study: Study, figure: DistanceMap) -> Distances:
    """Compute the maps (one per method) and the curves of each data set that a figure names."""
    found = select(study.records, study.experiment, figure.name)
    return {
        d: survey_dataset(study, figure, d, found[found["dataset"] == d]) for d in figure.datasets
    }


def survey_dataset(
    study: Study, figure: DistanceMap, dataset: str, rows: pd.DataFrame
) -> tuple[dict[str, DistanceGrid], list[DistanceCurve]]:
    """Compute maps with the parameters of the table's methods, and curves over all values."""
    by_text = {str(t): group for t, group in rows.groupby("params")} if len(rows) else {}
    scores = {
        m: score_grid(study, by_text[m.text][by_text[m.text]["method"] == m.label])
        for m in study.methods.values()
        if m.part == figure.name and m.text in by_text
    }
    exact = next((s for m, s in scores.items() if m.label == figure.against), None)
    if exact is None:
        return {}, []
    experiment = study.experiment
    losses = ("squared" if experiment.info(dataset).task == "regression" else experiment.loss, "")
    table = [m for m in experiment.methods_on(dataset) if m.part == "table" and m.loss in losses]
    own = {m.label: m.params for m in table}
    maps = {
        m.label: make_map(s, exact, m.label, rows)
        for label in figure.of
        for m, s in scores.items()
        if m.label == label and m.params == own[label]
    }
    curves = [make_curve(label, scores, exact, figure) for label in figure.of]
    return maps, [curve for curve in curves if curve.points]


def score_grid(study: Study, rows: pd.DataFrame) -> Array:
    """Return scores as (splits, kernels, lams), infinite where a record or its score is missing."""
    experiment = study.experiment
    settings = [s.text for k in experiment.kernels for s in experiment.lam.settings(k.text)]
    table = rows.pivot(index="split", columns="setting", values="score")
    whole = table.reindex(columns=settings).to_numpy(float)
    shape = (len(table), len(experiment.kernels), len(experiment.lam.values))
    return np.where(np.isnan(whole), np.inf, whole).reshape(shape)


def make_map(scores: Array, exact: Array, label: str, rows: pd.DataFrame) -> DistanceGrid:
    """Compute the map of one method."""
    missing = rows[(rows["method"] == label) & rows["score"].isna()]
    return DistanceGrid(
        label,
        relative_errors(scores, exact),
        lowest(scores),
        lowest(exact),
        int((~np.isfinite(scores)).any(axis=0).sum()),
        tuple(sorted({str(r) for r in missing["reason"]})),
    )


def make_curve(
    label: str, scores: Mapping[Method, Array], exact: Array, figure: DistanceMap
) -> DistanceCurve:
    """Compute one method over the parameter; a grid point without a score counts as infinitely far."""
    points, place = [], lowest(exact)
    for m in (m for m in scores if m.label == label):
        errors = relative_errors(scores[m], exact)
        ordered = np.sort(errors.ravel())
        most = float(ordered[min(len(ordered) - 1, int(QUANTILE * len(ordered)))])
        value = float(dict(m.params).get(figure.parameter, math.nan))
        points.append((value, (most, float(errors[place]) if place else math.nan)))
    return DistanceCurve(label, tuple(sorted(points)), any(math.isnan(x) for x, _ in points))


def relative_errors(scores: Array, exact: Array) -> Array:
    """Return ``|s - e| / e``, infinite where either is, as the mean over the splits that both have."""
    splits = min(len(scores), len(exact))
    s, e = scores[:splits], exact[:splits]
    known = np.isfinite(s) & np.isfinite(e) & (e > 0)
    found = np.full(s.shape, np.inf)
    found[known] = np.abs(s[known] - e[known]) / e[known]
    return np.asarray(found.mean(axis=0))


def lowest(scores: Array) -> tuple[int, int] | None:
    """Return the grid point with the lowest mean score."""
    mean = scores.mean(axis=0)
    if not np.isfinite(mean).any():
        return None
    kernel, lam = np.unravel_index(int(np.argmin(mean)), mean.shape)
    return int(kernel), int(lam)


def map_rows(study: Study, found: Distances) -> Iterator[Values]:
    """Yield a row for every grid point of every map; a distance that is missing is empty."""
    points = [(k, lam) for k in study.experiment.kernels for lam in study.experiment.lam.values]
    for dataset, (maps, _) in found.items():
        for one in maps.values():
            for (kernel, lam), value in zip(points, one.errors.ravel().tolist(), strict=True):
                distance = value if math.isfinite(value) else None
                yield (dataset, one.method, kernel.name, kernel.text, lam, distance)


def curve_rows(found: Distances) -> Iterator[Values]:
    """Yield a row for every point of the curves; a method without the parameter has one point."""
    for dataset, (_, curves) in found.items():
        for curve in curves:
            for x, distances in curve.points:
                shown = (value if math.isfinite(value) else None for value in distances)
                yield (dataset, curve.method, x, *shown)


# Words


def sum_up(figure: DistanceMap, found: Distances) -> str:
    """Return the title: on how many maps both criteria are lowest at the same grid point."""
    maps = [one for maps, _ in found.values() for one in maps.values() if one.best and one.exact]
    if not maps:
        return ""
    same = sum(one.best == one.exact for one in maps)
    return f"{same} of {len(maps)} criteria are lowest where {figure.against} is lowest"


def sum_up_curves(figure: DistanceMap, found: Distances) -> str:
    """Return the title: the method that is nearest at the lowest exact score, at the largest parameter."""
    every = [curves for _, curves in found.values() if curves]
    ends = Counter(min(curves, key=lambda c: c.points[-1][1][1]).method for curves in every)
    where = f"at the lowest {figure.against} and the largest {figure.parameter}"
    for name, count in ends.most_common(1):
        return f"{name} is nearest to {figure.against} {where} on {count} of {len(every)} data sets"
    return ""


def describe_maps(figure: DistanceMap, found: Distances) -> str:
    """Return the caption of the maps, with the number of grid points without a score."""
    infinite = [
        f"{label} on {dataset} {one.infinite} ({'; '.join(one.reasons)})"
        for dataset, (maps, _) in found.items()
        for label, one in maps.items()
        if one.infinite
    ]
    count = f" Grid points without a score are hatched: {', '.join(infinite)}." if infinite else ""
    return (
        f"Distance of each method to {figure.against}, relative to it, at every kernel and {LAM}; dark is close. "
        f"Circle: where {figure.against} is lowest; cross: where the method is lowest.{count}"
    )


def kernel_names(study: Study) -> tuple[str, tuple[str, ...]]:
    """Return the parameter in which the kernels differ, and the label of its value for each kernel."""
    kernels = study.experiment.kernels
    names = {name for kernel in kernels for name in kernel.parameters}
    if len(names) != 1:
        return "kernel", tuple(kernel.text or kernel.name for kernel in kernels)
    name = names.pop()
    return name, tuple(label_values([k.parameters[name] for k in kernels]))


# Drawing


def draw_maps(figure: DistanceMap, found: Distances, study: Study, width: float) -> Canvas:
    """Draw one row per data set and one column per approximation; a single approximation fills the rows."""
    from matplotlib.colors import LogNorm

    tiles = [(dataset, label) for dataset in found for label in figure.of]
    abreast = len(figure.of) if len(figure.of) > 1 else len(tiles)
    canvas, axes = style.lay_out(len(tiles), width, TILE, 1.7, 0.5, abreast)
    norm, image = LogNorm(LOW, HIGH), None
    for ax, (dataset, label) in zip(axes, tiles, strict=True):
        ax.set_title(f"{dataset}\n{mark_label(label, study.reconstructed)}")
        if label in found[dataset][0]:
            image = draw_map(ax, found[dataset][0][label], study, norm)
        else:
            style.say_no_data(ax)
            ax.set_xticks([])
    if image is not None:
        where: Any = {"location": "bottom", "aspect": 30} if width < BESIDE else {"shrink": 0.5}
        bar = canvas.colorbar(image, ax=axes, extend="both", **where)
        bar.set_label(f"distance to {figure.against}, relative")
    name, _ = kernel_names(study)
    style.label_canvas(canvas, style.SYMBOLS["lam"], style.SYMBOLS.get(name, name))
    return canvas


def draw_map(ax: Axes, one: DistanceGrid, study: Study, norm: Any) -> Any:
    """Draw one map with lams across and kernels up; return its image."""
    shown = [[above_floor(value) for value in row] for row in one.errors.tolist()]
    ax.patch.set_hatch("////")
    ax.patch.set_edgecolor(style.SOFT)
    image = ax.imshow(shown, aspect="auto", origin="lower", cmap="cividis", norm=norm)
    for place, form, size in ((one.exact, "o", 8), (one.best, "x", 6)):
        if place is not None:
            ax.plot(
                place[1], place[0], form, ms=size, mfc="none", mec=style.BAD, mew=1.6, clip_on=False
            )
    lams = label_values(study.experiment.lam.values)
    for axis, names in ((ax.xaxis, lams), (ax.yaxis, kernel_names(study)[1])):
        chosen = spread(len(names), TICKS)
        axis.set_ticks(chosen, [names[i] for i in chosen])
    return image


def draw_curves(
    figure: DistanceMap, found: Distances, names: Mapping[str, str], width: float
) -> Canvas:
    """Draw the curves over the parameter, one panel per data set."""
    canvas, axes = style.lay_out(len(found), width, PANEL, 2.2, 0.8, sharex=True)
    for (dataset, (_, curves)), ax in zip(found.items(), axes, strict=False):
        ax.set_title(dataset)
        if not curves:
            style.say_no_data(ax)
            continue
        for curve in curves:
            draw_curve(ax, curve, figure.of.index(curve.method))
        ax.set_xscale("log")
        ax.set_yscale("log")
        style.tidy_up(ax)
    across = style.SYMBOLS.get(figure.parameter, figure.parameter)
    looks, labels = (
        list(map(style.look, range(len(figure.of)))),
        [mark_label(x, names) for x in figure.of],
    )
    up = f"distance to {figure.against}, relative"
    style.label_canvas(canvas, across, up, looks, labels, int(width / 2.2))
    return canvas


def draw_curve(ax: Axes, curve: DistanceCurve, i: int) -> None:
    """Draw the quantile over the grid (solid), and the distance where the exact score is lowest (dashed)."""
    for which, dashes in ((0, "-"), (1, "--")):
        values = [above_floor(distances[which]) for _, distances in curve.points]
        look = style.look(i)
        if curve.constant:
            ax.axhline(values[0], color=look["color"], linewidth=1.0, linestyle=dashes)
            continue
        look |= {"markersize": 2.8, "linewidth": 1.1, "linestyle": dashes}
        ax.plot([x for x, _ in curve.points], values, **look)


def above_floor(value: float) -> float:
    """Return what a log axis can show: NaN for infinity, the floor for anything below it."""
    return max(value, FLOOR) if math.isfinite(value) else math.nan
