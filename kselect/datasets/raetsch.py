r"""Raetsch's benchmark collection: its file with the original splits, and stand-ins for three of its sets.

The file ``benchmarks.mat`` holds one MATLAB struct per set: the patterns ``x``, the labels ``t``, and the index
matrices ``train`` and ``test`` with one row per split, counted from 1. We never had the file, only its git blob
id, so no other file is accepted.

Breiman's twonorm, ringnorm and waveform (1996, 1984) can also be drawn from their formulas, with our own seeds.
Raetsch's sets of these names are samples of the same distributions (ringnorm's with the mean ``2 / sqrt(20)``), so
results on ours agree with published ones in distribution only.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kselect.datasets.content import git_blob_id
from kselect.datasets.registry import BENCHMARKS
from kselect.datasets.splits import Split
from kselect.errors import DataError
from kselect.numerics.folds import stream
from kselect.numerics.linalg import Array, Index

FIELDS = {"x", "t", "train", "test"}
# What scipy's reader raises, besides its own error, for files that are truncated, damaged or not MATLAB's.
BROKEN = (OSError, LookupError, NotImplementedError, ValueError, TypeError, EOFError, zlib.error)


@dataclass(frozen=True, eq=False)
class SplitSet:
    """A data set with its splits: labels -1 and +1, and row numbers from 0, one row per split."""

    name: str
    X: Array
    y: Array
    train: Index
    test: Index

    def split(self, number: int) -> Split:
        """Return a split with ascending row numbers; a row may occur several times, as in the collection."""
        if not 0 <= number < len(self.train):
            raise DataError(f"{self.name}: split {number} of 0..{len(self.train) - 1}")
        return Split(np.sort(self.train[number]), np.sort(self.test[number]))


def read_benchmark(path: Path, content: bytes, name: str) -> SplitSet:
    """Return one set of the collection's file.

    A damaged file can crash scipy's reader, so the bytes must have the known git blob id.
    """
    if (found := git_blob_id(content)) != BENCHMARKS.blob:
        raise DataError(
            f"{path}: wrong checksum: git blob id is {found}, expected {BENCHMARKS.blob}"
        )
    return read_set(path, content, name)


def read_set(path: Path, content: bytes, name: str) -> SplitSet:
    """Return one set of a MATLAB file; each of its matrices may be transposed."""
    struct = read_struct(path, content, name)
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
    # One row per split: the side that both matrices share; if both sides match, as documented.
    for a, b in ((train, test), (train.T, test.T), (train, test.T), (train.T, test)):
        if len(a) == len(b):
            return SplitSet(
                name, np.ascontiguousarray(X), y, np.ascontiguousarray(a), np.ascontiguousarray(b)
            )
    raise DataError(f"{path}: {name}: train is {train.shape}, test is {test.shape}: no common side")


def read_struct(path: Path, content: bytes, name: str) -> Any:
    """Return the struct of a set as scipy reads it."""
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    try:
        found = loadmat(io.BytesIO(content), variable_names=(name,)).get(name)  # type: ignore[arg-type]
    except (MatReadError, *BROKEN) as error:
        reason = " ".join(str(error).split())
        raise DataError(f"{path}: not a readable MATLAB file: {reason}") from None
    if not isinstance(found, np.ndarray) or not set(found.dtype.names or ()) >= FIELDS:
        raise DataError(f"{path}: no struct {name} with x, t, train and test in it")
    return found[0, 0]


def row_numbers(path: Path, name: str, values: Any, rows: int) -> Index:
    """Return a matrix of row numbers, counted from 0."""
    matrix = np.atleast_2d(np.asarray(values, dtype=np.float64))
    valid = (matrix >= 1) & (matrix <= rows) & (matrix == matrix.round())
    if matrix.ndim != 2 or not valid.all():
        raise DataError(f"{path}: {name}: an index is not a whole number in 1..{rows}")
    return matrix.astype(np.intp) - 1


# --- sets that are drawn from a formula -------------------------------------------------------------------

Drawn = tuple[Array, Array]

DIMENSIONS = 20
MEAN = 2.0 / np.sqrt(DIMENSIONS)
POSITIONS = np.arange(1.0, 22.0)
# The waves peak at positions 11, 15 and 7.
WAVES = np.array([np.maximum(6.0 - np.abs(POSITIONS - peak), 0.0) for peak in (11.0, 15.0, 7.0)])
# The two waves that each of the three classes mixes.
MIXED = np.array([(0, 1), (0, 2), (1, 2)])


def twonorm(rows: int, rng: np.random.Generator) -> Drawn:
    r"""Draw ``N(+a, I)`` (label +1) and ``N(-a, I)`` (-1) in 20 dimensions, every ``a = 2 / sqrt(20)``.

    The optimal boundary is the hyperplane ``sum x = 0``; its error is ``Phi(-2)`` = 2.28 %.
    """
    y = signs(rows, rng)
    return y[:, None] * MEAN + rng.normal(size=(rows, DIMENSIONS)), y


def ringnorm(rows: int, rng: np.random.Generator) -> Drawn:
    r"""Draw ``N(0, 4 I)`` (label -1) around ``N(a, I)`` (+1) in 20 dimensions, every ``a = 2 / sqrt(20)``.

    The optimal boundary is a sphere, with +1 inside ``|x - a|^2 - |x|^2 / 4 = 20 log 4``; its error is 1.25 %.
    """
    y = signs(rows, rng)
    inner = (y > 0)[:, None]
    noise = rng.normal(size=(rows, DIMENSIONS))
    return np.where(inner, MEAN + noise, 2.0 * noise), y


def waveform(rows: int, rng: np.random.Generator) -> Drawn:
    """Draw class 2 of waveform (label +1) against classes 1 and 3 (-1), as in Raetsch's set."""
    X, classes = three_waveforms(rows, rng)
    return X, np.where(classes == 1, 1.0, -1.0)


def three_waveforms(rows: int, rng: np.random.Generator) -> tuple[Array, Index]:
    r"""Draw ``u h_a + (1 - u) h_b + N(0, I)`` in 21 positions with uniform u.

    The classes mix the waves (1, 2), (1, 3) and (2, 3), where ``h_1(i) = max(6 - |i - 11|, 0)``,
    ``h_2(i) = h_1(i - 4)`` and ``h_3(i) = h_1(i + 4)`` (Breiman et al. 1984).
    """
    classes = rng.integers(3, size=rows)
    u = rng.uniform(size=(rows, 1))
    first, second = (WAVES[MIXED[classes, side]] for side in (0, 1))
    return u * first + (1.0 - u) * second + rng.normal(size=(rows, len(POSITIONS))), classes


def signs(rows: int, rng: np.random.Generator) -> Array:
    """Draw -1 and +1 with equal probability."""
    return np.where(rng.uniform(size=rows) < 0.5, 1.0, -1.0)


# The functions, and the numbers of rows: 400 to train on, as in flkl2014, and Raetsch's number of test rows.
GENERATORS: dict[str, tuple[Callable[[int, np.random.Generator], Drawn], int]] = {
    "ringnorm-generated": (ringnorm, 7400),
    "twonorm-generated": (twonorm, 7400),
    "waveform-generated": (waveform, 5000),
}


def generate(name: str, seed: int = 0) -> Drawn:
    """Return the rows of a generated data set, which depend only on its name and the seed."""
    draw, rows = GENERATORS[name]
    return draw(rows, stream(seed, name, "rows"))
