"""A table before anything is said about what its columns mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from kselect.datasets.tables.decisions import Decision
from kselect.errors import DataError, brief, nearest, printable, quoted
from kselect.numerics.linalg import Array

Form = Literal["columns", "svmlight"]
Kind = Literal["number", "date", "category", "code"]
Fields = Sequence[str] | Array
Task = Literal["classification", "regression"]
LONGEST_HINT = 300


@dataclass(frozen=True, eq=False)
class Place:
    """A file and the line of each of its rows: what an error names."""

    path: Path
    lines: Sequence[int] = ()

    def error(self, text: str, row: int | None = None) -> DataError:
        """``path:line: text``, without a line where there is none to name."""
        at = f":{self.lines[row]}" if row is not None and len(self.lines) else ""
        return DataError(f"{printable(self.path)}{at}: {printable(text)}")

    def of(self, rows: Sequence[int]) -> Place:
        """The place of some of the rows."""
        return replace(self, lines=[self.lines[i] for i in rows] if len(self.lines) else ())


@dataclass(frozen=True, eq=False)
class RawTable:
    """The columns of a file as they are written; svmlight's labels stand apart, as they have no name.

    ``kinds`` is what the file itself says of a column (Parquet does), None where its fields must tell.
    """

    place: Place
    sha256: str
    form: Form
    names: tuple[str, ...]
    named: bool
    columns: tuple[Fields, ...]
    kinds: tuple[Kind | None, ...]
    labels: Array | None = None
    decimal_commas: bool = False
    decisions: tuple[Decision, ...] = ()

    def find(self, wanted: str, what: str = "") -> int:
        """The position of a column: its name, or a number from 1."""
        if wanted in self.names:
            return self.names.index(wanted)
        if wanted.isascii() and wanted.isdigit() and 1 <= int(wanted) <= len(self.names):
            return int(wanted) - 1
        raise self.place.error(f"no column {quoted(wanted)}{what}{hint(wanted, self.names)}")


def hint(wanted: str, names: Sequence[str]) -> str:
    """The nearest name, or the names, unless they would fill the screen."""
    text = nearest(wanted, names)
    if len(text) <= LONGEST_HINT:
        return text
    return f"; the file has {len(names)} columns: {', '.join(map(brief, names[:4]))}, ..., {brief(names[-1])}"
