"""Every rule against hand-made numbers, on both sides of each of its boundaries."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from kselect.core.claim import KEYS, ErrorKind, Kind, RankKind, TimeKind
from kselect.report.claims.judge import EVIDENCE
from kselect.report.claims.rules import RULES, Verdict, judge_spread, withhold
from kselect.stats.comparison import WinTieLoss

YES: Verdict = "supported"
MIXED: Verdict = "mixed"
NO: Verdict = "not supported"


def judged(kind: Kind, *numbers: Any) -> Verdict:
    return RULES[kind].judge(*numbers)


@pytest.mark.parametrize(
    ("mean", "test", "verdict"),
    [
        ((5, 0, 4), (1, 8, 0), YES),
        ((4, 2, 3), (1, 8, 0), MIXED),  # more lower means, but not in more than half
        ((5, 0, 5), (1, 9, 0), MIXED),
        ((5, 0, 4), (0, 9, 0), MIXED),  # no more significant ones
        ((5, 0, 4), (1, 7, 1), MIXED),
        ((3, 0, 6), (2, 7, 0), MIXED),
        ((4, 1, 4), (0, 9, 0), NO),
        ((0, 9, 0), (0, 9, 0), NO),
        ((2, 0, 7), (1, 6, 2), NO),
    ],
)
def test_lower_and_higher(mean: Any, test: Any, verdict: Verdict) -> None:
    assert judged("lower", WinTieLoss(*mean), WinTieLoss(*test)) == verdict
    assert judged("higher", WinTieLoss(*mean[::-1]), WinTieLoss(*test[::-1])) == verdict


@pytest.mark.parametrize(
    ("losses", "total", "verdict"),
    [(2, 10, YES), (3, 10, MIXED), (5, 10, MIXED), (6, 10, NO), (0, 1, YES)],
)
def test_not_higher_and_same(losses: int, total: int, verdict: Verdict) -> None:
    mean = WinTieLoss(0, total, 0)
    test = WinTieLoss(0, total - losses, losses)
    assert judged("not higher", mean, test) == verdict
    assert judged("same", mean, test) == verdict
    better = WinTieLoss(losses, total - losses, 0)
    assert judged("not higher", mean, better) == YES
    assert judged("same", mean, better) == verdict


def test_the_counts_of_tcyb2018() -> None:
    """The counts that protocols.md names for A4, A5-1 and B4."""
    mean = WinTieLoss(0, 0, 0)
    assert judged("not higher", mean, WinTieLoss(2, 30, 4)) == YES
    assert judged("same", mean, WinTieLoss(1, 33, 2)) == YES
    assert judged("same", mean, WinTieLoss(1, 15, 16)) == NO


@pytest.mark.parametrize(
    "kind", ["good setting", "robust", "good range", "exact", "near", "same time"]
)
@pytest.mark.parametrize(
    ("held", "total", "verdict"),
    [(6, 9, YES), (5, 9, MIXED), (3, 9, MIXED), (2, 9, NO), (15, 30, MIXED), (1, 1, YES)],
)
def test_two_thirds(kind: Kind, held: int, total: int, verdict: Verdict) -> None:
    assert judged(kind, held, total) == verdict


@pytest.mark.parametrize(
    ("held", "total", "verdict"), [(4, 4, YES), (3, 4, MIXED), (2, 4, MIXED), (1, 4, NO)]
)
def test_cheaper(held: int, total: int, verdict: Verdict) -> None:
    assert judged("cheaper", held, total) == verdict


def test_friedman() -> None:
    assert [judged("friedman rejected", p) for p in (0.0999, 0.1)] == [YES, NO]
    assert [judged("friedman not rejected", p) for p in (0.0999, 0.1)] == [NO, YES]


@pytest.mark.parametrize(
    ("kind", "differences", "verdict"),
    [
        ("best rank", (-0.1, 0.0), YES),
        ("best rank", (-2.0, 0.01), NO),
        ("ranks before", (-1.01, -2.0), YES),
        ("ranks before", (-1.0, -2.0), MIXED),
        ("ranks before", (-0.1, 0.3), MIXED),
        ("ranks before", (0.0, 0.3), NO),
        ("ranks same", (-1.0, 1.0), YES),
        ("ranks same", (-1.01, 1.0), MIXED),
        ("ranks same", (-1.01, 1.01), NO),
        ("ranks not after", (-3.0, 1.0), YES),
        ("ranks not after", (-3.0, 1.01), MIXED),
        ("ranks not after", (1.01, 1.01), NO),
        ("ranks after", (1.01, 1.01), YES),
        ("ranks after", (1.0, 1.01), NO),
    ],
)
def test_ranks_with_a_critical_difference_of_one(
    kind: Kind, differences: tuple[float, ...], verdict: Verdict
) -> None:
    assert judged(kind, differences, 1.0) == verdict


@pytest.mark.parametrize(
    ("held", "total", "everywhere", "verdict"),
    [
        (3, 3, False, YES),
        (2, 3, False, MIXED),
        (1, 3, False, MIXED),
        (0, 3, False, NO),
        (2, 3, True, YES),
        (7, 12, True, MIXED),
        (5, 12, True, MIXED),
        (4, 12, True, NO),
    ],
)
def test_spreads(held: int, total: int, everywhere: bool, verdict: Verdict) -> None:
    assert judge_spread(held, total, everywhere) == verdict
    assert RULES["suppresses"].judge is RULES["varies less"].judge is judge_spread


@pytest.mark.parametrize(
    ("left", "right", "verdict"),
    [
        (0.1, 0.2, YES),
        (0.11, 0.2, MIXED),
        (0.2, 0.2, NO),
        (0.3, 0.2, NO),
        (0.0, 0.2, YES),
    ],
)
def test_avoids(left: float, right: float, verdict: Verdict) -> None:
    assert judged("avoids", left, right) == verdict


def test_unimodal() -> None:
    assert judged("unimodal", ()) == YES
    assert judged("unimodal", (0.01, 0.001)) == MIXED
    assert judged("unimodal", (0.0101,)) == NO


def test_withheld_below_half_of_the_planned_numbers() -> None:
    assert withhold(0, 10) == "no numbers"
    assert withhold(4, 10) == "too few numbers"
    assert withhold(5, 10) is None


def test_every_kind_has_a_rule_and_evidence() -> None:
    kinds = {k for part in get_args(Kind) for k in get_args(part)} or set(KEYS)
    assert set(RULES) == set(EVIDENCE) == set(KEYS)
    assert kinds >= {k for one in (ErrorKind, RankKind, TimeKind) for k in get_args(one)}
    for rule in RULES.values():
        assert "Supported: " in rule.text
        assert rule.effect
