"""Splits: sizes, class shares, seeds, and impossible splits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kselect.datasets.splits import Split, count_train, draw_split
from kselect.errors import TrialError
from kselect.numerics.linalg import Array


def labels(positive: int, negative: int) -> Array:
    """Return shuffled labels with these class sizes."""
    y = np.append(np.ones(positive), -np.ones(negative))
    return np.random.default_rng(0).permutation(y)


def split_of(y: Array, fraction: float, stratify: bool, seed: int = 0) -> Split:
    """Draw a split with a new generator."""
    return draw_split(y, fraction, stratify, np.random.default_rng(seed))


@given(st.integers(5, 60), st.floats(0.2, 0.8), st.booleans(), st.integers(0, 2**32 - 1))
def test_partition(n: int, fraction: float, stratify: bool, seed: int) -> None:
    """Every row is in one part, in ascending order, and the training part has the requested size."""
    y = labels(n // 2, n - n // 2)
    split = split_of(y, fraction, stratify, seed)
    assert sorted([*split.train.tolist(), *split.test.tolist()]) == list(range(n))
    for part in (split.train, split.test):
        assert part.tolist() == sorted(part.tolist())
    sizes = [n // 2, n - n // 2] if stratify else [n]
    assert len(split.train) == sum(count_train(size, fraction) for size in sizes)


@pytest.mark.parametrize(
    ("n", "fraction", "test"),
    [
        (351, 0.5, 176),
        (683, 0.5, 342),
        (345, 0.7, 104),
        (345, 0.5, 173),
        (690, 0.7, 207),
        (5, 0.3, 4),
    ],
)
def test_half_a_row_goes_to_the_test_part(n: int, fraction: float, test: int) -> None:
    """``floor((1 - train) n + 1/2)`` rows are tested: the published 176 for ionosphere, 342 for breast-cancer."""
    assert len(split_of(labels(n // 2, n - n // 2), fraction, False).test) == test


@given(st.integers(2, 10_000), st.integers(1, 99))
def test_the_count_is_exact(n: int, percent: int) -> None:
    """The count is exact in whole numbers: ``floor(((100 - percent) n + 50) / 100)`` test rows."""
    assert n - count_train(n, percent / 100) == ((100 - percent) * n + 50) // 100


def test_stratify_keeps_the_shares() -> None:
    """With stratify, 70 % of each class are kept; without it, the share varies with the seed."""
    y = labels(30, 70)
    kept = {int((y[split_of(y, 0.7, True, seed).train] > 0).sum()) for seed in range(20)}
    free = {int((y[split_of(y, 0.7, False, seed).train] > 0).sum()) for seed in range(20)}
    assert kept == {21}
    assert len(free) > 3


@pytest.mark.parametrize("stratify", [True, False])
def test_seed(stratify: bool) -> None:
    """The same seed gives the same split, another seed another one."""
    y = labels(20, 20)
    parts = [split_of(y, 0.7, stratify, seed).train.tolist() for seed in (1, 1, 2)]
    assert parts[0] == parts[1] != parts[2]


def test_labels_have_no_influence_without_stratify() -> None:
    """Without stratify, the split does not depend on the targets."""
    y = labels(20, 20)
    np.testing.assert_array_equal(split_of(y, 0.7, False).train, split_of(-y, 0.7, False).train)


@pytest.mark.parametrize("fraction", [0.01, 0.99])
@pytest.mark.parametrize("stratify", [True, False])
def test_empty_part(fraction: float, stratify: bool) -> None:
    """A split with an empty part is refused."""
    with pytest.raises(TrialError, match=f"10 rows leave an empty part at train = {fraction:g}"):
        split_of(labels(5, 5), fraction, stratify)
