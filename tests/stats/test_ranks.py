"""Ranks, Friedman's and Nemenyi's tests, pairwise tests, and the Bayesian signed-rank test."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from scipy.stats import beta

from kselect.numerics.linalg import Array
from kselect.stats.ranks import (
    DRAWS,
    LEVELS,
    STRENGTH,
    Ranks,
    cliques,
    contrasts,
    holm_adjusted,
    posterior_weights,
    posteriors,
    rank,
    side_probabilities,
    side_shares,
    wilcoxon,
)

TABLES = arrays(int, st.tuples(st.integers(2, 12), st.integers(3, 6)), elements=st.integers(0, 6))


def names(count: int) -> tuple[str, ...]:
    return tuple(f"d{i}" for i in range(count))


@given(TABLES)
def test_ranks_and_friedman_are_scipys(table: np.ndarray) -> None:
    ranks = rank(table.astype(float), names(len(table)))
    by_row = [stats.rankdata(row) for row in table]
    assert ranks.mean == pytest.approx(np.mean(by_row, axis=0))
    assert ranks.friedman is not None
    if all(len(set(row.tolist())) == 1 for row in table):
        assert (ranks.friedman.chi_squared, ranks.friedman.p_value) == (0.0, 1.0)
    else:
        theirs = stats.friedmanchisquare(*table.T).statistic
        assert ranks.friedman.chi_squared == pytest.approx(theirs, abs=1e-9)


def test_iman_davenport_by_hand() -> None:
    """Mean ranks 1.25, 1.75, 3 of N = 4: chi^2 = 4 (13.625 - 12) = 6.5, F = 3 * 6.5 / (8 - 6.5)."""
    ranks = rank(np.array([[1.0, 2, 3], [1, 2, 3], [1, 2, 3], [2, 1, 3]]), names(4))
    assert ranks.friedman is not None
    assert ranks.mean == (1.25, 1.75, 3.0)
    assert ranks.friedman.chi_squared == pytest.approx(6.5)
    assert ranks.friedman.f == pytest.approx(13.0)
    assert ranks.friedman.p_value == pytest.approx(stats.f.sf(13.0, 2, 6))


def test_the_same_order_everywhere_has_a_p_value_of_zero() -> None:
    friedman = rank(np.tile([1.0, 2.0, 3.0], (5, 1)), names(5)).friedman
    assert friedman is not None
    assert (friedman.f, friedman.p_value) == (math.inf, 0.0)


def test_nemenyi_against_demsar() -> None:
    critical = [
        rank(np.tile(np.arange(k), (n, 1)), names(n)).critical for k, n in ((3, 2), (4, 14))
    ]
    assert critical[0][1] == pytest.approx(2.052, abs=5e-4)  # sqrt(k (k+1) / (6 N)) = 1
    assert critical[1] == pytest.approx((1.25, 1.12), abs=5e-3)
    assert LEVELS == (0.05, 0.1)


@pytest.mark.parametrize("shape", [(0, 3), (1, 3), (3, 1), (0, 0)])
def test_too_few_rows_or_columns_have_no_test(shape: tuple[int, int]) -> None:
    ranks = rank(np.ones(shape), names(shape[0]))
    assert ranks.friedman is None
    assert ranks.critical is None
    assert len(ranks.mean) == shape[1]


# Demsar 2006, table 6: C4.5 alone, with m, with cf, with both. The values are AUC, so the errors are 1 - AUC.
AUC = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.975],  # printed as equal, but with the ranks 2 and 3
        [0.957, 0.978, 0.946, 0.970],
    ]
)
LABELS = ("C4.5", "m", "cf", "m+cf")


def ranked(errors: Array) -> Ranks:
    return rank(errors, names(len(errors)))


def test_demsars_example() -> None:
    """Ranks, statistics and critical differences have Demsar's printed digits.

    Demsar does not correct for ties; the tested p-value and scipy do.
    """
    found = ranked(1.0 - AUC)
    assert [f"{m:.3f}" for m in found.mean] == ["3.143", "2.000", "2.893", "1.964"]
    assert found.critical is not None
    assert [f"{c:.2f}" for c in found.critical] == ["1.25", "1.12"]
    assert found.friedman is not None
    assert [f"{v:.2f}" for v in found.friedman.uncorrected] == ["9.28", "3.69"]
    theirs = stats.friedmanchisquare(*(1.0 - AUC).T).statistic
    assert found.friedman.chi_squared == pytest.approx(theirs, rel=1e-12)
    assert found.friedman.p_value < 0.05


@given(st.integers(2, 12), st.integers(3, 6), st.integers(0, 999))
def test_without_ties_there_is_nothing_to_correct(count: int, k: int, seed: int) -> None:
    found = ranked(np.random.default_rng(seed).normal(size=(count, k))).friedman
    assert found is not None
    assert found.uncorrected == pytest.approx((found.chi_squared, found.f), rel=1e-9)


def test_demsars_verdicts() -> None:
    """C4.5 is worse than both variants with m at 10 %; at 5 % no pair differs."""
    found = contrasts(1.0 - AUC, ranked(1.0 - AUC), LABELS)
    seen = {(c.first, c.second): c.nemenyi for c in found}
    assert {pair for pair, (five, _) in seen.items() if five} == set()
    assert {pair for pair, (_, ten) in seen.items() if ten} == {("C4.5", "m"), ("C4.5", "m+cf")}
    assert cliques(ranked(1.0 - AUC)) == ((3, 1, 2), (2, 0))


@pytest.mark.parametrize("seed", range(4))
def test_friedman_is_scipys(seed: int) -> None:
    """The statistic equals scipy's with and without ties."""
    rng = np.random.default_rng(seed)
    errors = rng.normal(size=(12, 4)).round(1 if seed % 2 else 12)
    found = ranked(errors).friedman
    assert found is not None
    assert found.chi_squared == pytest.approx(stats.friedmanchisquare(*errors.T).statistic)


@pytest.mark.parametrize("seed", range(6))
def test_wilcoxon_is_scipys(seed: int) -> None:
    """The test is exact for few pairs, else asymptotic; zero differences are dropped."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(10, 60)[seed % 2])
    a = a.round(1 if seed > 3 else 12)
    b = a + rng.normal(0.3, 0.5, size=len(a)).round(1 if seed > 3 else 12)
    how = "exact" if len(a) == 10 and seed <= 3 else "asymptotic"
    d = np.asarray(a - b).round(9)
    expected = stats.wilcoxon(d, zero_method="wilcox", method=how).pvalue
    assert wilcoxon(d, np.zeros_like(d)) == pytest.approx(expected, rel=1e-9)


def test_wilcoxon_without_differences() -> None:
    assert np.isnan(wilcoxon(np.ones(1), np.zeros(1)))
    assert wilcoxon(np.ones(5), np.ones(5) * (1 + 1e-15)) == 1.0


def test_holm() -> None:
    """Holm 1979: 0.01, 0.04, 0.03 -> 0.03, 0.06, 0.06."""
    assert holm_adjusted([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm_adjusted([0.6, 0.7]) == [1.0, 1.0]
    assert holm_adjusted([]) == []


def test_holm_of_ranks() -> None:
    """p-values of ``difference / sqrt(k (k + 1) / (6 N))`` are two-sided and Holm-adjusted."""
    found = contrasts(1.0 - AUC, ranked(1.0 - AUC), LABELS)
    z = [abs(c.difference) / np.sqrt(4 * 5 / (6 * 14)) for c in found]
    expected = holm_adjusted([2 * stats.norm.sf(v) for v in z])
    assert [c.p_holm for c in found] == pytest.approx(expected)


def test_too_few_data_sets() -> None:
    assert contrasts(np.ones((1, 2)), ranked(np.ones((1, 2))), ("a", "b")) == ()
    assert cliques(ranked(np.ones((1, 2)))) == ()


# Five standard errors of a probability; the draws never change.
NOISE = 2.5 / np.sqrt(DRAWS)


def by_definition(differences: Array, w: Array, rope: float) -> list[float]:
    """Return the shares pair by pair, with the pseudo-observation of zero first."""
    z = [0.0, *differences.tolist()]
    shares = [0.0, 0.0, 0.0]
    for i, j in itertools.product(range(len(z)), repeat=2):
        walsh = (z[i] + z[j]) / 2
        shares[0 if walsh < -rope else 2 if walsh > rope else 1] += w[i] * w[j]
    return shares


@pytest.mark.parametrize("seed", range(4))
def test_shares_are_those_of_the_definition(seed: int) -> None:
    """Differences at the edges of the region of equivalence count as inside."""
    rng = np.random.default_rng(seed)
    differences = rng.normal(size=7).round(0 if seed % 2 else 2)
    w = posterior_weights(7)[:50]
    found = side_shares(differences, w, 0.5)
    expected = [by_definition(differences, row, 0.5) for row in w]
    np.testing.assert_allclose(found.T, expected, atol=1e-12)


def test_weights_are_those_of_the_posterior() -> None:
    """The pseudo-observation has weight ``STRENGTH``, and the draws are reproducible."""
    w = posterior_weights(9)
    np.testing.assert_allclose(w.sum(axis=1), 1.0)
    means = np.array([STRENGTH, *[1.0] * 9]) / (9 + STRENGTH)
    np.testing.assert_allclose(w.mean(axis=0), means, atol=2e-3)
    first = w.copy()
    posterior_weights.cache_clear()
    np.testing.assert_array_equal(posterior_weights(9), first)


def test_two_data_sets_far_apart() -> None:
    """``1 - w_0^2`` is above, more than half if ``w_0 < sqrt(1/2)``; w_0 is Beta(s, 2)."""
    below, same, above = side_probabilities(np.array([3.0, 4.0]), 1.0)
    expected = beta.cdf(np.sqrt(0.5), STRENGTH, 2.0)
    assert above == pytest.approx(expected, abs=NOISE)
    assert (below, same) == (0.0, pytest.approx(1.0 - expected, abs=NOISE))


def test_two_data_sets_beyond_the_region_but_not_twice() -> None:
    """Only ``(1 - w_0)^2`` is above, since half of each difference is inside the region."""
    below, _, above = side_probabilities(np.array([1.4, 1.8]), 1.0)
    assert above == pytest.approx(beta.cdf(1.0 - np.sqrt(0.5), STRENGTH, 2.0), abs=NOISE)
    assert below == 0.0


def test_exchanged_methods_exchange_the_probabilities() -> None:
    errors = np.random.default_rng(3).normal(10.0, 3.0, size=(12, 3))
    found = {(p.first, p.second): p for p in posteriors(errors, ("a", "b", "c"))}
    assert set(found) == {("a", "b"), ("a", "c"), ("b", "c")}
    for p in posteriors(errors[:, ::-1], ("c", "b", "a")):
        other = found[p.second, p.first]
        assert (p.better, p.same, p.worse) == (other.worse, other.same, other.better)


def test_verdicts_of_the_signed_rank_test() -> None:
    """Near methods are the same, a clear difference wins, symmetric ones are even."""
    base = np.linspace(5.0, 30.0, 14)
    wobble = 0.2 * np.random.default_rng(0).normal(size=14)
    swing = np.where(np.arange(14) % 2 == 0, 4.0, -4.0)
    errors = np.column_stack([base, base + wobble, base + 4.0, base + swing])
    near, far, even = posteriors(errors, ("a", "near", "far", "even"))[:3]
    assert near.same == 1.0
    assert far.better > 0.999
    assert even.better == pytest.approx(even.worse, abs=0.05)
    assert all(p.better + p.same + p.worse == pytest.approx(1.0) for p in (near, far, even))


def test_one_data_set_has_no_posterior() -> None:
    assert posteriors(np.ones((1, 2)), ("a", "b")) == ()
