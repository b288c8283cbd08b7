"""Mean ranks, Friedman's test and Nemenyi's critical difference (Demsar 2006, section 3.2.2)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import fdtrc

from kselect.numerics.linalg import Array

LEVELS = (0.05, 0.1)


@dataclass(frozen=True)
class Friedman:
    """Friedman's chi-squared, and the F of Iman and Davenport that is made from it.

    ``uncorrected`` are chi-squared and F without the correction for ties, as Demsar prints them.
    """

    chi_squared: float
    f: float
    p_value: float
    uncorrected: tuple[float, float]


@dataclass(frozen=True)
class Ranks:
    """Ranks over the data sets on which every method has a number; 1 is the lowest error.

    ``friedman`` and ``critical`` (one difference per level of ``LEVELS``) are None where there are
    fewer than two data sets or methods.
    """

    datasets: tuple[str, ...]
    mean: tuple[float, ...]
    friedman: Friedman | None
    critical: tuple[float, ...] | None


def rank(errors: Array, datasets: tuple[str, ...]) -> Ranks:
    """(N data sets, k methods) of finite errors -> ranks; ties share the average of their ranks."""
    from scipy.stats import rankdata  # here, as it would slow down the start of every command

    count, k = errors.shape
    if count == 0 or k == 0:
        return Ranks((), tuple([math.nan] * k), None, None)
    table = rankdata(errors, axis=1)
    mean = tuple(float(m) for m in table.mean(axis=0))
    if count < 2 or k < 2:
        return Ranks(datasets, mean, None, None)
    critical = tuple(nemenyi(k, count, level) for level in LEVELS)
    return Ranks(datasets, mean, friedman(table), critical)


def friedman(table: Array) -> Friedman:
    r"""Friedman's test on (N, k) ranks, corrected for ties, and Iman and Davenport's F (1980).

    ``chi^2 = (k-1) N^2 sum_j (R_j - (k+1)/2)^2 / (sum_ij r_ij^2 - N k (k+1)^2 / 4)``, without ties
    ``12 N / (k (k+1)) (sum_j R_j^2 - k (k+1)^2 / 4)``; ``F = (N-1) chi^2 / (N (k-1) - chi^2)`` with
    ``k-1`` and ``(k-1)(N-1)`` degrees of freedom. All tied: chi^2 = 0. One order: F = inf, p = 0.
    """
    count, k = table.shape
    centre = (k + 1) / 2
    spread = float(np.square(table - centre).sum())
    between = count**2 * float(np.square(table.mean(axis=0) - centre).sum())
    chi = (k - 1) * between / spread if spread else 0.0
    f = iman_davenport(chi, count, k)
    plain = 12 * between / (count * k * (k + 1))
    p = float(fdtrc(k - 1, (k - 1) * (count - 1), f))
    return Friedman(chi, f, p, (plain, iman_davenport(plain, count, k)))


def iman_davenport(chi: float, count: int, k: int) -> float:
    """F of a chi-squared; infinite where that is as large as it can be."""
    rest = count * (k - 1) - chi
    return (count - 1) * chi / rest if rest > 1e-9 * count * k else math.inf


def nemenyi(k: int, count: int, level: float) -> float:
    """``q_{alpha,k} / sqrt(2) * sqrt(k (k+1) / (6 N))``, q of the studentised range."""
    return studentised(k, level) / math.sqrt(2) * math.sqrt(k * (k + 1) / (6 * count))


@cache
def studentised(k: int, level: float) -> float:
    """``q_{alpha,k}`` for infinitely many degrees of freedom; each takes scipy a third of a second."""
    from scipy.stats import studentized_range

    return float(studentized_range.ppf(1 - level, k, np.inf))
