"""Whether the first line of a table is a header: the evidence that its columns give."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kselect.datasets.tables.written_numbers import MISSING, is_number

# A digit and no letter: a number, an amount, a date.
VALUE_LIKE = re.compile(r"[^A-Za-z]*[0-9][^A-Za-z]*")
HAS_DIGIT = re.compile("[0-9]")  # "inf" and "nan" are names of inflation and of a nation
YEAR = re.compile(r"1[89][0-9]{2}|20[0-9]{2}")
ROWS_LOOKED_AT = 2000
Row = Sequence[str]


def is_header(rows: Sequence[Row], target: str | None) -> bool:
    """Whether the first row holds names: by the target's name, by numbers below words, by repetition.

    A first row with a number is a header only where its numbers count the columns or are years.
    """
    rows = rows[:ROWS_LOOKED_AT]
    first, rest = rows[0], rows[1:]
    if target in first and target is not None and not is_number(target):
        return True
    if counts_columns(rows):
        return True
    if any(is_number(field) and HAS_DIGIT.search(field) for field in first):
        return False
    columns = [[row[i] for row in rest] for i in range(len(first))]
    if not rest or any(map(is_above_values, first, columns)):
        return True
    if any(field and field in MISSING for field in first):
        return False
    return any(map(is_number, rest[0])) or is_above_words(first, columns)


def is_above_values(name: str, below: Sequence[str]) -> bool:
    """Whether a word stands above nothing but numbers, amounts or dates."""
    present = [field for field in below if field not in MISSING]
    if not present or name in MISSING or VALUE_LIKE.fullmatch(name):
        return False
    return all(is_number(f) or VALUE_LIKE.fullmatch(f) for f in present)


def is_above_words(first: Row, columns: Sequence[Sequence[str]]) -> bool:
    """Whether distinct words stand above words that repeat, none of them a word of its own column."""
    names = first[1:] if not first[0] else first  # pandas and R leave the index without a name
    if len(set(names)) < len(names) or "" in names:
        return False
    repeating = [(f, set(c)) for f, c in zip(first, columns, strict=True) if len(set(c)) < len(c)]
    return bool(repeating) and not any(name in values for name, values in repeating)


def counts_columns(rows: Sequence[Row]) -> bool:
    """Whether the first line is ``0,1,2,y`` as pandas writes unnamed columns, or ``country,1990,2000``."""
    first, rest = rows[0], rows[1:]
    counted = [field for field in first if is_number(field)]
    named = [i for i, field in enumerate(first) if field and not is_number(field)]
    if not (named and counted and rest):
        return False
    years = are_years(counted)
    if not (counts(counted) or years):
        return False
    return all(is_named(first[i], [row[i] for row in rest], years) for i in named)


def counts(numbers: Sequence[str]) -> bool:
    """0, 1, 2, ... or 1, 2, 3, ..."""
    return any(list(numbers) == [str(i + s) for i in range(len(numbers))] for s in (0, 1))


def are_years(numbers: Sequence[str]) -> bool:
    """Two or more different years that ascend or descend."""
    if len(numbers) < 2 or not all(map(YEAR.fullmatch, numbers)):
        return False
    return list(numbers) in (sorted(set(numbers)), sorted(set(numbers), reverse=True))


def is_named(name: str, below: Sequence[str], years: bool) -> bool:
    """Whether the column below is all numbers, or words that repeat (below years, any) but not the name."""
    present = [field for field in below if field not in MISSING]
    numeric = [is_number(field) for field in present]
    if all(numeric):
        return True
    if any(numeric) or name in present:
        return False
    return years or len(set(present)) < len(present)
