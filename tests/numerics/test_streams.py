"""Random streams depend on their names alone, and stay what they are."""

from __future__ import annotations

import pytest

from kselect.numerics.streams import stream


def drawn(seed: int, *names: str | int) -> list[int]:
    """A few numbers of a stream."""
    return stream(seed, *names).integers(2**32, size=4).tolist()


def test_same_name_same_numbers_in_any_order() -> None:
    """What others drew before changes nothing."""
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
    """Another seed, data set, split or purpose, or names run together, is another stream."""
    assert drawn(*names) != drawn(0, "heart", 3, "split")


def test_frozen() -> None:
    """Our own golden numbers: should numpy change its generators, results would no longer be the same."""
    generator = stream(0, "heart", 3, "split")
    assert generator.integers(2**32, size=4).tolist() == [
        3539483916,
        223488647,
        675405714,
        2855658275,
    ]
    assert generator.random(2).tolist() == [0.28898853642198985, 0.9688862695379052]
    assert stream(7, "a").permutation(8).tolist() == [1, 7, 4, 3, 0, 5, 2, 6]
