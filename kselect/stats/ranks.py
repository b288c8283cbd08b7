"""Ranks of methods over data sets, and tests of which methods differ (Demsar 2006).

Mean ranks, Friedman's test and Nemenyi's critical difference (section 3.2.2); Holm's procedure and Wilcoxon's test
for every pair; and the Bayesian signed-rank test of Benavoli, Corani, Demsar and Zaffalon (2017).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np
from scipy.special import fdtrc, ndtr

from kselect.numerics.folds import stream
from kselect.numerics.linalg import Array

LEVELS = (0.05, 0.1)
# Up to this number of differences without ties, Wilcoxon's test is exact.
EXACT = 50
# Percentage points of error below which two methods are practically the same.
ROPE = 1.0
STRENGTH = 0.5
# The standard error of a probability is at most 0.0035.
DRAWS = 20_000
SEED = 0


@dataclass(frozen=True)
class Friedman:
    """Friedman's chi-squared, and Iman and Davenport's F derived from it.

    ``uncorrected`` are chi-squared and F without the correction for ties, as Demsar prints them.
    """

    chi_squared: float
    f: float
    p_value: float
    uncorrected: tuple[float, float]


@dataclass(frozen=True)
class Ranks:
    """Mean ranks over the data sets on which every method has a number; 1 is the lowest error.

    ``friedman`` and ``critical`` (one difference per level of ``LEVELS``) are None if there are fewer than two data
    sets or methods.
    """

    datasets: tuple[str, ...]
    mean: tuple[float, ...]
    friedman: Friedman | None
    critical: tuple[float, ...] | None


def rank(errors: Array, datasets: tuple[str, ...]) -> Ranks:
    r"""Rank (N data sets, k methods) of finite errors; ties share the average of their ranks.

    Friedman's test is corrected for ties; F is Iman and Davenport's (1980):
    ``chi^2 = (k-1) N^2 sum_j (R_j - (k+1)/2)^2 / (sum_ij r_ij^2 - N k (k+1)^2 / 4)``, without ties
    ``12 N / (k (k+1)) (sum_j R_j^2 - k (k+1)^2 / 4)``; ``F = (N-1) chi^2 / (N (k-1) - chi^2)`` with
    ``k-1`` and ``(k-1)(N-1)`` degrees of freedom. All tied: chi^2 = 0. One order: F = inf, p = 0.
    Nemenyi's critical difference is ``q_{alpha,k} / sqrt(2) * sqrt(k (k+1) / (6 N))``.
    """
    from scipy.stats import rankdata  # imported here, as it would slow down every command's start

    count, k = errors.shape
    if count == 0 or k == 0:
        return Ranks((), tuple([math.nan] * k), None, None)
    table = rankdata(errors, axis=1)
    means = table.mean(axis=0)
    mean = tuple(float(m) for m in means)
    if count < 2 or k < 2:
        return Ranks(datasets, mean, None, None)
    centre = (k + 1) / 2
    spread = float(np.square(table - centre).sum())
    between = count**2 * float(np.square(means - centre).sum())
    chi = (k - 1) * between / spread if spread else 0.0
    plain = 12 * between / (count * k * (k + 1))
    rests = [(x, count * (k - 1) - x) for x in (chi, plain)]
    # F is infinite if chi-squared has its largest possible value.
    f, plain_f = (
        (count - 1) * x / rest if rest > 1e-9 * count * k else math.inf for x, rest in rests
    )
    p = float(fdtrc(k - 1, (k - 1) * (count - 1), f))
    critical = tuple(critical_difference(k, count, level) for level in LEVELS)
    return Ranks(datasets, mean, Friedman(chi, f, p, (plain, plain_f)), critical)


def critical_difference(k: int, count: int, level: float) -> float:
    """Return Nemenyi's critical difference of mean ranks of ``k`` methods over ``count`` data sets."""
    return studentised(k, level) / math.sqrt(2) * math.sqrt(k * (k + 1) / (6 * count))


@cache
def studentised(k: int, level: float) -> float:
    """Return ``q_{alpha,k}`` of the studentised range for infinitely many degrees of freedom; scipy is slow."""
    from scipy.stats import studentized_range

    return float(studentized_range.ppf(1 - level, k, np.inf))


@dataclass(frozen=True)
class Contrast:
    """Two methods: the difference of their mean ranks, and whether Nemenyi's test detects it at each of ``LEVELS``.

    ``p_holm`` is the p-value of the normal approximation of ranks, adjusted by Holm's procedure over all pairs;
    ``p_wilcoxon`` is Wilcoxon's for the means over data sets, not adjusted; NaN if a test is not possible.
    """

    first: str
    second: str
    difference: float
    nemenyi: tuple[bool, ...]
    p_holm: float
    p_wilcoxon: float


def contrasts(errors: Array, ranks: Ranks, methods: Sequence[str]) -> tuple[Contrast, ...]:
    """Test every pair of methods; ``errors`` is (data sets, methods), as ranked."""
    pairs = list(combinations(range(len(methods)), 2))
    if ranks.critical is None:
        return ()
    k, count = len(methods), len(ranks.datasets)
    differences = [ranks.mean[i] - ranks.mean[j] for i, j in pairs]
    error = math.sqrt(k * (k + 1) / (6 * count))
    holm = holm_adjusted([2.0 * float(ndtr(-abs(d) / error)) for d in differences])
    return tuple(
        Contrast(
            methods[i],
            methods[j],
            d,
            tuple(abs(d) > limit for limit in ranks.critical),
            p,
            wilcoxon(errors[:, i], errors[:, j]),
        )
        for (i, j), d, p in zip(pairs, differences, holm, strict=True)
    )


def holm_adjusted(p_values: Sequence[float]) -> list[float]:
    """Return ``max_{j <= i} min(1, (m - j) p_(j))`` for p-values in ascending order (Holm 1979)."""
    order = np.argsort(p_values, kind="stable")
    adjusted, largest = [0.0] * len(p_values), 0.0
    for step, position in enumerate(order.tolist()):
        largest = max(largest, min(1.0, (len(p_values) - step) * p_values[position]))
        adjusted[position] = largest
    return adjusted


def wilcoxon(first: Array, second: Array) -> float:
    """Return the two-sided p-value of Wilcoxon's signed ranks, zeros dropped; 1 if all differences are zero.

    Exact without ties and for up to 50 pairs, else the normal approximation; NaN below two pairs.
    """
    if len(first) < 2:
        return math.nan
    # Rounded like the records, so that two means that differ only in their last bit are equal.
    d = np.asarray(first) - np.asarray(second)
    d[np.abs(d) <= 1e-12 * np.maximum(np.abs(first), np.abs(second))] = 0.0
    if not d.any():
        return 1.0
    from scipy.stats import wilcoxon as signed_ranks  # imported here: it is slow

    d = d[d != 0.0]
    # For ties, scipy's default permutes, which takes a third of a second per pair of methods.
    exact = len(d) <= EXACT and len(np.unique(np.abs(d))) == len(d)
    return float(signed_ranks(d, method="exact" if exact else "approx").pvalue)


def cliques(ranks: Ranks, level: float = 0.1) -> tuple[tuple[int, ...], ...]:
    """Return the groups of methods that Nemenyi's test does not separate: the longest runs of ranks."""
    if ranks.critical is None:
        return ()
    limit = critical_difference(len(ranks.mean), len(ranks.datasets), level)
    order = sorted(range(len(ranks.mean)), key=lambda i: ranks.mean[i])
    found: list[tuple[int, ...]] = []
    for start in range(len(order)):
        near = [i for i in order[start:] if ranks.mean[i] - ranks.mean[order[start]] <= limit]
        run = tuple(near)
        if len(run) > 1 and not any(set(run) <= set(other) for other in found):
            found.append(run)
    return tuple(found)


@dataclass(frozen=True)
class Posterior:
    """The probabilities that the first method has practically lower, equal or higher errors.

    The differences are a sample of a distribution with a Dirichlet process as its prior, whose strength s sits on
    one pseudo-observation ``z_0 = 0`` (after Benavoli et al. 2014). A posterior draw weights the observations by
    ``w ~ Dir(s, 1, ..., 1)``; with the region of practical equivalence (-r, r), the shares of the pairs are

        below = sum_ij w_i w_j [z_i + z_j < -2r],   above = sum_ij w_i w_j [z_i + z_j > 2r],   inside = the rest,

    and the probability of each case is the share of the draws in which its share is the largest.
    """

    first: str
    second: str
    better: float
    same: float
    worse: float


def posteriors(errors: Array, methods: Sequence[str], rope: float = ROPE) -> tuple[Posterior, ...]:
    """Test every pair of methods; ``errors`` is (data sets, methods), in percent. Empty below two data sets."""
    if len(errors) < 2:
        return ()
    pairs = combinations(range(len(methods)), 2)
    return tuple(
        Posterior(methods[i], methods[j], *side_probabilities(errors[:, i] - errors[:, j], rope))
        for i, j in pairs
    )


def side_probabilities(differences: Array, rope: float) -> tuple[float, float, float]:
    """Return the probabilities of below, inside and above, for differences over data sets."""
    shares = side_shares(differences, posterior_weights(len(differences)), rope)
    largest = np.bincount(shares.argmax(axis=0), minlength=3) / shares.shape[1]
    below, inside, above = largest.tolist()
    return below, inside, above


def side_shares(differences: Array, weights: Array, rope: float) -> Array:
    """Return (3, draws): below, inside, above; ``weights`` is (draws, 1 + differences)."""
    z = np.concatenate([[0.0], differences])
    sums = z[:, None] + z
    below, above = (
        np.einsum("si,si->s", weights @ side, weights)
        for side in ((sums < -2.0 * rope).astype(float), (sums > 2.0 * rope).astype(float))
    )
    return np.stack([below, 1.0 - below - above, above])


@cache
def posterior_weights(count: int) -> Array:
    """Draw the posterior weights of ``count`` differences from a named stream, the same for every pair."""
    concentration = np.concatenate([[STRENGTH], np.ones(count)])
    return stream(SEED, "signed-ranks", count).dirichlet(concentration, size=DRAWS)
