"""Compiled functions call each other by name, with the types of their annotations."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numba import types

from kselect.numerics.compiled import (
    RowMajor,
    cache_in,
    callees,
    compiled,
    inner,
    numba_type,
)
from kselect.numerics.linalg import Array, Index, Mask


class Pair(NamedTuple):
    x: Array
    K: RowMajor


@compiled
def twice(x: float) -> float:
    return 2.0 * x


@inner
def more(x: float) -> float:
    return twice(x) + 1.0


@compiled
def written(pair: Pair, at: int) -> bool:
    pair.K[0, at] = more(pair.x[at])
    pair.K[1, at] = twice(3)  # type: ignore[arg-type, unused-ignore]
    return at > 0


def test_a_function_is_called_by_name(tmp_path: Path) -> None:
    """It is found through a small function, gets its declared types, and its code is not copied."""
    pair = Pair(np.array([1.0, 2.0]), np.zeros((2, 2)))
    assert list(callees(written.py_func)) == [twice, twice]  # type: ignore[attr-defined]
    with cache_in(tmp_path):
        assert [written(pair, at) for at in (0, 1)] == [False, True]
        text = "\n".join(written.from_python.inspect_llvm().values())  # type: ignore[attr-defined]
    np.testing.assert_array_equal(pair.K, [[3.0, 5.0], [6.0, 6.0]])
    (line,) = (line for line in text.splitlines() if line.startswith("declare") and "twice" in line)
    assert twice.name in line  # type: ignore[attr-defined]
    assert len(list(tmp_path.rglob("*.nbi"))) == 2


def test_types_are_read_off_annotations() -> None:
    vector, matrix = types.float64[::1], types.float64[:, ::1]
    assert numba_type(Array) == vector
    assert numba_type(RowMajor) == matrix
    assert numba_type(Index) == types.intp[::1]
    assert numba_type(Mask).dtype == types.boolean
    assert numba_type(tuple[int, bool]) == types.Tuple((types.int64, types.boolean))
    assert numba_type(Pair) == types.NamedTuple((vector, matrix), Pair)
    assert numba_type(type(None)) == types.none
