"""How often columns choose the same kernel and ridge as another one, and how far their scores lie apart."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kselect.core.experiment import FigureContext
from kselect.core.method import Method
from kselect.report.blocks import Block, Element, File, Fold, Grid, Heading, Shown, Text
from kselect.report.formats import latex, markdown, tidy
from kselect.report.sections.base import Wrong, figure, read_label, read_labels
from kselect.report.words import mark_label
from kselect.stats.likeness import Likeness, LikenessFigure, compare_choices, totals
from kselect.stats.study import Study

KEYS = ("of", "against")
HEAD = (
    *("data set", "column", "splits", "same choice", "same kernel"),
    *("scores apart", "at most", "test error"),
)
CSV_HEAD = (
    *("dataset", "method", "runs", "same", "same_kernel"),
    *("score_distance", "score_distance_largest", "error_difference"),
)
DASH = "--"


@figure("likeness")
class LikenessTable:
    """``{kind: likeness, of: [5-FBIF, 5-Newton], against: 5-CV}``."""

    def read(
        self, name: str, written: Mapping[str, Any], columns: FigureContext, wrong: Wrong
    ) -> LikenessFigure:
        """Columns of the table."""
        for key in written:
            if key not in KEYS:
                wrong((key,), f"unknown key; valid: {', '.join(KEYS)}")
        labels = read_labels("of", written, columns, wrong)
        return LikenessFigure(name, tuple(labels), read_label("against", written, columns, wrong))

    def methods(self, figure: LikenessFigure, columns: FigureContext) -> Iterable[Method]:
        """Nothing beside the table's."""
        return ()

    def keep(self, figure: LikenessFigure, labels: frozenset[str]) -> LikenessFigure | None:
        """With some of its columns; nothing without the one that they stand beside."""
        kept = tuple(c for c in figure.of if c in labels)
        return replace(figure, of=kept) if kept and figure.against in labels else None

    def show(self, figure: LikenessFigure, study: Study) -> Shown:
        """All data sets together, each behind a line."""
        found = study.once(compare_choices, figure)
        caption = describe(figure)
        grid = Grid(HEAD, tuple(to_row(study, one) for one in (*totals(found), *found)), 2)
        name = f"tables/{figure.name}"
        files = [
            File(f"{name}.csv", tidy.write_lines(CSV_HEAD, map(to_line, found))),
            File(
                f"{name}.md",
                markdown.write([Heading(figure.name, 1), Text(caption), grid]) + "\n",
            ),
            File(f"{name}.tex", latex.write_grid_pages(figure.name, (caption,), grid, (caption,))),
        ]
        elements = tuple(show_elements(study, figure, found, grid))
        return Shown(files, [Block("tables", elements)])


def describe(figure: LikenessFigure) -> str:
    """What the columns are."""
    return (
        f"Beside {figure.against}, over the splits that both have: in how many the same kernel and ridge are "
        "chosen, in how many the same kernel; the distance of the two lowest scores relative to that of "
        f"{figure.against}, in the median and at most; the mean difference of the test errors, in % or as mean "
        "squared error."
    )


def show_elements(
    study: Study, figure: LikenessFigure, found: Sequence[Likeness], grid: Grid
) -> Iterable[Element]:
    """The totals, with every data set behind a line."""
    yield Heading(f"The same choice as {figure.against}?")
    every = totals(found)
    yield Grid(HEAD[1:-1], tuple(to_row(study, one)[1:-1] for one in every), 1)
    yield Fold("By data set", (Text(describe(figure), soft=True), grid))


def to_row(study: Study, one: Likeness) -> tuple[str, ...]:
    """One line of text."""
    return (
        one.dataset,
        mark_label(one.method, study.reconstructed),
        str(one.runs),
        *(str(n) if one.runs else DASH for n in (one.same, one.same_kernel)),
        *(DASH if math.isnan(v) else f"{100 * v:.3g} %" for v in (one.apart, one.largest)),
        # Equal means may differ by rounding, and minus zero is none.
        DASH if math.isnan(one.error) else f"{round(one.error, 12) + 0.0:+.3g}",
    )


def to_line(one: Likeness) -> list[object]:
    """One line of the CSV."""
    return [
        *(one.dataset, one.method, one.runs, one.same, one.same_kernel),
        *map(tidy.number, (one.apart, one.largest, one.error)),
    ]
