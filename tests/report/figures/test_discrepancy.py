"""The distance of a series from cross-validation, and whether it is as good as exact."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from synthetic import experiment, method, record, study, texts

from kselect.core.experiment import Experiment
from kselect.core.method import LamGrid, Method
from kselect.core.record import Record
from kselect.report.figures.discrepancy import (
    LOWEST,
    RATE,
    VALUE,
    Discrepancy,
    Track,
    draw_discrepancy,
    draw_mean_squares,
    follow,
    in_percent,
)
from kselect.report.style import WIDE
from kselect.stats.study import Study

FIGURE = Discrepancy("f", ("5-CV",), (1, 3), ("heart", "mpg"))


def probe(order: int | None = None) -> Method:
    params = () if order is None else (("order", order),)
    name = RATE if order is None else VALUE
    return Method("5-CV", name, 5, params, part="f", at="5-CV", datasets=("heart", "mpg"))


def make_experiment(**changes: Any) -> Experiment:
    methods = (method("5-CV", "k-CV", 5, loss="zero-one"), probe(1), probe(3), probe())
    facts: dict[str, Any] = {
        "paper": "icml2014",
        "methods": methods,
        "figures": (FIGURE,),
        "datasets": ("heart", "mpg"),
        "lam": LamGrid((0.1, 1.0, 10.0), "select"),
        "loss": "zero-one",
        "splits": (0, 1),
    }
    return experiment(**(facts | changes))


def text_on(dataset: str, made: Method) -> str:
    """Return the text by which a record of that data set names its probe."""
    methods = make_experiment().methods_on(dataset)
    return next((m.text for m in methods if replace(m, column="") == made), made.text)


def row(dataset: str, split: int, made: Method, score: float | None, **more: Any) -> Record:
    metric = "mse" if dataset == "mpg" else "zero-one"
    fields = {"part": made.part, "criterion": made.criterion, "loss": ""}
    fields |= {"params": text_on(dataset, made)}
    fields |= {"setting": "selected", "score": score, "metric": metric, **more}
    return replace(record(dataset, split, "5-CV", 0.2), error=None, **fields)


def records() -> list[Record]:
    """Return two splits of heart with rates 0.5 and 0.1, one of mpg, and a failed record."""
    rows = []
    for split, rate in enumerate((0.5, 0.1)):
        rows.append(row("heart", split, probe(), rate))
        rows.append(row("heart", split, probe(1), 0.04))
        rows.append(row("heart", split, probe(3), 0.04 * rate**4))
    rows.append(row("mpg", 0, probe(), 0.9))
    rows.append(row("mpg", 0, probe(1), 1.0))
    rows.append(row("mpg", 0, probe(3), 0.25))
    rows.append(row("mpg", 1, probe(3), None, status="failed"))
    table = method("5-CV", "k-CV", 5)
    rows.append(row("mpg", 0, table, 25.0, loss="squared"))
    rows.append(row("heart", 0, table, 0.2, loss="zero-one"))
    return rows


def make_study(**changes: Any) -> Study:
    return study(make_experiment(**changes), records())


def tracks() -> tuple[Track, ...]:
    return follow(make_study(), FIGURE)


def test_means_over_splits_and_their_predictions() -> None:
    heart, mpg = tracks()
    mean = 0.04 * (0.5**4 + 0.1**4) / 2
    assert heart.points == ((1.0, pytest.approx(0.04)), (3.0, pytest.approx(mean)))
    # The prediction is the mean over splits; the mean rate 0.3 would give 0.04 * 0.3^4.
    assert heart.predicted == (
        (1.0, pytest.approx(0.04)),
        (3.0, pytest.approx(mean)),
    )
    assert heart.rate == pytest.approx(0.3)
    assert heart.runs == {1.0: 2, 3.0: 2}
    assert mpg.points == ((1.0, 1.0), (3.0, 0.25))
    assert mpg.predicted[1] == (3.0, pytest.approx(0.9**4))


def test_the_scale_is_one_for_classes_and_the_cv_error_for_regression() -> None:
    heart, mpg = tracks()
    assert heart.scale == 1.0
    assert mpg.scale == 5.0
    assert mpg.relative(3) == pytest.approx(0.5 / 5.0)


def test_the_order_comes_from_the_method_and_not_from_text() -> None:
    """A text that no probe of the config has is not drawn."""
    rows = [
        row("heart", 0, probe(1), 0.04),
        replace(row("heart", 0, probe(1), 9.0), params="order=2"),
    ]
    heart, _ = follow(study(make_experiment(), rows), FIGURE)
    assert heart.points == ((1.0, 0.04),)


def test_discrepancies_share_an_axis_and_are_counted() -> None:
    """Roots of 1e-6 and 1e-2 over 1 are 0.1 % and 10 %."""
    numbers = [(((1.0, 0.04), (3.0, v)), (), 0.1, 1.0, {3.0: 2}) for v in (1e-6, 1e-2)]
    tracks = [
        Track("heart", "5-CV", *numbers[0]),
        *(Track("sonar", "5-CV", *one) for one in numbers),
    ]
    figure = Discrepancy("f", ("5-CV", "10-CV"), (1, 3), ("heart", "sonar", "mpg"))
    canvas = draw_discrepancy(figure, tracks, 3, {}, WIDE)
    assert texts(canvas) == ["heart: 1 of 1", "sonar: 1 of 2", "mpg", "no data"]
    assert len({ax.get_ylim() for ax in canvas.axes}) == 1


def test_differences_as_good_as_exact_are_below_the_axis() -> None:
    track = Track("heart", "5-CV", (), (), 0.1, 2.0, {})
    orders, shares = in_percent(track, [(1.0, 0.04), (2.0, 0.0)])
    assert (orders, shares[0]) == ([1.0, 2.0], pytest.approx(10.0))
    assert 0 < shares[1] < LOWEST


def test_mean_squares_have_linear_axes_from_zero() -> None:
    """The curves are the means themselves, not their roots in percent."""
    found = study(make_experiment(), records())
    canvas = draw_mean_squares(FIGURE, follow(found, FIGURE), {}, WIDE)
    heart, mpg = canvas.axes[:2]
    assert heart.get_ylim()[0] == 0.0
    assert heart.get_yscale() == "linear"
    (line,) = mpg.get_lines()
    assert list(line.get_ydata()) == [1.0, 0.25]
    assert mpg.get_title() == "mpg"
    empty = draw_mean_squares(FIGURE, follow(study(make_experiment(), []), FIGURE), {}, WIDE)
    assert "no data" in [t.get_text() for t in empty.axes[0].texts]
