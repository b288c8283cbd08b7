"""The front page: the board of all claims, common scales, what is missing, and one's own experiments."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from synthetic import experiment, full_experiment, full_records, study

from kselect.core.method import Setting
from kselect.core.table import DASH
from kselect.report.cells import cell_keys
from kselect.report.claims.effects import Effect
from kselect.report.front import (
    WIDTH,
    Entry,
    Scale,
    count_verdicts,
    make_entry,
    missing,
    scales,
    write_index,
)
from kselect.report.head import PHRASES
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
        r'<p class="summary">(\d+ claims of 1 experiment .*?)</p>', page, re.DOTALL
    )
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
    assert (ours.block, ours.published, ours.table) == ("λ = 0.001", "17 ± 2", "1")
    assert (absent.ours, absent.href, absent.apart) == (DASH, "", DASH)
    assert absent.published == "17 ± 2 (se)"
    page = write_index([entry], tmp_path / "index.html").read_text()
    assert f'<a href="a/report.html#cell={key}">{ours.ours}</a>' in page
    assert "All 2 published test errors next to ours" in page
    report = write_report(found, tmp_path / "a")[-1].read_text()
    assert report.count(f'id="cell={key}"') == 1


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
    assert "<p>Reconstructed criteria: EP.</p>" in page


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
    summary = entry.summary
    assert summary.supported + sum(len(o.claims) for o in summary.others) == summary.total
    assert summary.lead.startswith(f"{summary.supported} of {summary.total} claims ")
    assert {o.verdict for o in summary.others} <= set(PHRASES)
    spelt = summary.lead.partition(": ")[2].split("; ")
    assert len([text for text in spelt if text]) + len(summary.more) == summary.supported
