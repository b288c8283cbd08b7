"""Claims about test errors on small made records: verdict, effect, counts and withheld verdicts."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from synthetic import LAMS, experiment, method, sample_records, study

from kselect.core.claim import Claim, Paper
from kselect.core.method import LamGrid, Setting
from kselect.report.claims.errors import judge_errors, judge_printed, judge_setting
from kselect.report.claims.scope import nothing
from kselect.stats.sources import Published
from kselect.stats.study import Study

LOWER = Claim("1", "lower", "", left=("5-KS",), right=("5-CV",))
SETS = ("heart", "sonar", "a2a")


def made(errors: dict[tuple[str, str], tuple[float | None, ...]], **changes: Any) -> Study:
    """Return a study of 5-CV and 5-KS on the data sets and splits that the errors name."""
    names = tuple(dict.fromkeys(d for d, _ in errors))
    splits = tuple(range(max(map(len, errors.values()))))
    facts = {"datasets": names, "splits": splits, "paper": ""}
    return study(experiment(**(facts | changes)), sample_records(errors))


def three() -> Study:
    """Return a study in which 5-KS is lower by 2, by 1, and higher by 3 points."""
    errors: dict[tuple[str, str], tuple[float | None, ...]] = {}
    for dataset, apart in zip(SETS, (-0.02, -0.01, 0.03), strict=True):
        errors[dataset, "5-CV"] = (0.1, 0.2, 0.3)
        errors[dataset, "5-KS"] = tuple(round(e + apart, 6) for e in (0.1, 0.2, 0.3))
    return made(errors)


def test_a_claim_of_lower_errors() -> None:
    found = judge_errors(three(), LOWER, "squared")
    assert found.verdict == "supported"
    assert found.counts == "2 lower, 0 equal, 1 higher; significantly 2 lower, 1 higher"
    assert (found.effect.value, found.effect.unit) == (pytest.approx(-1.0), "points")
    assert found.effect.low == pytest.approx(-2.0)
    assert found.effect.high == pytest.approx(3.0)
    assert found.text.startswith("These are 3 comparisons over 3 data sets. With the t-test")
    assert found.table is not None
    assert found.table.rows[0][1:] == ("5-KS against 5-CV", "2/0/1", "2/0/1", "2/0/1", "supported")


def test_the_same_numbers_for_other_kinds() -> None:
    kinds = ("higher", "not higher", "same")
    found = [judge_errors(three(), replace(LOWER, kind=k), "squared") for k in kinds]  # type: ignore[arg-type]
    assert [f.verdict for f in found] == ["not supported", "mixed", "not supported"]


def test_one_data_set_has_a_t_interval_over_its_splits() -> None:
    found = judge_errors(
        made({("heart", "5-CV"): (0.1, 0.2, 0.3), ("heart", "5-KS"): (0.2, 0.2, 0.5)}),
        LOWER,
        "squared",
    )
    half = 4.302653 * math.sqrt(1 / 3 + 30 / 70) * 10
    assert found.effect.value == pytest.approx(10)
    assert found.effect.high == pytest.approx(10 + half)


def test_a_regression_is_relative_to_the_second_error() -> None:
    spec = experiment(datasets=("mpg", "mg"), splits=(0, 1), paper="")
    records = sample_records(
        {
            ("mpg", "5-CV"): (8.0, 12.0),
            ("mpg", "5-KS"): (9.0, 13.0),
            ("mg", "5-CV"): (0.02, 0.02),
            ("mg", "5-KS"): (0.02, 0.026),
        },
        metric="mse",
    )
    found = judge_errors(study(spec, records), LOWER, "squared")
    assert (found.effect.value, found.effect.unit) == (pytest.approx((10 + 15) / 2), "%")


def test_a_data_set_counts_once_with_the_mean_of_its_comparisons() -> None:
    spec = experiment(datasets=("heart", "sonar"), splits=(0, 1), paper="")
    spec = replace(spec, lam=LamGrid((0.001, 0.1), "fixed"))
    records = []
    for setting, apart in (("lam=0.001", 0.02), ("lam=0.1", 0.04)):
        for dataset, more in (("heart", 0.0), ("sonar", 0.1)):
            pair = {
                (dataset, "5-CV"): (0.1, 0.2),
                (dataset, "5-KS"): (0.1 + apart + more, 0.2 + apart + more),
            }
            records += sample_records(pair, setting=setting)
    found = judge_errors(study(spec, records), LOWER, "squared")
    assert found.effect.value == pytest.approx((3 + 13) / 2)
    assert found.counts == "0 lower, 0 equal, 4 higher; significantly 0 lower, 4 higher"


def test_withheld_verdicts() -> None:
    few = made({("heart", "5-CV"): (0.1, 0.2, 0.3, 0.4, 0.5), ("heart", "5-KS"): (0.1, 0.1)})
    found = judge_errors(few, LOWER, "squared")
    assert found.verdict == "too few numbers"
    assert found.reason == "Only 2 of 5 planned pairs of test errors exist, too few to judge."
    one = judge_errors(
        made({("heart", "5-CV"): (0.1,), ("heart", "5-KS"): (0.1,)}), LOWER, "squared"
    )
    assert (one.verdict, one.reason) == ("too few numbers", "No test is possible with one split.")
    none = made({("heart", "5-CV"): (0.1, 0.2)})
    assert judge_errors(none, LOWER, "squared") == nothing()
    assert judge_errors(three(), replace(LOWER, right=("BR",)), "squared").verdict == "no numbers"


def settings(bad: float) -> Study:
    """Return two data sets; on sonar the error at lam = 0.001 is ``bad`` above that of the other settings."""
    spec = experiment(datasets=("heart", "sonar"), splits=(0, 1, 2), paper="")
    spec = replace(
        spec, lam=LamGrid(LAMS, "fixed"), methods=(method("5-CV", "k-CV", 5, loss="squared"),)
    )
    records = []
    for setting in spec.lam.settings():
        there = setting.value == 0.001
        for dataset, more in (("heart", -0.01), ("sonar", bad)):
            errors = tuple(e + more * there for e in (0.2, 0.3, 0.4))
            records += sample_records({(dataset, "5-CV"): errors}, setting=setting.text)
    return study(spec, records)


@pytest.mark.parametrize(("bad", "held", "verdict"), [(0.1, 1, "mixed"), (-0.05, 2, "supported")])
def test_a_good_setting(bad: float, held: int, verdict: str) -> None:
    claim = Claim("1", "good setting", "", setting=Setting(1, 0.001))
    found = judge_setting(settings(bad), claim, "squared")
    assert found.verdict == verdict
    assert found.counts == f"on {held} of 2 data sets not significantly worse than the best"
    assert found.effect.value == pytest.approx(max(0.0, 100 * bad) / 2)
    elsewhere = judge_setting(settings(bad), replace(claim, setting=Setting(0, 7.0)), "squared")
    assert elsewhere.verdict == "no numbers"


@pytest.mark.parametrize(
    ("mean", "verdict", "significant"),
    [(15.0, "supported", 1), (19.9, "mixed", 0), (25.0, "not supported", 0)],
)
def test_a_printed_column(mean: float, verdict: str, significant: int) -> None:
    """Ours is 20 with a standard error of 0.5; the printed standard deviation of 4 over 16 splits is 1."""
    errors = tuple(0.20 + 0.01 * s for s in (-1, 1, -1, 1)) * 1
    spec = experiment(datasets=("heart",), splits=(0, 1, 2, 3), paper="")
    paper = Paper("p", "p", splits=16, printed_only=("IKL",))
    row = Published("4", "heart", "IKL", Setting(), mean, 4.0, "sd")
    found = judge_printed(
        study(
            replace(spec, source=paper),
            sample_records({("heart", "5-CV"): errors}),
            published=(row,),
        ),
        Claim("1", "lower", "", left=("IKL",), right=("5-CV",), datasets=("heart",), printed=True),
        "squared",
    )
    assert found.verdict == verdict
    assert f"significantly {significant} lower" in found.counts
    assert (found.effect.value, found.effect.interval) == (pytest.approx(mean - 20), "")
