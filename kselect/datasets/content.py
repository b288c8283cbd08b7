"""The bytes of a data file: plain files alone, unpacked in pieces, never more than memory can hold."""

from __future__ import annotations

import bz2
import errno
import gzip
import hashlib
import io
import zlib
from pathlib import Path

from kselect.errors import DataError, printable
from kselect.files import read_most, read_regular, reason
from kselect.numerics.memory import available_memory, gib

# While it is read: a line of words of two letters, each of them a Python text; short lines such as
# "1 1:1" need half of that, for the arrays of their numbers and what makes a matrix of them.
BYTES_PER_BYTE = 24
# Real data do not shrink to a thousandth: a file that does was made to fill the memory.
LARGEST_RATIO = 1000
SMALLEST_LIMIT = 2**24
MATRICES = 3  # the rows as read, as scaled, and what is between


class Damaged(ValueError):
    """A compressed file that is cut or damaged; readers say so in their own words."""


def read_content(path: Path, most: int | None = None) -> bytes:
    """The bytes of a file as they are; ``most`` is known of a registered file, else memory decides."""
    limit = content_limit() if most is None else most
    try:
        return read_regular(path, limit)
    except OSError as error:
        raise DataError(f"{printable(path)}: cannot be read: {reason(error)}") from None


def git_blob_id(data: bytes) -> str:
    r"""The id under which git stores a file: ``sha1("blob <length>\0" + bytes)``."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def unpacked(path: Path, raw: bytes, most: int | None = None) -> bytes:
    """The text of a file by its ending (.bz2, .gz); once it gets too large, a DataError."""
    if not (stream := opened(path, raw)):
        return raw
    try:
        with stream:
            return read_most(stream, text_limit(len(raw)) if most is None else most)
    except (OSError, EOFError, zlib.error) as error:
        if isinstance(error, OSError) and error.errno == errno.EFBIG:
            raise DataError(f"{printable(path)}: unpacked, it {reason(error)}") from None
        raise Damaged(str(error)) from None


def text_limit(packed: int) -> int:
    """The most that a file of so many bytes may hold once it is unpacked."""
    return min(content_limit(), max(LARGEST_RATIO * packed, SMALLEST_LIMIT))


def opened(path: Path, raw: bytes) -> io.BufferedIOBase | None:
    """A stream that unpacks, None where the name says that nothing is packed."""
    if path.suffix == ".bz2":
        return bz2.BZ2File(io.BytesIO(raw))
    if path.suffix == ".gz":
        return gzip.GzipFile(fileobj=io.BytesIO(raw))
    return None


def content_limit() -> int:
    """The largest text that can be read with the memory that is there."""
    return available_memory() // BYTES_PER_BYTE


def sha256_of(content: bytes) -> str:
    """The checksum that the registry and the records hold."""
    return hashlib.sha256(content).hexdigest()


def require_matrix(path: Path, n: int, d: int) -> None:
    """Refuse n rows of d features before they are allocated, if they would not fit."""
    needed, there = 8 * MATRICES * n * d, available_memory()
    if needed > there:
        raise DataError(
            f"{printable(path)}: {n} rows x {d} features need {gib(needed)} of memory as {MATRICES} "
            f"matrices; {gib(there)} are free"
        )
