"""Infer what each column of a raw table is (numbers, dates, categories, or nothing to learn from), and read it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kselect.datasets.table.plain_fields import PlainColumn
from kselect.datasets.table.raw_table import (
    ColumnSpec,
    FilePlace,
    RawTable,
    ReadingDecision,
    Texts,
)
from kselect.datasets.table.written_values import (
    ANY_LEADING_ZERO,
    GERMAN,
    HAS_DECIMAL_COMMA,
    LEADING_ZERO,
    MARKED,
    MISSING,
    MISSING_AMONG_NUMBERS,
    PLAIN,
    THOUSANDS,
    TIME,
    AmbiguousDates,
    Style,
    as_days,
    common_unit,
    find_form,
    is_finite,
    is_number,
    is_written,
    styles_of,
    without_unit,
)
from kselect.errors import DataError
from kselect.grids import show_number
from kselect.numerics.linalg import Array

SHOWN = 40
FEW_VALUES = 20
FEW_TEXTS = 10
FEW_WORDS = 5
STRAY = 0.1
# Codes such as a family 136A between 136 and 137, or a station c168, are names, not measurements. Before
# digits, an O, l or I is a mistyped 0 or 1; after them, other letters may be a unit.
CODE = re.compile("[0-9]+[A-Da-d]|[A-HJ-NP-Za-kmnp-z][0-9]+")
DIGITS = re.compile("[0-9]+")
EMPTY = "dropped: it has no value in any row"
OWN_TEXT = "dropped: nearly every row has a text of its own; keep it with --categorical COLUMN"

Commas = Callable[[], bool | None]


@dataclass(frozen=True, eq=False)
class ColumnText:
    """One column of a file as text. ``commas`` tells, if asked, whether other columns have decimal commas."""

    place: FilePlace
    name: str
    fields: Sequence[str]
    decimal_commas: bool = False
    commas: Commas = lambda: None

    @cached_property
    def plain(self) -> Array | None:
        """The fields as numbers if all are finite and written as in Python; ids such as ``007`` are not.

        This is fast, and true of most columns.
        """
        if isinstance(self.fields, PlainColumn):
            return self.fields.values
        try:
            values = np.array(self.fields, dtype=np.float64)
        except ValueError:
            return None
        joined = "\n".join(self.fields)
        plain = "_" not in joined and joined.isascii() and not ANY_LEADING_ZERO.search(joined)
        return values if plain and bool(np.isfinite(values).all()) else None

    @cached_property
    def counts(self) -> Counter[str]:
        """The distinct values that are not missing, and how often each occurs."""
        found = Counter(self.fields)
        return Counter({value: times for value, times in found.items() if value not in MISSING})

    @cached_property
    def has_groups(self) -> bool:
        """Whether the first dot of plain numbers may separate thousands."""
        if not self.decimal_commas:
            return False
        return GERMAN.telling.fullmatch(self.first_dotted) is not None

    @property
    def first_dotted(self) -> str:
        """The first field with a dot, empty if no field has one."""
        if isinstance(self.fields, PlainColumn):
            return self.fields.grid.first_dotted(self.fields.position)
        return next((field for field in self.fields if "." in field), "")

    def error(self, what: str, value: str | None = None) -> DataError:
        """Return an error with the line of the first such value, the column, and what is wrong."""
        row = None if value is None else list(self.fields).index(value)
        return self.place.error(f"column {self.name}: {what}", row)


@dataclass(frozen=True, eq=False)
class Feature:
    """A column: its spec (None if it is dropped), the decisions about it, and its values once it is read."""

    spec: ColumnSpec | None
    decisions: tuple[ReadingDecision, ...] = ()
    values: Array | Texts = field(default_factory=lambda: np.empty(0))


def shown(value: str) -> str:
    """Return a value in quotes on one line, shortened if it is long."""
    return repr(value if len(value) <= SHOWN else f"{value[: SHOWN - 3]}...")


def absent(values: Array | Texts) -> NDArray[np.bool_]:
    """Return which rows are missing."""
    return np.asarray(
        values == "" if values.dtype == object else np.isnan(values.astype(float, copy=False))
    )


def column_text(raw: RawTable, i: int, commas: Commas = lambda: None) -> ColumnText:
    """Return a column as text; numbers of Parquet or svmlight are written out."""
    fields = raw.columns[i]
    if isinstance(fields, np.ndarray):
        fields = ["" if np.isnan(v) else show_number(v) for v in fields.tolist()]
    return ColumnText(raw.place, raw.names[i], fields, raw.decimal_commas, commas)


# --- how the numbers of a column are written ----------------------------------------------------------


def number_style(column: ColumnText, zeros: bool = False) -> Style | None:
    """Return how the numbers are written, None if a value is not a number; ``zeros`` accepts 007 as a number."""
    if column.plain is not None and not column.has_groups:
        return PLAIN
    values = [value for value in column.counts if value not in MISSING_AMONG_NUMBERS]
    if not values:
        return None
    if all(map(is_finite, values)) and (zeros or not any(map(LEADING_ZERO.fullmatch, values))):
        groups = column.decimal_commas and GERMAN.fits(values)
        return GERMAN if groups and column.commas() else PLAIN
    styles = styles_of(values, column.decimal_commas)
    if not styles and (unit := common_unit(values)):
        bare = [without_unit(field, unit) for field in column.fields]
        style = number_style(replace(column, fields=bare), zeros)
        return None if style is None else style.with_unit(unit)
    if len(styles) < 2:
        return styles[0] if styles else None
    commas = column.commas()
    if commas is None:
        bad = next(value for value in values if THOUSANDS.telling.fullmatch(value))
        point, none = bad.replace(",", ".", 1), bad.replace(",", "")
        raise column.error(f"{shown(bad)} is ambiguous: write {none} or {point}", bad)
    return next(style for style in styles if style.comma is commas)


def file_commas(raw: RawTable) -> bool | None:
    """Return whether a file has decimal commas, None if its unambiguous columns do not agree."""
    if not raw.decimal_commas:  # commas separate its columns
        return False
    columns = (column_text(raw, i) for i in range(len(raw.names)))
    found = {says for column in columns if (says := says_commas(column)) is not None}
    return found.pop() if len(found) == 1 else None


def says_commas(column: ColumnText) -> bool | None:
    """Return True for ``1,5``, False for ``1.5``, None for ``1,234``, ``1.234`` and anything else."""
    if column.plain is not None and not column.has_groups:
        return False if column.first_dotted else None
    values = list(column.counts)
    if all(map(is_finite, values)):
        return False if any("." in v for v in values) and not GERMAN.fits(values) else None
    styles = styles_of(values, True)
    return styles[0].comma if len(styles) == 1 and "," in "".join(values) else None


def not_plain(column: ColumnText) -> list[str]:
    """Return the values that Python does not read as finite numbers."""
    present = (value for value in column.counts if value not in MISSING_AMONG_NUMBERS)
    return [value for value in present if not is_finite(value)]


# --- reading a column of a known kind -----------------------------------------------------------------


def read_as(spec: ColumnSpec, column: ColumnText) -> Array | Texts:
    """Return numbers with NaN, or texts with the empty string, for missing values."""
    if spec.kind == "number":
        style = number_style(column, True)
        if style is None:
            if not set(column.counts) - MISSING_AMONG_NUMBERS:
                return np.full(len(column.fields), np.nan)
            bad = sorted(not_plain(column), key=lambda v: is_written(v, column.decimal_commas))[0]
            raise column.error(f"{shown(bad)} is not a finite number", bad)
        if style.unit != spec.form:
            has = f"has the unit {style.unit}" if style.unit else "has no unit"
            of = f", not the unit {spec.form} of the training data" if spec.form else ""
            raise column.error(f"{shown(next(iter(column.counts)))} {has}{of}")
        if style is PLAIN and column.plain is not None:
            return column.plain
        gone = MISSING | MISSING_AMONG_NUMBERS
        numbers = {f: np.nan if f in gone else float(style.plain(f)) for f in set(column.fields)}
        return np.array([numbers[field] for field in column.fields], dtype=np.float64)
    if spec.kind == "date":
        days = {value: as_days(value, spec.form) for value in column.counts}
        for value, day in days.items():
            if day is None:
                what = f"a {TIME}" if spec.form == TIME else f"a date of the form {spec.form}"
                raise column.error(f"{shown(value)} is not {what}", value)
        return np.array([days.get(field, np.nan) for field in column.fields], dtype=np.float64)
    write = canonical if spec.kind == "code" else str
    known = {value: write(value) for value in column.counts}
    values = np.empty(len(column.fields), dtype=object)
    values[:] = [known.get(field, "") for field in column.fields]
    return values


def canonical(value: str) -> str:
    """Return ``3`` for ``3.0`` and ``3``: pandas writes the former if a value of the column is missing."""
    return show_number(float(value)) if is_finite(value) else value


# --- inferring the kind of a column -------------------------------------------------------------------


def infer_column(column: ColumnText) -> Feature:
    """Return what the fields look like."""
    if column.plain is None and not column.counts:
        return dropped(column.name, EMPTY)
    style = number_style(column)
    if style is None:
        return infer_dates(column) or infer_words(column)
    plain = style is PLAIN and column.plain is not None
    words = [] if plain else sorted(MISSING_AMONG_NUMBERS.intersection(column.fields))
    texts = [f"written with {style.text}"] if style is not PLAIN else []
    texts += [f"{', '.join(map(shown, words))} read as missing"] if words else []
    decisions = tuple(ReadingDecision(column.name, text) for text in texts)
    return Feature(ColumnSpec(column.name, "number", style.unit), decisions)


def dropped(name: str, text: str, detail: str = "") -> Feature:
    """Return that there is nothing to learn from a column, and why."""
    return Feature(None, (ReadingDecision(name, text, detail),))


def infer_dates(column: ColumnText) -> Feature | None:
    """Read dates as days: they have an order, and a kernel needs distances."""
    try:
        form = find_form(list(column.counts))
    except AmbiguousDates as error:
        value, drop = str(error), f"or --drop {column.name}"
        what = "may have the day first or the month first: write 2004-12-31"
        raise column.error(f"{shown(value)} {what}, {drop}", value) from None
    if form is None:
        return None
    text = "dates, read as days since 1970-01-01; drop it with --drop COLUMN"
    decision = ReadingDecision(column.name, text, f"form {form}")
    if form == TIME:
        text = "times of day, read as the share of the day before them; drop it with --drop COLUMN"
        decision = ReadingDecision(column.name, text)
    return Feature(ColumnSpec(column.name, "date", form), (decision,))


def infer_words(column: ColumnText) -> Feature:
    """Read words as categories; refuse numbers with signs or stray words, and drop values that hardly repeat."""
    refuse_marked(column)
    words = {v: n for v, n in column.counts.items() if not is_written(v, column.decimal_commas)}
    if words and is_stray(column, words):
        rows, word = sum(column.counts.values()), next(iter(words))
        raise column.error(
            f"{shown(word)} is not a finite number, but {rows - sum(words.values())} of {rows} values are; "
            f"--categorical {column.name} reads all as categories, --drop {column.name} drops them",
            word,
        )
    if not words and not any(map(LEADING_ZERO.fullmatch, column.counts)):
        odd = not_plain(column)[0]
        raise column.error(f"{shown(odd)} is not written as the other numbers are", odd)
    found = infer_categories(column)
    if found.spec is None or len(words) == len(column.counts):
        return found
    text = "leading zeros: read as text; read numbers with --numeric COLUMN"
    if words:
        text = f"words among numbers ({shown(next(iter(words)))}): all are read as text"
    return Feature(found.spec, (ReadingDecision(column.name, text),))


def infer_text(column: ColumnText) -> Feature:
    """Return what the text of a file with types is: dates, times of day, numbers with a unit, else categories."""
    values = list(column.counts)
    try:
        dates = bool(values) and find_form(values) is not None
    except AmbiguousDates:
        dates = False
    if dates or (common_unit(values) and number_style(column)):
        return infer_column(column)
    return infer_categories(column)


def infer_categories(column: ColumnText) -> Feature:
    """Read texts as categories, unless (nearly) every row has its own: a name, a code, a remark."""
    distinct, rows = len(column.counts), sum(column.counts.values())
    if distinct > max(FEW_TEXTS, rows // 2):
        return dropped(column.name, OWN_TEXT, f"{distinct} texts in {rows} rows")
    return Feature(ColumnSpec(column.name, "category"))


def is_stray(column: ColumnText, words: Counter[str] | dict[str, int]) -> bool:
    """Return whether words among numbers are slips or marks (``<0.5``, ``n.d.``), not a scale or codes.

    A scale (``1``, ``2``, ``3+``) has few values. Codes (``A12``, ``77``) have many different words, or consist of
    digits and one letter (``136A``).
    """
    rows, n_words = sum(column.counts.values()), sum(words.values())
    if 2 * n_words > rows:
        return False
    if any(map(is_number, words)):  # infinity is no class
        return True
    numbers = (value for value in column.counts if value not in words)
    if all(map(CODE.fullmatch, words)) and all(map(DIGITS.fullmatch, numbers)):
        return False
    if len(column.counts) <= min(FEW_VALUES, rows // 5):
        return False
    if n_words < max(FEW_WORDS, STRAY * rows):
        return True
    return len(words) <= FEW_WORDS and len(column.counts) - len(words) > FEW_VALUES


def refuse_marked(column: ColumnText) -> None:
    """Refuse amounts of money and the like, and decimal commas in a file that does not have them."""
    ways = f"write plain numbers, or --drop {column.name}"
    values = list(column.counts)
    odd = [value for value in values if not is_written(value, column.decimal_commas)]
    for what, pattern in MARKED:
        found = [value for value in odd if pattern.fullmatch(value)]
        if 2 * len(found) > len(values):
            raise column.error(f"{shown(found[0])} has {what}: {ways}", found[0])
    commas = [v for v in values if HAS_DECIMAL_COMMA.fullmatch(v)]
    if not column.decimal_commas and 2 * len(commas) > len(values):
        what = "has a decimal comma, which is read only from Excel and between semicolons or tabs"
        raise column.error(f"{shown(commas[0])} {what}: {ways}", commas[0])
