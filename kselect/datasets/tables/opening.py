"""A file of any kind as a raw table: columns of text, svmlight or Parquet, packed or not."""

from __future__ import annotations

from pathlib import Path

from kselect.datasets.svmlight import parse_plain
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
from kselect.errors import DataError, printable
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
            f"{printable(path)}: no commas, semicolons or tabs between columns, and no index:value as in svmlight"
        )
    return read_labelled(unpacked)


def read_labelled(unpacked: Unpacked, n_features: int | None = None) -> RawTable:
    """A file in svmlight form; its columns are called 1, 2, ..."""
    X, labels = parse_plain(unpacked.data, unpacked.path, n_features)
    place = Place(unpacked.path)
    if not X.shape[1]:
        raise place.error("no features, only targets")
    names = tuple(str(i) for i in range(1, X.shape[1] + 1))
    columns: tuple[Array, ...] = tuple(X.T)
    number: Kind = "number"
    return RawTable(
        place, unpacked.sha256, "svmlight", names, False, columns, (number,) * len(names), labels
    )
