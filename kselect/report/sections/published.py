"""A paper's own numbers beside ours, in standard errors of the two means."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from kselect.report.blocks import Block, Element, File, Fold, Grid, Heading, Notes, Shown, Text
from kselect.report.cells import describe_fewer
from kselect.report.formats import latex, markdown, tidy
from kselect.report.sections.base import section
from kselect.report.sheet import dagger_notes, stem
from kselect.report.words import DASH, describe_protocol, mark_label, name_setting
from kselect.stats.distances import (
    Distance,
    Verdict,
    count_columns,
    count_verdicts,
    distances,
    off_everywhere,
)
from kselect.stats.study import Study
from kselect.stats.whole_counts import whole_counts

HEAD = (
    *("data set", "setting", "method", "published", "ours"),
    *("difference", "std. errors", "verdict"),
)
CSV_HEAD = (
    *("table", "dataset", "setting", "method"),
    *("published", "published_spread", "spread_kind", "mean", "sd", "runs"),
    *("difference", "standard_errors", "verdict", "split_deviations"),
)
COUNTS_HEAD = (
    *("column", "cells", "within 2 std. errors", "2 to 4", "beyond 4", "no spread", "missing"),
    "within 1 sd of a single split",
)
WORDS: dict[Verdict, str] = {
    "within 2": "within 2 standard errors",
    "2 to 4": "between 2 and 4",
    "beyond 4": "beyond 4",
    "no spread": "without a spread of ours to judge by",
    "missing": "without a number of ours",
}


@section("published")
def show(study: Study) -> Shown:
    """One table per loss, where the paper's table is there; nothing of an experiment without a paper."""
    files: list[File] = []
    blocks: list[Block] = []
    for loss in study.experiment.losses:
        found = study.once(distances, loss)
        if found:
            caption, notes = describe(study, loss), dagger_notes(study, loss)
            grid = Grid(HEAD, tuple(to_row(study, d, loss) for d in found), 3)
            texts = (caption, describe_totals(found), *notes)
            counts = count_grid(study, found)
            name = stem("published", study, loss)
            files += [
                File(f"tables/{name}.csv", to_csv(found)),
                File(
                    f"tables/{name}.tex",
                    latex.write_grid_pages(name, texts, grid, (caption, *notes)),
                ),
                File(f"tables/{name}.md", to_markdown(study, name, found, texts, counts, grid)),
            ]
            elements = tuple(show_loss(study, loss, found, texts, counts, grid))
            blocks.append(Block("published", elements))
    if not blocks and study.experiment.paper:
        nothing = Text("There are no published numbers to set beside these.")
        blocks.append(Block("published", (nothing,)))
    return Shown(files, blocks)


def describe(study: Study, loss: str) -> str:
    """What the columns are, and our protocol."""
    experiment = study.experiment
    return (
        f"Test errors published in {experiment.paper} beside ours (mean ± spread), the difference "
        "(ours minus published) and that in standard errors of the two means. "
        f"Ours: {describe_protocol(experiment, loss)}"
    )


def describe_totals(found: Sequence[Distance]) -> str:
    """``124 published cells: 80 within 2 standard errors, ...``."""
    counts = [f"{n} {WORDS[v]}" for v, n in count_verdicts(found).items() if n]
    return f"{len(found)} published cells: {', '.join(counts)}."


def remarks(study: Study, found: Sequence[Distance]) -> tuple[Notes, ...]:
    """What can be read off the printed numbers, and what is known of them."""
    known = study.paper.remarks if study.paper else ()
    lines = (*describe_off(found), *describe_whole(study, found), *known)
    return (Notes(lines),) if lines else ()


def describe_off(found: Sequence[Distance]) -> Iterable[str]:
    """The data sets that no column comes near."""
    if names := off_everywhere(found):
        yield f"Beyond 4 standard errors in every column: {', '.join(names)}."


def describe_whole(study: Study, found: Sequence[Distance]) -> Iterable[str]:
    """The cells that look like a single split's."""
    whole = whole_counts(study.experiment, found)
    if whole.many:
        sets = (
            f"{one.dataset} {', '.join(f'{n} ({column})' for column, n in one.counts)} of {one.rows}"
            for one in whole.sets
        )
        yield (
            f"{whole.total} of {whole.cells} printed error rates are, to two decimals, a whole count of one "
            f"test part's rows, where {whole.expected:.1f} would be so by chance: {'; '.join(sets)}."
        )


def count_grid(study: Study, found: Sequence[Distance]) -> Grid:
    """Column by column how many cells are how far, and how many within what a single split is off."""
    rows = tuple(
        (
            mark_label(c.column, study.reconstructed),
            *(str(n) for n in (c.cells, *c.verdicts.values(), c.near)),
        )
        for c in count_columns(found)
    )
    return Grid(COUNTS_HEAD, rows)


def show_loss(
    study: Study,
    loss: str,
    found: Sequence[Distance],
    texts: Sequence[str],
    counts: Grid,
    grid: Grid,
) -> Iterable[Element]:
    """The totals, column by column, with every cell behind a line."""
    caption, totals, *notes = texts
    if len(study.experiment.losses) > 1:
        yield Heading(f"With the {loss} loss")
    yield Text(totals)
    yield counts
    yield from remarks(study, found)
    explained = (Notes(tuple(notes)),) if notes else ()
    yield Fold(f"All {len(grid.rows)} cells", (Text(caption, soft=True), *explained, grid))


def to_row(study: Study, d: Distance, loss: str) -> tuple[str, ...]:
    """One row of text."""
    unit = study.comparison(loss).units.get(d.published.dataset, "")
    sd = f" ± {show_value(d.sd, unit)}" if not math.isnan(d.sd) else ""
    ours = f"{show_value(d.mean, unit)}{sd}" if d.runs else DASH
    printed, error = d.published, " (se)" if d.published.kind == "se" else ""
    fewer = describe_fewer([d.runs] if d.runs else [], len(study.experiment.splits))
    return (
        printed.dataset + (f", ours {d.stand_in}" if d.stand_in else "") + fewer,
        name_setting(d.setting),
        mark_label(d.method, study.reconstructed),
        f"{printed.mean:g} ± {printed.spread:g}{error}",
        ours,
        show_value(d.difference, unit, "+") if d.runs else DASH,
        DASH if math.isnan(d.errors) else f"{d.errors:+.1f}",
        d.verdict,
    )


def show_value(value: float, unit: str, sign: str = "") -> str:
    """Two decimals of a percentage, three digits of a squared error."""
    return f"{value:{sign}.{'2f' if unit == '%' else '3g'}}"


def to_markdown(
    study: Study,
    name: str,
    found: Sequence[Distance],
    texts: Sequence[str],
    counts: Grid,
    grid: Grid,
) -> str:
    """The whole comparison, with the totals last before the table."""
    caption, totals, *notes = texts
    paragraphs = [Text(text) for text in (caption, *notes, totals)]
    elements: list[Element] = [Heading(name, 1), *paragraphs, counts, *remarks(study, found), grid]
    return markdown.write(elements) + "\n"


def to_csv(found: Iterable[Distance]) -> str:
    """Every published cell beside ours."""
    lines = (
        [
            *(d.published.table, d.published.dataset, d.setting.text, d.method),
            *map(tidy.number, (d.published.mean, d.published.spread)),
            d.published.kind,
            *(tidy.number(d.mean), tidy.number(d.sd), d.runs),
            *(tidy.number(d.difference), tidy.number(d.errors), d.verdict),
            tidy.number(d.deviations),
        ]
        for d in found
    )
    return tidy.write_lines(CSV_HEAD, lines)
