"""Parquet as a raw table: the file says what its columns are."""

from __future__ import annotations

import io
from collections import Counter
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from kselect.datasets.tables.raw import Fields, Kind, Place, RawTable
from kselect.datasets.tables.text import Unpacked

if TYPE_CHECKING:
    import pandas as pd

DAY = 86_400 * 10**9


def is_parquet(unpacked: Unpacked) -> bool:
    """By its first bytes or its name."""
    return unpacked.data[:4] == b"PAR1" or unpacked.name.endswith((".parquet", ".pq"))


def read_parquet(unpacked: Unpacked) -> RawTable:
    """The columns with the kinds that the file gives them; text stays text, even ``0017``."""
    place = Place(unpacked.path)
    if find_spec("pyarrow") is None:
        raise place.error("Parquet needs pyarrow (pip install pyarrow), or save the table as CSV")
    import pandas as pd

    try:
        frame = pd.read_parquet(io.BytesIO(unpacked.data), engine="pyarrow")
    except (OSError, ValueError) as error:
        raise place.error(f"not a whole Parquet file: {str(error).splitlines()[0]}") from None
    names = [str(name) for name in frame.columns]
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise place.error(f"two columns are called {twice[0]!r}")
    if not len(frame):
        raise place.error("no rows")
    columns = [read_series(place, name, frame.iloc[:, i]) for i, name in enumerate(names)]
    kinds, fields = tuple(kind for kind, _ in columns), tuple(values for _, values in columns)
    return RawTable(place, unpacked.sha256, "columns", tuple(names), True, fields, kinds)


def read_series(place: Place, name: str, series: pd.Series[Any]) -> tuple[Kind, Fields]:
    """Numbers with NaN, days with NaN, or text with the empty string for what is missing."""
    from pandas.api import types

    absent = series.isna().to_numpy()
    if types.is_datetime64_any_dtype(series) or holds(series, "date"):
        import pandas as pd

        moments = pd.to_datetime(series, utc=True).to_numpy("datetime64[ns]").astype(np.int64)
        return "date", np.where(absent, np.nan, moments / DAY)
    if types.is_bool_dtype(series) or isinstance(series.dtype, types.CategoricalDtype):
        return "category", texts(series.astype(object), absent)
    if types.is_numeric_dtype(series) or holds(series, "decimal"):
        values = series.astype(object).where(~absent, np.nan).to_numpy(np.float64)
        if np.isinf(values).any():
            raise place.error(f"column {name}: it holds a number that is not finite")
        return "number", values
    if holds(series, "string", "boolean", "mixed-integer", "empty"):
        return "category", texts(series.astype(object), absent)
    raise place.error(f"column {name}: neither numbers, text nor dates; leave it out of the file")


def holds(series: pd.Series[Any], *kinds: str) -> bool:
    """Whether the objects of a column are all of one of pandas' kinds, missing ones aside."""
    from pandas.api import types

    return types.infer_dtype(series, skipna=True) in kinds


def texts(
    series: pd.Series[Any], absent: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
) -> list[str]:
    """Each value as text."""
    return ["" if gone else str(value).strip() for value, gone in zip(series, absent, strict=True)]
