"""Published and ours as points, from records made by hand."""

from __future__ import annotations

import pytest
from synthetic import experiment, record, study

from kselect.core.method import Setting
from kselect.stats.outliers import Outlier, Point, agreement, outliers
from kselect.stats.sources import Published

LAM = Setting(value=0.001)


def test_ratios_by_hand() -> None:
    """A cell without a number of ours is no point, and neither is a printed 0."""
    theirs = tuple(
        Published("1", dataset, "5-CV", LAM, mean, 1.0, "sd")
        for dataset, mean in (("heart", 20.0), ("sonar", 20.0), ("heart", 0.0))
    )
    rows = [record("heart", s, "5-CV", e) for s, e in enumerate((0.2, 0.3))]
    (point,) = agreement(study(experiment(), rows, published=theirs), "squared")
    assert (point.dataset, point.method, point.unit) == ("heart", "5-CV", "%")
    assert (point.published, point.ratio) == (20.0, pytest.approx(1.25))
    assert point.verdict == "within 2"


def test_far_cells_are_gathered_by_data_set_at_the_furthest() -> None:
    points = [
        Point("heart", "EP", "%", 10.0, 1.2, "beyond 4"),
        Point("heart", "5-CV", "%", 20.0, 0.5, "beyond 4"),
        Point("sonar", "EP", "%", 5.0, 3.0, "beyond 4"),
        Point("sonar", "5-CV", "%", 5.0, 4.0, "2 to 4"),
        Point("mpg", "EP", "MSE", 5.0, 0.0, "beyond 4"),
        Point("mpg", "EP", "MSE", 5.0, 0.1, "beyond 4"),
    ]
    assert outliers(points) == (
        Outlier("sonar", "EP", 1, 5.0, 3.0),
        Outlier("heart", "", 2, 20.0, 0.5),
        Outlier("mpg", "EP", 2, 5.0, 0.0),
    )
    assert outliers(()) == ()
