"""Text data in the svmlight form: `label index:value index:value ...`, one example a line.

Indices start at 1 and ascend; what is not written is 0. A `#` begins a comment. `qid:` is
rejected: it marks the groups of a ranking task, and to ignore it would be to learn another task.
"""

from __future__ import annotations

import bz2
import math
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from kselect.errors import DataError
from kselect.numerics.linalg import Array

MAX_INDEX = 1_000_000  # a mistyped index must not ask for a matrix of terabytes
SHOWN = 60  # characters of the offending text in a message


class _Malformed(ValueError):
    """What is wrong with a line, and the text that shows it."""

    def __init__(self, what: str, text: str) -> None:
        super().__init__(what)
        self.what, self.text = what, text


def read_svmlight(path: Path, n_features: int | None = None) -> tuple[Array, Array]:
    """Dense X (n, d) and the labels y (n,) as written; d is n_features, or else the highest index.

    A name that ends in .bz2 is decompressed. Whatever cannot be read is a DataError of one line,
    `<path>:<line>: <what is wrong>: '<text>'`.
    """
    labels: list[float] = []
    lengths: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    for number, line in enumerate(_text(path).split("\n"), start=1):
        content = line.partition("#")[0].split()
        if not content:
            continue
        try:
            labels.append(_finite(content[0], "label", content[0]))
            lengths.append(_features(content[1:], n_features, columns, values))
        except _Malformed as problem:
            raise _error(path, number, problem.what, problem.text) from None
    if not labels:
        raise _error(path, 1, "no examples in the file", "")
    width = max(columns, default=0) if n_features is None else n_features
    X = np.zeros((len(labels), width))
    X[np.repeat(np.arange(len(labels)), lengths), np.array(columns, dtype=np.intp) - 1] = values
    return X, np.array(labels)


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


def _features(tokens: list[str], limit: int | None, columns: list[int], values: list[float]) -> int:
    """Append the indices and values of one line; return how many there are."""
    last, highest = 0, MAX_INDEX if limit is None else limit
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


def _text(path: Path) -> str:
    data = _decompressed(path) if path.suffix == ".bz2" else _bytes(path)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as problem:
        number = data.count(b"\n", 0, problem.start) + 1
        start = data.rfind(b"\n", 0, problem.start) + 1
        line = data[start:].partition(b"\n")[0].decode("utf-8", errors="backslashreplace")
        raise _error(path, number, "not UTF-8 text", line) from None


def _decompressed(path: Path) -> bytes:
    """The whole text of a .bz2 file: a cut one is a ValueError of bz2, a damaged one an OSError."""
    data = _bytes(path)
    try:
        return bz2.decompress(data)
    except (ValueError, OSError) as problem:
        raise _error(path, 1, "truncated or damaged bz2", str(problem)) from None


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as problem:
        raise DataError(f"{path}: cannot be read: {problem.strerror}") from None


def _error(path: Path, line: int, what: str, text: str) -> DataError:
    shown = repr(text)[1:-1]  # control characters escaped: the message stays on one line
    shown = shown if len(shown) <= SHOWN else f"{shown[: SHOWN - 3]}..."
    return DataError(f"{path}:{line}: {what}: '{shown}'")
