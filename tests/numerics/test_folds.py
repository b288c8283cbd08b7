"""Named random streams, and folds: their numbers, sizes and means."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kselect.errors import ConfigError
from kselect.numerics.folds import Folds, draw_folds, stream

SIZES = st.integers(2, 40).flatmap(lambda n: st.tuples(st.just(n), st.integers(2, n)))


def shown(folds: Folds) -> list[list[int]]:
    """Return the rows of each fold."""
    return [F.tolist() for F in folds.members]


@given(SIZES, st.integers(0, 2**32 - 1))
def test_partition_of_nearly_equal_folds(sizes: tuple[int, int], seed: int) -> None:
    """Every row is in one of k folds, ascending, and sizes differ by at most one."""
    n, k = sizes
    folds = draw_folds(n, k, np.random.default_rng(seed))
    rows = shown(folds)
    assert len(rows) == k
    assert folds.n == n
    assert sorted(i for F in rows for i in F) == list(range(n))
    assert all(sorted(F) == F for F in rows)
    assert max(map(len, rows)) - min(map(len, rows)) <= 1


def test_seed() -> None:
    """The same seed gives the same folds, another seed other folds."""
    draw = [shown(draw_folds(30, 5, np.random.default_rng(seed))) for seed in (1, 1, 2)]
    assert draw[0] == draw[1] != draw[2]


def test_numbers() -> None:
    """There is one fold number per row."""
    folds = Folds.from_numbers(np.array([1, 0, 2, 1, 0, 1]))
    assert shown(folds) == [[1, 4], [0, 3, 5], [2]]
    assert folds.by_size == {1: (2,), 2: (0,), 3: (1,)}


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ([0, 0, 0], "the folds need at least two different numbers"),
        ([], "the folds need at least two different numbers"),
        ([0, 2, 0, 2], "fold numbers must be 0, 1, 2, ... without a gap; [1] has no rows"),
        ([1, 2, 1], "fold numbers must be 0, 1, 2, ... without a gap; [0] has no rows"),
        ([-1, 0, 1], "fold numbers must be 0, 1, 2, ... without a gap"),
        ([-1, 0, 0, 2], "fold numbers must be 0, 1, 2, ... without a gap"),
    ],
)
def test_invalid_fold_numbers_are_refused(numbers: list[int], words: str) -> None:
    """The ConfigError says what is missing."""
    with pytest.raises(ConfigError) as caught:
        Folds.from_numbers(np.array(numbers, dtype=np.intp))
    assert str(caught.value).startswith(words)


def test_more_folds_than_rows() -> None:
    """A fold without rows is refused."""
    with pytest.raises(ConfigError, match="6 folds need at least 6 rows, not 5"):
        draw_folds(5, 6, np.random.default_rng(0))


@given(SIZES, st.integers(0, 2**32 - 1))
def test_average_is_the_mean_of_means(sizes: tuple[int, int], seed: int) -> None:
    """The average is over the last axis, to n eps of the largest value."""
    n, k = sizes
    rng = np.random.default_rng(seed)
    numbers = rng.permutation(np.append(np.arange(k), rng.integers(k, size=n - k)))
    folds = Folds.from_numbers(numbers)
    values = rng.normal(size=(3, n))
    expected = [oracles.mean_of_folds(row, folds.members) for row in values]
    bound = 2 * n * oracles.EPS * np.abs(values).max()
    assert np.abs(folds.average(values) - expected).max() <= bound


def test_average_differs_from_the_mean_for_unequal_folds_only() -> None:
    """For one row against three it is (1 + 0) / 2, not 1 / 4."""
    values = np.array([1.0, 0.0, 0.0, 0.0])
    assert Folds.from_numbers(np.array([0, 1, 1, 1])).average(values) == 0.5
    assert Folds.from_numbers(np.array([0, 1, 0, 1])).average(values) == 0.25


def test_folds_are_compared_by_identity() -> None:
    """Equal folds drawn twice are two keys of a cache."""
    one, two = (Folds.from_numbers(np.array([0, 1, 0])) for _ in range(2))
    assert len({one, one, two}) == 2


@given(st.lists(st.integers(1, 40), min_size=2, max_size=9), st.integers(0, 2**32 - 1))
def test_counts_are_averaged_exactly(sizes: list[int], seed: int) -> None:
    """Means of whole numbers are the float nearest to the fraction."""
    rng = np.random.default_rng(seed)
    folds = Folds.from_numbers(rng.permutation(np.repeat(np.arange(len(sizes)), sizes)))
    values = rng.integers(0, 2, size=(3, sum(sizes))).astype(np.float64)
    for found, row in zip(folds.average(values), values, strict=True):
        means = [Fraction(int(row[F].sum()), len(F)) for F in folds.members]
        assert found == float(sum(means) / len(means))
    assert folds.average(values[0]) == folds.average(values)[0]


def test_one_wrong_row_is_one_wrong_row() -> None:
    """The mean does not depend on which rows are wrong, to the last bit."""
    folds = Folds.from_numbers(np.repeat(np.arange(7), [7, 7, 7, 7, 7, 6, 6]))
    scores = set()
    for pattern in (
        [3, 1, 0, 0, 1],
        [1, 1, 1, 1, 1],
        [0, 5, 0, 0, 0],
        [2, 2, 1, 0, 0],
        [0, 0, 0, 1, 4],
    ):
        values = np.zeros(47)
        for F, count in zip(folds.members, pattern, strict=False):
            values[F[:count]] = 1.0
        scores.add(float(folds.average(values)))
    assert scores == {5 / 49}


def drawn(seed: int, *names: str | int) -> list[int]:
    """Return a few numbers of a stream."""
    return stream(seed, *names).integers(2**32, size=4).tolist()


def test_same_name_same_numbers_in_any_order() -> None:
    """A stream does not depend on the streams drawn before."""
    first = drawn(0, "heart", 3, "split")
    other = stream(0, "heart", 3, "5 folds")
    other.random(1000)
    assert drawn(0, "heart", 3, "split") == first


@pytest.mark.parametrize(
    "names",
    [
        (1, "heart", 3, "split"),
        (0, "sonar", 3, "split"),
        (0, "heart", 4, "split"),
        (0, "heart", 3, "5 folds"),
        (0, "heart", 3),
        (0, "heart3", "split"),
        (0, "heart", "3split"),
        (0, 3, "heart", "split"),
    ],
)
def test_every_name_counts(names: tuple[int, str]) -> None:
    """Another seed, data set, split or purpose gives another stream, and so do joined names."""
    assert drawn(*names) != drawn(0, "heart", 3, "split")


def test_streams_never_change() -> None:
    """A change of numpy's generators would change all results."""
    generator = stream(0, "heart", 3, "split")
    expected = [3539483916, 223488647, 675405714, 2855658275]
    assert generator.integers(2**32, size=4).tolist() == expected
    assert generator.random(2).tolist() == [0.28898853642198985, 0.9688862695379052]
    assert stream(7, "a").permutation(8).tolist() == [1, 7, 4, 3, 0, 5, 2, 6]
