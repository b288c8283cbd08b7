"""Claims: the pairs that a claim compares, and its verdict."""

from __future__ import annotations

from dataclasses import replace
from itertools import zip_longest

import pytest
from synthetic import (
    TAUS,
    experiment,
    full_experiment,
    method,
    record,
    sample_records,
    study,
)

from kselect.core.method import LamGrid
from kselect.stats.claims import judge, verdict_on
from kselect.stats.comparison import Contest, Outcome, add_up

Counts = tuple[int, int, int]


def contest(mean: Counts, test: Counts, pairs: int = 10, planned: int = 10) -> Contest:
    """Return a contest with these wins, ties and losses; a data set without a test has None."""
    means = [s for s, n in zip((1, 0, -1), mean, strict=True) for _ in range(n)]
    tests = [s for s, n in zip((1, 0, -1), test, strict=True) for _ in range(n)]
    rows = zip_longest(means, tests)
    outcomes = [Outcome("d", 0, m, t, None) for m, t in rows if m is not None]
    assert len(tests) <= len(means)
    return add_up("a", "b", (*outcomes, Outcome("d", pairs, 9, None, None)), planned)


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
def test_lower(mean: Counts, test: Counts, verdict: str) -> None:
    assert verdict_on(contest(mean, test), "lower") == verdict


@pytest.mark.parametrize(
    ("test", "verdict"),
    [
        ((1, 9, 0), "supported"),
        ((1, 8, 1), "mixed"),
        ((3, 4, 3), "not supported"),
        ((0, 0, 0), "undecided"),
    ],
)
def test_same(test: Counts, verdict: str) -> None:
    assert verdict_on(contest((5, 0, 5), test), "same") == verdict


@pytest.mark.parametrize(("pairs", "verdict"), [(49, "too few numbers"), (50, "supported")])
def test_a_verdict_needs_half_of_the_plan(pairs: int, verdict: str) -> None:
    assert verdict_on(contest((5, 0, 4), (1, 8, 0), pairs, 100), "lower") == verdict
    assert verdict_on(contest((5, 0, 4), (0, 9, 0), pairs, 100), "same") == verdict


@pytest.mark.parametrize(
    ("ks", "verdict"), [((0.1, 0.2, 0.3), "supported"), ((0.5, 0.6, 0.8), "not supported")]
)
def test_a_claim_is_judged_by_the_numbers(ks: tuple[float, ...], verdict: str) -> None:
    cv = (0.3, 0.41, 0.5)
    records = sample_records({("heart", "5-CV"): cv, ("heart", "5-KS"): ks})
    spec = experiment(splits=(0, 1, 2), datasets=("heart",))
    (found,) = judge(study(spec, records), "squared")
    assert found.verdict == verdict
    assert [setting for setting, _ in found.contests] == [spec.lam.settings()[0]]
    assert [verdict_on(contest, "lower") for _, contest in found.contests] == [verdict]


def test_a_partial_run_gets_no_verdict() -> None:
    """12 of 720 planned pairs give no verdict."""
    spec = full_experiment()
    settings = [s.text for s in spec.lam.settings()]
    errors = {("heart", "5-CV"): (0.1, 0.2, 0.3), ("heart", "5-KS"): (0.3, 0.41, 0.5)}
    records = [r for text in settings for r in sample_records(errors, setting=text)]
    first, second = judge(study(spec, records), "squared")
    assert first.verdict == "too few numbers"
    assert (first.total.pairs, first.total.planned) == (12, 720)
    verdicts = {verdict_on(contest, "lower") for _, contest in first.contests}
    assert verdicts == {"too few numbers", "no numbers"}
    assert second.verdict == "no numbers"


def test_failures_do_not_count_as_numbers() -> None:
    records = sample_records({("heart", "5-CV"): (0.1, None, None), ("heart", "5-KS"): (0.1,) * 3})
    spec = experiment(splits=(0, 1, 2), datasets=("heart",))
    (found,) = judge(study(spec, records), "squared")
    assert found.verdict == "too few numbers"


def test_a_verdict_names_the_columns_that_choose_at_an_edge() -> None:
    """5-KS chooses the smallest width on two of three splits, 5-CV on one."""
    spec = experiment(splits=(0, 1, 2), datasets=("heart",), lam=LamGrid((0.001,), "fixed"))
    low = {"chosen": TAUS[0].text}
    records = [record("heart", s, "5-KS", 0.1, **(low if s else {})) for s in range(3)]
    records += [record("heart", s, "5-CV", 0.2, **({} if s else low)) for s in range(3)]
    (found,) = judge(study(spec, records), "squared")
    assert [(e.method, e.anywhere) for e in found.edges] == [("5-KS", pytest.approx(2 / 3))]


def test_claims_belong_to_their_paper() -> None:
    records = sample_records({("heart", "5-CV"): (0.1,)})
    for paper in ("tcyb2018", "", "icml2014"):
        assert judge(study(experiment(paper=paper), records), "squared") == ()


def test_a_claim_may_be_about_one_task() -> None:
    """Data sets of the other task change neither the verdict nor the plan."""
    records = sample_records(
        {
            ("heart", "5-CV"): (0.3, 0.41, 0.5),
            ("heart", "5-CVKS"): (0.1, 0.2, 0.3),
            ("mpg", "5-CV"): (0.1, 0.2, 0.3),
            ("mpg", "5-CVKS"): (0.3, 0.41, 0.5),
        }
    )
    methods = (method("5-CV", "k-CV", 5), method("5-CVKS", "k-CVKS", 5))
    spec = experiment(
        paper="tcyb2018", methods=methods, splits=(0, 1, 2), datasets=("heart", "mpg")
    )
    found = judge(study(spec, records), "squared")
    assert [j.claim.task for j in found] == ["classification", "regression"]
    assert [j.verdict for j in found] == ["supported", "not supported"]
    assert [j.total.planned for j in found] == [3, 3]
    (alone,) = judge(study(replace(spec, datasets=("heart",)), records), "squared")
    assert alone.claim.task == "classification"
