"""Splits into training and test rows, drawn from a named random stream, so that every method gets the same ones."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor

import numpy as np

from kselect.datasets.registry import Given
from kselect.errors import TrialError
from kselect.numerics.folds import stream
from kselect.numerics.linalg import Array, Index


@dataclass(frozen=True, eq=False)
class Split:
    """The row numbers of the training part and of the test part, each ascending."""

    train: Index
    test: Index


def count_train(n: int, fraction: float) -> int:
    """Return ``n - floor((1 - fraction) n + 1/2)``: half a row goes to the test part, as the papers' means show.

    The fraction is taken as the decimal that was written: in floats, 0.3 x 345 + 1/2 is slightly off.
    """
    return n - floor((1 - Fraction(str(fraction))) * n + Fraction(1, 2))


def draw_split(y: Array, fraction: float, stratify: bool, rng: np.random.Generator) -> Split:
    """Draw a random ``fraction`` of the rows to train on (see ``count_train``), and test on the rest.

    ``stratify`` draws that fraction within every class. A part without rows is a TrialError.
    """
    groups = (
        [np.flatnonzero(y == label) for label in np.unique(y)] if stratify else [np.arange(len(y))]
    )
    train = np.zeros(len(y), dtype=bool)
    for rows in groups:
        train[rng.permutation(rows)[: count_train(len(rows), fraction)]] = True
    if train.all() or not train.any():
        raise TrialError(f"{len(y)} rows leave an empty part at train = {fraction:g}")
    return Split(np.flatnonzero(train), np.flatnonzero(~train))


def draw_given(name: str, given: Given, rows: int) -> tuple[Split, ...]:
    """Draw splits of the published sizes, in place of unavailable ones; the seed is the data set's name."""
    splits = []
    for number in range(given.splits):
        order = stream(0, name, number, "given split").permutation(rows)
        train, test = order[: given.train], order[given.train : given.train + given.test]
        splits.append(Split(np.sort(train), np.sort(test)))
    return tuple(splits)
