"""Some columns of the table ranked over data sets: means, Wilcoxon's marks, every pair, a rank diagram."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from kselect.core.experiment import FigureContext
from kselect.core.method import Method
from kselect.core.table import show_fixed
from kselect.report.blocks import (
    Block,
    Element,
    File,
    Fold,
    Grid,
    Heading,
    Measures,
    Notes,
    Shown,
    Text,
)
from kselect.report.cells import Row
from kselect.report.cells import Shown as ShownCell
from kselect.report.drawings.posteriors import draw_posteriors
from kselect.report.formats import latex, markdown, tidy
from kselect.report.panels import show_figure
from kselect.report.rank_axis import make_canvas
from kselect.report.rank_words import (
    as_grid,
    describe,
    describe_diagram,
    describe_posteriors,
    head,
    name_row,
    notes,
    pairs_grid,
    show_ranks,
)
from kselect.report.sections.base import Wrong, figure, read_labels, read_list
from kselect.stats.rankings import Column, Entry, Ranked, Ranking, rank_columns
from kselect.stats.study import Study

KEYS = ("criteria", "literature", "table")
HEAD = (
    "dataset",
    "method",
    "mean",
    "spread",
    "runs",
    "best",
    "not_different",
    "literature",
    "rank_used",
)


@figure("ranking")
class RankingFigure:
    """``{kind: ranking, criteria: [5-CV, ELOO], literature: [MKL], table: 4}``.

    ``literature`` lists columns of the paper's own table, or holds numbers, each with a spread or without:
    ``{MKL: {heart: 16.7, banana: [10.5, 0.5]}}``.
    """

    def read(
        self, name: str, written: Mapping[str, Any], columns: FigureContext, wrong: Wrong
    ) -> Ranking:
        """Columns of the table, and others with a number per data set."""
        for key in written:
            if key not in KEYS:
                wrong((key,), f"unknown key; valid: {', '.join(KEYS)}")
        labels = tuple(read_labels("criteria", written, columns, wrong))
        given = written.get("literature", [])
        printed = (
            ()
            if isinstance(given, dict) or not given
            else tuple(read_list("literature", written, wrong))
        )
        own = tuple(read_columns(given, columns, wrong)) if isinstance(given, dict) else ()
        return Ranking(name, labels, printed, own, str(written.get("table", "")))

    def methods(self, figure: Ranking, columns: FigureContext) -> Iterable[Method]:
        """Nothing beside the table's."""
        return ()

    def keep(self, figure: Ranking, labels: frozenset[str]) -> Ranking | None:
        """With some of its columns."""
        kept = tuple(c for c in figure.criteria if c in labels)
        return replace(figure, criteria=kept) if kept else None

    def show(self, figure: Ranking, study: Study) -> Shown:
        """The table with its files, and the diagram."""
        found = study.once(rank_columns, figure)
        drawn = show_figure(
            figure.name,
            lambda width: make_canvas(found, study.experiment.paper, width),
            f"Mean ranks of {', '.join(found.labels)} with the critical difference",
            describe_diagram(found),
        )
        bars = show_posteriors(figure.name, found)
        name = f"tables/{figure.name}"
        grid = as_grid(study, found)
        texts = (describe(study, found), *notes(found))
        files = [
            File(f"{name}.csv", to_csv(found)),
            File(f"{name}.md", to_markdown(figure.name, texts, grid, found)),
            File(f"{name}.tex", latex.write_grid_pages(figure.name, texts, grid, texts[:1])),
        ]
        block = Block("rankings", tuple(elements(study, figure.name, found)))
        pictures = [Block("rankings", b.elements) for b in (*drawn.blocks, *bars.blocks)]
        return Shown([*files, *drawn.files, *bars.files], [block, *pictures])


def show_posteriors(name: str, found: Ranked) -> Shown:
    """The bars of every pair, where there are data sets to compare on."""
    if not found.posteriors:
        return Shown([], [])
    return show_figure(
        f"{name}-pairs",
        lambda width: draw_posteriors(found.posteriors, width, found.mark),
        f"How likely each of {', '.join(found.labels)} is better than each other, or the same",
        describe_posteriors(found),
    )


def read_columns(
    given: Mapping[str, Any], columns: FigureContext, wrong: Wrong
) -> Iterator[Column]:
    """``{MKL: {heart: 16.7, banana: [10.5, 0.5]}}``: a mean, or a mean with its spread."""
    for label, values in given.items():
        if not isinstance(values, dict):
            wrong(("literature", label), "must be a mapping of data sets, as in {heart: 16.7}")
            continue
        known: dict[str, tuple[float, float]] = {}
        for dataset, value in values.items():
            numbers = value if isinstance(value, list) else [value]
            if not 1 <= len(numbers) <= 2 or not all(is_number(v) for v in numbers):
                wrong(("literature", label, dataset), "must be a number, or [mean, spread]")
            else:
                known[dataset] = (float(numbers[0]), float(numbers[1]) if numbers[1:] else math.nan)
        yield Column(label, known)


def is_number(value: object) -> bool:
    """Whether YAML read a number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def elements(study: Study, name: str, found: Ranked) -> Iterator[Element]:
    """On the page: the table with bold and underlined cells, the tests, every pair."""
    yield Heading(name)
    yield Text(describe(study, found, marks="Bold: the lowest mean of ours. Underlined: "))
    rows = tuple(
        Row(d, name_row(study, found, d), "%", 0, tuple(show_cell(e) for e in row))
        for d, row in found.rows.items()
    )
    foot = ("mean rank", *show_ranks(found.ranks)) if found.ranks.datasets else ()
    yield Measures(head(study, found), rows, foot)
    yield Notes(notes(found))
    if found.contrasts:
        yield Fold("Every pair", (pairs_grid(found),))


def show_cell(entry: Entry) -> ShownCell:
    """As the main table shows a cell."""
    mark = "best" if entry.best else "close" if entry.close else ""
    hint = f"{entry.runs} runs" if entry.runs else "from the literature"
    return ShownCell(show_fixed(entry.mean, 2), show_fixed(entry.spread, 2), mark, 0, hint)  # type: ignore[arg-type]


def to_markdown(name: str, texts: tuple[str, ...], grid: Grid, found: Ranked) -> str:
    """Table, tests, every pair."""
    caption, *rest = texts
    parts: list[Element] = [Heading(name, 1), Text(caption), grid, Notes(tuple(rest))]
    if found.contrasts:
        parts += [Heading("Every pair"), pairs_grid(found)]
    return markdown.write(parts) + "\n"


def to_csv(found: Ranked) -> str:
    """Every cell."""
    lines = (
        [
            *(d, label, tidy.number(e.mean), tidy.number(e.spread), e.runs, str(e.best).lower()),
            "" if e.close is None else str(e.close).lower(),
            str(label in found.literature).lower(),
            str(d not in found.absent).lower(),
        ]
        for d, row in found.rows.items()
        for label, e in zip(found.labels, row, strict=True)
    )
    return tidy.write_lines(HEAD, lines)
