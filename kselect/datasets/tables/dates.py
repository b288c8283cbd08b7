"""Dates and times as numbers: days since 1970-01-01, the time of day as a fraction."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ISO = re.compile(
    r"\d{4}([-/])\d{2}(?:\1\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?)?"
)
QUARTER = re.compile(r"(\d{4})[ -]?[Qq]([1-4])")
WEEK = re.compile(r"(\d{4})[ -]?[Ww](\d{2})")
TIMES = ("", " %H:%M", " %H:%M:%S")
# How the form reads in a decision, and strptime's words for it; the first of two that differ in the
# order of day and month alone is followed by the other.
DAY_FIRST, MONTH_FIRST = "%d/%m/%Y", "%m/%d/%Y"
WRITTEN = (
    *(f"%d.%m.%Y{time}" for time in TIMES),
    *(f"{order}{time}" for time in TIMES for order in (DAY_FIRST, MONTH_FIRST)),
    *("%d-%b-%Y", "%d-%b-%y", "%d %b %Y", "%b %d %Y", "%b %d, %Y", "%b %Y", "%b-%Y"),
    *("%d %B %Y", "%B %d, %Y", "%B %d %Y", "%B %Y", "%Y %b", "%Y-%b", "%Y %B"),
)
LOOKS = re.compile(r"(?=.*\d)[0-9A-Za-z.,:/+ -]{6,35}")


class Ambiguous(ValueError):
    """Day and month could be either way round; the text is one of the values."""


def find_form(values: Collection[str]) -> str | None:
    """The form in which all values are dates, None where there is none."""
    if not values or not all(map(LOOKS.fullmatch, values)):
        return None
    found = [form for form in ("ISO", "quarter", "week", *WRITTEN) if all_read(values, form)]
    if len(found) > 1 and is_either_way(values, found):
        raise Ambiguous(next(iter(values)))
    return found[0] if found else None


def is_either_way(values: Collection[str], forms: list[str]) -> bool:
    """Whether day first and month first both fit and some value differs between them."""
    day, month = (next((f for f in forms if f.startswith(p)), "") for p in (DAY_FIRST, MONTH_FIRST))
    return bool(day and month) and any(as_days(v, day) != as_days(v, month) for v in values)


def all_read(values: Collection[str], form: str) -> bool:
    """Whether every value is a date in that form."""
    return all(as_days(value, form) is not None for value in values)


def as_days(value: str, form: str) -> float | None:
    """Days since 1970-01-01; a time without a zone is taken as UTC."""
    try:
        moment = READERS.get(form, read_written)(value, form)
    except ValueError:
        return None
    if moment is None:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - EPOCH) / timedelta(days=1)


def read_iso(value: str, _: str) -> datetime | None:
    """``2004-01-31``, ``2004/01/31``, ``2004-01``, with or without a time and a zone."""
    if not ISO.fullmatch(value):
        return None
    dashed = value.replace("/", "-")
    return datetime.fromisoformat(f"{dashed}-01" if len(dashed) == 7 else dashed)


def read_quarter(value: str, _: str) -> datetime | None:
    """``1959Q2``: the first day of the quarter."""
    match = QUARTER.fullmatch(value)
    return match and datetime(int(match[1]), 3 * int(match[2]) - 2, 1)


def read_week(value: str, _: str) -> datetime | None:
    """``1991 W06``: the Monday of ISO 8601's week."""
    match = WEEK.fullmatch(value)
    return match and datetime.fromisocalendar(int(match[1]), int(match[2]), 1)


def read_written(value: str, form: str) -> datetime:
    """As strptime has it."""
    return datetime.strptime(value, form)


READERS: dict[str, Callable[[str, str], datetime | None]] = {
    "ISO": read_iso,
    "quarter": read_quarter,
    "week": read_week,
}
