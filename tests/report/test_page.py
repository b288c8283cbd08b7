"""A whole report: its files, its contents, and the same bytes each time."""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from synthetic import (
    experiment,
    full_experiment,
    full_records,
    record,
    regression_experiment,
    sample_records,
    study,
)

from kselect.core.experiment import Experiment
from kselect.core.method import Setting
from kselect.core.record import Record
from kselect.report.elements import Paragraph, Passage
from kselect.report.head import INSTALL, facts, make_head
from kselect.report.page import CHAPTERS, write_page, write_report
from kselect.stats.sources import DataFile, Manifest, Published, read_facts
from kselect.stats.study import Study

REASON = "404 from sonar_scale & no copy, 100 % lost"
FACTS = Manifest(1, 90, 3, {"sonar": REASON}, (), (DataFile("heart", "<b>", "0123abc"),))
REBUILT = "rebuilt from its description"
DOCUMENT = r"\documentclass[a4paper]{article}\usepackage{booktabs,graphicx}\begin{document}%s\end{document}"
LAM = Setting(value=0.001)
TIMES = "\N{MULTIPLICATION SIGN}"
THEIRS = (
    Published("1", "heart", "5-CV", LAM, 17.0, 2.0, "sd"),
    Published("1", "heart", "EP", LAM, 17.83, 6.1, "sd"),
    Published("1", "sonar", "BR", LAM, 12.9, 4.9, "sd"),
)
TABLES = ("table1", "published", "edges")
FIGURES = (
    *("eta-sweep", "eta-sweep-errors", "published-and-ours"),
    *("choices", "choices-zero-one"),
)
# A small experiment with every element of a report.
FEW = {"datasets": ("heart", "sonar", "a2a"), "splits": (0, 1)}


def report(folder: Path, spec: Experiment, records: Sequence[Record]) -> list[Path]:
    return write_report(study(spec, records, published=THEIRS, facts=FACTS), folder)


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("full")
    spec = full_experiment()
    report(folder, spec, full_records(spec))
    return folder


def test_the_files(full: Path) -> None:
    found = {str(p.relative_to(full)) for p in full.rglob("*") if p.is_file()}
    tables = {*TABLES, *(f"{t}-zero-one" for t in TABLES)}
    assert found == {
        *(f"tables/{t}.{kind}" for t in tables for kind in ("csv", "tex", "md")),
        *(f"figures/{name}.{kind}" for name in FIGURES for kind in ("pdf", "png", "svg")),
        *(f"figures/{name}-narrow.{kind}" for name in FIGURES for kind in ("pdf", "svg")),
        *(f"tables/{name}.csv" for name in ("choices", "choices-zero-one", "eta-sweep")),
        *(f"report-data/{name}.js" for name in data_names()),
        *(f"tables/claims.{kind}" for kind in ("csv", "tex", "md")),
        *("tables/table1-pairs.csv", "tables/table1-zero-one-pairs.csv", "report.html"),
    }


def data_names() -> list[str]:
    """Return a name per loss and data set with records."""
    spec = full_experiment()
    return [f"{loss}-{d}" for loss in spec.losses for d in spec.datasets if d != "sonar"]


@pytest.mark.usefixtures("no_pictures")
def test_an_experiment_without_a_paper_has_no_chapters_about_one(tmp_path: Path) -> None:
    """The page has no chapters of claims and published numbers."""
    two = tuple(m for m in full_experiment().methods if m.label in ("10-CV", "ELOO"))
    spec = full_experiment(**FEW, paper="", methods=two, figures=())
    report(tmp_path, spec, full_records(spec))
    page = (tmp_path / "report.html").read_text()
    assert "Claims and verdicts" not in page
    assert "Published and ours" not in page


@pytest.mark.usefixtures("pictures_alone")
def test_two_reports_are_the_same_bytes_and_the_paths_are_returned(tmp_path: Path) -> None:
    spec = full_experiment(**FEW)
    records = full_records(spec)
    first, second = (report(tmp_path / name, spec, records) for name in "ab")
    for a, b in zip(first, second, strict=True):
        assert a.read_bytes() == b.read_bytes(), a.name
    assert len(first) == 34 + 10 + 4 + 5 + 3


def test_figure_files_have_one_page_and_no_date(full: Path) -> None:
    pdf, png = ((full / "figures" / f"eta-sweep.{k}").read_bytes() for k in ("pdf", "png"))
    assert pdf.startswith(b"%PDF")
    assert re.search(rb"/Type /Pages.*?/Count 1\b", pdf, re.DOTALL) or b"/Count 1" in pdf
    assert b"CreationDate" not in pdf
    assert png.startswith(b"\x89PNG")
    assert b"Software" not in png


def test_the_csv_is_tidy(full: Path) -> None:
    with (full / "tables/table1.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 9 * 7 * 4
    assert {r["setting"] for r in rows} == {"lam=0.0001", "lam=0.001", "lam=0.01", "lam=0.1"}
    sonar = [r for r in rows if r["dataset"] == "sonar"]
    assert {(r["mean"], r["runs"], r["missing"], r["best"]) for r in sonar} == {("", "0", "10", "")}
    br = next(r for r in rows if (r["dataset"], r["method"]) == ("a2a", "BR"))
    assert (br["runs"], br["failures"], br["unit"]) == ("7", "3", "%")
    for r in rows:
        if r["p_value"] and r["best"] == "false":
            assert r["not_worse"] == str(float(r["p_value"]) >= 0.05).lower()


@pytest.mark.parametrize("kind", ["tex", "md"])
@pytest.mark.parametrize("name", ["table1", "table1-zero-one", "published", "published-zero-one"])
def test_every_table_describes_its_protocol(full: Path, name: str, kind: str) -> None:
    text = (full / "tables" / f"{name}.{kind}").read_text()
    loss = "zero-one" if "zero-one" in name else "squared"
    for words in ("LSSVM", "z-scored", "10 random splits", f"the {loss} loss", REBUILT):
        assert words in text
    assert ("EP$^{\\dagger}$" if kind == "tex" else "EP†") in text


def test_missing_data_sets_are_reported(full: Path) -> None:
    markdown = (full / "tables/table1.md").read_text()
    assert re.search(r"\| sonar +\|( +\u2013 \|){7}", markdown)
    assert "No data for sonar: 404 from sonar\\_scale & no copy, 100 % lost." in markdown
    assert r"sonar\_scale \& no copy, 100 \% lost" in (full / "tables/table1.tex").read_text()


def test_marks_in_latex_and_markdown(full: Path) -> None:
    tex, markdown = ((full / f"tables/table1.{k}").read_text() for k in ("tex", "md"))
    for row in re.findall(r"^heart .*$", tex, re.MULTILINE):
        assert row.count(r"\textbf") == 1
    assert "\\smash{$^{3}$}" in tex
    for words in ("Bold:", "Underlined:", "superscript"):
        assert words in tex.split(r"\begin{tabular}")[0]
    assert re.search(r"\*\*\d+\.\d\d ± \d\.\d\d\*\* \(3\)", markdown)


def test_missing_published_cells_are_listed(full: Path) -> None:
    with (full / "tables/published.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [r["verdict"] for r in rows][2] == "missing"
    assert "3 published cells:" in (full / "tables/published.md").read_text()


def test_a_page_is_whole_and_escaped(full: Path) -> None:
    page = (full / "report.html").read_text()
    for address in re.findall(r'(?:src|srcset|href)="([^"#]+)', page):
        assert address.startswith("https://doi.org/") or (full / address).is_file(), address
    assert "&lt;b&gt;" in page
    assert "404 from sonar_scale &amp; no copy" in page
    assert "singular" in page
    nav = page.split('<nav aria-label="Chapters">')[1].split("</nav>")[0]
    anchors = re.findall(r'<a href="#(.*?)">', nav)
    assert anchors == [
        *["claims", "tables", "figures", "published", "edges", "statistics", "failures", "made"]
    ]
    assert anchors == re.findall(r'<section id="(.*?)">', page)


@pytest.mark.usefixtures("no_pictures")
def test_a_claim_is_reported_with_its_verdict_and_rule(tmp_path: Path) -> None:
    records = sample_records({("heart", "5-CV"): (0.1, 0.2), ("heart", "5-KS"): (0.2, 0.31)})
    report(tmp_path, experiment(splits=(0, 1, 2), datasets=("heart",)), records)
    text = (tmp_path / "tables/claims.md").read_text()
    assert (
        "### 6.1a: k-KS has a lower error than k-CV with the same k\n\n**Not supported.** Test"
        in text
    )
    assert "error of k-KS minus that of k-CV: 10.5 points (95 % interval" in text
    assert "0 lower, 0 equal, 1 higher; significantly 0 lower, 1 higher." in text
    assert "The paper: 8 or more of 9 data sets" in text
    assert "The rule. Supported:" in text
    assert "Incomplete: 4 of 6" in text
    assert "## Candidates excluded from the grid\n\nNo candidate was excluded" in text


@pytest.mark.usefixtures("no_pictures")
def test_a_partial_run_has_no_verdict(tmp_path: Path) -> None:
    """24 of 2520 planned numbers give no verdict and no red text."""
    spec = full_experiment(figures=())
    trial = [
        r
        for r in full_records(spec)
        if (r.dataset, r.part, r.loss) == ("heart", "table", "squared")
        and r.method in ("5-CV", "5-KS")
        and r.split < 3
    ]
    assert len(trial) == 24
    report(tmp_path, spec, trial)
    text, page = ((tmp_path / n).read_text() for n in ("tables/claims.md", "report.html"))
    assert "Incomplete: 24 of 2520 planned numbers exist" in text
    assert "**Too few numbers.** Only 12 of 720 planned pairs of test errors exist, too few" in text
    assert "No verdict if fewer than half of the planned numbers exist" in text
    for words in ("Not supported.**", "| not supported", "does not beat"):
        assert words not in text
    assert 'class="verdict not-supported"' not in page


@pytest.mark.usefixtures("no_pictures")
def test_every_format_shows_fewer_splits(tmp_path: Path) -> None:
    """mpg has four of ten splits, and the page does not say that nothing is missing."""
    spec = regression_experiment(datasets=("heart", "mpg", "bodyfat"))
    records = [r for r in full_records(spec) if r.dataset == "heart" or r.split < 4]
    report(tmp_path, spec, records)
    markdown, tex, page = (
        (tmp_path / name).read_text()
        for name in ("tables/table1.md", "tables/table1.tex", "report.html")
    )
    assert "| mpg (4 splits) " in markdown
    assert f"bodyfat (4 splits) ({TIMES} 10⁻⁵)" in markdown
    assert "\nmpg (4 splits) &" in tex
    assert '<th scope="row">mpg (4 splits)</th>' in page
    assert '<th scope="row">heart</th>' in page
    assert "Nothing failed or is missing" not in page
    assert "<li>mpg: 48 of 80 planned numbers are missing</li>" in page
    assert "Nothing failed." in page


@pytest.mark.usefixtures("no_pictures")
def test_published_rows_show_fewer_splits(tmp_path: Path) -> None:
    records = sample_records({("heart", "5-CV"): (0.1, 0.2)})
    report(tmp_path, experiment(), records)
    assert (
        "| heart (2 splits) | λ = 0.001 | 5-CV " in (tmp_path / "tables/published.md").read_text()
    )


@pytest.mark.usefixtures("no_pictures")
def test_a_complete_report_says_that_nothing_is_missing(tmp_path: Path) -> None:
    spec = full_experiment(datasets=("heart",), splits=tuple(range(10)), figures=())
    report(tmp_path, spec, full_records(spec))
    page = (tmp_path / "report.html").read_text()
    assert "Nothing failed or is missing." in page
    assert "are missing" not in page
    few = full_experiment(datasets=("heart",), splits=(0, 1), figures=())
    report(tmp_path, few, full_records(few))
    page = (tmp_path / "report.html").read_text()
    assert "<li>2 splits; the paper has 10.</li>" in page
    assert "Nothing failed." in page


@pytest.mark.usefixtures("no_pictures")
def test_verdicts_that_depend_on_edges_have_a_caution(tmp_path: Path) -> None:
    """If every choice is at the largest width there is a caution, otherwise none."""
    spec = full_experiment(datasets=("heart",), splits=(0, 1), figures=())
    edge = {"chosen": spec.kernels[-1].text}
    for name, more in (("edge", edge), ("inner", {})):
        records = [
            record(r.dataset, r.split, r.method, r.error, **{**fields(r), **more})
            for r in full_records(spec)
        ]
        report(tmp_path / name, spec, records)
    words = "Caution: this verdict depends on methods that mostly select the edge of the grid (5-CV 100 %, 5-KS"
    texts = [(tmp_path / name / "tables/claims.md").read_text() for name in ("edge", "inner")]
    assert [text.count(words) for text in texts] == [1, 0]
    pages = [(tmp_path / name / "report.html").read_text() for name in ("edge", "inner")]
    short = '<span class="beside">edge of the grid: '
    assert short in pages[0]
    assert short not in pages[1]
    table = (tmp_path / "edge/tables/edges.md").read_text()
    row = r"\| 5-CV +\| +8 \| +0\.0 % \| +100\.0 % \| +– \| +– \| +100\.0 % \|"  # noqa: RUF001
    assert re.search(row, table)


def fields(r: Record) -> dict[str, object]:
    """Return the fields of a record except its error."""
    return {k: getattr(r, k) for k in ("part", "criterion", "params", "loss", "setting", "metric")}


@pytest.mark.usefixtures("pictures_alone")
def test_some_of_the_records_give_a_report(tmp_path: Path) -> None:
    spec = full_experiment(**FEW)
    records = full_records(spec)
    parts = {
        "none": [],
        "one": [r for r in records if (r.dataset, r.split) == ("heart", 0)],
        "failed": [r for r in records if r.status == "failed"],
        "figure": [r for r in records if r.part == "eta-sweep"],
    }
    for name, part in parts.items():
        paths = write_report(study(spec, part), tmp_path / name)
        assert all(p.stat().st_size for p in paths)
        assert not list(tmp_path.rglob("*.tmp"))
    assert "not run yet" in (tmp_path / "none/report.html").read_text()
    assert "Nothing failed" not in (tmp_path / "failed/report.html").read_text()


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_latex_compiles_the_tables(tmp_path: Path, kind: str) -> None:
    spec = full_experiment(figures=()) if kind == "classification" else regression_experiment()
    report(tmp_path, spec, full_records(spec, absent=("sonar", "heart")))
    inputs = "".join(rf"\input{{{p}}}" for p in sorted(tmp_path.glob("tables/*.tex")))
    (tmp_path / "document.tex").write_text(DOCUMENT % inputs)
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "document.tex"]
    run = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
    )
    assert run.returncode == 0, run.stdout[-2000:]
    assert "Overfull" not in run.stdout
    assert "Float too large" not in run.stdout


def test_chapters_are_in_order_and_an_unknown_one_is_last() -> None:
    passages = [Passage(name, (Paragraph(name),)) for name in ("failures", "new", "", "claims")]
    page = write_page(study(experiment(), []), passages)
    chapters = page.split("<nav", 1)[1].partition("</nav>")[0]
    assert re.findall(r'<a href="#([a-z]+)">(.*)</a>', chapters) == [
        ("claims", CHAPTERS["claims"][0]),
        ("failures", CHAPTERS["failures"][0]),
        ("new", "New"),
    ]


def test_the_head_of_an_own_experiment_says_which_method_ranks_best() -> None:
    """The experiment of a paper says what its claims came to."""
    spec = regression_experiment(paper="", claims=())
    found = study(spec, full_records(spec))
    assert make_head(found).lead == (
        "BIF-10-CV has the lowest mean rank (3.33) of 8 methods on 9 data sets; by Friedman's test the methods "
        "differ (p < 0.001)."
    )
    whole = full_experiment()
    assert make_head(study(whole, full_records(whole))).lead == ""


def test_the_head_says_when_and_with_what() -> None:
    machine = {"jobs": 7, "python": "3.12", "packages": {"kselect": "1.2"}, "cpu": "one"}
    days = {"days": ["2026-01-30", "2026-02-01"]}
    for known, when in ((days, "; 2026-01-30 to 2026-02-01"), ({}, "")):
        made = SimpleNamespace(facts=read_facts({"environments": {"abc": machine | known}}))
        assert facts(cast(Study, made))[0] == (
            "Computed with",
            f"kselect 1.2; Python 3.12; one; 7 jobs{when}",
        )


def test_how_to_install_kselect_and_how_long_a_run_takes() -> None:
    """Without recorded times the page says nothing of them."""
    spec = full_experiment(datasets=("heart",), splits=(0, 1), figures=())
    records = full_records(spec)
    for seconds, told in ((330.0, True), (0.0, False)):
        (again, *_) = make_head(study(spec, records, seconds=seconds)).copied
        assert again.hint.startswith(INSTALL)
        assert ("The jobs behind this page took 6 min in one process" in again.hint) == told


def test_what_is_known_of_a_paper_stands_on_its_page_once(full: Path) -> None:
    """The files of every loss have it; the page shows two losses below each other."""
    paper = full_experiment().source
    assert paper
    assert paper.remarks
    remark = paper.remarks[-1][:30]
    assert (full / "report.html").read_text().count(f"<li>{remark}") == 1
    for name in ("published", "published-zero-one"):
        assert remark in (full / f"tables/{name}.md").read_text()
