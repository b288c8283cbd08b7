"""All claims of a study under every reading and loss, and the sections that show them."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from synthetic import experiment, full_experiment, full_records, method, sample_records, study

from kselect.core.claim import Claim
from kselect.core.experiment import Experiment, Variant
from kselect.report.claims.judge import judge_claims, judge_others
from kselect.report.claims.rules import KIND_WORDS, RULES
from kselect.report.elements import Details, File, Heading, Paragraph, Passage
from kselect.report.front import make_entry, write_index
from kselect.report.page import write_report
from kselect.report.sections.claims import show
from kselect.report.sections.published import show_sensitivity
from kselect.stats.study import Study

LOWER = Claim(
    "1a", "lower", "k-KS is better", of="1", paper_counts="9 of 9", left=("k-KS",), right=("k-CV",)
)
UNTESTED = Claim(
    "2", "varies less", "Widths vary less", untested="The paper does not name the features."
)
SLOW = Claim("3", "cheaper", "k-KS is faster", left=("k-KS",), right=("k-CV",))
CLAIMS = (LOWER, UNTESTED, SLOW)
RECORDS = sample_records(
    {
        ("heart", "5-CV"): (0.1, 0.2),
        ("heart", "5-KS"): (0.2, 0.3),
        ("sonar", "5-CV"): (0.1, 0.2),
        ("sonar", "5-KS"): (0.1, 0.21),
    }
)


def made(**changes: Any) -> Study:
    """Return a study with three claims and one variant, in which 5-KS has another label and is better."""
    spec = experiment(splits=(0, 1), claims=CLAIMS, paper="", source=None, **changes)
    other = replace(
        spec,
        methods=(spec.methods[0], method("5-KS(eta=4)", "k-KS", 5, eta=4.0, loss="squared")),
        claims=(),
    )
    better = sample_records({("heart", "5-CV"): (0.2, 0.3), ("heart", "5-KS(eta=4)"): (0.1, 0.2)})
    better += sample_records({("sonar", "5-CV"): (0.2, 0.3), ("sonar", "5-KS(eta=4)"): (0.1, 0.1)})
    spec = replace(
        spec, variants=(Variant("eta-4", "eta 4", title="eta = 4"), Variant("later", "seed 2"))
    )
    return Study(spec, RECORDS, variants={"eta-4": study(other, better)})


def test_one_row_per_claim_in_the_main_reading() -> None:
    found = judge_claims(made())
    assert [(j.claim.id, j.variant, j.loss, j.finding.verdict) for j in found] == [
        ("1a", "", "", "not supported"),
        ("2", "", "", "not tested here"),
        ("3", "", "", "no numbers"),
    ]
    assert found[1].finding.reason == UNTESTED.untested


def test_variants_are_judged_by_the_main_claims_where_they_have_numbers() -> None:
    (only,) = judge_others(made())
    assert (only.claim, only.variant, only.loss) == (LOWER, "eta-4", "")
    assert (only.finding.verdict, only.finding.effect.value) == ("supported", -12.5)


def losses_of(spec: Experiment) -> list[tuple[str, str]]:
    return [(j.claim.id, j.loss) for j in judge_others(study(spec, full_records(spec)))]


def test_other_losses_have_rows_if_they_change_the_numbers() -> None:
    """BR and ELOO average no loss, and the figure of the sweep has the main loss only."""
    spec = full_experiment(datasets=("heart", "sonar"), splits=(0, 1, 2))
    plain = Claim("b", "same", "", left=("BR",), right=("ELOO",))
    swept = next(c for c in spec.claims if c.kind == "robust")
    assert losses_of(replace(spec, claims=(plain, LOWER, swept))) == [("1a", "zero-one")]
    regression = replace(spec, claims=(LOWER,), datasets=("mpg", "mg"), figures=())
    assert losses_of(regression) == []


def test_the_section_shows_every_claim_and_writes_every_row() -> None:
    items = list(show(made()))
    files = {i.name: str(i.content) for i in items if isinstance(i, File)}
    rows = list(csv.DictReader(io.StringIO(files["tables/claims.csv"])))
    assert list(rows[0]) == [
        *("id", "of", "claim", "kind", "verdict", "effect", "low", "high", "unit"),
        *("counts", "paper_counts", "variant", "loss", "reason", "notes"),
    ]
    assert [(r["id"], r["of"], r["variant"]) for r in rows] == [
        ("1a", "1", ""),
        ("2", "2", ""),
        ("3", "3", ""),
        ("1a", "1", "eta-4"),
    ]
    assert (rows[0]["effect"], rows[0]["unit"], rows[0]["paper_counts"]) == (
        "5.25",
        "points",
        "9 of 9",
    )
    assert rows[1]["reason"] == UNTESTED.untested
    assert "k-KS is better" in files["tables/claims.tex"]
    shown = [
        i.elements
        for i in items
        if isinstance(i, Passage) and isinstance(i.elements[0], Heading) and i.file
    ]
    heading, verdict, paper, details = shown[1]
    assert isinstance(heading, Heading)
    assert heading.text == "1a: k-KS is better"
    assert isinstance(verdict, Paragraph)
    assert verdict.verdict == "not supported"
    assert verdict.text.startswith("Test error of k-KS minus that of k-CV: 5.25 points (95 %")
    assert isinstance(paper, Paragraph)
    assert (paper.text, paper.soft) == ("The paper: 9 of 9.", True)
    assert isinstance(details, Details)
    rule, _, others = details.elements
    assert isinstance(rule, Paragraph)
    assert rule.text.startswith("The rule. Supported: a lower mean error in more than half")
    assert others.rows[0][:3] == ("eta = 4", "squared", "supported")  # type: ignore[union-attr]
    assert len(shown[2]) == 2  # a claim that is not tested here has no rule


def test_the_page_has_one_list_of_claims_that_leads_to_each(tmp_path: Path) -> None:
    """The table has the sentences; the folded parts have an id and a verdict, and the sentence inside."""
    page = write_report(made(), tmp_path)[-1].read_text()
    assert page.count('<a href="#claim-1a">1a</a>') == 1
    assert page.count('id="claim-1a"') == 1
    summaries = re.findall(r"<summary>(.*?)</summary>", page)
    assert not any("k-KS is better" in text for text in summaries)
    assert '<td class="left"><code>eta-4</code></td>' in page  # commands need the name
    assert "<p>1a: k-KS is better.</p>" in page.split('id="claim-1a"')[1]


def test_qualifiers_stand_next_to_the_verdict(tmp_path: Path) -> None:
    """On the page below the verdict, in files after the counts, and on the board of the front page."""
    same = Claim("4", "same", "Both are alike", left=("k-KS",), right=("k-CV",))
    found = made()
    found = Study(replace(found.experiment, claims=(same,)), RECORDS)
    note = "significantly different on 50 % of the comparisons; supported up to 20 %, not supported above 50 %"
    assert judge_claims(found)[0].finding.notes == (note,)
    write_report(found, tmp_path)
    page = (tmp_path / "report.html").read_text()
    shown = note.replace(" %", "\N{NO-BREAK SPACE}%")
    below = f'mixed</span><span class="beside">{shown}</span></td>'
    assert below in page
    assert f"1 higher; {note}" in (tmp_path / "tables/claims.md").read_text()
    rows = csv.DictReader((tmp_path / "tables/claims.csv").read_text().splitlines())
    assert [row["notes"] for row in rows] == [note]
    board = write_index([make_entry(found, "x")], tmp_path / "index.html").read_text()
    assert below in board


def test_the_interval_stands_below_the_effect(tmp_path: Path) -> None:
    """On the page they share a column, so that the table fits a screen; files have a column each."""
    page = write_report(made(), tmp_path)[-1].read_text()
    effect = judge_claims(made())[0].finding.effect
    shown = f'<td class="amount">{effect.text} <span class="sd">({effect.interval})</span></td>'
    assert shown in page
    text = (tmp_path / "tables/claims.md").read_text()
    assert re.search(r"\| +effect +\| +95 % interval +\|", text)


def test_every_kind_of_claim_has_words() -> None:
    assert set(KIND_WORDS) == set(RULES)
    assert len(set(KIND_WORDS.values())) == len(RULES)


def test_an_experiment_without_claims() -> None:
    bare = experiment(paper="", source=None, claims=())
    assert list(show(study(bare, RECORDS))) == []
    named = replace(bare, paper="ecml2014")
    (_, passage) = show(study(named, RECORDS))
    assert isinstance(passage, Passage)
    assert passage.elements == (Paragraph("No claim of this paper is recorded."),)


def test_the_index_page_has_the_main_verdicts() -> None:
    rows = make_entry(made(), "x").rows
    assert tuple((row.judged.claim.text, row.judged.finding.verdict) for row in rows) == (
        ("k-KS is better", "not supported"),
        ("Widths vary less", "not tested here"),
        ("k-KS is faster", "no numbers"),
    )


def test_the_sensitivity_table_has_a_verdict_per_claim_and_reading() -> None:
    items = list(show_sensitivity(made()))
    text = {i.name: str(i.content) for i in items if isinstance(i, File)}
    rows = list(csv.DictReader(io.StringIO(text["tables/sensitivity.csv"])))
    assert [(r["variant"], r["claim"], r["verdict"], r["effect"]) for r in rows] == [
        ("", "1a", "not supported", "5.25"),
        ("", "3", "no numbers", ""),
        ("eta-4", "1a", "supported", "-12.5"),
    ]
    shown = text["tables/sensitivity.md"]
    assert "| claim | as configured | eta = 4   |" in shown
    assert "| 1a    | not supported | supported |" in shown
    assert "| eta = 4       | eta-4   | eta 4   |" in shown  # commands need the name
    last = items[-1]
    assert isinstance(last, Passage)
    assert "Not run: later" in str(last.elements)
