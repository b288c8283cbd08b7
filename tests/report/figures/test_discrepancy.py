"""The distance of a series from cross-validation, and whether it is as good as exact."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from synthetic import experiment, method, record, study, texts

from kselect.core.experiment import Experiment
from kselect.core.method import LamGrid, Method
from kselect.core.record import Record
from kselect.papers import PAPERS
from kselect.report.figures.discrepancy import (
    LOWEST,
    RATE,
    VALUE,
    Discrepancy,
    Track,
    draw_discrepancy,
    follow,
    in_percent,
)
from kselect.report.sections.other_claims import exactness_verdict, judge_exactness
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


def test_exactness_counts_curves_below_one_percent() -> None:
    (found,) = judge_exactness(make_study())
    # heart: sqrt(0.00125) = 3.5 %, mpg: 10 %.
    assert found.verdict == "not supported"
    assert "on 0 of 2 curves. The largest error is 10 %, on mpg with" in found.text


def test_exactness_is_withheld_below_half_of_the_plan() -> None:
    (found,) = judge_exactness(make_study(splits=tuple(range(10))))
    assert found.text.startswith("Only 3 of 20 planned numbers exist")
    assert found.verdict == "too few numbers"


def test_the_order_is_the_papers() -> None:
    assert PAPERS["icml2014"].exact_order == 3
    assert judge_exactness(make_study(paper="ecml2014")) == ()
    assert judge_exactness(make_study(paper="")) == ()
    assert judge_exactness(study(make_experiment(), [])) == ()


@pytest.mark.parametrize(
    ("exact", "total", "numbers", "verdict"),
    [
        (3, 3, 30, "supported"),
        (2, 3, 30, "mixed"),
        (1, 2, 30, "not supported"),
        (3, 3, 14, "too few numbers"),
        (3, 3, 15, "supported"),
    ],
)
def test_verdicts(exact: int, total: int, numbers: int, verdict: str) -> None:
    assert exactness_verdict(exact, total, numbers, 30) == verdict


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
