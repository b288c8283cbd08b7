"""From records to a data frame and samples, and the t-tests of matched samples."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from synthetic import experiment, record, regression_experiment, study

from kselect.core.experiment import SplitLimit
from kselect.core.method import LamGrid, Setting
from kselect.core.record import COLUMNS, Record, significant
from kselect.errors import StoreError
from kselect.stats.samples import match, read_samples, samples_by, select, t_test, table_records


def frame(rows: list[Record]) -> pd.DataFrame:
    return study(experiment(), rows).records


def test_a_frame_keeps_exact_values() -> None:
    """1/3 keeps all its bits, and the text "nan" is no missing value."""
    third = record("heart", 0, "5-CV", 1 / 3, reason="nan")
    found = frame([third, record("heart", 1, "5-CV", None)])
    assert tuple(found.columns) == (*COLUMNS, "made_by")
    assert found["error"][0] == 1 / 3
    assert math.isnan(found["error"][1])
    assert math.isnan(found["lam"][1])
    assert found["reason"][0] == "nan"


def test_an_empty_frame_has_its_columns_and_types() -> None:
    found = frame([])
    assert tuple(found.columns) == (*COLUMNS, "made_by")
    assert found["error"].dtype == float
    assert len(table_records(found, experiment(), "squared")) == 0


def test_settings_are_looked_up_not_parsed() -> None:
    spec = experiment(lam=LamGrid((0.1, 10.0), "fixed", "n lam"))
    rows = [record("heart", 0, "5-CV", 0.2, setting="n lam=10", lam=10 / 70)]
    rows.append(record("heart", 0, "5-CV", 0.9, setting="n lam=3"))
    samples = read_samples(table_records(frame(rows), spec, "squared"), spec)
    assert samples.keys() == {(Setting(1, 10.0, "n lam"), "heart", "5-CV")}


def test_only_the_experiments_own_data_sets_and_splits() -> None:
    rows = [record(d, s, "5-CV", 0.1) for d in ("heart", "a2a") for s in (0, 2, 7)]
    rows.append(record("heart", 0, "5-CV", 0.1, part="eta-sweep"))
    found = select(frame(rows), experiment(splits=(0, 1, 2)), "table")
    assert [*zip(found["dataset"], found["split"], strict=True)] == [("heart", 0), ("heart", 2)]


def test_planned_splits_and_those_that_a_flag_added() -> None:
    """Splits that were run beyond the plan count; a data set that never ran counts its plan."""
    spec = experiment(splits=(0, 1, 2), fewer_splits=(SplitLimit(1, dataset="heart"),))
    rows = [record("heart", s, "5-CV", 0.1) for s in (1, 2, 7)]
    assert study(spec, rows).comparison("squared").splits == {"heart": 3, "sonar": 3}
    assert study(spec, []).comparison("squared").splits == {"heart": 1, "sonar": 3}


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
    """Equal total counts of wrong labels give equal means, to the last bit."""
    wrong = {"5-CV": (30, 31, 25), "5-KS": (31, 25, 30), "10-CV": (28, 29, 29)}
    rows = [
        record("heart", split, label, significant(count / 207), n_test=207)
        for label, counts in wrong.items()
        for split, count in enumerate(counts)
    ]
    found = read_samples(table_records(frame(rows), experiment(), "squared"), experiment())
    assert {s.mean for s in found.values()} == {float(Fraction(100 * 86, 3 * 207))}


def test_a_group_without_a_value_is_none_and_splits_are_in_order() -> None:
    rows = [record("heart", split, "5-CV", 0.1 * split) for split in (2, 0, 1, 3)]
    groups = samples_by(frame(rows).assign(x=[1.0, 1.0, 1.0, math.nan]), "method", "x")
    assert groups.keys() == {("5-CV", 1.0)}
    assert list(groups["5-CV", 1.0].errors) == list(groups["5-CV", 1.0].ratios) == [0, 1, 2]


def test_equal_differences_of_counts_are_equal() -> None:
    rows = [
        record("heart", split, label, significant((count + more) / 207), n_test=207)
        for label, more in (("5-CV", 1), ("5-KS", 0))
        for split, count in enumerate((3, 17, 100, 101))
    ]
    found = read_samples(table_records(frame(rows), experiment(), "squared"), experiment())
    a, b = (next(s for k, s in found.items() if k[2] == label) for label in ("5-CV", "5-KS"))
    assert set(match(a, b).difference.tolist()) == {100 / 207}


def test_an_error_that_is_no_count_is_not_rounded() -> None:
    rows = [record("heart", 0, "5-CV", 0.123, n_test=30)]
    table = table_records(frame(rows), experiment(), "squared")
    (found,) = read_samples(table, experiment()).values()
    assert (found.mean, found.shares) == (12.3, {})


DIFFERENCES = st.lists(
    st.floats(-10, 10).map(lambda v: round(v, 3)), min_size=2, max_size=30
).filter(lambda d: np.ptp(d) > 0)


@given(DIFFERENCES)
def test_paired_is_scipys_one_sided_test(values: list[float]) -> None:
    d = np.array(values)
    theirs = stats.ttest_rel(d, np.zeros(len(d)), alternative="greater")
    mine = t_test(d)
    assert mine.statistic == pytest.approx(theirs.statistic)
    assert mine.p_value == pytest.approx(theirs.pvalue)
    limit = stats.t.ppf(0.95, len(d) - 1)
    assert mine.significant == (mine.statistic > limit)


def test_the_papers_limit_for_fifty_splits() -> None:
    """The papers' limit 1.676 is the quantile for 50 degrees of freedom; 49 give 1.677."""
    assert stats.t.ppf(0.95, 49) == pytest.approx(1.677, abs=5e-4)
    d = np.tile([1.0, -1.0], 25)
    sd = float(np.std(d, ddof=1))
    assert t_test(d + 1.68 * sd / math.sqrt(50)).significant
    assert not t_test(d + 1.67 * sd / math.sqrt(50)).significant


def test_corrected_by_hand() -> None:
    """For mean 2, sd 1, R = 3, n_test / n_train = 3/7 the statistic is 2 / sqrt(1/3 + 3/7)."""
    test = t_test(np.array([1.0, 2.0, 3.0]), 3 / 7)
    assert test.statistic == pytest.approx(2 / math.sqrt(1 / 3 + 3 / 7))
    assert test.p_value == pytest.approx(stats.t.sf(test.statistic, 2))


def test_the_correction_raises_p() -> None:
    d = np.array([0.3, -0.1, 0.4, 0.2])
    assert t_test(d, 0.5).p_value > t_test(d).p_value


@pytest.mark.parametrize("count", [0, 1])
def test_no_test_below_two_pairs(count: int) -> None:
    for test in (t_test(np.ones(count)), t_test(np.ones(count), 0.5)):
        assert test.pairs == count
        assert not test.significant
        assert math.isnan(test.p_value)


def test_equal_differences() -> None:
    zero, up, down = (t_test(np.full(10, v)) for v in (0.0, 0.1, -0.1))
    assert (zero.statistic, zero.p_value, zero.significant) == (0.0, 1.0, False)
    assert (up.statistic, up.p_value, up.significant) == (math.inf, 0.0, True)
    assert (down.statistic, down.p_value, down.significant) == (-math.inf, 1.0, False)


def test_a_band_excludes_zero_if_the_corrected_test_is_significant() -> None:
    rng = np.random.default_rng(5)
    seen = set()
    for _ in range(200):
        d = rng.normal(rng.uniform(-2, 2), 1.0, size=int(rng.integers(2, 12)))
        found = t_test(d, 0.4).significant or t_test(-d, 0.4).significant
        assert (abs(float(np.mean(d))) > t_test(d, 0.4).half_width) == found
        seen.add(found)
    assert seen == {True, False}
    assert math.isnan(t_test(np.array([1.0]), 0.4).half_width)
