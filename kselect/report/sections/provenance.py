"""How the numbers came about.

Choices at the edge of the grid, excluded candidates, the final states of searches, failures and missing numbers,
data sets with given splits, and the machines, packages and files behind the numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kselect.core.table import Column, Group, Table, Values, percent
from kselect.grids import show_powers_in
from kselect.report.elements import (
    CLAIMS_FILE,
    Details,
    Element,
    File,
    Heading,
    Notes,
    Paragraph,
    Passage,
)
from kselect.report.sections import section
from kselect.report.words import (
    LAM,
    describe_fewer_splits,
    describe_protocol,
    label_of,
    mark_label,
    stem,
)
from kselect.report.writers import table_files
from kselect.stats.diagnostics import (
    SPOTS,
    count_excluded,
    edge_shares,
    endings,
    estimator_runs,
)
from kselect.stats.study import Study

AXES = {"kernel": "kernel", "lam": LAM}
EDGES = (
    Column("method", align="left"),
    Column(csv="method"),
    Column("choices", "choices"),
    *(Column(f"{AXES[axis]} {end}", f"{axis}_{end}", percent) for axis, end in SPOTS),
    Column("any edge", "any", percent),
    Column(csv="loss"),
)
EDGES_CAPTION = (
    "Share of the choices, over data sets, splits and settings, that lie at an edge of the grid: a kernel "
    "parameter or λ at its smallest or largest value. A dash: the grid has one value, or λ is fixed, so that there "
    "is no edge."
)
ENDINGS = (
    Column("method", align="left"),
    Column("runs"),
    Column("final states", align="left"),
    Column("variables at a limit", format=".1f"),
    Column("widths at zero", format=percent),
)
ENDINGS_TIDY = tuple(
    Column(csv=name) for name in ("method", "state", "runs", "mean_held", "share_zero")
)
ENDINGS_CAPTION = (
    "How the searches ended. A branch change: FLKL's inner minimum disappeared during the search, and the "
    "objective jumps there. Variables at a limit: the mean number per run of widths and ridges that reached a "
    "limit. Widths at zero: the share of features that a kernel ignores."
)
DATASETS = tuple(
    Column(name, name, align="left" if name == "data set" else "right")
    for name in (
        *("data set", "features", "training rows", "test rows", "splits"),
        *("rows from", "splits are"),
    )
)
DATASETS_CAPTION = (
    "The data sets with the sizes of their training and test parts. The published splits are in benchmarks.mat; "
    "without that file, the same number of splits of the same sizes is drawn, always the same ones."
)
FAILURES = (
    *(Column(name, align="left") for name in ("data set", "part", "method", "failed", "splits")),
    Column("reason", align="prose"),
)
ESTIMATORS = (
    Column("class", align="left"),
    *(Column(name) for name in ("runs", "failed", "with warnings", "failed points per run")),
)
MOST_WARNINGS = 5
FACTS = (Column("fact", align="left"), Column("value", align="prose"))


@section("edges")
def show_edges(study: Study) -> Iterator[File | Passage]:
    """Yield the shares at the edge of the grid, one table per loss; nothing if no method searches a grid."""
    experiment = study.experiment
    for loss in experiment.losses if experiment.kernels else ():
        rows = tuple(
            (
                *(mark_label(s.method, study.reconstructed), s.method, s.choices),
                *(*s.shares, s.anywhere, loss),
            )
            for s in study.once(edge_shares, loss)
        )
        caption = (EDGES_CAPTION, describe_protocol(experiment, loss))
        table = Table(stem("edges", study, loss), EDGES, (Group(rows),), caption)
        yield from table_files(table, of=study.experiment.name)
        title = [Heading(f"With the {loss} loss")] if len(experiment.losses) > 1 else []
        yield Passage("edges", (*title, table))


@section("endings")
def show_endings(study: Study) -> Iterator[File | Passage]:
    """Yield how the continuous searches ended; nothing if every search tries a grid."""
    found = study.once(endings)
    if not found:
        return
    rows = tuple(
        (e.method, e.runs, ", ".join(f"{s} {n}" for s, n in e.states), e.held, e.zeros)
        for e in found
    )
    lines = tuple((e.method, s, n, e.held, e.zeros) for e in found for s, n in e.states)
    table = Table("endings", ENDINGS, (Group(rows),), (ENDINGS_CAPTION,))
    yield from table_files(
        table, of=study.experiment.name, tidy=Table("endings", ENDINGS_TIDY, (Group(lines),))
    )
    yield Passage("failures", (Heading("How the searches ended"), table))


@section("exclusions")
def show_exclusions(study: Study) -> Iterator[Passage]:
    """Yield the excluded candidates: a row per data set, then the same by reason, the most frequent first."""
    experiment = study.experiment
    found = count_excluded(study, experiment.loss)
    title = Heading("Candidates excluded from the grid")
    if not found:
        text = "No candidate was excluded: every kernel and ridge had a fit and a finite score."
        yield Passage("failures", (title, Paragraph(text)), CLAIMS_FILE)
        return
    ridges = len(experiment.lam.values) if experiment.lam.mode == "select" else 1
    methods = tuple(dict.fromkeys(e.method for e in found))
    means = {(e.dataset, e.method): f"{e.mean:.1f}" for e in found}
    rows = tuple(
        (name, *(means.get((name, m), "0") for m in methods))
        for name in dict.fromkeys(e.dataset for e in found)
    )
    totals = {m: Counter[str]() for m in methods}
    for one in found:
        totals[one.method] += one.totals
    frequent = sum(totals.values(), Counter[str]()).most_common()
    reasons: tuple[Values, ...] = tuple(
        (reason, *(totals[m][reason] for m in methods)) for reason, _ in frequent
    )
    counts = tuple(Column(m, format=",") for m in methods)
    lines = tuple(
        f"{e.dataset}, {e.method}: {show_powers_in(e.reasons)}" for e in found if e.reasons
    )
    notes = [Details("The reasons on the first split of each", (Notes(lines),))] if lines else []
    text = (
        "Candidates that a criterion could not choose (no fit, a guard, an overflow): the mean over splits, of "
        f"{len(experiment.kernels) * ridges}."
    )
    elements: tuple[Element, ...] = (
        *(title, Paragraph(text)),
        Table("", (Column("data set", align="left"), *counts), (Group(rows),)),
        Paragraph("The same by reason, summed over data sets and splits:"),
        Table("", (Column("reason", align="left"), *counts), (Group(reasons),)),
        *notes,
    )
    yield Passage("failures", elements, CLAIMS_FILE)


@section("estimators")
def show_estimators(study: Study) -> Iterator[Passage]:
    """Yield a row per estimator: its runs, failures, warnings and failed points; nothing without estimators."""
    found, skipped = study.once(estimator_runs), study.experiment.skipped
    rows = tuple(
        (label_of(e.label, study), e.runs, e.failed, e.warned, f"{e.excluded:.1f}") for e in found
    )
    told = [f"{e.label} warns: {text}." for e in found for text in e.told[:MOST_WARNINGS]]
    told += [
        f"{e.label}: {more} more texts of warnings stand in records.csv."
        for e in found
        if (more := len(e.told) - MOST_WARNINGS) > 0
    ]
    told += [
        f"{e.label} cannot be fitted at some points: {show_powers_in(e.reasons)}."
        for e in found
        if e.reasons
    ]
    notes = (*(f"{label} is left out: {why}." for label, why in skipped), *told)
    table: tuple[Element, ...] = (Table("", ESTIMATORS, (Group(rows),)),) if rows else ()
    if rows or notes:
        lines = (Notes(notes),) if notes else ()
        yield Passage("failures", (Heading("Classes of other packages"), *table, *lines))


@section("failures")
def show_failures(study: Study) -> Iterator[Passage]:
    """Yield the data sets without all numbers, then a row per data set, part, method and reason of failures."""
    missing = [f"{dataset}: {reason}" for dataset, reason in study.absent.items()]
    losses = study.experiment.losses
    for loss in losses:
        under = f" with the {loss} loss" if len(losses) > 1 else ""
        for dataset in study.comparison(loss).splits:
            counts = study.comparison(loss).coverage(dataset)
            if counts.missing and counts.runs + counts.failures:
                some = f"{counts.missing} of {sum(counts)} planned numbers are missing"
                missing.append(f"{dataset}: {some}{under}")
    missing += describe_fewer_splits(study)
    failed = study.records[study.records["status"] != "ok"]
    rows: list[Values] = []
    for names, group in failed.groupby(["dataset", "part", "method", "reason"], sort=True):
        dataset, part, method, reason = map(str, names)
        splits = ", ".join(map(str, sorted({*group["split"].astype(int)})))
        rows.append((dataset, part, method, len(group), splits, reason))
    result: Element = Table("", FAILURES, (Group(tuple(rows)),))
    if not rows:
        result = Paragraph("Nothing failed." if missing else "Nothing failed or is missing.")
    notes = (Notes(tuple(missing)),) if missing else ()
    yield Passage("failures", (Heading("What failed or is missing"), *notes, result))


@section("provenance")
def show_provenance(study: Study) -> Iterator[File | Passage]:
    """Yield the data sets of an experiment with given splits, and the facts of the manifest."""
    experiment, facts = study.experiment, study.facts
    rows: list[Values] = []
    if experiment.train is None:
        sources = {file.dataset: file.source for file in facts.data}
        for name in experiment.datasets:
            info, source = experiment.info(name), sources.get(name, "")
            sizes = (info.given.train, info.given.test) if info.given else ("", "")
            kind = {"": "", "original": "published"}.get(source, "drawn")
            splits = len(experiment.splits_on(name))
            rows.append((name, info.features, *sizes, splits, source or "not here", kind))
        table = Table("datasets", DATASETS, (Group(tuple(rows)),), (DATASETS_CAPTION,))
        yield from table_files(table, of=study.experiment.name)
        yield Passage("made", (Heading("Data sets"), table))
    rows = [("seed", "" if facts.seed is None else str(facts.seed)), ("jobs", facts.jobs)]
    for machine in facts.machines:
        packages = ", ".join(f"{name} {version}" for name, version in machine.packages.items())
        commit = machine.commit[:12] or "unknown"
        changes = " with local changes" if machine.changed else ""
        text = (
            f"{machine.jobs} jobs; Python {machine.python}, {packages}; {machine.cpu}, one BLAS thread per "
            f"worker; commit {commit}{changes}{f'; {machine.when}' if machine.when else ''}"
        )
        rows.append((f"environment {machine.name}", text))
    rows += [(f"data {f.dataset}", f"{f.source}, sha256 {f.sha256}") for f in facts.data]
    yield Passage("made", (Table("", FACTS, (Group(tuple(rows)),)),))
