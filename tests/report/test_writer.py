import csv
import re
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest
from synthetic import (
    experiment,
    full_experiment,
    full_records,
    regression_experiment,
    sample_records,
)

from kselect.model.experiment import Experiment
from kselect.report import IndexEntry, write_index, write_report
from kselect.report.latex import escape
from kselect.report.markdown import escape as escape_markdown

REASON = "404 from sonar_scale & no copy, 100 % lost"
EP = {"EP": "rebuilt from its description"}
DOCUMENT = r"\documentclass[a4paper]{article}\usepackage{booktabs}\begin{document}%s\end{document}"


def published(*rows: tuple[object, ...]) -> pd.DataFrame:
    columns = ["table", "dataset", "method", "setting", "mean", "spread", "spread_kind"]
    return pd.DataFrame([(1, *row) for row in rows], columns=columns)


THEIRS = published(
    ("heart", "5-CV", "lambda=0.001", 17.0, 2.0, "sd"),
    ("heart", "EP", "lambda=0.001", 17.83, 6.1, "sd"),
    ("sonar", "BR", "lambda=0.001", 12.9, 4.9, "sd"),
)


def report(folder: Path, spec: Experiment, records: pd.DataFrame) -> list[Path]:
    facts = {"commit": "0123abc", "note": "<b>"}
    return write_report(spec, records, {"sonar": REASON}, EP, THEIRS, facts, folder)


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("full")
    spec = full_experiment()
    report(folder, spec, full_records(spec))
    return folder


def test_the_files(full: Path) -> None:
    found = {str(p.relative_to(full)) for p in full.rglob("*") if p.is_file()}
    tables = {"table1", "table1-zero-one", "published", "published-zero-one"}
    assert found == {
        *(f"tables/{t}.{kind}" for t in tables for kind in ("csv", "tex", "md")),
        *("tables/claims.md", "figures/eta-sweep.pdf", "figures/eta-sweep.png", "report.html"),
    }


def test_two_reports_are_the_same_bytes_and_the_paths_are_returned(tmp_path: Path) -> None:
    spec = full_experiment()
    records = full_records(spec)
    first, second = (report(tmp_path / name, spec, records) for name in "ab")
    for a, b in zip(first, second, strict=True):
        assert a.read_bytes() == b.read_bytes(), a.name
    assert len(first) == 16


def test_the_figure_is_a_page_of_each_kind(full: Path) -> None:
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
    sonar = [r for r in rows if r["dataset"] == "sonar"]
    assert {(r["mean"], r["runs"], r["missing"], r["best"]) for r in sonar} == {("", "0", "10", "")}
    br = next(r for r in rows if (r["dataset"], r["method"]) == ("a2a", "BR"))
    assert (br["runs"], br["failures"], br["unit"]) == ("7", "3", "%")
    for r in rows:
        if r["p_value"] and r["best"] == "false":
            assert r["not_worse"] == str(float(r["p_value"]) >= 0.05).lower()


@pytest.mark.parametrize("kind", ["tex", "md"])
@pytest.mark.parametrize("name", ["table1", "table1-zero-one", "published", "published-zero-one"])
def test_every_table_says_how_it_was_made(full: Path, name: str, kind: str) -> None:
    text = (full / "tables" / f"{name}.{kind}").read_text()
    loss = "zero-one" if "zero-one" in name else "squared"
    for words in ("LSSVM", "z-scored", "10 random splits", f"the {loss} loss", "rebuilt from its"):
        assert words in text
    assert ("EP$^{\\dagger}$" if kind == "tex" else "EP†") in text


def test_what_is_missing_is_said(full: Path) -> None:
    markdown = (full / "tables/table1.md").read_text()
    assert re.search(r"\| sonar +\|( +-- \|){7}", markdown)
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


def test_published_cells_stay_listed(full: Path) -> None:
    with (full / "tables/published.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [r["verdict"] for r in rows][2] == "missing"
    assert "3 published cells:" in (full / "tables/published.md").read_text()


def test_a_page_is_whole_and_escaped(full: Path) -> None:
    page = (full / "report.html").read_text()
    assert not re.search(r'(?:src|href)="(?!data:|#)', page)
    assert "&lt;b&gt;" in page
    assert "404 from sonar_scale &amp; no copy" in page
    assert "singular" in page
    for name in ("claims", "tables", "figures", "published", "statistics", "failures", "made"):
        assert f'<section id="{name}">' in page


def test_the_claim_is_told_as_it_is(tmp_path: Path) -> None:
    records = sample_records({("heart", "5-CV"): (0.1, 0.2), ("heart", "5-KS"): (0.2, 0.31)})
    report(tmp_path, experiment(), records)
    text = (tmp_path / "tables/claims.md").read_text()
    assert "**Not supported.** In these runs k-KS does not beat k-CV. Over 1 comparisons" in text
    assert "The rule. Supported:" in text
    assert "Incomplete: 4 of 40" in text


def test_parts_of_the_records_give_a_report(tmp_path: Path) -> None:
    spec = full_experiment()
    records = full_records(spec)
    parts = {
        "none": records.iloc[:0],
        "one": records[(records["split"] == 0) & (records["dataset"] == "heart")],
        "failed": records[records["status"] == "failed"],
        "figure": records[records["part"] == "eta-sweep"],
    }
    for name, part in parts.items():
        paths = write_report(spec, part, {}, EP, None, {}, tmp_path / name)
        assert all(p.stat().st_size for p in paths)
        assert not list(tmp_path.rglob("*.tmp"))
    assert "not run yet" in (tmp_path / "none/report.html").read_text()
    assert "Nothing failed" not in (tmp_path / "failed/report.html").read_text()


def test_records_read_back_from_csv_give_the_same_table(tmp_path: Path) -> None:
    spec = regression_experiment()
    records = full_records(spec)
    records.to_csv(tmp_path / "records.csv", index=False)
    report(tmp_path / "a", spec, records)
    report(tmp_path / "b", spec, pd.read_csv(tmp_path / "records.csv"))
    a, b = ((tmp_path / n / "tables/table1.md").read_text() for n in "ab")
    assert a == b
    assert "bodyfat (times 10^-5)" in a
    assert "mean squared error" in a


def test_the_index(tmp_path: Path) -> None:
    entry = IndexEntry("a", "A & B", "ecml2014", "a/report.html", "10 of 10")
    text = write_index([entry], tmp_path / "index.html").read_text()
    assert '<a href="a/report.html"><b>A &amp; B</b></a>' in text
    assert "No experiment" in write_index([], tmp_path / "index.html").read_text()


def test_escaping() -> None:
    assert escape("a_b 5 % & {x} \\ ~^#$ é\n|") == (
        r"a\_b 5 \% \& \{x\} \textbackslash{} \textasciitilde{}\textasciicircum{}\#\$ e $|$"
    )
    assert escape("中") == "?"
    assert escape_markdown("a_b|c\n*") == r"a\_b\|c \*"


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="there is no pdflatex here")
@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_latex_takes_the_tables_as_they_are(tmp_path: Path, kind: str) -> None:
    spec = full_experiment() if kind == "classification" else regression_experiment()
    report(tmp_path, spec, full_records(spec, absent=("sonar", "heart")))
    inputs = "".join(rf"\input{{{p}}}" for p in sorted(tmp_path.glob("tables/*.tex")))
    (tmp_path / "document.tex").write_text(DOCUMENT % inputs)
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "document.tex"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-2000:]
    assert "Overfull" not in run.stdout
    assert "Float too large" not in run.stdout
