import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from kselect.stats.ranks import LEVELS, nemenyi, rank

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


def test_one_order_everywhere_is_certain() -> None:
    friedman = rank(np.tile([1.0, 2.0, 3.0], (5, 1)), names(5)).friedman
    assert friedman is not None
    assert (friedman.f, friedman.p_value) == (math.inf, 0.0)


def test_nemenyi_against_demsar() -> None:
    assert nemenyi(3, 2, 0.1) == pytest.approx(2.052, abs=5e-4)  # sqrt(k (k+1) / (6 N)) = 1
    assert nemenyi(4, 14, 0.05) == pytest.approx(1.25, abs=5e-3)
    assert nemenyi(4, 14, 0.1) == pytest.approx(1.12, abs=5e-3)
    assert LEVELS == (0.05, 0.1)


@pytest.mark.parametrize("shape", [(0, 3), (1, 3), (3, 1), (0, 0)])
def test_too_little_to_test(shape: tuple[int, int]) -> None:
    ranks = rank(np.ones(shape), names(shape[0]))
    assert ranks.friedman is None
    assert ranks.critical is None
    assert len(ranks.mean) == shape[1]
