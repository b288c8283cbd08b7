"""The writers of tables: CSV for programs, Markdown for GitHub; ``latex`` is the one for papers.

Each takes a ``Table`` and knows nothing of what its numbers mean. Markdown also writes the other elements of a
report.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

from kselect.core.table import DASH, Column, Group, Measure, Table, Values
from kselect.report.elements import Details, Element, File, Heading, Notes, Paragraph
from kselect.report.latex import write_latex

MARKDOWN_SPECIAL = re.compile(r"([\\`*_\[\]<>|])")


def table_files(
    table: Table,
    *more: Table,
    of: str,
    tidy: Table | None = None,
    before: Iterable[Element] = (),
) -> list[File]:
    """Return the CSV, Markdown and LaTeX files of a table.

    ``of`` names its experiment: the label in LaTeX is ``tab:OF-NAME``. ``more`` tables follow in the Markdown and
    LaTeX files. ``tidy`` is what the CSV contains if it is not ``table`` itself. ``before`` are elements that
    precede the tables in the Markdown file.
    """
    stem = f"tables/{table.name}"
    elements = (Heading(table.name, 1), *before, table, *more)
    return [
        File(f"{stem}.csv", write_csv(tidy or table)),
        File(f"{stem}.md", write_markdown(elements) + "\n"),
        File(f"{stem}.tex", write_latex(table, *more, of=of)),
    ]


def numbers_file(name: str, names: Iterable[str], rows: Iterable[Values], digits: int = 10) -> File:
    """Return the CSV file with the numbers of a figure that has no table, under the names of their columns."""
    columns = tuple(Column(csv=column, csv_format=f".{digits}g") for column in names)
    return File(f"tables/{name}.csv", write_csv(Table(name, columns, (Group(tuple(rows)),))))


def write_csv(table: Table) -> str:
    """Return the columns with a CSV name as CSV, with full precision and Unix line ends."""
    columns = [(i, column) for i, column in enumerate(table.columns) if column.csv]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(column.csv for _, column in columns)
    writer.writerows([column.field(row[i]) for i, column in columns] for row in table.rows)
    return text.getvalue()


def write_markdown(elements: Iterable[Element]) -> str:
    """Return elements as Markdown, one below the other; pictures have files of their own."""
    texts: list[str] = []
    for element in elements:
        match element:
            case Heading():
                texts.append(f"{'#' * element.level} {escape_markdown(element.text)}")
            case Paragraph():
                lead = f"**{element.verdict.capitalize()}.** " if element.verdict else ""
                texts.append(lead + escape_markdown(element.text))
            case Notes():
                texts.append("\n".join(f"* {escape_markdown(line)}" for line in element.lines))
            case Details():
                texts.append(write_markdown(element.elements))
            case Table():
                legend = element.legend("Bold", "Italic", "In parentheses: the number of")
                texts.append(" ".join(map(escape_markdown, (*element.caption, *legend))))
                for title, groups in element.titled:
                    texts.append(f"## {escape_markdown(title)}" if title else "")
                    texts.append(markdown_grid(element, groups))
                texts.append(write_markdown([Notes(element.notes)]))
            case _:
                raise TypeError(f"{type(element).__name__} has no form in Markdown")
    return "\n\n".join(filter(None, texts))


def markdown_grid(table: Table, groups: Sequence[Group]) -> str:
    """Return the rows of some groups as one table, aligned in the source too.

    A measured cell looks like ``**14.3 ± 2.6** (1)``.
    """
    lines = [[escape_markdown(column.heading) for _, column in table.printed]]
    for row in (row for group in groups for row in (*group.rows, *group.foot)):
        lines.append([])
        for i, column in table.printed:
            value = row[i]
            if not isinstance(value, Measure):
                lines[-1].append(escape_markdown(column.text(value)))
                continue
            text = value.mean_text + (f" ± {value.sd_text}" if value.sd_text else "")
            stars = {"best": "**", "close": "*", "": ""}[value.mark] if text else ""
            failures = f" ({value.failures})" if value.failures else ""
            lines[-1].append(f"{stars}{text or DASH}{stars}{failures}")
    widths = [max(3, *map(len, cells)) for cells in zip(*lines, strict=True)]
    left = [column.align not in ("right", "measure") for _, column in table.printed]
    ruler = ["-" * w if text else "-" * (w - 1) + ":" for w, text in zip(widths, left, strict=True)]
    padded = [
        [
            cell.ljust(w) if text else cell.rjust(w)
            for cell, w, text in zip(line, widths, left, strict=True)
        ]
        for line in lines
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in (padded[0], ruler, *padded[1:]))


def escape_markdown(text: str) -> str:
    """Return plain text as Markdown, on one line."""
    return MARKDOWN_SPECIAL.sub(r"\\\1", " ".join(text.split()))
