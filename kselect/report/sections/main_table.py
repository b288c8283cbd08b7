"""The papers' main table: test errors of every method on every data set, under each loss."""

from __future__ import annotations

from collections.abc import Iterable

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
from kselect.report.formats import latex, markdown, tidy
from kselect.report.sections.base import section
from kselect.report.sheet import Contest, Part, Sheet, make_sheet
from kselect.stats.comparison import Cell, Comparison
from kselect.stats.study import Study
from kselect.stats.ttest import TTest

HEAD = (
    *("dataset", "setting", "method", "mean", "sd", "runs", "failures", "missing"),
    *("best", "not_worse", "not_worse_corrected", "p_value", "p_value_corrected"),
    *("unit", "loss"),
)


@section("main-table")
def show(study: Study) -> Shown:
    """One table per loss as CSV, LaTeX and Markdown; on the page its counts stand apart."""
    files: list[File] = []
    blocks: list[Block] = []
    for loss in study.experiment.losses:
        sheet = make_sheet(study, loss)
        files += [
            File(f"tables/{sheet.name}.csv", to_csv(study.comparison(loss))),
            File(f"tables/{sheet.name}.tex", latex.write_sheet(sheet)),
            File(f"tables/{sheet.name}.md", markdown.write_sheet(sheet)),
        ]
        blocks += show_sheet(sheet, first=loss == study.experiment.loss)
        blocks.append(Block("statistics", tuple(show_statistics(study, sheet))))
    return Shown(files, blocks)


def show_sheet(sheet: Sheet, first: bool) -> Iterable[Block]:
    """The tables of one loss, folded behind a line for all losses but the experiment's own."""
    parts = (element for part in sheet.parts for element in show_part(sheet, part))
    notes = (Notes(sheet.daggers),) if sheet.daggers else ()
    elements: tuple[Element, ...] = (Text(f"{sheet.caption} {explain(sheet)}"), *notes, *parts)
    if not first:
        elements = (Fold(f"The same with the {sheet.loss} loss", elements),)
    yield Block("tables", elements)


def explain(sheet: Sheet) -> str:
    """What the marks of the cells mean on the page."""
    marks = ["Bold: the lowest mean of its row."]
    if sheet.tested:
        marks.append("Underlined: not significantly worse (paired one-sided t-test at 5 %).")
    if sheet.failures:
        marks.append("A superscript counts failed runs, which the mean leaves out.")
    return " ".join(marks)


def show_part(sheet: Sheet, part: Part) -> Iterable[Element]:
    """The rows of one setting."""
    if part.title:
        yield Heading(part.title)
    foot = ("mean rank", *part.ranks) if any(part.ranks) else ()
    yield Measures(("data set", *sheet.heads), part.rows, foot)


def show_statistics(study: Study, sheet: Sheet) -> Iterable[Element]:
    """Coverage, ranks and counts of one loss."""
    if len(study.experiment.losses) > 1:
        yield Heading(f"With the {sheet.loss} loss")
    yield Notes(sheet.notes)
    if sheet.contests:
        head = ("wins/ties/losses", "test", *(s or "all" for s in sheet.settings))
        yield Grid(head, tuple(row for c in sheet.contests for row in show_contest(c)), 2)


def show_contest(contest: Contest) -> Iterable[tuple[str, ...]]:
    """The lines of one pair, its name on the first."""
    name = f"{contest.method} against {contest.rival}"
    for test, counts in contest.lines:
        yield (name, test, *counts)
        name = ""


def to_csv(comparison: Comparison) -> str:
    """Every cell of a comparison; what does not exist is an empty field."""
    lines = (
        [d, block.setting.text, m, *fields(cell), comparison.units.get(d, ""), comparison.loss]
        for block in comparison.blocks
        for (d, m), cell in block.cells.items()
    )
    return tidy.write_lines(HEAD, lines)


def fields(cell: Cell) -> list[object]:
    """The numbers and verdicts of one cell."""
    verdicts = (cell.best, cell.not_worse, cell.not_worse_corrected) if cell.runs else ("", "", "")
    return [
        tidy.number(cell.mean),
        tidy.number(cell.sd),
        cell.runs,
        cell.failures,
        cell.missing,
        *("" if v is None else str(v).lower() for v in verdicts),
        p_value(cell.worse),
        p_value(cell.worse_corrected),
    ]


def p_value(test: TTest | None) -> str:
    """The p-value of a test that was possible."""
    return tidy.number(test.p_value) if test else ""
