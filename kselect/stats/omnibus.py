"""Choose and compute a test of several methods over data sets, as autorank does (Herbold 2020).

Every method has one mean error per data set. If no method's errors depart from a normal distribution
(Shapiro and Wilk, with Bonferroni's correction), two methods are compared by the paired t-test, and more by an
analysis of variance with repeated measures if their variances are equal (Bartlett). Otherwise Wilcoxon's
signed ranks compare two methods, and Friedman's test compares more. Tukey's and Nemenyi's tests compare the pairs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from scipy.special import chdtrc, fdtrc

from kselect.numerics.linalg import Array
from kselect.stats.ranks import rank, wilcoxon
from kselect.stats.samples import t_test

# Normality cannot be tested on fewer data sets to any effect.
FEWEST = 5

TestName = Literal["paired t-test", "Wilcoxon", "ANOVA", "Friedman"]
PostHoc = Literal["", "Tukey HSD", "Nemenyi"]


@dataclass(frozen=True)
class Assumptions:
    """The tests that choose the test.

    ``normality`` has the p-value of each method, compared with ``level``; ``variances`` is the p-value of
    Bartlett's test if all are normal, or of Levene's. Two methods need no equal variances.
    """

    normality: tuple[float, ...]
    level: float
    variances: float
    alpha: float

    @property
    def normal(self) -> bool:
        """Return whether no method departs from a normal distribution."""
        return min(self.normality) >= self.level

    @property
    def equal_variances(self) -> bool:
        """Return whether the test of equal variances does not reject."""
        return self.variances >= self.alpha


@dataclass(frozen=True)
class Omnibus:
    """The chosen test of all methods, and the p-values of its post hoc test.

    ``freedom`` are the degrees of freedom of ``statistic``, if it has any. ``pairs`` is in the order of
    ``itertools.combinations``; it is empty for two methods.
    """

    name: TestName
    statistic: float
    freedom: tuple[int, ...]
    p_value: float
    post_hoc: PostHoc
    pairs: tuple[float, ...]
    assumptions: Assumptions
    parametric: bool


def choose_test(errors: Array, alpha: float, comparable: bool = True) -> Omnibus | None:
    """Choose and compute the test of (data sets, methods) errors; None below five data sets.

    Errors of different metrics are not ``comparable`` between data sets, so that only ranks may be used.
    """
    count, k = errors.shape
    if count < FEWEST:
        return None
    assumed = check_assumptions(errors, alpha)
    normal = assumed.normal and comparable
    if k == 2:
        return two_methods(errors, assumed, normal)
    if normal and assumed.equal_variances:
        f, freedom, p = repeated_measures(errors)
        return Omnibus("ANOVA", f, freedom, p, "Tukey HSD", tukey(errors), assumed, True)
    friedman = rank(errors, tuple(map(str, range(count)))).friedman
    chi = friedman.chi_squared if friedman else math.nan
    p = float(chdtrc(k - 1, chi))
    return Omnibus("Friedman", chi, (k - 1,), p, "Nemenyi", nemenyi(errors), assumed, False)


def check_assumptions(errors: Array, alpha: float) -> Assumptions:
    """Test normality of each method and equality of variances; equal numbers count as normal, as in scipy."""
    from scipy.stats import bartlett, levene, shapiro  # imported here: it is slow

    columns = list(errors.T)
    constant = [bool(np.ptp(c) == 0) for c in columns]
    normality = tuple(
        1.0 if same else float(shapiro(c).pvalue) for c, same in zip(columns, constant, strict=True)
    )
    level = alpha / len(columns)
    if all(constant):
        variances = 1.0
    elif min(normality) >= level:
        # A variance of zero equals no other one.
        variances = 0.0 if any(constant) else float(bartlett(*columns).pvalue)
    else:
        variances = float(levene(*columns).pvalue)
    return Assumptions(normality, level, variances, alpha)


def two_methods(errors: Array, assumed: Assumptions, normal: bool) -> Omnibus:
    """Compare two methods by a two-sided test of their paired differences."""
    first, second = errors.T
    d = first - second
    if normal:
        # The upper tail of |t| keeps its digits.
        test = t_test(d if np.mean(d) >= 0 else -d)
        statistic = math.copysign(test.statistic, float(np.mean(d)))
        p = min(1.0, 2 * test.p_value)
        return Omnibus("paired t-test", statistic, (len(d) - 1,), p, "", (), assumed, True)
    from scipy.stats import rankdata

    d = d[d != 0]
    ranks = rankdata(np.abs(d))
    smaller = min(float(ranks[d > 0].sum()), float(ranks[d < 0].sum()))
    p = wilcoxon(first, second)
    return Omnibus("Wilcoxon", smaller, (), p, "", (), assumed, False)


def repeated_measures(errors: Array) -> tuple[float, tuple[int, int], float]:
    """Return F, its degrees of freedom and p of a one-way analysis of variance with repeated measures.

    ``F = (S_methods / (k-1)) / (S_error / ((k-1)(N-1)))``, where the error remains after subtracting the means
    of methods and data sets.
    """
    count, k = errors.shape
    grand = errors.mean()
    methods = errors.mean(axis=0) - grand
    rest = errors - grand - methods - (errors.mean(axis=1) - grand)[:, None]
    between, error = count * float(methods @ methods), float(np.square(rest).sum())
    freedom = (k - 1, (k - 1) * (count - 1))
    if error <= 1e-24 * float(np.square(errors).sum()):  # nothing but rounding
        f = 0.0 if between <= error else math.inf
    else:
        f = (between / freedom[0]) / (error / freedom[1])
    return f, freedom, float(fdtrc(*freedom, f))


def tukey(errors: Array) -> tuple[float, ...]:
    """Return the p-value of each pair by Tukey's test, for which the methods are independent groups."""
    from scipy.stats import tukey_hsd

    k = errors.shape[1]
    if not np.any(np.ptp(errors, axis=0)):  # no variance at all
        means = errors[0]
        return tuple(float(means[i] == means[j]) for i, j in combinations(range(k), 2))
    found = tukey_hsd(*errors.T).pvalue
    return tuple(float(found[i, j]) for i, j in combinations(range(k), 2))


def nemenyi(errors: Array) -> tuple[float, ...]:
    """Return the p-value of each pair by Nemenyi's test.

    ``P(Q_k > |R_i - R_j| / sqrt(k (k+1) / (12 N)))`` with the studentised range Q for infinitely many degrees of
    freedom.
    """
    from scipy.stats import studentized_range

    count, k = errors.shape
    mean = rank(errors, tuple(map(str, range(count)))).mean
    scale = math.sqrt(k * (k + 1) / (12 * count))
    pairs = combinations(range(k), 2)
    q = np.array([abs(mean[i] - mean[j]) / scale for i, j in pairs])
    return tuple(float(p) for p in np.clip(studentized_range.sf(q, k, np.inf), 0.0, 1.0))


def effect_sizes(drawn: Array, parametric: bool) -> Array:
    """Return the effect size of (draws, data sets, 2) errors: the first method against the second.

    Cohen's d divides the difference of the means by the pooled standard deviation. If the errors are not normal,
    Akinshin's gamma divides the difference of the medians by the pooled median absolute deviation, scaled to a
    normal distribution's deviation.
    """
    centre = drawn.mean(axis=1) if parametric else np.median(drawn, axis=1)
    if parametric:
        spreads = drawn.std(axis=1, ddof=1)
    else:
        spreads = 1.4826 * np.median(np.abs(drawn - centre[:, None]), axis=1)
    pooled = np.sqrt(np.square(spreads).mean(axis=1))
    difference = centre[:, 0] - centre[:, 1]
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Array = np.where(difference == 0.0, 0.0, difference / pooled)
    return found


def magnitude(effect: float) -> str:
    """Return the size of d or gamma in words (Cohen 1988)."""
    for limit, word in ((0.2, "negligible"), (0.5, "small"), (0.8, "medium")):
        if abs(effect) < limit:
            return word
    return "large"
