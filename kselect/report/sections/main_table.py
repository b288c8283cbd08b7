"""The papers' main table: test errors of every method on every data set, under each loss."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import replace

from kselect.core.table import Column, Group, Mark, Measure, Table, Values, show_fixed
from kselect.report.cells import (
    cell_files,
    cell_keys,
    count_legible,
    describe_runs,
    printed_cells,
)
from kselect.report.claims.scope import find_methods
from kselect.report.elements import Details, Element, File, Heading, Notes, Passage
from kselect.report.sections import section
from kselect.report.words import (
    RANKS,
    dagger_notes,
    describe_coverage,
    describe_fewer,
    describe_protocol,
    describe_ranks,
    label_of,
    show_apart,
    show_counts,
    show_p,
    stem,
    title_setting,
)
from kselect.report.writers import table_files, write_csv
from kselect.stats.comparison import Comparison, method_pairs
from kselect.stats.distances import Distance
from kselect.stats.samples import SplitErrors
from kselect.stats.study import Study

TIDY = tuple(
    Column(csv=name)
    for name in (
        *("dataset", "setting", "method", "mean", "sd", "runs", "failures", "missing"),
        *("best", "not_worse", "not_worse_corrected", "p_value", "p_value_corrected"),
        *("unit", "loss"),
    )
)
PAIRS = (
    Column("setting", align="left"),
    Column(csv="setting"),
    Column("first", align="left"),
    Column("second", align="left"),
    *(Column(csv=name) for name in ("first", "second")),
    Column("mean difference", "difference", "+.2f"),
    Column("lower/equal/higher"),
    *(Column(csv=name) for name in ("lower", "equal", "higher")),
    Column("data sets", "datasets"),
    Column("Wilcoxon p (Holm)", "p_wilcoxon_holm", show_p),
    Column(csv="loss"),
)
PAIRS_CAPTION = (
    "Every pair of methods over the data sets on which both ran. Mean difference: the mean error of the first less "
    "that of the second, averaged over data sets, in points, for regression in % of the second. Then the number of "
    "data sets on which the first is lower, equal and higher, and the p-value of Wilcoxon's signed ranks over data "
    "sets, with Holm's correction over all pairs of the setting. Unlike mean ranks, differences and counts do not "
    "change when a method is added."
)
TO_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@section("main-table")
def show(study: Study) -> Iterator[File | Passage]:
    """Yield one table per loss; on the page, its statistics and pairs form a chapter of their own."""
    experiment = study.experiment
    for loss in experiment.losses:
        comparison = study.comparison(loss)
        table, pairs = main_table(study, comparison), pairs_table(study, comparison)
        notes = tuple(method_notes(study, comparison))
        whole = replace(table, notes=(*notes, *table.notes))
        some = (pairs,) if pairs.rows else ()
        lines = []
        for setting, cells in comparison.cells.items():
            for (dataset, method), cell in cells.items():
                marks = (cell.best, cell.not_worse, cell.not_worse_corrected)
                tests = (cell.worse, cell.worse_corrected)
                line: Values = (
                    *(dataset, setting.text, method, cell.mean, cell.sd),
                    *(cell.runs, cell.failures, cell.missing),
                    *(marks if cell.runs else (None,) * 3),
                    *(test.p_value if test else None for test in tests),
                    *(comparison.units.get(dataset, ""), loss),
                )
                lines.append(line)
        tidy = Table(table.name, TIDY, (Group(tuple(lines)),))
        yield from table_files(whole, *some, of=study.experiment.name, tidy=tidy)
        yield from (File(f"tables/{one.name}.csv", write_csv(one)) for one in some)
        first, *more = table.caption
        theirs = describe_printed(study, comparison)
        caption = (first + theirs, *more)
        shown: Element = replace(table, notes=notes, caption=caption)
        if loss != experiment.loss:
            shown = Details(f"The same with the {loss} loss", (shown,))
        yield Passage("tables", (shown,))
        yield from cell_files(study, loss)
        title = [Heading(f"With the {loss} loss")] if len(experiment.losses) > 1 else []
        below = [
            Details("Every pair of methods", (replace(one, caption=(PAIRS_CAPTION,)),))
            for one in some
        ]
        yield Passage("statistics", (*title, Notes(table.notes), *below))


def method_notes(study: Study, comparison: Comparison) -> Iterator[str]:
    """Yield what the file of the paper notes about methods of the table: ``k-BIF`` means any number of folds."""
    for name, note in study.paper.notes.items() if study.paper else ():
        labels = {m.label for m in find_methods(study.experiment, [name])}
        if labels.intersection(comparison.methods):
            yield note


def describe_printed(study: Study, comparison: Comparison) -> str:
    """Return what stands below a number, and why others have nothing there; nothing if none has a printed one."""
    known, cells = study.once(count_legible, comparison.loss)
    if not known:
        return ""
    lead = " Below a number: what the paper printed."
    if known < cells:
        rest = "a number without a second line has no legible printed value"
        return f"{lead} {known} of {cells} cells of its table are legible; {rest}."
    absent = sum(map(len, comparison.cells.values())) > cells
    return f"{lead}{' A number without a second line is not in its table.' * absent}"


def main_table(study: Study, comparison: Comparison) -> Table:
    """Return the table of one loss: a group of rows per setting, with the mean ranks as its foot."""
    experiment, loss = study.experiment, comparison.loss
    groups = []
    printed, keys = study.once(printed_cells, loss), cell_keys(study, loss)
    for setting, cells in comparison.cells.items():
        rows = []
        for dataset in comparison.splits:
            row = [cells[dataset, m] for m in comparison.methods]
            places = [(setting, dataset, m) for m in comparison.methods]
            behind = [(keys[place], printed.get(place)) for place in places]
            unit = comparison.units.get(dataset, "")
            rows.append(show_row(dataset, unit, row, len(experiment.splits), behind))
        ranks = comparison.ranks[setting]
        foot: tuple[Values, ...] = (("mean rank", *ranks.mean),) if ranks.datasets else ()
        groups.append(Group(tuple(rows), title_setting(setting), foot))
    methods = (label_of(m, study) for m in comparison.methods)
    units = set(comparison.units.values())
    kinds = ["Test error in %"] if "%" in units or not units else []
    kinds += ["mean squared error on the test part"] if "MSE" in units else []
    kinds += [f"the error {unit} on the test part" for unit in sorted(units - {"%", "MSE"})]
    numbers = " or, for regression, ".join(kinds)
    notes = (
        describe_coverage(comparison.coverage()),
        RANKS,
        *(describe_ranks(setting, ranks) for setting, ranks in comparison.ranks.items()),
        *(f"Left out: {label}, as {why}." for label, why in experiment.skipped),
        *(f"No data for {d}: {reason.rstrip('.')}." for d, reason in study.absent.items()),
    )
    return Table(
        stem("table1", study, loss),
        (Column("data set", align="left"), *(Column(m, "", ".2f", "measure") for m in methods)),
        tuple(groups),
        (
            f"{numbers[0].upper()}{numbers[1:]}, mean ± standard deviation over splits. "
            f"{describe_protocol(experiment, loss)}",
            *dagger_notes(study, loss),
        ),
        tuple(note for note in notes if note),
        best="the lowest mean of its row",
        close="not significantly worse (paired one-sided t-test at 5 %)",
    )


def show_row(
    dataset: str,
    unit: str,
    cells: Sequence[SplitErrors],
    splits: int,
    behind: Sequence[tuple[str, Distance | None]] = (),
) -> Values:
    """Return one row with the same decimals throughout; squared errors may share a power of ten.

    Percentages have two decimals, as in the papers; otherwise the typical sd has two digits. ``splits`` is the
    number in the caption; a row with fewer states its own. Runs, failures and tests are the hint of a cell.
    ``behind`` has the key of each cell and what the paper printed for it.
    """
    means = [c.mean for c in cells if c.runs]
    positive = [m for m in means if 0 < m < math.inf]
    exponent = 0
    if unit != "%" and positive and not 0.1 <= min(positive) < 1e4:
        exponent = math.floor(math.log10(min(positive)))
    scale, digits = 10.0**-exponent, 2
    if unit != "%":
        sds = [c.sd * scale for c in cells if c.sd > 0]
        smallest = min((m * scale for m in means if m), default=0.01)
        typical = statistics.median(sds) if sds else 0.1 * smallest
        finite = 0 < typical < math.inf
        digits = min(3, max(0, 1 - math.floor(math.log10(typical)))) if finite else 3
    raised = f"10{str(exponent).translate(TO_SUPERSCRIPT)}"
    power = f" (\N{MULTIPLICATION SIGN} {raised})" if exponent else ""
    fewer = describe_fewer([tried for c in cells if (tried := c.runs + c.failures)], splits)
    row: list[Measure] = []
    for c, (key, theirs) in zip(cells, behind or [("", None)] * len(cells), strict=True):
        mark: Mark = "best" if c.best else "close" if c.not_worse else ""
        numbers = (c.mean * scale, c.sd * scale, digits)
        known = c.runs or c.failures
        row.append(
            Measure(
                *(*numbers, mark, c.failures, describe_runs(c)),
                *show_printed(theirs, scale, digits),
                key if known else "",
            )
        )
    return (dataset + fewer + power, *row)


def show_printed(theirs: Distance | None, scale: float, digits: int) -> tuple[str, str]:
    """Return what a paper printed, in the power of ten of the row, and ours minus it in standard errors."""
    if theirs is None:
        return "", ""
    row = theirs.published
    texts = (show_fixed(value * scale, digits) for value in (row.mean, row.spread))
    error = " (se)" if row.kind == "se" else ""
    return " ± ".join(filter(None, texts)) + error, show_apart(theirs.errors)


def pairs_table(study: Study, comparison: Comparison) -> Table:
    """Return every pair of methods under every setting: difference, counts and test; empty for one method."""
    rows = tuple(
        (
            title_setting(setting),
            setting.text,
            *(label_of(m, study) for m in (pair.first, pair.second)),
            *(pair.first, pair.second, pair.difference, show_counts(pair.by_mean)),
            *(*pair.by_mean, pair.datasets, pair.p_value, comparison.loss),
        )
        for setting in comparison.cells
        for pair in method_pairs(comparison, setting)
        if pair.datasets
    )
    selected = study.experiment.lam.mode == "select"
    columns = PAIRS if not selected else (replace(PAIRS[0], heading=""), *PAIRS[1:])
    name = f"{stem('table1', study, comparison.loss)}-pairs"
    caption = (PAIRS_CAPTION, describe_protocol(study.experiment, comparison.loss))
    return Table(name, columns, (Group(rows),), caption)
