"""All tests of a table of errors: per data set, over data sets, and of every pair of methods."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from kselect.core.method import SELECTED
from kselect.core.record import significant
from kselect.judge.error_table import ErrorTable
from kselect.numerics.linalg import Array
from kselect.report.claims.effects import NO_EFFECT, Effect, over_datasets
from kselect.report.claims.errors import pair_effect
from kselect.stats.comparison import (
    Comparison,
    Contest,
    MethodPair,
    compare_row,
    contest,
    mean_differences,
    method_pairs,
    rank_complete,
)
from kselect.stats.omnibus import Omnibus, choose_test, effect_sizes
from kselect.stats.ranks import Posterior, Ranks, holm_adjusted, side_probabilities
from kselect.stats.samples import SplitErrors, TTest, match, t_test


@dataclass(frozen=True)
class JudgedPair:
    """Two methods with every test of them; numbers have the orientation of the file.

    Attributes
    ----------
    over_datasets
        Difference of the means over data sets, counts, and Wilcoxon's p with Holm's correction.
    contest
        Counts of the t-tests over splits, one-sided in each direction.
    median
        The median over data sets of the difference with its bootstrap interval; for one data set the mean over
        splits with the corrected t interval.
    size
        Cohen's d or Akinshin's gamma with its bootstrap interval; NaN without a test over data sets.
    post_hoc
        The p-value of Tukey's or Nemenyi's test; NaN without one.
    posterior
        The Bayesian signed-rank test; None below two data sets.
    """

    first: str
    second: str
    difference: float
    over_datasets: MethodPair
    contest: Contest
    median: Effect
    size: Effect
    post_hoc: float
    posterior: Posterior | None


@dataclass(frozen=True)
class PairTest:
    """The t-tests of two methods over the splits of one data set, two-sided.

    ``holm`` is the p-value of the corrected test, adjusted over the pairs of the data set.
    """

    dataset: str
    first: str
    second: str
    difference: float
    splits: int
    statistic: float
    p_value: float
    p_corrected: float
    holm: float


@dataclass(frozen=True, eq=False)
class Analysis:
    """The table of errors with all of its tests; ``means`` is (ranked data sets, methods), lower is better."""

    table: ErrorTable
    alpha: float
    rope: float
    comparison: Comparison
    means: Array
    omnibus: Omnibus | None
    pairs: tuple[JudgedPair, ...]
    tests: tuple[PairTest, ...]

    @property
    def ranks(self) -> Ranks:
        """Return the mean ranks over data sets."""
        return self.comparison.ranks[SELECTED]

    @property
    def order(self) -> list[int]:
        """Return the positions of the methods, the lowest mean rank first."""
        return sorted(range(len(self.table.methods)), key=lambda i: self.ranks.mean[i])

    @property
    def comparable(self) -> bool:
        """Return whether the numbers of all data sets have one metric."""
        return len(set(self.table.metrics.values())) == 1


def analyse(table: ErrorTable, alpha: float, rope: float) -> Analysis:
    """Compute every test at the level ``alpha``; differences below ``rope`` are practically none."""
    methods, datasets = table.methods, table.datasets
    splits = {d: table.samples[d, methods[0]].runs for d in datasets}
    cells = {
        (d, m): cell
        for d in datasets
        for m, cell in compare_row(
            {m: table.samples[d, m] for m in methods}, splits[d], level=alpha
        ).items()
    }
    units = {d: "MSE" if d in table.relative else "%" for d in datasets}
    ranks = rank_complete(table.samples, datasets, methods)
    comparison = Comparison(
        "", methods, splits, units, {SELECTED: cells}, {SELECTED: ranks}, datasets
    )
    means = np.array([[significant(cells[d, m].mean) for m in methods] for d in datasets])
    comparable = len(set(table.metrics.values())) == 1
    omnibus = choose_test(means, alpha, comparable)
    partial = Analysis(table, alpha, rope, comparison, means, omnibus, (), ())
    tests = [test for d in datasets for test in pair_tests(table, d)]
    return replace(partial, pairs=tuple(judge_pairs(partial)), tests=tuple(tests))


def judge_pairs(found: Analysis) -> list[JudgedPair]:
    """Return every pair of methods, in the order of the file."""
    table, comparison = found.table, found.comparison
    cells, methods, sign = comparison.cells[SELECTED], table.methods, table.sign
    post_hoc = found.omnibus.pairs if found.omnibus else ()
    judged = []
    for i, pair in enumerate(method_pairs(comparison, SELECTED)):
        first, second = pair.first, pair.second
        differences = mean_differences(comparison, SELECTED, first, second)
        effect = pair_effect([(cells, first, second)], table.datasets, table.relative)
        both = found.means[:, [methods.index(first), methods.index(second)]]
        posterior = None
        if len(differences) > 1:
            sides = side_probabilities(differences, found.rope)
            posterior = Posterior(first, second, *sides)
        judged.append(
            JudgedPair(
                first,
                second,
                sign * pair.difference,
                pair,
                contest(first, second, cells, comparison.splits, found.alpha),
                turned(effect, sign),
                turned(size_of(both, found), sign),
                post_hoc[i] if post_hoc else math.nan,
                posterior,
            )
        )
    return judged


def size_of(errors: Array, found: Analysis) -> Effect:
    """Return the effect size of two columns of errors with its bootstrap interval over data sets."""
    if found.omnibus is None or not found.comparable:
        return NO_EFFECT
    normal = found.omnibus.assumptions.normal
    effect = over_datasets(errors, lambda drawn: effect_sizes(drawn, normal), "")
    return effect if math.isfinite(effect.value) else NO_EFFECT


def turned(effect: Effect, sign: int) -> Effect:
    """Return an effect with the sign of the file's numbers."""
    if sign > 0:
        return effect
    return replace(effect, value=-effect.value, low=-effect.high, high=-effect.low)


def pair_tests(table: ErrorTable, dataset: str) -> list[PairTest]:
    """Return the t-tests of all pairs on one data set; none with one split."""
    found, corrected = [], []
    for first, second in combinations(table.methods, 2):
        pairs = match(table.samples[dataset, first], table.samples[dataset, second])
        if pairs.a.runs < 2:
            continue
        plain = two_sided(pairs.difference, 0.0)
        test = two_sided(pairs.difference, pairs.test_over_train)
        corrected.append(test.p_value)
        difference = table.sign * float(np.mean(pairs.difference))
        statistic = table.sign * test.statistic
        found.append(
            PairTest(
                *(dataset, first, second, difference, test.pairs, statistic),
                *(plain.p_value, test.p_value, math.nan),
            )
        )
    adjusted = holm_adjusted(corrected)
    return [replace(one, holm=p) for one, p in zip(found, adjusted, strict=True)]


def two_sided(differences: Array, test_over_train: float) -> TTest:
    """Return the t-test of any difference, from the upper tail of its absolute value, which keeps its digits."""
    sign = -1.0 if np.mean(differences) < 0 else 1.0
    test = t_test(sign * differences, test_over_train)
    return replace(test, statistic=sign * test.statistic, p_value=min(1.0, 2 * test.p_value))


def shown_cells(found: Analysis, dataset: str) -> Sequence[SplitErrors]:
    """Return the cells of a data set with the file's numbers, marked by the corrected test."""
    cells = found.comparison.cells[SELECTED]
    row = [cells[dataset, method] for method in found.table.methods]
    if found.table.overlap:
        row = [replace(cell, worse=cell.worse_corrected) for cell in row]
    if not found.table.higher:
        return row
    return [
        replace(
            cell,
            errors={s: -e for s, e in cell.errors.items()},
            shares={s: -e for s, e in cell.shares.items()},
        )
        for cell in row
    ]
