"""A user's own file: svmlight or CSV, the target as numbers or as class names."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kselect.datasets.content import (
    Damaged,
    content_limit,
    sha256_of,
    unpacked,
)
from kselect.datasets.svmlight import parse_svmlight
from kselect.errors import DataError, brief, nearest, printable, quoted
from kselect.files import read_regular, reason
from kselect.grids import show_number
from kselect.numerics.linalg import Array
from kselect.numerics.memory import available_memory, gib

Task = Literal["classification", "regression"]
CSV_ENDINGS = (".csv", ".tsv", ".csv.bz2", ".tsv.bz2", ".csv.gz", ".tsv.gz")
DELIMITERS = ",;\t"
MANY_CLASSES = 20
# Python's csv makes a text of each field, a list of each line, and numpy a matrix of them all.
BYTES_PER_FIELD, BYTES_PER_LINE, BYTES_PER_CHARACTER = 96, 250, 9


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of a file: features, and the target as numbers or as the fields of a CSV file and their lines."""

    X: Array
    target: Sequence[str] | Array
    sha256: str
    lines: Sequence[int] = ()


@dataclass(frozen=True, eq=False)
class Target:
    """What is to be learned: (q, n) targets, the classes behind them, and why it was taken so."""

    task: Task
    values: Array
    classes: tuple[str, ...]
    why: str


def read_table(path: Path, target: str | None) -> Table:
    """The rows of a file; CSV where a target column is named or the file looks like it, else svmlight."""
    try:
        raw = read_regular(path, content_limit())
    except OSError as error:
        raise DataError(f"{printable(path)}: {reason(error)}") from None
    sha256 = sha256_of(raw)
    if target is None and not path.name.lower().endswith(CSV_ENDINGS) and not has_columns(raw):
        X, y = parse_svmlight(raw, path)
        if not X.shape[1]:
            raise DataError(f"{printable(path)}: no features, only targets")
        return Table(X, y, sha256)
    X, fields, lines = read_csv(path, raw, target)
    return Table(X, fields, sha256, lines)


def has_columns(raw: bytes) -> bool:
    """Whether the first line has a CSV delimiter and no ``index:value``, whatever the file is called."""
    first = next((line for line in raw.splitlines() if line.strip()), b"").strip()
    return (b"," in first or b";" in first or b"\t" in first) and not re.search(rb"[#:\0]", first)


def read_csv(
    path: Path, raw: bytes, target: str | None
) -> tuple[Array, list[str], tuple[int, ...]]:
    """Features as numbers, the target as text, the line of each row; with or without a header line."""
    try:
        data = unpacked(path, raw)
        require_fields(path, data)
        text = data.decode("utf-8-sig")
    except (Damaged, UnicodeDecodeError):
        kind = path.suffix if path.suffix == ".gz" else ".bz2"
        raise DataError(
            f"{printable(path)}: neither UTF-8 text nor a whole {kind} file of it"
        ) from None
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=find_delimiter(text))
    try:
        stripped = ((reader.line_num, [field.strip() for field in row]) for row in reader)
        rows = [(line, row) for line, row in stripped if any(row)]
    except csv.Error as error:
        raise DataError(f"{printable(path)}:{reader.line_num}: {error}") from None
    if not rows:
        raise DataError(f"{printable(path)}: no rows")
    header = find_header(rows)
    body = rows[1:] if header else rows
    if not body:
        raise DataError(f"{printable(path)}: a header and no rows")
    width = len(rows[0][1])
    column = find_column(path, header, width, target)
    X = numbers_of(path, body, width, column, header)
    return X, [row[column] for _, row in body], tuple(line for line, _ in body)


def require_fields(path: Path, data: bytes) -> None:
    """Refuse a text whose fields would not fit into memory; they take many times its bytes."""
    lines = data.count(b"\n") + data.count(b"\r") + 1
    fields = lines + max(data.count(d.encode()) for d in DELIMITERS)
    needed = BYTES_PER_FIELD * fields + BYTES_PER_LINE * lines + BYTES_PER_CHARACTER * len(data)
    if needed > (there := available_memory()):
        raise DataError(
            f"{printable(path)}: {fields} fields in {lines} lines need {gib(needed)} of memory; "
            f"{gib(there)} are free"
        )


def find_delimiter(text: str) -> str:
    """Of tab, semicolon and comma the one that the first line has most of, outside quotes."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    return max(DELIMITERS, key=re.sub(r'"[^"]*"', "", first).count)


def is_number(field: str) -> bool:
    """Whether a field reads as a number, finite or not; ``1_000`` does so for Python alone."""
    if "_" in field or not field.isascii():
        return False
    try:
        float(field)
    except ValueError:
        return False
    return True


def find_header(rows: Sequence[tuple[int, list[str]]]) -> list[str]:
    """The first line if it has no number while the second has one, or numbers its columns; else none."""
    first = rows[0][1]
    if counts_columns(rows):
        return first
    if any(map(is_number, first)) or (len(rows) > 1 and not any(map(is_number, rows[1][1]))):
        return []
    return first


def counts_columns(rows: Sequence[tuple[int, list[str]]]) -> bool:
    """Whether the first line is ``0,1,2,y`` over numbers alone, as pandas writes unnamed columns."""
    first = rows[0][1]
    counted = [field for field in first if is_number(field)]
    named = [i for i, field in enumerate(first) if field and not is_number(field)]
    if not (named and counted and len(rows) > 1):
        return False
    if counted not in ([str(i + start) for i in range(len(counted))] for start in (0, 1)):
        return False
    return all(len(row) == len(first) and is_number(row[i]) for _, row in rows[1:] for i in named)


def find_column(path: Path, header: Sequence[str], width: int, target: str | None) -> int:
    """The target's position: a name of the header, or a number from 1; the last column by default."""
    if width < 2:
        raise DataError(f"{printable(path)}: one column only; a target and a feature are needed")
    if target is None:
        return width - 1
    if target in header:
        return list(header).index(target)
    if target.isascii() and target.isdigit() and 1 <= int(target) <= width:
        return int(target) - 1
    known = header or [str(i) for i in range(1, width + 1)]
    raise DataError(
        f"{printable(path)}: no column {quoted(target)} for the target{nearest(target, known)}"
    )


def numbers_of(
    path: Path,
    rows: Sequence[tuple[int, list[str]]],
    width: int,
    column: int,
    header: Sequence[str],
) -> Array:
    """The features as an array; the first field that is no finite number is an error with its line."""
    for line, row in rows:
        if len(row) != width:
            raise DataError(
                f"{printable(path)}:{line}: {len(row)} columns where the first line has {width}"
            )
    try:
        X = np.array([row[:column] + row[column + 1 :] for _, row in rows], dtype=np.float64)
    except ValueError:
        X = np.array([[np.nan]])
    plain = not any("_" in field or not field.isascii() for _, row in rows for field in row)
    if plain and np.isfinite(X).all():
        return X
    for line, row in rows:
        for position, field in enumerate(row):
            if position != column and not (is_number(field) and math.isfinite(float(field))):
                name = header[position] if header else str(position + 1)
                what = "is empty" if not field else f"{quoted(field)} is not a finite number"
                raise DataError(f"{printable(path)}:{line}: column {brief(name)}: {what}")
    return X


def as_target(path: Path, table: Table, task: Task | None) -> Target:
    """Classes or numbers: by ``task``, else by what the target looks like."""
    target = table.target
    numbers = target if isinstance(target, np.ndarray) else as_numbers(path, table, task)
    names = [str(v) for v in target] if numbers is None else [show_number(v) for v in numbers]
    distinct = sorted(set(names), key=lambda v: (float(v) if is_number(v) else 0.0, v))
    if len(distinct) < 2:
        raise DataError(
            f"{printable(path)}: the target has one value only ({brief(distinct[0])}): nothing to learn"
        )
    why = "as asked for"
    if task is None:
        task, why = infer_task(numbers, len(distinct), len(names))
    if task == "regression":
        return Target(task, np.asarray(numbers)[None, :], (), why)
    if len(distinct) > max(MANY_CLASSES, len(names) // 2):
        raise DataError(
            f"{printable(path)}: the target has {len(distinct)} values in {len(names)} rows: too many for classes"
        )
    return Target(task, one_against_rest(names, distinct), tuple(distinct), why)


def as_numbers(path: Path, table: Table, task: Task | None) -> Array | None:
    """The fields as numbers, None where they are class names; a mixture is an error with its line."""
    fields, lines = [str(v) for v in table.target], table.lines
    if "" in fields:
        raise DataError(f"{printable(path)}:{lines[fields.index('')]}: the target is empty")
    numeric = [is_number(v) for v in fields]
    if task == "regression" or all(numeric):
        for line, field, good in zip(lines, fields, numeric, strict=True):
            if not (good and math.isfinite(float(field))):
                raise DataError(
                    f"{printable(path)}:{line}: the target {quoted(field)} is not a finite number"
                )
        return np.array([float(v) for v in fields])
    if any(numeric) and task is None:
        text, number = numeric.index(False), numeric.index(True)
        raise DataError(
            f"{printable(path)}:{lines[text]}: the target {quoted(fields[text])} is not a number, but "
            f"{quoted(fields[number])} in line {lines[number]} is; --task classification takes both as classes"
        )
    return None


def infer_task(numbers: Array | None, distinct: int, n: int) -> tuple[Task, str]:
    """Text, two values, or a few whole numbers are classes; anything else is a regression."""
    if numbers is None:
        return "classification", f"the target is text with {distinct} values"
    if distinct == 2:
        return "classification", "the target has two values"
    if distinct <= min(MANY_CLASSES, n // 5) and (numbers == np.round(numbers)).all():
        return "classification", f"the target has {distinct} values, all whole numbers"
    return "regression", f"the target has {distinct} values"


def one_against_rest(names: Sequence[Any] | NDArray[Any], classes: Sequence[Any]) -> Array:
    """-1 and +1: one row for two classes (the second is +1), one row a class for more."""
    labels = np.asarray(names)
    positive = classes[1:] if len(classes) == 2 else classes
    return np.array([np.where(labels == c, 1.0, -1.0) for c in positive])
