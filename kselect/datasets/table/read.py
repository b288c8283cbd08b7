"""Read a file of any kind as a raw table: tell its format, decode its text, and find delimiter and header.

``plain_fields`` splits a text without doubts. Python's csv module splits any other, because it reports the line of
each row and its number of fields; ``pandas.read_csv`` silently fills up short rows.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np

from kselect.datasets.content import UnpackedFile, file_error
from kselect.datasets.table import more_formats, plain_fields
from kselect.datasets.table.arrow import arrow_format, read_arrow
from kselect.datasets.table.raw_table import (
    Fields,
    FilePlace,
    RawTable,
    ReadingDecision,
    read_labelled,
)
from kselect.datasets.table.written_values import MISSING, is_number
from kselect.errors import quoted
from kselect.numerics.memory import available_memory, gib

ENDINGS = (".csv", ".tsv", ".tab")
DELIMITERS = "\t;,"
LINES_TRIED = 20
BOMS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
# Characters below the space, except tab, newline, vertical tab, form feed and carriage return. A text may
# contain a few by mistake, but never a zero.
CONTROL = re.compile("[\0-\x08\x0e-\x1f]")
NO_CONTROL = bytes(c for c in range(256) if not CONTROL.match(chr(c)))
CONTROL_SHARE = 0.01
COMMENT = re.compile(r"^[ \t]*#", re.MULTILINE)
LINE = re.compile(rb"[^\r\n]+")
QUOTED = re.compile(r'"[^"]*"')
# A label and at least one index:value, without commas and semicolons: a CSV row may contain a time of day.
SVMLIGHT = re.compile(r"\S+(?:[ \t]+(?:qid|\d+):[^\s:,;]*)+[ \t]*(?:#.*)?")
NUMBERED = "no header line: the columns are named 1, 2, ..."
# Python's csv makes a string of each field and a list of each line, before columns and numbers are made.
BYTES_PER_FIELD, BYTES_PER_LINE, BYTES_PER_CHARACTER = 110, 250, 9
NumberedRows = list[tuple[int, list[str]]]  # each row with its line
Header = Callable[[Sequence[Sequence[str]]], bool]


def read_raw(file: UnpackedFile, header: Header, columns: bool = False) -> RawTable:
    """Read a file; ``columns`` takes a text without delimiters as one column."""
    if form := arrow_format(file):
        return read_arrow(file, form)
    if more_formats.is_excel(file):
        return read_sheet(file, header)
    more_formats.refuse_unread(file)
    text = decode(file)
    if more_formats.is_json_lines(file):
        return replace(more_formats.read_json_lines(file, text.text), decisions=text.decisions)
    # One of the first lines tells svmlight, because a row of zeros has only a label.
    svmlight = any(SVMLIGHT.fullmatch(line.strip()) for line in text.first_lines)
    first = text.first_lines[0] if text.first_lines else ""
    if not svmlight:
        if columns or file.name.endswith(ENDINGS) or any(d in first for d in DELIMITERS):
            return read_columns(file, text, header)
        if len(first.split()) > 1:
            what = (
                "no commas, semicolons or tabs between columns, and no index:value as in svmlight"
            )
            raise file_error(file.path, what)
    return read_labelled(file)


def read_sheet(file: UnpackedFile, header: Header) -> RawTable:
    """Read the first sheet of an Excel workbook like a text with tabs."""
    data, notes = more_formats.excel_as_tabs(file)
    first = (match[0].decode() for match in LINE.finditer(data))
    said = tuple(ReadingDecision(None, note) for note in notes)
    return read_columns(
        file, DecodedText(data, (), said, tuple(islice(first, LINES_TRIED))), header
    )


# --- from bytes to text -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DecodedText:
    """A text in UTF-8 with blank lines in place of comments, so that line numbers agree with the file."""

    data: bytes
    comments: tuple[str, ...]
    decisions: tuple[ReadingDecision, ...]
    first_lines: tuple[str, ...]  # those that are not blank

    @property
    def text(self) -> str:
        """The characters."""
        return self.data.decode()


def decode(file: UnpackedFile) -> DecodedText:
    """Decode UTF-8, UTF-16 with its mark, else Windows-1252 or Latin-1, and blank the comment lines."""
    data, decisions = file.data, []
    if not data.isascii():
        try:
            text = data.decode(BOMS.get(data[:2], "utf-8-sig"))
        except UnicodeDecodeError:
            decisions.append(ReadingDecision(None, "not UTF-8: read as Latin-1 (Windows-1252)"))
            try:
                text = data.decode("cp1252")  # Latin-1 with the Euro sign, and a few gaps
            except UnicodeDecodeError:
                text = data.decode("latin-1")
        data = text.encode()
    data = data.rstrip(b"\x1a")  # the end of a file, as DOS marked it
    strange = data.translate(None, NO_CONTROL)
    if strange and (0 in strange or len(strange) > CONTROL_SHARE * len(data.decode())):
        # Any bytes decode as Latin-1, but text does not contain these characters.
        first = b"\0" if 0 in strange else strange[:1]
        line = data.count(b"\n", 0, data.index(first)) + 1
        what = f"not a text: it holds the character {first.decode()!r}"
        raise file_error(file.path, what, line)
    comments: list[str] = []
    if b"#" in data:
        text, comments = blank_comments(data.decode())
        data = text.encode()
    if comments:
        lines = "1 line that begins" if len(comments) == 1 else f"{len(comments)} lines that begin"
        decisions.append(ReadingDecision(None, f"skipped {lines} with #"))
    found = (match[0].decode() for match in LINE.finditer(data))
    filled = (line for line in found if line.strip())
    return DecodedText(data, tuple(comments), tuple(decisions), tuple(islice(filled, LINES_TRIED)))


def blank_comments(text: str) -> tuple[str, list[str]]:
    """Return the text with blank ``#`` lines, and these lines; a ``#`` line inside quotes is not a comment."""
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


def find_delimiter(text: DecodedText) -> str:
    """Return the first of tab, semicolon and comma that all first lines have equally often.

    Otherwise, return the most frequent one of the first line. If semicolon and comma both qualify, the commas of
    ``1,5;2,5`` are decimal commas.
    """
    lines = [QUOTED.sub("", line) for line in text.first_lines] or [""]
    steady = [
        d for d in DELIMITERS if len({line.count(d) for line in lines}) == 1 and d in lines[0]
    ]
    if not steady:
        return max(reversed(DELIMITERS), key=lines[0].count)
    if ";" in steady and "," in steady:
        outside = any(re.search(r"(?<!\d),|,(?!\d)", line) for line in lines)
        return "," if outside else ";"
    return steady[0]


# --- from text to columns -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SplitText:
    """A text in rows of equal width: the line of each, the first ones, and the columns below some of them."""

    lines: Sequence[int]
    head: Sequence[Sequence[str]]
    columns: Callable[[int], tuple[Fields, ...]]
    decisions: tuple[ReadingDecision, ...] = ()


def read_columns(file: UnpackedFile, text: DecodedText, header: Header) -> RawTable:
    """Split a delimited text into named columns; without a header line they are named 1, 2, ..."""
    path, delimiter = file.path, find_delimiter(text)
    found = split_plainly(path, text, delimiter) or split(path, text, delimiter)
    first = found.head[0]
    names, whence, skip = names_in_comment(text, delimiter, len(first)), "", 0
    if header(found.head):
        # A nameless column is named as pandas does.
        names, skip = [one_line(name) or f"Unnamed: {i}" for i, name in enumerate(first)], 1
        if twice := [name for name, times in Counter(names).items() if times > 1]:
            raise file_error(path, f"two columns are named {quoted(twice[0])}", found.lines[0])
    elif names:
        whence = "the names of the columns are read from a # line"
    else:
        names, whence = [str(i) for i in range(1, len(first) + 1)], NUMBERED
    if len(found.lines) == skip:
        raise file_error(path, "a header and no rows")
    return RawTable(
        FilePlace(path, found.lines[skip:]),
        file.sha256,
        "columns",
        tuple(names),
        whence != NUMBERED,
        found.columns(skip),
        (None,) * len(names),
        decimal_commas=delimiter != ",",
        decisions=(
            *(*text.decisions, *found.decisions),
            *([ReadingDecision(None, whence)] if whence else []),
        ),
    )


def split_plainly(path: Path, text: DecodedText, delimiter: str) -> SplitText | None:
    """Split a text by array operations, if it is certain that the csv module would split it in the same way."""
    require_fields(path, text, plain_fields.BYTES_PER_FIELD, plain_fields.BYTES_PER_CHARACTER)
    if (grid := plain_fields.split_plainly(text.data, delimiter)) is None:
        return None

    def columns(skip: int) -> tuple[Fields, ...]:
        below = grid.below(skip)
        if not below.numeric.all():
            require_fields(path, text, BYTES_PER_FIELD, 0, BYTES_PER_LINE)
        return below.columns()

    return SplitText(grid.lines, grid.head(ROWS_LOOKED_AT), columns)


def require_fields(
    path: Path, text: DecodedText, per_field: int, per_character: int = 0, per_line: int = 0
) -> None:
    """Refuse a text whose fields would not fit into memory; they take many times its bytes."""
    data, there = text.data, available_memory()
    if (per_field + per_line + per_character) * (len(data) + 1) <= there:
        return  # the separators need not be counted
    lines = data.count(b"\n") + data.count(b"\r") + 1
    fields = lines + max(data.count(d.encode()) for d in DELIMITERS)
    needed = per_field * fields + per_line * lines + per_character * len(data)
    if needed > there:
        raise file_error(
            path,
            f"{fields} fields in {lines} lines need {gib(needed)} of memory; {gib(there)} are free",
        )


def split(path: Path, text: DecodedText, delimiter: str) -> SplitText:
    """Return the stripped fields of all rows; leave out empty rows, and refuse rows of unequal length."""
    require_fields(path, text, BYTES_PER_FIELD, BYTES_PER_CHARACTER, BYTES_PER_LINE)
    reader = csv.reader(
        io.StringIO(text.text, newline=""),
        delimiter=delimiter,
        skipinitialspace=delimiter != "\t",
    )
    try:
        stripped = ((reader.line_num, [field.strip() for field in row]) for row in reader)
        rows = [(line, row) for line, row in stripped if any(row)]
    except csv.Error as error:
        raise file_error(path, str(error), reader.line_num) from None
    if not rows:
        raise file_error(path, "no rows")
    numbered, decisions = even_out(path, rows)
    lines, fields = [line for line, _ in numbered], [fields for _, fields in numbered]
    return SplitText(
        lines,
        fields[:ROWS_LOOKED_AT],
        lambda skip: tuple(zip(*fields[skip:], strict=True)),
        tuple(decisions),
    )


def even_out(path: Path, rows: NumberedRows) -> tuple[NumberedRows, list[ReadingDecision]]:
    """Return rows of equal width; refuse other rows, except if all have one field more than the first.

    A comma at the end of each row makes an empty field, and R writes row names without a name for their column.
    """
    width, rest = len(rows[0][1]), rows[1:]
    decisions: list[ReadingDecision] = []
    if len(rest) > 1 and all(len(fields) == width + 1 for _, fields in rest):
        if not any(fields[-1] for _, fields in rest):
            return [rows[0], *((line, fields[:-1]) for line, fields in rest)], decisions
        rows = [(rows[0][0], ["", *rows[0][1]]), *rest]
        why = "the first column has no name: the header is one field short"
        decisions.append(ReadingDecision(None, why))
    width = len(rows[0][1])
    for line, fields in rows:
        if len(fields) != width:
            what = f"{len(fields)} column{'' if len(fields) == 1 else 's'} where the first line has {width}"
            joined = len(fields) == 1 and any(d in fields[0] for d in DELIMITERS)
            unclosed = joined or any("\n" in field for field in fields)
            hint = "; a quote before the end of this line is not closed" if unclosed else ""
            raise file_error(path, what + hint, line)
    return rows, decisions


def one_line(name: str) -> str:
    """Return a name on one line."""
    return " ".join(name.split())


def names_in_comment(text: DecodedText, delimiter: str, width: int) -> list[str]:
    """Return the names of a fitting ``# a,b,c`` line as numpy.savetxt writes it, if there is one."""
    for comment in text.comments:
        names = [name.strip() for name in comment.lstrip("# \t").split(delimiter)]
        fits = len(names) == width == len(set(names)) and len(names) > 1
        if fits and all(names) and not any(map(is_number, names)):
            return names
    return []


def without_empty_end(table: RawTable) -> RawTable:
    """Drop the empty columns without names that spreadsheets leave on the right."""
    kept = len(table.names)
    while kept > 1:
        last, fields = kept - 1, table.columns[kept - 1]
        nameless = not table.named or table.names[last] == f"Unnamed: {last}"
        numeric = isinstance(fields, np.ndarray | plain_fields.PlainColumn)
        if not nameless or numeric or any(fields):
            break
        kept = last
    cut = replace(table, names=table.names[:kept], columns=table.columns[:kept])
    return replace(cut, kinds=table.kinds[:kept])


# --- whether the first row is a header ------------------------------------------------------------------------

# A digit and no letter: a number, an amount, a date.
VALUE_LIKE = re.compile(r"[^A-Za-z]*[0-9][^A-Za-z]*")
HAS_DIGIT = re.compile("[0-9]")  # "inf" and "nan" may be short for inflation and a nation
YEAR = re.compile(r"1[89][0-9]{2}|20[0-9]{2}")
ROWS_LOOKED_AT = 2000


def is_header(rows: Sequence[Sequence[str]], targets: Collection[str] = ()) -> bool:
    """Return whether the first row holds names.

    The evidence is a target's name, numbers below words, or repeated words below other words. A first row with a
    number is a header only if its numbers count the columns or are years.
    """
    rows = rows[:ROWS_LOOKED_AT]
    first, rest = rows[0], rows[1:]
    if any(name in first and not is_number(name) for name in targets):
        return True
    columns = [[row[i] for row in rest] for i in range(len(first))]
    if counts_columns(first, columns):
        return True
    if any(is_number(field) and HAS_DIGIT.search(field) for field in first):
        return False
    if not rest or any(map(is_above_values, first, columns)):
        return True
    if any(field and field in MISSING for field in first):
        return False
    if any(map(is_number, rest[0])):
        return True
    # Distinct words above words that repeat; pandas and R leave the name of the index empty.
    names = first[1:] if not first[0] else first
    if len(set(names)) < len(names) or "" in names:
        return False
    repeating = [(f, set(c)) for f, c in zip(first, columns, strict=True) if len(set(c)) < len(c)]
    return bool(repeating) and not any(name in values for name, values in repeating)


def is_above_values(name: str, below: Sequence[str]) -> bool:
    """Return whether a word stands above nothing but numbers, amounts or dates."""
    present = [field for field in below if field not in MISSING]
    if not present or name in MISSING or VALUE_LIKE.fullmatch(name):
        return False
    return all(is_number(f) or VALUE_LIKE.fullmatch(f) for f in present)


def counts_columns(first: Sequence[str], columns: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row is ``0,1,2,y``, as pandas writes unnamed columns, or ``country,1990,2000``."""
    numbers = [field for field in first if is_number(field)]
    named = [i for i, field in enumerate(first) if field and not is_number(field)]
    if not (named and numbers and columns[0]):
        return False
    ascending = sorted(set(numbers))
    years = len(numbers) > 1 and all(map(YEAR.fullmatch, numbers))
    years = years and numbers in (ascending, ascending[::-1])
    counts = any(numbers == [str(i + s) for i in range(len(numbers))] for s in (0, 1))
    return (counts or years) and all(is_name_of(first[i], columns[i], years) for i in named)


def is_name_of(name: str, below: Sequence[str], years: bool) -> bool:
    """Return whether the column is all numbers, or words without the name that repeat (or stand below years)."""
    present = [field for field in below if field not in MISSING]
    numeric = [is_number(field) for field in present]
    if all(numeric):
        return True
    if any(numeric) or name in present:
        return False
    return years or len(set(present)) < len(present)
