"""Ratios of our errors to published ones, and how the figure labels them."""

from __future__ import annotations

import itertools

import pytest
from synthetic import experiment, record, study, texts

from kselect.core.method import Setting
from kselect.report.figures.agreement import (
    APART,
    CellRatio,
    draw_agreement,
    outliers,
    ratios,
    spread_out,
)
from kselect.report.style import NARROW
from kselect.stats.sources import Published

LAM = Setting(value=0.001)


def test_ratios_by_hand() -> None:
    """A cell without our number has no ratio, and neither has a published 0."""
    theirs = tuple(
        Published("1", dataset, "5-CV", LAM, mean, 1.0, "sd")
        for dataset, mean in (("heart", 20.0), ("sonar", 20.0), ("heart", 0.0))
    )
    rows = [record("heart", s, "5-CV", e) for s, e in enumerate((0.2, 0.3))]
    (point,) = ratios(study(experiment(), rows, published=theirs), "squared")
    assert (point.dataset, point.method, point.unit) == ("heart", "5-CV", "%")
    assert (point.published, point.ratio) == (20.0, pytest.approx(1.25))
    assert point.verdict == "within 2"


def test_each_data_set_is_labelled_at_its_most_distant_cell() -> None:
    points = [
        CellRatio("heart", "EP", "%", 10.0, 1.2, "beyond 4"),
        CellRatio("heart", "5-CV", "%", 20.0, 0.5, "beyond 4"),
        CellRatio("sonar", "EP", "%", 5.0, 3.0, "beyond 4"),
        CellRatio("sonar", "5-CV", "%", 5.0, 4.0, "2 to 4"),
        CellRatio("mpg", "EP", "MSE", 5.0, 0.0, "beyond 4"),
        CellRatio("mpg", "EP", "MSE", 5.0, 0.1, "beyond 4"),
    ]
    assert outliers(points) == [
        CellRatio("sonar", "EP", "%", 5.0, 3.0, "beyond 4"),
        CellRatio("heart", "", "%", 20.0, 0.5, "beyond 4", 2),
        CellRatio("mpg", "EP", "MSE", 5.0, 0.0, "beyond 4", 2),
    ]
    assert outliers(()) == []


def test_distant_cells_are_labelled_and_stay_on_the_axis() -> None:
    points = [
        CellRatio("fourclass", "5-CV", "%", 18.0, 0.007, "beyond 4"),
        CellRatio("fourclass", "EP", "%", 20.0, 0.02, "beyond 4"),
        CellRatio("heart", "EP", "%", 20.0, 1.5, "beyond 4"),
        CellRatio("mpg", "5-CV", "MSE", 8.0, 1.01, "within 2"),
    ]
    canvas = draw_agreement(points, {"EP": "rebuilt"}, NARROW)
    named = [t for t in texts(canvas) if ":" in t]
    assert named == ["heart, EP†: 1.5", "fourclass, 2 cells: 0.007"]
    low, high = canvas.axes[0].get_ylim()
    for line in canvas.axes[0].lines:
        assert low <= min(line.get_ydata()) <= high
    assert len(canvas.axes) == 2


def test_labels_do_not_overlap_or_leave_the_panel() -> None:
    for wanted in ([0.99, 0.98, 0.97], [0.02, 0.01, 0.0], [1.2], [], [0.5] * 9):
        found = spread_out(wanted)
        assert all(a - b > APART - 1e-9 for a, b in itertools.pairwise(found))
        assert all(-1e-9 <= y <= 1 + 1e-9 for y in found)
