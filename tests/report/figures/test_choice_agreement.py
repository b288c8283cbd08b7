"""Statistics of how often two criteria make the same choice."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from synthetic import experiment, method, record, study

from kselect.core.method import LamGrid
from kselect.core.record import Record
from kselect.report.elements import File
from kselect.report.figures.choice_agreement import ChoiceAgreement, compare_choices, totals
from kselect.report.sections import FIGURES
from kselect.stats.study import Study

FIGURE = ChoiceAgreement("choices", ("5-KS",), "5-CV")


def row(label: str, split: int, tau: int, lam: float, score: float, error: float = 0.2) -> Record:
    made = record("heart", split, label, error, setting="selected", chosen=f"tau={tau}", lam=lam)
    return replace(made, score=score)


def study_of(*rows: Record, **more: Any) -> Study:
    methods = (
        method("5-CV", "k-CV", 5, loss="squared"),
        method("5-KS", "k-KS", 5, eta=1.0, loss="squared"),
    )
    spec = experiment(methods=methods, figures=(FIGURE,), lam=LamGrid((0.1, 1.0), "select"), **more)
    return study(spec, rows)


def rows() -> list[Record]:
    """Return equal pairs, equal kernels, different choices, and a split that one column lacks."""
    return [
        *(row("5-CV", 0, 4, 0.1, 0.50), row("5-KS", 0, 4, 0.1, 0.55, 0.3)),
        *(row("5-CV", 1, 4, 0.1, 0.50), row("5-KS", 1, 4, 1.0, 0.25, 0.2)),
        *(row("5-CV", 2, 4, 0.1, 0.50), row("5-KS", 2, 8, 0.1, 0.50, 0.1)),
        row("5-CV", 3, 4, 0.1, 0.50),
    ]


def test_by_hand() -> None:
    (one,) = compare_choices(study_of(*rows()), FIGURE)
    assert (one.dataset, one.method, one.runs) == ("heart", "5-KS", 3)
    assert (one.same, one.same_kernel) == (1, 2)
    assert (one.apart, one.largest) == (pytest.approx(0.1), pytest.approx(0.5))
    assert one.error == pytest.approx(0.0)


def test_totals_add_up() -> None:
    sonar = [replace(r, dataset="sonar", score=(r.score or 0) + 0.5) for r in rows()[:2]]
    found = compare_choices(study_of(*rows(), *sonar), FIGURE)
    (every,) = totals(found)
    assert (every.runs, every.same, every.same_kernel) == (4, 2, 3)
    assert every.apart == pytest.approx((0.1 + 0.05) / 2)
    assert every.largest == pytest.approx(0.5)
    assert math.isnan(every.error)


def test_failures_are_not_compared() -> None:
    """Columns without a common split are left out."""
    failed = record("heart", 0, "5-KS", None, setting="selected")
    assert compare_choices(study_of(row("5-CV", 0, 4, 0.1, 0.5), failed), FIGURE) == ()
    assert totals(()) == []


def test_the_table() -> None:
    """The table has a row for all and one per data set, and needs both of its columns."""
    kind, found = FIGURES["likeness"], study_of(*rows())
    files = {f.name: f.content for f in kind.show(FIGURE, found) if isinstance(f, File)}
    assert set(files) == {f"tables/choices.{kind}" for kind in ("csv", "md", "tex")}
    text = str(files["tables/choices.md"])
    assert "| all " in text
    cells = [[c.strip() for c in line.split("|")[1:-1]] for line in text.splitlines()]
    assert ["heart", "5-KS", "3", "1", "2", "10 %", "50 %", "+0"] in cells
    assert kind.keep(FIGURE, frozenset({"5-KS", "5-CV"})) == FIGURE
    assert kind.keep(FIGURE, frozenset({"5-KS"})) is None
    assert kind.keep(FIGURE, frozenset({"5-CV"})) is None
    assert list(kind.show(FIGURE, study_of()))
