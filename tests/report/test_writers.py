"""The writers of CSV, Markdown and LaTeX, and the page's view of the same table."""

from __future__ import annotations

import re

import pytest
from synthetic import experiment, study

from kselect.core.table import DASH, Column, Group, Measure, Table
from kselect.report.elements import Details, Heading, Notes, Paragraph, Passage, Picture
from kselect.report.page import write_page
from kselect.report.writers import (
    table_files,
    write_csv,
    write_markdown,
)

CROSS = '<span class="shape" aria-hidden="true">\N{BALLOT X}</span>'
TIMES = "\N{MULTIPLICATION SIGN}"
WORDS = Table(
    "words",
    (Column("a_b", "ab", align="left"), Column(csv="n"), Column("verdict", align="verdict")),
    (Group((("x|y", 3, "not supported"),)),),
)
MEANS = Table(
    "means",
    (Column("data set", align="left"), Column("BR", format=".2f", align="measure")),
    (
        Group(
            (
                (f"heart ({TIMES} 10⁻³)", Measure(14.301, 2.6, 1, "best", 1, "10 runs")),
                ("sonar", Measure(5.0, digits=0, mark="close")),
                ("vowel", Measure(float("nan"))),
            ),
            "λ = 1",
            (("mean rank", 1.5),),
        ),
    ),
    ("Errors in %.",),
    ("a note",),
    best="the lowest mean",
    close="not worse",
)


def test_csv_has_the_columns_with_a_csv_name() -> None:
    assert write_csv(WORDS) == "ab,n\nx|y,3\n"


def test_elements_as_markdown() -> None:
    elements = [
        Heading("A < B", 3),
        Paragraph("a*b", verdict="not supported"),
        Details("never shown", (Notes(("one", "two")), WORDS)),
    ]
    assert write_markdown(elements) == (
        "### A \\< B\n\n**Not supported.** a\\*b\n\n* one\n* two\n\n"
        "| a\\_b | verdict       |\n| ---- | ------------- |\n| x\\|y | not supported |"
    )
    with pytest.raises(TypeError, match="Picture has no form in Markdown"):
        write_markdown([Picture(b"", b"", "", "")])


def test_means_as_markdown() -> None:
    assert write_markdown([MEANS]) == (
        "Errors in %. Bold: the lowest mean. Italic: not worse. In parentheses: the number of failed runs, which "
        "the mean leaves out.\n\n## λ = 1\n\n"
        "| data set       |                 BR |\n"
        "| -------------- | -----------------: |\n"
        f"| heart ({TIMES} 10⁻³) | **14.3 ± 2.6** (1) |\n"
        "| sonar          |                *5* |\n"
        f"| vowel          |                  {DASH} |\n"
        "| mean rank      |               1.50 |\n\n"
        "* a note"
    )


def test_files_of_a_table() -> None:
    files = {f.name: str(f.content) for f in table_files(MEANS, WORDS, of="my", tidy=WORDS)}
    assert list(files) == [f"tables/means.{kind}" for kind in ("csv", "md", "tex")]
    assert files["tables/means.csv"] == write_csv(WORDS)
    assert files["tables/means.md"].startswith("# means\n\nErrors in %.")
    assert r"\label{tab:my-words}" in files["tables/means.tex"]


def test_elements_on_the_page() -> None:
    elements = (
        Heading("A < B", 2),
        Paragraph("text", verdict="not supported"),
        Details("open me", (Paragraph("inner", soft=True), WORDS)),
        Picture(b"svg", b"one", "what is seen", "a caption"),
        MEANS,
    )
    page = write_page(study(experiment(), []), [Passage("claims", elements)])
    for words in (
        "<h3>A &lt; B</h3>",
        f'<span class="verdict not-supported">{CROSS}Not supported.</span>',
        "<details><summary>open me</summary>",
        '<p class="soft">inner</p>',
        '<th scope="row">x|y</th>',
        '<th scope="col" class="left">verdict</th>',
        f'<td class="left"><span class="verdict not-supported">{CROSS}not supported',
        '<source media="(max-width: 44rem)" srcset="data:image/svg+xml;base64,b25l">',
        '<img src="data:image/svg+xml;base64,c3Zn" alt="what is seen" loading="lazy"></picture>',
        "<figcaption>a caption</figcaption>",
        '<td class="best" title="10 runs"><b>14.3</b><span class="sd">± 2.6</span><sup>1</sup></td>',
        '<td class="close"><u>5</u></td>',
        '<th scope="row">mean rank</th><td>1.50</td>',
        "A superscript counts failed runs, which the mean leaves out.</p>",
        "<caption>λ = 1</caption>",
        "<li>a note</li>",
    ):
        assert words in re.sub(r">\s+", ">", page), words
