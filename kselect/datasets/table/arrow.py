"""Tables that state their own types: Parquet, Feather, and folders of Parquet files."""

from __future__ import annotations

import hashlib
import io
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kselect.datasets.content import UnpackedFile, file_error, open_data_file
from kselect.datasets.table.raw_table import ColumnKind, Fields, FilePlace, RawTable
from kselect.errors import DataError, printable
from kselect.files import reason

if TYPE_CHECKING:
    import pandas as pd
    from pyarrow import RecordBatch
    from pyarrow.parquet import ParquetFile

PARQUET, MAGIC = (".parquet", ".pq"), b"PAR1"
# The rows of a Parquet file that are decoded at once, and the bytes that are read at once.
BATCH, BUFFER = 2**14, 2**20
DAY = 86_400 * 10**9


@dataclass(frozen=True)
class TablePart:
    """A part of a file: bytes of a CSV file, or rows of a Parquet file, from ``start`` to before ``stop``."""

    path: Path
    start: int
    stop: int


def read_table_at(path: Path, of_file: Callable[[UnpackedFile], RawTable]) -> RawTable:
    """Return the columns of a file, which ``of_file`` reads, or of a folder of Parquet files."""
    if not path.is_dir():
        return of_file(open_data_file(path))
    try:
        files = parquet_files(path)
        parts = tuple(
            TablePart(f, 0, rows) for f, rows in zip(files, row_counts(path, files), strict=True)
        )
        return raw_of_frame(frame_of_parts(parts, path), FilePlace(path), digest(files))
    except OSError as error:
        raise file_error(path, reason(error)) from None


# --- one file in memory -------------------------------------------------------------------------------


def arrow_format(file: UnpackedFile) -> str:
    """Return Parquet or Feather for a file in one of these formats, else the empty text."""
    if file.data[: len(MAGIC)] == MAGIC or file.name.endswith(PARQUET):
        return "Parquet"
    feather = file.data[:6] == b"ARROW1" or file.name.endswith((".feather", ".arrow"))
    return "Feather" if feather else ""


def read_arrow(file: UnpackedFile, form: str) -> RawTable:
    """Read a Parquet or Feather file with the kinds that it states; text stays text, even ``0017``."""
    place = FilePlace(file.path)
    if find_spec("pyarrow") is None:
        raise place.error(f"{form} needs pyarrow (pip install pyarrow), or save the table as CSV")
    import pandas as pd

    read = pd.read_parquet if form == "Parquet" else pd.read_feather
    try:
        frame = read(io.BytesIO(file.data))
    except (OSError, ValueError) as error:
        raise place.error(f"not a whole {form} file: {str(error).splitlines()[0]}") from None
    return raw_of_frame(frame, place, file.sha256)


def raw_of_frame(frame: pd.DataFrame, place: FilePlace, sha256: str) -> RawTable:
    """Return the columns of a data frame with the kinds of their types."""
    names = tuple(str(name) for name in frame.columns)
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise place.error(f"two columns are named {twice[0]!r}")
    if not len(frame):
        raise place.error("no rows")
    columns = [read_series(place, name, frame.iloc[:, i]) for i, name in enumerate(names)]
    kinds, fields = zip(*columns, strict=True)
    return RawTable(place, sha256, "columns", names, True, fields, kinds)


def read_series(place: FilePlace, name: str, series: pd.Series[Any]) -> tuple[ColumnKind, Fields]:
    """Return numbers or days with NaN, or texts with the empty string, for missing values."""
    import pandas as pd
    from pandas.api import types

    missing, content = series.isna().to_numpy(), types.infer_dtype(series, skipna=True)
    if types.is_datetime64_any_dtype(series) or content == "date":
        moments = pd.to_datetime(series, utc=True).to_numpy("datetime64[ns]").astype(np.int64)
        return "date", np.where(missing, np.nan, moments / DAY)
    if content == "string" or isinstance(series.dtype, types.CategoricalDtype):
        # Each value is made a text once; the code of a missing one is -1.
        codes, found = pd.factorize(series)
        texts = np.array([*(str(value).strip() for value in found), ""], dtype=object)
        return "category", texts[codes].tolist()
    boolean = types.is_bool_dtype(series)
    if not boolean and (types.is_numeric_dtype(series) or content == "decimal"):
        values = np.array(series.to_numpy(np.float64, na_value=np.nan))
        if np.isinf(values).any():
            raise place.error(f"column {name}: it holds a number that is not finite")
        return "number", values
    if boolean or content in ("boolean", "mixed-integer", "empty"):
        pairs = zip(series.astype(object), missing, strict=True)
        return "category", ["" if gone else str(value).strip() for value, gone in pairs]
    raise place.error(f"column {name}: neither numbers, text nor dates; leave it out of the file")


# --- Parquet files, and parts of them -----------------------------------------------------------------


def is_parquet(path: Path) -> bool:
    """Return whether a path is a folder, or a Parquet file by its name or its first bytes."""
    if path.is_dir() or path.suffix.lower() in PARQUET:
        return True
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def parquet_files(path: Path) -> list[Path]:
    """Return a file, or the Parquet files of a folder in the order of their names."""
    if find_spec("pyarrow") is None:
        raise file_error(path, "Parquet needs pyarrow (pip install 'kselect[parquet]')")
    if not path.is_dir():
        return [path]
    files = sorted(p for p in path.iterdir() if p.suffix.lower() in PARQUET)
    if not files:
        raise file_error(path, "a directory without Parquet files")
    return files


def row_counts(path: Path, files: list[Path]) -> list[int]:
    """Return the number of rows of each file of a table, from their metadata."""
    import pyarrow.parquet as pq

    try:
        return [pq.ParquetFile(file).metadata.num_rows for file in files]
    except ValueError as error:
        raise file_error(path, str(error).splitlines()[0]) from None


def frame_of_parts(parts: Sequence[TablePart], path: Path) -> pd.DataFrame:
    """Return the rows of parts of Parquet files.

    Only the row groups that hold some of them are read, a batch at a time.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    tables = []
    try:
        for part in parts:
            # Without a buffer, pyarrow would keep all bytes of a row group.
            with pq.ParquetFile(part.path, buffer_size=BUFFER) as file:
                batches = list(rows_between(file, part.start, part.stop))
            tables.append(pa.Table.from_batches(batches))
            if tables[-1].schema != tables[0].schema:
                what = f"{part.path.name} has other columns than {parts[0].path.name}"
                raise file_error(path, what)
        found: pd.DataFrame = pa.concat_tables(tables).to_pandas()
    except ValueError as error:
        raise DataError(f"{printable(path)}: {str(error).splitlines()[0]}") from None
    return found


def rows_between(file: ParquetFile, start: int, stop: int) -> Iterator[RecordBatch]:
    """Yield the rows of a file from ``start`` to before ``stop``, in pieces."""
    first = 0
    for group in range(file.num_row_groups):
        rows = file.metadata.row_group(group).num_rows
        if first < stop and start < first + rows:
            at = first
            for batch in file.iter_batches(BATCH, row_groups=[group]):
                a, b = max(start - at, 0), min(stop - at, len(batch))
                if a < b:
                    yield batch.slice(a, b - a)
                at += len(batch)
                if at >= stop:
                    return
        first += rows


def digest(files: list[Path]) -> str:
    """Return the SHA-256 of one file, or of the digests of several."""
    found = []
    for path in files:
        with path.open("rb") as file:
            found.append(hashlib.file_digest(file, "sha256").hexdigest())
    return found[0] if len(found) == 1 else hashlib.sha256("".join(found).encode()).hexdigest()
