"""A user's table: features of known kinds and a target, and every decision that was taken on the way.

The csv module splits a text: it alone says the line of each row and how many fields it has, whereas
``pandas.read_csv`` fills short rows up without a word. A file to predict is read by the schema of the file
that was learned from, not by its own looks (``frame_like``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Literal

import numpy as np

from kselect.datasets.tables.columns import ColumnSpec, Texts, has_commas
from kselect.datasets.tables.decisions import Decision, decision_lines
from kselect.datasets.tables.features import Asked, column_text, read_feature
from kselect.datasets.tables.goal import read_target
from kselect.datasets.tables.header import is_header
from kselect.datasets.tables.opening import read_raw
from kselect.datasets.tables.raw import Form, Place, RawTable, Task
from kselect.datasets.tables.remarks import absent, remarkable, remarks, says_missing
from kselect.datasets.tables.rows import without_empty_end
from kselect.numerics.linalg import Array, Index

Missing = Literal["impute", "drop", "error"]


@dataclass(frozen=True)
class TableOptions:
    """What the user says of a table; columns are named, or numbered from 1."""

    drop: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    missing: Missing = "impute"
    task: Task | None = None


@dataclass(frozen=True)
class Schema:
    """What a further file must be like: the features in their order, and how the columns are found.

    ``target`` is the target's name, empty in svmlight; ``width`` counts all columns of the first file.
    """

    form: Form
    named: bool
    width: int
    target: str
    columns: tuple[ColumnSpec, ...]


@dataclass(frozen=True, eq=False)
class Frame:
    """Features column by column, NaN or the empty text where missing; the target as numbers or fields."""

    schema: Schema
    data: tuple[Array | Texts, ...]
    target: Sequence[str] | Array | None
    place: Place
    sha256: str
    decisions: tuple[Decision, ...]

    @property
    def columns(self) -> tuple[ColumnSpec, ...]:
        """The features."""
        return self.schema.columns

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.data[0])

    @cached_property
    def numbers(self) -> Array | None:
        """(n, columns) where all are numbers and none is missing, as in svmlight: no column needs a look alone."""
        if not all(spec.numeric for spec in self.columns):
            return None
        values = np.ascontiguousarray(np.array(self.data, dtype=np.float64).T)
        return None if np.isnan(values).any() else values

    def take(self, rows: Index) -> Frame:
        """Some of the rows."""
        target = self.target
        if isinstance(target, np.ndarray):
            target = target[rows]
        elif target is not None:
            target = [target[i] for i in rows]
        data = tuple(values[rows] for values in self.data)
        return replace(self, data=data, target=target, place=self.place.of(rows.tolist()))


@dataclass(frozen=True)
class Roles:
    """The position of the target, None for svmlight, and what is asked of each feature's position."""

    target: int | None
    features: tuple[tuple[int, Asked | None], ...]


def read_frame(path: Path, target: str | None, options: TableOptions | None = None) -> Frame:
    """The table in a file: svmlight, CSV with comma, semicolon or tab, or Parquet; packed or not."""
    options = options or TableOptions()
    raw = without_empty_end(read_raw(path, partial(is_header, target=target), target is not None))
    roles = assign(raw, target, options)
    commas = cache(partial(file_commas, raw))
    goal = read_target(raw, roles.target, commas)
    features = [read_feature(raw, i, asked, commas) for i, asked in roles.features]
    said = [d for feature in features for d in feature.decisions]
    kept = [feature for feature in features if feature.spec is not None]
    if not kept:
        why = "; ".join(decision_lines(said)) or "all are dropped"
        raise raw.place.error(f"no feature is left: {why}")
    name = "" if roles.target is None else raw.names[roles.target]
    specs = tuple(feature.spec for feature in kept if feature.spec is not None)
    schema = Schema(raw.form, raw.named, len(raw.names), name, specs)
    before = (*raw.decisions, *goal.decisions, *said)
    data = tuple(feature.values for feature in kept)
    whole = Frame(schema, data, goal.values, raw.place, raw.sha256, before)
    part = whole if len(goal.rows) == whole.n else whole.take(goal.rows)
    return remarked(treat_missing(part, options.missing))


def assign(raw: RawTable, target: str | None, options: TableOptions) -> Roles:
    """Which column is the target, and which are features; the last column is the target by default."""
    goal = find_target(raw, target)
    dropped = {raw.find(name, " to drop") for name in options.drop}
    asked: dict[int, Asked] = {}
    for flag, names in (("category", options.categorical), ("number", options.numeric)):
        for name in names:
            i = raw.find(name)
            if asked.setdefault(i, flag) != flag:  # type: ignore[arg-type]
                raise raw.place.error(
                    f"column {raw.names[i]} is asked to be categorical and numeric"
                )
    if goal is not None and goal in dropped | set(asked):
        raise raw.place.error(f"column {raw.names[goal]} is the target: it is no feature")
    for i in dropped & set(asked):
        raise raw.place.error(
            f"column {raw.names[i]} is dropped: it is neither categorical nor numeric"
        )
    features = (i for i in range(len(raw.names)) if i != goal and i not in dropped)
    return Roles(goal, tuple((i, asked.get(i)) for i in features))


def find_target(raw: RawTable, target: str | None) -> int | None:
    """The position of the target; none in svmlight, where it stands first in each line."""
    if raw.form == "svmlight":
        if target is not None:
            raise raw.place.error(
                f"svmlight begins each line with its target: no column {target!r}"
            )
        return None
    if len(raw.names) < 2:
        raise raw.place.error("one column only; a target and a feature are needed")
    return len(raw.names) - 1 if target is None else raw.find(target, " for the target")


def file_commas(raw: RawTable) -> bool | None:
    """Whether the file has decimal commas; where commas separate its columns it has none."""
    if not raw.decimal_commas:
        return False
    return has_commas([column_text(raw, i) for i in range(len(raw.names))])


def treat_missing(frame: Frame, missing: Missing) -> Frame:
    """Missing values stay (and are said), or their rows go, or the first is an error."""
    if missing == "impute":
        if frame.numbers is not None:
            return frame
        said = map(says_missing, frame.columns, frame.data)
        return with_decisions(frame, [d for d in said if d is not None])
    gaps = [absent(values) for values in frame.data]
    rows = np.flatnonzero(np.any(gaps, axis=0))
    if not len(rows):
        return frame
    if missing == "error":
        name = next(s.name for s, gap in zip(frame.columns, gaps, strict=True) if gap[rows[0]])
        raise frame.place.error(f"column {name}: is missing", int(rows[0]))
    if len(rows) == frame.n:
        raise frame.place.error("every row has a missing value: nothing is left")
    text = f"{len(rows)} of {frame.n} rows left out: a value is missing"
    kept = frame.take(np.setdiff1d(np.arange(frame.n), rows))
    return with_decisions(kept, [Decision(None, text)])


def remarked(frame: Frame) -> Frame:
    """With what is to be said of the columns that are kept."""
    looked_at: Iterable[int] = range(len(frame.columns))
    if frame.numbers is not None:
        looked_at = remarkable(frame.numbers, frame.target).tolist()
    said = [remarks(frame.columns[i], frame.data[i], frame.target) for i in looked_at]
    return with_decisions(frame, [d for found in said for d in found])


def with_decisions(frame: Frame, more: Sequence[Decision]) -> Frame:
    """With further decisions at the end."""
    return replace(frame, decisions=(*frame.decisions, *more))
