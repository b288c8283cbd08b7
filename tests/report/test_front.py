"""The front page: the board of all claims, common scales, what is missing, and one's own experiments."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
from synthetic import experiment, full_experiment, full_records, study

from kselect.core.claim import Claim, Kind
from kselect.core.method import Setting
from kselect.core.table import DASH
from kselect.report.cells import cell_keys
from kselect.report.claims.effects import Effect
from kselect.report.claims.judge import Judged
from kselect.report.claims.scope import Finding
from kselect.report.front import (
    WIDTH,
    Entry,
    Scale,
    count_verdicts,
    describe_claims,
    make_bar,
    make_entry,
    missing,
    scales,
    write_index,
)
from kselect.report.head import (
    INSTALL,
    KINDS,
    LONGEST,
    SPELLED,
    SPELT,
    count_claims,
    describe_recount,
    spell_out,
)
from kselect.report.page import write_report
from kselect.stats.distances import distances
from kselect.stats.sources import Manifest, Published

FACTS = Manifest(1, 90, 3, {"sonar": "404 & no copy"})


@pytest.fixture(scope="module")
def entry() -> Entry:
    spec = full_experiment(datasets=("heart", "sonar"), splits=(0, 1), figures=())
    found = study(spec, full_records(spec), facts=FACTS)
    return make_entry(found, "a/report.html", ("Ours takes half as long.",))


def test_a_row_per_claim_with_its_id_and_filters(tmp_path: Path, entry: Entry) -> None:
    page = write_index([entry], tmp_path / "index.html").read_text()
    rows = re.findall(r"<tr data-paper=.*?</tr>", page)
    assert len(rows) == len(entry.rows) == entry.summary.total
    first = rows[0]
    assert '<a href="a/report.html#claim-6.1a">ecml2014-6.1a</a>' in first
    assert 'data-verdict="' in first
    assert 'data-kind="lower error"' in first
    assert 'data-dataset="heart"' in first or 'data-dataset="heart|sonar"' in first
    assert 'data-method="5-KS|10-KS|5-CV|10-CV"' in first
    assert "8 or more of 9" in first
    assert "Ours takes half as long." in page
    found = count_verdicts([entry])
    assert sum(count for _, count in found) == len(rows)
    (lead,) = re.findall(
        r'<p class="summary">(This page judges \d+ claims .*?)</p>', page, re.DOTALL
    )
    assert "regularisation, from 1 paper. We repeated" in lead
    for verdict, count in found:
        assert f"{count} {verdict}" in lead
        assert page.count(f'data-verdict="{verdict}"') == count
    assert '<pre tabindex="0">kselect run ecml2014 &amp;&amp; kselect report ecml2014</pre>' in page
    assert "<cite>Preventing Over-Fitting" in page
    assert "90 jobs, 3 failed records" in page


def test_an_experiment_without_a_paper_stands_apart(tmp_path: Path, entry: Entry) -> None:
    own = make_entry(study(experiment(paper="", source=None, claims=()), []), "mine/report.html")
    page = write_index([own, entry], tmp_path / "index.html").read_text()
    papers, others = page.split('<section id="own">')
    assert "mine/report.html" in others
    assert "mine/report.html" not in papers
    assert "a/report.html" in papers
    assert "a/report.html" not in others


def test_a_row_per_published_number_with_a_link_to_its_cell(tmp_path: Path) -> None:
    """A number that we lack has a dash and no link; the address is the key of the cell on the page."""
    spec = full_experiment(datasets=("heart",), splits=(0, 1), figures=())
    setting = Setting(value=0.001)
    printed = (
        Published("1", "heart", "5-CV", setting, 17.0, 2.0, "sd"),
        Published("2", "sonar", "5-CV", setting, 17.0, 2.0, "se"),
    )
    found = study(spec, full_records(spec), published=printed)
    entry = make_entry(found, "a/report.html")
    ours, absent = entry.numbers
    distance, _ = distances(found, spec.loss)
    key = cell_keys(found, spec.loss)[distance.setting, "heart", "5-CV"]
    assert ours.href == f"a/report.html#cell={key}"
    assert ours.apart == f"{distance.errors:+.1f}"
    assert ours.ours.startswith(f"{distance.mean:.2f} ± ")
    assert (ours.block, ours.published, ours.table) == ("λ = 0.001", "17.00 ± 2.00", "1")
    assert (absent.ours, absent.href, absent.apart) == (DASH, "", DASH)
    assert absent.published == "17.00 ± 2.00 (se)"
    page = write_index([entry], tmp_path / "index.html").read_text()
    assert f'<a href="a/report.html#cell={key}">{ours.ours}</a>' in page
    assert "<summary><span>2</span> published test errors next to ours</summary>" in page
    report = write_report(found, tmp_path / "a")[-1].read_text()
    assert report.count(f'id="cell={key}"') == 1


def test_no_published_number_is_rounded() -> None:
    """All error rates have the decimals of the most exact one."""
    spec = full_experiment(datasets=("heart",), splits=(0, 1), figures=())
    setting = Setting(value=0.001)
    printed = tuple(
        Published("1", "heart", method, setting, mean, 0.5, "se")
        for method, mean in (("5-CV", 26.753), ("BR", 27.0))
    )
    entry = make_entry(study(spec, full_records(spec), published=printed), "a/report.html")
    assert [n.published for n in entry.numbers] == ["26.753 ± 0.500 (se)", "27.000 ± 0.500 (se)"]


def test_how_many_printed_cells_are_legible() -> None:
    """Methods and data sets that are not in the paper's table do not count."""
    spec = full_experiment(datasets=("heart", "sonar", "australian"), splits=(0, 1), figures=())
    settings = len(study(spec, full_records(spec)).comparison(spec.loss).cells)
    places = [("heart", "5-CV"), ("heart", "10-CV"), ("sonar", "5-CV")]
    printed = tuple(Published("1", d, m, Setting(value=0.001), 17.0, 2.0, "sd") for d, m in places)
    some = make_entry(study(spec, full_records(spec), published=printed), "a/report.html")
    assert some.printed.startswith(f"Of {spec.name}, 3 of {4 * settings} cells are legible")
    none = make_entry(study(spec, full_records(spec)), "a/report.html")
    assert none.printed.startswith(f"No table of {spec.name} is legible")
    own = replace(spec, paper="", source=None, claims=())
    assert not make_entry(study(own, full_records(own)), "a/report.html").printed


def test_no_look_up_without_published_numbers(tmp_path: Path, entry: Entry) -> None:
    page = write_index([entry], tmp_path / "index.html").read_text()
    assert 'id="numbers"' not in page
    assert 'href="#numbers"' not in page


def test_no_experiment(tmp_path: Path) -> None:
    page = write_index([], tmp_path / "index.html").read_text()
    assert "No experiment has a report yet." in page
    assert "<table" not in page


def test_what_is_missing(tmp_path: Path) -> None:
    spec = full_experiment(datasets=("heart", "sonar"), splits=(0, 1), figures=())
    found = study(spec, full_records(spec, absent=("sonar",)), facts=FACTS)
    lines = missing(found)
    assert lines[0] == "No data for sonar: 404 & no copy."
    assert "2 splits; the paper has 10." in lines
    assert any(line.startswith("Incomplete: ") for line in lines)
    page = write_index([make_entry(found, "a/report.html")], tmp_path / "index.html").read_text()
    assert "3 failed records; reconstructed criteria: EP</p>" in page


def test_a_data_set_that_takes_the_place_of_another_is_named() -> None:
    spec = full_experiment(datasets=("ringnorm", "ringnorm-generated"), splits=(0,), figures=())
    found = study(spec, [], facts=FACTS)
    found.absent = {"ringnorm": "no file."}
    assert missing(found)[0] == "No data for ringnorm: no file; ringnorm-generated takes its place."


def test_whose_claims_the_page_judges(entry: Entry) -> None:
    own = replace(entry, paper=None)
    few = replace(own, rows=own.rows[:1])
    subject = "about how to select a kernel and its regularisation"
    count = len(entry.rows)
    assert describe_claims([entry, entry]) == (
        f"This page judges {2 * count} claims {subject}, from 2 papers"
    )
    assert describe_claims([few]) == f"This page judges 1 claim {subject}, all of them our own"
    assert describe_claims([entry, few]) == (
        f"This page judges {count + 1} claims {subject}: {count} from 1 paper, and 1 of our own"
    )


def test_a_bar_shows_counts(tmp_path: Path) -> None:
    """Its parts follow each other, and the page says what it shows in words."""
    assert make_bar([("supported", 1), ("mixed", 3)]) == [
        ("supported", 0.0, 25.0),
        ("mixed", 25.0, 75.0),
    ]
    spec = full_experiment(datasets=("heart",), splits=(0, 1), figures=())
    printed = tuple(
        Published("1", "heart", m, Setting(value=0.001), mean, 2.0, "sd")
        for m, mean in (("5-CV", 17.0), ("10-CV", 90.0))
    )
    entry = make_entry(study(spec, full_records(spec), published=printed), "a/report.html")
    assert sum(count for _, count in entry.agreements) == 2
    page = write_index([entry], tmp_path / "index.html").read_text()
    for name, count in entry.agreements[1:]:
        assert f'{count} {"is" if count == 1 else "are"} <span class="' in page
        assert f'<rect class="{name.replace(" ", "-")}"' in page
    assert page.count('<svg class="bar"') == 2  # of the verdicts, and of the published cells


def test_the_page_says_how_to_install_and_how_long_a_run_takes(
    tmp_path: Path, entry: Entry
) -> None:
    page = write_index([entry], tmp_path / "index.html").read_text()
    assert INSTALL in page
    assert "each in one process" not in page
    page = write_index([replace(entry, took="5 min")], tmp_path / "index.html").read_text()
    assert "each in one process: ecml2014 5 min." in page


def test_a_scale_is_symmetric_and_grows_with_the_effect() -> None:
    points = Scale("points", 9.0)
    assert points.place(0) == WIDTH / 2
    assert points.place(9) - WIDTH / 2 == WIDTH / 2 - points.place(-9)
    places = [points.place(x) for x in (-9, -1, 0, 0.1, 4, 9)]
    assert places == sorted(set(places))
    assert points.ends == "-9 to 9"
    times = Scale("times as fast", math.log(4))
    assert times.place(1) == WIDTH / 2
    assert times.place(4) - WIDTH / 2 == WIDTH / 2 - times.place(0.25)
    assert times.ends == "0.25 to 4"


def test_a_unit_has_one_scale_that_reaches_every_interval(entry: Entry) -> None:
    found = scales([entry])
    points = found["points"]
    effects = [row.judged.finding.effect for row in entry.rows]
    for effect in (e for e in effects if e.unit == "points"):
        drawn = points.draw(effect)
        for place in (drawn.dot, *(drawn.ends or ())):
            assert 0 <= place <= WIDTH
    assert points.draw(Effect(1.0, unit="points")).ends is None


def test_the_summary_counts_every_claim_once(entry: Entry) -> None:
    """Each verdict has its claims once: in words, or as a link below the words of its kind."""
    summary = entry.summary
    assert summary.lead == f"{summary.supported} of {summary.total} claims are supported."
    assert sum(len(one.claims) for one in summary.groups) == summary.total
    for one in summary.groups:
        linked = [j.claim.id for _, mine in one.rest for j in mine]
        found = [j.claim.id for j in one.spelled] + linked
        assert sorted(found) == sorted(j.claim.id for j in one.claims)
        assert len(one.spelled) == (min(SPELT, len(one.claims)) if one.verdict in SPELLED else 0)


def claim(name: str, kind: Kind, text: str = "a claim of few words") -> Judged:
    return Judged(Claim(name, kind, text), "", "", Finding("not supported"))


def test_main_claims_then_other_kinds_are_spelled_out() -> None:
    """A long text is spelled out only if its claim is a main one."""
    long = " ".join(["word"] * (LONGEST + 1))
    claims = (
        claim("a", "lower"),
        claim("b", "lower"),
        claim("c", "same"),
        claim("d", "near", long),
    )
    names = lambda main: [j.claim.id for j in spell_out(claims, main)]  # noqa: E731
    assert names(()) == ["a", "c"]
    assert names(("b",)) == ["b", "c"]
    assert names(("d",)) == ["d", "a"]
    assert names(("a", "b", "d")) == ["a", "b", "d"]
    assert [j.claim.id for j in spell_out(claims[:2], ())] == ["a", "b"]


def test_a_summary_links_to_few_kinds() -> None:
    """Claims without a judgement are not spelled out; further kinds are counted."""
    kinds = ("near", "lower", "same", "exact", "robust", "robust", "higher")
    found = tuple(claim(str(i), kind) for i, kind in enumerate(kinds))
    one = count_claims("no numbers", "without numbers", found, ())
    assert one.spelled == ()
    assert [len(mine) for _, mine in one.rest] == [1] * KINDS
    assert one.hidden == 3


def test_failed_claims_are_as_visible_as_supported_ones(tmp_path: Path, entry: Entry) -> None:
    """The card and the page write the main claim in words with its verdict; the rest are links with a title."""
    page = write_index([entry], tmp_path / "index.html").read_text()
    found = re.search(r'<ul class="verdicts">.*?</ul>', page, re.DOTALL)
    assert found
    for one in entry.summary.groups:
        assert f"{len(one.claims)} {one.words}</span>: " in found[0]
        for j in one.spelled:
            assert f'#claim-{j.claim.id}">{j.claim.text}</a>' in found[0]
        for kind, mine in one.rest:
            title = (
                f'#claim-{mine[0].claim.id}" title="{mine[0].claim.text}">{mine[0].claim.id}</a>'
            )
            assert f"{kind} (" in found[0]
            assert title in found[0]
    (main,) = [g for g in entry.summary.groups if any(j.claim.id == "6.1a" for j in g.spelled)]
    assert main.spelled[0].claim.id == "6.1a"


def test_the_summary_mentions_how_the_paper_counts() -> None:
    quick = replace(claim("t", "cheaper"), finding=Finding("not supported", recount="13 of 17"))
    assert describe_recount([claim("a", "lower")]) == ""
    assert describe_recount([quick, claim("a", "lower")]).endswith("claimed factors: 13 of 17 (t).")


def test_the_board_says_on_which_side_a_claim_holds(tmp_path: Path, entry: Entry) -> None:
    """The limits of the scales are folded away."""
    page = write_index([entry], tmp_path / "index.html").read_text()
    lead, _, folded = page.partition("<summary>The scales of the drawings</summary>")
    assert "holds to the left of it" in lead
    assert "square root" not in page
    for scale in scales([entry]).values():
        assert f"<li>{scale.unit}: {scale.ends}</li>" in folded
        assert scale.ends not in lead
