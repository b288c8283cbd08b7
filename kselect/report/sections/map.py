"""How far approximations of cross-validation are from it, over the whole grid and over one of their parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kselect.core.experiment import FigureContext
from kselect.core.method import Method
from kselect.criteria import CRITERIA
from kselect.report.blocks import Shown
from kselect.report.drawings.map import FLOOR, draw_curves, draw_maps
from kselect.report.panels import show_figure
from kselect.report.sections.base import (
    Wrong,
    figure,
    parse_values,
    read_datasets,
    read_label,
    read_labels,
    read_sweep,
)
from kselect.report.words import LAM
from kselect.stats.maps import Map, Panel, survey
from kselect.stats.study import Study

KEYS = ("of", "against", "datasets")


@figure("map")
class MapFigure:
    """``{kind: map, of: [5-FBIF, 5-BIF], against: 5-CV, c: [0.1, 1], datasets: [heart]}``."""

    def read(
        self, name: str, written: Mapping[str, Any], columns: FigureContext, wrong: Wrong
    ) -> Map:
        """Columns of the table; the parameter, if there is one, is one that some of them have."""
        swept = set(written) - set(KEYS)
        parameter, values = read_sweep(written, KEYS, wrong) if swept else ("", ())
        labels = read_labels("of", written, columns, wrong)
        against = read_label("against", written, columns, wrong)
        owners = [label for label in labels if has(columns, label, parameter)]
        if values and labels and not owners:
            wrong((parameter,), f"is no parameter of {', '.join(labels)}")
        for label in owners:
            list(
                parse_values(
                    CRITERIA[columns.first(label).criterion], label, parameter, values, wrong
                )
            )
        datasets = read_datasets(written, columns, wrong)
        return Map(name, tuple(labels), against, parameter, values, datasets)

    def methods(self, figure: Map, columns: FigureContext) -> Iterable[Method]:
        """Each column as it is and with every value of the parameter, scored everywhere."""
        for label in (figure.against, *figure.of) if figure.datasets else ():
            method = replace(
                columns.first(label), part=figure.name, everywhere=True, datasets=figure.datasets
            )
            yield method
            criterion = CRITERIA[method.criterion]
            if (parameter := criterion.parameter(figure.parameter)) and label != figure.against:
                for value in figure.values:
                    yield method.with_params(**{figure.parameter: parameter.parse(value)})

    def keep(self, figure: Map, labels: frozenset[str]) -> Map | None:
        """With some of its columns; nothing without the exact one."""
        kept = tuple(c for c in figure.of if c in labels)
        return replace(figure, of=kept) if kept and figure.against in labels else None

    def show(self, figure: Map, study: Study) -> Shown:
        """Two pictures: maps over kernel and ridge, and curves over the parameter, if there is one."""
        panels = study.once(survey, figure)

        maps = show_figure(
            figure.name,
            lambda width: draw_maps(figure, panels, study, width),
            f"Relative distance to {figure.against} over the grid, a row per data set",
            describe_maps(figure, panels),
        )
        if not figure.values:
            return maps
        curves = show_figure(
            f"{figure.name}-over-{figure.parameter}",
            lambda width: draw_curves(figure, panels, study.reconstructed, width),
            f"Relative distance to {figure.against} over {figure.parameter}, one panel per data set",
            f"Distance to {figure.against} relative to it, over {figure.parameter}: nine tenths of the grid lie "
            f"below the line; dashed: where {figure.against} is lowest. A flat line is a column without that "
            f"parameter. What is below {FLOOR:g} is drawn there.",
        )
        return Shown([*maps.files, *curves.files], [*maps.blocks, *curves.blocks])


def has(columns: FigureContext, label: str, parameter: str) -> bool:
    """Whether a column's criterion has a parameter of that name."""
    return CRITERIA[columns.first(label).criterion].parameter(parameter) is not None


def describe_maps(figure: Map, panels: Sequence[Panel]) -> str:
    """What the colours and marks are, and how many places have no score."""
    infinite = [
        f"{s.method} on {p.dataset} {s.infinite} ({'; '.join(s.reasons)})"
        for p in panels
        for s in p.surfaces
        if s.infinite
    ]
    count = f" Places without a score, hatched: {', '.join(infinite)}." if infinite else ""
    return (
        f"Distance of each column to {figure.against}, relative to it, at every kernel and {LAM}; dark is near. "
        f"Circle: where {figure.against} is lowest; cross: where the column is.{count}"
    )
