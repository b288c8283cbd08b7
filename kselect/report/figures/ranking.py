"""Methods ranked over data sets, together with columns from the literature and the published ranks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from typing import Self

import numpy as np

from kselect.core.method import SELECTED
from kselect.core.record import significant
from kselect.core.table import Column, Group, Measure, Table, Values
from kselect.report import style
from kselect.report.elements import Details, Element, File, Heading, Passage
from kselect.report.figures.base import FigureBase, FigureReader
from kselect.report.figures.literature import (
    LiteratureColumn,
    printed_column,
    read_columns,
)
from kselect.report.figures.rank_diagram import draw_posteriors, show_ranks, sum_up_posteriors
from kselect.report.words import describe_fewer, label_of, show_p
from kselect.report.writers import numbers_file, table_files
from kselect.stats.ranks import (
    LEVELS,
    ROPE,
    Contrast,
    Posterior,
    Ranks,
    contrasts,
    posteriors,
    rank,
    wilcoxon,
)
from kselect.stats.samples import SplitErrors, read_samples, table_records
from kselect.stats.study import Study

LEVEL = 0.05  # of the test against the best method
SPREADS = ("error", "deviation")
TIDY = (
    *(Column(csv=name) for name in ("dataset", "method", "mean", "spread", "runs", "best")),
    *(Column(csv=name) for name in ("not_different", "literature", "rank_used")),
)
PAIRS = (
    Column("pair", align="left"),
    Column("rank difference", format="+.2f"),
    *(Column(f"Nemenyi {100 * level:g} %") for level in LEVELS),
    *(Column(name, format=show_p) for name in ("Holm p", "Wilcoxon p")),
    *(Column(name, format=".2f") for name in ("first better", "same", "second better")),
)

POSTERIOR = ("first", "second", "first_better", "same", "second_better")


@dataclass(frozen=True)
class Ranking(FigureBase, kind="ranking"):
    """``{kind: ranking, criteria: [5-CV, ELOO], literature: [MKL], table: 4, spread: deviation}``.

    ``literature`` lists columns of the paper's own table (``printed``), or contains numbers, with or without a
    spread (``columns``): ``{MKL: {heart: 16.7, banana: [10.5, 0.5]}}``. ``table`` is the paper's table with the
    published ranks. ``without`` lists data sets that are left out. ``spread`` is the standard error of our means,
    or their standard deviation over splits. ``title`` is the heading on the page, the name by default.
    """

    criteria: tuple[str, ...]
    printed: tuple[str, ...] = ()
    columns: tuple[LiteratureColumn, ...] = ()
    table: str = ""
    without: tuple[str, ...] = ()
    spread: str = "error"
    title: str = ""

    @property
    def labels(self) -> tuple[str, ...]:
        """Return every column, ours first."""
        return (*self.criteria, *self.printed, *(c.label for c in self.columns))

    @classmethod
    def parse(cls, name: str, config: FigureReader) -> Self:
        """Read methods of the table, and columns from the literature with a number per data set."""
        config.check_keys("criteria", "literature", "table", "without", "spread", "title")
        spread = config.written.get("spread", SPREADS[0])
        if spread not in SPREADS:
            config.wrong(("spread",), f"must be {' or '.join(SPREADS)}")
        given = config.written.get("literature", [])
        own = isinstance(given, dict)
        return cls(
            name,
            config.labels("criteria"),
            tuple(config.names("literature")) if given and not own else (),
            tuple(read_columns(given, config.wrong)) if own else (),
            str(config.written.get("table", "")),
            config.datasets("without") if "without" in config.written else (),
            str(spread),
            config.text("title"),
        )

    def show(self, study: Study) -> Iterator[File | Passage]:
        """Yield the table, the rank diagram, and the posterior probabilities of every pair."""
        found = study.once(rank_columns, self)
        names = list(map(found.mark, found.labels))
        table, pairs = make_table(study, found, self.name), pairs_table(found, self.name)
        more = [pairs] if found.contrasts else []
        yield from table_files(
            table, *more, of=study.experiment.name, tidy=tidy_table(found, self.name)
        )
        elements: list[Element] = [Heading(self.title or self.name), table]
        elements += [Details("Every pair", (pairs,)) for pairs in more]
        yield Passage("rankings", tuple(elements))
        below = "; below, those of the published numbers'" if found.published.datasets else ""
        yield from show_ranks(
            self.name,
            names,
            {"ours": found.ranks, f"published in {study.experiment.paper}": found.published},
            f"Critical-difference diagram of {', '.join(names)}: mean ranks over {len(found.ranks.datasets)} data "
            f"sets{below}. A bar joins methods that Nemenyi's test at 10 % does not distinguish.",
            numbers=f"{self.name}-ranks",
        )
        if found.posteriors:
            rows = (astuple(pair) for pair in found.posteriors)
            yield numbers_file(f"{self.name}-pairs", POSTERIOR, rows)
            yield from style.show_figure(
                f"{self.name}-pairs",
                lambda width: draw_posteriors(found.posteriors, width, found.mark),
                f"How likely each of {', '.join(found.labels)} is better than each other, or the same",
                "Every pair by the Bayesian signed-rank test over "
                f"{len(found.ranks.datasets)} data sets: the probability that the left method's errors are lower "
                f"by more than {ROPE:g} percentage point, that both methods are the same up to that difference, "
                "and that the right method's errors are lower. It can find two methods to be the same; a "
                "significance test cannot.",
                sum_up_posteriors(found.posteriors),
                chapter="rankings",
            )


# Numbers


@dataclass(frozen=True)
class RankedMean:
    """A mean with its spread (for the literature, the published one) and its number of runs.

    ``close`` says that it does not differ significantly from the best of ours, by Wilcoxon's signed ranks over
    splits; None without a test.
    """

    mean: float
    spread: float
    runs: int
    best: bool
    close: bool | None


@dataclass(frozen=True, eq=False)
class Ranked:
    """The numbers of a ranking.

    Attributes
    ----------
    literature
        The labels of columns from the literature.
    rows
        Data set -> one mean per label.
    ranks, contrasts, posteriors
        Ranks over the data sets where every column has a number, and the tests of every pair.
    published
        The ranks of the published means.
    absent
        Data sets that are not ranked; those in ``stand_ins`` because the set that they stand for is.
    counts
        Label -> data set -> the number that the paper prints next to the mean, such as a number of kernels.
    """

    labels: tuple[str, ...]
    literature: frozenset[str]
    rows: Mapping[str, tuple[RankedMean, ...]]
    ranks: Ranks
    contrasts: tuple[Contrast, ...]
    posteriors: tuple[Posterior, ...]
    published: Ranks
    absent: tuple[str, ...]
    stand_ins: frozenset[str]
    spread: str = SPREADS[0]
    counts: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def mark(self, label: str) -> str:
        """Return ``MKL (lit.)`` for a column from the literature."""
        return f"{label} (lit.)" if label in self.literature else label


def rank_columns(study: Study, figure: Ranking) -> Ranked:
    """Rank the methods with the records of the experiment's own loss and with the published numbers."""
    experiment = study.experiment
    table = table_records(study.records, experiment, experiment.loss)
    found = read_samples(table, experiment)
    samples = {(d, m): s for (setting, d, m), s in found.items() if setting == SELECTED}
    printed = [printed_column(study.published, label) for label in figure.printed]
    columns = (*printed, *figure.columns)
    rows: dict[str, tuple[RankedMean, ...]] = {}
    ranked: dict[str, list[float]] = {}
    for dataset in experiment.datasets:
        # A stand-in is not ranked if the data set that it stands for is.
        name = experiment.info(dataset).stands_for or dataset
        if name in figure.without:
            continue
        mine = [samples.get((dataset, label), SplitErrors()) for label in figure.criteria]
        known = [c.values.get(name, (math.nan, math.nan)) for c in columns]
        if any(s.runs for s in mine):
            rows[dataset] = make_row(mine, known, figure.spread)
        shared = frozenset.intersection(*(frozenset(s.errors) for s in mine))
        means = [mean for mean, _ in known]
        if shared and not any(map(math.isnan, means)) and name not in ranked:
            ranked[dataset] = [significant(s.on(shared).mean) for s in mine] + means
    errors = np.array(list(ranked.values()), dtype=np.float64)
    errors = errors.reshape(len(ranked), len(figure.labels))
    ranks = rank(errors, tuple(ranked))
    absent = tuple(d for d in rows if d not in ranked)
    return Ranked(
        figure.labels,
        frozenset(c.label for c in columns),
        rows,
        ranks,
        contrasts(errors, ranks, figure.labels),
        posteriors(errors, figure.labels),
        published_ranks(study, figure),
        absent,
        frozenset(d for d in absent if experiment.info(d).stands_for in ranked),
        figure.spread,
        {c.label: c.counts for c in columns if c.counts},
    )


def make_row(
    mine: Sequence[SplitErrors], known: Sequence[tuple[float, float]], spread: str
) -> tuple[RankedMean, ...]:
    """Return our means with Wilcoxon's test against the best of them, then the means from the literature."""
    lowest = min((s.mean for s in mine if s.runs), default=math.nan)
    best = next((s for s in mine if s.runs and s.mean == lowest), None)
    ours = [
        RankedMean(
            s.mean,
            s.sd if spread == "deviation" else s.sd / math.sqrt(max(s.runs, 1)),
            s.runs,
            s is best or s.mean == lowest,
            is_close(s, best),
        )
        for s in mine
    ]
    return (*ours, *(RankedMean(mean, spread, 0, False, None) for mean, spread in known))


def is_close(mine: SplitErrors, best: SplitErrors | None) -> bool | None:
    """Return whether a sample does not differ significantly from the best at 5 %; None without a test."""
    if best is None or not mine.runs:
        return None
    shared = frozenset(mine.errors) & frozenset(best.errors)
    a, b = (np.array(list(s.on(shared).errors.values())) for s in (mine, best))
    p = wilcoxon(a, b) if mine is not best else 1.0
    return None if math.isnan(p) else p >= LEVEL


def published_ranks(study: Study, figure: Ranking) -> Ranks:
    """Rank the published means of the figure's table, or the first mean of each cell in any table."""
    paper, labels = study.paper, figure.labels
    found: dict[str, dict[str, float]] = {}
    for row in study.published:
        name = paper.column(row.method) if paper else row.method
        here = row.dataset not in figure.without and figure.table in ("", row.table)
        if here and name in labels:
            found.setdefault(row.dataset, {}).setdefault(name, row.mean)
    rows = {d: means for d, means in found.items() if len(means) == len(labels)}
    values = np.array([[means[m] for m in labels] for means in rows.values()], dtype=np.float64)
    return rank(values.reshape(len(rows), len(labels)), tuple(rows))


# Words


def make_table(study: Study, found: Ranked, name: str) -> Table:
    """Return the means with their spreads, the mean ranks last."""
    headings = [
        found.mark(m) if m in found.literature else label_of(m, study) for m in found.labels
    ]
    rows: list[Values] = []
    for dataset, row in found.rows.items():
        few = describe_fewer([one.runs for one in row if one.runs], len(study.experiment.splits))
        absent = " (not ranked)" if dataset in found.absent else ""
        name_there = study.experiment.info(dataset).stands_for or dataset
        counts = (known.get(name_there) for known in found.counts.values())
        rows.append((dataset + few + absent, *map(make_cell, row), *counts))
    ranks = {"mean rank": found.ranks, "published": found.published}
    blank = [None] * len(found.counts)
    foot: tuple[Values, ...] = tuple(
        (title, *r.mean, *blank) for title, r in ranks.items() if r.datasets
    )
    caption = [f"Test error in %, mean ± standard {found.spread} over splits."]
    if found.literature:
        names = ", ".join(sorted(found.literature))
        caption.append(f"{names}: from the literature, with the published spread.")
    return Table(
        name,
        (
            Column("data set", align="left"),
            *(Column(h, "", ".2f", "measure") for h in headings),
            *(Column(f"kernels of {label}", "", ".1f") for label in found.counts),
        ),
        (Group(tuple(rows), foot=foot),),
        tuple(caption),
        tuple(describe_tests(found)),
        "the lowest mean of ours",
        "not significantly different from it by Wilcoxon's signed ranks over splits at 5 %",
    )


def make_cell(one: RankedMean) -> Measure:
    """Return a cell of the table."""
    hint = f"{one.runs} runs" if one.runs else "from the literature"
    mark = "best" if one.best else "close" if one.close else ""
    return Measure(one.mean, one.spread, mark=mark, hint=hint)  # type: ignore[arg-type]


def tidy_table(found: Ranked, name: str) -> Table:
    """Return every cell as a row."""
    rows = tuple(
        (
            *(dataset, label, one.mean, one.spread, one.runs, one.best, one.close),
            *(label in found.literature, dataset not in found.absent),
        )
        for dataset, row in found.rows.items()
        for label, one in zip(found.labels, row, strict=True)
    )
    return Table(name, TIDY, (Group(rows),))


def pairs_table(found: Ranked, name: str) -> Table:
    """Return every pair with every test."""
    rows = tuple(
        (
            *(f"{found.mark(c.first)} and {found.mark(c.second)}", c.difference),
            *("differ" if seen else "no difference" for seen in c.nemenyi),
            *(c.p_holm, c.p_wilcoxon, p.better, p.same, p.worse),
        )
        for c, p in zip(found.contrasts, found.posteriors, strict=True)
    )
    return Table(f"{name}-pairs", PAIRS, (Group(rows),), ("Every pair.",))


def describe_tests(found: Ranked) -> Iterator[str]:
    """Yield the tests over data sets, of our numbers and of the published ones, and what is not ranked."""
    yield f"Ours: {describe_ranks(found.ranks)}"
    if found.published.datasets:
        yield f"Published: {describe_ranks(found.published)}"
    different = [c for c in found.contrasts if c.nemenyi[LEVELS.index(0.1)]]
    yield from map(describe_pair, different)
    if found.contrasts and not different:
        yield "No two of these differ by Nemenyi's test at 10 %."
    twins = [d for d in found.absent if d in found.stand_ins]
    others = [d for d in found.absent if d not in found.stand_ins]
    if others:
        yield f"Not ranked, as some methods have no number there: {', '.join(others)}."
    if twins:
        yield f"Not ranked, as the data set that it stands for is there: {', '.join(twins)}."


def describe_ranks(ranks: Ranks) -> str:
    """Return Friedman's test, Iman and Davenport's F, and Nemenyi's critical differences."""
    if ranks.friedman is None or ranks.critical is None:
        return "too few data sets for a test."
    limits = ", ".join(
        f"{c:.2f} at {100 * a:g} %" for c, a in zip(ranks.critical, LEVELS, strict=True)
    )
    test = ranks.friedman
    shown, plain = (
        [f"{v:.2f}" for v in pair] for pair in ((test.chi_squared, test.f), test.uncorrected)
    )
    p = f"= {show_p(test.p_value)}".replace("= <", "<")
    ties = "" if shown == plain else f"; without the correction for ties {' and '.join(plain)}"
    return (
        f"{len(ranks.datasets)} data sets, Friedman's chi-squared {shown[0]}, Iman and Davenport's "
        f"F {shown[1]} (p {p}{ties}), Nemenyi's critical difference {limits}."
    )


def describe_pair(pair: Contrast) -> str:
    """Return a sentence on two methods that differ."""
    better, worse = (pair.first, pair.second)[:: 1 if pair.difference < 0 else -1]
    level = next(a for a, seen in zip(LEVELS, pair.nemenyi, strict=True) if seen)
    holm, wilcoxon_p = (
        f"= {show_p(p)}".replace("= <", "<") for p in (pair.p_holm, pair.p_wilcoxon)
    )
    return (
        f"{better} ranks before {worse} by {abs(pair.difference):.2f} (Nemenyi at {100 * level:g} %; "
        f"Holm p {holm}; Wilcoxon over data sets p {wilcoxon_p})."
    )
