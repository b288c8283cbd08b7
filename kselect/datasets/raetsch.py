"""Raetsch's benchmark collection with its original splits: ``benchmarks.mat``, one MATLAB struct a set.

A struct has the patterns ``x``, the labels ``t`` and the index matrices ``train`` and ``test``, one row a split,
counted from 1. The file is recognised by its git blob id, which is known though the file itself is not at hand.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kselect.datasets.content import git_blob_id
from kselect.datasets.registry import BENCHMARKS
from kselect.datasets.splits import Split
from kselect.errors import DataError
from kselect.numerics.linalg import Array, Index

FIELDS = {"x", "t", "train", "test"}
# What scipy's reader raises, beside its own error, for files that are cut off, damaged or of another kind.
BROKEN = (OSError, LookupError, NotImplementedError, ValueError, TypeError, EOFError, zlib.error)


@dataclass(frozen=True, eq=False)
class SplitSet:
    """A data set whose splits are given: labels -1 and +1, one row of row numbers a split, counted from 0."""

    name: str
    X: Array
    y: Array
    train: Index
    test: Index

    @property
    def splits(self) -> int:
        """How many splits there are."""
        return len(self.train)

    def split(self, number: int) -> Split:
        """One of them, ascending within each part; a pattern that stands for several rows is there as often."""
        if not 0 <= number < self.splits:
            raise DataError(f"{self.name}: split {number} of 0..{self.splits - 1}")
        return Split(np.sort(self.train[number]), np.sort(self.test[number]))


def read_benchmarks(path: Path, content: bytes) -> dict[str, SplitSet]:
    """Every set of the file, by name; what has not the four fields is no set and is left out."""
    return {name: as_split_set(path, name, struct) for name, struct in structs(path, content)}


def read_benchmark(path: Path, content: bytes, name: str) -> SplitSet:
    """One set of the file.

    A damaged file can crash scipy's reader: only bytes that git would store under the known id are read.
    """
    if (found := git_blob_id(content)) != BENCHMARKS.blob:
        raise DataError(
            f"{path}: wrong checksum: git blob id is {found}, expected {BENCHMARKS.blob}"
        )
    for known, struct in structs(path, content, name):
        if known == name:
            return as_split_set(path, name, struct)
    raise DataError(f"{path}: there is no {name} in it")


def structs(path: Path, content: bytes, *names: str) -> Iterator[tuple[str, Any]]:
    """The sets of the file, all or some, as scipy reads them."""
    found = {
        name: value[0, 0]
        for name, value in sorted(variables(path, content, names).items())
        if isinstance(value, np.ndarray) and set(value.dtype.names or ()) >= FIELDS
    }
    if not found:
        raise DataError(f"{path}: no struct with x, t, train and test in it")
    yield from found.items()


def variables(path: Path, content: bytes, names: tuple[str, ...]) -> Mapping[str, Any]:
    """The variables of a MATLAB file."""
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    try:
        return dict(loadmat(io.BytesIO(content), variable_names=names or None))  # type: ignore[arg-type]
    except (MatReadError, *BROKEN) as error:
        reason = " ".join(str(error).split())
        raise DataError(f"{path}: not a MATLAB file that can be read: {reason}") from None


def as_split_set(path: Path, name: str, struct: Any) -> SplitSet:
    """One struct, whichever way its matrices lie."""
    y = np.asarray(struct["t"], dtype=np.float64).ravel()
    X = np.asarray(struct["x"], dtype=np.float64)
    if X.ndim != 2 or len(y) not in X.shape:
        raise DataError(f"{path}: {name}: x is {X.shape} for {len(y)} labels")
    X = X if len(X) == len(y) else X.T
    if set(np.unique(y).tolist()) != {-1.0, 1.0}:
        raise DataError(f"{path}: {name}: the labels are not -1 and 1")
    if not np.isfinite(X).all():
        raise DataError(f"{path}: {name}: a feature is not finite")
    train, test = (row_numbers(path, name, struct[part], len(y)) for part in ("train", "test"))
    train, test = one_row_a_split(path, name, train, test)
    return SplitSet(name, np.ascontiguousarray(X), y, train, test)


def row_numbers(path: Path, name: str, values: Any, rows: int) -> Index:
    """A matrix of row numbers, from 0."""
    matrix = np.atleast_2d(np.asarray(values, dtype=np.float64))
    if (
        matrix.ndim != 2
        or not ((matrix >= 1) & (matrix <= rows) & (matrix == matrix.round())).all()
    ):
        raise DataError(f"{path}: {name}: an index is no whole number in 1..{rows}")
    return matrix.astype(np.intp) - 1


def one_row_a_split(path: Path, name: str, train: Index, test: Index) -> tuple[Index, Index]:
    """Both matrices with one row a split: the side that they share; where both do, as they are."""
    if len(train) == len(test):
        return train, test
    for a, b in ((train.T, test.T), (train, test.T), (train.T, test)):
        if len(a) == len(b):
            return np.ascontiguousarray(a), np.ascontiguousarray(b)
    raise DataError(f"{path}: {name}: train is {train.shape}, test is {test.shape}: no common side")
