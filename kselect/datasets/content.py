"""The bytes of a data file: read and unpacked within a limit, and identified by a checksum."""

from __future__ import annotations

import bz2
import errno
import gzip
import hashlib
import io
import lzma
import re
import sys
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kselect.errors import DataError, brief, printable
from kselect.files import read_most, read_regular, reason
from kselect.numerics.memory import available_memory

# Memory per byte of text in the worst case: a line of words of two letters, each a Python string.
# Short lines such as "1 1:1" need half as much, for the arrays of numbers and their matrix.
BYTES_PER_BYTE = 24
# Real data never shrink to a thousandth of their size: a file that does was made to fill the memory.
LARGEST_RATIO = 1000
STANDARD_INPUT = Path("-")
SMALLEST_LIMIT = 2**24

DAMAGED = (OSError, EOFError, ValueError, NotImplementedError, zlib.error, lzma.LZMAError)
OPENERS: dict[str, Callable[[io.BytesIO], io.BufferedIOBase]] = {
    ".gz": lambda raw: gzip.GzipFile(fileobj=raw),
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
}
STARTS = {
    ".gz": re.compile(rb"\x1f\x8b\x08"),
    ".bz2": re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)"),
    ".xz": re.compile(rb"\xfd7zXZ\0"),
    ".zip": re.compile(rb"PK(?:\x03\x04|\x05\x06)"),
}


@dataclass(frozen=True)
class UnpackedFile:
    """A file's content, its name without the ending of the packing, and the checksum of the packed file."""

    path: Path
    name: str
    data: bytes
    sha256: str


def file_error(path: Path, what: str, line: int | None = None) -> DataError:
    """Return the error ``path:line: what``, on one line."""
    return DataError(f"{printable(path)}{'' if line is None else f':{line}'}: {printable(what)}")


def open_data_file(path: Path) -> UnpackedFile:
    """Read and unpack a file; ``-`` is the standard input."""
    raw = read_input(path) if path == STANDARD_INPUT else read_content(path)
    return UnpackedFile(path, *unpack(path, raw), sha256_of(raw))


def read_input(path: Path) -> bytes:
    """Return the bytes of the standard input, within the limit of a file."""
    try:
        return read_most(sys.stdin.buffer.read, content_limit())
    except OSError as error:
        raise file_error(path, reason(error)) from None


def read_content(path: Path, most: int | None = None, sha256: str = "") -> bytes:
    """Return the bytes of a file, at most ``most``; the default limit is what fits into memory.

    The checksum is compared with the bytes that are returned, because the file may have changed since it was found.
    """
    try:
        content = read_regular(path, content_limit() if most is None else most)
    except OSError as error:
        raise file_error(path, reason(error)) from None
    if sha256 and (found := sha256_of(content)) != sha256:
        raise file_error(path, changed(found, sha256))
    return content


def changed(found: str, before: str) -> str:
    """Return the message about a file that was replaced after its checksum was computed."""
    return f"changed since it was checked: sha256 is {found}, it was {before}"


def unpack(path: Path, raw: bytes, most: int | None = None) -> tuple[str, bytes]:
    """Return the lower-case name without its packing, and the unpacked content of at most ``most`` bytes.

    The packing (.gz, .bz2, .xz, .zip) follows from the first bytes, else from the name. Larger content is
    refused while it is unpacked, before it fills the memory.
    """
    name, limit = path.name.lower(), text_limit(len(raw)) if most is None else most
    by_name = (ending for ending in STARTS if name.endswith(ending))
    packing = next((e for e, start in STARTS.items() if start.match(raw)), next(by_name, ""))
    try:
        if packing == ".zip":
            return unzip(path, raw, limit)
        if not packing:
            return name, raw
        with OPENERS[packing](io.BytesIO(raw)) as stream:
            return name.removesuffix(packing), read_most(stream.read, limit)
    except (zipfile.BadZipFile, *DAMAGED) as error:
        if isinstance(error, OSError) and error.errno == errno.EFBIG:
            raise file_error(path, f"unpacked, it {reason(error)}") from None
        what = f"not a whole {packing} file: it is cut off or damaged"
        raise file_error(path, what) from None


def unzip(path: Path, raw: bytes, most: int) -> tuple[str, bytes]:
    """Return the name and the content of the only file in an archive; refuse any other archive.

    The archive of an Excel workbook is returned as it is.
    """
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        # Without folders, and without the hidden files that macOS adds.
        hidden = re.compile(r"__MACOSX/.*|(?:.*/)?(?:\.[^/]*)?", re.DOTALL)
        members = [m for m in archive.infolist() if not hidden.fullmatch(m.filename)]
        names = [member.filename for member in members]
        if "content.xml" in names:
            raise file_error(path, "a spreadsheet of OpenDocument: save the sheet as CSV or .xlsx")
        if "xl/workbook.xml" in names:
            if sum(member.file_size for member in members) > most:
                raise OSError(errno.EFBIG, f"is too large: more than {most} bytes")
            return path.name.lower(), raw
        if len(members) != 1:
            listed = f": {', '.join(map(brief, names[:4]))}{', ...' if len(names) > 4 else ''}"
            raise file_error(
                path, f"the archive holds {len(names)} files{listed if names else ''}; one is read"
            )
        if members[0].flag_bits & 1:
            raise file_error(path, "the archive is encrypted: unpack it first")
        with archive.open(members[0]) as stream:
            return Path(names[0]).name.lower(), read_most(stream.read, most)


def content_limit() -> int:
    """Return the size of the largest text that fits into the available memory while it is read."""
    return available_memory() // BYTES_PER_BYTE


def text_limit(packed: int) -> int:
    """Return the largest size that the content of a packed file of ``packed`` bytes may have."""
    return min(content_limit(), max(LARGEST_RATIO * packed, SMALLEST_LIMIT))


def sha256_of(content: bytes) -> str:
    """Return the checksum that the registry and the records hold."""
    return hashlib.sha256(content).hexdigest()


def git_blob_id(data: bytes) -> str:
    r"""Return the id under which git stores a file: ``sha1("blob <length>\0" + bytes)``."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
