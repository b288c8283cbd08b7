"""Tests between methods over data sets, against scipy and against Demsar's worked example."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from kselect.numerics.linalg import Array
from kselect.stats.pairwise import cliques, contrasts, holm_adjusted, wilcoxon
from kselect.stats.ranks import Ranks, rank

# Demsar 2006, table 6: C4.5, with m, with cf, with both; AUC, so that the ranks are those of 1 - AUC.
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
        [0.972, 0.981, 0.9751, 0.975],  # printed alike, but with the ranks 2 and 3
        [0.957, 0.978, 0.946, 0.970],
    ]
)
LABELS = ("C4.5", "m", "cf", "m+cf")


def ranked(errors: Array) -> Ranks:
    return rank(errors, tuple(f"d{i}" for i in range(len(errors))))


def test_demsars_example() -> None:
    """His ranks, chi-squared, F and critical differences to the last printed digit; p of F is below 5 %.

    He does not correct for ties; scipy does, as what is tested does.
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
    """C4.5 is worse than both with m at 10 %; at 5 % nothing is told apart."""
    found = contrasts(1.0 - AUC, ranked(1.0 - AUC), LABELS)
    seen = {(c.first, c.second): c.nemenyi for c in found}
    assert {pair for pair, (five, _) in seen.items() if five} == set()
    assert {pair for pair, (_, ten) in seen.items() if ten} == {("C4.5", "m"), ("C4.5", "m+cf")}
    assert cliques(ranked(1.0 - AUC)) == ((3, 1, 2), (2, 0))


@pytest.mark.parametrize("seed", range(4))
def test_friedman_is_scipys(seed: int) -> None:
    """With and without ties."""
    rng = np.random.default_rng(seed)
    errors = rng.normal(size=(12, 4)).round(1 if seed % 2 else 12)
    found = ranked(errors).friedman
    assert found is not None
    assert found.chi_squared == pytest.approx(stats.friedmanchisquare(*errors.T).statistic)


@pytest.mark.parametrize("seed", range(6))
def test_wilcoxon_is_scipys(seed: int) -> None:
    """Exact for few pairs, approximate for many or with ties; zeros dropped as Wilcoxon did."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(10, 60)[seed % 2])
    a = a.round(1 if seed > 3 else 12)
    b = a + rng.normal(0.3, 0.5, size=len(a)).round(1 if seed > 3 else 12)
    how = "exact" if len(a) == 10 and seed <= 3 else "asymptotic"
    d = np.asarray(a - b).round(9)
    expected = stats.wilcoxon(d, zero_method="wilcox", method=how).pvalue
    assert wilcoxon(d, np.zeros_like(d)) == pytest.approx(expected, rel=1e-9)


def test_wilcoxon_of_nothing() -> None:
    assert np.isnan(wilcoxon(np.ones(1), np.zeros(1)))
    assert wilcoxon(np.ones(5), np.ones(5) * (1 + 1e-15)) == 1.0


def test_holm() -> None:
    """Holm 1979: 0.01, 0.04, 0.03 -> 0.03, 0.06, 0.06."""
    assert holm_adjusted([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm_adjusted([0.6, 0.7]) == [1.0, 1.0]
    assert holm_adjusted([]) == []


def test_holm_of_ranks() -> None:
    """z = difference / sqrt(k (k + 1) / (6 N)), two-sided, in Holm's order."""
    found = contrasts(1.0 - AUC, ranked(1.0 - AUC), LABELS)
    z = [abs(c.difference) / np.sqrt(4 * 5 / (6 * 14)) for c in found]
    expected = holm_adjusted([2 * stats.norm.sf(v) for v in z])
    assert [c.p_holm for c in found] == pytest.approx(expected)


def test_too_few_data_sets() -> None:
    assert contrasts(np.ones((1, 2)), ranked(np.ones((1, 2))), ("a", "b")) == ()
    assert cliques(ranked(np.ones((1, 2)))) == ()
