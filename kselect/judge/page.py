"""The report on a table of errors: CSV, Markdown, LaTeX, figures and a page, all below one folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from kselect.core.method import SELECTED
from kselect.core.table import Column, Group, Table, Values
from kselect.errors import WriteError
from kselect.files import reason, write_whole
from kselect.judge.analysis import Analysis, JudgedPair, shown_cells
from kselect.judge.claims import JudgedClaim
from kselect.judge.words import equal, level, noun, paragraph, references, rope_text
from kselect.report import style
from kselect.report.elements import Details, Element, File, Heading, Notes, Paragraph, Passage
from kselect.report.figures.rank_diagram import draw_posteriors, show_ranks, sum_up_posteriors
from kselect.report.latex import escape_latex
from kselect.report.page import render_page
from kselect.report.sections.main_table import show_row
from kselect.report.template import Links
from kselect.report.words import show_counts, show_p
from kselect.report.writers import table_files, write_csv
from kselect.stats.omnibus import magnitude
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
# The widest matrix of pairs that a page shows.
MOST_METHODS = 12
ERRORS = tuple(
    Column(csv=name)
    for name in (
        *("dataset", "method", "mean", "sd", "splits", "best", "not_worse", "not_worse_corrected"),
        *("p_value", "p_value_corrected", "metric"),
    )
)
PAIRS = (
    *(Column(name, name, align="left") for name in ("first", "second")),
    Column("mean difference", "difference", "+.3g"),
    Column("median", "median", "+.3g"),
    Column("95 % interval", align="left"),
    *(Column(csv=name) for name in ("low", "high", "unit")),
    Column("better/equal/worse"),
    *(Column(csv=name) for name in ("better", "equal", "worse")),
    Column("Wilcoxon p (Holm)", "p_wilcoxon_holm", show_p),
    Column("post hoc p", "p_post_hoc", show_p),
    Column("effect size", "effect_size", "+.2f"),
    *(Column(csv=name) for name in ("effect_size_low", "effect_size_high")),
    Column("magnitude", "magnitude", align="left"),
    Column("t-tests"),
    *(Column(csv=f"t_test_{name}") for name in ("better", "none", "worse")),
    *(
        Column(name, f"p_{name.replace(' ', '_')}", ".2f")
        for name in ("first better", "same", "second better")
    ),
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


def write_judgement(found: Analysis, claims: Sequence[JudgedClaim], folder: Path) -> list[Path]:
    """Write every file below a folder, each in one step; remove the claims of an earlier judgement."""
    passages: list[Passage] = []
    paths: list[Path] = []
    try:
        for item in (*show_words(found), *show_claims(found, claims), *show_all(found)):
            if isinstance(item, Passage):
                passages.append(item)
                continue
            write_whole(folder / item.name, item.content)
            paths.append(folder / item.name)
        if not claims:
            for ending in ("csv", "md", "tex"):
                (folder / f"tables/claims.{ending}").unlink(missing_ok=True)
        write_whole(folder / "report.html", make_page(found, passages, Links(folder)))
    except OSError as error:
        where = error.filename or folder
        raise WriteError(f"{where}: cannot write: {reason(error)}") from None
    return [*paths, folder / "report.html"]


def make_page(found: Analysis, passages: Sequence[Passage], links: Links) -> str:
    """Return the page, which links to its files."""
    table = found.table
    methods, datasets = len(table.methods), len(table.datasets)
    protocol = (
        f"{methods} methods on {datasets} data set{'s' * (datasets > 1)}; tests at {level(found)}, "
        f"{'higher' if table.higher else 'lower'} numbers are better."
    )
    return render_page(
        *(f"Judgement of {table.path}", "By kselect judge", protocol, passages, CHAPTERS),
        links=links,
    )


def show_all(found: Analysis) -> Iterator[File | Passage]:
    """Yield the tables and figures of the tests."""
    yield from show_errors(found)
    yield from show_mean_ranks(found)
    yield from show_pairs(found)
    yield from show_tests(found)
    how = (*found.table.notes, *explain(found), *(f"Reference: {r}." for r in references(found)))
    yield Passage("made", (Notes(how),))


def stem(found: Analysis) -> str:
    """Return the name of the file of errors without its ending, with which labels in LaTeX begin."""
    return Path(found.table.path).stem


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
    rows = [
        show_row(d, "%" if d in table.percent else "", shown_cells(found, d), most)
        for d in table.datasets
    ]
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


def show_pairs(found: Analysis) -> Iterator[File | Passage]:
    """Yield the matrix of all pairs, the table of their tests, and the Bayesian test as bars."""
    relative = found.table.relative
    units = {d in relative for d in found.table.datasets}
    unit = "points" if units == {False} else "% of the second's number"
    unit = f"points or {unit}" if len(units) > 1 else unit
    pairs = Table(
        "pairs", PAIRS, (Group(tuple(map(pair_row, found.pairs))),), (explain_pairs(found, unit),)
    )
    matrix = matrix_table(found, unit)
    some = [matrix] if len(found.table.methods) <= MOST_METHODS else []
    yield from table_files(pairs, *some, of=stem(found))
    yield Passage("pairs", (*some, Details("Every test of every pair", (pairs,))))
    posteriors = [pair.posterior for pair in found.pairs if pair.posterior]
    if not posteriors:
        return
    same = f"the same within {rope_text(found)}"
    yield from style.show_figure(
        "pairs",
        lambda width: draw_posteriors(posteriors, width, str, same),
        f"How likely each of {', '.join(found.table.methods)} is better than each other, or the same",
        "Every pair by the Bayesian signed-rank test over data sets: the probability that the left method is "
        "better by "
        f"more than {rope_text(found)}, that both are the same up to that difference, and that the right "
        f"method "
        "is better. It can find two methods to be the same; a significance test cannot.",
        sum_up_posteriors(posteriors, same),
        chapter="pairs",
    )


def pair_row(pair: JudgedPair) -> Values:
    """Return every number of a pair."""
    over, size = pair.over_datasets, pair.size
    tests = pair.contest.by_corrected
    posterior = pair.posterior
    return (
        *(pair.first, pair.second, pair.difference),
        *(pair.median.value, pair.median.interval or None),
        *(pair.median.low, pair.median.high, pair.median.unit),
        *(show_counts(over.by_mean), *over.by_mean, over.p_value, pair.post_hoc),
        *(size.value, size.low, size.high),
        magnitude(size.value) if size.value == size.value else None,
        *(show_counts(tests), *(tests if sum(tests) else (None,) * 3)),
        *((posterior.better, posterior.same, posterior.worse) if posterior else (None,) * 3),
    )


def matrix_table(found: Analysis, unit: str) -> Table:
    """Return the matrix of pairs: the row's method against the column's."""
    methods = found.table.methods
    both = {(p.first, p.second): (p, 1) for p in found.pairs}
    both |= {(p.second, p.first): (p, -1) for p in found.pairs}
    rows = []
    for row in methods:
        cells: list[str | None] = []
        for column in methods:
            if row == column:
                cells.append(None)
                continue
            pair, sign = both[row, column]
            counts = show_counts(
                type(pair.over_datasets.by_mean)(*pair.over_datasets.by_mean[::sign])
            )
            p = pair.over_datasets.p_value
            test = f", {equal(p)}" if p == p else ""
            cells.append(f"{sign * pair.difference:+.3g} ({counts}){test}")
        rows.append((row, *cells))
    caption = (
        f"The row's method against the column's: mean difference over data sets in {unit}; the number of data "
        f"sets on "
        "which the row's method is better, equal and worse; p of Wilcoxon's signed ranks with Holm's "
        "correction over "
        "all pairs. Differences and counts do not change when a method is added.",
    )
    columns = (Column("method", align="left"), *(Column(m) for m in methods))
    return Table(
        "matrix", (Column("method", align="left"), *columns[1:]), (Group(tuple(rows)),), caption
    )


def explain_pairs(found: Analysis, unit: str) -> str:
    """Return the caption of the table of pairs."""
    kind = "the corrected t-test" if found.table.overlap else "the t-test"
    post_hoc = (
        f"; post hoc: {found.omnibus.post_hoc}" if found.omnibus and found.omnibus.post_hoc else ""
    )
    return (
        f"The first method against the second, differences in {unit}. Interval: bootstrap over data sets of the "
        "median difference; for one data set the corrected t interval of the mean over splits. t-tests: the "
        "number of data sets on which "
        f"the first is significantly better, neither, and significantly worse by {kind}, one-sided at "
        f"{level(found)}{post_hoc}. The last three columns are the probabilities of the Bayesian signed-rank "
        f"test with a region of practical "
        f"equivalence of {rope_text(found)}."
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
