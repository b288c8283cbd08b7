"""Every pair of methods in a report on a table of errors: the matrix, all tests, and the Bayesian test as bars."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kselect.core.table import Column, Group, Table, Values
from kselect.judge.analysis import Analysis, JudgedPair
from kselect.judge.words import equal, level, rope_text
from kselect.report import style
from kselect.report.elements import Details, File, Passage
from kselect.report.figures.rank_diagram import draw_posteriors, sum_up_posteriors
from kselect.report.words import show_counts, show_p
from kselect.report.writers import table_files
from kselect.stats.omnibus import magnitude

# The widest matrix of pairs that a page shows.
MOST_METHODS = 12
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


def stem(found: Analysis) -> str:
    """Return the name of the file of errors without its ending, with which labels in LaTeX begin."""
    return Path(found.table.path).stem


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
