"""The rows of a CSV of test errors: one per data set, split and method.

Columns: ``dataset``, ``split``, ``method``, ``error``; optional ``n_train`` and ``n_test`` (the sizes of the split,
which the corrected t-test needs) and ``metric``. Every mistake is one line with the file, the line and what to do.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kselect.config.document import Document
from kselect.datasets.content import sha256_of
from kselect.errors import DataError, nearest, printable, quoted
from kselect.files import read_regular, reason

LARGEST_FILE = 2**26
NEEDED = ("dataset", "split", "method", "error")
SIZES = ("n_train", "n_test")
KNOWN = (*NEEDED, *SIZES, "metric")
FORM = "dataset,split,method,error"
DROP = "--drop-incomplete"
LARGEST_ERROR = 1e150


class ErrorScale(NamedTuple):
    """How the numbers of a metric are read.

    A ``share`` from 0 to 1 is shown in per cent. Differences are in ``points`` (percentage points), or else in per
    cent of the second method's number.
    """

    higher: bool = False
    share: bool = False
    points: bool = True


SHARES = ("accuracy", "balanced-accuracy", "auc", "f1", "precision", "recall")
METRICS: Mapping[str, ErrorScale] = {
    **dict.fromkeys(("error", "zero-one"), ErrorScale(share=True)),
    "error%": ErrorScale(),
    **{name: ErrorScale(higher=True, share=True) for name in SHARES},
    **{f"{name}%": ErrorScale(higher=True) for name in SHARES},
    **dict.fromkeys(("mse", "rmse", "mae", "log-loss"), ErrorScale(points=False)),
}


class Row(NamedTuple):
    """A row as written, with its line; ``sizes`` are n_train and n_test, NaN if the file has none."""

    line: int
    dataset: str
    split: str
    method: str
    error: float
    sizes: tuple[float, float]
    metric: str


def read_lines(
    path: Path, document: Document
) -> tuple[list[str], list[tuple[int, list[str]]], str]:
    """Return the header, the fields of every row with its line, and the checksum; raise mistakes of the header."""
    shown = printable(path)
    try:
        content = read_regular(path, LARGEST_FILE)
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DataError(f"{shown}: not UTF-8 text; save the file as CSV in UTF-8") from None
    except OSError as error:
        raise DataError(f"{shown}: cannot be read: {reason(error)}") from None
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    found: list[tuple[int, list[str]]] = []
    try:
        for fields in reader:
            if any(field.strip() for field in fields):
                found.append((reader.line_num, [field.strip() for field in fields]))
    except csv.Error as error:
        raise DataError(f"{shown}:{reader.line_num}: not CSV: {error}") from None
    if not found:
        raise DataError(f"{shown}: is empty; write the columns {FORM}, then a row per number")
    line, header = found[0]
    lacking = [name for name in NEEDED if name not in header]
    if lacking:
        names = f"column{'s' * (len(lacking) > 1)} {', '.join(map(quoted, lacking))}"
        document.wrong((), f"there is no {names}{header_hint(lacking[0], header)}", line)
    for name in (n for n in KNOWN if header.count(n) > 1):
        document.wrong((), f"there are two columns {quoted(name)}; remove one", line)
    one, other = SIZES
    if (one in header) != (other in header):
        document.wrong((), f"{one} and {other} belong together; add the other column", line)
    document.check()
    if len(found) == 1:
        raise DataError(f"{shown}:{line}: there are no rows below the columns")
    return header, found[1:], sha256_of(content)


def header_hint(name: str, header: Sequence[str]) -> str:
    """Return what to do about a missing column."""
    if len(header) == 1 and any(mark in header[0] for mark in ";\t"):
        return "; separate the columns by commas"
    if not {"method", "error"} & set(header) and len(header) > 2:
        return f"; write one row per data set, split and method, with the columns {FORM}"
    others = [other for other in header if other not in KNOWN]
    hint = nearest(name, others) if others else ""
    return hint if "did you mean" in hint else f"; the columns must be {FORM}"


def parse_rows(
    header: list[str], lines: list[tuple[int, list[str]]], document: Document
) -> Iterator[Row]:
    """Yield the rows; what is wrong with them is noted."""
    for line, fields in lines:
        if len(fields) != len(header):
            words = f"has {len(fields)} fields, but there are {len(header)} columns"
            document.wrong((), words, line)
            continue
        row = dict(zip(header, fields, strict=True))
        before = len(document.problems)
        for name in ("dataset", "split", "method"):
            if not row[name]:
                document.wrong((), f"{name}: is empty; write its name", line)
        error = parse_number(row["error"])
        if error is None:
            shown = f"{quoted(row['error'])} is not a finite number" if row["error"] else "is empty"
            words = f"error: {shown}"
            document.wrong((), f"{words}; correct it, or remove the row and use {DROP}", line)
        sizes = [parse_size(row, name, line, document) for name in SIZES if name in row]
        metric = row.get("metric", "").lower().replace("_", "-")
        if "metric" in row and metric not in METRICS:
            words = f"metric: unknown metric {quoted(row['metric'])}{nearest(metric, METRICS)}"
            hint = "" if "did you mean" in words else "; or remove the column"
            document.wrong((), f"{words}{hint}", line)
        if len(document.problems) == before and error is not None:
            n_train, n_test = sizes or (math.nan, math.nan)
            names = (row["dataset"], row["split"], row["method"])
            yield Row(line, *names, error, (n_train, n_test), metric)


def parse_number(text: str) -> float | None:
    """Return a finite number, or None."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) <= LARGEST_ERROR else None


def parse_size(row: Mapping[str, str], name: str, line: int, document: Document) -> float:
    """Return a number of rows; a mistake is noted."""
    value = parse_number(row[name])
    if value is None or value < 1 or value != int(value):
        words = f"{name}: must be a whole number, 1 or more, not {quoted(row[name])}"
        document.wrong((), words, line)
        return math.nan
    return value
