"""How far a series is from cross-validation over its order, where some columns have their best (icml2014, figure 1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from kselect.criteria import PROBES
from kselect.model.experiment import Columns
from kselect.model.method import Method
from kselect.report.sections.base import (
    Wrong,
    figure,
    parse_values,
    read_datasets,
    read_labels,
    read_sweep,
)
from kselect.stats.discrepancy import Discrepancy

KEYS = ("at", "datasets")
VALUE, RATE = "bif-discrepancy", "bif-rate"


@figure("discrepancy")
class DiscrepancyFigure:
    """``{kind: discrepancy, at: [5-CV, 10-CV], order: 1:10, datasets: [heart]}``."""

    def read(
        self, name: str, written: Mapping[str, Any], columns: Columns, wrong: Wrong
    ) -> Discrepancy:
        """Each column has folds, and the order is a whole number."""
        parameter, values = read_sweep(written, KEYS, wrong)
        labels = read_labels("at", written, columns, wrong)
        for label in labels:
            if columns.first(label).folds is None:
                wrong(("at",), f"{label} has no folds for a probe to look at")
        orders = (
            tuple(parse_values(PROBES[VALUE], VALUE, parameter, values, wrong)) if values else ()
        )
        return Discrepancy(name, tuple(labels), orders, read_datasets(written, columns, wrong))

    def methods(self, figure: Discrepancy, columns: Columns) -> Iterable[Method]:
        """The difference at each order, and the rate once."""
        for label in figure.at:
            folds = columns.first(label).folds
            for order in figure.orders:
                yield probe(figure, label, VALUE, folds, (("order", order),))
            yield probe(figure, label, RATE, folds, ())

    def keep(self, figure: Discrepancy, labels: frozenset[str]) -> Discrepancy | None:
        """With some of its columns."""
        kept = tuple(c for c in figure.at if c in labels)
        return replace(figure, at=kept) if kept else None


def probe(
    figure: Discrepancy,
    label: str,
    name: str,
    folds: int | None,
    params: tuple[tuple[str, Any], ...],
) -> Method:
    """What is looked at where a column has its best."""
    return Method(label, name, folds, params, part=figure.name, at=label, datasets=figure.datasets)
