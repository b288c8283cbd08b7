"""Ratios of seconds of exact cross-validation and its approximations."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from problems import learners

from kselect.core.experiment import Experiment
from kselect.core.method import LamGrid, Method
from kselect.core.table import Table
from kselect.kernels.gaussian import Gaussian
from kselect.report.elements import Details, Notes
from kselect.store.timings import Seconds, TimedMethod
from kselect.timing.ratios import TimingEntry, comparisons
from kselect.timing.report import make_passages
from kselect.timing.tables import make_sheet


def experiment(paper: str = "ijcai2018", **more: Any) -> Experiment:
    """Return an experiment of which the table uses the protocol only."""
    made = Experiment(
        "toy", paper, "", learners("krr"), "minmax", "all", 0.5, False, (0,), 0,
        (Gaussian(1.0),), LamGrid((0.1, 1.0), "select"), "fixed", "squared", (), ("heart",),
    )  # fmt: skip
    return replace(made, **more)


def entry(dataset: str, method: str, paper: float, published: float) -> TimingEntry:
    folds, _, name = method.partition("-")
    cell = TimedMethod(
        method, f"k-{name}", int(folds), "", Seconds(paper, paper, 1.0), Seconds(1.0, 1.0, 1.0),
        None, 60.0, "abc",
    )  # fmt: skip
    return TimingEntry(dataset, 100, 7, method, cell, published)


def found(ratios: dict[str, tuple[float, float]]) -> list[TimingEntry]:
    """Return k-CV and FBIF entries with these measured and published ratios."""
    return [
        e
        for name, (here, there) in ratios.items()
        for e in (
            entry(name, "10-CV", here, there),
            entry(name, "10-FBIF", 1.0, 1.0),
        )
    ]


def test_pairs_come_from_the_methods_of_the_config() -> None:
    """Every k-CV is compared with each approximation with the same folds, whatever the paper."""
    both = [entry("heart", f"{k}-{name}", 2.0, 1.0) for k in (5, 10) for name in ("CV", "FBIF")]
    every = [(one.folds, one.pair.short) for one in comparisons(both)]
    assert every == [(5, "FBIF"), (10, "FBIF")]
    assert comparisons([both[0], both[3]]) == []


def test_the_page_shows_ratios_before_seconds() -> None:
    sheet = make_sheet(experiment(), found({"heart": (4.0, 12.0)}), ["x"], ["No seconds of b: y."])
    assert "k-CV / FBIF" in [c.heading for c in sheet.tables[1].columns]
    assert any("7.3 for 10 folds" in text for text in sheet.tables[1].caption)
    (chapter,) = make_passages(sheet)
    notes, *folds = chapter.elements
    assert isinstance(notes, Notes)
    assert "No seconds of b: y." in notes.lines
    tables = [f.elements[0] for f in folds if isinstance(f, Details)]
    heads = [t.columns[2].heading for t in tables if isinstance(t, Table)]
    assert (chapter.chapter, heads) == ("seconds", ["k-CV / FBIF", "10-CV"])


def test_the_caption_says_how_ours_is_computed() -> None:
    """The caption mentions searches by bounds and default values of tuned parameters."""
    tuned = Method("ER", "ER", None, (), tuned=(("t", (0.1, 0.2)),))
    plain, other = (
        " ".join(make_sheet(e, found({"heart": (4.0, 12.0)}), ["x"], []).tables[0].caption)
        for e in (experiment(), experiment(search="pruned", methods=(tuned,)))
    )
    assert "by bounds" not in plain
    assert "default value" not in plain
    assert "k-CV with the learner's own loss by bounds" in other
    assert "A tuned parameter has its default value" in other
