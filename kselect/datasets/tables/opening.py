"""A file of any kind as a raw table: columns of text, svmlight or Parquet, packed or not."""

from __future__ import annotations

import tempfile
from pathlib import Path

from kselect.datasets.svmlight import read_svmlight
from kselect.datasets.tables.parquet import is_parquet, read_parquet
from kselect.datasets.tables.raw import Kind, Place, RawTable
from kselect.datasets.tables.rows import Header, read_columns
from kselect.datasets.tables.text import (
    Unpacked,
    content_lines,
    decode,
    has_delimiter,
    is_svmlight,
    unpack,
)
from kselect.errors import DataError
from kselect.numerics.linalg import Array

ENDINGS = (".csv", ".tsv", ".tab")


def read_raw(path: Path, header: Header, columns: bool = False) -> RawTable:
    """A file of any kind; ``columns``: what has no delimiter in its first line has one column."""
    unpacked = unpack(path)
    if is_parquet(unpacked):
        return read_parquet(unpacked)
    text = decode(unpacked)
    delimited = columns or unpacked.name.endswith(ENDINGS) or has_delimiter(text.text)
    if delimited and not is_svmlight(text.text):
        return read_columns(unpacked, text, header)
    first = content_lines(text.text)[:1]
    if first and len(first[0].split()) > 1 and not is_svmlight(text.text):
        raise DataError(
            f"{path}: no commas, semicolons or tabs between columns, and no index:value as in svmlight"
        )
    return read_labelled(unpacked)


def read_labelled(unpacked: Unpacked, n_features: int | None = None) -> RawTable:
    """A file in svmlight form; its columns are called 1, 2, ..."""
    X, labels = read_unpacked(unpacked, n_features)
    place = Place(unpacked.path)
    if not X.shape[1]:
        raise place.error("no features, only targets")
    names = tuple(str(i) for i in range(1, X.shape[1] + 1))
    columns: tuple[Array, ...] = tuple(X.T)
    number: Kind = "number"
    return RawTable(
        place, unpacked.sha256, "svmlight", names, False, columns, (number,) * len(names), labels
    )


def read_unpacked(unpacked: Unpacked, n_features: int | None) -> tuple[Array, Array]:
    """``read_svmlight``, which opens files by itself: what it cannot unpack is put where it can."""
    path = unpacked.path
    if unpacked.name in (path.name.lower(), path.name.lower().removesuffix(".bz2")):
        return read_svmlight(path, n_features)
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "plain"
        plain.write_bytes(unpacked.data)
        try:
            return read_svmlight(plain, n_features)
        except DataError as error:
            raise DataError(f"{path}{str(error).removeprefix(str(plain))}") from None
