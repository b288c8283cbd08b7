"""How rows are held out: groups, classes, windows of time and repeats, also within a training part."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, TimeSeriesSplit

from kselect.errors import ConfigError
from kselect.numerics.folds import Folds, draw_folds, stream
from kselect.numerics.splits import Splits
from kselect.selection.request import make_method
from kselect.selection.rows.holding_out import HoldOut
from kselect.selection.rows.rules import RowRules

N = 30
GROUPS = np.array(list("abcdefghij") * 3, dtype=object)
CLASSES = (np.arange(N) % 10 == 0).astype(np.intp)


def folds_of(how: HoldOut, k: int = 3, seed: int = 0) -> Folds:
    """Return the folds of a partition."""
    found = how.split(N, k, seed)
    assert isinstance(found, Folds)
    return found


def test_nothing_asked_is_random_folds() -> None:
    assert not HoldOut()
    wanted = draw_folds(N, 5, stream(3, "folds"))
    np.testing.assert_array_equal(folds_of(HoldOut(), 5, 3).numbers, wanted.numbers)


def test_groups_stay_together_in_folds_of_like_size() -> None:
    groups = np.repeat(np.array(list("abcdefg")), [9, 6, 5, 4, 3, 2, 1])
    folds = folds_of(HoldOut(groups=groups))
    for F in folds.members:
        others = np.setdiff1d(np.arange(N), F)
        assert not set(groups[F]) & set(groups[others])
    wanted = [len(test) for _, test in GroupKFold(3).split(groups, groups=groups)]
    assert sorted(map(len, folds.members)) == sorted(wanted)
    with pytest.raises(ConfigError, match="8 folds need at least 8 groups, not 7"):
        HoldOut(groups=groups).split(N, 8, 0)


def test_stratified_folds_share_the_classes() -> None:
    folds = folds_of(HoldOut(classes=CLASSES))
    assert [int(CLASSES[F].sum()) for F in folds.members] == [1, 1, 1]
    with pytest.raises(ConfigError, match="4 folds need 4 rows of each class, not 3"):
        HoldOut(classes=CLASSES).split(N, 4, 0)
    both = folds_of(HoldOut(groups=GROUPS, classes=CLASSES))
    for F in both.members:
        assert not set(GROUPS[F]) & set(GROUPS[np.setdiff1d(np.arange(N), F)])


@pytest.mark.parametrize("how", [HoldOut(), HoldOut(groups=GROUPS), HoldOut(classes=CLASSES)])
def test_repeats_are_different_partitions_and_begin_with_the_first(how: HoldOut) -> None:
    again = HoldOut(how.groups, how.times, how.classes, repeats=3).split(N, 3, 1)
    assert isinstance(again, Splits)
    assert len(again.rounds) == 3
    first = folds_of(how, 3, 1)
    np.testing.assert_array_equal(again.rounds[0].numbers, first.numbers)
    partitions = {one.numbers.tobytes() for one in again.rounds}
    assert len(partitions) == 3


def test_windows_of_time_are_those_of_scikit_learn() -> None:
    times = np.random.default_rng(0).permutation(N).astype(float)
    found = HoldOut(times=times).split(N, 4, 0)
    assert isinstance(found, Splits)
    order = np.argsort(times)
    for mine, (train, test) in zip(found.pairs, TimeSeriesSplit(4).split(np.zeros(N)), strict=True):
        np.testing.assert_array_equal(mine[0], order[train])
        np.testing.assert_array_equal(mine[1], order[test])


def test_rows_of_the_same_time_stay_on_one_side() -> None:
    times = np.repeat(np.arange(10.0), 3)
    found = HoldOut(times=times).split(N, 3, 0)
    assert isinstance(found, Splits)
    for train, test in found.pairs:
        assert times[train].max() < times[test].min()
    with pytest.raises(ConfigError, match="need more rows with different times"):
        HoldOut(times=np.zeros(N)).split(N, 3, 0)
    with pytest.raises(ConfigError, match="need at least 41 rows, not 30"):
        HoldOut(times=times).split(N, 40, 0)


def test_time_excludes_the_other_ways() -> None:
    times = np.arange(N, dtype=float)
    for more in ({"groups": GROUPS}, {"classes": CLASSES}, {"repeats": 2}):
        with pytest.raises(ConfigError, match="time orders the rows: leave out"):
            HoldOut(times=times, **more)  # type: ignore[arg-type]


def test_a_training_part_holds_its_own_rows_out_in_the_same_way() -> None:
    rows = np.arange(0, N, 2)
    part = HoldOut(groups=GROUPS, repeats=2).part(rows)
    assert part.repeats == 2
    found = part.once().split(len(rows), 3, 0)
    assert isinstance(found, Folds)
    for F in found.members:
        rest = np.setdiff1d(np.arange(len(rows)), F)
        assert not set(GROUPS[rows][F]) & set(GROUPS[rows][rest])


def test_a_criterion_without_folds_takes_none_of_it() -> None:
    method = make_method("ELOO", None, {}, True)
    assert RowRules().folds_of(method, N, 0) is None
    with pytest.raises(ConfigError, match="ELOO has no folds: leave out"):
        RowRules(hold_out=HoldOut(groups=GROUPS)).folds_of(method, N, 0)
