"""Claims about seconds: the ratios of measured seconds, missing ones, and the printed ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from synthetic import experiment

from kselect.core.claim import Claim
from kselect.core.job import protocol_of
from kselect.core.method import Choice
from kselect.report.claims.times import judge_times
from kselect.stats.study import Study
from kselect.store.timings import Seconds, TimedMethod, Timings

CHEAPER = Claim("1", "cheaper", "", left=("5-KS",), right=("5-CV",), times=5.0)
SAME = Claim("2", "same time", "", left=("5-KS",), right=("5-CV",))
SPEC = experiment(datasets=("heart", "sonar", "a2a"), paper="")


def cell(label: str, paper: float | None, ours: float = 1.0, share: float = 1.0) -> TimedMethod:
    params = next(m.text for m in SPEC.table if m.label == label)
    mine, other = (s and Seconds(s, s, share) for s in (paper, ours))
    return TimedMethod(label, "", 5, params, mine or None, other or None, None, 60.0, "abc")


def timed(ratios: dict[str, float | None], protocol: str = "", **more: Any) -> Study:
    """Return a study in which 5-KS takes 2 seconds and 5-CV so many times as many, with the paper's algorithms."""
    timings = tuple(
        Timings(
            *(dataset, 0, 100, 7, protocol or protocol_of(SPEC, dataset, "00"), "00"),
            (cell("5-KS", 2.0), cell("5-CV", None if r is None else 2 * r)),
        )
        for dataset, r in ratios.items()
    )
    return Study(SPEC, [], timings=timings, **more)


@pytest.mark.parametrize(
    ("ratios", "verdict", "held"),
    [
        ((5.0, 20.0, 10.0), "supported", 3),
        ((4.9, 20.0, 10.0), "mixed", 2),
        ((4.9, 4.9, 10.0), "not supported", 1),
    ],
)
def test_a_stated_factor(ratios: tuple[float, ...], verdict: str, held: int) -> None:
    found = judge_times(timed(dict(zip(SPEC.datasets, ratios, strict=True))), CHEAPER, "squared")
    assert found.verdict == verdict
    assert found.counts == f"5 times as fast or more on {held} of 3 comparisons"
    product = ratios[0] * ratios[1] * ratios[2]
    assert found.effect.value == pytest.approx(product ** (1 / 3))
    assert found.effect.unit == "times as fast"
    assert found.text == ""


def test_no_stated_factor_means_faster_at_all() -> None:
    claim = replace(CHEAPER, times=1.0)
    found = judge_times(timed({"heart": 1.0, "sonar": 1.01, "a2a": 0.5}), claim, "squared")
    assert (found.verdict, found.counts) == ("not supported", "faster on 1 of 3 comparisons")


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ((1.5, 0.667, 9.0), "supported"),
        ((1.51, 0.667, 9.0), "mixed"),
        ((1.51, 0.66, 9.0), "not supported"),
    ],
)
def test_about_the_same_time(ratios: tuple[float, ...], verdict: str) -> None:
    found = judge_times(timed(dict(zip(SPEC.datasets, ratios, strict=True))), SAME, "squared")
    assert found.verdict == verdict
    assert found.effect.value == pytest.approx((ratios[0] * ratios[1] * ratios[2]) ** (-1 / 3))


def test_data_sets_without_seconds_are_missing() -> None:
    found = judge_times(timed({"heart": 6.0, "sonar": 7.0, "a2a": None}), CHEAPER, "squared")
    assert (found.verdict, found.counts[-9:]) == ("supported", "1 missing")
    assert "Without seconds: 5-KS against 5-CV (1 data set)." in found.text
    few = judge_times(timed({"heart": 6.0}), CHEAPER, "squared")
    assert (few.verdict, few.reason) == (
        "too few numbers",
        "Only 1 of 3 planned comparisons exist, too few to judge.",
    )
    assert judge_times(timed({"heart": None}), CHEAPER, "squared").verdict == "no numbers"
    assert judge_times(timed({}), CHEAPER, "squared").reason.startswith("No selection was timed")


def test_what_the_paper_printed_and_what_is_not_exact_is_said() -> None:
    printed = {("heart", "5-CV"): 12.0, ("heart", "5-KS"): 2.0, ("sonar", "5-CV"): 2.0}
    study = timed({"heart": 6.0, "sonar": 7.0}, protocol="old", printed_seconds=printed)
    found = judge_times(study, CHEAPER, "squared")
    assert "The seconds that the paper printed reach this on 1 of 1." in found.text
    assert "Measured with an earlier version or config on 2 data sets." in found.text
    assert found.table is not None
    assert found.table.rows[0] == ("heart", "5-KS against 5-CV", 2.0, 12.0, 6.0, 6.0, "yes")


def searched(**paper: float | None) -> Study:
    """Return a study of two continuous searches, with 1 and 3 of our seconds and some of the papers' own."""
    search = Choice("quasi-newton")
    methods = [m for m in SPEC.table if m.label in ("5-KS", "5-CV")]
    spec = replace(SPEC, methods=tuple(replace(m, search=search) for m in methods))
    spec = replace(spec, datasets=("heart",))
    cells = [
        replace(
            cell(m, paper.get(name), ours), params=next(t.text for t in spec.table if t.label == m)
        )
        for m, name, ours in (("5-KS", "first", 1.0), ("5-CV", "second", 3.0))
    ]
    timings = Timings("heart", 0, 100, 7, protocol_of(spec, "heart", "00"), "00", tuple(cells))
    return Study(spec, [], timings=(timings,))


def test_two_searches_count_with_seconds_of_one_kind() -> None:
    """With our seconds, if the paper describes the search of one only; else with those of the papers' searches."""
    ours = judge_times(searched(first=90.0), CHEAPER, "squared")
    assert (ours.verdict, ours.effect.value) == ("not supported", pytest.approx(3.0))
    assert ours.text == (
        "Seconds of our searches. The paper's own search of 5-KS takes 90 times as long as ours."
    )
    assert judge_times(searched(), SAME, "squared").effect.value == pytest.approx(1 / 3)
    both = judge_times(searched(first=90.0, second=900.0), CHEAPER, "squared")
    assert (both.verdict, both.effect.value) == ("supported", pytest.approx(10.0))
    assert "Seconds of our searches" not in both.text


def test_our_seconds_of_a_grid_never_count() -> None:
    """Without the paper's algorithm on a grid a comparison has no seconds."""
    assert judge_times(timed({"heart": None}), SAME, "squared").verdict == "no numbers"


def test_the_cost_without_training_is_said() -> None:
    """A claim is judged with all seconds; the text says what would hold without the trainings."""
    study = timed({"heart": 4.0, "sonar": 4.0, "a2a": 2.0})
    timings = tuple(
        replace(t, cells=(replace(t.cells[0], paper=Seconds(2.0, 2.0, 1.0, fits=1.0)), t.cells[1]))
        for t in study.timings
    )
    found = judge_times(Study(SPEC, [], timings=timings), CHEAPER, "squared")
    assert found.verdict == "not supported"
    assert "Without the trainings of 5-KS, as the paper counts, this holds on 2 of 3." in found.text
    words = "as the paper counts (without the trainings of 5-KS): 2 of 3"
    assert (found.notes, found.recount) == ((words,), "2 of 3")
    # A way of counting that changes nothing needs no words.
    easy = judge_times(Study(SPEC, [], timings=timings), replace(CHEAPER, times=1.5), "squared")
    assert (easy.verdict, easy.notes, easy.recount) == ("supported", (), "")


def test_extrapolated_seconds_and_data_sets_without_seconds_stand_next_to_the_verdict() -> None:
    study = timed({"heart": 2.0, "sonar": None, "a2a": 6.0})
    first, *others = study.timings
    rough = replace(first, cells=(first.cells[0], cell("5-CV", 4.0, share=0.5)))
    found = judge_times(Study(SPEC, [], timings=(rough, *others)), CHEAPER, "squared")
    assert found.notes[0] == "extrapolated seconds in 1 of 2"
    two = replace(CHEAPER, datasets=("heart", "sonar"))
    found = judge_times(Study(SPEC, [], timings=(rough, *others)), two, "squared")
    assert (found.verdict, found.notes) == (
        "not supported",
        ("measured on heart only, not on sonar", "extrapolated seconds in 1 of 1"),
    )
