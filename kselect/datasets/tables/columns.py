"""The fields of one column read as a kind that is known: numbers, days, or categories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kselect.datasets.tables.dates import as_days
from kselect.datasets.tables.raw import Kind, Place
from kselect.datasets.tables.written_numbers import (
    GERMAN,
    LEADING_ZERO,
    MISSING,
    MISSING_AMONG_NUMBERS,
    PLAIN,
    THOUSANDS,
    Style,
    is_finite,
    is_written,
    numbers_in,
    plain_numbers,
    styles_of,
)
from kselect.errors import DataError
from kselect.grids import show_number
from kselect.numerics.linalg import Array

SHOWN = 40
Texts = NDArray[np.object_]


@dataclass(frozen=True)
class ColumnSpec:
    """A feature as its file writes it: a ``code`` is a category of numbers; ``form`` is that of a date."""

    name: str
    kind: Kind
    form: str = ""

    @property
    def numeric(self) -> bool:
        """Whether its values are numbers to compute with."""
        return self.kind in ("number", "date")


Commas = Callable[[], bool | None]


def unknown() -> None:
    """Nothing is known of other columns."""


@dataclass(frozen=True, eq=False)
class ColumnText:
    """One column of a file. ``commas`` answers whether other columns there have decimal commas, if asked."""

    place: Place
    name: str
    fields: Sequence[str]
    decimal_commas: bool = False
    commas: Commas = unknown

    @cached_property
    def plain(self) -> Array | None:
        """The fields as numbers where all of them are, plainly written; most columns are, and this is fast."""
        return plain_numbers(self.fields)

    @cached_property
    def counts(self) -> Counter[str]:
        """The distinct values that are not missing, and how often each occurs."""
        found = Counter(self.fields)
        return Counter({value: times for value, times in found.items() if value not in MISSING})

    def error(self, what: str, value: str | None = None) -> DataError:
        """The line of the first such value, the column, and what is wrong."""
        row = None if value is None else list(self.fields).index(value)
        return self.place.error(f"column {self.name}: {what}", row)


def shown(value: str) -> str:
    """A value in quotes on one line, cut where it is long."""
    return repr(value if len(value) <= SHOWN else f"{value[: SHOWN - 3]}...")


def read_as(spec: ColumnSpec, column: ColumnText) -> Array | Texts:
    """Numbers with NaN, or texts with the empty string, for what is missing."""
    if spec.kind == "number":
        return read_numbers(column)
    if spec.kind == "date":
        return read_days(column, spec.form)
    return read_texts(column, canonical if spec.kind == "code" else str)


def read_numbers(column: ColumnText) -> Array:
    """The numbers, or an error with the first field that is none."""
    style = number_style(column, True)
    if style is None and not set(column.counts) - MISSING_AMONG_NUMBERS:
        return np.full(len(column.fields), np.nan)
    if style is None:
        bad = sorted(not_plain(column), key=lambda v: is_written(v, column.decimal_commas))[0]
        raise column.error(f"{shown(bad)} is not a finite number", bad)
    if style is PLAIN and column.plain is not None:
        return column.plain
    return numbers_in(column.fields, style, MISSING | MISSING_AMONG_NUMBERS)


def not_plain(column: ColumnText) -> list[str]:
    """The values that Python does not read as finite numbers."""
    present = (value for value in column.counts if value not in MISSING_AMONG_NUMBERS)
    return [value for value in present if not is_finite(value)]


def number_style(column: ColumnText, zeros: bool = False) -> Style | None:
    """How the numbers are written, None if some value is no number; ``zeros``: 007 is one too."""
    if column.plain is not None and not has_groups(column):
        return PLAIN
    values = [value for value in column.counts if value not in MISSING_AMONG_NUMBERS]
    if not values:
        return None
    if all(map(is_finite, values)) and (zeros or not any(map(LEADING_ZERO.fullmatch, values))):
        groups = column.decimal_commas and GERMAN.fits(values)
        return GERMAN if groups and column.commas() else PLAIN
    styles = styles_of(values, column.decimal_commas)
    if len(styles) < 2:
        return styles[0] if styles else None
    commas = column.commas()
    if commas is None:
        bad = next(value for value in values if THOUSANDS.telling.fullmatch(value))
        point, none = bad.replace(",", ".", 1), bad.replace(",", "")
        raise column.error(f"{shown(bad)} may be {none} or {point}: write it so", bad)
    return next(style for style in styles if style.comma is commas)


def has_groups(column: ColumnText) -> bool:
    """Whether the first dot of plain numbers may stand between thousands."""
    if not column.decimal_commas:
        return False
    dotted = next((field for field in column.fields if "." in field), "")
    return GERMAN.telling.fullmatch(dotted) is not None


def has_commas(columns: Collection[ColumnText]) -> bool | None:
    """Whether the file has decimal commas: what its unambiguous columns say, None if they do not agree."""
    said = {said for column in columns if (said := says_commas(column)) is not None}
    return said.pop() if len(said) == 1 else None


def says_commas(column: ColumnText) -> bool | None:
    """True for ``1,5``, False for ``1.5``, None for ``1,234``, ``1.234`` and anything else."""
    if column.plain is not None and not has_groups(column):
        return False if any("." in field for field in column.fields) else None
    values = list(column.counts)
    if all(map(is_finite, values)):
        return False if any("." in v for v in values) and not GERMAN.fits(values) else None
    styles = styles_of(values, True)
    return styles[0].comma if len(styles) == 1 and "," in "".join(values) else None


def read_days(column: ColumnText, form: str) -> Array:
    """The dates as days, or an error with the first that is none of that form."""
    days = {value: as_days(value, form) for value in column.counts}
    for value, day in days.items():
        if day is None:
            raise column.error(f"{shown(value)} is not a date of the form {form}", value)
    return np.array([days.get(field, np.nan) for field in column.fields], dtype=np.float64)


def read_texts(column: ColumnText, write: Any) -> Texts:
    """The values as texts, the empty one for what is missing."""
    known = {value: write(value) for value in column.counts}
    values = np.empty(len(column.fields), dtype=object)
    values[:] = [known.get(field, "") for field in column.fields]
    return values


def canonical(value: str) -> str:
    """``3.0`` and ``3`` are one category: pandas writes the former where a value is missing."""
    return show_number(float(value)) if is_finite(value) else value
