"""Claims about seconds are judged by the measured ratios."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from problems import learners

from kselect.core.experiment import Experiment
from kselect.core.method import LamGrid, Method
from kselect.core.table import Table
from kselect.kernels.gaussian import Gaussian
from kselect.papers import PAPERS
from kselect.report.elements import Details, Heading, Notes, Paragraph
from kselect.timing.cells import Seconds, TimedMethod
from kselect.timing.ratios import TimingEntry, comparisons, judge_speed
from kselect.timing.report import make_passages
from kselect.timing.tables import make_sheet

PAPER = PAPERS["ijcai2018"]


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


def judged(ratios: dict[str, tuple[float, float]]) -> Any:
    pairs = comparisons(found(ratios))
    return judge_speed("ijcai2018", pairs)


@pytest.mark.parametrize(
    ("here", "verdict", "reached"),
    [
        ((10.0, 12.0, 3.0), "supported", 2),
        ((9.9, 12.0, 3.0), "mixed", 1),
        ((9.9, 9.0, 3.0), "not supported", 0),
    ],
)
def test_the_rule_of_a_claim(here: tuple[float, ...], verdict: str, reached: int) -> None:
    """A claim is supported if the median ratio reaches it, mixed if some ratios do, else not."""
    names = ("heart", "sonar", "a2a")
    ratios = {name: (value, 11.0) for name, value in zip(names, here, strict=True)}
    found = next(v for v in judged(ratios) if (v.claim.folds, v.claim.datasets) == (10, ()))
    assert (found.verdict, found.reached, found.measured) == (verdict, reached, 3)
    assert (found.published, found.printed) == (3, 3)
    assert found.spread == (min(here), sorted(here)[1], max(here))


def test_a_claim_about_some_data_sets() -> None:
    """A claim about large data sets counts only those."""
    found = judged({"heart": (30.0, 30.0), "a2a": (5.0, 21.0)})
    large = next(v for v in found if v.claim.datasets)
    assert (large.measured, large.verdict, large.published) == (1, "not supported", 1)


def test_a_claim_is_reported_with_its_rule() -> None:
    """The verdict is among the notes of the table of ratios; without numbers there is none."""
    sheet = make_sheet(experiment(), found({"heart": (4.0, 12.0)}), ["x"], [])
    claims = [text for text in sheet.printed[-1].notes if text.startswith("Claim")]
    assert len(claims) == 1
    assert "10-FBIF is 10 times as fast as 10-CV (section 5.2). Not supported:" in claims[0]
    assert "4.00 times as fast in the median of 1 data sets" in claims[0]
    assert "As published it reaches that on 1 of 1." in claims[0]
    assert "k-CV / FBIF" in [c.heading for c in sheet.tables[1].columns]
    assert any("7.3 for 10 folds" in text for text in sheet.tables[1].caption)
    assert make_sheet(experiment(), [], ["x"], []).verdicts == ()


def test_a_page_shows_verdicts_among_the_claims_and_ratios_before_seconds() -> None:
    """Verdicts are also in the file of all claims, and the page repeats nothing."""
    sheet = make_sheet(experiment(), found({"heart": (4.0, 12.0)}), ["x"], ["No seconds of b: y."])
    claim, chapter = make_passages(sheet)
    assert (claim.chapter, claim.file) == ("claims", "tables/claims.md")
    heading, told, rule = claim.elements
    assert isinstance(heading, Heading)
    assert heading.text == "10-FBIF is 10 times as fast as 10-CV (section 5.2)"
    assert isinstance(told, Paragraph)
    assert isinstance(rule, Paragraph)
    assert (told.verdict, told.text[:33]) == ("not supported", "With the paper's algorithms here ")
    assert rule.text.startswith("Supported: ")
    notes, *folds = chapter.elements
    assert isinstance(notes, Notes)
    assert "No seconds of b: y." in notes.lines
    assert not [line for line in notes.lines if line.startswith("Claim")]
    tables = [f.elements[0] for f in folds if isinstance(f, Details)]
    heads = [t.columns[2].heading for t in tables if isinstance(t, Table)]
    assert (chapter.chapter, heads) == ("seconds", ["k-CV / FBIF", "10-CV"])


def test_papers_without_claims_about_seconds() -> None:
    assert judge_speed("ecml2014", []) == []
    assert judge_speed("", []) == []
    assert {c.pair for c in PAPER.faster} == set(PAPER.timed_pairs)


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
