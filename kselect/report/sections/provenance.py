"""How the numbers were made: data sets with given splits, failures, missing numbers, machines, packages, files."""

from __future__ import annotations

from collections.abc import Iterator

from kselect.core.table import Column, Group, Table, Values
from kselect.report.elements import Element, File, Heading, Notes, Paragraph, Passage
from kselect.report.sections.base import section
from kselect.report.writers import table_files
from kselect.stats.study import Study

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
FACTS = (Column("fact", align="left"), Column("value", align="prose"))


@section("datasets")
def show_datasets(study: Study) -> Iterator[File | Passage]:
    """Yield the data sets of an experiment with given splits."""
    experiment = study.experiment
    if experiment.train is not None:
        return
    sources = {file.dataset: file.source for file in study.facts.data}
    rows = []
    for name in experiment.datasets:
        info, source = experiment.info(name), sources.get(name, "")
        sizes = (info.given.train, info.given.test) if info.given else ("", "")
        kind = {"": "", "original": "published"}.get(source, "drawn")
        splits = len(experiment.splits_on(name))
        rows.append((name, info.features, *sizes, splits, source or "not here", kind))
    table = Table("datasets", DATASETS, (Group(tuple(rows)),), (DATASETS_CAPTION,))
    yield from table_files(table)
    yield Passage("made", (Heading("Data sets"), table))


@section("failures")
def show_failures(study: Study) -> Iterator[Passage]:
    """Yield the data sets without all numbers, then every failure with its reason."""
    yield Passage("failures", tuple(describe_failures(study)))


def describe_failures(study: Study) -> Iterator[Element]:
    """Yield the missing numbers and a row per data set, part, method and reason of failures."""
    yield Heading("What failed or is missing")
    missing = tuple(describe_missing(study))
    if missing:
        yield Notes(missing)
    failed = study.records[study.records["status"] != "ok"]
    rows: list[Values] = []
    for names, group in failed.groupby(["dataset", "part", "method", "reason"], sort=True):
        dataset, part, method, reason = map(str, names)
        splits = ", ".join(map(str, sorted({*group["split"].astype(int)})))
        rows.append((dataset, part, method, len(group), splits, reason))
    if rows:
        yield Table("", FAILURES, (Group(tuple(rows)),))
    else:
        yield Paragraph("Nothing failed." if missing else "Nothing failed or is missing.")


def describe_missing(study: Study) -> Iterator[str]:
    """Yield a sentence per data set without numbers, or with fewer than planned."""
    for dataset, reason in study.absent.items():
        yield f"{dataset}: {reason}"
    for loss in study.experiment.losses:
        under = f" with the {loss} loss" if len(study.experiment.losses) > 1 else ""
        comparison = study.comparison(loss)
        for dataset in comparison.splits:
            counts = comparison.coverage(dataset)
            if counts.missing and counts.runs + counts.failures:
                yield f"{dataset}: {counts.missing} of {counts.planned} planned numbers are missing{under}"


@section("provenance")
def show_provenance(study: Study) -> Iterator[Passage]:
    """Yield the facts of the manifest."""
    facts = study.facts
    rows: list[Values] = [
        ("seed", "" if facts.seed is None else str(facts.seed)),
        ("jobs", facts.jobs),
    ]
    for machine in facts.machines:
        packages = ", ".join(f"{name} {version}" for name, version in machine.packages.items())
        commit = machine.commit[:12] or "unknown"
        changes = " with local changes" if machine.changed else ""
        text = (
            f"{machine.jobs} jobs; Python {machine.python}, {packages}; {machine.cpu}, one BLAS thread per "
            f"worker; commit {commit}{changes}"
        )
        rows.append((f"environment {machine.name}", text))
    rows += [(f"data {f.dataset}", f"{f.source}, sha256 {f.sha256}") for f in facts.data]
    yield Passage("made", (Table("", FACTS, (Group(tuple(rows)),)),))
