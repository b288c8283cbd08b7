"""Delimited text as named columns of fields."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from kselect.datasets.tables.decisions import Decision
from kselect.datasets.tables.raw import Fields, Place, RawTable
from kselect.datasets.tables.text import DELIMITERS, Text, Unpacked, find_delimiter
from kselect.datasets.tables.written_numbers import is_number
from kselect.errors import DataError, printable, quoted
from kselect.numerics.memory import available_memory, gib

NUMBERED = "no header line: the columns are called 1, 2, ..."
# Python's csv makes a text of each field and a list of each line; columns and numbers are made of these.
BYTES_PER_FIELD, BYTES_PER_LINE, BYTES_PER_CHARACTER = 110, 250, 9
Rows = list[tuple[int, list[str]]]
Header = Callable[[Sequence[Sequence[str]]], bool]


def read_columns(unpacked: Unpacked, text: Text, header: Header) -> RawTable:
    """Named columns of fields; without a header line they are called 1, 2, ..."""
    path = unpacked.path
    require_fields(path, text.text)
    delimiter = find_delimiter(text.text)
    rows, said = even_out(path, split(path, text.text, delimiter))
    names, body, whence = take_names(path, text, delimiter, rows, header)
    if not body:
        raise DataError(f"{printable(path)}: a header and no rows")
    return RawTable(
        Place(path, [line for line, _ in body]),
        unpacked.sha256,
        "columns",
        tuple(names),
        whence != NUMBERED,
        tuple(zip(*(fields for _, fields in body), strict=True)),
        (None,) * len(names),
        decimal_commas=delimiter != ",",
        decisions=(*text.decisions, *said, *([Decision(None, whence)] if whence else [])),
    )


def take_names(
    path: Path, text: Text, delimiter: str, rows: Rows, header: Header
) -> tuple[list[str], Rows, str]:
    """The names of the columns, the rows below them, and where the names are from if not from a header."""
    if header([fields for _, fields in rows]):
        return header_names(path, rows[0]), rows[1:], ""
    names = names_in_comment(text, delimiter, rows)
    if names:
        return names, rows, "the columns have their names from a # line"
    return [str(i) for i in range(1, len(rows[0][1]) + 1)], rows, NUMBERED


def require_fields(path: Path, text: str) -> None:
    """Refuse a text whose fields would not fit into memory; they take many times its bytes."""
    lines = text.count("\n") + text.count("\r") + 1
    fields = lines + max(map(text.count, DELIMITERS))
    needed = BYTES_PER_FIELD * fields + BYTES_PER_LINE * lines + BYTES_PER_CHARACTER * len(text)
    if needed > (there := available_memory()):
        raise DataError(
            f"{printable(path)}: {fields} fields in {lines} lines need {gib(needed)} of memory; "
            f"{gib(there)} are free"
        )


def split(path: Path, text: str, delimiter: str) -> Rows:
    """The fields of each row, stripped, with its line; rows of nothing are left out."""
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=delimiter != "\t"
    )
    try:
        stripped = ((reader.line_num, [field.strip() for field in row]) for row in reader)
        rows = [(line, row) for line, row in stripped if any(row)]
    except csv.Error as error:
        raise DataError(f"{printable(path)}:{reader.line_num}: {error}") from None
    if not rows:
        raise DataError(f"{printable(path)}: no rows")
    return rows


def even_out(path: Path, rows: Rows) -> tuple[Rows, list[Decision]]:
    """Rows of equal width; where all have one field more than the first line it holds, why is plain.

    A comma at the end of each row makes an empty field; R writes row names and no name for them.
    """
    width, rest = len(rows[0][1]), rows[1:]
    said: list[Decision] = []
    if len(rest) > 1 and all(len(fields) == width + 1 for _, fields in rest):
        if not any(fields[-1] for _, fields in rest):
            return [rows[0], *((line, fields[:-1]) for line, fields in rest)], said
        rows = [(rows[0][0], ["", *rows[0][1]]), *rest]
        said.append(Decision(None, "the first column has no name: the header is one field short"))
    width = len(rows[0][1])
    for line, fields in rows:
        if len(fields) != width:
            raise DataError(
                f"{printable(path)}:{line}: {len(fields)} columns where the first line has {width}"
            )
    return rows, said


def header_names(path: Path, first: tuple[int, list[str]]) -> list[str]:
    """The names of a header; a column without one gets that of pandas, two of a name are an error."""
    line, fields = first
    names = [tidy(name) or f"Unnamed: {i}" for i, name in enumerate(fields)]
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise DataError(f"{printable(path)}:{line}: two columns are called {quoted(twice[0])}")
    return names


def tidy(name: str) -> str:
    """A name on one line."""
    return " ".join(name.split())


def names_in_comment(text: Text, delimiter: str, rows: Rows) -> list[str]:
    """The names of a ``# a,b,c`` line as numpy.savetxt writes it, if it fits; else none."""
    for comment in text.comments:
        names = [name.strip() for name in comment.lstrip("# \t").split(delimiter)]
        fits = len(names) == len(rows[0][1]) == len(set(names)) and len(names) > 1
        if fits and all(names) and not any(map(is_number, names)):
            return names
    return []


def without_empty_end(table: RawTable) -> RawTable:
    """Without the nameless empty columns that spreadsheets leave on the right."""
    kept = len(table.names)
    while kept > 1 and is_nameless(table, kept - 1) and is_empty(table.columns[kept - 1]):
        kept -= 1
    cut = replace(table, names=table.names[:kept], columns=table.columns[:kept])
    return replace(cut, kinds=table.kinds[:kept])


def is_empty(fields: Fields) -> bool:
    """Whether no row has a field; numbers are none of a spreadsheet's leftovers."""
    return not isinstance(fields, np.ndarray) and not any(fields)


def is_nameless(table: RawTable, position: int) -> bool:
    """Whether a column has no name of its own."""
    return not table.named or table.names[position] == f"Unnamed: {position}"
