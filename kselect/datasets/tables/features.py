"""One feature of a raw table: what it is, its values, and what was decided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from kselect.datasets.tables.columns import ColumnSpec, ColumnText, Commas, Texts, read_as, unknown
from kselect.datasets.tables.decisions import Decision
from kselect.datasets.tables.kinds import Verdict, as_asked, judge, judge_categories, left_out
from kselect.datasets.tables.raw import Kind, RawTable
from kselect.datasets.tables.remarks import as_index
from kselect.grids import show_number
from kselect.numerics.linalg import Array

Asked = Literal["number", "category"]


@dataclass(frozen=True, eq=False)
class Feature:
    """A column read; without a spec it is left out."""

    spec: ColumnSpec | None
    values: Array | Texts
    decisions: tuple[Decision, ...]


def column_text(raw: RawTable, i: int, commas: Commas = unknown) -> ColumnText:
    """A column as text, whatever the file holds."""
    fields = raw.columns[i]
    if isinstance(fields, np.ndarray):
        fields = ["" if np.isnan(v) else show_number(v) for v in fields.tolist()]
    return ColumnText(raw.place, raw.names[i], fields, raw.decimal_commas, commas)


def read_feature(raw: RawTable, i: int, asked: Asked | None, commas: Commas) -> Feature:
    """What the user, the file or the fields say that it is, read so."""
    fields, kind = raw.columns[i], raw.kinds[i]
    if raw.form == "svmlight" and asked is None and isinstance(fields, np.ndarray):
        return Feature(ColumnSpec(raw.names[i], "number"), fields, ())  # what is not written is 0
    if isinstance(fields, np.ndarray) and asked != "category":
        return read_typed(raw, i, fields, kind or "number", asked)
    column = column_text(raw, i, commas)
    if asked is not None:
        verdict = as_asked(column, asked)
    elif kind == "category":
        verdict = judge_categories(column)
    else:
        verdict = judge(column)
    if verdict.spec is None:
        return Feature(None, np.empty(0), verdict.decisions)
    return without_index(raw, i, asked, verdict, read_as(verdict.spec, column))


def read_typed(raw: RawTable, i: int, values: Array, kind: Kind, asked: Asked | None) -> Feature:
    """Numbers or days that the file gives as such."""
    name = raw.names[i]
    if np.isnan(values).all():
        decisions = left_out(column_text(raw, i), "left out: it has no value in any row").decisions
        return Feature(None, np.empty(0), decisions)
    spec = ColumnSpec(name, kind, "ISO" if kind == "date" else "")
    return without_index(raw, i, asked, Verdict(spec), values)


def without_index(
    raw: RawTable, i: int, asked: Asked | None, verdict: Verdict, values: Array | Texts
) -> Feature:
    """The feature, unless it numbers the rows: svmlight has no such column, and what is asked for stays."""
    if asked is None and raw.form == "columns" and len(raw.names) > 2:
        why = as_index(raw.names[i], values, not raw.named and i == 0)
        if why is not None:
            return Feature(None, np.empty(0), (why,))
    return Feature(verdict.spec, values, verdict.decisions)
