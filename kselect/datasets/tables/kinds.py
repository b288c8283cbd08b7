"""What a column of fields is: numbers, dates, categories, or nothing to learn from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kselect.datasets.tables.columns import ColumnSpec, ColumnText, not_plain, number_style, shown
from kselect.datasets.tables.dates import Ambiguous, find_form
from kselect.datasets.tables.decisions import Decision
from kselect.datasets.tables.raw import Kind
from kselect.datasets.tables.written_numbers import (
    HAS_DECIMAL_COMMA,
    LEADING_ZERO,
    MISSING_AMONG_NUMBERS,
    PLAIN,
    is_finite,
    is_number,
    is_written,
    marked,
)

FEW_VALUES = 20
FEW_TEXTS = 10
FEW_WORDS = 5
STRAY = 0.1
# A family 136A between 136 and 137, a station c168: numbers of whole things, not measurements. An O, an l and an
# I before digits are a mistyped 0 or 1, and other letters behind them may be a unit.
CODE = re.compile("[0-9]+[A-Da-d]|[A-HJ-NP-Za-kmnp-z][0-9]+")
DIGITS = re.compile("[0-9]+")
OWN_TEXT = "left out: texts that hardly repeat; --categorical COLUMN keeps it"


@dataclass(frozen=True)
class Verdict:
    """What a column is, None where it is left out, and what was decided on the way."""

    spec: ColumnSpec | None
    decisions: tuple[Decision, ...] = ()


def as_asked(column: ColumnText, kind: Kind) -> Verdict:
    """What the user says that it is; numbers become categories by their value, ``3.0`` and ``3`` as one."""
    if kind == "number":
        return Verdict(ColumnSpec(column.name, "number"))
    plain = all(is_finite(v) and not LEADING_ZERO.fullmatch(v) for v in column.counts)
    return Verdict(ColumnSpec(column.name, "code" if plain else "category"))


def judge(column: ColumnText) -> Verdict:
    """What the fields look like."""
    if column.plain is None and not column.counts:
        return left_out(column, "left out: it has no value in any row")
    style = number_style(column)
    if style is not None:
        words = sorted(MISSING_AMONG_NUMBERS.intersection(column.fields))
        said = [f"written with {style.text}"] if style is not PLAIN else []
        said += [f"{', '.join(map(shown, words))} taken as missing"] if words else []
        decisions = tuple(Decision(column.name, text) for text in said)
        return Verdict(ColumnSpec(column.name, "number"), decisions)
    return judge_dates(column) or judge_words(column)


def judge_dates(column: ColumnText) -> Verdict | None:
    """Dates become days: they order the rows, and a kernel needs a distance."""
    try:
        form = find_form(list(column.counts))
    except Ambiguous as error:
        value = str(error)
        raise column.error(
            f"{shown(value)} may have the day first or the month first: write 2004-12-31, "
            f"or --drop {column.name}",
            value,
        ) from None
    if form is None:
        return None
    text = "dates, taken as days since 1970-01-01; --drop COLUMN leaves it out"
    return Verdict(
        ColumnSpec(column.name, "date", form), (Decision(column.name, text, f"form {form}"),)
    )


def judge_words(column: ColumnText) -> Verdict:
    """Categories, unless the values are numbers with signs, numbers with stray words, or all different."""
    refuse_marked(column)
    commas = column.decimal_commas
    words = {v: times for v, times in column.counts.items() if not is_written(v, commas)}
    if words and is_stray(column, words):
        rows = sum(column.counts.values())
        raise stray(column, next(iter(words)), rows - sum(words.values()), rows)
    if not words and not any(map(LEADING_ZERO.fullmatch, column.counts)):
        odd = not_plain(column)[0]
        raise column.error(f"{shown(odd)} is not written as the other numbers are", odd)
    found = judge_categories(column)
    if found.spec is None or len(words) == len(column.counts):
        return found
    text = "leading zeros: text, not numbers; --numeric COLUMN reads numbers"
    if words:
        text = f"words among numbers ({shown(next(iter(words)))}): all are taken as text"
    return Verdict(found.spec, (Decision(column.name, text),))


def is_stray(column: ColumnText, words: Mapping[str, int]) -> bool:
    """Whether words among numbers are slips or marks (``<0.5``, ``n.d.``) rather than a scale or codes.

    A scale (``1``, ``2``, ``3+``) has few values; codes (``A12``, ``77``) have many different words, or are
    digits but for one letter (``136A``).
    """
    rows, n_words = sum(column.counts.values()), sum(words.values())
    if 2 * n_words > rows:
        return False
    if any(map(is_number, words)):  # infinity is no class
        return True
    if all(map(CODE.fullmatch, words)) and are_digits(v for v in column.counts if v not in words):
        return False
    if len(column.counts) <= min(FEW_VALUES, rows // 5):
        return False
    if n_words < max(FEW_WORDS, STRAY * rows):
        return True
    return len(words) <= FEW_WORDS and len(column.counts) - len(words) > FEW_VALUES


def are_digits(values: Iterable[str]) -> bool:
    """Whether the numbers are written by digits alone."""
    return all(map(DIGITS.fullmatch, values))


def judge_categories(column: ColumnText) -> Verdict:
    """Texts are categories, unless (nearly) every row has its own: a name, a code, a remark."""
    distinct, rows = len(column.counts), sum(column.counts.values())
    if distinct > max(FEW_TEXTS, rows // 2):
        return left_out(column, OWN_TEXT, f"{distinct} texts in {rows} rows")
    return Verdict(ColumnSpec(column.name, "category"))


def refuse_marked(column: ColumnText) -> None:
    """Amounts are not categories, nor are decimal commas where commas separate; percentages are numbers by now."""
    ways = f"write plain numbers, or --drop {column.name}"
    found = marked(list(column.counts), column.decimal_commas)
    if found:
        what, value = found
        raise column.error(f"{shown(value)} has {what}: {ways}", value)
    commas = [v for v in column.counts if HAS_DECIMAL_COMMA.fullmatch(v)]
    if not column.decimal_commas and 2 * len(commas) > len(column.counts):
        what = "has a decimal comma where commas separate the columns"
        raise column.error(f"{shown(commas[0])} {what}: {ways}", commas[0])


def stray(column: ColumnText, word: str, numbers: int, rows: int) -> Exception:
    """The error for a word among numbers."""
    ways = (
        f"--categorical {column.name} takes all as categories, --drop {column.name} leaves them out"
    )
    share = f"as {numbers} of {rows} values are"
    return column.error(f"{shown(word)} is not a finite number, {share}; {ways}", word)


def left_out(column: ColumnText, text: str, detail: str = "") -> Verdict:
    """Nothing to learn from, and why."""
    return Verdict(None, (Decision(column.name, text, detail),))
