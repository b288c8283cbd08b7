"""The effects behind verdicts, each with a 95 % interval if there is one.

The interval over data sets is a percentile bootstrap that draws whole data sets. For one data set it is Student's
interval over its splits, corrected for their overlap (Nadeau and Bengio 2003).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import stdtrit

from kselect.numerics.folds import stream
from kselect.numerics.linalg import Array, Index

DRAWS = 2000
SEED = 0
COVERAGE = 0.95


@dataclass(frozen=True)
class Effect:
    """How much, with the ends of the 95 % interval; a number that does not exist is NaN."""

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    unit: str = ""

    @property
    def text(self) -> str:
        """Return ``-0.31 points``; an empty text without a value."""
        return "" if math.isnan(self.value) else f"{self.value:.3g} {self.unit}".strip()

    @property
    def interval(self) -> str:
        """Return ``-0.52 to -0.11``; an empty text without an interval."""
        return "" if math.isnan(self.low) else f"{self.low:.3g} to {self.high:.3g}"


NO_EFFECT = Effect()


def median_effect(values: Sequence[Sequence[float]], unit: str) -> Effect:
    """Return the median of all values; each sequence has the values of one data set, and is drawn as a whole."""
    rows = [[v for v in row if not math.isnan(v)] for row in values]
    rows = [row for row in rows if row]
    if not rows:
        return NO_EFFECT
    table = np.full((len(rows), max(map(len, rows))), np.nan)
    for i, row in enumerate(rows):
        table[i, : len(row)] = row

    def median(drawn: Array) -> Array:
        flat = drawn.reshape(len(drawn), -1)
        found: Array = (np.nanmedian if np.isnan(flat).any() else np.median)(flat, axis=1)
        return found

    return over_datasets(table, median, unit)


def geometric_effect(ratios: Sequence[float], unit: str) -> Effect:
    """Return the geometric mean of positive ratios, one per data set."""
    if not len(ratios):
        return NO_EFFECT
    logs = np.log(np.asarray(ratios, dtype=np.float64))
    return over_datasets(logs, lambda drawn: np.exp(drawn.mean(axis=1)), unit)


def share_effect(counts: Sequence[tuple[int, int, int, int]], unit: str) -> Effect:
    """Return the difference of two shares in per cent.

    ``counts`` has one row per data set: hits and total of the first share, hits and total of the second.
    """
    if not len(counts):
        return NO_EFFECT

    def difference(drawn: Array) -> Array:
        a, all_a, b, all_b = drawn.sum(axis=1).T
        with np.errstate(invalid="ignore", divide="ignore"):
            found: Array = 100 * (a / all_a - b / all_b)
        return found

    return over_datasets(np.asarray(counts, dtype=np.float64), difference, unit)


def over_datasets(rows: Array, statistic: Callable[[Array], Array], unit: str) -> Effect:
    """Return a statistic of the rows (one per data set) with its bootstrap interval; none for a single row.

    The statistic takes (draws, rows, ...) and returns one number per draw.
    """
    value = float(statistic(rows[None])[0])
    if len(rows) < 2:
        return Effect(value, unit=unit)
    found = statistic(rows[draws(len(rows))])
    tail = 50 * (1 - COVERAGE)
    low, high = np.nanpercentile(found, [tail, 100 - tail]).tolist()
    return Effect(value, low, high, unit)


@cache
def draws(count: int) -> Index:
    """Draw ``DRAWS`` samples of ``count`` positions with replacement, always the same ones."""
    found: Index = stream(SEED, "effects", count).integers(0, count, size=(DRAWS, count))
    return found


def mean_effect(
    differences: Array, test_over_train: float, unit: str, scale: float = 1.0
) -> Effect:
    """Return the mean difference over the splits of one data set, divided by ``scale``, with its interval.

    The half width is ``t_{0.975, R-1} sqrt((1/R + n_test/n_train) sd^2)``.
    """
    count = len(differences)
    if not count or not scale > 0:
        return NO_EFFECT
    mean = float(np.mean(differences)) / scale
    if count < 2:
        return Effect(mean, unit=unit)
    quantile = float(stdtrit(count - 1, 0.5 + COVERAGE / 2))
    sd = float(np.std(differences, ddof=1)) / scale
    half = quantile * math.sqrt(1 / count + test_over_train) * sd
    return Effect(mean, mean - half, mean + half, unit)
