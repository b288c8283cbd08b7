"""Read a further file, such as one to predict, with the schema of the file that a model was learned from."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path

import numpy as np

from kselect.datasets.content import UnpackedFile
from kselect.datasets.table.arrow import read_table_at
from kselect.datasets.table.assignment import weights_of
from kselect.datasets.table.column_inference import Commas, column_text, file_commas, read_as
from kselect.datasets.table.frames import gaps_of
from kselect.datasets.table.raw_table import (
    ColumnSpec,
    Fields,
    Frame,
    RawTable,
    ReadingDecision,
    Schema,
    Texts,
    read_labelled,
)
from kselect.datasets.table.read import one_line, read_raw, without_empty_end
from kselect.datasets.table.target import target_fields
from kselect.errors import DataError, printable, quoted
from kselect.numerics.linalg import Array

NAMES_SHOWN = 5


def read_like(path: Path, schema: Schema) -> Frame:
    """Read the rows of a file in the columns of a schema, and its target if it has one.

    The names in the header line tell the columns, in any order; other columns are ignored. Without a header line
    the positions do, and the target may be absent. Missing values stay: the preparation fills them in.
    """
    return frame_of(read_table_at(path, partial(raw_like, schema=schema)), schema)


def read_identified(path: Path, schema: Schema, column: str) -> tuple[Frame, Sequence[str]]:
    """Read the same, and one more column as text, which identifies the rows."""
    raw = read_table_at(path, partial(raw_like, schema=schema))
    if raw.form != "columns":
        raise raw.place.error(f"svmlight has no column {column!r}")
    return frame_of(raw, schema), column_text(raw, raw.find(column, " for --id")).fields


def read_weighted(path: Path, schema: Schema, column: str) -> tuple[Frame, Array]:
    """Read the same, and one more column with the weights of the rows."""
    raw = read_table_at(path, partial(raw_like, schema=schema))
    if raw.form != "columns":
        raise raw.place.error(f"svmlight has no column {column!r}")
    i = raw.find(column, " for --weights")
    return frame_of(raw, schema), weights_of(raw, i, cache(partial(file_commas, raw)))


def raw_like(file: UnpackedFile, schema: Schema) -> RawTable:
    """Return the columns of a further file as text; refuse a file of another form."""
    if schema.form != "columns":
        return read_labelled(file, schema.form, schema.width)
    known = {name.casefold() for name in (*(s.name for s in schema.columns), *schema.targets)}

    def has_names(rows: Sequence[Sequence[str]]) -> bool:
        return schema.named and any(one_line(field).casefold() in known for field in rows[0])

    raw = read_raw(file, has_names, columns=True)
    if raw.form != "columns":
        raise raw.place.error("svmlight, but the model has learned from columns")
    if not schema.named and len(raw.names) > schema.width:
        raw = without_empty_end(raw)
    return raw


def frame_of(raw: RawTable, schema: Schema) -> Frame:
    """Return the features of a schema, and the target if it is there."""
    data = read_data(raw, schema)
    if schema.form != "columns":
        labels = () if raw.labels is None else (raw.labels,)
        return Frame(schema, data, labels, raw.place, raw.sha256, ())
    targets, why = optional_targets(raw, schema)
    frame = Frame(schema, data, targets, raw.place, raw.sha256, raw.decisions, no_target=why)
    text = f"predictions are not compared with the target{why}"
    return frame.with_decisions([*gaps_of(frame), *([ReadingDecision(None, text)] if why else [])])


def read_data(raw: RawTable, schema: Schema) -> tuple[Array | Texts, ...]:
    """Read the features of a schema."""
    commas = cache(partial(file_commas, raw))
    positions = by_name(raw, schema) if schema.named else by_position(raw, schema)
    pairs = zip(schema.columns, positions, strict=True)
    return tuple(read_known(raw, spec, i, commas) for spec, i in pairs)


def by_name(raw: RawTable, schema: Schema) -> list[int]:
    """Return where the columns are; refuse a file that lacks one."""
    names = [spec.name for spec in schema.columns]
    lacking = [name for name in names if name not in raw.names]
    more = len(lacking) - NAMES_SHOWN
    listed = ", ".join(map(repr, lacking[:NAMES_SHOWN])) + (f" and {more} more" if more > 0 else "")
    alike = other_case(lacking, raw, schema)
    if len(lacking) == len(names) and not alike:
        raise raw.place.error(f"no header line with the columns of the model: {listed}")
    if lacking:
        column = "column" if len(lacking) == 1 else "columns"
        raise raw.place.error(f"without the {column} {listed}, which the model needs{alike}")
    return [raw.names.index(name) for name in names]


def other_case(lacking: Sequence[str], raw: RawTable, schema: Schema) -> str:
    """Return a hint at a column of the file whose name differs from one that is lacking in case only."""
    used = {*schema.targets, *(spec.name for spec in schema.columns)}
    folded = {name.casefold(): name for name in raw.names if name not in used}
    for name in lacking:
        if found := folded.get(name.casefold()):
            return f"; rename {quoted(found)}, which differs from {quoted(name)} in case only"
    return ""


def by_position(raw: RawTable, schema: Schema) -> list[int]:
    """Return where the columns are in a file without a header line, which may lack the target."""
    found, width = len(raw.names), schema.width
    positions = [int(spec.name) - 1 for spec in schema.columns]
    if found == width:
        return positions
    goals = [int(name) - 1 for name in schema.targets]
    if found == width - len(goals) and schema.form == "columns":
        return [i - sum(i > goal for goal in goals) for i in positions]
    without = f"{width - len(goals)} without the target{'' if len(goals) == 1 else 's'}"
    raise raw.place.error(f"{found} columns; the model has learned from {width}, or {without}")


def read_known(raw: RawTable, spec: ColumnSpec, i: int, commas: Commas) -> Array | Texts:
    """Read a feature of a known kind; refuse a file that states another kind."""
    fields = raw.columns[i]
    if isinstance(fields, np.ndarray) and "date" in {raw.kinds[i], spec.kind}:
        if raw.kinds[i] != spec.kind:
            raise raw.place.error(f"column {spec.name}: dates in one file, numbers in the other")
        return fields
    if isinstance(fields, np.ndarray) and spec.numeric:
        if spec.kind == "number" and spec.form:
            raise raw.place.error(f"column {spec.name}: numbers without the unit {spec.form}")
        return fields
    try:
        return read_as(spec, column_text(raw, i, commas))
    except DataError as error:
        if spec.kind != "number" or spec.form:
            raise
        way = f"kselect fit --categorical {printable(spec.name)} reads them as categories"
        raise DataError(
            f"{error}, but the training data has numbers in this column; {way}"
        ) from None


def optional_targets(raw: RawTable, schema: Schema) -> tuple[tuple[Fields, ...], str]:
    """Return the targets if the file has readable ones, since a prediction does not need them; else the cause."""
    if not schema.named and len(raw.names) < schema.width:
        return (), ""
    found: list[Fields | None] = []
    for name in schema.targets:
        try:
            found.append(known_target(raw, name, schema.named))
        except DataError as error:
            return (), f": {error}"
    if all(fields is None for fields in found):
        return (), other_case(schema.targets, raw, schema) if schema.named else ""
    unknown = [""] * len(raw.columns[0])
    return tuple(unknown if fields is None else fields for fields in found), ""


def known_target(raw: RawTable, name: str, named: bool) -> Fields | None:
    """Return the target of a name; None if the file lacks it, or if no row has a value."""
    if named and name not in raw.names:
        return None
    i = raw.names.index(name) if named else int(name) - 1
    fields = raw.columns[i]
    if isinstance(fields, np.ndarray):
        return None if np.isnan(fields).all() else fields
    column = column_text(raw, i, partial(file_commas, raw))
    return target_fields(column)[0] if column.counts else None
