"""The committed records of the packaged experiments, and how a sample of them is drawn."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product

import pytest

from kselect.core.record import Record
from kselect.store.committed import CELLS_PER_SPLIT, draw_sample, equal_shares

GRID = Record(
    "", 0, "table", "", "k-CV", "", "squared", "", "gaussian", "tau=4",
    0.1, 0.375, 0.2, 0, "zero-one", 189, 81, "ok", "",
)  # fmt: skip
SETS = {"one": 12, "two": 12, "few": 1}
METHODS = [("table", "a"), ("table", "b"), ("sweep", "a")]
RECORDS = [
    replace(GRID, dataset=name, split=split, part=part, method=method, setting=f"lam={i}")
    for name, splits in SETS.items()
    for split, (part, method), i in product(range(splits), METHODS, range(4))
]


def test_equal_shares() -> None:
    assert equal_shares({"a": 10, "b": 2, "c": 10}, 12) == {"a": 5, "b": 2, "c": 5}
    assert equal_shares({"a": 10, "b": 2, "c": 10}, 4) == {"a": 2, "b": 1, "c": 1}
    assert equal_shares({"a": 1, "b": 2}, 10) == {"a": 1, "b": 2}
    assert equal_shares({}, 5) == {}


@pytest.mark.parametrize("count", [1, 3, 9, 60, 290, 300, 1000])
def test_a_sample_is_spread(count: int) -> None:
    """It has the asked number of cells, in the order of the records, from all data sets and methods."""
    found = draw_sample(RECORDS, list(SETS), count, seed=0)
    wanted = min(count, len(RECORDS))
    assert len(found) == wanted == len(set(found))
    assert found == [record for record in RECORDS if record in set(found)]
    sizes = {name: 12 * splits for name, splits in SETS.items()}
    by_set = Counter(record.dataset for record in found)
    assert by_set == Counter(equal_shares(sizes, wanted))
    for name, size in by_set.items():
        mine = [record for record in found if record.dataset == name]
        methods = Counter((record.part, record.method) for record in mine)
        assert len(methods) == min(len(METHODS), size)
        if size <= 4 * CELLS_PER_SPLIT:
            assert max(methods.values()) - min(methods.values()) <= 1
            assert len({r.split for r in mine}) <= -(-size // CELLS_PER_SPLIT)


def test_the_seed_and_the_data_sets_decide() -> None:
    sample = draw_sample(RECORDS, ["one", "two"], 20, seed=0)
    assert sample == draw_sample(RECORDS, ["one", "two"], 20, seed=0)
    others = [draw_sample(RECORDS, ["one", "two"], 20, seed=seed) for seed in range(1, 9)]
    assert all(other != sample for other in others)
    splits = {record.split for other in others for record in other}
    assert len(splits) > 6, "other seeds take other splits"
    one = draw_sample(RECORDS, ["one"], 10, seed=0)
    assert one == [record for record in sample if record.dataset == "one"], "a stream per data set"
