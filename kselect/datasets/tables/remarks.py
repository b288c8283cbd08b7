"""What is worth saying of a column that has been read: an index, a constant, a copy of the target, gaps."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kselect.datasets.tables.columns import ColumnSpec, Texts, shown
from kselect.datasets.tables.decisions import Decision
from kselect.grids import show_number
from kselect.numerics.linalg import Array, Index

NAMELESS = re.compile(r"Unnamed: ?[0-9]+|[Ii]ndex|level_0|row[ _.]?(?:names?|ids?|numbers?|nrs?)?")
IDENTIFIER = re.compile(r"(?:.*[ _.-])?[iI][dD]|.*[a-z]I[dD]")
INDEX = "left out: it numbers the rows; --numeric COLUMN keeps it"
NUMBERED = "left out: an identifier, another whole number in each row; --numeric COLUMN keeps it"
COUNTS = "it counts the rows: --drop COLUMN unless their order means something"
MIRROR = "it tells the target one to one: --drop COLUMN if it is the target in other words"
CONSTANT = "the same value in every row"


def as_index(name: str, values: Array | Texts, lonely: bool) -> Decision | None:
    """Why a column of numbers is left out; ``lonely``: it has no header and no column before it."""
    if values.dtype == object or len(values) < 2 or not np.isfinite(values).all():
        return None
    if lonely:
        return Decision(name, INDEX) if counts_rows(values) else None
    distinct = len(np.unique(values)) == len(values) and bool((values == np.round(values)).all())
    if not distinct:
        return None
    if NAMELESS.fullmatch(name):
        return Decision(name, INDEX)
    return Decision(name, NUMBERED) if IDENTIFIER.fullmatch(name) else None


def counts_rows(values: NDArray[np.generic]) -> bool:
    """0, 1, 2, ... or 1, 2, 3, ... down the file."""
    ordered = np.arange(len(values))
    return bool((values == ordered).all() or (values == ordered + 1).all())


def remarks(
    spec: ColumnSpec, values: Array | Texts, target: Sequence[str] | Array | None
) -> list[Decision]:
    """What is to be said of a column that is kept."""
    found = []
    if spec.numeric and len(values) > 2 and counts_rows(values):
        found.append(Decision(spec.name, COUNTS))
    if target is not None and mirrors(values, target):
        found.append(Decision(spec.name, MIRROR))
    if len(values) and (values == values[0]).all():
        value = show_number(values[0]) if spec.numeric else shown(values[0])
        return [*found, Decision(spec.name, CONSTANT, value)]
    return found if spec.numeric else [*found, says_levels(spec, values.tolist())]


def remarkable(values: Array, target: Sequence[str] | Array | None) -> Index:
    """The columns of (n, columns) numbers that ``remarks`` may have to say something of, found all at once."""
    rows = np.arange(len(values))[:, None]
    distinct = 1 + np.count_nonzero(np.diff(np.sort(values, axis=0), axis=0), axis=0)
    counting = np.all(values == rows, axis=0) | np.all(values == rows + 1, axis=0)
    classes = 0 if target is None else len(set(target))
    return np.flatnonzero(counting | (distinct == 1) | (distinct == classes))


def mirrors(values: Array | Texts, target: Sequence[str] | Array) -> bool:
    """Whether column and target determine each other, with each value at least twice on average."""
    mine = values.tolist()
    distinct = len(set(mine))
    if not 1 < distinct <= len(mine) // 2 or distinct != len(set(target)):
        return False
    return len(set(zip(mine, target, strict=True))) == distinct


def says_levels(spec: ColumnSpec, values: Sequence[str]) -> Decision:
    """That a column is encoded, and in how many columns."""
    levels = sorted(set(values))
    if len(levels) == 2:
        low, high = (shown(level)[1:-1] or "missing" for level in levels)
        return Decision(spec.name, "two values, taken as 0 and 1", f"{low} = 0, {high} = 1")
    return Decision(spec.name, "categories: a 0/1 column for each value", f"{len(levels)} values")


def absent(values: Array | Texts) -> NDArray[np.bool_]:
    """Which rows are missing."""
    return np.asarray(values == "" if values.dtype == object else np.isnan(values.astype(float)))


def says_missing(spec: ColumnSpec, values: Array | Texts) -> Decision | None:
    """That missing values are filled in, and with what."""
    count = int(absent(values).sum())
    if not count:
        return None
    text = (
        "missing values become the median" if spec.numeric else "missing is a category of its own"
    )
    return Decision(spec.name, text, f"{count} missing")
