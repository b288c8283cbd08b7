"""Is one method's test error higher than another's on the same splits? One-sided paired t-tests."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

from kselect.numerics.linalg import Array

LEVEL = 0.05


@dataclass(frozen=True)
class TTest:
    """A one-sided test of ``mean(d) > 0``; below two pairs there is none: both numbers are NaN."""

    pairs: int
    statistic: float
    p_value: float

    @property
    def possible(self) -> bool:
        """Whether there were pairs enough for a test."""
        return self.pairs > 1

    @property
    def significant(self) -> bool:
        """``statistic > t_{0.95, R-1}``, said with the p-value."""
        return self.p_value < LEVEL


def paired(d: Array) -> TTest:
    """``mean(d) / (sd(d) / sqrt(R)) > t_{0.95, R-1}``: the papers' test (1.676 for R = 50)."""
    return one_sided(d, 1 / max(len(d), 1))


def corrected(d: Array, test_over_train: float) -> TTest:
    """The same with ``(1/R + n_test/n_train) sd^2``: splits overlap (Nadeau and Bengio 2003)."""
    return one_sided(d, 1 / max(len(d), 1) + test_over_train)


def half_width(d: Array, test_over_train: float) -> float:
    """``t_{0.95, R-1} sqrt((1/R + n_test/n_train) sd^2)``.

    ``mean(d)`` is further from 0 than that where ``corrected`` finds a difference, to either side.
    """
    pairs = len(d)
    if pairs < 2:
        return math.nan
    quantile = float(stdtrit(pairs - 1, 1 - LEVEL))
    return quantile * math.sqrt(1 / pairs + test_over_train) * float(np.std(d, ddof=1))


def one_sided(d: Array, factor: float) -> TTest:
    """``mean(d) / sqrt(factor sd^2)`` against Student's t with R - 1 degrees of freedom.

    Equal differences have sd = 0: all zero is no evidence (p = 1), all of one sign is certain.
    """
    pairs = len(d)
    if pairs < 2:
        return TTest(pairs, math.nan, math.nan)
    # Not np.std alone: equal differences must give exactly 0, and their rounded mean leaves 1e-17.
    sd = 0.0 if np.ptp(d) == 0 else float(np.std(d, ddof=1))
    mean = float(np.mean(d))
    if sd == 0:
        return TTest(
            pairs, math.copysign(math.inf, mean) if mean else 0.0, 0.0 if mean > 0 else 1.0
        )
    statistic = mean / (math.sqrt(factor) * sd)
    # The t distribution's own function: scipy.stats would slow down the start of every command.
    return TTest(pairs, statistic, float(stdtr(pairs - 1, -statistic)))
