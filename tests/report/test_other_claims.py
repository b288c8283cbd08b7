"""The paper's printed numbers, used as records, give the paper's verdicts."""

from __future__ import annotations

import re

from printed_flkl import paper, printed, row

from kselect.report.page import index_entry
from kselect.report.sections.other_claims import judge_ranks, judge_spreads
from kselect.stats.diagnostics import endings
from kselect.stats.study import Study


def test_published_ranks_give_the_papers_verdicts() -> None:
    found = {v.claim: v for v in judge_ranks(printed())}
    assert [v.verdict for v in found.values()] == [
        "supported",
        "supported",
        "supported",
        "no numbers",
    ]
    first = found["With ARD, FLKL ranks before LOO and XVAL"]
    assert re.findall(r"\b\d\.\d\d(?=[,.] )", first.text)[:3] == ["1.21", "2.64", "2.14"]
    assert first.text.endswith("critical difference is 0.78.")


def test_all_verdicts_are_on_the_index_page() -> None:
    study = printed()
    judged = (*judge_ranks(study), *judge_spreads(study))
    expected = [(found.claim, found.verdict) for found in judged]
    assert {verdict for _, verdict in expected} == {"supported", "no numbers"}
    assert index_entry(study, "flkl2014/report.html").verdicts == tuple(expected)


def test_other_ranks_give_other_verdicts() -> None:
    verdicts = [v.verdict for v in judge_ranks(printed({"ARD-FLKL": 20.0, "RBF-FLKL": 9.0}))]
    assert verdicts == ["not supported", "not supported", "mixed", "no numbers"]


def test_verdicts_without_numbers() -> None:
    spec, rows = paper()
    empty = Study(spec, (), rows)
    assert {v.verdict for v in judge_ranks(empty)} == {"no numbers"}
    assert {v.verdict for v in judge_spreads(empty)} == {"no numbers"}
    few = Study(spec, [row("heart", 0, "ARD-FLKL", 17.0, "theta1=1")], rows)
    assert {v.verdict for v in judge_ranks(few)} <= {"no numbers", "too few numbers"}


def test_spreads() -> None:
    """FLKL's widths vary less, and its third feature has a zero width."""
    variation, suppression = judge_spreads(printed())
    assert (variation.verdict, suppression.verdict) == ("supported", "supported")
    assert re.findall(r"(\w+) [\d.]+ against", variation.text) == ["twonorm", "thyroid", "splice"]


def test_endings_count_searches_that_did_not_converge() -> None:
    found = {e.method: e for e in endings(printed())}
    assert found["ARD-FLKL"].states == (("converged", 14), ("iteration limit", 14))
    assert found["ARD-FLKL"].zeros == 0.25
    assert found["ARD-FLKL"].held == 1.0
