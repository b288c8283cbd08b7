"""Test error over one parameter of some criteria, at one fixed lam, with k-fold cross-validation for reference."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from kselect.core.experiment import FigureContext
from kselect.core.method import Method, Setting
from kselect.core.table import Values
from kselect.criteria import CRITERIA
from kselect.grids import show_power
from kselect.report import style
from kselect.report.elements import File, Passage
from kselect.report.figures.base import FigureBase, FigureReader
from kselect.report.words import mark_label, title_setting
from kselect.report.writers import numbers_file
from kselect.stats.samples import SplitErrors, match, samples_by, select, t_test, table_records
from kselect.stats.study import Study

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

PANEL = 1.6  # inches
# The factors that move two curves sideways, so that curves that coincide stay visible.
DODGE = (2.0**-0.18, 2.0**0.18)
UNITS = {"%": "percentage points", "MSE": "mean squared error"}
AXES = {"%": "test error (%)", "MSE": "mean squared error"}
COLUMNS = ("dataset", "method", "mean", "sd", "difference", "half_width", "significant")
REACH, HEADROOM = 2.0, 4.0  # where axes end, in standard deviations of the reference
GAPS_CAPTION = (
    "Test error of {pairs} over {parameter} at {lam}, mean of the differences per split. Above the line at 0, the "
    "criterion is worse than cross-validation; below the line, it is better. A marker is filled if the papers' "
    "paired one-sided t-test at 5 % finds a difference. The band excludes 0 if the test corrected for overlapping "
    "splits finds one, too. {dotted}Each axis ends at two standard deviations of k-CV's own error over splits; "
    "triangles at its edge mark values beyond it."
)


@dataclass(frozen=True)
class Sweep(FigureBase, kind="sweep"):
    """``{kind: sweep, criteria: [5-KS], eta: 2^-10:2^10, lam: 0.001}``.

    ``datasets`` is None if the config does not name any; the figure then shows every data set of the experiment.
    """

    criteria: tuple[str, ...]
    parameter: str
    values: tuple[float, ...]
    lam: float
    datasets: tuple[str, ...] | None = None

    @classmethod
    def parse(cls, name: str, config: FigureReader) -> Self:
        """Read a figure; its criteria must be methods of the table that have the swept parameter."""
        parameter, values = config.sweep("criteria", "lam", "datasets")
        labels = config.labels("criteria")
        for label in labels if values else ():
            criterion = CRITERIA[config.context.methods[label].criterion]
            config.values(criterion, label, parameter, values)
        datasets = config.datasets() if "datasets" in config.written else None
        return cls(name, labels, parameter, values, config.lam(), datasets)

    def methods(self, context: FigureContext) -> Iterable[Method]:
        """Return one method per criterion and value, with the experiment's own loss."""
        # A method with empty ``datasets`` runs on all. If a flag leaves no data set of the figure, yield no method.
        for label in self.criteria if self.datasets != () else ():
            method = context.methods[label]
            parameter = CRITERIA[method.criterion].parameter(self.parameter)
            assert parameter is not None
            for value in self.values:
                changed = method.with_params(**{self.parameter: parameter.parse(value)})
                datasets = self.datasets or ()
                yield replace(changed, part=self.name, lam=self.lam, datasets=datasets)

    def show(self, study: Study) -> Iterator[File | Passage]:
        """Yield a figure of the differences to cross-validation, and a folded one of the errors themselves.

        Without a reference, yield only the figure of the errors, unfolded.
        """
        reconstructed = study.reconstructed  # a figure is drawn again if what it uses has changed
        found = study.once(trace, self)
        lam = title_setting(Setting(value=self.lam, unit=study.experiment.lam.unit))
        dashed = ", ".join(label for label, _ in found.references)
        ends = f"; dashed: {dashed}. Axes end four standard deviations above the dashed lines."
        if found.references:
            # The values of the parameter in the table, except in methods that tune it.
            own = (
                dict(m.params).get(self.parameter)
                for m in study.experiment.table
                if m.label in self.criteria and self.parameter not in dict(m.tuned)
            )
            marks = tuple(
                dict.fromkeys(float(v) for v in own if isinstance(v, int | float) and v > 0)
            )
            pairs = " and ".join(f"{found.methods[i]} minus {r}" for r, i in found.references)
            values = " and ".join(map(show_power, marks))
            dotted = f"Dotted: {self.parameter} = {values}, as in the table. " if marks else ""
            words = {"pairs": pairs, "parameter": self.parameter, "lam": lam, "dotted": dotted}
            yield from style.show_figure(
                self.name,
                lambda width: draw_gaps(found, marks, reconstructed, width),
                f"Difference of test errors to k-CV over {self.parameter}, one panel per data set",
                GAPS_CAPTION.format(**words),
                sum_up_gaps(found),
            )
        yield numbers_file(self.name, (*COLUMNS[:2], self.parameter, *COLUMNS[2:]), found.rows)
        yield from style.show_figure(
            f"{self.name}-errors" if found.references else self.name,
            lambda width: draw_errors(found, reconstructed, width),
            f"Test error over {self.parameter}, one panel per data set",
            f"Test error over {self.parameter} at {lam}: mean and standard deviation (band) over "
            f"splits of {', '.join(found.methods)}{ends if dashed else '.'}",
            sum_up_errors(found),
            numbers=self.name,
            folded=f"The test errors themselves over {self.parameter}" if found.references else "",
        )


# Numbers


@dataclass(frozen=True, eq=False)
class SweepNumbers:
    """The numbers of a sweep.

    Attributes
    ----------
    parameter, methods
        The swept parameter and criteria.
    references
        Each k-CV column that has as many folds as a swept criterion, and the position of that criterion in
        ``methods``.
    units
        The unit of each data set of the figure.
    curves
        One row per data set, method and value ``x``: mean and standard deviation ``sd`` of the test error (NaN
        below two splits); ``gap``, the mean difference to the reference on the same splits (NaN without one);
        ``half``, the half width of a band that excludes 0 if the corrected one-sided t-test at 5 % finds a
        difference; ``clear``, whether the papers' own t-test finds one.
    levels
        One row per data set and reference: mean and standard deviation of its test error.
    unit
        The unit of all data sets, an empty text if they differ.
    """

    parameter: str
    methods: tuple[str, ...]
    references: tuple[tuple[str, int], ...]
    units: Mapping[str, str]
    curves: pd.DataFrame
    levels: pd.DataFrame
    unit: str

    @property
    def rows(self) -> Iterator[Values]:
        """Yield the points of all curves, and the references, which have no value of the parameter."""
        yield from map(tuple, self.curves.to_numpy(object).tolist())
        for dataset, method, mean, sd in self.levels.to_numpy(object).tolist():
            yield (dataset, method, None, mean, sd, None, None, None)


def trace(study: Study, sweep: Sweep) -> SweepNumbers:
    """Compute the curves of a sweep on every data set that it names."""
    import pandas as pd

    experiment = study.experiment
    mine = select(study.records, experiment, sweep.name, experiment.loss)
    values = [
        dict(m.params).get(sweep.parameter, math.nan) if m else math.nan for m in mine["made_by"]
    ]
    mine = mine.assign(x=[float(v) for v in values])
    methods = tuple(dict.fromkeys(m.label for m in experiment.methods if m.part == sweep.name))
    folds = {m.folds: methods.index(m.label) for m in experiment.methods if m.label in methods}
    columns = (m for m in experiment.table if m.criterion == "k-CV" and m.folds in folds)
    references = tuple({m.label: folds[m.folds] for m in columns}.items())
    reference_of = {methods[i]: label for label, i in references}
    units = study.comparison(experiment.loss).units
    here = experiment.datasets if sweep.datasets is None else sweep.datasets
    curves: list[tuple[object, ...]] = []
    levels: list[tuple[object, ...]] = []
    # The references are methods of the table at the sweep's lam.
    setting = next(s for s in experiment.lam.settings() if s.value in (None, sweep.lam))
    table = table_records(study.records, experiment, experiment.loss)
    table = table[table["setting"] == setting.text]
    tabled = samples_by(table, "dataset", "method")
    points = samples_by(mine, "dataset", "method", "x")
    for dataset in here:
        known = {m: tabled.get((dataset, m), SplitErrors()) for m in reference_of.values()}
        levels += [(dataset, label, s.mean, s.sd) for label, s in known.items() if s.runs]
        for m in methods:
            reference = known.get(reference_of.get(m, ""), SplitErrors())
            curve = {x: s for (*place, x), s in points.items() if place == [dataset, m]}
            curves += [(dataset, m, *p) for p in make_points(curve, reference)]
    different = {units[dataset] for dataset in here if units.get(dataset)}
    return SweepNumbers(
        sweep.parameter,
        methods,
        references,
        {dataset: units.get(dataset, "") for dataset in here},
        pd.DataFrame(
            curves, columns=["dataset", "method", "x", "mean", "sd", "gap", "half", "clear"]
        ),
        pd.DataFrame(levels, columns=["dataset", "method", "mean", "sd"]),
        different.pop() if len(different) == 1 else "",
    )


def make_points(
    curve: Mapping[float, SplitErrors], reference: SplitErrors
) -> Iterable[tuple[float, float, float, float, float, bool]]:
    """Yield x, mean, sd, gap, half and clear of one curve, in ascending x; a log axis cannot show 0 or infinity."""
    for x, mine in sorted(curve.items(), key=lambda point: point[0]):
        if not mine.runs or not 0 < x < math.inf:
            continue
        pairs = match(mine, reference)
        d = pairs.difference
        gap, half, clear = math.nan, math.nan, False
        if len(d):
            gap, half = math.fsum(d) / len(d), t_test(d, pairs.test_over_train).half_width
            clear = t_test(d).significant or t_test(-d).significant
        yield x, mine.mean, mine.sd, gap, half, clear


# Words


def sum_up_gaps(found: SweepNumbers) -> str:
    """Return the title: on how many data sets a value is better than k-CV, and the largest one is worse."""
    known = found.curves[found.curves["gap"].notna()]
    if known.empty:
        return ""
    clear = known["clear"].astype(bool)
    last = known.groupby(["dataset", "method"])["x"].transform("max") == known["x"]
    better = known[clear & (known["gap"] < 0)]["dataset"].nunique()
    worse = known[clear & (known["gap"] > 0) & last]["dataset"].nunique()
    return (
        f"{' and '.join(known['method'].unique())}: significantly better than k-CV at some {found.parameter} on "
        f"{better} of {known['dataset'].nunique()} data sets, significantly worse at the largest on {worse}"
    )


def sum_up_errors(found: SweepNumbers) -> str:
    """Return the title: the values of the parameter at which the mean errors are lowest."""
    if found.curves.empty:
        return ""
    ordered = found.curves.sort_values(["mean", "x"], kind="stable")
    best = ordered.groupby(["dataset", "method"])["x"].first()
    low, high = (show_power(float(x)) for x in (best.min(), best.max()))
    where = low if low == high else f"{low} to {high}, depending on the data set"
    return f"The mean test error is lowest at {found.parameter} = {where}"


# Drawing


def draw_gaps(
    found: SweepNumbers, marks: Sequence[float], names: Mapping[str, str], width: float
) -> Canvas:
    """Draw the difference of each curve to its reference with its band, one panel per data set.

    The line at 0 is k-CV. The axis ends at two standard deviations of the error of k-CV, or at the end of the bands
    if that is nearer.
    """
    canvas, panels = make_panels(found, found.curves[found.curves["gap"].notna()], width)
    for ax, rows, _, sd in panels:
        ax.axhline(0.0, color=style.INK, linewidth=0.8)
        for x in marks:
            ax.axvline(x, color=style.SOFT, linewidth=0.7, linestyle=":")
        ends = float((rows["gap"].abs() + rows["half"].fillna(0.0)).max())
        limit = (min(ends, REACH * sd) if sd else ends) or 1.0
        for i, method in enumerate(found.methods):
            if (rows["method"] == method).any():
                draw_gap(ax, rows[rows["method"] == method], i, limit)
        ax.set_ylim(-1.12 * limit, 1.12 * limit)
        furthest = float(rows["gap"].iloc[int(rows["gap"].abs().argmax())])
        if abs(furthest) > limit:
            say_furthest(ax, f"to {furthest:+.3g}", width)
    reference_of = {found.methods[i]: label for label, i in found.references}
    unit = UNITS.get(found.unit, found.unit or "in each data set's own unit")
    up = f"better  \N{LEFTWARDS ARROW}  test error minus k-CV's ({unit})  \N{RIGHTWARDS ARROW}  worse"
    labels = [
        f"{mark_label(a, names)} minus {mark_label(b, names)}" for a, b in reference_of.items()
    ]
    lines = [style.look(found.methods.index(a)) for a in reference_of]
    across = style.SYMBOLS.get(found.parameter, found.parameter)
    style.label_canvas(canvas, across, up, lines, labels, int(width / 1.6))
    return canvas


def draw_gap(ax: Axes, curve: pd.DataFrame, i: int, limit: float) -> None:
    """Draw mean and band. Filled markers are significant; triangles at the edge mark means beyond the axis."""
    xs, means = curve["x"].to_numpy() * DODGE[i % 2], curve["gap"].to_numpy()
    halves, look = curve["half"].fillna(0.0).to_numpy(), style.look(i)
    shade = look["color"]
    ax.fill_between(xs, means - halves, means + halves, color=shade, alpha=0.16, linewidth=0)
    ax.plot(xs, means, color=shade, linewidth=1.2)
    for clear in (False, True):
        inside = (curve["clear"] == clear).to_numpy() & (abs(means) <= limit)
        ax.plot(
            *(xs[inside], means[inside]),
            **look,
            linestyle="",
            markersize=2.8,
            markerfacecolor=shade if clear else style.PAPER,
            markeredgewidth=0.9,
        )
    for x, mean in zip(xs, means, strict=True):
        if abs(mean) > limit:
            end, kind = (1.05, "^") if mean > 0 else (-1.05, "v")
            ax.plot([x], [end * limit], color=shade, marker=kind, markersize=3.2, linestyle="")


def draw_errors(found: SweepNumbers, names: Mapping[str, str], width: float) -> Canvas:
    """Draw the errors, with the references as dashed lines, one panel per data set.

    An axis ends some standard deviations above the references.
    """
    canvas, panels = make_panels(found, found.curves, width)
    for ax, rows, levels, sd in panels:
        for label, i in found.references:
            for mean in levels[levels["method"] == label]["mean"]:
                # Lines that coincide stay visible: the dashes of one fall into the gaps of the other.
                dashes: Any = {"linewidth": 0.9, "linestyle": (4.0 * i, (4.0, 4.0)), "zorder": 1}
                ax.axhline(mean, color=style.look(i)["color"], **dashes)
        for i, method in enumerate(found.methods):
            curve = rows[rows["method"] == method]
            xs, means = curve["x"].to_numpy() * DODGE[i % 2], curve["mean"].to_numpy()
            sds, look = curve["sd"].fillna(0.0).to_numpy(), style.look(i)
            ax.fill_between(
                xs, means - sds, means + sds, color=look["color"], alpha=0.1, linewidth=0
            )
            ax.plot(xs, means, **look, markersize=2.2, linewidth=0.9)
        top, highest = max(levels["mean"], default=0.0) + HEADROOM * sd, float(rows["mean"].max())
        if sd and highest > top:
            ax.set_ylim(top=top)
            say_furthest(ax, f"to {highest:.3g}", width)
    unit = AXES.get(found.unit, found.unit or "test error (% or mean squared error)")
    labels = [mark_label(m, names) for m in (*found.methods, *(r for r, _ in found.references))]
    lines = [style.look(i) for i, _ in enumerate(found.methods)]
    lines += [{**style.look(i), "linestyle": "--", "marker": ""} for _, i in found.references]
    across = style.SYMBOLS.get(found.parameter, found.parameter)
    style.label_canvas(canvas, across, unit, lines, labels, int(width / 1.6))
    return canvas


def make_panels(
    found: SweepNumbers, curves: pd.DataFrame, width: float
) -> tuple[Canvas, list[tuple[Axes, pd.DataFrame, pd.DataFrame, float]]]:
    """Lay out one panel per data set, at most four per row, with its title and a log axis.

    Return the canvas, and for each data set with curves its panel, its curves, its references, and the largest
    standard deviation of a reference (0 without one).
    """
    count = max(1, len(found.units))
    canvas, axes = style.lay_out(count, width, PANEL, 1.7, 0.85, most=4, sharex=True)
    panels = []
    for dataset, ax in zip(found.units, axes, strict=False):
        ax.set_title(dataset)
        rows = curves[curves["dataset"] == dataset]
        if rows.empty:
            style.say_no_data(ax)
            continue
        style.tidy_up(ax)
        ax.set_xscale("log", base=2)
        # At most five powers of two.
        low, high = math.ceil(math.log2(rows["x"].min())), math.floor(math.log2(rows["x"].max()))
        step = max(1, math.ceil((high - low) / 4))
        powers = [e for e in range(low, high + 1) if e % step == 0]
        ax.set_xticks([2.0**e for e in powers], [f"$2^{{{e}}}$" for e in powers])
        ax.minorticks_off()
        levels = found.levels[found.levels["dataset"] == dataset]
        sd = max((sd for sd in levels["sd"] if sd > 0), default=0.0)
        panels.append((ax, rows, levels, sd))
    return canvas, panels


def say_furthest(ax: Axes, text: str, width: float) -> None:
    """Write how far the curves go beyond the end of the axis: in the title, where no curve is."""
    gap = " " if width >= style.WIDE else "\n"
    ax.set_title(f"{ax.get_title()}{gap}({text})")
