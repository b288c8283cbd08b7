"""The tables of seconds: ratios, verdicts, captions, and three formats."""

from __future__ import annotations

import csv
import io
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from problems import learners

from kselect.core.experiment import Experiment
from kselect.core.method import LamGrid
from kselect.errors import DataError
from kselect.kernels.gaussian import Gaussian
from kselect.packaged import packaged
from kselect.report.latex import write_latex
from kselect.report.writers import write_csv, write_markdown
from kselect.stats.sources import read_seconds
from kselect.store.timings import Seconds, TimedMethod
from kselect.timing.ratios import TimingEntry, comparisons, judge, summarise
from kselect.timing.tables import DASH, TimingSheet, make_sheet, tidy_table

DOCUMENT = r"\documentclass{article}\usepackage{booktabs,graphicx}\usepackage[a4paper,margin=2cm]{geometry}"
DOCUMENT += r"\begin{document}%s\end{document}"


def experiment() -> Experiment:
    """Return an experiment of which the table uses the protocol only."""
    return Experiment(
        "toy", "icml2014", "", learners("lssvm"), "minmax", "all", 0.5, False, (0,), 0,
        (Gaussian(1.0), Gaussian(2.0)), LamGrid((0.1, 1.0), "select"), "fixed", "squared",
        (), ("heart",),
    )  # fmt: skip


def entry(
    dataset: str,
    method: str,
    paper: float | None,
    ours: float | None,
    published: float | None = None,
    share: float = 1.0,
    failure: str = "",
) -> TimingEntry:
    criterion = "-".join("k" if part.isdigit() else part for part in method.split("-"))
    folds = next((int(part) for part in method.split("-") if part.isdigit()), None)
    made = [None if v is None else Seconds(v, 2 * v, share) for v in (paper, ours)]
    gap = 1e-14 if paper and ours else None
    cell = TimedMethod(method, criterion, folds, "", made[0], made[1], gap, 60.0, "abc", failure)
    return TimingEntry(dataset, 100, 7, method, cell, published)


def found() -> list[TimingEntry]:
    """Return data sets with an extrapolated number, a failure, and missing cells."""
    return [
        entry("heart", "ELOO", 0.5, 0.2, 0.3),
        entry("heart", "5-CV", 2.0, 0.8, 6.0),
        entry("heart", "BIF-5-CV", 1.0, 0.9, 2.0),
        entry("big_set", "ELOO", None, None, None, failure="at tau=1: a 100 % & failure"),
        entry("big_set", "5-CV", 1234.0, 300.0, None, 0.04),
        entry("big_set", "BIF-5-CV", 200.0, 250.0),
        entry("third", "ELOO", None, 3.0),
        *(replace(entry("third", m, None, None), cell=None) for m in ("5-CV", "BIF-5-CV")),
    ]


def sheet() -> TimingSheet:
    return make_sheet(
        experiment(), found(), ["A & B CPU"], ["No seconds of x_1: not measured yet."]
    )


def test_ratios() -> None:
    one, two = comparisons(found())
    assert (one.exact.dataset, two.exact.dataset) == ("heart", "big_set")
    assert [n.value for n in (one.measured, one.published, one.shortcut, one.price) if n] == [
        2.0, 3.0, 2.5, 0.8,
    ]  # fmt: skip
    assert (one.verdict, two.verdict) == ("no more", "about as much")
    assert two.published is None
    assert two.price is not None
    assert two.price.rough
    (summary,) = summarise([one, two])
    assert summary.median == pytest.approx(1.15)
    assert (summary.measured, summary.published) == (2.0, 3.0)
    assert summary.counts == {"no more": 1, "about as much": 1, "more": 0}
    assert (summary.lowest, summary.highest) == (one, two)


@pytest.mark.parametrize(
    ("price", "words"),
    [(0.1, "no more"), (1.0, "no more"), (1.01, "about as much"), (2.0, "about as much"), (2.1, "more")],
)  # fmt: skip
def test_verdicts(price: float, words: str) -> None:
    assert judge(price) == words


def test_a_comparison_needs_both_methods() -> None:
    assert comparisons([entry("heart", "5-CV", 1, 1), entry("heart", "BIF-10-CV", 1, 1)]) == []
    made = make_sheet(experiment(), [entry("heart", "5-CV", 1, 1)], ["x"], [])
    assert (len(made.tables), made.findings) == (1, ())
    assert "~" not in write_markdown(made.printed)
    assert "published" not in write_markdown(made.printed)
    failed = [entry("heart", m, None, None, failure="no") for m in ("5-CV", "BIF-5-CV")]
    assert make_sheet(experiment(), failed, ["x"], []).findings == ()


def test_markdown() -> None:
    text = write_markdown(sheet().printed)
    lines = [[c.strip() for c in line.split("|")[1:-1]] for line in text.splitlines()]
    assert ["heart", "paper's", "0.500", "2.00", "1.00"] in lines
    assert ["100 x 7", "ours", "0.200", "0.800", "0.900"] in lines
    assert ["", "published", "0.300", "6.00", "2.00"] in lines
    assert ["big\\_set", "paper's", DASH, "~1234 (4 %)", "200"] in lines
    assert ["5", "heart", "2.00", "3.00", "2.50", "0.800", "1.00", "0.800", "no more"] in lines
    assert "extrapolated from the share of the grid in parentheses" in text
    assert "budget of 60 s" in text
    assert "CPU seconds of a whole selection" in text
    assert "one BLAS thread" in text
    assert "from 0.800 (heart) to ~1.50 (big\\_set): no more on 1, about as much" in text
    assert "big\\_set, ELOO failed: at tau=1" in text
    assert "differ by at most 1e-14" in text


def test_seconds_without_training() -> None:
    """The approximation has a further row, the ratios a further column, and the CSV two."""
    trained = Seconds(4.0, 5.0, 1.0, fits=3.0)
    exact, short = (entry("heart", m, 8.0, 1.0) for m in ("5-CV", "5-FBIF"))
    assert short.cell is not None
    short = replace(short, cell=replace(short.cell, criterion="k-FBIF", paper=trained))
    one = make_sheet(experiment(), [exact, short], ["x"], [])
    text = write_markdown(one.printed)
    lines = [[c.strip() for c in line.split("|")[1:-1]] for line in text.splitlines()]
    assert ["100 x 7", "without training", DASH, "1.00"] in lines
    heading = next(line for line in lines if "k-CV / FBIF without training" in line)
    row = next(line for line in lines if line[:2] == ["5", "heart"])
    found_ratios = dict(zip(heading, row, strict=True))
    assert found_ratios["k-CV / FBIF without training"] == "8.00"
    assert found_ratios["k-CV / FBIF"] == "2.00"
    rows = list(csv.DictReader(io.StringIO(write_csv(tidy_table([exact, short])))))
    assert [r["paper_without_training"] for r in rows] == ["", "1"]
    assert [r["cv_over_bif_without_training"] for r in rows] == ["8", ""]
    assert "without training" not in write_markdown(sheet().printed)


def test_csv() -> None:
    rows = list(csv.DictReader(io.StringIO(write_csv(tidy_table(found())))))
    assert len(rows) == len(found())
    cv = rows[1]
    seconds = [cv[k] for k in ("paper_cpu", "paper_wall", "ours_cpu", "published")]
    assert seconds == ["2", "4", "0.8", "6"]
    ratios = [cv[k] for k in ("cv_over_bif", "published_cv_over_bif", "paper_over_ours")]
    assert ratios == ["2", "3", "2.5"]
    assert (cv["exact_ours_over_bif"], cv["exact_costs"]) == ("0.8", "no more")
    assert rows[4]["paper_share"] == "0.04"
    assert rows[7]["ours_cpu"] == rows[7]["environment"] == ""


def test_published_seconds_of_icml2014() -> None:
    """The paper's table 2 is read completely, and nothing of its table 1."""
    seconds = read_seconds(packaged("published") / "icml2014.csv")
    assert len(seconds) == 19 * 8
    assert seconds["heart", "5-CV"] == 0.58
    assert seconds["cpusmall", "20-CV"] == 395.8
    assert read_seconds(packaged("published") / "ecml2014.csv") == {}
    assert read_seconds(Path("no-such.csv")) == {}


def test_a_table_without_the_columns_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match="not a table of published numbers"):
        read_seconds(tmp_path / "x.csv")


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_compiles_the_tables(tmp_path: Path) -> None:
    many = [replace(e, dataset=f"{e.dataset}_{i}") for i in range(20) for e in found()[:6]]
    made = make_sheet(experiment(), many, ["A & B CPU"], ["No seconds of x_1: not measured yet."])
    for name, one in (("few", sheet()), ("many", made)):
        (tmp_path / "table.tex").write_text(write_latex(*one.printed, of="x"))
        (tmp_path / f"{name}.tex").write_text(DOCUMENT % r"\input{table}")
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", f"{name}.tex"]
        run = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
        )
        assert run.returncode == 0, run.stdout[-2000:]
        assert "Float too large" not in run.stdout
        assert "Overfull" not in run.stdout
        assert "multiply" not in run.stdout
