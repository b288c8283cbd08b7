"""Tables and texts as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from kselect.report.blocks import Element, Fold, Grid, Heading, Notes, Text
from kselect.report.cells import Row, Shown
from kselect.report.sheet import Contest, Part, Sheet
from kselect.report.words import DASH

SPECIAL = re.compile(r"([\\`*_\[\]<>|])")


def write(elements: Iterable[Element]) -> str:
    """The elements of a section one below the other; pictures and means have files of their own."""
    return "\n\n".join(text for element in elements for text in show_element(element))


def show_element(element: Element) -> Iterator[str]:
    """One element, a fold as what it holds."""
    match element:
        case Heading():
            yield f"{'#' * element.level} {escape(element.text)}"
        case Text():
            lead = f"**{element.verdict.capitalize()}.** " if element.verdict else ""
            yield lead + escape(element.text)
        case Notes():
            yield bullets(element.lines)
        case Grid():
            rows = [[escape(cell) for cell in row] for row in element.rows]
            yield write_grid(element.head, rows, element.left)
        case Fold():
            yield write(element.elements)
        case _:
            raise TypeError(f"{type(element).__name__.lower()} has no form in Markdown")


def write_sheet(sheet: Sheet) -> str:
    """Caption, one table per setting, notes, win/tie/loss counts."""
    parts = [
        f"# {sheet.name}",
        f"{escape(sheet.caption)} {' '.join(explain(sheet))}",
        *(escape(d) for d in sheet.daggers),
        *(write_part(sheet, part) for part in sheet.parts),
        bullets(sheet.notes),
        write_contests(sheet),
    ]
    return "\n\n".join(p for p in parts if p) + "\n"


def explain(sheet: Sheet) -> list[str]:
    """What the marks of the cells mean."""
    marks = ["Bold: the lowest mean of its row."]
    if sheet.tested:
        marks.append("Italic: not significantly worse (paired one-sided t-test at 5 %).")
    if sheet.failures:
        marks.append("In parentheses: the number of failed runs, which the mean leaves out.")
    return marks


def write_part(sheet: Sheet, part: Part) -> str:
    """The table of one setting under its heading."""
    lines = [[show_name(row), *map(show, row.cells)] for row in part.rows]
    if any(part.ranks):
        lines.append(["mean rank", *part.ranks])
    heading = f"## {escape(part.title)}\n\n" if part.title else ""
    return heading + write_grid(["data set", *sheet.heads], lines)


def show_name(row: Row) -> str:
    """A data set, with the power of ten that its numbers share."""
    return escape(row.name) + (f" (times 10^{row.exponent})" if row.exponent else "")


def show(cell: Shown) -> str:
    """``**14.3 ± 2.6** (1)``."""
    failures = f" ({cell.failures})" if cell.failures else ""
    if not cell.mean:
        return f"{DASH}{failures}"
    text = f"{cell.mean} ± {cell.sd}" if cell.sd else cell.mean
    stars = {"best": "**", "close": "*", "": ""}[cell.mark]
    return f"{stars}{text}{stars}{failures}"


def write_contests(sheet: Sheet) -> str:
    """Win/tie/loss, one line per pair and test."""
    if not sheet.contests:
        return ""
    lines = [line for contest in sheet.contests for line in contest_lines(contest)]
    head = ["wins/ties/losses", "test", *(s or "all" for s in sheet.settings)]
    return "## Wins, ties and losses over data sets\n\n" + write_grid(head, lines, 2)


def contest_lines(contest: Contest) -> list[list[str]]:
    """The lines of one pair."""
    pair = escape(f"{contest.method} against {contest.rival}")
    return [[pair, test, *counts] for test, counts in contest.lines]


def write_grid(head: Sequence[str], lines: Iterable[Sequence[str]], left: int = 1) -> str:
    """A table, aligned in the source too: the first ``left`` columns to the left, others right."""
    table = [list(head), *(list(line) for line in lines)]
    widths = [max(len(cell) for cell in column) for column in zip(*table, strict=True)]
    ruler = ["-" * w if i < left else "-" * (w - 1) + ":" for i, w in enumerate(widths)]
    rows = [pad(table[0], widths, left), ruler, *(pad(line, widths, left) for line in table[1:])]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def pad(line: Sequence[str], widths: Sequence[int], left: int) -> list[str]:
    """The cells of one line in the widths of their columns."""
    cells = enumerate(zip(line, widths, strict=True))
    return [cell.ljust(width) if i < left else cell.rjust(width) for i, (cell, width) in cells]


def bullets(lines: Sequence[str]) -> str:
    """A list."""
    return "\n".join(f"* {escape(line)}" for line in lines)


def escape(text: str) -> str:
    """Plain text -> Markdown, on one line."""
    return SPECIAL.sub(r"\\\1", " ".join(text.split()))
