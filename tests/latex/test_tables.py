"""The committed LaTeX tables, compiled in a document of one column and in one of two."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from kselect.core.table import Column, Group, Measure, Table
from kselect.report.latex import write_latex

RESULTS = Path(os.environ.get("KSELECT_RESULTS", Path(__file__).parents[2] / "results"))
# The tables of the experiments make one document; those of a variant have the labels of its experiment.
DOCUMENTS = [
    sorted(RESULTS.glob("*/tables/*.tex")),
    *(sorted(folder.glob("*.tex")) for folder in sorted(RESULTS.glob("*/variants/*/tables"))),
]
DOCUMENT = r"""\documentclass[%s]{article}
\usepackage{booktabs,graphicx}
\begin{document}
%s
\end{document}
"""
COMMAND = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "document.tex"]
# What LaTeX says of a table that does not fit, and of a label that is missing or stands twice.
COMPLAINTS = re.compile(r".*(?:Overfull|Float too large|undefined|multiply.defined).*")

pytestmark = pytest.mark.skipif(
    shutil.which("pdflatex") is None,
    reason="pdflatex is not installed: apt-get install texlive-latex-base texlive-latex-recommended",
)


def complaints(folder: Path, paths: Sequence[Path], option: str) -> list[str]:
    """Return what LaTeX complains about in a document that includes the files and refers to every label."""
    labels = [label for p in paths for label in re.findall(r"\\label\{(.+?)\}", p.read_text())]
    lines = [rf"\input{{{path.as_posix()}}}\clearpage" for path in paths]
    text = DOCUMENT % (option, "\n".join([*lines, *(rf"\ref{{{label}}}" for label in labels)]))
    (folder / "document.tex").write_text(text)
    for _ in range(2):
        run = subprocess.run(
            COMMAND,
            cwd=folder,
            capture_output=True,
            check=False,
            timeout=120,
            env={**os.environ, "max_print_line": "1000"},
        )
    log = (folder / "document.log").read_text(errors="replace")
    assert run.returncode == 0, log[-2000:]
    return COMPLAINTS.findall(log)


@pytest.mark.parametrize("option", ["onecolumn", "twocolumn"])
def test_the_committed_tables_fit(tmp_path: Path, option: str) -> None:
    assert DOCUMENTS[0]
    assert [complaints(tmp_path, paths, option) for paths in DOCUMENTS] == [[]] * len(DOCUMENTS)


@pytest.mark.parametrize("option", ["onecolumn", "twocolumn"])
def test_large_tables_fit(tmp_path: Path, option: str) -> None:
    """Many rows, many columns, long texts in cells, in the caption and in the notes."""
    words = "several words of a claim that nobody could print on one line of a page " * 3
    texts = Table(
        "texts",
        (Column("id", align="left"), Column("claim", align="left"), Column("why", align="prose")),
        (Group(tuple((f"A{i}", words, f"{i} {words}") for i in range(30))),),
        (words * 4,),
        (words, words * 5),
    )
    methods = [Column(f"method {i}", align="measure") for i in range(14)]
    row = (Measure(14.25, 2.5, 2, "best", 3),) * 14
    titled = tuple(
        Group(tuple((f"data set {i}", *row) for i in range(20)), f"lam = 2^-{k}") for k in range(5)
    )
    wide = Table("wide_1", (Column("data set", align="left"), *methods), titled, (words,), (words,))
    path = tmp_path / "tables.tex"
    path.write_text(write_latex(texts, wide, of="my own"))
    assert complaints(tmp_path, [path], option) == []


def test_a_label_that_stands_twice_is_found(tmp_path: Path) -> None:
    table = Table("one", (Column("x"),), (Group(((1,),)),))
    (tmp_path / "a.tex").write_text(write_latex(table, of="a"))
    paths = [tmp_path / "a.tex"] * 2
    assert "multiply" in " ".join(complaints(tmp_path, paths, "onecolumn"))


def test_a_wide_box_is_found(tmp_path: Path) -> None:
    path = tmp_path / "wide.tex"
    path.write_text(r"\noindent\rule{20cm}{1cm}")
    assert "Overfull" in " ".join(complaints(tmp_path, [path], "onecolumn"))
