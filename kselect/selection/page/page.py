"""The page of a choice: one file with its figures and tables, made of the parts that reports are made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kselect.core.table import Column, Group, Table, Values
from kselect.datasets.table.raw_table import decision_lines
from kselect.errors import ConfigError, brief
from kselect.files import require_writable, write_named
from kselect.report.elements import LATER, File, Heading, Notes, Paragraph, Passage
from kselect.report.head import Copied, Head, this_machine
from kselect.report.page import render_page
from kselect.report.template import Links
from kselect.report.writers import table_files
from kselect.selection.compare import CriteriaComparison
from kselect.selection.contenders import CLEAR, Contender, FailedContender
from kselect.selection.held_out import HeldOut
from kselect.selection.own_data import OwnData
from kselect.selection.page.classes import show_classes
from kselect.selection.page.regression import show_numbers
from kselect.selection.page.relevant import show_relevances
from kselect.selection.page.surface import parameters_of, show_scores
from kselect.selection.result import shown_score

CHAPTERS = {
    "choice": ("Choice", "The choice and its neighbours"),
    "held-out": ("Held out", "Held-out predictions"),
    "relevances": ("Relevances", "Which columns matter"),
    "compared": ("Compared", "Criteria and other learners"),
    "table": ("Table", "How the file was read"),
}
CRITERIA = (
    Column("criterion", "criterion", align="left"),
    Column("kernel", "kernel", align="left"),
    Column("parameters", "parameters", align="left"),
    Column("lam", "lam", ".4g"),
    Column("averaged fits", "averaged"),
    Column("score", "score", ".6g"),
    Column("outer quality", "outer", ".4f"),
    Column("standard deviation", "deviation", ".4f"),
    Column("seconds", "seconds", ".2f"),
)
CONTENDERS = (
    Column("learner", "learner", align="left"),
    Column("outer quality", "outer", ".4f"),
    Column("standard deviation", "deviation", ".4f"),
    Column("kselect minus this", "difference", "+.4f"),
    Column("standard error", "error", ".4f"),
    Column("kselect is", "verdict", align="left"),
    Column("seconds", "seconds", ".2f"),
)
COLUMNS = (
    Column("column", "column", align="left"),
    Column("kind", "kind", align="left"),
    Column("features", "features"),
)
# More columns are not listed on the page.
MOST_COLUMNS = 200
HOLD = (
    "These rows were held out of the fits, but they also chose the kernel and the ridge, so that the numbers are "
    "slightly optimistic."
)


@dataclass(frozen=True, eq=False)
class ChoicePage:
    """The subject of a page: a file, the selection with its held-out predictions, and the words of the terminal.

    ``sentences`` are pairs of a name, such as ``quality``, and a text. ``rules`` say how rows were weighed and held
    out.
    """

    data: OwnData
    held_out: HeldOut
    sentences: Sequence[tuple[str, str]]
    model: str
    rules: Sequence[str]
    command: str
    python: str
    criteria: CriteriaComparison | None = None
    contenders: Sequence[Contender | FailedContender] = ()


def check_page(path: Path) -> None:
    """Refuse a path that does not end in .html or cannot be written."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise ConfigError(f"--report {path}: the name must end in .html")
    require_writable(path, "--report")


def write_choice(choice: ChoicePage, path: Path) -> None:
    """Write the page, which contains its figures and tables."""
    write_named(path, make_choice_page(choice), "--report ")


def make_choice_page(choice: ChoicePage) -> str:
    """Return the page."""
    passages, contents = [], dict[str, str | bytes]()
    for item in show_choice(choice):
        if isinstance(item, File):
            contents[item.name] = item.content
        elif item is not LATER:
            passages.append(item)
    return render_page(
        f"{choice.data.path.name}: kernel and ridge",
        "Asked",
        choice.command,
        passages,
        CHAPTERS,
        [*remarks(choice)],
        links=Links(standalone=True, contents=contents),
        top=make_choice_head(choice),
    )


def make_choice_head(choice: ChoicePage) -> Head:
    """Return the choice and its quality in a sentence, the facts, and what repeats it."""
    said = dict(choice.sentences)
    frame = choice.data.frame
    target = choice.data.target
    facts = [
        ("Data", f"{choice.data.path}, SHA-256 {frame.sha256}"),
        ("Rows", f"{choice.data.size}; {target.task} ({target.why})"),
        ("Model", choice.model),
        *(("Rule", text) for text in choice.rules),
        ("Computed with", this_machine()),
        ("Time", said[""]),
    ]
    copied = (
        Copied(
            "Repeat it on the command line", "command", choice.command, "In the folder of the data:"
        ),
        Copied(
            "Repeat it in Python",
            "program",
            choice.python,
            "It reads the file, fits the choice and prints the same score.",
        ),
    )
    return Head(tuple(facts), copied, lead=f"Chosen: {said['choice']}. Quality: {said['quality']}.")


def remarks(choice: ChoicePage) -> Iterator[tuple[str, str]]:
    """Yield what else the terminal says about the choice."""
    for name, text in choice.sentences:
        if name not in ("choice", "quality", ""):
            yield name.capitalize(), f"{text}."


def show_choice(choice: ChoicePage) -> Iterator[File | Passage]:
    """Yield every file and passage."""
    data, held_out = choice.data, choice.held_out
    of = data.path.stem
    yield from show_scores(held_out.selection, of)
    yield Passage("held-out", (Paragraph(HOLD, soft=True),))
    if data.target.classes:
        yield from show_classes(held_out, data.target.classes, of)
    else:
        yield from show_numbers(held_out, data.preparation.schema.targets, of)
    yield from show_relevances(data, held_out, of)
    if choice.criteria:
        yield from show_comparison(choice.criteria, of)
        yield from show_contenders(choice.criteria, choice.contenders, of)
    yield from show_columns(data, of)


# --- criteria and contenders ------------------------------------------------------------------------


def show_comparison(found: CriteriaComparison, of: str) -> Iterator[File | Passage]:
    """Yield the tables of criteria and of other learners."""
    criteria = found.criteria
    quality = criteria[0].quality
    words = (
        f"Each criterion chose on all rows (score and choice) and without each of {len(found.outer.members)} outer "
        f"folds; outer quality: {quality.measure} on the rows of these folds, which no part of the choice has "
        f"seen. Always predicting {quality.trivial_name} gives {quality.trivial:.4g}.",
    )
    rows: tuple[Values, ...] = tuple(
        (
            *(one.method.label, one.best.point.kernel.name, parameters_of(one.best.point.kernel)),
            *(one.best.point.lam, one.members, shown_score(one.method, one.best.score)),
            *(one.quality.value, one.quality.spread, one.seconds),
        )
        for one in criteria
    )
    table = Table("criteria", CRITERIA, (Group(rows),), words)
    yield from table_files(table, of=of)
    edges = [f"{one.method.label}: {text}." for one in criteria for text in one.edges]
    yield Passage("compared", (table, *([Notes(tuple(edges))] if edges else [])))


def show_contenders(
    criteria: CriteriaComparison, found: Sequence[Contender | FailedContender], of: str
) -> Iterator[File | Passage]:
    """Yield the table of other learners next to the first criterion, if there are any."""
    if not found:
        return
    label = criteria.criteria[0].method.label
    rows: tuple[Values, ...] = tuple(
        (
            *(one.name, one.quality.value, one.quality.spread, one.difference, one.error),
            *(one.verdict, one.seconds),
        )
        for one in found
        if isinstance(one, Contender)
    )
    words = (
        f"Other learners on the same outer folds, next to kselect by {label}. A difference counts beyond {CLEAR:g} "
        "standard errors over the rows. Seconds: one fit to all rows, with its own tuning.",
    )
    table = Table("contenders", CONTENDERS, (Group(rows),), words)
    yield from table_files(table, of=of)
    failed = [
        f"{one.name} failed: {one.reason}"
        if isinstance(one, FailedContender)
        else f"{one.name}: {one.warnings}"
        for one in found
        if isinstance(one, FailedContender) or one.warnings
    ]
    yield Passage(
        "compared", (Heading("Other learners"), table, *([Notes(tuple(failed))] if failed else []))
    )


# --- the file ---------------------------------------------------------------------------------------


def show_columns(data: OwnData, of: str) -> Iterator[File | Passage]:
    """Yield what was decided about the file, and its columns."""
    decisions = tuple(decision_lines(data.frame.decisions))
    lines = decisions or ("Every column was read as it is: no decision had to be made.",)
    yield Passage("table", (Notes(lines),))
    specs, of_feature = data.preparation.schema.columns, data.preparation.column_of_feature
    counts = np.bincount(of_feature, minlength=len(specs)).tolist()
    rows: tuple[Values, ...] = tuple(
        (brief(spec.name), f"{spec.kind} ({spec.form})" if spec.form else spec.kind, count)
        for spec, count in zip(specs, counts, strict=True)
    )
    scale = data.preparation.scale
    words = (
        "The columns that predict, and the features made of each: one per level of a category. Numbers are scaled: "
        f"{scale}."
        if scale != "none"
        else "The columns that predict, and the features made of each. No scaling.",
    )
    table = Table("columns", COLUMNS, (Group(rows[:MOST_COLUMNS]),), words)
    yield from table_files(table, of=of, tidy=Table("columns", COLUMNS, (Group(rows),)))
    yield Passage("table", (table,))
