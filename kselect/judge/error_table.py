"""A complete table of test errors: the checks of all rows of a file, and a sample per data set and method."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kselect.config.document import Document
from kselect.errors import brief, printable
from kselect.judge.errors_file import (
    DROP,
    KNOWN,
    METRICS,
    SIZES,
    ErrorScale,
    Row,
    parse_rows,
    read_lines,
)
from kselect.stats.samples import SplitErrors, samples_by

MOST_SPLITS = 5  # that a message names


@dataclass(frozen=True, eq=False)
class ErrorTable:
    """The test errors of some methods, complete: on every split of a data set each method has one.

    Attributes
    ----------
    samples
        Data set and method -> errors by split, lower is better: a metric of which higher is better has its sign
        changed.
    metrics
        Data set -> the name of its metric, empty if the file names none.
    relative
        The data sets on which differences are in per cent of the second method's error.
    percent
        The data sets whose numbers are in per cent.
    higher
        Whether the file's numbers are better if they are higher.
    overlap
        Whether the t-tests are corrected for overlapping splits.
    notes
        How the file was read, a sentence each.
    sha256
        The checksum of the file.
    """

    path: str
    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    samples: Mapping[tuple[str, str], SplitErrors]
    metrics: Mapping[str, str]
    relative: frozenset[str]
    percent: frozenset[str]
    higher: bool
    overlap: bool
    notes: tuple[str, ...]
    sha256: str

    @property
    def sign(self) -> int:
        """Return -1 if the numbers of the file have the other sign here, else 1."""
        return -1 if self.higher else 1


def read_errors(
    path: Path, higher: bool = False, overlap: bool = True, drop: bool = False
) -> ErrorTable:
    """Read test errors; raise a DataError with all mistakes.

    ``higher`` says that higher numbers are better, for a file without metrics. Without ``overlap`` the t-tests are
    not corrected. ``drop`` leaves out what some method lacks.
    """
    document = Document(printable(path))
    header, lines, sha256 = read_lines(path, document)
    ignored = [name for name in header if name not in KNOWN]
    rows = list(parse_rows(header, lines, document))
    document.check()
    check_repeats(rows, document)
    notes = [f"The column{'s' * (len(ignored) > 1)} {', '.join(ignored)} was ignored."][
        : len(ignored)
    ]
    rows, dropped = complete(rows, document, drop)
    notes += dropped
    document.check()
    metrics, metric_notes = check_metrics(rows, document, higher)
    sized = all(name in header for name in SIZES)
    check_sizes(rows, document)
    document.check()
    check_enough(rows, document)
    corrected = sized and overlap
    notes += metric_notes
    notes.append(overlap_note(sized, overlap))
    datasets = tuple(dict.fromkeys(row.dataset for row in rows))
    kinds = {d: METRICS[m] for d, m in metrics.items() if m in METRICS}
    any_higher = higher or any(kind.higher for kind in kinds.values())
    return ErrorTable(
        printable(path),
        datasets,
        tuple(dict.fromkeys(row.method for row in rows)),
        dict(make_samples(rows, kinds, -1 if any_higher else 1, corrected)),
        metrics,
        frozenset(d for d in datasets if d not in kinds or not kinds[d].points),
        frozenset(d for d in kinds if kinds[d].points),
        any_higher,
        corrected,
        tuple(notes),
        sha256,
    )


def overlap_note(sized: bool, overlap: bool) -> str:
    """Return whether the t-tests are corrected, and why."""
    if not overlap:
        return "--no-overlap: the t-tests are not corrected for overlapping splits."
    if not sized:
        return (
            "Without the columns n_train and n_test the t-tests over splits are not corrected; they find too "
            "many "
            "differences if the splits overlap."
        )
    return "The t-tests over splits are corrected for overlapping splits by n_test/n_train."


def check_repeats(rows: Sequence[Row], document: Document) -> None:
    """Note rows that repeat a data set, split and method."""
    seen: dict[tuple[str, str, str], int] = {}
    for row in rows:
        key = (row.dataset, row.split, row.method)
        if key in seen:
            words = f"{place(row)}, {brief(row.method)}: repeats line {seen[key]}"
            document.wrong((), f"{words}; keep one of them", row.line)
        seen.setdefault(key, row.line)
    methods = dict.fromkeys(row.method for row in rows)
    if len(methods) < 2:
        words = f"the only method is {brief(*methods)}; a comparison needs two or more"
        document.wrong((), words, rows[0].line)
    document.check()


def place(row: Row) -> str:
    """Return ``sonar, split 3``."""
    return f"{brief(row.dataset)}, split {brief(row.split)}"


def complete(rows: Sequence[Row], document: Document, drop: bool) -> tuple[list[Row], list[str]]:
    """Return the rows of splits on which every method has a number, and notes on what was dropped.

    Unless incomplete splits may be dropped, note each data set and method that lacks some.
    """
    methods = dict.fromkeys(row.method for row in rows)
    there: dict[str, dict[str, set[str]]] = {}
    first: dict[str, int] = {}
    for row in rows:
        there.setdefault(row.dataset, {}).setdefault(row.split, set()).add(row.method)
        first.setdefault(row.dataset, row.line)
    whole = {
        (d, split)
        for d, splits in there.items()
        for split, found in splits.items()
        if len(found) == len(methods)
    }
    if not drop:
        for dataset, splits in there.items():
            for method in methods:
                lacking = [s for s, found in splits.items() if method not in found]
                if lacking:
                    every = len(lacking) == len(splits)
                    words = "any split" if every else list_splits(lacking)
                    words = f"{brief(dataset)}: {brief(method)} has no number for {words}"
                    document.wrong((), f"{words}; add the rows, or use {DROP}", first[dataset])
        return list(rows), []
    kept = [row for row in rows if (row.dataset, row.split) in whole]
    if not kept:
        words = "no split has a number of every method; remove the methods with too few rows"
        document.wrong((), words, rows[0].line)
    notes = []
    for dataset, splits in there.items():
        lost = sum((dataset, split) not in whole for split in splits)
        if lost:
            words = f"{lost} of {len(splits)} splits" if lost < len(splits) else "all splits"
            notes.append(f"{dataset}: {words} dropped, as some method has no number there.")
    return kept, notes


def list_splits(splits: Sequence[str]) -> str:
    """Return ``split 3``, or the first of several."""
    shown = ", ".join(map(brief, splits[:MOST_SPLITS]))
    more = f" and {len(splits) - MOST_SPLITS} more" if len(splits) > MOST_SPLITS else ""
    return f"split{'s' * (len(splits) > 1)} {shown}{more}"


def check_metrics(
    rows: Sequence[Row], document: Document, higher: bool
) -> tuple[dict[str, str], list[str]]:
    """Return the metric of each data set, and notes on it; contradictions are noted as mistakes."""
    found: dict[str, Row] = {}
    for row in rows:
        known = found.setdefault(row.dataset, row)
        if row.metric != known.metric:
            words = f"metric: {row.metric} on line {row.line}, {known.metric} on line {known.line}"
            words = f"{words}; one data set has one metric"
            document.wrong((), f"{brief(row.dataset)}: {words}", row.line)
    start = rows[0]
    for row in found.values():
        kind, other = METRICS.get(row.metric), METRICS.get(start.metric)
        if kind and other and kind.higher != other.higher:
            words = f"metric: higher is better for {row.metric} but not for {start.metric}"
            if other.higher:
                words = f"metric: higher is better for {start.metric} but not for {row.metric}"
            document.wrong((), f"{words}; judge them in separate files", row.line)
    first = METRICS.get(start.metric)
    if first and higher and not first.higher:
        words = f"--higher-is-better contradicts the metric {start.metric}; leave the flag out"
        document.wrong((), words, start.line)
    for row in rows:
        kind = METRICS.get(row.metric)
        if kind and kind.share and not 0 <= row.error <= 1:
            words = f"error: {row.error:g} is not a share from 0 to 1; in per cent, the metric is"
            document.wrong((), f"{words} {row.metric.replace('zero-one', 'error')}%", row.line)
    if start.metric:
        return {d: row.metric for d, row in found.items()}, []
    better = "higher" if higher else "lower"
    if all(0 <= row.error <= 1 for row in rows):
        name = "accuracy" if higher else "error"
        note = f"All numbers are from 0 to 1: they are read as shares and shown in %; {better} is better."
        return dict.fromkeys(found, name), [note]
    note = f"No metric is named: differences are in % of the second number; {better} is better."
    return dict.fromkeys(found, ""), [note]


def check_sizes(rows: Sequence[Row], document: Document) -> None:
    """Note methods that were trained or tested on another number of rows of the same split."""
    seen: dict[tuple[str, str], Row] = {}
    for row in rows:
        known = seen.setdefault((row.dataset, row.split), row)
        if row.sizes != known.sizes and not math.isnan(row.sizes[0]):
            mine, other = ("{:g} + {:g}".format(*r.sizes) for r in (row, known))
            words = f"{place(row)}: {mine} rows, but {other} on line {known.line}"
            document.wrong((), f"{words}; all methods must have the same splits", row.line)


def check_enough(rows: Sequence[Row], document: Document) -> None:
    """Refuse a file in which nothing can be tested."""
    if len({(row.dataset, row.split) for row in rows}) < 2:
        words = "one split of one data set cannot be tested; add splits or data sets"
        document.wrong((), words, rows[0].line)
        document.check()


# --- samples ----------------------------------------------------------------------------------------


def make_samples(
    rows: Sequence[Row], kinds: Mapping[str, ErrorScale], sign: int, corrected: bool
) -> Iterator[tuple[tuple[str, str], SplitErrors]]:
    """Yield the sample of each data set and method; splits get numbers in their order of appearance."""
    import pandas as pd

    numbers = {name: i for i, name in enumerate(dict.fromkeys(row.split for row in rows))}
    table = pd.DataFrame(
        {
            "dataset": [row.dataset for row in rows],
            "method": [row.method for row in rows],
            "split": [numbers[row.split] for row in rows],
            "error": [sign * row.error for row in rows],
            "n_train": [row.sizes[0] for row in rows],
            "n_test": [row.sizes[1] for row in rows],
            "metric": [
                "zero-one" if row.dataset in kinds and kinds[row.dataset].share else "mse"
                for row in rows
            ],
            "status": "ok",
        }
    )
    for (dataset, method), found in samples_by(table, "dataset", "method").items():
        ratios = found.ratios if corrected else dict.fromkeys(found.errors, 0.0)
        yield (dataset, method), replace(found, ratios=ratios)
