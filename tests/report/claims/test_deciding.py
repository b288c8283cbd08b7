"""The notes next to a verdict: they agree with the rules that they explain, and name what decided."""

from __future__ import annotations

import re
from itertools import product

import pytest

from kselect.report.claims.deciding import COUNTED, WORDS, decide
from kselect.report.claims.rules import RULES, judge_best, judge_most
from kselect.stats.comparison import WinTieLoss


def counts(wins: int, ties: int, losses: int) -> WinTieLoss:
    return WinTieLoss(wins, ties, losses)


@pytest.mark.parametrize(
    ("test", "verdict", "note"),
    [
        (
            (0, 34, 2),
            "supported",
            "significantly different on 5.56 % of the comparisons; the rule allows 20 %",
        ),
        (
            (4, 38, 30),
            "mixed",
            "significantly different on 47.2 % of the comparisons; supported up to 20 %, not supported above 50 %",
        ),
        (
            (4, 2, 30),
            "not supported",
            "significantly different on 94.4 % of the comparisons; not supported above 50 %",
        ),
    ],
)
def test_comparable_errors(test: tuple[int, int, int], verdict: str, note: str) -> None:
    assert decide("same", None, counts(*test), counts(*test)) == (verdict, (note,))


def test_a_claim_of_no_higher_errors_counts_one_side() -> None:
    found = decide("not higher", None, counts(9, 1, 0), counts(9, 1, 0))
    assert found.notes[0].startswith("significantly higher on 0 % of the comparisons")


@pytest.mark.parametrize(
    ("held", "verdict", "limit"),
    [
        (12, "supported", "the rule asks two thirds"),
        (11, "mixed", "supported from two thirds, not supported below a third"),
        (6, "mixed", "supported from two thirds, not supported below a third"),
        (5, "not supported", "not supported below a third"),
    ],
)
def test_two_thirds(held: int, verdict: str, limit: str) -> None:
    found = decide("robust", None, held, 18)
    assert found.verdict == verdict
    assert found.notes == (f"holds on {100 * held / 18:.3g} % of the curves; {limit}",)


def test_every_kind_of_two_thirds_names_what_it_counts() -> None:
    assert set(COUNTED) == {kind for kind, rule in RULES.items() if rule.judge is judge_most}


def test_every_rule_has_words_except_the_best_rank() -> None:
    assert {rule.judge for rule in RULES.values()} - set(WORDS) == {judge_best}


@pytest.mark.parametrize("kind", ["lower", "higher"])
def test_the_condition_that_failed(kind: str) -> None:
    """Only a mixed verdict on a lower or higher error needs words; they name the condition that failed."""
    for mean, test in product(product(range(4), repeat=3), repeat=2):
        if not sum(mean) or not sum(test):
            continue
        wins, _, _ = mean[:: 1 if kind == "lower" else -1]
        better, _, worse = test[:: 1 if kind == "lower" else -1]
        found = decide(kind, None, counts(*mean), counts(*test))  # type: ignore[arg-type]
        assert bool(found.notes) == (found.verdict == "mixed")
        if found.notes and 2 * wins > sum(mean):
            assert better <= worse
            assert f"({better}, {worse})" in found.notes[0]
            assert found.notes[0].startswith(f"mostly {kind}, ")
        elif found.notes:
            assert f"{kind} on {100 * wins / sum(mean):.3g} %" in found.notes[0]
            assert found.notes[0].endswith("supported above 50 %")


def test_a_factor_that_must_hold_everywhere() -> None:
    assert decide("cheaper", None, 2, 17) == ("not supported", ())
    assert decide("cheaper", None, 17, 17) == ("supported", ())
    (note,) = decide("cheaper", None, 13, 17).notes
    assert note == "holds on 76.5 % of the comparisons; supported if all, not supported below half"


def test_ranks_levels_widths_and_minima() -> None:
    assert decide("ranks before", None, [-1.5, -0.9], 0.8) == ("supported", ())
    assert decide("ranks before", None, [-1.5, -0.2], 0.8).notes == (
        "more than 0.80 ranks ahead of 1 of 2 rivals; supported if all",
    )
    assert decide("ranks same", None, [-1.5, -0.2], 0.8).notes == (
        "within 0.80 ranks of 1 of 2 rivals; supported if all",
    )
    assert decide("friedman rejected", None, 0.02).notes == ("p is below the rule's 0.1",)
    assert decide("friedman not rejected", None, 0.2).notes == ("p is not below the rule's 0.1",)
    assert decide("varies less", None, 2, 2, False).notes == ()
    assert decide("varies less", None, 1, 2, False).notes == ("lower on 1 of 2; supported if all",)
    assert decide("varies less", None, 10, 14, True).notes == (
        "lower on 71.4 % of the data sets; supported from two thirds",
    )
    assert decide("avoids", None, 0.2, 0.3).notes == ("less often, but more than half as often",)
    assert decide("unimodal", None, [0.001]).notes == (
        "the other minima are shallower than 1 % of the range",
    )


def test_a_withheld_verdict_has_no_notes() -> None:
    assert decide("robust", "too few numbers", 0, 0) == ("too few numbers", ())


def test_notes_are_short() -> None:
    """They stand in a narrow column of a table."""
    numbers = {"same": (counts(4, 38, 30),) * 2, "robust": (9, 18), "cheaper": (13, 17)}
    for kind, mine in numbers.items():
        (note,) = decide(kind, None, *mine).notes  # type: ignore[arg-type]
        assert len(re.findall(r"\S+", note)) <= 18
