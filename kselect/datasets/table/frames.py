"""Read a user's table as a frame: typed features, a target, and a line about every decision.

``read_frame`` infers what the columns are. ``further_files`` reads a file with the schema of another one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kselect.datasets.content import UnpackedFile
from kselect.datasets.table.arrow import read_table_at
from kselect.datasets.table.assignment import (
    AskedKind,
    assign,
    names_asked,
    read_roles,
    without_weight,
)
from kselect.datasets.table.column_inference import (
    EMPTY,
    ColumnText,
    Commas,
    Feature,
    absent,
    column_text,
    dropped,
    file_commas,
    infer_column,
    infer_text,
    number_style,
    read_as,
    shown,
)
from kselect.datasets.table.raw_table import (
    ColumnKind,
    ColumnSpec,
    Fields,
    Frame,
    Missing,
    RawTable,
    ReadingDecision,
    Schema,
    TableOptions,
    TargetNames,
    Texts,
    decision_lines,
)
from kselect.datasets.table.read import is_header, read_raw, without_empty_end
from kselect.datasets.table.target import distinct_values, read_targets
from kselect.datasets.table.written_values import LEADING_ZERO, is_finite
from kselect.grids import show_number
from kselect.numerics.linalg import Array

COUNTS = "it counts the rows; drop it with --drop COLUMN unless the order of the rows has a meaning"
MIRROR = (
    "it determines the target exactly; drop it with --drop COLUMN if it is a copy of the target"
)
CONSTANT = "the same value in every row"
NAMELESS = re.compile(r"Unnamed: ?[0-9]+|[Ii]ndex|level_0|row[ _.]?(?:names?|ids?|numbers?|nrs?)?")
IDENTIFIER = re.compile(r"(?:.*[ _.-])?[iI][dD]|.*[a-z]I[dD]")
INDEX = "dropped: it numbers the rows; keep it with --numeric COLUMN"
NUMBERED = (
    "dropped: looks like an identifier (a unique integer per row); keep it with --numeric COLUMN"
)
FIRST_ROWS = 1000  # of which the distinct values are counted before those of all rows


def read_frame(path: Path, target: TargetNames, options: TableOptions | None = None) -> Frame:
    """Read the table in a file: svmlight, CSV with comma, semicolon or tab, Parquet or Feather; packed or not."""
    raw = read_table_at(path, partial(open_table, target=target))
    return infer_frame(raw, target, options or TableOptions())


def open_table(file: UnpackedFile, target: TargetNames) -> RawTable:
    """Return the columns of a first file as it writes them."""
    return read_raw(file, partial(is_header, targets=names_asked(target)), target is not None)


def infer_frame(raw: RawTable, target: TargetNames, options: TableOptions) -> Frame:
    """Return the typed features and the target of a raw table."""
    raw = without_empty_end(raw)
    positions, asked = assign(raw, target, options)
    commas = cache(partial(file_commas, raw))
    roles = read_roles(raw, options, positions, commas)
    values, rows, said = read_targets(raw, positions, commas)
    features = [read_feature(raw, i, kind, commas) for i, kind in asked]
    decisions = [d for feature in features for d in feature.decisions]
    kept = [(f.spec, f.values) for f in features if f.spec is not None]
    if not kept:
        why = "; ".join(decision_lines(decisions)) or "all are dropped"
        raise raw.place.error(f"no feature is left: {why}")
    specs, data = zip(*kept, strict=True)
    names = tuple(raw.names[i] for i in positions)
    schema = Schema(raw.form, raw.named, len(raw.names), names, specs)
    decisions = [*raw.decisions, *said, *decisions]
    frame = Frame(schema, data, values, raw.place, raw.sha256, tuple(decisions), roles)
    if len(rows) < frame.n:
        frame = frame.take(rows)
    frame = treat_missing(without_weight(frame), options.missing)
    return frame.with_decisions(remarks(frame))


def treat_missing(frame: Frame, missing: Missing) -> Frame:
    """Report missing values, drop their rows, or refuse the first one."""
    if missing == "impute":
        return frame.with_decisions(gaps_of(frame))
    gaps = [absent(values) for values in frame.data]
    rows = np.flatnonzero(np.any(gaps, axis=0))
    if not len(rows):
        return frame
    if missing == "error":
        name = next(s.name for s, gap in zip(frame.columns, gaps, strict=True) if gap[rows[0]])
        raise frame.place.error(f"column {name}: is missing", int(rows[0]))
    if len(rows) == frame.n:
        raise frame.place.error("every row has a missing value: nothing is left")
    text = f"dropped {len(rows)} of {frame.n} rows with a missing value"
    kept = frame.take(np.setdiff1d(np.arange(frame.n), rows))
    return kept.with_decisions([ReadingDecision(None, text)])


# --- one feature --------------------------------------------------------------------------------------


def read_feature(raw: RawTable, i: int, asked: AskedKind | None, commas: Commas) -> Feature:
    """Read a column as the user asks, else as the file states, else as its fields look."""
    fields, kind, name = raw.columns[i], raw.kinds[i] or "number", raw.names[i]
    values: Array | Texts
    if isinstance(fields, np.ndarray) and asked != "category":
        if raw.form != "columns" and asked is None:  # missing indices mean 0
            return Feature(ColumnSpec(name, "number"), values=fields)
        if np.isnan(fields).all():
            return dropped(name, EMPTY)
        found = Feature(ColumnSpec(name, kind, "ISO" if kind == "date" else ""))
        values = fields
    else:
        column = column_text(raw, i, commas)
        found = infer_asked(column, asked, raw.kinds[i])
        if found.spec is None:
            return found
        values = read_as(found.spec, column)
    if asked is None and raw.form == "columns" and len(raw.names) > 2:
        why = index_reason(name, values, not raw.named and i == 0)
        if why:
            return dropped(name, why)
    return replace(found, values=values)


def infer_asked(column: ColumnText, asked: AskedKind | None, kind: ColumnKind | None) -> Feature:
    """Return what a column is; categories of numbers become codes, so that ``3.0`` and ``3`` are the same."""
    if asked is None:
        return infer_text(column) if kind == "category" else infer_column(column)
    if asked == "number":
        style = number_style(column, True)
        return Feature(ColumnSpec(column.name, "number", style.unit if style else ""))
    plain = all(is_finite(v) and not LEADING_ZERO.fullmatch(v) for v in column.counts)
    return Feature(ColumnSpec(column.name, "code" if plain else "category"))


def index_reason(name: str, values: Array | Texts, lonely: bool) -> str:
    """Return why a column of numbers is an index; ``lonely`` means the first column of a file without a header."""
    named = INDEX if NAMELESS.fullmatch(name) else NUMBERED if IDENTIFIER.fullmatch(name) else ""
    if not (lonely or named) or values.dtype == object or len(values) < 2:
        return ""
    if not np.isfinite(values).all():
        return ""
    if lonely:
        return INDEX if counts_rows(values) else ""
    if len(np.unique(values)) < len(values) or not (values == np.round(values)).all():
        return ""
    return named


def counts_rows(values: NDArray[np.generic]) -> bool:
    """Return whether a column is 0, 1, 2, ... or 1, 2, 3, ..."""
    ordered = np.arange(len(values))
    return bool((values == ordered).all() or (values == ordered + 1).all())


# --- remarks on the columns that are kept ----------------------------------------------------------------------


def gaps_of(frame: Frame) -> list[ReadingDecision]:
    """Return that missing values are filled in, and with what."""
    counts = (int(absent(values).sum()) for values in frame.data)
    return [gap_of(s, count) for s, count in zip(frame.columns, counts, strict=True) if count]


def gap_of(spec: ColumnSpec, count: int) -> ReadingDecision:
    """Return the decision about the missing values of one column."""
    median = "missing values become the median"
    text = median if spec.numeric else "missing is a category of its own"
    return ReadingDecision(spec.name, text, f"{count} missing")


def remarks(frame: Frame) -> list[ReadingDecision]:
    """Return the remarks on all columns; of numbers, only those that may deserve one are examined."""
    classes = [len(distinct_values(fields)) for fields in frame.targets]
    return [
        decision
        for spec, values in zip(frame.columns, frame.data, strict=True)
        if not spec.numeric or any(may_be_remarkable(values, count) for count in classes)
        for decision in column_remarks(spec, values, frame.targets)
    ]


def may_be_remarkable(values: Array | Texts, classes: int) -> bool:
    """Return whether a column of numbers may deserve a remark."""
    first = values[0]
    if (first in (0, 1) and counts_rows(values)) or (values == first).all():
        return True
    # A column determines the target only if each value occurs twice on average.
    if (
        not 1 < classes <= len(values) // 2
        or len(np.unique(values[:FIRST_ROWS], equal_nan=False)) > classes
    ):
        return False
    return len(np.unique(values, equal_nan=False)) == classes


def column_remarks(
    spec: ColumnSpec, values: Array | Texts, targets: Sequence[Fields]
) -> list[ReadingDecision]:
    """Return whether a column counts the rows, copies a target or is constant, and how it is encoded."""
    found = []
    if spec.numeric and len(values) > 2 and counts_rows(values):
        found.append(ReadingDecision(spec.name, COUNTS))
    for target in targets:
        pairs = set(zip(values.tolist(), target, strict=True))
        distinct = {value for value, _ in pairs}, {other for _, other in pairs}
        # Column and target determine each other, with each value at least twice on average.
        if 1 < len(pairs) <= len(values) // 2 and {*map(len, distinct)} == {len(pairs)}:
            found.append(ReadingDecision(spec.name, MIRROR))
    if len(values) and (values == values[0]).all():
        value = show_number(values[0]) if spec.numeric else shown(values[0])
        found.append(ReadingDecision(spec.name, CONSTANT, value))
    elif not spec.numeric:
        levels, text = sorted(set(values)), "categories: a 0/1 column for each value"
        detail = f"{len(levels)} values"
        if len(levels) == 2:
            low, high = (shown(level)[1:-1] or "missing" for level in levels)
            text, detail = "two values, encoded as 0 and 1", f"{low} = 0, {high} = 1"
        found.append(ReadingDecision(spec.name, text, detail))
    return found
