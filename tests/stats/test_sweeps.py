import math

import pytest
from synthetic import experiment, method, record
from synthetic import frame as make_frame

from kselect.model.experiment import Method, Ridges, Sweep
from kselect.stats.comparison import compare
from kselect.stats.sweeps import Figure, trace

SWEEP = Sweep("eta-sweep", ("5-KS",), "eta", (0.5, 2.0), 0.001)


def swept(eta: float, split: int, error: float | None, **changes: object) -> dict[str, object]:
    params = {"part": "eta-sweep", "params": f"average=folds;eta={eta:g};loss=squared"}
    return record("heart", split, "5-KS", error, **(params | changes))


def figure(rows: list[dict[str, object]], lam: Ridges | None = None) -> Figure:
    methods = (
        method("5-CV", "k-CV", 5, loss="squared"),
        method("10-CV", "k-CV", 10, loss="squared"),
        Method("5-KS", "k-KS", 5, (("eta", 0.5),), "eta-sweep", 0.001),
        Method("5-KS", "k-KS", 5, (("eta", 2.0),), "eta-sweep", 0.001),
    )
    lam = lam or Ridges((0.001, 0.1), "fixed")
    spec = experiment(methods=methods, sweeps=(SWEEP,), lam=lam)
    records = make_frame(rows)
    return trace(spec, records, SWEEP, compare(spec, records, "squared", []))


def test_curves_by_hand() -> None:
    rows = [swept(2, 0, 0.2), swept(2, 1, 0.4), swept(0.5, 0, 0.1), swept(0.5, 1, None)]
    heart, sonar = figure(rows).panels
    low, high = heart.curves[0].points
    assert (low.x, low.mean, math.isnan(low.sd)) == (0.5, pytest.approx(10), True)
    assert (high.x, high.mean, high.sd) == (2, pytest.approx(30), pytest.approx(math.sqrt(200)))
    assert sonar.curves[0].points == ()
    assert heart.unit == "%"


def test_the_reference_has_the_folds_and_the_ridge_of_the_sweep() -> None:
    rows = [swept(2, 0, 0.2), record("heart", 0, "5-CV", 0.3), record("heart", 0, "10-CV", 0.4)]
    rows.append(record("heart", 0, "5-CV", 0.9, setting="lam=0.1"))
    result = figure(rows)
    assert result.references == (("5-CV", 0),)
    assert result.panels[0].references == (("5-CV", pytest.approx(30)),)
    assert result.panels[1].references == ()


def test_the_reference_under_a_selected_ridge() -> None:
    rows = [record("heart", 0, "5-CV", 0.25, setting="selected")]
    assert figure(rows, Ridges((0.1,), "select")).panels[0].references == (("5-CV", 25.0),)


def test_values_without_a_place_on_a_log_axis_and_other_losses_are_left_out() -> None:
    rows = [swept(0, 0, 0.2), swept(math.inf, 0, 0.2), swept(1, 0, 0.2)]
    rows.append(swept(4, 0, 0.9, loss="zero-one"))
    assert [p.x for p in figure(rows).panels[0].curves[0].points] == [1.0]
