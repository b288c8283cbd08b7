"""Tables in JSON lines and Excel sheets, and the names of the formats that are not read."""

from __future__ import annotations

import csv
import io
import json
import re
import warnings
import zipfile
from collections.abc import Iterable
from datetime import date, datetime, time
from importlib.util import find_spec
from itertools import takewhile, zip_longest
from typing import Any

from kselect.datasets.content import UnpackedFile, file_error
from kselect.datasets.table.raw_table import FilePlace, RawTable
from kselect.datasets.table.written_values import is_number
from kselect.errors import brief, quoted
from kselect.grids import show_number

READ = "save the table as CSV, Parquet, Feather, JSON lines or Excel (.xlsx)"
JSON_ENDINGS = (".jsonl", ".ndjson")
# The formats that are refused by name: how a file of each begins, and the endings of its name.
REFUSED: tuple[tuple[str, bytes, tuple[str, ...]], ...] = (
    ("an old Excel file", b"\xd0\xcf\x11\xe0", (".xls",)),
    ("an HDF5 file", b"\x89HDF", (".h5", ".hdf5", ".hdf")),
    ("an SQLite database", b"SQLite format 3\0", (".sqlite", ".sqlite3", ".db")),
    ("a numpy array", b"\x93NUMPY", (".npy",)),
    ("a pickle, which could run code", b"\x80\x04\x95", (".pkl", ".pickle")),
    ("an ORC file", b"ORC", (".orc",)),
    ("an Avro file", b"Obj\x01", (".avro",)),
    ("a PDF", b"%PDF", (".pdf",)),
    ("a SAS file", b"\0\0\0\0\0\0\0\0\0\0\0\0\xc2\xea\x81\x60", (".sas7bdat", ".xpt")),
    ("a Stata file", b"<stata_dta>", (".dta",)),
    ("an SPSS file", b"$FL2", (".sav",)),
    ("an R file", b"RDX", (".rdata", ".rda", ".rds")),
    ("an ARFF file", b"@relation", (".arff",)),
    ("an XML or HTML file", b"<?xml", (".xml", ".html", ".htm")),
)
MARKUP = (".arff", ".xml", ".html", ".htm")  # text, but no table that could be read
SMALLEST_IN_TEXT, SEEN, FEW_LETTERS = 9, 1000, 3  # bytes below 9 are no characters of a text
JSON_START = re.compile(rb"\s*\{\s*(?:\"|\})")
JSON_LIST = re.compile(rb"\s*\[\s*[\[{]")
BROKEN = (
    *(OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, IndexError, SyntaxError),
    *(zipfile.BadZipFile, NotImplementedError),
)


def refuse_unread(file: UnpackedFile) -> None:
    """Raise an error that names the format of a file if kselect does not read it."""
    binary = any(byte < SMALLEST_IN_TEXT for byte in file.data[:SEEN])
    for what, start, endings in REFUSED:
        # A table of text may begin with these letters, or have such a name.
        begins = file.data[: len(start)].lower() == start.lower()
        named = file.name.endswith(endings)
        if (
            (begins and (binary or len(start) > FEW_LETTERS))
            or (named and binary)
            or (named and endings[0] in MARKUP)
        ):
            raise file_error(file.path, f"{what}: {READ}")
    if JSON_LIST.match(file.data):
        raise file_error(file.path, "a JSON list: write one object per line (JSON lines)")


# --- JSON lines ---------------------------------------------------------------------------------------


def is_json_lines(file: UnpackedFile) -> bool:
    """Return whether a file holds an object per line, by its name or its first characters."""
    return file.name.endswith(JSON_ENDINGS) or JSON_START.match(file.data) is not None


def read_json_lines(file: UnpackedFile, text: str) -> RawTable:
    """Read one object per line; the keys are the columns, and an absent key is a missing value."""
    rows: list[dict[str, str]] = []
    lines = []
    for position, line in enumerate(text.split("\n"), 1):
        if line.strip():
            rows.append(read_object(file, line, position))
            lines.append(position)
    names = tuple(dict.fromkeys(name for row in rows for name in row))
    if not names:
        raise file_error(file.path, "no rows")
    columns = tuple([row.get(name, "") for row in rows] for name in names)
    place = FilePlace(file.path, lines)
    return RawTable(place, file.sha256, "columns", names, True, columns, (None,) * len(names))


def read_object(file: UnpackedFile, line: str, position: int) -> dict[str, str]:
    """Return the fields of one object as text; refuse lists, objects in objects, and a key given twice."""
    try:
        pairs = json.loads(line, object_pairs_hook=list, parse_float=str, parse_int=str)
    except (ValueError, RecursionError):
        raise file_error(file.path, "not a JSON object on one line", position) from None
    if not line.lstrip().startswith("{"):
        raise file_error(file.path, "not a JSON object on one line", position)
    found: dict[str, str] = {}
    for key, value in pairs:
        name = " ".join(key.split())
        if isinstance(value, list):
            what = f"{brief(name)} holds a list or an object; a table needs one value"
            raise file_error(file.path, what, position)
        if name in found:
            raise file_error(file.path, f"two columns are named {quoted(name)}", position)
        found[name] = as_field(value)
    return found


# --- Excel ----------------------------------------------------------------------------------------------


def is_excel(file: UnpackedFile) -> bool:
    """Return whether a file is an Excel workbook, whose archive is not unpacked."""
    return file.data[:4] == b"PK\x03\x04"


def excel_as_tabs(file: UnpackedFile) -> tuple[bytes, tuple[str, ...]]:
    """Return the first sheet as text with tabs, and notes on other sheets, on titles and on formulas."""
    if find_spec("openpyxl") is None:
        what = "Excel needs openpyxl (pip install 'kselect[excel]'), or save the sheet as CSV"
        raise file_error(file.path, what)
    from openpyxl import load_workbook

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # styles that openpyxl does not know
            book = load_workbook(io.BytesIO(file.data), read_only=True, data_only=True)
            sheets = [sheet.title for sheet in book.worksheets]
            rows = [list(map(as_field, row)) for row in book.worksheets[0].values]
            book.close()
            unknown = formulas_in(file.data) if has_empty_column(rows) else ""
    except BROKEN as error:
        what = (str(error).splitlines() or [type(error).__name__])[0]
        raise file_error(file.path, f"not a whole Excel file: {what}") from None
    other = f"read the first of {len(sheets)} sheets: {brief(sheets[0])}" if sheets[1:] else ""
    skipped = blank_titles(rows)
    refuse_second_header(file, rows)
    return as_tabs(rows), tuple(filter(None, (other, skipped, unknown)))


def blank_titles(rows: list[list[str]]) -> str:
    """Empty the rows above the table that hold a text in one cell only; return a note that names them.

    The rows stay, so that line numbers agree with the sheet.
    """
    filled = [list(filter(None, row)) for row in rows]
    above = list(takewhile(lambda at: len(filled[at]) < 2, range(len(rows))))
    titles = [text for at in above for text in filled[at]]
    if len(above) == len(rows) or not titles or any(map(is_number, titles)):
        return ""
    for at in above:
        rows[at] = []
    more = f" and {len(titles) - 1} more" if titles[1:] else ""
    return f"skipped {brief(titles[0])}{more} above the table"


def refuse_second_header(file: UnpackedFile, rows: list[list[str]]) -> None:
    """Raise an error if the first row has gaps and the second one, above numbers, holds nothing but names."""
    found = [(at, row) for at, row in enumerate(rows, 1) if any(row)][:3]
    if len(found) < 3:
        return
    (at, first), (below, second), (_, third) = found
    width = max(len(list(filter(None, row))) for row in rows)
    names = [name for name in dict.fromkeys(second) if name and not is_number(name)]
    gaps = any(first[1:]) and len(list(filter(None, first[1:]))) < width - 1
    if gaps and len(names) == width and any(map(is_number, third)):
        what = f"empty cells above {quoted(names[0])} and {quoted(names[1])}: if row {below} holds the names"
        raise file_error(file.path, f"{what} of the columns, delete the rows above it", at)


def has_empty_column(rows: list[list[str]]) -> bool:
    """Return whether a column with a name has no value below it."""
    columns = list(zip_longest(*rows, fillvalue=""))
    return any(column[0] and not any(column[1:]) for column in columns)


def formulas_in(data: bytes) -> str:
    """Return a sentence about formulas in the first sheet; only a spreadsheet saves their results."""
    from openpyxl import load_workbook

    sheet = load_workbook(io.BytesIO(data), read_only=True).worksheets[0]
    cells = [str(value) for row in sheet.values for value in row if str(value).startswith("=")]
    if not cells:
        return ""
    return f"formulas without results, such as {brief(cells[0])}: open the file in a spreadsheet, and save it"


def as_tabs(rows: Iterable[list[str]]) -> bytes:
    """Return rows of equal width as text with tabs between the fields."""
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter="\t", lineterminator="\n")
    writer.writerows(zip(*zip_longest(*rows, fillvalue=""), strict=True))
    return stream.getvalue().encode()


def as_field(value: Any) -> str:
    """Return a cell or a JSON value as text on one line; nothing is the empty text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return show_number(value)
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    if isinstance(value, date | time):
        return value.isoformat()
    return " ".join(str(value).split())
