"""A further file, read as the file was that a model has learned from: by its schema, not by its own looks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path

import numpy as np

from kselect.datasets.frames import Frame, Schema, file_commas
from kselect.datasets.tables.columns import ColumnSpec, Commas, Texts, read_as
from kselect.datasets.tables.decisions import Decision
from kselect.datasets.tables.features import column_text
from kselect.datasets.tables.goal import target_fields
from kselect.datasets.tables.opening import read_labelled, read_raw
from kselect.datasets.tables.raw import RawTable
from kselect.datasets.tables.remarks import says_missing
from kselect.datasets.tables.rows import tidy, without_empty_end
from kselect.datasets.tables.text import unpack
from kselect.errors import DataError, printable
from kselect.numerics.linalg import Array


def read_like(path: Path, schema: Schema) -> Frame:
    """The rows of a file in the columns of a schema; its target too where it has one.

    Columns are found by name, in any order, and others are ignored; without a header line they are found
    by position, and the target may be left out. Missing values stay: the preparation fills them in.
    """
    if schema.form == "svmlight":
        raw = read_labelled(unpack(path), schema.width)
        return Frame(schema, read_data(raw, schema), raw.labels, raw.place, raw.sha256, ())
    raw = read_raw(path, lambda rows: has_names(rows[0], schema), columns=True)
    if raw.form == "svmlight":
        raise raw.place.error("svmlight, but the model has learned from columns")
    if not schema.named and len(raw.names) > schema.width:
        raw = without_empty_end(raw)
    data = read_data(raw, schema)
    gaps = map(says_missing, schema.columns, data)
    target, said = read_target(raw, schema)
    decisions = (*raw.decisions, *(d for d in gaps if d is not None), *said)
    return Frame(schema, data, target, raw.place, raw.sha256, decisions)


def has_names(first: Sequence[str], schema: Schema) -> bool:
    """Whether the first row is a header: it holds a name of the schema."""
    known = {spec.name for spec in schema.columns} | {schema.target}
    return schema.named and any(tidy(field) in known for field in first)


def read_data(raw: RawTable, schema: Schema) -> tuple[Array | Texts, ...]:
    """The features of the schema."""
    commas = cache(partial(file_commas, raw))
    positions = by_name(raw, schema) if schema.named else by_position(raw, schema)
    pairs = zip(schema.columns, positions, strict=True)
    return tuple(read_column(raw, spec, i, commas) for spec, i in pairs)


def by_name(raw: RawTable, schema: Schema) -> list[int]:
    """Where the columns are; those that are not there are an error."""
    names = [spec.name for spec in schema.columns]
    absent = [name for name in names if name not in raw.names]
    if len(absent) == len(names):
        raise raw.place.error(f"no header line with the columns of the model: {listed(names)}")
    if absent:
        column = "column" if len(absent) == 1 else "columns"
        raise raw.place.error(f"without the {column} {listed(absent)}, which the model needs")
    return [raw.names.index(name) for name in names]


def by_position(raw: RawTable, schema: Schema) -> list[int]:
    """Where the columns are in a file without a header line, which may lack the target's."""
    found, width = len(raw.names), schema.width
    positions = [int(spec.name) - 1 for spec in schema.columns]
    if found == width:
        return positions
    if found == width - 1 and schema.form == "columns":
        goal = int(schema.target) - 1
        return [i - (i > goal) for i in positions]
    raise raw.place.error(
        f"{found} columns; the model has learned from {width}, or {width - 1} without the target"
    )


def listed(names: Sequence[str]) -> str:
    """The first few names."""
    more = len(names) - 5
    return ", ".join(map(repr, names[:5])) + (f" and {more} more" if more > 0 else "")


def read_column(raw: RawTable, spec: ColumnSpec, i: int, commas: Commas) -> Array | Texts:
    """One feature; what the file itself says of its kind has to agree."""
    fields = raw.columns[i]
    if isinstance(fields, np.ndarray) and "date" in {raw.kinds[i], spec.kind}:
        if raw.kinds[i] != spec.kind:
            raise raw.place.error(f"column {spec.name}: dates in one file, numbers in the other")
        return fields
    if isinstance(fields, np.ndarray) and spec.numeric:
        return fields
    try:
        return read_as(spec, column_text(raw, i, commas))
    except DataError as error:
        if spec.kind != "number":
            raise
        way = f"kselect fit --categorical {printable(spec.name)} takes all as categories"
        raise DataError(f"{error}, as all are that the model has learned from; {way}") from None


def read_target(
    raw: RawTable, schema: Schema
) -> tuple[Sequence[str] | Array | None, tuple[Decision, ...]]:
    """The target where the file has one that can be read: a prediction does not need it."""
    if schema.named and schema.target not in raw.names:
        return None, ()
    if not schema.named and len(raw.names) < schema.width:
        return None, ()
    i = raw.names.index(schema.target) if schema.named else int(schema.target) - 1
    fields = raw.columns[i]
    if isinstance(fields, np.ndarray):
        return (None if np.isnan(fields).all() else fields), ()
    column = column_text(raw, i, partial(file_commas, raw))
    if not column.counts:
        return None, ()
    try:
        return target_fields(raw, column)[0], ()
    except DataError as error:
        return None, (Decision(None, f"the target is not compared: {error}"),)
