"""Claims about approximations: differences of held-out predictions, and values at the same grid point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from synthetic import experiment, method, record, study

from kselect.core.claim import Claim
from kselect.core.method import LamGrid, Method
from kselect.core.record import Record
from kselect.report.claims.series import judge_exact, judge_near
from kselect.report.figures.discrepancy import RATE, VALUE, Discrepancy
from kselect.stats.study import Study

FOLDS = (5, 10, 20)
EXACT = Claim("6d", "exact", "", series="BIF-k-CV", order=3, figure="f")
NEAR = Claim("r", "near", "", series="BIF-k-CV", order=3)


def probed(values: Sequence[float | None], splits: int = 1) -> Study:
    """Return a study whose mean square difference at order 3 is given for heart with 5, 10 and 20 folds."""
    labels = tuple(f"{k}-CV" for k in FOLDS)
    probes = [
        Method(label, name, k, params, "f", at=label)
        for k, label in zip(FOLDS, labels, strict=True)
        for name, params in ((VALUE, (("order", 3),)), (RATE, ()))
    ]
    table = tuple(method(label, "k-CV", k) for k, label in zip(FOLDS, labels, strict=True))
    spec = experiment(
        methods=(*table, *probes),
        figures=(Discrepancy("f", labels, (1, 3), ("heart",)),),
        datasets=("heart",),
        splits=tuple(range(splits)),
        lam=LamGrid((0.1, 1.0), "select"),
        paper="",
    )
    rows = [record("heart", 0, label, 0.2, setting="selected") for label in labels]
    for m in (m for m in spec.methods_on("heart") if m.at):
        value = values[labels.index(m.label)] if m.criterion == VALUE else 0.5
        if value is not None:
            more = {"part": "f", "params": m.text, "criterion": m.criterion, "loss": ""}
            rows.append(
                replace(
                    record("heart", 0, m.label, 0.1, **more, setting="selected"),
                    error=None,
                    score=value,
                )
            )
    return study(spec, rows)


@pytest.mark.parametrize(
    ("values", "verdict", "count"),
    [
        ((9e-5, 9e-5, 1.0), "supported", 2),  # a difference of 0.95 % counts
        ((9e-5, 1e-4, 1.0), "mixed", 1),  # a difference of 1 % does not
        ((1e-4, 1e-4, 1.0), "not supported", 0),
    ],
)
def test_exactness(values: Sequence[float], verdict: str, count: int) -> None:
    found = judge_exact(probed(values), EXACT, "squared")
    assert (found.verdict, found.counts) == (verdict, f"{count} of 3 curves below 1 %")
    assert found.effect.value == pytest.approx(100 * sorted(values)[1] ** 0.5)
    assert "The largest difference at order 3 is 100 %, on heart with 20-CV" in found.text


def test_exactness_without_enough_numbers() -> None:
    few = judge_exact(probed((1e-5, None, None)), EXACT, "squared")
    assert (few.verdict, few.reason[:17]) == ("too few numbers", "Only 1 of 3 plann")
    assert judge_exact(probed((None,) * 3), EXACT, "squared").verdict == "no numbers"
    assert (
        judge_exact(probed((1e-5,) * 3), replace(EXACT, figure="g"), "squared").verdict
        == "no numbers"
    )


def scored(pairs: Sequence[tuple[float, float, bool]]) -> Study:
    """Return a study with, per number of folds, the two values and whether both chose the same grid point."""
    table = []
    rows: list[Record] = []
    for k, (mine, exact, same) in zip(FOLDS, pairs, strict=False):
        table += [method(f"BIF-{k}-CV", "BIF-k-CV", k, order=3), method(f"{k}-CV", "k-CV", k)]
        for split in (0, 1, 2):
            worse = mine + 10 * (split == 2)  # the median leaves one split out
            rows.append(record("heart", split, f"BIF-{k}-CV", 0.1, score=worse))
            point = "tau=4" if same else "tau=8"
            rows.append(record("heart", split, f"{k}-CV", 0.1, score=exact, chosen=point))
    spec = experiment(methods=tuple(table), datasets=("heart",), splits=(0, 1, 2), paper="")
    return study(spec, rows)


@pytest.mark.parametrize(
    ("pairs", "verdict", "counts"),
    [
        (
            [(1.0099, 1.0, True), (1.0, 1.0, True), (2.0, 1.0, True)],
            "supported",
            "2 of 3 within 1 %",
        ),
        ([(1.0101, 1.0, True), (1.0, 1.0, True), (2.0, 1.0, True)], "mixed", "1 of 3 within 1 %"),
        (
            [(1.02, 1.0, True), (1.1, 1.0, True), (2.0, 1.0, True)],
            "not supported",
            "0 of 3 within 1 %",
        ),
        ([(1.0, 1.0, True), (0.0, 0.0, True), (2.0, 1.0, False)], "supported", "2 of 2 within 1 %"),
        (
            [(1.0, 1.0, True), (1.0, 1.0, False), (1.0, 1.0, False)],
            "too few numbers",
            "1 of 1 within 1 %",
        ),
    ],
)
def test_nearness_at_the_same_grid_point(
    pairs: Sequence[tuple[float, float, bool]], verdict: str, counts: str
) -> None:
    found = judge_near(scored(pairs), NEAR, "squared")
    assert (found.verdict, found.counts) == (verdict, counts)
    named = replace(NEAR, series="", order=0, left=("BIF-k-CV",), right=("k-CV",), same_folds=True)
    assert judge_near(scored(pairs), named, "squared").verdict == verdict


def test_nearness_without_a_shared_point() -> None:
    assert judge_near(scored([(1.0, 1.0, False)]), NEAR, "squared").verdict == "no numbers"
    assert (
        judge_near(scored([(1.0, 1.0, True)]), replace(NEAR, order=2), "squared").verdict
        == "no numbers"
    )
