"""Claims about a range of a parameter, on curves of three values."""

from __future__ import annotations

from dataclasses import replace

import pytest
from synthetic import experiment, method, sample_records, study

from kselect.core.claim import Claim
from kselect.report.claims.sweeps import judge_range
from kselect.report.figures.sweep import Sweep
from kselect.stats.study import Study

VALUES = (0.25, 1.0, 4.0)
ROBUST = Claim(
    "1", "robust", "", method=("5-KS",), parameter="eta", range=(0.25, 1.0), figure="eta-sweep"
)
GOOD = replace(ROBUST, kind="good range")
BASE = (0.2, 0.3, 0.4)


def curves(*points: tuple[float, float, float], splits: int = 3) -> Study:
    """Return a study with one curve per data set: what is added to the errors at each value, in points."""
    names = ("heart", "sonar", "a2a")[: len(points)]
    base = method("5-KS", "k-KS", 5, eta=1.0, loss="squared")
    swept = [replace(base.with_params(eta=v), part="eta-sweep", lam=0.001) for v in VALUES]
    figure = Sweep("eta-sweep", ("5-KS",), "eta", VALUES, 0.001)
    spec = experiment(
        methods=(base, *swept),
        datasets=names,
        splits=tuple(range(splits)),
        figures=(figure,),
        paper="",
    )
    records = [
        r
        for name, added in zip(names, points, strict=True)
        for m, more in zip(swept, added, strict=True)
        for r in sample_records(
            {(name, "5-KS"): tuple(e + more / 100 for e in BASE)}, part="eta-sweep", params=m.text
        )
    ]
    return study(spec, records)


@pytest.mark.parametrize(
    ("points", "robust", "good"),
    [
        (((0, 0, 9), (0, 0, 9), (5, 0, 0)), "supported", "supported"),
        (((0, 0, 9), (5, 0, 9), (5, 0, 0)), "mixed", "supported"),
        (((5, 0, 9), (5, 0, 9), (5, 0, 0)), "not supported", "supported"),
        (((5, 4, 0), (5, 0, 9), (5, 4, 0)), "not supported", "mixed"),
        (((5, 4, 0), (5, 4, 0), (5, 4, 0)), "not supported", "not supported"),
    ],
)
def test_verdicts(points: tuple[tuple[float, float, float], ...], robust: str, good: str) -> None:
    found = curves(*points)
    assert [judge_range(found, c, "squared").verdict for c in (ROBUST, GOOD)] == [robust, good]


def test_the_effects_are_distances_to_the_best_of_the_sweep() -> None:
    """The worst of the range is 5, 6 and 1 points above; the best of it 4, 0 and 1 points."""
    found = curves((5, 4, 0), (6, 0, 9), (1, 1, 0))
    robust, good = (judge_range(found, c, "squared") for c in (ROBUST, GOOD))
    assert (robust.effect.value, good.effect.value) == (pytest.approx(5), pytest.approx(1))
    assert (
        robust.counts
        == "on 1 of 3 curves every value of the range is as good as its best (not significantly worse)"
    )
    best = "the best of the range is as good as the best of the sweep (not significantly worse)"
    assert good.counts == f"on 1 of 3 curves {best}"
    assert robust.text == (
        "Significantly worse than the best of the range: eta = 2^-2 on 2 of 3 curves."
    )
    assert good.text == ""
    assert robust.table is not None
    assert robust.table.rows[0][-2:] == ("eta = 2^-2", "no")


def test_a_sweep_that_is_absent_or_not_finished() -> None:
    found = curves((0, 0, 0), splits=7)
    assert judge_range(found, ROBUST, "squared").verdict == "too few numbers"
    assert judge_range(found, replace(ROBUST, figure="x"), "squared").verdict == "no numbers"
    assert (
        judge_range(curves((0, 0, 0)), replace(ROBUST, parameter="c"), "squared").verdict
        == "no numbers"
    )
    other = judge_range(curves((0, 0, 0)), replace(ROBUST, method=("10-KS",)), "squared")
    assert other.verdict == "no numbers"
