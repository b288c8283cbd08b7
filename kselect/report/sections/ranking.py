"""Some columns of the table ranked over data sets: means, Wilcoxon's marks, every pair, a rank diagram."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from kselect.model.experiment import Columns
from kselect.model.method import Method
from kselect.report.blocks import (
    Block,
    Element,
    File,
    Fold,
    Grid,
    Heading,
    Measures,
    Notes,
    Shown,
    Text,
)
from kselect.report.cells import Row, describe_fewer, show_fixed, show_p
from kselect.report.cells import Shown as ShownCell
from kselect.report.formats import latex, markdown, tidy
from kselect.report.panels import show_figure
from kselect.report.rank_axis import make_canvas
from kselect.report.sections.base import Wrong, figure, read_labels, read_list
from kselect.report.words import mark_label
from kselect.stats.pairwise import Contrast
from kselect.stats.rankings import Column, Entry, Ranked, Ranking, rank_columns
from kselect.stats.ranks import LEVELS, Ranks
from kselect.stats.study import Study

KEYS = ("criteria", "literature", "table")
PAIRS = (
    "pair",
    "rank difference",
    *(f"Nemenyi {100 * level:g} %" for level in LEVELS),
    "Holm p",
    "Wilcoxon p",
)
HEAD = (
    "dataset",
    "method",
    "mean",
    "spread",
    "runs",
    "best",
    "not_different",
    "literature",
    "rank_used",
)


@figure("ranking")
class RankingFigure:
    """``{kind: ranking, criteria: [5-CV, ELOO], literature: [MKL], table: 4}``.

    ``literature`` lists columns of the paper's own table, or holds numbers, each with a spread or without:
    ``{MKL: {heart: 16.7, banana: [10.5, 0.5]}}``.
    """

    def read(
        self, name: str, written: Mapping[str, Any], columns: Columns, wrong: Wrong
    ) -> Ranking:
        """Columns of the table, and others with a number per data set."""
        for key in written:
            if key not in KEYS:
                wrong((key,), f"unknown key; valid: {', '.join(KEYS)}")
        labels = tuple(read_labels("criteria", written, columns, wrong))
        given = written.get("literature", [])
        printed = (
            ()
            if isinstance(given, dict) or not given
            else tuple(read_list("literature", written, wrong))
        )
        own = tuple(read_columns(given, columns, wrong)) if isinstance(given, dict) else ()
        return Ranking(name, labels, printed, own, str(written.get("table", "")))

    def methods(self, figure: Ranking, columns: Columns) -> Iterable[Method]:
        """Nothing beside the table's."""
        return ()

    def keep(self, figure: Ranking, labels: frozenset[str]) -> Ranking | None:
        """With some of its columns."""
        kept = tuple(c for c in figure.criteria if c in labels)
        return replace(figure, criteria=kept) if kept else None

    def show(self, figure: Ranking, study: Study) -> Shown:
        """The table with its files, and the diagram."""
        found = study.once(rank_columns, figure)
        drawn = show_figure(
            figure.name,
            lambda: make_canvas(found, study.experiment.paper),
            f"Mean ranks of {', '.join(found.labels)} with the critical difference",
            describe_diagram(found),
        )
        name = f"tables/{figure.name}"
        grid = as_grid(study, found)
        texts = (describe(study, found), *notes(found))
        files = [
            File(f"{name}.csv", to_csv(found)),
            File(f"{name}.md", to_markdown(figure.name, texts, grid, found)),
            File(f"{name}.tex", latex.write_grid_pages(figure.name, texts, grid, texts[:1])),
        ]
        block = Block("rankings", tuple(elements(study, figure.name, found)))
        picture = Block("rankings", tuple(e for b in drawn.blocks for e in b.elements))
        return Shown([*files, *drawn.files], [block, picture])


def read_columns(given: Mapping[str, Any], columns: Columns, wrong: Wrong) -> Iterator[Column]:
    """``{MKL: {heart: 16.7, banana: [10.5, 0.5]}}``: a mean, or a mean with its spread."""
    for label, values in given.items():
        if not isinstance(values, dict):
            wrong(("literature", label), "must be a mapping of data sets, as in {heart: 16.7}")
            continue
        known: dict[str, tuple[float, float]] = {}
        for dataset, value in values.items():
            numbers = value if isinstance(value, list) else [value]
            if not 1 <= len(numbers) <= 2 or not all(is_number(v) for v in numbers):
                wrong(("literature", label, dataset), "must be a number, or [mean, spread]")
            else:
                known[dataset] = (float(numbers[0]), float(numbers[1]) if numbers[1:] else math.nan)
        yield Column(label, known)


def is_number(value: object) -> bool:
    """Whether YAML read a number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def head(study: Study, found: Ranked) -> tuple[str, ...]:
    """The columns' names, those of the literature marked."""
    marked = (
        f"{m} (lit.)" if m in found.literature else mark_label(m, study.reconstructed)
        for m in found.labels
    )
    return ("data set", *marked)


def name_row(study: Study, found: Ranked, dataset: str) -> str:
    """A data set, with what its reader must know."""
    counts = [e.runs for e in found.rows[dataset] if e.runs]
    few = describe_fewer(counts, len(study.experiment.splits))
    return dataset + few + (" (not ranked)" if dataset in found.absent else "")


def as_grid(study: Study, found: Ranked) -> Grid:
    """Means with their spreads as words, the mean ranks last."""
    rows = [
        (name_row(study, found, d), *(show_entry(e) for e in row)) for d, row in found.rows.items()
    ]
    ranks = [("mean rank", *show_ranks(found.ranks))] if found.ranks.datasets else []
    printed = [("published", *show_ranks(found.published))] if found.published.datasets else []
    return Grid(head(study, found), (*rows, *ranks, *printed))


def show_entry(entry: Entry) -> str:
    """``10.60 ± 0.05``, with a star where it is the best and a ring where it is not significantly different."""
    if math.isnan(entry.mean):
        return "--"
    text = show_fixed(entry.mean, 2)
    if not math.isnan(entry.spread):
        text += f" ± {show_fixed(entry.spread, 2)}"
    return text + ("*" if entry.best else "°" if entry.close else "")


def show_ranks(ranks: Ranks) -> tuple[str, ...]:
    """Two decimals."""
    return tuple("" if math.isnan(m) else f"{m:.2f}" for m in ranks.mean)


def elements(study: Study, name: str, found: Ranked) -> Iterator[Element]:
    """On the page: the table with bold and underlined cells, the tests, every pair."""
    yield Heading(name)
    yield Text(describe(study, found, marks="Bold: the lowest mean of ours. Underlined: "))
    rows = tuple(
        Row(d, name_row(study, found, d), "%", 0, tuple(show_cell(e) for e in row))
        for d, row in found.rows.items()
    )
    foot = ("mean rank", *show_ranks(found.ranks)) if found.ranks.datasets else ()
    yield Measures(head(study, found), rows, foot)
    yield Notes(notes(found))
    if found.contrasts:
        yield Fold("Every pair", (pairs_grid(found),))


def show_cell(entry: Entry) -> ShownCell:
    """As the main table shows a cell."""
    mark = "best" if entry.best else "close" if entry.close else ""
    hint = f"{entry.runs} runs" if entry.runs else "from the literature"
    return ShownCell(show_fixed(entry.mean, 2), show_fixed(entry.spread, 2), mark, 0, hint)  # type: ignore[arg-type]


def describe(study: Study, found: Ranked, marks: str = "*: the lowest mean of ours; °: ") -> str:
    """What the cells are."""
    text = (
        "Test error in %, mean ± standard error over splits. "
        f"{marks}not significantly different from it by Wilcoxon's signed ranks over splits at 5 %."
    )
    if found.literature:
        text += (
            f" {', '.join(sorted(found.literature))}: from the literature, as printed, with the spread that is "
            "printed there."
        )
    return text


def notes(found: Ranked) -> tuple[str, ...]:
    """The tests over data sets, of ours and of the published numbers."""
    said = [f"Ours: {describe_ranks(found.ranks)}"]
    if found.published.datasets:
        said.append(f"Published: {describe_ranks(found.published)}")
    said += [describe_pair(c) for c in found.contrasts if c.nemenyi[LEVELS.index(0.1)]]
    if found.contrasts and len(said) == 1 + bool(found.published.datasets):
        said.append("No two of these differ by Nemenyi's test at 10 %.")
    if found.absent:
        why = "some column has no number for it, or it stands for one that is there"
        said.append(f"Not ranked: {', '.join(found.absent)} ({why}).")
    return tuple(said)


def describe_ranks(ranks: Ranks) -> str:
    """Friedman's test, Iman and Davenport's F, Nemenyi's critical differences."""
    if ranks.friedman is None or ranks.critical is None:
        return "too few data sets for a test."
    limits = ", ".join(
        f"{c:.2f} at {100 * a:g} %" for c, a in zip(ranks.critical, LEVELS, strict=True)
    )
    test = ranks.friedman
    return (
        f"{len(ranks.datasets)} data sets, Friedman's chi-squared {test.chi_squared:.2f}, Iman and Davenport's "
        f"F {test.f:.2f} (p {as_p(test.p_value)}), Nemenyi's critical difference {limits}."
    )


def as_p(value: float) -> str:
    """``= 0.03``, ``< 0.001``."""
    text = show_p(value)
    return text if text.startswith("<") else f"= {text}"


def describe_pair(pair: Contrast) -> str:
    """Two columns that differ."""
    better, worse = (pair.first, pair.second) if pair.difference < 0 else (pair.second, pair.first)
    level = next(a for a, seen in zip(LEVELS, pair.nemenyi, strict=True) if seen)
    return (
        f"{better} ranks before {worse} by {abs(pair.difference):.2f} (Nemenyi at {100 * level:g} %; "
        f"Holm p {as_p(pair.p_holm)}; Wilcoxon over data sets p {as_p(pair.p_wilcoxon)})."
    )


def pairs_grid(found: Ranked) -> Grid:
    """Every pair with every test."""
    rows = tuple(
        (
            f"{c.first} and {c.second}",
            f"{c.difference:+.2f}",
            *("differ" if seen else "no difference" for seen in c.nemenyi),
            show_p(c.p_holm),
            show_p(c.p_wilcoxon),
        )
        for c in found.contrasts
    )
    return Grid(PAIRS, rows)


def describe_diagram(found: Ranked) -> str:
    """The caption of the diagram."""
    beside = "; below, of the published numbers" if found.published.datasets else ""
    return (
        f"Critical-difference diagram of {', '.join(found.labels)}: mean ranks over "
        f"{len(found.ranks.datasets)} data sets{beside}. "
        "A bar joins what Nemenyi's test at 10 % does not tell apart."
    )


def to_markdown(name: str, texts: tuple[str, ...], grid: Grid, found: Ranked) -> str:
    """Table, tests, every pair."""
    caption, *rest = texts
    parts: list[Element] = [Heading(name, 1), Text(caption), grid, Notes(tuple(rest))]
    if found.contrasts:
        parts += [Heading("Every pair"), pairs_grid(found)]
    return markdown.write(parts) + "\n"


def to_csv(found: Ranked) -> str:
    """Every cell."""
    lines = (
        [
            *(d, label, tidy.number(e.mean), tidy.number(e.spread), e.runs, str(e.best).lower()),
            "" if e.close is None else str(e.close).lower(),
            str(label in found.literature).lower(),
            str(d not in found.absent).lower(),
        ]
        for d, row in found.rows.items()
        for label, e in zip(found.labels, row, strict=True)
    )
    return tidy.write_lines(HEAD, lines)
