"""The report on a table of errors: CSV, Markdown, LaTeX, figures and a page, all below one folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kselect.core.method import SELECTED
from kselect.core.table import Column, Group, Table, Values
from kselect.errors import WriteError
from kselect.files import reason, write_whole
from kselect.judge.analysis import Analysis, shown_cells
from kselect.judge.claims import JudgedClaim
from kselect.judge.pairs import show_pairs, stem
from kselect.judge.words import equal, level, noun, paragraph, references
from kselect.report.cells import FOLDER, cell_script, describe_errors
from kselect.report.elements import Details, Element, File, Heading, Notes, Paragraph, Passage
from kselect.report.figures.rank_diagram import show_ranks
from kselect.report.head import Copied, Head, this_machine
from kselect.report.latex import escape_latex
from kselect.report.page import PAGE, STANDALONE, render_page
from kselect.report.sections.main_table import show_row
from kselect.report.template import Links
from kselect.report.words import show_p
from kselect.report.writers import table_files, write_csv
from kselect.stats.ranks import critical_difference

CHAPTERS = {
    "words": ("In words", "In words, for a paper"),
    "claims": ("Claims", "Claims"),
    "tables": ("Numbers", "Numbers"),
    "ranks": ("Ranks", "Methods ranked over data sets"),
    "pairs": ("Pairs", "Every pair of methods"),
    "splits": ("Splits", "Tests over the splits of each data set"),
    "made": ("How", "How the numbers were read and tested"),
}
ERRORS = tuple(
    Column(csv=name)
    for name in (
        *("dataset", "method", "mean", "sd", "splits", "best", "not_worse", "not_worse_corrected"),
        *("p_value", "p_value_corrected", "metric"),
    )
)
TESTS = (
    Column("data set", "dataset", align="left"),
    *(Column(name, name, align="left") for name in ("first", "second")),
    Column("mean difference", "difference", "+.3g"),
    Column("splits", "splits"),
    Column("t", "t", "+.2f"),
    Column("p, plain", "p_value", show_p),
    Column("p, corrected", "p_value_corrected", show_p),
    Column("with Holm", "p_holm", show_p),
)
CLAIMS = (
    Column("claim", "claim", align="left"),
    Column("verdict", "verdict", align="verdict"),
    Column("corrected t-test", "verdict_corrected", align="verdict"),
    Column("effect", align="left"),
    *(Column(csv=name, csv_format=".6g") for name in ("effect", "low", "high")),
    Column(csv="unit"),
    Column("95 % interval", align="left"),
    Column("counts", "counts", align="prose"),
)


def write_judgement(
    found: Analysis,
    claims: Sequence[JudgedClaim],
    folder: Path,
    command: str = "",
    standalone: bool = False,
) -> list[Path]:
    """Write every file below a folder, each in one step; remove the claims of an earlier judgement.

    ``command`` is what the user has typed. ``standalone`` adds a page that needs no other file.
    """
    passages: list[Passage] = []
    paths: list[Path] = []
    data: list[str] = []
    try:
        for item in (*show_words(found), *show_claims(found, claims), *show_all(found)):
            if isinstance(item, Passage):
                passages.append(item)
                continue
            write_whole(folder / item.name, item.content)
            paths.append(folder / item.name)
            if item.name.startswith(f"{FOLDER}/"):
                data.append(str(item.content))
        if not claims:
            for ending in ("csv", "md", "tex"):
                (folder / f"tables/claims.{ending}").unlink(missing_ok=True)
        pages = {PAGE: make_page(found, claims, passages, command, Links(folder))}
        if standalone:
            contained = Links(folder, True)
            pages[STANDALONE] = make_page(found, claims, passages, command, contained, data)
        for name, text in pages.items():
            write_whole(folder / name, text)
    except OSError as error:
        where = error.filename or folder
        raise WriteError(f"{where}: cannot write: {reason(error)}") from None
    return [*paths, *(folder / name for name in pages)]


def make_page(
    found: Analysis,
    claims: Sequence[JudgedClaim],
    passages: Sequence[Passage],
    command: str,
    links: Links,
    data: Sequence[str] = (),
) -> str:
    """Return the page, which links to its files or contains them with the ``data`` of its cells."""
    table = found.table
    methods, datasets = len(table.methods), len(table.datasets)
    protocol = (
        f"{methods} methods on {datasets} data set{'s' * (datasets > 1)}; tests at {level(found)}, "
        f"{'higher' if table.higher else 'lower'} numbers are better."
    )
    return render_page(
        *(f"Judgement of {table.path}", "By kselect judge", protocol, passages, CHAPTERS),
        links=links,
        top=make_judgement_head(found, claims, command),
        data=data,
    )


def make_judgement_head(found: Analysis, claims: Sequence[JudgedClaim], command: str) -> Head:
    """Return the result in a sentence, the file and the machine, and the command that repeats it."""
    best, ranks = found.order[0], found.ranks
    words = [
        f"{found.table.methods[best]} has the lowest mean rank of {len(found.table.methods)} methods on "
        f"{len(ranks.datasets)} data sets ({ranks.mean[best]:.2f}; 1 is best)."
    ]
    if claims:
        holds = sum(one.verdict == "supported" for one in claims)
        words.append(
            f"{holds} of {len(claims)} claim{'s' * (len(claims) > 1)} {'is' if holds == 1 else 'are'} supported."
        )
    facts = (
        ("Data", f"{found.table.path}, SHA-256 {found.table.sha256}"),
        ("Computed with", this_machine()),
    )
    again = Copied("Judge it again", "command", command, "In the folder of the data:")
    return Head(facts, (again,), lead=" ".join(words))


def show_all(found: Analysis) -> Iterator[File | Passage]:
    """Yield the tables and figures of the tests."""
    yield from show_errors(found)
    yield from show_mean_ranks(found)
    yield from show_pairs(found)
    yield from show_tests(found)
    how = (*found.table.notes, *explain(found), *(f"Reference: {r}." for r in references(found)))
    yield Passage("made", (Notes(how),))


def show_words(found: Analysis) -> Iterator[File | Passage]:
    """Yield the paragraph for a paper, as Markdown and LaTeX."""
    text = paragraph(found)
    yield File("paragraph.md", f"{text}\n")
    yield File("paragraph.tex", f"{escape_latex(text)}\n")
    yield Passage("words", (Paragraph(text),))


def show_claims(found: Analysis, claims: Sequence[JudgedClaim]) -> Iterator[File | Passage]:
    """Yield the verdicts, and the rule of each."""
    if not claims:
        return
    rows: tuple[Values, ...] = tuple(
        (
            *(one.claim.text, one.verdict, one.corrected),
            *(one.effect.text or None, one.effect.value, one.effect.low, one.effect.high),
            *(one.effect.unit, one.effect.interval or None, one.counts),
        )
        for one in claims
    )
    caption = (
        "Each claim is judged by the rule of its kind for the claims of papers, at 5 %; the signs compare the "
        "numbers "
        "of the file. Counts are data sets on which the first method is better, equal or worse. The effect is "
        "the "
        "median over data sets of the difference, with a bootstrap interval; for one data set the mean over "
        "splits.",
    )
    table = Table("claims", CLAIMS, (Group(rows),), caption)
    yield from table_files(table, of=stem(found))
    elements: list[Element] = [table]
    for one in claims:
        elements += [Heading(one.claim.text, 3), Paragraph(one.text, one.verdict)]
        elements += [Paragraph(f"The rule. {one.rule}", soft=True)] if one.rule else []
    yield Passage("claims", tuple(elements))


def show_errors(found: Analysis) -> Iterator[File | Passage]:
    """Yield the means of every data set and method, the mean ranks last."""
    table, cells = found.table, found.comparison.cells[SELECTED]
    most = max(found.comparison.splits.values())
    rows = []
    for i, d in enumerate(table.datasets):
        shown = shown_cells(found, d)
        behind = [(f"errors-{i}/{j}", None) for j in range(len(shown))]
        rows.append(show_row(d, "%" if d in table.percent else "", shown, most, behind))
        yield cell_script(f"errors-{i}", [panel(found, d, m) for m in table.methods])
    units = {d in table.percent for d in table.datasets}
    unit = " in %" if units == {True} else ", in % where a row is a share" if len(units) > 1 else ""
    kind = "corrected t-test" if table.overlap else "t-test"
    foot: tuple[Values, ...] = (("mean rank", *found.ranks.mean),)
    tidy = tuple(
        (
            *(d, m, table.sign * c.mean, c.sd, c.runs, c.best, c.not_worse, c.not_worse_corrected),
            *(test.p_value if test else None for test in (c.worse, c.worse_corrected)),
            table.metrics[d],
        )
        for (d, m), c in cells.items()
    )
    main = Table(
        "errors",
        (
            Column("data set", align="left"),
            *(Column(m, "", ".2f", "measure") for m in table.methods),
        ),
        (Group(tuple(rows), foot=foot),),
        (f"Mean {noun(found)}{unit} ± standard deviation over splits.",),
        best="the best mean of its row",
        close=f"not significantly worse (one-sided {kind} at {level(found)})" if most > 1 else "",
    )
    yield from table_files(main, of=stem(found), tidy=Table("errors", ERRORS, (Group(tidy),)))
    yield Passage("tables", (main,))


def panel(found: Analysis, dataset: str, method: str) -> dict[str, Any]:
    """Return what a click on a mean shows: the errors of its splits, and the tests."""
    table, cell = found.table, found.comparison.cells[SELECTED][dataset, method]
    unit = (table.metrics[dataset] or "error") + (" in %" if dataset in table.percent else "")
    return {"title": f"{method} on {dataset}", "unit": unit, **describe_errors(cell, table.sign)}


def show_mean_ranks(found: Analysis) -> Iterator[File | Passage]:
    """Yield the rank diagram, for two or more data sets."""
    methods, ranks = found.table.methods, found.ranks
    if ranks.friedman is None:
        return
    friedman = ranks.friedman
    difference = critical_difference(len(methods), len(ranks.datasets), found.alpha)
    yield Passage(
        "ranks",
        (
            Paragraph(
                f"Friedman's chi-squared is {friedman.chi_squared:.3g}, Iman and Davenport's F {friedman.f:.3g} "
                f"({equal(friedman.p_value)}); Nemenyi's critical difference is {difference:.2f} at "
                f"{level(found)}."
            ),
        ),
    )
    yield from show_ranks(
        "ranks",
        methods,
        {"mean ranks": ranks},
        f"Critical-difference diagram: mean ranks over {len(ranks.datasets)} data sets, 1 is best. A bar "
        f"joins methods "
        f"that Nemenyi's test at {level(found)} does not tell apart. Mean ranks change when a method is added.",
        found.alpha,
        chapter="ranks",
    )


def show_tests(found: Analysis) -> Iterator[File | Passage]:
    """Yield the t-tests of every pair on every data set, two-sided."""
    if not found.tests:
        return
    rows: tuple[Values, ...] = tuple(
        (
            *(t.dataset, t.first, t.second, t.difference, t.splits),
            *(t.statistic, t.p_value, t.p_corrected, t.holm),
        )
        for t in found.tests
    )
    ratio = (
        "corrected for overlapping splits" if found.table.overlap else "not corrected for overlap"
    )
    caption = (
        f"Two-sided t-tests over the splits of each data set, {ratio}: the first method minus the second. Holm's "
        "correction is over the pairs of a data set.",
    )
    table = Table("t-tests", TESTS, (Group(rows),), caption)
    yield File("tables/t-tests.csv", write_csv(table))
    yield Passage("splits", (Details(f"{len(rows)} tests", (table,)),))


def explain(found: Analysis) -> Iterator[str]:
    """Yield how the test over data sets was chosen."""
    yield (
        "The test over data sets is chosen as autorank does: normality of each method's means (Shapiro and Wilk, "
        "Bonferroni's correction), then equal variances (Bartlett or Levene). Two methods: paired t-test or "
        "Wilcoxon's "
        "signed ranks, both two-sided. More: analysis of variance with repeated measures and Tukey's HSD, or "
        "Friedman's and Nemenyi's tests."
    )
