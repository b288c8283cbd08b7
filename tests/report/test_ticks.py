"""The places and labels of ticks."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kselect.report.ticks import FEWEST, MOST, find_ticks, label_values, show_tick, spread


@given(st.floats(-8, 5), st.floats(0.005, 9))
def test_an_axis_has_enough_labels_wherever_it_lies(low: float, span: float) -> None:
    """Labels are within the axis, distinct, and not too many."""
    ends = 10**low, 10 ** (low + span)
    ticks = find_ticks(*ends)
    texts = [show_tick(t) for t in ticks]
    assert FEWEST <= len(ticks) <= MOST + 1
    assert all(ends[0] <= t <= ends[1] for t in ticks)
    assert len(set(texts)) == len(texts)
    values = [float(text) for text in texts]
    assert values == pytest.approx(ticks, rel=1e-5)


def test_grid_values_are_powers_of_two_if_all_are() -> None:
    assert label_values([2.0**-15, 1.0, 1024.0]) == ["$2^{-15}$", "$2^{0}$", "$2^{10}$"]
    assert label_values([0.0001, 0.1, 1.0]) == ["0.0001", "0.1", "1"]
    assert label_values([1.0, 2.0, 3.0]) == ["1", "2", "3"]
    assert label_values([4.0]) == ["4"]
    assert label_values([]) == []


@pytest.mark.parametrize("count", [1, 2, 4, 10, 16, 21, 31])
@pytest.mark.parametrize("most", [2, 4, 5])
def test_positions_are_even_and_few(count: int, most: int) -> None:
    found = spread(count, most)
    assert found[0] == 0
    assert len(found) <= most
    assert all(0 <= i < count for i in found)
    assert len({b - a for a, b in pairwise(found)}) <= 1
    assert len(found) >= min(count, 2)


def test_positions_end_at_the_last_one_if_they_can() -> None:
    assert spread(21, 5) == [0, 5, 10, 15, 20]
    assert spread(31, 4) == [0, 10, 20, 30]
    assert spread(10, 2) == [0, 9]
