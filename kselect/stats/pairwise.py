"""Which of several methods differ over data sets: mean ranks, Holm's steps, Wilcoxon's test (Demsar 2006)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import ndtr

from kselect.numerics.linalg import Array
from kselect.stats.ranks import LEVELS, Ranks

# So many differences without a tie have an exact distribution.
EXACT = 50


@dataclass(frozen=True)
class Contrast:
    """Two methods: the difference of their mean ranks, for each level of ``LEVELS`` whether Nemenyi's test sees it.

    ``p_holm`` is that of the ranks' normal approximation in Holm's order over all pairs, ``p_wilcoxon`` that of the
    signed ranks of the means over data sets, not corrected; NaN where a test is not possible.
    """

    first: str
    second: str
    difference: float
    nemenyi: tuple[bool, ...]
    p_holm: float
    p_wilcoxon: float


def contrasts(errors: Array, ranks: Ranks, methods: Sequence[str]) -> tuple[Contrast, ...]:
    """Every pair of methods; ``errors`` is (data sets, methods), as ranked."""
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
    """``max_{j <= i} min(1, (m - j) p_(j))`` (Holm 1979): p-values in order, each times what is left of them."""
    order = np.argsort(p_values, kind="stable")
    adjusted, largest = [0.0] * len(p_values), 0.0
    for step, position in enumerate(order.tolist()):
        largest = max(largest, min(1.0, (len(p_values) - step) * p_values[position]))
        adjusted[position] = largest
    return adjusted


def wilcoxon(first: Array, second: Array) -> float:
    """The two-sided p-value of Wilcoxon's signed ranks, zeros dropped; 1 where all differences are zero.

    Exact without ties and for up to 50 pairs, else the normal approximation; NaN below two pairs.
    """
    if len(first) < 2:
        return math.nan
    # Rounded as records are: two means that differ in their last bit are equal.
    d = np.asarray(first) - np.asarray(second)
    d[np.abs(d) <= 1e-12 * np.maximum(np.abs(first), np.abs(second))] = 0.0
    if not d.any():
        return 1.0
    from scipy.stats import wilcoxon as signed_ranks  # here, as it would slow down the start

    d = d[d != 0.0]
    # Ties left to scipy would be permuted, which takes a third of a second for a pair of methods.
    exact = len(d) <= EXACT and len(np.unique(np.abs(d))) == len(d)
    return float(signed_ranks(d, method="exact" if exact else "approx").pvalue)


def cliques(ranks: Ranks, level: float = 0.1) -> tuple[tuple[int, ...], ...]:
    """Methods that Nemenyi's test does not tell apart: the longest runs in the order of ranks."""
    if ranks.critical is None:
        return ()
    limit = ranks.critical[LEVELS.index(level)]
    order = sorted(range(len(ranks.mean)), key=lambda i: ranks.mean[i])
    found: list[tuple[int, ...]] = []
    for start in range(len(order)):
        near = [i for i in order[start:] if ranks.mean[i] - ranks.mean[order[start]] <= limit]
        run = tuple(near)
        if len(run) > 1 and not any(set(run) <= set(other) for other in found):
            found.append(run)
    return tuple(found)
