"""Numbers as people write them in a table, and the words that stand for a missing value."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kselect.numerics.linalg import Array

MISSING = frozenset(
    {"", "NA", "N/A", "n/a", "na", "n.a.", "#N/A", "#NA", "<NA>", "NaN", "nan", "NAN", "-nan"}
    | {"NaT", "null", "NULL", "Null", "?", "\\N"}
)
# In a column of text these are values: "None" is a class of the sleep disorders.
MISSING_AMONG_NUMBERS = frozenset(
    {".", "..", "...", "-", "--", "*", "None", "none", "NONE", "missing", "Missing", "MISSING"}
)
LEADING_ZERO = re.compile(r"[+-]?0[0-9]+")
ANY_LEADING_ZERO = re.compile(r"^[+-]?0[0-9]+$", re.MULTILINE)
CURRENCY = "$\u20ac\u00a3\u00a5\u20b9"
AMOUNT = r"[-+]?[0-9][0-9.,' ]*"
MARKED = (
    ("a currency sign", re.compile(rf"[-+(]*[{CURRENCY}] ?{AMOUNT}[kKmMbB]?\)?")),
    ("a currency sign", re.compile(rf"{AMOUNT} ?[{CURRENCY}]")),
    (
        "a currency sign",
        re.compile(rf"(?:USD|EUR|GBP|CHF) ?{AMOUNT}|{AMOUNT} ?(?:USD|EUR|GBP|CHF)"),
    ),
    ("a percent sign", re.compile(rf"{AMOUNT} ?%")),
    ("an underscore", re.compile(r"[-+]?[0-9]+(?:_[0-9]+)+(?:\.[0-9]*)?")),
)
DECIMAL_COMMA = r"[-+]?[0-9]*,[0-9]+(?:[eE][-+]?[0-9]+)?"
WHOLE = r"[-+]?[0-9]+(?:[eE][-+]?[0-9]+)?"
HAS_DECIMAL_COMMA = re.compile(DECIMAL_COMMA)


@dataclass(frozen=True)
class Style:
    """A way of writing numbers other than Python's: what to look for, what to take out, what is the point."""

    text: str
    telling: re.Pattern[str]
    allowed: re.Pattern[str]
    grouping: str
    comma: bool = False

    def plain(self, field: str) -> str:
        """The field as Python writes it."""
        bare = re.sub(self.grouping, "", field) if self.grouping else field
        return bare.replace(",", ".") if self.comma else bare

    def fits(self, values: Collection[str]) -> bool:
        """Whether all values may be written so, and one surely is."""
        if not (
            any(map(self.telling.fullmatch, values)) and all(map(self.allowed.fullmatch, values))
        ):
            return False
        return all(math.isfinite(float(self.plain(value))) for value in values)


COMMA_GROUPS = r"[-+]?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]*)?"
DOT_GROUPS = r"[-+]?[0-9]{1,3}(?:\.[0-9]{3})+"
SPACED = r"[-+]?[0-9]{1,3}(?:[ '\u00a0\u202f][0-9]{3})+"
POINT = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)"
PLAIN = Style("", re.compile(""), re.compile(""), "")
THOUSANDS = Style(
    "commas between thousands", re.compile(COMMA_GROUPS), re.compile(f"{COMMA_GROUPS}|{POINT}"), ","
)
COMMAS = Style(
    "decimal commas", re.compile(DECIMAL_COMMA), re.compile(f"{DECIMAL_COMMA}|{WHOLE}"), "", True
)
GERMAN = Style(
    "dots between thousands, decimal commas",
    re.compile(f"{DOT_GROUPS}(?:,[0-9]+)?"),
    re.compile(f"{DOT_GROUPS}(?:,[0-9]+)?|{DECIMAL_COMMA}|{WHOLE}"),
    r"\.",
    True,
)
SPACES = Style(
    "spaces between thousands",
    re.compile(rf"{SPACED}(?:\.[0-9]+)?"),
    re.compile(rf"{SPACED}(?:\.[0-9]+)?|{POINT}"),
    "[ '\u00a0\u202f]",
)
SPACES_AND_COMMAS = Style(
    "spaces between thousands, decimal commas",
    re.compile(f"{SPACED},[0-9]+"),
    re.compile(f"{SPACED}(?:,[0-9]+)?|{DECIMAL_COMMA}|{WHOLE}"),
    "[ '\u00a0\u202f]",
    True,
)
# 45% is 45: every value has the sign, or the unit of those without it would be a guess.
PERCENT = Style("percent signs", re.compile(f"{POINT} ?%"), re.compile(f"{POINT} ?%"), " ?%")
PERCENT_WITH_COMMAS = Style(
    "percent signs, decimal commas",
    re.compile(f"{DECIMAL_COMMA} ?%"),
    re.compile(f"(?:{DECIMAL_COMMA}|{WHOLE}) ?%"),
    " ?%",
    True,
)
PERCENTS = (PERCENT, PERCENT_WITH_COMMAS)
STYLES = (THOUSANDS, COMMAS, GERMAN, SPACES, SPACES_AND_COMMAS, *PERCENTS)


def is_number(field: str) -> bool:
    """Whether a field reads as a number, finite or not; ``1_000`` does so for Python alone."""
    if "_" in field or not field.isascii():
        return False
    try:
        float(field)
    except ValueError:
        return False
    return True


def is_finite(field: str) -> bool:
    """Whether a field reads as a finite number."""
    return is_number(field) and math.isfinite(float(field))


def plain_numbers(fields: Sequence[str]) -> Array | None:
    """The fields as numbers if all are finite and written as Python writes them; ids as ``007`` are not."""
    try:
        values = np.array(fields, dtype=np.float64)
    except ValueError:
        return None
    joined = "\n".join(fields)
    plain = "_" not in joined and joined.isascii() and not ANY_LEADING_ZERO.search(joined)
    return values if plain and bool(np.isfinite(values).all()) else None


def numbers_in(fields: Sequence[str], style: Style, absent: Collection[str]) -> Array:
    """Each distinct field once: NaN for what is absent, else the number in that style."""
    known = {f: np.nan if f in absent else float(style.plain(f)) for f in set(fields)}
    return np.array([known[field] for field in fields], dtype=np.float64)


def styles_of(values: Collection[str], decimal_commas: bool) -> tuple[Style, ...]:
    """The styles that fit all values; decimal commas only where the delimiter is another."""
    possible = (style for style in STYLES if decimal_commas or not style.comma)
    return tuple(style for style in possible if style.fits(values))


def is_written(value: str, decimal_commas: bool) -> bool:
    """Whether a value by itself is a finite number in some style."""
    return is_finite(value) or bool(styles_of([value], decimal_commas))


def marked(values: Sequence[str], decimal_commas: bool) -> tuple[str, str] | None:
    """``('a currency sign', '12$')`` where more than half of the values are numbers with such a mark."""
    odd = [value for value in values if not is_written(value, decimal_commas)]
    for what, pattern in MARKED:
        found = [value for value in odd if pattern.fullmatch(value)]
        if 2 * len(found) > len(values):
            return what, found[0]
    return None


def whole(values: Array) -> NDArray[np.bool_]:
    """Which values are whole numbers."""
    return np.asarray(values == np.round(values))
