"""Claims about ranks: the paper's printed numbers as records give the paper's verdicts."""

from __future__ import annotations

import pytest
from printed_flkl import paper, printed

from kselect.core.claim import Claim
from kselect.report.claims.ranks import judge_pool
from kselect.stats.study import Study

STUDY = printed()
CLAIMS = {c.id: c for c in STUDY.experiment.claims}
LOSS = "squared"


def verdict(claim: str, study: Study = STUDY) -> str:
    return judge_pool(study, CLAIMS[claim], LOSS).verdict


def test_printed_ranks_give_the_papers_verdicts() -> None:
    ids = ("3.2-1", "3.2-2", "3.3-1", "3.3-2", "3.3-3", "3.5-2", "3.5")
    assert {i: verdict(i) for i in ids} == dict.fromkeys(ids, "supported")
    assert verdict("3.6-1") == "no numbers"  # the paper prints nothing for ARD-BR


def test_the_difference_stands_next_to_nemenyis() -> None:
    found = judge_pool(STUDY, CLAIMS["3.3-2"], LOSS)
    assert found.effect.value == pytest.approx(1.214 - 2.143, abs=1e-3)
    assert found.effect.unit == "ranks (critical difference 0.78)"
    assert found.counts == "-1.43 to ARD-LOO; -0.93 to ARD-XVAL"
    assert found.effect.interval == ""


def test_other_ranks_give_other_verdicts() -> None:
    study = printed({"ARD-FLKL": 20.0, "RBF-FLKL": 9.0})
    assert verdict("3.3-2", study) == "not supported"
    assert verdict("3.3-3", study) == "not supported"
    assert verdict("3.2-1", study) == "not supported"
    assert verdict("3.5", study) == "mixed"  # after RBF-XVAL, not after RBF-FLKL


def test_a_pool_with_printed_columns() -> None:
    """MKL and IKL are ranked with ours by their printed means, without synthetic, which they lack."""
    found = judge_pool(STUDY, CLAIMS["3.7"], LOSS)
    assert (found.verdict, found.counts) == ("supported", "13 data sets, 4 methods")
    assert found.table is not None
    assert {row[0]: row[2] for row in found.table.rows} == {
        "RBF-XVAL": "ours",
        "ARD-FLKL": "ours",
        "MKL-separate": "printed",
        "IKL-products": "printed",
    }
    assert found.effect.unit.startswith("(F, p = 0.")


def test_without_numbers() -> None:
    spec, rows = paper()
    assert verdict("3.3-2", Study(spec, (), rows)) == "no numbers"
    unknown = Claim("x", "best rank", "", left=("RBF-LOO",), pool=("RBF-LOO", "nobody"))
    assert judge_pool(STUDY, unknown, LOSS).verdict == "no numbers"
