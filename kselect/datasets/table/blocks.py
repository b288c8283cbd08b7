r"""A table in blocks of rows, so that no process holds all of it: CSV, Parquet, or a folder of Parquet files.

``layout`` finds where each block lies, without keeping a row. ``read_block`` reads one block. The rows of
the first block decide the kind of each column, the names, the target and the delimiter, by the same rules as for a
whole file; the other blocks are read like a file to predict.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

from kselect.datasets.table.frames import read_frame, read_like
from kselect.datasets.table.raw_table import FilePlace, Frame, Schema, TableOptions, TargetNames
from kselect.errors import DataError, printable
from kselect.files import reason
from kselect.numerics.memory import BLOCK

PARQUET = (".parquet", ".pq")
BYTES_AT_ONCE = 2**24
# The lines that tell whether the first one is a header.
LINES_LOOKED_AT = 2**12
MARK = re.compile(b'["\n]')


@dataclass(frozen=True)
class TablePart:
    """A part of a file: bytes of a CSV file, or rows of a Parquet file, from ``start`` to before ``stop``."""

    path: Path
    start: int
    stop: int


@dataclass(frozen=True)
class TableBlock:
    """The pieces of one block of rows; ``header`` is the first line of a CSV file that has one."""

    pieces: tuple[TablePart, ...]
    rows: int
    header: bytes = b""


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
        if path.is_dir() or path.suffix.lower() in PARQUET:
            found = parquet_layout(path)
        else:
            found = csv_layout(path, target, options)
    except OSError as error:
        raise DataError(f"{printable(path)}: {reason(error)}") from None
    with block_file(found.blocks[0]) as file:
        try:
            first = read_frame(file, target, options)
        except DataError as error:
            raise DataError(str(error).replace(str(file), printable(path))) from None
    if first.n != found.blocks[0].rows:
        raise DataError(
            f"{printable(path)}: {found.blocks[0].rows} rows in the first block, but {first.n} could be read: "
            "blocks need one line per row, without empty or comment lines"
        )
    return found, first.schema, replace(first, place=FilePlace(path))


def read_block(block: TableBlock, schema: Schema, path: Path) -> Frame:
    """Return the rows of a block in the columns of the first one."""
    with block_file(block) as file:
        try:
            frame = read_like(file, schema)
        except DataError as error:
            where = ", ".join(f"{p.path.name} from {p.start}" for p in block.pieces)
            text = str(error).replace(str(file), printable(path))
            raise DataError(f"{text} (counted within the block {where})") from None
    if frame.n != block.rows:
        raise DataError(f"{printable(path)}: a block of {block.rows} rows has {frame.n}")
    # The place holds a line number per row, which means nothing outside of the block.
    return replace(frame, place=FilePlace(path))


class block_file:  # noqa: N801
    """A context with a block as a file of its own, for readers of files."""

    def __init__(self, block: TableBlock) -> None:
        self.block = block

    def __enter__(self) -> Path:
        self.folder = tempfile.TemporaryDirectory(prefix="kselect-block-")
        first = self.block.pieces[0].path
        if first.suffix.lower() in PARQUET:
            path = Path(self.folder.name, "block.parquet")
            write_parquet(self.block, path)
            return path
        path = Path(self.folder.name, "block.csv")
        with path.open("wb") as out:
            out.write(self.block.header)
            for piece in self.block.pieces:
                with piece.path.open("rb") as file:
                    file.seek(piece.start)
                    out.write(file.read(piece.stop - piece.start))
        return path

    def __exit__(self, *error: object) -> None:
        self.folder.cleanup()


# --- Parquet -----------------------------------------------------------------------------------------


def parquet_layout(path: Path) -> Layout:
    """Return blocks of rows from the metadata of a file, or of the files of a folder in the order of names."""
    if find_spec("pyarrow") is None:
        raise DataError(
            f"{printable(path)}: Parquet needs pyarrow (pip install 'kselect[parquet]')"
        )
    import pyarrow.parquet as pq

    files = [path]
    if path.is_dir():
        files = sorted(p for p in path.iterdir() if p.suffix.lower() in PARQUET)
    if not files:
        raise DataError(f"{printable(path)}: no Parquet file in this folder")
    try:
        counts = [pq.ParquetFile(file).metadata.num_rows for file in files]
    except ValueError as error:
        raise DataError(f"{printable(path)}: {str(error).splitlines()[0]}") from None
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


def write_parquet(block: TableBlock, path: Path) -> None:
    """Write the rows of a block to one file; only the row groups that hold some of them are read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    tables = []
    for piece in block.pieces:
        file = pq.ParquetFile(piece.path)
        start = 0
        for group in range(file.num_row_groups):
            rows = file.metadata.row_group(group).num_rows
            first, last = max(piece.start - start, 0), min(piece.stop - start, rows)
            if first < last:
                tables.append(file.read_row_group(group).slice(first, last - first))
            start += rows
    pq.write_table(pa.concat_tables(tables), path)


def digest(files: list[Path]) -> str:
    """Return the SHA-256 of one file, or of the digests of several."""
    found = []
    for path in files:
        with path.open("rb") as file:
            found.append(hashlib.file_digest(file, "sha256").hexdigest())
    return found[0] if len(found) == 1 else hashlib.sha256("".join(found).encode()).hexdigest()


# --- CSV ---------------------------------------------------------------------------------------------


def csv_layout(path: Path, target: TargetNames, options: TableOptions) -> Layout:
    """Return blocks of lines; the first line is a header if it is one above the first rows."""
    size = path.stat().st_size
    with closing(line_ends(path)) as every:
        ends = list(islice(every, LINES_LOOKED_AT))
    if not ends:
        raise DataError(f"{printable(path)}: no rows")
    with path.open("rb") as file:
        head = file.read(ends[-1])
    with tempfile.TemporaryDirectory(prefix="kselect-block-") as folder:
        some = Path(folder, "head.csv")
        some.write_bytes(head)
        try:
            frame = read_frame(some, target, replace(options, missing="impute"))
        except DataError as error:
            raise DataError(str(error).replace(str(some), printable(path))) from None
    header = head[: ends[0]] if frame.schema.named else b""
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
