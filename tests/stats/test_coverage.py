"""How much of a plan is there, and why the rest is not."""

from __future__ import annotations

from synthetic import experiment, sample_records, study

from kselect.core.experiment import SplitLimit
from kselect.stats.coverage import Coverage, group_failures, short_of
from kselect.stats.samples import frame

RECORDS = sample_records({("heart", "5-CV"): (0.1, None, 0.2), ("heart", "5-KS"): (None,)})


def test_counts_of_a_table() -> None:
    coverage = study(experiment(splits=(0, 1, 2, 3)), RECORDS).coverage("squared")
    assert coverage == Coverage(2, 2, 12)
    assert coverage.planned == 16


def test_fewer_splits_are_the_plan() -> None:
    fewer = (SplitLimit(3, dataset="heart"), SplitLimit(1, dataset="sonar"))
    spec = experiment(splits=(0, 1, 2, 3), fewer_splits=fewer)
    assert study(spec, RECORDS).coverage("squared").planned == 8


def test_failures_are_grouped_by_reason() -> None:
    assert [(f.method, f.reason, f.splits) for f in group_failures(frame(RECORDS))] == [
        ("5-CV", "singular", (1,)),
        ("5-KS", "singular", (0,)),
    ]


def test_data_sets_that_are_short() -> None:
    """One with nothing at all is absent, not short."""
    comparison = study(experiment(splits=(0, 1, 2)), RECORDS).comparison("squared")
    assert short_of(comparison) == {"heart": Coverage(2, 2, 2)}
    whole = sample_records({(d, m): (0.1,) for d in ("heart",) for m in ("5-CV", "5-KS")})
    assert short_of(study(experiment(splits=(0,)), whole).comparison("squared")) == {}
