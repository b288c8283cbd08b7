"""Text in the svmlight format: ``label index:value index:value ...``, one row per line.

Indices start at 1 and ascend; missing indices mean 0. A ``#`` begins a comment. ``qid:`` is refused: it marks the
groups of a ranking task, and ignoring it would learn a different task.
"""

from __future__ import annotations

import bz2
import io
import math
from array import array
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from kselect.datasets.content import file_error, require_matrix, unpack
from kselect.errors import DataError
from kselect.numerics.linalg import Array

MAX_INDEX = 1_000_000  # a mistyped index must not ask for a matrix of terabytes
SHOWN = 60  # characters of the offending text in a message


class _Malformed(ValueError):
    """An error in a line, and the text that shows it."""

    def __init__(self, what: str, text: str) -> None:
        super().__init__(what)
        self.what, self.text = what, text


def parse_svmlight(
    content: bytes, path: Path, n_features: int | None = None, most: int | None = None
) -> tuple[Array, Array]:
    """Return the dense X (n, d) and the labels y (n,) of a file's bytes, packed or not.

    d is ``n_features``, or else the highest index; ``most`` limits the unpacked size in bytes. Every error is a
    DataError of one line: ``<path>:<line>: <what is wrong>: '<text>'``.
    """
    return parse_plain(unpack(path, content, most)[1], path, n_features)


def parse_plain(data: bytes, path: Path, n_features: int | None = None) -> tuple[Array, Array]:
    """Do the same for unpacked bytes; the matrix is allocated once its size is known to fit into memory."""
    labels, values = array("d"), array("d")
    columns, lengths = array("q"), array("q")
    for number, line in enumerate(_lines(data, path), start=1):
        tokens = line.decode("utf-8").partition("#")[0].split()
        if not tokens:
            continue
        try:
            labels.append(_finite(tokens[0], "label", tokens[0]))
            _append(tokens[1:], n_features, columns, values)
        except _Malformed as problem:
            raise _error(path, number, problem.what, problem.text) from None
        lengths.append(len(tokens) - 1)
    if not labels:
        raise _error(path, 1, "no examples in the file", "")
    n, indices = len(labels), np.array(columns)
    width = int(indices.max(initial=0)) if n_features is None else n_features
    require_matrix(path, n, width)
    X = np.zeros((n, width))
    X[np.repeat(np.arange(n), lengths), indices - 1] = values
    return X, np.array(labels)


def write_svmlight(path: Path, X: ArrayLike, y: ArrayLike) -> None:
    """Write X (n, d) and y (n,) without zeros, in the fewest digits that read back the same.

    Equal numbers give equal bytes. A name that ends in .bz2 is compressed. Trailing columns of zeros are not
    written, so read the file back with ``n_features``.
    """
    features, labels = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if features.ndim != 2 or labels.shape != features.shape[:1] or not labels.size:
        raise ValueError(f"cannot write X of shape {features.shape} with y of {labels.shape}")
    if not (np.isfinite(features).all() and np.isfinite(labels).all()):
        raise ValueError("cannot write NaN or infinity")
    lines = []
    for label, row in zip(labels.tolist(), features.tolist(), strict=True):
        pairs = (f" {i}:{shortest(value)}" for i, value in enumerate(row, start=1) if value)
        lines.append(f"{shortest(label)}{''.join(pairs)}\n")
    data = "".join(lines).encode("ascii")
    path.write_bytes(bz2.compress(data) if path.suffix == ".bz2" else data)


def shortest(value: float) -> str:
    """Return the fewest digits that read back as the same float: '1', '0.5', '1e+16'; zero has no sign."""
    return repr(value + 0.0).removesuffix(".0")


def _lines(data: bytes, path: Path) -> Iterator[bytes]:
    """Return the lines of a text; refuse it if one of them is not UTF-8."""
    for number, line in enumerate([] if data.isascii() else io.BytesIO(data), start=1):
        try:
            line.decode("utf-8")
        except UnicodeDecodeError:
            shown = line.decode("utf-8", errors="backslashreplace").removesuffix("\n")
            raise _error(path, number, "not UTF-8 text", shown) from None
    return iter(io.BytesIO(data))


def _append(
    tokens: list[str], limit: int | None, columns: array[int], values: array[float]
) -> None:
    """Append the indices and values of one line, 16 bytes per pair."""
    last, highest = 0, MAX_INDEX if limit is None else limit
    for token in tokens:
        text, colon, number = token.partition(":")
        if not colon:
            raise _Malformed("missing colon", token)
        if text == "qid":
            raise _Malformed("qid is not supported", token)
        try:
            index = int(_plain(text))
        except ValueError:
            raise _Malformed("index is not an integer", token) from None
        value = _finite(number, "value", token)
        if not last < index <= highest:
            raise _Malformed(_misplaced(index, last, limit), token)
        columns.append(index)
        values.append(value)
        last = index


def _misplaced(index: int, last: int, limit: int | None) -> str:
    """Return the reason why an index may not follow another one."""
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
    """Return the text; refuse 1_000 and digits of other scripts, which only Python reads as numbers."""
    if "_" in text or not text.isascii():
        raise ValueError(text)
    return text


def _error(path: Path, line: int, what: str, text: str) -> DataError:
    shown = repr(text)[1:-1]  # control characters escaped: the message stays on one line
    shown = shown if len(shown) <= SHOWN else f"{shown[: SHOWN - 3]}..."
    return file_error(path, f"{what}: '{shown}'", line)
