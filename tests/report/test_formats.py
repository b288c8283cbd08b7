"""Elements and tables of words in Markdown, LaTeX and HTML."""

from __future__ import annotations

import re

import pytest
from synthetic import experiment, study

from kselect.report.blocks import Block, Fold, Grid, Heading, Notes, Picture, Text
from kselect.report.formats import latex, markdown, tidy
from kselect.report.page import CHAPTERS, make_chapters, write_page

GRID = Grid(("a_b", "verdict"), (("x|y", "not supported"),))


def test_elements_as_markdown() -> None:
    elements = [
        Heading("A < B", 3),
        Text("a*b", verdict="not supported"),
        Fold("never shown", (Notes(("one", "two")), GRID)),
    ]
    assert markdown.write(elements) == (
        "### A \\< B\n\n**Not supported.** a\\*b\n\n* one\n* two\n\n"
        "| a_b  |       verdict |\n| ---- | ------------: |\n| x\\|y | not supported |"
    )
    with pytest.raises(TypeError, match="picture has no form in Markdown"):
        markdown.write([Picture(b"", b"", "", "")])


def test_elements_as_html() -> None:
    elements = (
        Heading("A < B", 2),
        Text("text", verdict="not supported"),
        Fold("open me", (Text("inner", soft=True), GRID)),
        Picture(b"svg", b"one", "what is seen", "a caption"),
    )
    page = write_page(study(experiment(), []), [Block("claims", elements)])
    for words in (
        "<h3>A &lt; B</h3>",
        '<span class="verdict not-supported">Not supported.</span>',
        "<details><summary>open me</summary>",
        '<p class="soft">inner</p>',
        '<th scope="row">x|y</th>',
        '<th scope="col" class="left">verdict</th>',
        '<td class="left not-supported">not supported</td>',
        '<source media="(max-width: 44rem)" srcset="data:image/svg+xml;base64,b25l">',
        '<img src="data:image/svg+xml;base64,c3Zn" alt="what is seen"></picture>',
        "<figcaption>a caption</figcaption>",
    ):
        assert words in re.sub(r">\s+", ">", page), words


def test_numbers_stand_at_the_right_and_words_at_the_left() -> None:
    grid = Grid(("set", "way", "mean", "sd"), (("heart", "ours", "1.5", "0.5"),), 2)
    page = write_page(study(experiment(), []), [Block("claims", (grid,))])
    row = '<th scope="row">heart</th><td class="left">ours</td><td>1.5</td><td>0.5</td>'
    assert row in page
    assert '<th scope="col" class="left">way</th><th scope="col">mean</th>' in page
    last = write_page(
        study(experiment(), []), [Block("claims", (Grid(("a", "b"), (("x", "y"),), 2),))]
    )
    assert '<td class="left">y</td>' in last


def test_chapters_stand_in_their_order_and_an_unknown_one_last() -> None:
    blocks = [Block(name, (Text(name),)) for name in ("failures", "new", "", "claims")]
    found = list(make_chapters(blocks))
    assert [(c.anchor, c.short) for c in found] == [
        ("claims", CHAPTERS["claims"][0]),
        ("failures", CHAPTERS["failures"][0]),
        ("new", "New"),
    ]


def test_long_tables_have_a_float_per_page() -> None:
    grid = Grid(("name", "number"), tuple((f"r_{i}", str(i)) for i in range(100)))
    text = latex.write_grid_pages("t", ["A caption.", "A note."], grid, ["A comment."])
    assert text.startswith("% A comment.\n")
    assert text.count(r"\begin{table}") == 3
    assert re.findall(r"\\label\{(.*?)\}", text) == ["tab:t", "tab:t-2", "tab:t-3"]
    assert text.count("A caption. A note.") == 1
    assert r"r\_99 & 99 \\" in text
    assert r"\begin{tabular}{@{}lr@{}}" in text


def test_escaping() -> None:
    assert latex.escape("a_b 5 % & {x} \\ ~^#$ é\n|") == (
        r"a\_b 5 \% \& \{x\} \textbackslash{} \textasciitilde{}\textasciicircum{}\#\$ e $|$"
    )
    assert latex.escape("中") == "?"
    assert markdown.escape("a_b|c\n*") == r"a\_b\|c \*"


def test_numbers_for_programs() -> None:
    assert [tidy.number(v) for v in (1 / 3, float("nan"), None)] == ["0.3333333333", "", ""]
