"""Test error over one parameter of some criteria, at one fixed ridge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import isclose
from typing import Any

from kselect.core.experiment import Experiment, FigureContext
from kselect.core.method import Method, Setting
from kselect.criteria import CRITERIA
from kselect.errors import ConfigError
from kselect.grids import parse_number, show_number
from kselect.report.blocks import Shown
from kselect.report.drawings.sweep import draw_errors, draw_gaps
from kselect.report.panels import show_figure
from kselect.report.sections.base import (
    Wrong,
    figure,
    parse_values,
    read_datasets,
    read_labels,
    read_sweep,
)
from kselect.report.words import title_setting
from kselect.stats.study import Study
from kselect.stats.sweeps import Curves, Sweep, trace

KEYS = ("criteria", "lam", "datasets")


@figure("sweep")
class SweepFigure:
    """``{kind: sweep, criteria: [5-KS], eta: 2^-10:2^10, lam: 0.001}``, on some ``datasets`` or all."""

    def read(
        self, name: str, written: Mapping[str, Any], columns: FigureContext, wrong: Wrong
    ) -> Sweep:
        """Each criterion is a column of the table and has the parameter; the lam is one of the grid."""
        parameter, values = read_sweep(written, KEYS, wrong)
        labels = read_labels("criteria", written, columns, wrong)
        for label in labels if values else []:
            criterion = CRITERIA[columns.first(label).criterion]
            list(parse_values(criterion, label, parameter, values, wrong))
        some = "datasets" in written
        datasets = read_datasets(written, columns, wrong) if some else None
        lam = read_lam(written, columns, wrong)
        return Sweep(name, tuple(labels), parameter, values, lam, datasets)

    def methods(self, figure: Sweep, columns: FigureContext) -> Iterable[Method]:
        """One method per criterion and value, with the experiment's own loss."""
        # A flag may have left none of its data sets, and a method without any stands for all.
        for label in figure.criteria if figure.datasets != () else ():
            method = columns.first(label)
            parameter = CRITERIA[method.criterion].parameter(figure.parameter)
            assert parameter is not None
            for value in figure.values:
                changed = method.with_params(**{figure.parameter: parameter.parse(value)})
                mine = figure.datasets or ()
                yield replace(changed, part=figure.name, lam=figure.lam, datasets=mine)

    def keep(self, figure: Sweep, labels: frozenset[str]) -> Sweep | None:
        """With some of its criteria."""
        kept = tuple(c for c in figure.criteria if c in labels)
        return replace(figure, criteria=kept) if kept else None

    def show(self, figure: Sweep, study: Study) -> Shown:
        """The differences to k-CV, which are the message, and the errors themselves behind a line."""
        curves = study.once(trace, figure)
        shown = [show_gaps(figure, curves, study)] if curves.references else []
        shown.append(show_errors(figure, curves, study))
        files = [file for one in shown for file in one.files]
        return Shown(files, [block for one in shown for block in one.blocks])


def show_gaps(figure: Sweep, curves: Curves, study: Study) -> Shown:
    """The paired differences."""
    names, marks = study.reconstructed, table_values(figure, study.experiment)
    return show_figure(
        figure.name,
        lambda width: draw_gaps(curves, figure.parameter, marks, names, width),
        f"Difference of test errors to k-CV over {figure.parameter}, one panel per data set",
        describe_gaps(figure, curves, marks, at_ridge(study, figure.lam)),
    )


def show_errors(figure: Sweep, curves: Curves, study: Study) -> Shown:
    """The errors, alone where there is nothing to subtract."""
    alone = not curves.references
    return show_figure(
        figure.name if alone else f"{figure.name}-errors",
        lambda width: draw_errors(curves, figure.parameter, study.reconstructed, width),
        f"Test error over {figure.parameter}, one panel per data set",
        describe_errors(figure, curves, at_ridge(study, figure.lam)),
        folded="" if alone else f"The test errors themselves over {figure.parameter}",
    )


def table_values(figure: Sweep, experiment: Experiment) -> tuple[float, ...]:
    """The values of the parameter in the table's own columns; none where they are tuned."""
    mine = (
        m
        for m in experiment.table
        if m.label in figure.criteria and figure.parameter not in dict(m.tuned)
    )
    found = (dict(m.params).get(figure.parameter) for m in mine)
    return tuple(dict.fromkeys(float(v) for v in found if isinstance(v, int | float) and v > 0))


def at_ridge(study: Study, lam: float) -> str:
    """A fixed ridge in the config's unit: ``n λ = 1``."""
    return title_setting(Setting(value=lam, unit=study.experiment.lam.unit))


def describe_gaps(figure: Sweep, curves: Curves, marks: Sequence[float], ridge: str) -> str:
    """What is seen, how to read it, and where the axes end."""
    pairs = " and ".join(f"{curves.methods[i]} minus {label}" for label, i in curves.references)
    dotted = (
        f"Dotted: {figure.parameter} = {' and '.join(f'{v:g}' for v in marks)}, as in the table. "
    )
    return (
        f"Test error of {pairs} over {figure.parameter} at {ridge}, mean of the differences split "
        "by split: above the line at 0 the criterion is worse than cross-validation, below it is better. A full "
        "marker is a difference that the papers' paired one-sided t-test at 5 % calls significant; where the band "
        "leaves the line, the test corrected for overlapping splits does so too. "
        f"{dotted if marks else ''}Each axis ends at two standard deviations of k-CV's own error over splits; "
        "triangles at its edge lie beyond it."
    )


def describe_errors(figure: Sweep, curves: Curves, ridge: str) -> str:
    """The curves of a figure, and its reference lines if it has any."""
    references = ", ".join(label for label, _ in curves.references)
    ends = (
        f"; dashed: {references}. Axes end four standard deviations above these."
        if references
        else "."
    )
    return (
        f"Test error over {figure.parameter} at {ridge}: mean and standard deviation (band) over "
        f"splits of {', '.join(curves.methods)}{ends}"
    )


def read_lam(written: Mapping[str, Any], columns: FigureContext, wrong: Wrong) -> float:
    """One value of the grid of fixed ridges."""
    if columns.lam.mode == "select":
        wrong(("lam",), "a figure needs a fixed lam; this config selects it")
        return 0.0
    if written.get("lam") is None:
        wrong(("lam",), "this key is missing")
        return 0.0
    try:
        lam = parse_number(written["lam"])
    except ConfigError as error:
        wrong(("lam",), str(error))
        return 0.0
    near = [v for v in columns.lam.values if isclose(v, lam)]
    if not near:
        valid = ", ".join(show_number(v) for v in columns.lam.values)
        wrong(("lam",), f"{show_number(lam)} is not in the grid of lam; valid: {valid}")
    return near[0] if near else 0.0
