"""What failed and what is missing, each with its reason."""

from __future__ import annotations

from collections.abc import Iterable

from kselect.report.blocks import Block, Element, Grid, Heading, Notes, Shown, Text
from kselect.report.sections.base import section
from kselect.stats.coverage import Failure, group_failures, short_of
from kselect.stats.study import Study

HEAD = ("data set", "part", "method", "failed", "splits", "reason")


@section("failures")
def show(study: Study) -> Shown:
    """Data sets without numbers or with some missing, then every failure."""
    return Shown(blocks=[Block("failures", tuple(describe(study)))])


def describe(study: Study) -> Iterable[Element]:
    """It is said that nothing failed, or that nothing is missing, only where that is so."""
    yield Heading("What failed or is missing")
    missing = tuple(describe_missing(study))
    failures = group_failures(study.records)
    if missing:
        yield Notes(missing)
    if failures:
        rows = tuple(to_row(f) for f in failures)
        yield Grid(HEAD, rows, len(HEAD), prose=True)
    elif missing:
        yield Text("Nothing failed.")
    else:
        yield Text("Nothing failed, and every planned number is there.")


def describe_missing(study: Study) -> Iterable[str]:
    """One sentence per data set that has no numbers, or not all that were planned."""
    for dataset, reason in study.absent.items():
        yield f"{dataset}: {reason}"
    several = len(study.experiment.losses) > 1
    for loss in study.experiment.losses:
        under = f" with the {loss} loss" if several else ""
        for dataset, counts in short_of(study.comparison(loss)).items():
            numbers = f"{counts.missing} of {counts.planned} planned numbers are missing"
            yield f"{dataset}: {numbers}{under}"


def to_row(failure: Failure) -> tuple[str, ...]:
    """One line of text."""
    splits = ", ".join(map(str, failure.splits))
    return (
        failure.dataset,
        failure.part,
        failure.method,
        str(failure.count),
        splits,
        failure.reason,
    )
