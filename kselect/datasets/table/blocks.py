r"""A table in blocks of rows, so that no process holds all of it: CSV, Parquet, or a folder of Parquet files.

``layout`` finds where each block lies, without keeping a row. ``read_block`` reads one block. The rows of
the first block decide the kind of each column, the names, the target and the delimiter, by the same rules as for a
whole file; the other blocks are read like a file to predict.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path

from kselect.datasets.content import STARTS, UnpackedFile
from kselect.datasets.table.arrow import (
    TablePart,
    arrow_format,
    digest,
    frame_of_parts,
    is_parquet,
    parquet_files,
    raw_of_frame,
    row_counts,
)
from kselect.datasets.table.frames import infer_frame, open_table
from kselect.datasets.table.further_files import frame_of, raw_like
from kselect.datasets.table.more_formats import is_json_lines
from kselect.datasets.table.raw_table import (
    FilePlace,
    Frame,
    RawTable,
    Schema,
    TableOptions,
    TargetNames,
)
from kselect.datasets.table.read import BOMS
from kselect.errors import DataError, printable
from kselect.files import reason
from kselect.numerics.memory import BLOCK

BYTES_AT_ONCE = 2**24
# The lines that tell whether the first one is a header.
LINES_LOOKED_AT = 2**12
MARK = re.compile(b'["\n]')


@dataclass(frozen=True)
class TableBlock:
    """The pieces of one block of rows; ``header`` is the first line of a CSV file, empty without one."""

    pieces: tuple[TablePart, ...]
    rows: int
    header: bytes | None = None


@dataclass(frozen=True)
class Layout:
    """The blocks of a table, in the order of its rows, and the SHA-256 of its files."""

    path: Path
    blocks: tuple[TableBlock, ...]
    sha256: str

    @property
    def n(self) -> int:
        """The number of rows."""
        return sum(block.rows for block in self.blocks)


def layout(path: Path, target: TargetNames, options: TableOptions) -> tuple[Layout, Schema, Frame]:
    """Return the blocks of a table, the schema of its first block, and that block."""
    try:
        found = parquet_layout(path) if is_parquet(path) else csv_layout(path, target, options)
        raw = read_pieces(found.blocks[0], path, partial(open_table, target=target))
    except OSError as error:
        raise DataError(f"{printable(path)}: {reason(error)}") from None
    first = infer_frame(raw, target, options)
    if first.n != found.blocks[0].rows:
        raise DataError(
            f"{printable(path)}: {found.blocks[0].rows} rows in the first block, but {first.n} could be read: "
            "blocks need one line per row, without empty or comment lines"
        )
    return found, first.schema, replace(first, place=FilePlace(path))


def read_block(block: TableBlock, schema: Schema, path: Path) -> Frame:
    """Return the rows of a block in the columns of the first one."""
    try:
        frame = frame_of(read_pieces(block, path, partial(raw_like, schema=schema)), schema)
    except OSError as error:
        raise DataError(f"{printable(path)}: {reason(error)}") from None
    except DataError as error:
        where = ", ".join(f"{p.path.name} from {p.start}" for p in block.pieces)
        raise DataError(f"{error} (counted within the block {where})") from None
    if frame.n != block.rows:
        raise DataError(f"{printable(path)}: a block of {block.rows} rows has {frame.n}")
    # The place holds a line number per row, which means nothing outside of the block.
    return replace(frame, place=FilePlace(path))


def read_pieces(
    block: TableBlock, path: Path, of_text: Callable[[UnpackedFile], RawTable]
) -> RawTable:
    """Return the columns of a block of the table ``path``; ``of_text`` reads lines of text."""
    if block.header is None:
        return raw_of_frame(frame_of_parts(block.pieces, path), FilePlace(path), "")
    data = [block.header]
    for piece in block.pieces:
        with piece.path.open("rb") as file:
            file.seek(piece.start)
            data.append(file.read(piece.stop - piece.start))
    return of_text(UnpackedFile(path, path.name.lower(), b"".join(data), ""))


# --- Parquet -----------------------------------------------------------------------------------------


def parquet_layout(path: Path) -> Layout:
    """Return blocks of rows from the metadata of a file, or of the files of a folder in the order of names."""
    files = parquet_files(path)
    counts = row_counts(path, files)
    blocks: list[TableBlock] = []
    pieces: list[TablePart] = []
    room = BLOCK
    for file, count in zip(files, counts, strict=True):
        start = 0
        while start < count:
            stop = min(count, start + room)
            pieces.append(TablePart(file, start, stop))
            room -= stop - start
            start = stop
            if not room:
                blocks.append(TableBlock(tuple(pieces), BLOCK))
                pieces, room = [], BLOCK
    if pieces:
        blocks.append(TableBlock(tuple(pieces), BLOCK - room))
    if not blocks:
        raise DataError(f"{printable(path)}: no rows")
    return Layout(path, tuple(blocks), digest(files))


# --- CSV ---------------------------------------------------------------------------------------------


def csv_layout(path: Path, target: TargetNames, options: TableOptions) -> Layout:
    """Return blocks of lines; the first line is a header if it is one above the first rows."""
    size = path.stat().st_size
    with closing(line_ends(path)) as every:
        ends = list(islice(every, LINES_LOOKED_AT))
    if not ends:
        raise DataError(f"{printable(path)}: no rows")
    with path.open("rb") as file:
        head = UnpackedFile(path, path.name.lower(), file.read(ends[-1]), "")
    refuse_whole(head)
    frame = infer_frame(open_table(head, target), target, replace(options, missing="impute"))
    header = head.data[: ends[0]] if frame.schema.named else b""
    begin, rows = len(header), -bool(header)
    starts = [begin]
    for end in line_ends(path):
        rows += 1
        if rows and rows % BLOCK == 0 and end < size:
            starts.append(end)
    stops = [*starts[1:], size]
    blocks = [
        TableBlock((TablePart(path, a, b),), min(BLOCK, rows - i * BLOCK), header)
        for i, (a, b) in enumerate(zip(starts, stops, strict=True))
    ]
    return Layout(path, tuple(blocks), digest([path]))


def refuse_whole(head: UnpackedFile) -> None:
    """Refuse a file, by its first bytes, whose lines are not rows of a table in UTF-8."""
    packed = any(start.match(head.data) for start in STARTS.values())
    what = "a packed file" if packed else arrow_format(head)
    if is_json_lines(head):
        what = "JSON lines"
    elif head.data[:2] in BOMS:
        what = "UTF-16"
    if what:
        text = "blocks of rows are read from CSV in UTF-8 or from Parquet; save it as one of these"
        raise DataError(f"{printable(head.path)}: {what}, but {text}, or leave out --backend dask")


def line_ends(path: Path) -> Generator[int, None, None]:
    """Yield the position after each line of a file; a line break between quotes does not end a line."""
    position, quoted, last = 0, False, 0
    with path.open("rb") as file:
        while piece := file.read(BYTES_AT_ONCE):
            for match in MARK.finditer(piece):
                if match[0] == b'"':
                    quoted = not quoted
                elif not quoted:
                    last = position + match.end()
                    yield last
            position += len(piece)
    if last < position:
        yield position
