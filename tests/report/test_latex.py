"""The writer of LaTeX: cells, labels, floats of a page, and blocks of columns."""

from __future__ import annotations

import re

from report.test_writers import MEANS

from kselect.core.table import Column, Group, Measure, Table
from kselect.report.latex import escape_latex, write_latex


def test_means_as_latex() -> None:
    text = write_latex(MEANS, of="my")
    head = "% Needs \\usepackage{booktabs,graphicx}.\n% Errors in %.\n\\begin{table*}[tbp]\n"
    assert text.startswith(head)
    for line in (
        r"\label{tab:my-means}",
        r"\begin{tabular}{@{}lr@{}l@{}}",
        r"data set & \multicolumn{2}{c}{BR} \\",
        r"\multicolumn{3}{@{}l@{}}{$\lambda$ = 1} \\",
        r"heart ($\times$ 10$^{-3}$) & \textbf{14.3} & {\scriptsize\,$\pm$\,2.6}\smash{$^{1}$} \\",
        r"sonar & \underline{5} &  \\",
        r"vowel & \multicolumn{2}{c}{--} \\",
        r"mean rank & \multicolumn{2}{c}{1.50} \\",
        r"\parbox{\textwidth}{\scriptsize\raggedright a note}",
    ):
        assert f"{line}\n" in text, line


def test_a_long_table_continues_under_its_number() -> None:
    """Every row stands once, in its order; a page has at most 57 lines of 9.5 points."""
    rows = tuple((f"row {i}.",) for i in range(130))
    last = Group((("last",),), "title")
    long = Table("long", (Column("x", align="left"),), (Group(rows), last), ("All.",), ("note",))
    text = write_latex(long, of="my")
    floats = text.split(r"\begin{table*}")[1:]
    assert len(floats) == 3
    assert re.findall(r"\\label\{(.*)\}", text) == ["tab:my-long"]
    assert text.count(r"\addtocounter{table}{-1}") == text.count("(continued)") == 2
    assert re.findall(r"row (\d+)\.", text) == [str(i) for i in range(130)]
    assert max(part.count("row ") for part in floats) <= 57
    assert ["raggedright note" in part for part in floats] == [False, False, True]


def test_a_wide_table_is_cut_between_columns() -> None:
    columns = [Column(f"m{i}", align="measure") for i in range(12)]
    rows = (("heart", *[Measure(14.25, 2.5)] * 12),)
    wide = Table("wide", (Column("data set", align="left"), *columns), (Group(rows),))
    text = write_latex(wide, of="a b_c")
    assert text.count(r"\begin{tabular}{@{}lr@{}lr@{}l") == text.count("data set &") == 2
    assert text.count("heart & ") == 2
    assert re.findall(r"\{(m\d+)\}", text) == [f"m{i}" for i in range(12)]
    assert r"\label{tab:a-b-c-wide}" in text


def test_long_texts_break_their_lines() -> None:
    table = Table("t", (Column("id", align="left"), Column("claim")), (Group((("A", "w " * 50),)),))
    text = write_latex(table, of="my")
    (share,) = re.findall(r"\{@\{\}lp\{(.*)\\textwidth\}@\{\}\}", text)
    assert 0.8 < float(share) < 1
    assert r"A & \raggedright\hspace{0pt}w w" in text
    assert r" \tabularnewline" in text


def test_latex_has_no_letter_that_the_default_fonts_lack() -> None:
    assert escape_latex("é ~ 文 50 %\n_") == r"e $\sim$ ? 50 \% \_"
    assert escape_latex("2^-15, K^i, 2⁻³") == "2$^{-15}$, K$^{i}$, 2$^{-3}$"
