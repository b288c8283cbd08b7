"""Tables and texts as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from kselect.report.blocks import Element, Fold, Grid, Heading, Notes, Text

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
