import math

import numpy as np
import pytest
from scipy import stats
from synthetic import (
    experiment,
    full_experiment,
    full_records,
    method,
    record,
    sample_records,
)
from synthetic import frame as make_frame

from kselect.errors import StoreError
from kselect.model.experiment import Ridges
from kselect.stats.comparison import compare
from kselect.stats.failures import cover, group_failures

A, B = (0.10, 0.20, 0.30), (0.15, 0.26, 0.37)


def test_a_cell_by_hand() -> None:
    records = sample_records({("heart", "5-CV"): A, ("heart", "5-KS"): B})
    block = compare(experiment(splits=(0, 1, 2)), records, "squared", []).blocks[0]
    best, other = block.cells["heart", "5-CV"], block.cells["heart", "5-KS"]
    assert (best.mean, best.sd, best.runs) == (pytest.approx(20), pytest.approx(10), 3)
    assert (best.best, best.not_worse, best.worse) == (True, True, None)
    theirs = stats.ttest_rel(B, A, alternative="greater")
    assert other.worse is not None
    assert other.worse_corrected is not None
    assert other.worse.p_value == pytest.approx(theirs.pvalue)
    scale = math.sqrt((1 / 3) / (1 / 3 + 30 / 70))
    assert other.worse_corrected.statistic == pytest.approx(theirs.statistic * scale)
    assert (other.best, other.not_worse) == (False, False)


def test_squared_errors_stay_as_they_are() -> None:
    records = sample_records({("heart", "5-CV"): A}, metric="mse")
    comparison = compare(experiment(), records, "squared", [])
    assert comparison.units == {"heart": "MSE"}
    assert comparison.blocks[0].cells["heart", "5-CV"].mean == pytest.approx(0.2)


def test_splits_are_matched_by_number_not_by_position() -> None:
    rows = [record("heart", s, "5-CV", e) for s, e in zip((2, 0, 1), (0.3, 0.1, 0.2), strict=True)]
    rows += [record("heart", s, "5-KS", e) for s, e in zip((0, 1, 2), B, strict=True)]
    cells = compare(experiment(), make_frame(rows), "squared", []).blocks[0].cells
    worse = cells["heart", "5-KS"].worse
    assert worse is not None
    assert worse.p_value == pytest.approx(stats.ttest_rel(B, A, alternative="greater").pvalue)


def test_exact_ties_are_all_best() -> None:
    records = sample_records({("heart", "5-CV"): (0.1, 0.4), ("heart", "5-KS"): (0.3, 0.2)})
    cells = compare(experiment(), records, "squared", []).blocks[0].cells
    assert cells["heart", "5-CV"].best
    assert cells["heart", "5-KS"].best


def test_failures_and_missing_runs_are_counted() -> None:
    records = sample_records({("heart", "5-CV"): (0.1, None, 0.2), ("heart", "5-KS"): (None,)})
    comparison = compare(experiment(splits=(0, 1, 2, 3)), records, "squared", [])
    cv, ks = (comparison.blocks[0].cells["heart", m] for m in ("5-CV", "5-KS"))
    assert (cv.runs, cv.failures, cv.missing) == (2, 1, 1)
    assert (ks.runs, ks.failures, ks.missing, ks.best, ks.not_worse) == (0, 1, 3, False, None)
    assert math.isnan(ks.mean)
    coverage = cover(comparison)
    assert (coverage.runs, coverage.failures, coverage.planned) == (2, 2, 16)
    failures = group_failures(records)
    assert [(f.method, f.reason, f.splits) for f in failures] == [
        ("5-CV", "singular", (1,)),
        ("5-KS", "singular", (0,)),
    ]


def test_one_split_gives_no_test() -> None:
    records = sample_records({("heart", "5-CV"): (0.1,), ("heart", "5-KS"): (0.2,)})
    cell = compare(experiment(), records, "squared", []).blocks[0].cells["heart", "5-KS"]
    assert cell.not_worse is None
    assert math.isnan(cell.sd)


def test_each_loss_has_its_own_methods() -> None:
    methods = (
        method("5-CV", "k-CV", 5, loss="squared"),
        method("5-CV", "k-CV", 5, loss="zero-one"),
        method("5-KS", "k-KS", 5, loss="zero-one"),
        method("EP", "EP", None),
    )
    rows = [record("heart", 0, "5-CV", 0.1), record("heart", 0, "EP", 0.3, loss=None)]
    rows += [record("heart", 0, m, 0.2, loss="zero-one") for m in ("5-CV", "5-KS")]
    spec, records = experiment(methods=methods), make_frame(rows)
    squared, zero_one = (compare(spec, records, loss, []) for loss in spec.losses)
    assert squared.methods == ("5-CV", "EP")
    assert zero_one.methods == ("5-CV", "5-KS", "EP")
    assert squared.blocks[0].cells["heart", "5-CV"].mean == pytest.approx(10)
    assert zero_one.blocks[0].cells["heart", "5-CV"].mean == pytest.approx(20)
    assert squared.blocks[0].cells["heart", "EP"].mean == pytest.approx(30)


def test_a_record_of_a_figure_or_of_another_split_is_not_in_the_table() -> None:
    rows = [record("heart", 0, "5-CV", 0.1), record("heart", 0, "5-CV", 0.9, part="eta-sweep")]
    rows.append(record("heart", 99, "5-CV", 0.9))
    cell = compare(experiment(), make_frame(rows), "squared", []).blocks[0].cells["heart", "5-CV"]
    assert cell.mean == pytest.approx(10)


def test_a_repeated_record_is_an_error() -> None:
    rows = [record("heart", 0, "5-CV", 0.1), record("heart", 0, "5-CV", 0.2)]
    with pytest.raises(StoreError, match=r"heart, split 0, 5-CV, lam=0\.001 twice"):
        compare(experiment(), make_frame(rows), "squared", [])


def test_ranks_use_the_splits_that_all_methods_share() -> None:
    records = sample_records(
        {
            ("heart", "5-CV"): (0.10, 0.90),
            ("heart", "5-KS"): (0.20, None),
            ("sonar", "5-CV"): (0.10, 0.10),
        }
    )
    ranks = compare(experiment(), records, "squared", []).blocks[0].ranks
    assert ranks.datasets == ("heart",)
    assert ranks.mean == (1.0, 2.0)


def test_pairs_are_an_argument() -> None:
    records = sample_records({("heart", "5-CV"): A, ("heart", "5-KS"): B})
    duels = compare(experiment(), records, "squared", [("5-KS", "5-CV"), ("5-KS", "BR")])
    (only,) = duels.blocks[0].duels
    assert (only.method, only.rival, only.by_mean.losses) == ("5-KS", "5-CV", 1)
    assert compare(experiment(), records, "squared", []).blocks[0].duels == ()


def test_every_setting_is_a_block() -> None:
    records = sample_records({("heart", "5-CV"): A}, setting="lam=0.1")
    comparison = compare(experiment(lam=Ridges((0.1, 1.0), "fixed")), records, "squared", [])
    assert [b.setting for b in comparison.blocks] == ["lam=0.1", "lam=1"]
    assert [b.cells["heart", "5-CV"].runs for b in comparison.blocks] == [3, 0]
    assert comparison.block("lam=7") is None


def test_a_full_table_against_pandas() -> None:
    spec = full_experiment()
    records = full_records(spec)
    block = compare(spec, records, "squared", []).block("lam=0.01")
    assert block is not None
    mine = records[
        (records["part"] == "table")
        & records["loss"].isin(["squared", ""])
        & (records["setting"] == "lam=0.01")
        & (records["status"] == "ok")
    ]
    grouped = mine.groupby(["dataset", "method"])["error"].agg(["mean", "std", "count"])
    for key, row in grouped.iterrows():
        cell = block.cells[key]  # type: ignore[index]
        assert [cell.mean, cell.sd] == pytest.approx([100 * row["mean"], 100 * row["std"]])
        assert cell.runs == row["count"]
    assert np.isnan(block.cells["sonar", "BR"].mean)
    assert "sonar" not in block.ranks.datasets
