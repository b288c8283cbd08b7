"""records.csv: every record of an experiment in one order; written from records and read back to them."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from kselect.core.record import COLUMNS, DIGITS, Record
from kselect.errors import StoreError

READERS: dict[str, Callable[[str], Any]] = {
    "int": int,
    "float | None": lambda text: float(text) if text else None,
}

REQUIRED = sum(f.default is MISSING for f in fields(Record))


def as_text(value: object) -> object:
    """A field as the file holds it: numbers with the digits that records keep, nothing for None."""
    if value is None:
        return ""
    return f"{value:.{DIGITS}g}" if isinstance(value, float) else value


def csv_text(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A CSV with a header and Unix line ends."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([as_text(value) for value in row] for row in rows)
    return out.getvalue()


def records_text(records: Iterable[Record]) -> str:
    """The whole file."""
    return csv_text(COLUMNS, ([getattr(r, name) for name in COLUMNS] for r in records))


def read_records(path: Path) -> list[Record]:
    """The records of a file, none where there is no file; other columns or values are a StoreError."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8 text"
        raise StoreError(f"{path}: {why}") from None
    return parse_records(text, path)


def parse_records(text: str, path: Path) -> list[Record]:
    """The inverse of ``records_text``."""
    rows = csv.reader(io.StringIO(text, newline=""))
    head = tuple(next(rows, ()))
    # Earlier files lack the last columns, which have defaults.
    if head != COLUMNS[: len(head)] or len(head) < REQUIRED:
        raise StoreError(f"{path}: not the columns of this version; kselect run again")
    readers = [READERS.get(str(f.type), str) for f in fields(Record)[: len(head)]]
    found = []
    try:
        for row in rows:
            values = [read(value) for read, value in zip(readers, row, strict=True)]
            found.append(Record(*values))
    except ValueError as error:
        raise StoreError(f"{path}:{rows.line_num}: not a record: {error}") from None
    return found
