"""The curves, differences and references of a sweep, and the ends of its axes."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace

import pandas as pd
import pytest
from synthetic import experiment, method, record, study, texts

from kselect.core.experiment import Experiment
from kselect.core.method import LamGrid, Method
from kselect.core.record import Record
from kselect.report.figures.sweep import Sweep, SweepNumbers, draw_gaps, trace
from kselect.report.style import WIDE

SWEEP = Sweep("eta-sweep", ("5-KS",), "eta", (0.5, 2.0), 0.001)


def swept_method(eta: float) -> Method:
    params = (("average", "folds"), ("eta", eta), ("loss", "squared"))
    return Method("5-KS", "k-KS", 5, params, "eta-sweep", 0.001)


def make_experiment(*etas: float, **changes: object) -> Experiment:
    methods = (
        method("5-CV", "k-CV", 5, loss="squared"),
        method("10-CV", "k-CV", 10, loss="squared"),
        *map(swept_method, etas),
    )
    lam = LamGrid((0.001, 0.1), "fixed")
    return experiment(**{"methods": methods, "figures": (SWEEP,), "lam": lam, **changes})


def swept(eta: float, split: int, error: float | None, dataset: str = "heart") -> Record:
    made = swept_method(eta)
    return record(dataset, split, "5-KS", error, part="eta-sweep", params=made.text)


def curves(rows: list[Record], *etas: float, **changes: object) -> SweepNumbers:
    return trace(study(make_experiment(*(etas or (0.5, 2.0)), **changes), rows), SWEEP)


def test_curves_by_hand() -> None:
    rows = [swept(2, 0, 0.2), swept(2, 1, 0.4), swept(0.5, 0, 0.1), swept(0.5, 1, None)]
    found = curves(rows)
    low, high = found.curves.itertuples()
    assert (low.x, low.mean, math.isnan(low.sd)) == (0.5, pytest.approx(10), True)
    assert (high.x, high.mean, high.sd) == (2, pytest.approx(30), pytest.approx(math.sqrt(200)))
    assert set(found.curves["dataset"]) == {"heart"}
    assert found.units == {"heart": "%", "sonar": ""}


def test_values_come_from_the_methods_and_not_from_text() -> None:
    """A record is drawn only if a method of the config has its text."""
    third = 1 / 3
    rows = [swept(third, 0, 0.2), replace(swept(third, 1, 0.2), params="eta=0.25;loss=squared")]
    (point,) = curves(rows, third).curves.itertuples()
    assert point.x == third


def test_a_regression_is_swept_with_its_own_loss() -> None:
    """A regression uses the squared loss if the config says zero-one."""
    swept_by_label = replace(
        swept_method(2.0), params=(("average", "folds"), ("eta", 2.0), ("loss", "zero-one"))
    )
    methods = (method("5-CV", "k-CV", 5, loss="zero-one"), swept_by_label)
    rows = [replace(swept(2.0, 0, 8.0, "mpg"), metric="mse")]
    found = curves(rows, methods=methods, loss="zero-one", datasets=("mpg",))
    assert [(p.x, p.mean) for p in found.curves.itertuples()] == [(2.0, 8.0)]


def test_the_reference_has_the_folds_and_the_ridge_of_the_sweep() -> None:
    rows = [swept(2, 0, 0.2), record("heart", 0, "5-CV", 0.3), record("heart", 0, "10-CV", 0.4)]
    rows.append(record("heart", 0, "5-CV", 0.9, setting="lam=0.1"))
    result = curves(rows)
    assert result.references == (("5-CV", 0),)
    (level,) = result.levels.itertuples()
    assert level.dataset == "heart"
    assert (level.method, level.mean, math.isnan(level.sd)) == ("5-CV", pytest.approx(30), True)


def test_the_reference_under_a_selected_ridge() -> None:
    rows = [record("heart", 0, "5-CV", 0.25, setting="selected")]
    found = curves(rows, lam=LamGrid((0.1,), "select"))
    assert [(r.method, r.mean) for r in found.levels.itertuples()] == [("5-CV", 25.0)]


def test_differences_are_those_of_the_same_splits() -> None:
    """Only splits with both numbers count; 0.7 of the rows train."""
    rows = [swept(2, s, e) for s, e in enumerate((0.3, 0.4, 0.9, None))]
    rows += [record("heart", s, "5-CV", e) for s, e in ((0, 0.2), (1, 0.25), (3, 0.1))]
    found = curves(rows)
    (gap,) = found.curves.itertuples()
    # 10 and 15 percentage points: sd sqrt(12.5), t_{0.95, 1} = 6.3138, 30 test rows over 70.
    half = 6.313751514675 * math.sqrt((0.5 + 3 / 7) * 12.5)
    assert (gap.x, gap.gap, gap.half) == (2.0, pytest.approx(12.5), pytest.approx(half))
    assert not gap.clear  # t = 5
    assert found.levels["sd"].item() == pytest.approx(100 * statistics.stdev([0.2, 0.25, 0.1]))


def test_a_difference_is_clear_to_either_side() -> None:
    rows = [swept(x, s, e) for x, e in ((0.5, 0.1), (2, 0.3)) for s in range(4)]
    rows += [record("heart", s, "5-CV", 0.2 + 0.01 * s) for s in range(4)]
    low, high = curves(rows).curves.itertuples()
    assert (low.clear, high.clear) == (True, True)
    assert low.gap < 0 < high.gap
    assert curves([swept(2, 0, 0.2)]).curves["gap"].isna().all()


def test_zero_and_other_losses_are_not_drawn() -> None:
    rows = [swept(0, 0, 0.2), swept(math.inf, 0, 0.2), swept(1, 0, 0.2)]
    rows.append(replace(swept(4, 0, 0.9), loss="zero-one"))
    found = curves(rows, 0.0, math.inf, 1.0, 4.0)
    assert list(found.curves["x"]) == [1.0]


def test_a_distant_difference_does_not_widen_the_axis() -> None:
    """The axis ends near four standard deviations and labels the curve beyond it."""
    gaps = ((0.5, -1.0, 0.5, True), (1.0, 0.5, 1.0, False), (2.0, 30.0, 3.0, True))
    rows = [("heart", "5-KS", x, 20.0, 2.0, gap, half, clear) for x, gap, half, clear in gaps]
    columns = ["dataset", "method", "x", "mean", "sd", "gap", "half", "clear"]
    levels = pd.DataFrame([("heart", "5-CV", 20.0, 2.0)], columns=columns[:2] + columns[3:5])
    table = pd.DataFrame(rows, columns=columns)
    found = SweepNumbers("eta", ("5-KS",), (("5-CV", 0),), {"heart": "%"}, table, levels, "%")
    canvas = draw_gaps(found, (1.0,), {}, WIDE)
    (ax,) = canvas.axes
    low, high = ax.get_ylim()
    assert -low == high == pytest.approx(4.48)
    assert "heart (to +30)" in texts(canvas)
    full = {
        float(line.get_ydata()[0]): line.get_markerfacecolor() == line.get_color()
        for line in ax.lines
        if line.get_linestyle() == "None" and len(line.get_xdata())
    }
    assert (full[-1.0], full[0.5]) == (True, False)
