"""From the bytes of a file to its text: what it is packed in, its encoding, its comments and its delimiter."""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import lzma
import re
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import cast

from kselect.datasets.content import content_limit, sha256_of, text_limit
from kselect.datasets.tables.decisions import Decision
from kselect.errors import DataError, brief, printable
from kselect.files import read_most, read_regular, reason

DELIMITERS = "\t;,"
LINES_TRIED = 20
BOMS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
# What is below a space but tab, newline, vertical tab, form feed and carriage return: a text may hold
# a few by mistake, but never a zero.
CONTROL = re.compile("[\0-\x08\x0e-\x1f]")
CONTROL_SHARE = 0.01
COMMENT = re.compile(r"^[ \t]*#", re.MULTILINE)
LINE = re.compile(r"[^\r\n]+")
QUOTED = re.compile(r'"[^"]*"')
# A label and at least one index:value; no comma or semicolon within, which a time of day in a CSV row has.
SVMLIGHT = re.compile(r"\S+(?:[ \t]+(?:qid|\d+):[^\s:,;]*)+[ \t]*(?:#.*)?")
DAMAGED = (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError)


@dataclass(frozen=True)
class Unpacked:
    """The content of a file, the name that it has without the packing, and the checksum of the file itself."""

    path: Path
    name: str
    data: bytes
    sha256: str


@dataclass(frozen=True)
class Text:
    """A decoded text whose comment lines are blank, so that its line numbers are those of the file."""

    text: str
    comments: tuple[str, ...]
    decisions: tuple[Decision, ...]


def unpack(path: Path) -> Unpacked:
    """The content of a plain, .gz, .bz2, .xz or .zip file; told by its first bytes or its name."""
    try:
        raw = read_regular(path, content_limit())
    except OSError as error:
        raise DataError(f"{printable(path)}: {reason(error)}") from None
    sha256, name = sha256_of(raw), path.name.lower()
    kind = packing(raw, name)
    if kind == ".zip":
        member, data = unzip(path, raw)
        return Unpacked(path, member.lower(), data, sha256)
    if not kind:
        return Unpacked(path, name, raw, sha256)
    data = read_packed(path, kind, lambda: OPENERS[kind](io.BytesIO(raw)), len(raw))
    return Unpacked(path, name.removesuffix(kind), data, sha256)


def read_packed(
    path: Path, kind: str, open_: Callable[[], io.BufferedIOBase], packed: int
) -> bytes:
    """What is packed, in pieces; once it gets larger than memory or any table, it is refused."""
    try:
        with open_() as stream:
            return read_most(stream, text_limit(packed))
    except (zipfile.BadZipFile, NotImplementedError, *DAMAGED) as error:
        if isinstance(error, OSError) and error.errno == errno.EFBIG:
            raise DataError(f"{printable(path)}: unpacked, it {reason(error)}") from None
        what = f"not a whole {kind} file: it is cut off or damaged"
        raise DataError(f"{printable(path)}: {what}") from None


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


def packing(raw: bytes, name: str) -> str:
    """The ending that fits the first bytes, else that of the name, else nothing."""
    by_content = (ending for ending, start in STARTS.items() if start.match(raw))
    by_name = (ending for ending in STARTS if name.endswith(ending))
    return next(by_content, next(by_name, ""))


def unzip(path: Path, raw: bytes) -> tuple[str, bytes]:
    """The name and the content of the one file in an archive."""
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            members = [m for m in archive.infolist() if is_content(m)]
            refuse_many(path, [m.filename for m in members])
            one = members[0]
            data = read_packed(path, ".zip", lambda: opened(archive, one), len(raw))
            return Path(one.filename).name, data
    except (zipfile.BadZipFile, *DAMAGED):
        what = "not a whole .zip file: it is cut off or damaged"
        raise DataError(f"{printable(path)}: {what}") from None
    except RuntimeError:  # what zipfile raises for a password, and for nothing else
        raise DataError(f"{printable(path)}: the archive is encrypted: unpack it first") from None


def opened(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> io.BufferedIOBase:
    """A stream that unpacks one member."""
    return cast(io.BufferedIOBase, archive.open(member))


def is_content(member: zipfile.ZipInfo) -> bool:
    """Whether a member is a file of its own, not a folder or what macOS adds."""
    name = Path(member.filename).name
    return not (member.is_dir() or member.filename.startswith("__MACOSX/") or name.startswith("."))


def refuse_many(path: Path, members: list[str]) -> None:
    """An archive of several files, or of none, has no one table."""
    if "xl/workbook.xml" in members or "content.xml" in members:
        raise DataError(f"{printable(path)}: a spreadsheet: save the sheet as CSV")
    if len(members) != 1:
        listed = f": {', '.join(map(brief, members[:4]))}{', ...' if len(members) > 4 else ''}"
        raise DataError(
            f"{printable(path)}: the archive holds {len(members)} files{listed if members else ''}; one is read"
        )


def decode(unpacked: Unpacked) -> Text:
    """UTF-8, or UTF-16 with its mark, else Windows-1252 or Latin-1, which is said; comment lines made blank."""
    data, path = unpacked.data, unpacked.path
    decisions = []
    encoding = BOMS.get(data[:2], "utf-8-sig")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        text = decode_western(data)
        decisions.append(Decision(None, "not UTF-8: read as Latin-1 (Windows-1252)"))
    text = text.rstrip("\x1a")  # the end of a file, as DOS marked it
    refuse_binary(path, text)
    text, comments = blank_comments(text)
    if comments:
        lines = "1 line that begins" if len(comments) == 1 else f"{len(comments)} lines that begin"
        decisions.append(Decision(None, f"{lines} with # left out"))
    return Text(text, tuple(comments), tuple(decisions))


def refuse_binary(path: Path, text: str) -> None:
    """Every file reads as Latin-1; what is no text has characters that no text has."""
    strange = CONTROL.findall(text)
    if "\0" in strange or len(strange) > CONTROL_SHARE * len(text):
        first = "\0" if "\0" in strange else strange[0]
        line = text.count("\n", 0, text.index(first)) + 1
        raise DataError(f"{printable(path)}:{line}: not a text: it holds the character {first!r}")


def decode_western(data: bytes) -> str:
    """Windows-1252, which has the letters of Latin-1 and the Euro sign; Latin-1 where it has a gap."""
    try:
        return data.decode("cp1252")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def blank_comments(text: str) -> tuple[str, list[str]]:
    """The text with its ``#`` lines blank, and these lines; one inside a quoted field is no comment."""
    if not COMMENT.search(text):
        return text, []
    kept, comments, quoted = [], [], False
    for line in text.splitlines(keepends=True):
        if not quoted and COMMENT.match(line):
            comments.append(line.strip())
            kept.append("\n")
            continue
        quoted ^= line.count('"') % 2 == 1
        kept.append(line)
    return "".join(kept), comments


def content_lines(text: str) -> list[str]:
    """The first lines that are not blank."""
    filled = (match[0] for match in LINE.finditer(text) if match[0].strip())
    return list(islice(filled, LINES_TRIED))


def is_svmlight(text: str) -> bool:
    """Whether one of the first lines is ``label index:value ...`` (a row of zeros alone is not)."""
    return any(SVMLIGHT.fullmatch(line.strip()) for line in content_lines(text))


def has_delimiter(text: str) -> bool:
    """Whether the first line has a comma, a semicolon or a tab."""
    return any(d in line for line in content_lines(text)[:1] for d in DELIMITERS)


def find_delimiter(text: str) -> str:
    """Tab, semicolon or comma: that which all first lines have equally often, else the first line's most.

    Where semicolon and comma both qualify, the commas of ``1,5;2,5`` are decimal commas.
    """
    lines = [QUOTED.sub("", line) for line in content_lines(text)] or [""]
    steady = [
        d for d in DELIMITERS if len({line.count(d) for line in lines}) == 1 and d in lines[0]
    ]
    if not steady:
        return max(reversed(DELIMITERS), key=lines[0].count)
    if ";" in steady and "," in steady:
        outside = any(re.search(r"(?<!\d),|,(?!\d)", line) for line in lines)
        return "," if outside else ";"
    return steady[0]
