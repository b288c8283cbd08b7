import pytest
from synthetic import (
    experiment,
    full_experiment,
    method,
    regression_experiment,
    sample_records,
)

from kselect.stats.claims import Tally, all_pairs, judge
from kselect.stats.comparison import compare
from kselect.stats.counts import WinTieLoss


def tally(mean: tuple[int, int, int], test: tuple[int, int, int]) -> Tally:
    return Tally(WinTieLoss(*mean), WinTieLoss(*test), WinTieLoss(0, 0, 0))


@pytest.mark.parametrize(
    ("mean", "test", "verdict"),
    [
        ((5, 0, 4), (1, 8, 0), "supported"),
        ((4, 2, 3), (1, 8, 0), "mixed"),  # more wins, but not in more than half
        ((5, 0, 4), (0, 9, 0), "mixed"),
        ((3, 0, 6), (2, 7, 0), "mixed"),
        ((4, 1, 4), (0, 9, 0), "not supported"),
        ((0, 9, 0), (0, 9, 0), "not supported"),
        ((5, 0, 4), (0, 0, 0), "undecided"),  # one split: no test
        ((0, 0, 0), (0, 0, 0), "no numbers"),
    ],
)
def test_lower(mean: tuple[int, int, int], test: tuple[int, int, int], verdict: str) -> None:
    assert tally(mean, test).verdict("lower") == verdict


@pytest.mark.parametrize(
    ("test", "verdict"),
    [
        ((1, 9, 0), "supported"),
        ((1, 8, 1), "mixed"),
        ((3, 4, 3), "not supported"),
        ((0, 0, 0), "undecided"),
    ],
)
def test_same(test: tuple[int, int, int], verdict: str) -> None:
    assert tally((5, 0, 5), test).verdict("same") == verdict


def test_pairs_come_from_the_methods() -> None:
    assert all_pairs(full_experiment()) == (
        ("5-KS", "5-CV"),
        ("10-KS", "10-CV"),
        ("5-KS", "BR"),
        ("10-KS", "BR"),
    )
    assert all_pairs(regression_experiment()) == (
        *((f"BIF-{k}-CV", f"{k}-CV") for k in (5, 10, 20)),
        *((f"BIF-{k}-CV", "EP") for k in (5, 10, 20)),
    )
    other = (method("5-KS", "k-KS", 5), method("10-CV", "k-CV", 10))
    assert all_pairs(experiment(methods=other)) == ()


@pytest.mark.parametrize(
    ("ks", "verdict"), [((0.1, 0.2, 0.3), "supported"), ((0.5, 0.6, 0.8), "not supported")]
)
def test_a_claim_is_judged_by_the_numbers(ks: tuple[float, ...], verdict: str) -> None:
    cv = (0.3, 0.41, 0.5)
    records = sample_records({("heart", "5-CV"): cv, ("heart", "5-KS"): ks})
    spec = experiment()
    (found,) = judge(spec, compare(spec, records, "squared", all_pairs(spec)))
    assert found.verdict == verdict
    assert [line.verdict for line in found.lines] == [verdict]
    assert found.lines[0].setting == "lam=0.001"


def test_another_paper_has_other_claims() -> None:
    spec = experiment(paper="tcyb2018")
    comparison = compare(spec, sample_records({("heart", "5-CV"): (0.1,)}), "squared", [])
    assert judge(spec, comparison) == ()
