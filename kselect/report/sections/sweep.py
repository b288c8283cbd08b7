"""Test error over one parameter of some criteria, at one fixed ridge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import isclose
from typing import Any

from kselect.criteria import CRITERIA
from kselect.errors import ConfigError
from kselect.grids import parse_number, show_number
from kselect.model.experiment import Columns
from kselect.model.method import Method
from kselect.report.sections.base import Wrong, figure, parse_values, read_labels, read_sweep
from kselect.stats.sweeps import Sweep

KEYS = ("criteria", "lam")


@figure("sweep")
class SweepFigure:
    """``{kind: sweep, criteria: [5-KS], eta: 2^-10:2^10, lam: 0.001}``."""

    def read(self, name: str, written: Mapping[str, Any], columns: Columns, wrong: Wrong) -> Sweep:
        """Each criterion is a column of the table and has the parameter; the lam is one of the grid."""
        parameter, values = read_sweep(written, KEYS, wrong)
        labels = read_labels("criteria", written, columns, wrong)
        for label in labels if values else []:
            criterion = CRITERIA[columns.first(label).criterion]
            list(parse_values(criterion, label, parameter, values, wrong))
        return Sweep(name, tuple(labels), parameter, values, read_lam(written, columns, wrong))

    def methods(self, figure: Sweep, columns: Columns) -> Iterable[Method]:
        """One method per criterion and value, with the experiment's own loss."""
        for label in figure.criteria:
            method = columns.first(label)
            parameter = CRITERIA[method.criterion].parameter(figure.parameter)
            assert parameter is not None
            for value in figure.values:
                changed = method.with_params(**{figure.parameter: parameter.parse(value)})
                yield replace(changed, part=figure.name, lam=figure.lam)

    def keep(self, figure: Sweep, labels: frozenset[str]) -> Sweep | None:
        """With some of its criteria."""
        kept = tuple(c for c in figure.criteria if c in labels)
        return replace(figure, criteria=kept) if kept else None


def read_lam(written: Mapping[str, Any], columns: Columns, wrong: Wrong) -> float:
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
