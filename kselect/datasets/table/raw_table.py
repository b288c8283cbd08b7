"""The two stages of a table: the raw table, with columns as the file writes them, and the frame of typed columns.

svmlight files become raw tables here, since they state their own types; so do Parquet and Feather in ``arrow``.
``read`` parses text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kselect.datasets.content import UnpackedFile, file_error
from kselect.datasets.registry import Task
from kselect.datasets.svmlight import ZERO, parse_svmlight
from kselect.errors import DataError, brief, nearest, printable, quoted
from kselect.numerics.linalg import Array, Index

FileForm = Literal["columns", "svmlight", "svmlight from 0"]
ColumnKind = Literal["number", "date", "category", "code"]
Missing = Literal["impute", "drop", "error"]
Texts = NDArray[np.object_]
Fields = Sequence[str] | Array
# The names of targets, or their numbers from 1: one, several, or (None) the last column.
TargetNames = str | Sequence[str] | None
LONGEST_HINT = 300
NAMES_SHOWN = 6


@dataclass(frozen=True)
class ReadingDecision:
    """A decision of the reader: about a column, with a detail of its own, or about the whole file (None)."""

    column: str | None
    text: str
    detail: str = ""

    @property
    def name(self) -> str:
        """The column with its detail: ``Age (177 missing)``."""
        name = brief(self.column)
        return f"{name} ({printable(self.detail)})" if self.detail else name

    def __str__(self) -> str:
        text = printable(self.text)
        return text if self.column is None else f"column {self.name}: {text}"


def decision_lines(decisions: Iterable[ReadingDecision]) -> list[str]:
    """Return one line per decision; equal ones share a line, such as ``columns a, b and 3 more: text``."""
    alike: dict[tuple[bool, str], list[ReadingDecision]] = {}
    for decision in decisions:
        alike.setdefault((decision.column is None, decision.text), []).append(decision)
    found = []
    for (of_file, text), same in alike.items():
        more = len(same) - NAMES_SHOWN
        names = [decision.name for decision in (same[:NAMES_SHOWN] if more > 1 else same)]
        last = f"{more} more" if more > 1 else names.pop()
        line = f"columns {', '.join(names)} and {last}: {printable(text)}"
        found.append(str(same[0]) if of_file or len(same) == 1 else line)
    return found


@dataclass(frozen=True, eq=False)
class FilePlace:
    """A file and the line of each of its rows, for error messages."""

    path: Path
    lines: Sequence[int] = ()

    def error(self, text: str, row: int | None = None) -> DataError:
        """Return the error ``path:line: text``, without a line if none is known."""
        line = self.lines[row] if row is not None and len(self.lines) else None
        return file_error(self.path, text, line)


@dataclass(frozen=True, eq=False)
class RawTable:
    """The columns of a file as it writes them; svmlight's labels are separate, as they have no name.

    ``kinds`` are the kinds that the file itself states, as Parquet does, and None where the fields must tell.
    """

    place: FilePlace
    sha256: str
    form: FileForm
    names: tuple[str, ...]
    named: bool
    columns: tuple[Fields, ...]
    kinds: tuple[ColumnKind | None, ...]
    labels: Array | None = None
    decimal_commas: bool = False
    decisions: tuple[ReadingDecision, ...] = ()

    def find(self, wanted: str, what: str = "") -> int:
        """Return the position of a column; ``wanted`` is its name or its number from 1."""
        if wanted in self.names:
            return self.names.index(wanted)
        if wanted.isascii() and wanted.isdigit() and 1 <= int(wanted) <= len(self.names):
            return int(wanted) - 1
        hint = nearest(wanted, self.names)
        if len(hint) > LONGEST_HINT:
            first, last = ", ".join(map(brief, self.names[:4])), brief(self.names[-1])
            hint = f"; the file has {len(self.names)} columns: {first}, ..., {last}"
        raise self.place.error(f"no column {quoted(wanted)}{what}{hint}")


@dataclass(frozen=True)
class ColumnSpec:
    """The name and kind of a feature; a ``code`` is a category written in numbers.

    ``form`` is the form of a date, or the unit of a number.
    """

    name: str
    kind: ColumnKind
    form: str = ""

    @property
    def numeric(self) -> bool:
        """Whether the values are numbers to compute with."""
        return self.kind in ("number", "date")


@dataclass(frozen=True)
class TableOptions:
    """The user's instructions for a table; a column is a name, or a number from 1.

    ``weights``, ``groups`` and ``time`` name columns about the rows, which are not features.
    """

    drop: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    missing: Missing = "impute"
    task: Task | None = None
    weights: str | None = None
    groups: str | None = None
    time: str | None = None


@dataclass(frozen=True, eq=False)
class RowRoles:
    """The weight, the group and the time of each row, from columns that are not features."""

    weights: Array | None = None
    groups: Texts | None = None
    times: Array | None = None

    def take(self, rows: Index) -> RowRoles:
        """Return the same for some rows."""
        return RowRoles(
            None if self.weights is None else self.weights[rows],
            None if self.groups is None else self.groups[rows],
            None if self.times is None else self.times[rows],
        )


@dataclass(frozen=True)
class Schema:
    """The columns that another file must have to be read in the same way.

    ``targets`` are the names of the targets, none in svmlight; ``width`` counts all columns of the first file.
    """

    form: FileForm
    named: bool
    width: int
    targets: tuple[str, ...]
    columns: tuple[ColumnSpec, ...]

    @property
    def target(self) -> str:
        """The name of the first target, empty in svmlight."""
        return self.targets[0] if self.targets else ""


@dataclass(frozen=True, eq=False)
class Frame:
    """Features column by column, with NaN or the empty text for missing values, and the targets in any form.

    ``targets`` is empty if the file has none that can be read, and ``no_target`` is then what is known of the
    cause, in the words that end a message: ``; rename 'Price', ...``.
    """

    schema: Schema
    data: tuple[Array | Texts, ...]
    targets: tuple[Fields, ...]
    place: FilePlace
    sha256: str
    decisions: tuple[ReadingDecision, ...]
    roles: RowRoles = RowRoles()
    no_target: str = ""

    @property
    def columns(self) -> tuple[ColumnSpec, ...]:
        """The features."""
        return self.schema.columns

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.data[0])

    @property
    def target(self) -> Fields | None:
        """The first target, None without any."""
        return self.targets[0] if self.targets else None

    @cached_property
    def numbers(self) -> Array | None:
        """The matrix (n, columns) if all features are numbers without gaps, as in svmlight; else None."""
        if not all(spec.numeric for spec in self.columns):
            return None
        values = np.empty((self.n, len(self.data)))
        for j, column in enumerate(self.data):
            values[:, j] = column
        return None if np.isnan(values).any() else values

    def take(self, rows: Index) -> Frame:
        """Return some of the rows."""
        targets = tuple(taken(fields, rows) for fields in self.targets)
        lines = [self.place.lines[i] for i in rows.tolist()] if len(self.place.lines) else ()
        data, place = tuple(values[rows] for values in self.data), replace(self.place, lines=lines)
        roles = self.roles.take(rows)
        return replace(self, data=data, targets=targets, place=place, roles=roles)

    def with_decisions(self, more: Iterable[ReadingDecision]) -> Frame:
        """Return the frame with further decisions at the end."""
        return replace(self, decisions=(*self.decisions, *more))


def taken(fields: Fields, rows: Index) -> Fields:
    """Return the fields of some rows."""
    return fields[rows] if isinstance(fields, np.ndarray) else [fields[i] for i in rows]


def read_labelled(
    file: UnpackedFile, form: FileForm | None = None, n_features: int | None = None
) -> RawTable:
    """Read an svmlight file; its columns are named 1, 2, ...; with an index 0, it counts from 0.

    ``form`` is the form of another file, and tells how this one counts.
    """
    form = form or ("svmlight from 0" if ZERO.search(file.data) else "svmlight")
    X, labels = parse_svmlight(file.data, file.path, n_features, int(form == "svmlight"))
    place = FilePlace(file.path)
    if not X.shape[1]:
        raise place.error("no features, only targets")
    names = tuple(str(i) for i in range(1, X.shape[1] + 1))
    number: ColumnKind = "number"
    kinds = (number,) * len(names)
    return RawTable(place, file.sha256, form, names, False, tuple(X.T), kinds, labels)
