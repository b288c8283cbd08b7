"""Effects by hand, and their intervals against slow loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from kselect.report.claims.effects import (
    DRAWS,
    NO_EFFECT,
    Effect,
    draws,
    geometric_effect,
    mean_effect,
    median_effect,
    share_effect,
)


def test_the_median_over_data_sets_with_its_bootstrap() -> None:
    values = [3.0, -1.0, 0.5, 2.0, 8.0]
    found = median_effect([[v] for v in values], "points")
    loop = [float(np.median([values[i] for i in row])) for row in draws(5)]
    assert (found.value, found.unit) == (2.0, "points")
    assert [found.low, found.high] == pytest.approx(np.percentile(loop, [2.5, 97.5]))
    assert (found.text, found.interval) == ("2 points", f"{found.low:.3g} to {found.high:.3g}")


def test_data_sets_are_drawn_whole() -> None:
    """A data set with three values is drawn with all of them, and one without values not at all."""
    rows = [[1.0, 2.0, 3.0], [10.0], [], [math.nan]]
    found = median_effect(rows, "")
    kept = rows[:2]
    loop = [float(np.median([v for i in row for v in kept[i]])) for row in draws(2)]
    assert found.value == 2.5
    assert [found.low, found.high] == pytest.approx(np.percentile(loop, [2.5, 97.5]))


def test_ratios_have_a_geometric_mean() -> None:
    found = geometric_effect([2.0, 8.0], "times as fast")
    assert found.value == pytest.approx(4.0)
    assert (found.low, found.high) == pytest.approx((2.0, 8.0))


def test_a_difference_of_shares() -> None:
    counts = [(1, 10, 5, 10), (0, 10, 5, 20)]
    found = share_effect(counts, "points")
    assert found.value == pytest.approx(100 * (1 / 20 - 10 / 30))
    a, b = (np.array(c, dtype=float) for c in counts)
    ends = sorted(100 * (c[0] / c[1] - c[2] / c[3]) for c in (2 * a, 2 * b))
    assert (found.low, found.high) == pytest.approx((ends[0], ends[1]))


def test_one_data_set_has_the_corrected_t_interval() -> None:
    d = np.array([1.0, 2.0, 4.0, 5.0])
    found = mean_effect(d, 0.5, "points")
    half = stats.t.ppf(0.975, 3) * math.sqrt(1 / 4 + 0.5) * d.std(ddof=1)
    assert [found.value, found.low, found.high] == pytest.approx([3.0, 3.0 - half, 3.0 + half])
    scaled = mean_effect(d, 0.5, "%", scale=0.1)
    assert [scaled.value, scaled.low] == pytest.approx([30.0, 30.0 - 10 * half])


def test_effects_without_an_interval_or_a_value() -> None:
    one = median_effect([[1.5]], "points")
    assert (one.value, one.interval) == (1.5, "")
    assert mean_effect(np.array([2.0]), 0.5, "points").interval == ""
    assert mean_effect(np.array([]), 0.5, "") == mean_effect(np.array([1.0]), 0.5, "", 0.0)
    assert median_effect([[]], "") == geometric_effect([], "") == share_effect([], "") == NO_EFFECT
    assert (Effect().text, Effect().interval) == ("", "")


def test_draws_are_always_the_same() -> None:
    assert draws(7).shape == (DRAWS, 7)
    assert (draws(7) == draws.__wrapped__(7)).all()
