"""Tidy CSV: one line a cell, full precision, for programs."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence

from kselect.stats.comparison import Cell, Comparison
from kselect.stats.published import Distance
from kselect.stats.ttest import TTest

TABLE_HEAD = (
    *("dataset", "setting", "method", "mean", "sd", "runs", "failures", "missing"),
    *("best", "not_worse", "not_worse_corrected", "p_value", "p_value_corrected"),
    *("unit", "loss"),
)
PUBLISHED_HEAD = (
    *("table", "dataset", "setting", "method"),
    *("published", "published_spread", "spread_kind", "mean", "sd", "runs"),
    *("difference", "standard_errors", "verdict"),
)


def write_table(comparison: Comparison) -> str:
    """Every cell of a comparison; what does not exist is an empty field."""
    return write_lines(
        TABLE_HEAD,
        (
            [d, block.setting, m, *fields(cell), comparison.units.get(d, ""), comparison.loss]
            for block in comparison.blocks
            for (d, m), cell in block.cells.items()
        ),
    )


def fields(cell: Cell) -> list[object]:
    """The numbers and verdicts of one cell."""
    verdicts = (cell.best, cell.not_worse, cell.not_worse_corrected) if cell.runs else ("", "", "")
    return [
        number(cell.mean),
        number(cell.sd),
        cell.runs,
        cell.failures,
        cell.missing,
        *("" if v is None else str(v).lower() for v in verdicts),
        p_value(cell.worse),
        p_value(cell.worse_corrected),
    ]


def p_value(test: TTest | None) -> str:
    """The p-value of a test that was possible."""
    return number(test.p_value) if test else ""


def write_published(distances: Sequence[Distance]) -> str:
    """Every published cell beside ours."""
    return write_lines(
        PUBLISHED_HEAD,
        (
            [
                *(d.table, d.dataset, d.setting, d.method),
                *(number(d.published), number(d.published_spread), d.spread_kind),
                *(number(d.mean), number(d.sd), d.runs),
                *(number(d.difference), number(d.errors), d.verdict),
            ]
            for d in distances
        ),
    )


def number(value: float) -> str:
    """Ten digits: enough for any use, and the same on every machine."""
    return "" if math.isnan(value) else f"{value:.10g}"


def write_lines(head: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """A CSV with a head and Unix line ends."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(lines)
    return text.getvalue()
