"""How far a series is from cross-validation over its order, at the best of some columns (icml2014, figure 1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from kselect.core.experiment import FigureContext
from kselect.core.method import Method
from kselect.criteria import PROBES
from kselect.report.blocks import Shown
from kselect.report.drawings.discrepancy import draw_discrepancy
from kselect.report.panels import show_figure
from kselect.report.sections.base import (
    Wrong,
    figure,
    parse_values,
    read_datasets,
    read_labels,
    read_sweep,
)
from kselect.report.sections.other_claims import Exactness, judge_exactness
from kselect.stats.discrepancy import ORDER, RATE, VALUE, Discrepancy, follow
from kselect.stats.study import Study

KEYS = ("at", "datasets")


@figure("discrepancy")
class DiscrepancyFigure:
    """``{kind: discrepancy, at: [5-CV, 10-CV], order: 1:10, datasets: [heart]}``."""

    def read(
        self, name: str, written: Mapping[str, Any], columns: FigureContext, wrong: Wrong
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

    def methods(self, figure: Discrepancy, columns: FigureContext) -> Iterable[Method]:
        """The difference at each order, and the rate once."""
        # A flag may have left none of its data sets, and a method without any stands for all.
        for label in figure.at if figure.datasets else ():
            folds = columns.first(label).folds
            for order in figure.orders:
                yield probe(figure, label, VALUE, folds, ((ORDER, order),))
            yield probe(figure, label, RATE, folds, ())

    def keep(self, figure: Discrepancy, labels: frozenset[str]) -> Discrepancy | None:
        """With some of its columns."""
        kept = tuple(c for c in figure.at if c in labels)
        return replace(figure, at=kept) if kept else None

    def show(self, figure: Discrepancy, study: Study) -> Shown:
        """One panel per data set, all on one log axis; what the rate of the series predicts is a dashed line."""
        panels = study.once(follow, figure)
        found = next((e for e in study.once(judge_exactness) if e.figure == figure), None)
        return show_figure(
            figure.name,
            lambda width: draw_discrepancy(
                figure.at, panels, found.order if found else None, study.reconstructed, width
            ),
            f"Root mean square difference over the {ORDER}, one panel per data set",
            describe(figure, found),
        )


def probe(
    figure: Discrepancy,
    label: str,
    name: str,
    folds: int | None,
    params: tuple[tuple[str, Any], ...],
) -> Method:
    """What is looked at where a column has its best."""
    return Method(label, name, folds, params, part=figure.name, at=label, datasets=figure.datasets)


def describe(figure: Discrepancy, found: Exactness | None) -> str:
    """What is seen, and how many curves are below one percent at the paper's order."""
    counted = (
        f" At order {found.order} (dotted) a full marker is below it: {found.exact} of {found.total}."
        if found
        else ""
    )
    return (
        "Root mean square difference between the approximated and the exact held-out predictions over "
        f"the {ORDER}, at the parameters that {', '.join(figure.at)} select, in percent of the target's scale "
        "(1 for labels, the root of the cross-validation error in a regression); the same axis everywhere. "
        f"The line is 1 %.{counted} Dashed: what the rate of the series predicts from the first value on."
    )
