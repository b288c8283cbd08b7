"""Text in the svmlight format: ``label index:value index:value ...``, one row per line.

Indices start at 1, in some files at 0, and ascend; missing indices mean 0. A ``#`` begins a comment. ``qid:`` is
refused: it marks the groups of a ranking task, and ignoring it would learn a different task.
"""

from __future__ import annotations

import bz2
import io
import math
import re
from array import array
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from kselect.datasets.content import file_error
from kselect.errors import DataError
from kselect.numerics.linalg import Array
from kselect.numerics.memory import available_memory, gib

MAX_INDEX = 1_000_000  # a mistyped index must not ask for a matrix of terabytes
INDEX = re.compile(r"[-+]?[0-9]{1,100}")
MATRICES = 3  # the rows as read, the scaled rows, and one intermediate result
ZERO = re.compile(rb"^[^#\n]*[ \t]0:", re.MULTILINE)
SHOWN = 60  # characters of the offending text in a message


class _Malformed(ValueError):
    """An error in a line, and the text that shows it."""

    def __init__(self, what: str, text: str) -> None:
        super().__init__(what)
        self.what, self.text = what, text


def parse_svmlight(
    data: bytes, path: Path, n_features: int | None = None, first: int = 1
) -> tuple[Array, Array]:
    """Return the dense X (n, d) and the labels y (n,) of an unpacked file.

    ``first`` is the index of the first feature. d is ``n_features``, or else the number of features up to the
    highest index; the matrix is allocated once its size is known to fit into memory. Every error is a DataError of
    one line: ``<path>:<line>: <what is wrong>: '<text>'``.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start)
        shown = data.split(b"\n")[line].decode("utf-8", errors="backslashreplace")
        raise _error(path, line + 1, "not UTF-8 text", shown) from None
    labels, values = array("d"), array("d")
    columns, lengths = array("q"), array("q")
    for number, row in enumerate(io.StringIO(text), start=1):
        if tokens := row.partition("#")[0].split():
            try:
                _append(tokens, n_features, first, labels, columns, values)
            except _Malformed as problem:
                raise _error(path, number, problem.what, problem.text) from None
            lengths.append(len(tokens) - 1)
    if not labels:
        raise _error(path, 1, "no examples in the file", "")
    n, indices = len(labels), np.array(columns)
    width = int(indices.max(initial=first - 1)) + 1 - first if n_features is None else n_features
    needed, there = 8 * MATRICES * n * width, available_memory()
    if needed > there:
        size = f"{gib(needed)} of memory as {MATRICES} matrices; {gib(there)} are free"
        raise file_error(path, f"{n} rows x {width} features need {size}")
    X = np.zeros((n, width))
    X[np.repeat(np.arange(n), lengths), indices - first] = values
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


def _append(
    tokens: list[str],
    limit: int | None,
    first: int,
    labels: array[float],
    columns: array[int],
    values: array[float],
) -> None:
    """Append the label, indices and values of one line, 16 bytes per pair."""
    last, highest = first - 1, (MAX_INDEX if limit is None else limit) + first - 1
    for position, token in enumerate(tokens):
        text, colon, number = token.partition(":") if position else ("", "", token)
        if position and not colon:
            raise _Malformed("missing colon", token)
        if text == "qid":
            raise _Malformed("qid is not supported", token)
        if position and not INDEX.fullmatch(text):
            raise _Malformed("index is not an integer", token)
        try:
            # Only Python reads 1_000 and the digits of other scripts as numbers.
            value = float(number if number.isascii() and "_" not in number else "")
        except ValueError:
            value = None
        if value is None or not math.isfinite(value):
            what = "a number" if value is None else "finite"
            raise _Malformed(f"{'value' if position else 'label'} is not {what}", token)
        if not position:
            labels.append(value)
            continue
        index = int(text)
        if not last < index <= highest:
            high = f"index above {'' if limit is None else 'n_features = '}{limit or MAX_INDEX}"
            low = "duplicated index" if index == last else "indices not ascending"
            what = f"index below {first}" if index < first else high if index > last else low
            raise _Malformed(what, token)
        columns.append(index)
        values.append(value)
        last = index


def _error(path: Path, line: int, what: str, text: str) -> DataError:
    shown = repr(text)[1:-1]  # control characters escaped: the message stays on one line
    shown = shown if len(shown) <= SHOWN else f"{shown[: SHOWN - 3]}..."
    return file_error(path, f"{what}: '{shown}'", line)
