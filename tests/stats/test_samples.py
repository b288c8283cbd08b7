"""Records -> DataFrame -> samples, without a text between."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from synthetic import experiment, record, regression_experiment

from kselect.core.experiment import SplitLimit
from kselect.core.method import LamGrid, Setting
from kselect.core.record import COLUMNS, significant
from kselect.errors import StoreError
from kselect.stats.samples import (
    count_splits,
    frame,
    match,
    read_samples,
    read_units,
    table_records,
    within,
)


def test_a_frame_holds_the_numbers_themselves() -> None:
    """An error that no decimal text has, and a value that a CSV would take for a missing one."""
    third = record("heart", 0, "5-CV", 1 / 3, reason="nan")
    found = frame([third, record("heart", 1, "5-CV", None)])
    assert tuple(found.columns) == COLUMNS
    assert found["error"][0] == 1 / 3
    assert math.isnan(found["error"][1])
    assert math.isnan(found["lam"][1])
    assert found["reason"][0] == "nan"


def test_a_frame_of_nothing_has_its_columns_and_types() -> None:
    found = frame([])
    assert tuple(found.columns) == COLUMNS
    assert found["error"].dtype == float
    assert len(table_records(found, experiment(), "squared")) == 0
    assert read_units(found) == {}


def test_settings_are_looked_up_not_parsed() -> None:
    spec = experiment(lam=LamGrid((0.1, 10.0), "fixed", "n lam"))
    rows = [record("heart", 0, "5-CV", 0.2, setting="n lam=10", lam=10 / 70)]
    rows.append(record("heart", 0, "5-CV", 0.9, setting="n lam=3"))
    samples = read_samples(table_records(frame(rows), spec, "squared"), spec)
    assert samples.keys() == {(Setting(1, 10.0, "n lam"), "heart", "5-CV")}


def test_only_the_experiments_own_data_sets_and_splits() -> None:
    rows = [record(d, s, "5-CV", 0.1) for d in ("heart", "a2a") for s in (0, 2, 7)]
    found = within(frame(rows), experiment(splits=(0, 1, 2)))
    assert [*zip(found["dataset"], found["split"], strict=True)] == [("heart", 0), ("heart", 2)]


def test_planned_splits_and_those_that_a_flag_added() -> None:
    """heart is planned once and was run twice more; sonar is planned three times and never ran."""
    spec = experiment(splits=(0, 1, 2), fewer_splits=(SplitLimit(1, dataset="heart"),))
    rows = [record("heart", s, "5-CV", 0.1) for s in (1, 2, 7)]
    assert count_splits(frame(rows), spec) == {"heart": 3, "sonar": 3}
    assert count_splits(frame([]), spec) == {"heart": 1, "sonar": 3}


def test_a_regression_belongs_to_every_loss() -> None:
    spec = regression_experiment(loss="zero-one")
    rows = [record("mpg", 0, "5-CV", 8.0, metric="mse", setting="selected")]
    rows.append(record("heart", 0, "5-CV", 0.2, setting="selected"))
    assert list(table_records(frame(rows), spec, "zero-one")["dataset"]) == ["mpg"]


def test_a_repeated_record_is_an_error() -> None:
    rows = [record("heart", 0, "5-CV", 0.1), record("heart", 0, "5-CV", 0.2)]
    with pytest.raises(StoreError, match=r"heart, split 0, 5-CV, lam=0\.001 twice"):
        table_records(frame(rows), experiment(), "squared")


def test_a_tie_of_counts_is_a_tie() -> None:
    """The same number of wrong labels over the splits, in other places: no digit tells the means apart."""
    wrong = {"5-CV": (30, 31, 25), "5-KS": (31, 25, 30), "10-CV": (28, 29, 29)}
    rows = [
        record("heart", split, label, significant(count / 207), n_test=207)
        for label, counts in wrong.items()
        for split, count in enumerate(counts)
    ]
    found = read_samples(table_records(frame(rows), experiment(), "squared"), experiment())
    assert {s.mean for s in found.values()} == {float(Fraction(100 * 86, 3 * 207))}


def test_equal_differences_of_counts_are_equal() -> None:
    rows = [
        record("heart", split, label, significant((count + more) / 207), n_test=207)
        for label, more in (("5-CV", 1), ("5-KS", 0))
        for split, count in enumerate((3, 17, 100, 101))
    ]
    found = read_samples(table_records(frame(rows), experiment(), "squared"), experiment())
    a, b = (next(s for k, s in found.items() if k[2] == label) for label in ("5-CV", "5-KS"))
    assert set(match(a, b).difference.tolist()) == {100 / 207}


def test_an_error_that_is_no_count_stays_as_it_is() -> None:
    rows = [record("heart", 0, "5-CV", 0.123, n_test=30)]
    (found,) = read_samples(
        table_records(frame(rows), experiment(), "squared"), experiment()
    ).values()
    assert (found.mean, found.shares) == (12.3, {})
