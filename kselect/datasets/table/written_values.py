"""Numbers and dates as people write them in a table, and the words that stand for a missing value."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta

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
CODES = "(?:USD|EUR|GBP|CHF)"
AMOUNT = r"[-+]?[0-9][0-9.,' ]*"
MARKED = (
    ("a currency sign", re.compile(rf"[-+(]*[{CURRENCY}] ?{AMOUNT}[kKmMbB]?\)?")),
    ("a currency sign", re.compile(rf"{AMOUNT} ?[{CURRENCY}]")),
    ("a currency sign", re.compile(rf"{CODES} ?{AMOUNT}|{AMOUNT} ?{CODES}")),
    ("a percent sign", re.compile(rf"{AMOUNT} ?%")),
    ("an underscore", re.compile(r"[-+]?[0-9]+(?:_[0-9]+)+(?:\.[0-9]*)?")),
)


@dataclass(frozen=True)
class Style:
    """A way of writing numbers other than Python's.

    ``telling`` matches what is surely written in this way, ``allowed`` everything that may be. ``grouping`` is
    taken out, and ``comma`` says that the comma is the decimal point. ``unit`` follows every number.
    """

    text: str
    telling: re.Pattern[str]
    allowed: re.Pattern[str]
    grouping: str
    comma: bool = False
    unit: str = ""

    def plain(self, field: str) -> str:
        """Return the field as Python writes it."""
        bare = without_unit(field, self.unit)
        bare = re.sub(self.grouping, "", bare) if self.grouping else bare
        return bare.replace(",", ".") if self.comma else bare

    def fits(self, values: Collection[str]) -> bool:
        """Return whether all values may be written in this way, and at least one surely is."""
        if not (
            any(map(self.telling.fullmatch, values)) and all(map(self.allowed.fullmatch, values))
        ):
            return False
        return all(math.isfinite(float(self.plain(value))) for value in values)

    def with_unit(self, unit: str) -> Style:
        """Return the style of the same numbers, each followed by a unit."""
        text = ", ".join(filter(None, (self.text, f"the unit {unit}")))
        return replace(self, text=text, unit=unit)


def make_style(text: str, telling: str, more: str, grouping: str, comma: bool = False) -> Style:
    """Return a style of numbers that are written like ``telling`` or like ``more``."""
    allowed = f"{telling}|{more}" if more else telling
    return Style(text, re.compile(telling), re.compile(allowed), grouping, comma)


DECIMAL_COMMA = r"[-+]?[0-9]*,[0-9]+(?:[eE][-+]?[0-9]+)?"
HAS_DECIMAL_COMMA = re.compile(DECIMAL_COMMA)
WHOLE = r"[-+]?[0-9]+(?:[eE][-+]?[0-9]+)?"
POINT = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)"
# No thousands begin with a zero: 0,126 has a decimal comma.
COMMA_GROUPS = r"[-+]?[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]*)?"
DOT_GROUPS = r"[-+]?[1-9][0-9]{0,2}(?:\.[0-9]{3})+"
SPACE = "[ '\u00a0\u202f]"
SPACED = rf"[-+]?[0-9]{{1,3}}(?:{SPACE}[0-9]{{3}})+"
COMMA_OR_WHOLE = f"{DECIMAL_COMMA}|{WHOLE}"
PLAIN = make_style("", "", "", "")
THOUSANDS = make_style("commas between thousands", COMMA_GROUPS, POINT, ",")
COMMAS = make_style("decimal commas", DECIMAL_COMMA, WHOLE, "", True)
GERMAN = make_style(
    "dots between thousands, decimal commas", f"{DOT_GROUPS}(?:,[0-9]+)?", COMMA_OR_WHOLE, r"\.", True
)  # fmt: skip
SPACES = make_style("spaces between thousands", rf"{SPACED}(?:\.[0-9]+)?", POINT, SPACE)
SPACES_AND_COMMAS = make_style(
    "spaces between thousands, decimal commas", f"{SPACED},[0-9]+", f"{SPACED}|{COMMA_OR_WHOLE}", SPACE, True
)  # fmt: skip
# 45% is read as 45 only if every value has the sign: otherwise the unit of the others would be a guess.
PERCENT = make_style("percent signs", f"{POINT} ?%", "", " ?%")
PERCENT_WITH_COMMAS = make_style(
    "percent signs, decimal commas", f"{DECIMAL_COMMA} ?%", f"{WHOLE} ?%", " ?%", True
)
STYLES = (THOUSANDS, COMMAS, GERMAN, SPACES, SPACES_AND_COMMAS, PERCENT, PERCENT_WITH_COMMAS)


def is_number(field: str) -> bool:
    """Return whether a field reads as a number, finite or not; ``1_000`` does so only in Python."""
    if "_" in field or not field.isascii():
        return False
    try:
        float(field)
    except ValueError:
        return False
    return True


def is_finite(field: str) -> bool:
    """Return whether a field reads as a finite number."""
    return is_number(field) and math.isfinite(float(field))


def styles_of(values: Collection[str], decimal_commas: bool) -> tuple[Style, ...]:
    """Return the styles that fit all values; decimal commas only if the delimiter is not a comma."""
    possible = (style for style in STYLES if decimal_commas or not style.comma)
    return tuple(style for style in possible if style.fits(values))


def is_written(value: str, decimal_commas: bool) -> bool:
    """Return whether a single value is a finite number in some style."""
    return is_finite(value) or bool(styles_of([value], decimal_commas))


# --- units --------------------------------------------------------------------------------------------------

# A unit follows a space, or else has two letters, so that the code 136A stays a code.
LETTER = "A-Za-z\u00b5\u03bc\u00b0\u03a9"
UNIT = re.compile(
    rf"[-+]?[0-9.,' ]*[0-9](?: (?P<apart>[{LETTER}][{LETTER}0-9/^\u00b2\u00b3]{{0,15}})"
    rf"|(?P<close>[{LETTER}][{LETTER}/][{LETTER}0-9/^\u00b2\u00b3]{{0,14}}|[ghklmsGJKLMNVW][23\u00b2\u00b3]?))"
)


def common_unit(values: Collection[str]) -> str:
    """Return the unit that follows the number in every value, empty if they have none in common.

    Currencies do not count as units: an amount may be written in several ways.
    """
    found = {
        (match["apart"] or match["close"]) if (match := UNIT.fullmatch(v)) else "" for v in values
    }
    if len(found) != 1 or not (unit := found.pop()) or re.fullmatch(CODES, unit):
        return ""
    try:
        return unit if find_form(values) is None else ""
    except AmbiguousDates:
        return ""


def without_unit(field: str, unit: str) -> str:
    """Return a number without the unit after it."""
    return field.removesuffix(unit).rstrip() if unit else field


# --- dates and times as days since 1970-01-01, with the time of day as a fraction -----------------------------

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ISO = re.compile(
    r"\d{4}([-/])\d{2}(?:\1\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?)?"
)
CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.\d+)?)?")
TIME = "time of day"
QUARTER = re.compile(r"(\d{4})[ -]?[Qq]([1-4])")
WEEK = re.compile(r"(\d{4})[ -]?[Ww](\d{2})")
TIMES = ("", " %H:%M", " %H:%M:%S")
# strptime's words for the forms, which messages show; two that differ only in the order of day and
# month follow each other.
DAY_FIRST, MONTH_FIRST = "%d/%m/%Y", "%m/%d/%Y"
WRITTEN = (
    *(f"%d.%m.%Y{time}" for time in TIMES),
    *(f"{order}{time}" for time in TIMES for order in (DAY_FIRST, MONTH_FIRST)),
    *("%d-%b-%Y", "%d-%b-%y", "%d %b %Y", "%b %d %Y", "%b %d, %Y", "%b %Y", "%b-%Y"),
    *("%d %B %Y", "%B %d, %Y", "%B %d %Y", "%B %Y", "%Y %b", "%Y-%b", "%Y %B"),
)
LOOKS = re.compile(r"(?=.*\d)[0-9A-Za-z.,:/+ -]{6,35}")


class AmbiguousDates(ValueError):
    """Dates whose day and month could be swapped; the text is one of the values."""


def find_form(values: Collection[str]) -> str | None:
    """Return the form in which all values are dates or times of day, else None."""
    if values and all(map(CLOCK.fullmatch, values)):
        return TIME
    if not values or not all(map(LOOKS.fullmatch, values)):
        return None
    forms = ("ISO", "quarter", "week", *WRITTEN)
    found = [form for form in forms if all(as_days(value, form) is not None for value in values)]
    day, month = (next((f for f in found if f.startswith(p)), "") for p in (DAY_FIRST, MONTH_FIRST))
    if day and month and any(as_days(v, day) != as_days(v, month) for v in values):
        raise AmbiguousDates(next(iter(values)))
    return found[0] if found else None


def as_days(value: str, form: str) -> float | None:
    """Return the days since 1970-01-01, None for no date of that form; a time without a zone is UTC.

    A time of day is the share of the day before it.
    """
    reader = READERS.get(form)
    try:
        if reader is None:
            moment = datetime.strptime(value, form)
        elif match := reader[0].fullmatch(value):
            moment = reader[1](match)
        else:
            return None
    except ValueError:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - EPOCH) / timedelta(days=1)


def read_iso(match: re.Match[str]) -> datetime:
    """Read ``2004-01-31``, ``2004/01/31`` or ``2004-01``, with or without a time and a zone."""
    dashed = match[0].replace("/", "-")
    return datetime.fromisoformat(f"{dashed}-01" if len(dashed) == 7 else dashed)


# A quarter is its first day, a week the Monday of ISO 8601's week.
READERS: dict[str, tuple[re.Pattern[str], Callable[[re.Match[str]], datetime]]] = {
    "ISO": (ISO, read_iso),
    TIME: (
        CLOCK,
        lambda m: datetime.combine(
            EPOCH, time.fromisoformat(m[0].zfill(len(m[0]) + (len(m[1]) == 1)))
        ),
    ),
    "quarter": (QUARTER, lambda m: datetime(int(m[1]), 3 * int(m[2]) - 2, 1)),
    "week": (WEEK, lambda m: datetime.fromisocalendar(int(m[1]), int(m[2]), 1)),
}
