"""The target column of a raw table: fields as Python writes them, and the rows that have one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kselect.datasets.tables.columns import ColumnText, Commas, number_style
from kselect.datasets.tables.dates import Ambiguous, find_form
from kselect.datasets.tables.decisions import Decision
from kselect.datasets.tables.features import column_text
from kselect.datasets.tables.kinds import refuse_marked
from kselect.datasets.tables.raw import RawTable
from kselect.datasets.tables.written_numbers import MISSING, MISSING_AMONG_NUMBERS, PLAIN
from kselect.errors import DataError
from kselect.numerics.linalg import Array, Index


@dataclass(frozen=True, eq=False)
class TargetFields:
    """The target in every row, numbers or text, and the rows in which it is not missing."""

    values: Sequence[str] | Array
    rows: Index
    decisions: tuple[Decision, ...] = ()


def read_target(raw: RawTable, i: int | None, commas: Commas) -> TargetFields:
    """The target of column i, or svmlight's labels; rows without one are left out."""
    if i is None:
        labels = np.empty(0) if raw.labels is None else raw.labels
        return TargetFields(labels, np.arange(len(labels)))
    fields = raw.columns[i]
    if raw.kinds[i] == "date":
        raise is_date(raw, raw.names[i])
    if isinstance(fields, np.ndarray):
        rows = np.flatnonzero(~np.isnan(fields))
        return with_rows(raw, i, fields, rows)
    column = column_text(raw, i, commas)
    values, absent, said = target_fields(raw, column)
    rows = np.flatnonzero([value not in absent for value in column.fields])
    found = with_rows(raw, i, values, rows)
    return replace(found, decisions=(*said, *found.decisions))


def target_fields(
    raw: RawTable, column: ColumnText
) -> tuple[list[str], Collection[str], tuple[Decision, ...]]:
    """The fields with numbers as Python writes them, the words that stand for a missing one, and what to say."""
    style = number_style(column, True)
    if style is None:
        refuse_marked(column)
        refuse_dates(raw, column)
        return list(column.fields), MISSING, ()
    absent = MISSING | MISSING_AMONG_NUMBERS
    if style is PLAIN:
        return list(column.fields), absent, ()
    plain = {v: v if v in absent else style.plain(v) for v in set(column.fields)}
    said = Decision(column.name, f"written with {style.text}")
    return [plain[v] for v in column.fields], absent, (said,)


def refuse_dates(raw: RawTable, column: ColumnText) -> None:
    """A date is no class, and no number without a unit that the user has chosen."""
    try:
        form = find_form(list(column.counts))
    except Ambiguous:
        form = "either"
    if form:
        raise is_date(raw, column.name)


def is_date(raw: RawTable, name: str) -> DataError:
    """The error for a target of dates."""
    return raw.place.error(f"the target {name} holds dates: name another column with --target")


def with_rows(raw: RawTable, i: int, values: Sequence[str] | Array, rows: Index) -> TargetFields:
    """The target with the rows that have one; how many have none is said."""
    missing = len(values) - len(rows)
    if not len(rows):
        raise raw.place.error(f"the target {raw.names[i]} has no value in any row")
    if not missing:
        return TargetFields(values, rows)
    first = int(np.setdiff1d(np.arange(len(values)), rows)[0])
    where = f" (the first in line {raw.place.lines[first]})" if len(raw.place.lines) else ""
    count = "1 row" if missing == 1 else f"{missing} rows"
    text = f"{count} without a value of the target {raw.names[i]} left out{where}"
    return TargetFields(values, rows, (Decision(None, text),))
