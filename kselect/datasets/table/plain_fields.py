"""Split a delimited text by array operations, and read its plain numbers with pandas' C parser.

The csv module makes a string of each field. Here numpy finds the separators, block by block, and pandas reads the
columns in which every field consists of the characters of a number. ``split_plainly`` returns None for a text that
this could split differently from the csv module: rows of unequal length, quotes around separators, lone carriage
returns. A column in doubt (missing values, words, dates, leading zeros) becomes strings, and is examined as such.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from kselect.numerics.linalg import Array, Index

NEWLINE, QUOTE, DOT, ZERO, PLUS, MINUS = (ord(c) for c in '\n".0+-')
NUMBER = b"0123456789+-.eE"
# First bytes from here on may belong to characters that ``str.strip`` removes, as those up to the space do.
SPACE, BEYOND_ASCII = ord(" "), 128
BLOCK = 2**18  # bytes: the arrays of a block fit into the processor's cache
# Memory of the numbers and of their parser, next to the text and its copies.
BYTES_PER_FIELD, BYTES_PER_CHARACTER = 40, 4
EXACT_BY_DEFAULT = (3, 1)  # the first version of pandas whose numbers are those of Python
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Block:
    """Whole lines of a text: their end, where the rows start, their lines, and which columns may be numbers."""

    end: int
    starts: Index
    lines: Index
    breaks: int  # lines, also empty ones
    numeric: Flags


@dataclass(frozen=True, eq=False)
class FieldGrid:
    """A text whose rows have the same number of fields: where each row starts, its line, and what blocks show."""

    data: bytes
    delimiter: str
    starts: Index
    lines: Sequence[int]
    blocks: Sequence[Block]

    def row(self, start: int) -> list[str]:
        """Return the fields of the row that starts there, without spaces and quotes around them."""
        line = self.data[start : self.data.index(b"\n", start)].decode()
        clean = bare if '"' in line else str.strip
        return [clean(field) for field in line.split(self.delimiter)]

    def head(self, count: int) -> list[list[str]]:
        """Return the fields of the first rows."""
        return [self.row(start) for start in self.starts[:count].tolist()]

    def below(self, skip: int) -> FieldGrid:
        """Return the grid without its first row (1), or with it (0)."""
        return replace(
            self, starts=self.starts[skip:], lines=self.lines[skip:], blocks=self.blocks[skip:]
        )

    @cached_property
    def numeric(self) -> Flags:
        """Which columns have only the characters of numbers."""
        return np.asarray(np.all([block.numeric for block in self.blocks], axis=0))

    def texts(self, columns: Sequence[int]) -> dict[int, list[str]]:
        """Return some columns as strings."""
        lines = filter(None, self.data[int(self.starts[0]) :].decode().split("\n"))
        cuts = max(columns) + 1
        rows = [line.split(self.delimiter, cuts) for line in lines]
        found = {}
        for j in columns:
            fields = [row[j] for row in rows]
            known = {field: bare(field) for field in set(fields)}
            found[j] = [known[field] for field in fields]
        return found

    def columns(self) -> tuple[Sequence[str], ...]:
        """Return every column as strings; those that are plain numbers carry their values."""
        numbers = read_numbers(self, np.flatnonzero(self.numeric).tolist())
        others = [j for j in range(len(self.numeric)) if j not in numbers]
        texts = self.texts(others) if others else {}
        return tuple(
            PlainColumn(self, j, numbers[j]) if j in numbers else texts[j]
            for j in range(len(self.numeric))
        )

    def first_dotted(self, column: int) -> str:
        """Return the first field of a column with a dot, empty if no field has one."""
        for block in self.blocks:
            begin = int(block.starts[0]) if len(block.starts) else block.end
            a = np.frombuffer(self.data, dtype=np.uint8, count=block.end - begin, offset=begin)
            dots, rows = np.flatnonzero(a == DOT), block.starts - begin
            row = np.searchsorted(rows, dots, side="right") - 1
            delimiters = np.flatnonzero(a == ord(self.delimiter))
            before = np.searchsorted(delimiters, rows)  # of the row's first field
            found = row[np.searchsorted(delimiters, dots) - before[row] == column]
            if len(found):
                return self.row(int(block.starts[found[0]]))[column]
        return ""


@dataclass(frozen=True, eq=False)
class PlainColumn(Sequence[str]):
    """A column of finite numbers written as in Python; its strings are made when they are asked for."""

    grid: FieldGrid
    position: int
    values: Array

    @cached_property
    def texts(self) -> list[str]:
        """The fields as strings."""
        return self.grid.texts([self.position])[self.position]

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        return self.texts[at]

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts)


def bare(field: str) -> str:
    """Return a field without spaces, or without quotes, and then without spaces."""
    return (field[1:-1] if field.startswith('"') else field).strip()


# --- splitting ----------------------------------------------------------------------------------------


def split_plainly(data: bytes, delimiter: str) -> FieldGrid | None:
    """Return the grid of a text in UTF-8, or None if the csv module has to split it."""
    if b"\r" in data:
        if data.count(b"\r") != data.count(b"\r\n"):
            return None
        data = data.replace(b"\r\n", b"\n")
    # The csv module skips spaces at the start of a field, also before a quote.
    if delimiter != "\t" and b" " in data:
        while (spaced := f"{delimiter} ".encode()) in data:
            data = data.replace(spaced, spaced[:1])
    if not data.endswith(b"\n"):
        data += b"\n"
    if (filled := re.search(rb"[^\n]", data)) is None:
        return None
    # The first row may be a header: it is a block of its own.
    begin, end = filled.start(), data.index(b"\n", filled.start()) + 1
    width, line = data.count(delimiter.encode(), begin, end) + 1, begin + 1
    blocks: list[Block] = []
    while begin < len(data):
        if (block := examine(data, begin, end, delimiter, width)) is None:
            return None
        blocks.append(replace(block, lines=block.lines + line))
        line += block.breaks
        begin, end = end, data.find(b"\n", min(end + BLOCK, len(data) - 1)) + 1
    starts = np.concatenate([block.starts for block in blocks])
    numbers = np.concatenate([block.lines for block in blocks])
    low, high = int(numbers[0]), int(numbers[-1])
    lines = range(low, high + 1) if high - low + 1 == len(numbers) else numbers.tolist()
    return FieldGrid(data, delimiter, starts, lines, blocks)


def examine(data: bytes, begin: int, end: int, delimiter: str, width: int) -> Block | None:
    """Return what some lines show, None if one of them is in doubt."""
    a = np.frombuffer(data, dtype=np.uint8, count=end - begin, offset=begin)
    ends = np.flatnonzero((a == ord(delimiter)) | (a == NEWLINE))
    breaks = a[ends] == NEWLINE
    starts = np.zeros_like(ends)
    starts[1:] = ends[:-1] + 1
    lengths = ends - starts
    empty = breaks & (lengths == 0)
    empty[1:] &= breaks[:-1]
    lines = np.flatnonzero(~empty[breaks])
    if len(lines) < (found := int(np.count_nonzero(breaks))):
        starts, ends, lengths, breaks = (x[~empty] for x in (starts, ends, lengths, breaks))
    shape = (len(lines), width)
    if len(ends) != width * len(lines) or not breaks[width - 1 :: width].all():
        return None
    if lengths.max(initial=0) > csv.field_size_limit():
        return None
    if data.find(QUOTE, begin, end) >= 0:
        quotes = np.flatnonzero(a == QUOTE)
        if not are_around_fields(quotes, starts, ends):
            return None
    rows = starts[::width]
    first = a[rows]
    hollow = (first <= SPACE) | (first >= BEYOND_ASCII) | np.isin(first, (QUOTE, ord(delimiter)))
    for row in rows[hollow].tolist():
        text = data[begin + row : data.index(b"\n", begin + row)].decode()
        if not text.replace(delimiter, "").replace('"', "").strip():
            return None
    rows = rows + begin
    if not len(rows):  # empty lines at the end
        return Block(end, rows, lines, found, np.ones(width, dtype=np.bool_))
    fields = looks_numeric(a, starts, lengths, delimiter).reshape(shape)
    return Block(end, rows, lines, found, np.asarray(fields.all(axis=0)))


def are_around_fields(quotes: Index, starts: Index, ends: Index) -> bool:
    """Return whether all quotes are the first and the last character of a field, two per field."""
    if len(quotes) % 2:
        return False
    opening, closing = quotes[::2], quotes[1::2]
    fields = np.searchsorted(ends, opening)
    return bool((starts[fields] == opening).all() and (ends[fields] == closing + 1).all())


def looks_numeric(a: NDArray[np.uint8], starts: Index, lengths: Index, delimiter: str) -> Flags:
    """Return which fields have only the characters of a number, at least one, and no leading zero."""
    found: Flags = lengths > 0
    allowed = NUMBER + delimiter.encode() + b"\n"
    if a.tobytes().translate(None, allowed):
        strange = np.ones(256, dtype=np.uint8)
        strange[list(allowed)] = 0
        found &= np.bitwise_or.reduceat(strange[a], starts) == 0
    # A zero before a digit, at the start or after a sign. The last byte of a block is no zero.
    zeros = np.flatnonzero(a == ZERO)
    zeros = zeros[(a[zeros + 1] - ZERO < 10) & (a[zeros - 1] - ZERO >= 10) & (a[zeros - 1] != DOT)]
    fields = np.searchsorted(starts, zeros, side="right") - 1
    signed = (a[starts[fields]] == PLUS) | (a[starts[fields]] == MINUS)
    found[fields[starts[fields] + signed == zeros]] = False
    return found


# --- reading numbers ----------------------------------------------------------------------------------


def read_numbers(grid: FieldGrid, columns: list[int]) -> dict[int, Array]:
    """Return the values of those columns that are finite numbers, written as Python writes them.

    The parser refuses what Python refuses: ``1.2.3``, ``2004-12-31``. One such field costs a pass per column.
    """
    if not columns:
        return {}
    try:
        found = parse(grid, columns)
    except ValueError:
        if len(columns) == 1:
            return {}
        return {j: values for one in columns for j, values in read_numbers(grid, [one]).items()}
    return {j: values for j, values in found.items() if np.isfinite(values).all()}


def parse(grid: FieldGrid, columns: list[int]) -> dict[int, Array]:
    """Return columns as pandas' C parser reads them; raise ValueError for a field that is not a number."""
    import pandas as pd

    # Older versions round the last digit by default; newer ones are exact, and warn of the option.
    version = tuple(int(part) for part in pd.__version__.split(".")[:2])
    precision: Any = "round_trip" if version < EXACT_BY_DEFAULT else None
    stream = io.BytesIO(grid.data)
    stream.seek(int(grid.starts[0]))
    table = pd.read_csv(
        stream,
        sep=grid.delimiter,
        header=None,
        index_col=False,
        usecols=columns,
        dtype=np.float64,
        na_filter=False,
        quoting=csv.QUOTE_NONE,
        engine="c",
        float_precision=precision,
    )
    return {j: np.ascontiguousarray(table[j].to_numpy()) for j in columns}
