"""Other readings of the protocol next to the config's: how near each comes to the paper, and its claims' counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kselect.core.table import Column, Group, Table
from kselect.report.elements import File, Paragraph, Passage
from kselect.report.sections.base import section
from kselect.report.words import describe_protocol
from kselect.report.writers import table_files
from kselect.stats.claims import Judgement
from kselect.stats.sensitivity import Sensitivity, sensitivities
from kselect.stats.study import Study

NAME = "sensitivity"
TIDY = tuple(
    Column(csv=name)
    for name in (
        *("variant", "changes", "datasets", "planned", "cells", "mean_abs_z", "as_configured"),
        *("claim", "lower", "equal", "higher", "significantly_lower", "significantly_higher"),
        "verdict",
    )
)


@section(NAME)
def show(study: Study) -> Iterator[File | Passage]:
    """Yield nothing if the config names no variants; how to run those that were not run."""
    found = sensitivities(study)
    if found:
        table = printed_table(study, found)
        yield from table_files(table, tidy=tidy_table(found))
        yield Passage(NAME, (table,))
    left = [v.name for v in study.experiment.variants if v.name not in study.variants]
    if left:
        text = f"Not run: {', '.join(left)} (kselect run CONFIG --variant NAME)."
        yield Passage(NAME, (Paragraph(text),))


def printed_table(study: Study, found: Sequence[Sensitivity]) -> Table:
    """Return a row per reading: its distance from the paper, and the counts of each claim."""
    plain = " and ".join(study.paper.plain) if study.paper else "no"
    caption = (
        "Other readings of the paper's protocol, each run on the same splits unless it changes them. Mean abs z: "
        f"the mean distance of the methods {plain}, which have no free parameters, from the published values, in "
        "standard errors of the two means; next to it, the same cells as configured. Then, per claim, the number "
        "of comparisons with a lower / equal / higher mean error, and in brackets those significantly lower / "
        "higher by the papers' t-test at 5 %.",
        describe_protocol(study.experiment, study.experiment.loss),
    )
    wanted = [judgement.claim for judgement in found[0].claims]
    columns = (
        Column("reading", align="left"),
        Column("changes", align="prose"),
        Column("data sets"),
        Column("mean abs z", format=".2f"),
        Column("same, as configured", format=".2f"),
        *(
            Column(f"{c.criterion} against {c.rival}{f', {c.task}' if c.task else ''}")
            for c in wanted
        ),
    )
    rows = []
    for row in found:
        claims = {judgement.claim: judgement for judgement in row.claims}
        some = "" if row.datasets == row.planned else f" of {row.planned}"
        counts = (show_counts(claims[c]) if c in claims else None for c in wanted)
        distances = (row.distance, row.usual)
        rows.append(
            (row.name or "(main)", row.changes, f"{row.datasets}{some}", *distances, *counts)
        )
    return Table(NAME, columns, (Group(tuple(rows)),), caption)


def show_counts(judgement: Judgement) -> str:
    """Return the counts of one claim as ``10 / 3 / 59 (2 / 40)``."""
    mean, test = judgement.total.by_mean, judgement.total.by_ttest
    return f"{mean.wins} / {mean.ties} / {mean.losses} ({test.wins} / {test.losses})"


def tidy_table(found: Sequence[Sensitivity]) -> Table:
    """Return a row per reading and claim, for the CSV."""
    rows = tuple(
        (
            *(row.name, row.changes, row.datasets, row.planned, row.cells, row.distance, row.usual),
            *(j.claim.text, j.total.by_mean.wins, j.total.by_mean.ties, j.total.by_mean.losses),
            *(j.total.by_ttest.wins, j.total.by_ttest.losses, j.verdict),
        )
        for row in found
        for j in row.claims
    )
    return Table(NAME, TIDY, (Group(rows),))
