import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from kselect.stats.ttest import corrected, half_width, paired

DIFFERENCES = st.lists(
    st.floats(-10, 10).map(lambda v: round(v, 3)), min_size=2, max_size=30
).filter(lambda d: np.ptp(d) > 0)


@given(DIFFERENCES)
def test_paired_is_scipys_one_sided_test(values: list[float]) -> None:
    d = np.array(values)
    theirs = stats.ttest_rel(d, np.zeros(len(d)), alternative="greater")
    mine = paired(d)
    assert mine.statistic == pytest.approx(theirs.statistic)
    assert mine.p_value == pytest.approx(theirs.pvalue)
    limit = stats.t.ppf(0.95, len(d) - 1)
    assert mine.significant == (mine.statistic > limit)


def test_the_papers_limit_for_fifty_splits() -> None:
    """1.676 is the quantile of 50 degrees of freedom as tables print it; 49 give 1.677."""
    assert stats.t.ppf(0.95, 49) == pytest.approx(1.677, abs=5e-4)
    d = np.tile([1.0, -1.0], 25)
    sd = float(np.std(d, ddof=1))
    assert paired(d + 1.68 * sd / math.sqrt(50)).significant
    assert not paired(d + 1.67 * sd / math.sqrt(50)).significant


def test_corrected_by_hand() -> None:
    """mean 2, sd 1, R = 3, n_test / n_train = 3/7: 2 / sqrt(1/3 + 3/7)."""
    test = corrected(np.array([1.0, 2.0, 3.0]), 3 / 7)
    assert test.statistic == pytest.approx(2 / math.sqrt(1 / 3 + 3 / 7))
    assert test.p_value == pytest.approx(stats.t.sf(test.statistic, 2))


def test_corrected_without_a_test_part_is_paired() -> None:
    d = np.array([0.3, -0.1, 0.4, 0.2])
    assert corrected(d, 0.0) == paired(d)
    assert corrected(d, 0.5).p_value > paired(d).p_value


@pytest.mark.parametrize("count", [0, 1])
def test_no_test_below_two_pairs(count: int) -> None:
    for test in (paired(np.ones(count)), corrected(np.ones(count), 0.5)):
        assert not test.possible
        assert not test.significant
        assert math.isnan(test.p_value)


def test_equal_differences() -> None:
    zero, up, down = (paired(np.full(10, v)) for v in (0.0, 0.1, -0.1))
    assert (zero.statistic, zero.p_value, zero.significant) == (0.0, 1.0, False)
    assert (up.statistic, up.p_value, up.significant) == (math.inf, 0.0, True)
    assert (down.statistic, down.p_value, down.significant) == (-math.inf, 1.0, False)


def test_a_band_leaves_zero_where_the_corrected_test_finds_a_difference() -> None:
    rng = np.random.default_rng(5)
    seen = set()
    for _ in range(200):
        d = rng.normal(rng.uniform(-2, 2), 1.0, size=int(rng.integers(2, 12)))
        found = corrected(d, 0.4).significant or corrected(-d, 0.4).significant
        assert (abs(float(np.mean(d))) > half_width(d, 0.4)) == found
        seen.add(found)
    assert seen == {True, False}
    assert math.isnan(half_width(np.array([1.0]), 0.4))
