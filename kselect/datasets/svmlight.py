"""Text data in the svmlight form: `label index:value index:value ...`, one example a line.

Indices start at 1 and ascend; what is not written is 0. A `#` begins a comment. `qid:` is
rejected: it marks the groups of a ranking task, and to ignore it would be to learn another task.
"""

from __future__ import annotations

import bz2
import io
import math
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from kselect.datasets.content import Damaged, read_content, require_matrix, unpacked
from kselect.errors import DataError, printable
from kselect.numerics.linalg import Array

MAX_INDEX = 1_000_000  # a mistyped index must not ask for a matrix of terabytes
SHOWN = 60  # characters of the offending text in a message


class _Malformed(ValueError):
    """What is wrong with a line, and the text that shows it."""

    def __init__(self, what: str, text: str) -> None:
        super().__init__(what)
        self.what, self.text = what, text


@dataclass
class _Rows:
    """Rows as they stand in the file, 16 bytes for each value: nothing is allocated for zeros."""

    labels: array[float] = field(default_factory=lambda: array("d"))
    lengths: array[int] = field(default_factory=lambda: array("q"))
    columns: array[int] = field(default_factory=lambda: array("q"))
    values: array[float] = field(default_factory=lambda: array("d"))

    @property
    def width(self) -> int:
        """The highest index."""
        return int(np.array(self.columns).max(initial=0))

    def dense(self, path: Path, width: int) -> Array:
        """The matrix (n, width), if it fits into memory."""
        n = len(self.labels)
        require_matrix(path, n, width)
        X = np.zeros((n, width))
        X[np.repeat(np.arange(n), self.lengths), np.array(self.columns) - 1] = self.values
        return X


def read_svmlight(path: Path, n_features: int | None = None) -> tuple[Array, Array]:
    """Dense X (n, d) and the labels y (n,) as written; d is n_features, or else the highest index.

    A name that ends in .bz2 or .gz is decompressed. Whatever cannot be read is a DataError of one line,
    `<path>:<line>: <what is wrong>: '<text>'`.
    """
    return parse_svmlight(read_content(path), path, n_features)


def parse_svmlight(
    content: bytes, path: Path, n_features: int | None = None, most: int | None = None
) -> tuple[Array, Array]:
    """The same of bytes that were read already; ``most`` is what they may hold once unpacked."""
    return parse_plain(_unpacked(content, path, most), path, n_features)


def parse_plain(data: bytes, path: Path, n_features: int | None = None) -> tuple[Array, Array]:
    """The same of a text that is not packed, whatever the path is called."""
    rows = _Rows()
    for number, line in enumerate(_lines(data, path), start=1):
        tokens = line.decode("utf-8").partition("#")[0].split()
        if not tokens:
            continue
        try:
            rows.labels.append(_finite(tokens[0], "label", tokens[0]))
            rows.lengths.append(_features(tokens[1:], n_features, rows))
        except _Malformed as problem:
            raise _error(path, number, problem.what, problem.text) from None
    if not rows.labels:
        raise _error(path, 1, "no examples in the file", "")
    width = rows.width if n_features is None else n_features
    return rows.dense(path, width), np.array(rows.labels)


def _unpacked(content: bytes, path: Path, most: int | None) -> bytes:
    """The text of a file's bytes."""
    try:
        return unpacked(path, content, most)
    except Damaged as problem:
        kind = path.suffix.removeprefix(".")
        raise _error(path, 1, f"truncated or damaged {kind}", str(problem)) from None


def _lines(data: bytes, path: Path) -> Iterator[bytes]:
    """The lines of a text, all of them UTF-8."""
    for number, line in enumerate([] if data.isascii() else io.BytesIO(data), start=1):
        try:
            line.decode("utf-8")
        except UnicodeDecodeError:
            shown = line.decode("utf-8", errors="backslashreplace").removesuffix("\n")
            raise _error(path, number, "not UTF-8 text", shown) from None
    return iter(io.BytesIO(data))


def write_svmlight(path: Path, X: ArrayLike, y: ArrayLike) -> None:
    """Write X (n, d) and y (n,), no zeros of X, in the fewest digits that read back the same.

    The same numbers give the same bytes. A name that ends in .bz2 is compressed. Trailing columns
    of zeros leave no trace: read them back with n_features.
    """
    features, labels = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if features.ndim != 2 or labels.shape != features.shape[:1] or not labels.size:
        raise ValueError(f"cannot write X of shape {features.shape} with y of {labels.shape}")
    if not (np.isfinite(features).all() and np.isfinite(labels).all()):
        raise ValueError("cannot write NaN or infinity")
    pairs = zip(labels.tolist(), features.tolist(), strict=True)
    data = "".join(_line(label, row) for label, row in pairs).encode("ascii")
    path.write_bytes(bz2.compress(data) if path.suffix == ".bz2" else data)


def shortest(value: float) -> str:
    """The fewest digits that read back as the same float: '1', '0.5', '1e+16'; zero has no sign."""
    return repr(value + 0.0).removesuffix(".0")


def _line(label: float, row: list[float]) -> str:
    pairs = (f" {index}:{shortest(value)}" for index, value in enumerate(row, start=1) if value)
    return f"{shortest(label)}{''.join(pairs)}\n"


def _features(tokens: list[str], limit: int | None, rows: _Rows) -> int:
    """Append the indices and values of one line; return how many there are."""
    last, highest = 0, MAX_INDEX if limit is None else limit
    columns, values = rows.columns, rows.values
    for token in tokens:
        index, value = _pair(token)
        if not last < index <= highest:
            raise _Malformed(_misplaced(index, last, limit), token)
        columns.append(index)
        values.append(value)
        last = index
    return len(tokens)


def _pair(token: str) -> tuple[int, float]:
    index, colon, value = token.partition(":")
    if not colon:
        raise _Malformed("missing colon", token)
    if index == "qid":
        raise _Malformed("qid is not supported", token)
    try:
        return int(_plain(index)), _finite(value, "value", token)
    except _Malformed:
        raise
    except ValueError:
        raise _Malformed("index is not an integer", token) from None


def _misplaced(index: int, last: int, limit: int | None) -> str:
    """Why an index cannot stand where it does."""
    if index < 1:
        return "index below 1"
    if index == last:
        return "duplicated index"
    if index < last:
        return "indices not ascending"
    return f"index above {MAX_INDEX}" if limit is None else f"index above n_features = {limit}"


def _finite(text: str, kind: str, shown: str) -> float:
    try:
        value = float(_plain(text))
    except ValueError:
        raise _Malformed(f"{kind} is not a number", shown) from None
    if not math.isfinite(value):
        raise _Malformed(f"{kind} is not finite", shown)
    return value


def _plain(text: str) -> str:
    """The text, unless only Python takes it for a number: 1_000, or digits of other scripts."""
    if "_" in text or not text.isascii():
        raise ValueError(text)
    return text


def _error(path: Path, line: int, what: str, text: str) -> DataError:
    shown = repr(text)[1:-1]  # control characters escaped: the message stays on one line
    shown = shown if len(shown) <= SHOWN else f"{shown[: SHOWN - 3]}..."
    return DataError(f"{printable(path)}:{line}: {what}: '{shown}'")
