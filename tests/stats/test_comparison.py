"""The comparison of methods over data sets: cells, ranks, pairs of methods, contests and coverage."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import stats
from synthetic import (
    experiment,
    full_experiment,
    full_records,
    method,
    record,
    regression_experiment,
    sample_records,
    study,
)

from kselect.core.experiment import Experiment, SplitLimit
from kselect.core.method import LamGrid, Setting
from kselect.core.record import Record
from kselect.stats.comparison import Comparison, Coverage, WinTieLoss, contest, method_pairs
from kselect.stats.samples import SplitErrors

SETTING = Setting(0, 0.001)
A, B = (0.10, 0.20, 0.30), (0.15, 0.26, 0.37)


def compare(spec: Experiment, records: Sequence[Record], loss: str) -> Comparison:
    return study(spec, records).comparison(loss)


def test_a_cell_by_hand() -> None:
    records = sample_records({("heart", "5-CV"): A, ("heart", "5-KS"): B})
    cells = compare(experiment(splits=(0, 1, 2)), records, "squared").cells[SETTING]
    best, other = cells["heart", "5-CV"], cells["heart", "5-KS"]
    assert (best.mean, best.sd, best.runs) == (pytest.approx(20), pytest.approx(10), 3)
    assert (best.best, best.not_worse, best.worse) == (True, True, None)
    theirs = stats.ttest_rel(B, A, alternative="greater")
    assert other.worse is not None
    assert other.worse_corrected is not None
    assert other.worse.p_value == pytest.approx(theirs.pvalue)
    scale = math.sqrt((1 / 3) / (1 / 3 + 30 / 70))
    assert other.worse_corrected.statistic == pytest.approx(theirs.statistic * scale)
    assert (other.best, other.not_worse) == (False, False)


def test_squared_errors_are_not_scaled() -> None:
    records = sample_records({("heart", "5-CV"): A}, metric="mse")
    found = compare(experiment(), records, "squared")
    assert found.units == {"heart": "MSE"}
    assert found.cells[SETTING]["heart", "5-CV"].mean == pytest.approx(0.2)


def test_splits_are_matched_by_number_not_by_position() -> None:
    rows = [record("heart", s, "5-CV", e) for s, e in zip((2, 0, 1), (0.3, 0.1, 0.2), strict=True)]
    rows += [record("heart", s, "5-KS", e) for s, e in zip((0, 1, 2), B, strict=True)]
    cells = compare(experiment(), rows, "squared").cells[SETTING]
    worse = cells["heart", "5-KS"].worse
    assert worse is not None
    assert worse.p_value == pytest.approx(stats.ttest_rel(B, A, alternative="greater").pvalue)


def test_exact_ties_are_all_best() -> None:
    records = sample_records({("heart", "5-CV"): (0.1, 0.4), ("heart", "5-KS"): (0.3, 0.2)})
    cells = compare(experiment(), records, "squared").cells[SETTING]
    assert cells["heart", "5-CV"].best
    assert cells["heart", "5-KS"].best


def test_failures_and_missing_runs_are_counted() -> None:
    records = sample_records({("heart", "5-CV"): (0.1, None, 0.2), ("heart", "5-KS"): (None,)})
    found = compare(experiment(splits=(0, 1, 2, 3)), records, "squared")
    cv, ks = (found.cells[SETTING]["heart", m] for m in ("5-CV", "5-KS"))
    assert (cv.runs, cv.failures, cv.missing) == (2, 1, 1)
    assert (ks.runs, ks.failures, ks.missing) == (0, 1, 3)
    assert (ks.best, ks.not_worse) == (False, None)
    assert math.isnan(ks.mean)


def test_fewer_planned_splits_are_not_missing() -> None:
    spec = experiment(splits=(0, 1, 2, 3), fewer_splits=(SplitLimit(2, dataset="heart"),))
    records = sample_records({("heart", "5-CV"): (0.1, 0.2), ("sonar", "5-CV"): (0.1, 0.2)})
    found = compare(spec, records, "squared")
    cells = found.cells[SETTING]
    assert [cells[d, "5-CV"].missing for d in ("heart", "sonar")] == [0, 2]
    assert found.splits == {"heart": 2, "sonar": 4}


def test_one_split_gives_no_test() -> None:
    records = sample_records({("heart", "5-CV"): (0.1,), ("heart", "5-KS"): (0.2,)})
    cell = compare(experiment(), records, "squared").cells[SETTING]["heart", "5-KS"]
    assert cell.not_worse is None
    assert math.isnan(cell.sd)


def test_each_loss_has_its_own_methods() -> None:
    methods = (
        method("5-CV", "k-CV", 5, loss="squared"),
        method("5-CV", "k-CV", 5, loss="zero-one"),
        method("5-KS", "k-KS", 5, loss="zero-one"),
        method("EP", "EP", None),
    )
    rows = [record("heart", 0, "5-CV", 0.1), record("heart", 0, "EP", 0.3, loss="")]
    rows += [record("heart", 0, m, 0.2, loss="zero-one") for m in ("5-CV", "5-KS")]
    spec, records = experiment(methods=methods), rows
    squared, zero_one = (compare(spec, records, loss) for loss in spec.losses)
    assert squared.methods == ("5-CV", "EP")
    assert zero_one.methods == ("5-CV", "5-KS", "EP")
    assert squared.cells[SETTING]["heart", "5-CV"].mean == pytest.approx(10)
    assert zero_one.cells[SETTING]["heart", "5-CV"].mean == pytest.approx(20)
    assert squared.cells[SETTING]["heart", "EP"].mean == pytest.approx(30)


def test_records_of_figures_and_other_splits_are_not_in_the_table() -> None:
    rows = [record("heart", 0, "5-CV", 0.1), record("heart", 0, "5-CV", 0.9, part="eta-sweep")]
    rows.append(record("heart", 99, "5-CV", 0.9))
    cell = compare(experiment(), rows, "squared").cells[SETTING]["heart", "5-CV"]
    assert cell.mean == pytest.approx(10)


def test_ranks_use_the_splits_that_all_methods_share() -> None:
    records = sample_records(
        {
            ("heart", "5-CV"): (0.10, 0.90),
            ("heart", "5-KS"): (0.20, None),
            ("sonar", "5-CV"): (0.10, 0.10),
        }
    )
    ranks = compare(experiment(), records, "squared").ranks[SETTING]
    assert ranks.datasets == ("heart",)
    assert ranks.mean == (1.0, 2.0)


def test_every_pair_of_methods_by_hand() -> None:
    """Differences are in points, for regression in % of the second; the p-values have Holm's correction."""
    methods = tuple(method(name, "ELOO", None) for name in ("a", "b", "c"))
    spec = experiment(methods=methods, datasets=("heart", "sonar", "a2a", "mpg"), splits=(0, 1))
    percents = {"heart": (0.1, 0.2, 0.2), "sonar": (0.2, 0.25, 0.1), "a2a": (0.1, 0.12, 0.11)}
    rows = [
        r
        for dataset, errors in percents.items()
        for m, e in zip("abc", errors, strict=True)
        for r in sample_records({(dataset, m): (e, e)})
    ]
    rows += sample_records({("mpg", "a"): (8.0, 9.0), ("mpg", "b"): (10.0, 10.0)}, metric="mse")
    found = compare(spec, rows, "squared")
    ab, ac, bc = method_pairs(found, SETTING)
    assert [(p.first, p.second, p.datasets) for p in (ab, ac, bc)] == [
        ("a", "b", 4),
        ("a", "c", 3),
        ("b", "c", 3),
    ]
    assert ab.difference == pytest.approx((-10 - 5 - 2 - 15) / 4)
    assert ac.difference == pytest.approx((-10 + 10 - 1) / 3)
    assert (ab.by_mean, ac.by_mean, bc.by_mean) == ((4, 0, 0), (2, 0, 1), (0, 1, 2))
    p = stats.wilcoxon([-10, -5, -2, -15]).pvalue
    assert ab.p_value == pytest.approx(min(1.0, 3 * p))


def test_a_new_method_changes_no_difference_between_others() -> None:
    """Only Holm's correction knows of the new pairs."""
    records = sample_records({(d, m): (e,) for e, (d, m) in enumerate(product("hs", "abc"))})
    names = {"h": "heart", "s": "sonar"}
    rows = [replace(r, dataset=names[r.dataset], error=(r.error or 0.0) / 10) for r in records]
    few, many = (
        method_pairs(compare(experiment(methods=tuple(methods)), rows, "squared"), SETTING)
        for methods in (
            [method(m, "ELOO", None) for m in "ab"],
            [method(m, "ELOO", None) for m in "abc"],
        )
    )
    assert (few[0].difference, few[0].by_mean) == (many[0].difference, many[0].by_mean)


def test_every_setting_has_its_cells() -> None:
    records = sample_records({("heart", "5-CV"): A}, setting="lam=0.1")
    spec = experiment(lam=LamGrid((0.1, 1.0), "fixed"))
    found = compare(spec, records, "squared")
    assert list(found.cells) == [Setting(0, 0.1), Setting(1, 1.0)]
    assert [cells["heart", "5-CV"].runs for cells in found.cells.values()] == [3, 0]


def test_a_regression_has_its_own_loss_in_every_table() -> None:
    """With also-loss a regression is computed once and shown in both tables."""
    methods = [method("5-CV", "k-CV", 5, loss=loss) for loss in ("zero-one", "squared")]
    spec = regression_experiment(methods=tuple(methods), loss="zero-one", datasets=("mpg",))
    records = sample_records({("mpg", "5-CV"): (8.0, 9.0)}, metric="mse", setting="selected")
    for loss in spec.losses:
        found = compare(spec, records, loss)
        assert found.cells[spec.lam.settings()[0]]["mpg", "5-CV"].mean == 8.5


def test_a_full_table_against_pandas() -> None:
    spec = full_experiment()
    records = full_records(spec)
    comparison = compare(spec, records, "squared")
    setting, cells = list(comparison.cells.items())[2]
    assert setting.text == "lam=0.01"
    rows = study(spec, records).records
    mine = rows[
        (rows["part"] == "table")
        & rows["loss"].isin(["squared", ""])
        & (rows["setting"] == "lam=0.01")
        & (rows["status"] == "ok")
    ]
    grouped = mine.groupby(["dataset", "method"])["error"].agg(["mean", "std", "count"])
    for key, row in grouped.iterrows():
        cell = cells[key]  # type: ignore[index]
        assert [cell.mean, cell.sd] == pytest.approx([100 * row["mean"], 100 * row["std"]])
        assert cell.runs == row["count"]
    assert np.isnan(cells["sonar", "BR"].mean)
    assert "sonar" not in comparison.ranks[setting].datasets


def sample_of(*errors: float | None, ratio: float = 0.25) -> SplitErrors:
    there = {i: e for i, e in enumerate(errors) if e is not None}
    return SplitErrors(there, dict.fromkeys(there, ratio), len(errors) - len(there))


def test_a_contest_by_mean_and_by_both_tests() -> None:
    samples = {
        ("clear", "a"): sample_of(1, 2, 3, 4),
        ("clear", "b"): sample_of(3, 4.1, 5, 6.1),
        ("weak", "a"): sample_of(1, 2, 3, 4),
        ("weak", "b"): sample_of(0, 1, 3.1, 3.1),
        ("same", "a"): sample_of(1, 2),
        ("same", "b"): sample_of(2, 1),
    }
    result = contest("a", "b", samples, {"clear": 4, "weak": 4, "same": 5, "absent": 10})
    assert [o.dataset for o in result.outcomes] == ["clear", "weak", "same"]
    assert result.by_mean == WinTieLoss(1, 1, 1)
    assert result.by_ttest == WinTieLoss(1, 1, 1)  # weak: t = 2.68 > 2.35
    assert result.by_corrected == WinTieLoss(1, 2, 0)  # weak: 1.90 < 2.35
    assert (result.pairs, result.planned) == (10, 23)


def test_the_correction_uses_the_size_of_the_test_part() -> None:
    def losses(ratio: float) -> int:
        samples = {
            ("d", "a"): sample_of(1, 2, 3, 4, ratio=ratio),
            ("d", "b"): sample_of(0, 1, 3.1, 3.1),
        }
        return contest("a", "b", samples, {"d": 4}).by_corrected.losses

    assert (losses(0.01), losses(0.4)) == (1, 0)


def test_a_failure_drops_the_pair() -> None:
    samples = {("d", "a"): sample_of(1, None, 9), ("d", "b"): sample_of(2, 2, None)}
    outcome = contest("a", "b", samples, {"d": 3}).outcomes[0]
    assert outcome.by_mean == 1
    assert outcome.by_ttest is None
    assert outcome.pairs == 1


def test_methods_without_a_shared_split_are_not_compared() -> None:
    samples = {("d", "a"): sample_of(1, None), ("d", "b"): sample_of(None, 2)}
    assert contest("a", "b", samples, {"d": 2}).by_mean == WinTieLoss(0, 0, 0)


def test_rounding_is_no_difference() -> None:
    for mine, other, sign in ((0.1 + 0.2, 0.3, 0), (1e-5, 1.001e-5, 1)):
        samples = {("d", "a"): sample_of(mine), ("d", "b"): sample_of(other)}
        assert contest("a", "b", samples, {"d": 1}).outcomes[0].by_mean == sign


RECORDS = sample_records({("heart", "5-CV"): (0.1, None, 0.2), ("heart", "5-KS"): (None,)})


def test_counts_of_a_table() -> None:
    coverage = study(experiment(splits=(0, 1, 2, 3)), RECORDS).comparison("squared").coverage()
    assert coverage == Coverage(2, 2, 12)
    assert sum(coverage) == 16


def test_fewer_splits_are_the_plan() -> None:
    fewer = (SplitLimit(3, dataset="heart"), SplitLimit(1, dataset="sonar"))
    spec = experiment(splits=(0, 1, 2, 3), fewer_splits=fewer)
    assert sum(study(spec, RECORDS).comparison("squared").coverage()) == 8


def test_coverage_of_one_data_set() -> None:
    comparison = study(experiment(splits=(0, 1, 2)), RECORDS).comparison("squared")
    assert comparison.coverage("heart") == Coverage(2, 2, 2)
    assert comparison.coverage("sonar") == Coverage(0, 0, 6)
