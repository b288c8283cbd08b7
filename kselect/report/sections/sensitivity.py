"""Other readings of the protocol beside the config's: how near each comes to the paper, what its claims count."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from kselect.papers.base import Claim
from kselect.report.blocks import Block, Element, File, Grid, Heading, Shown, Text
from kselect.report.formats import latex, markdown, tidy
from kselect.report.sections.base import section
from kselect.report.words import DASH, describe_protocol
from kselect.stats.claims import Judgement
from kselect.stats.counts import WinTieLoss
from kselect.stats.sensitivity import Sensitivity, not_run, sensitivities
from kselect.stats.study import Study

NAME = "sensitivity"
HEAD = ("reading", "what it changes", "data sets", "mean abs z", "same, as configured")
CSV_HEAD = (
    *("variant", "changes", "datasets", "planned", "cells", "mean_abs_z", "as_configured"),
    *(
        "claim",
        "lower",
        "equal",
        "higher",
        "significantly_lower",
        "significantly_higher",
        "verdict",
    ),
)


@section(NAME)
def show(study: Study) -> Shown:
    """Nothing where the config names no variants; how to run them where none was run."""
    if not study.experiment.variants:
        return Shown()
    found, left = sensitivities(study), not_run(study)
    elements = tuple(describe(study, found, left))
    files = [File(f"tables/{NAME}.csv", to_csv(found))] if found else []
    if found:
        texts = (caption(study), describe_protocol(study.experiment, study.experiment.loss))
        grid = to_grid(found)
        heading = Heading("Sensitivity", 1)
        text = markdown.write([heading, *map(Text, texts), grid]) + "\n"
        files += [
            File(f"tables/{NAME}.md", text),
            File(f"tables/{NAME}.tex", latex.write_grid_pages(NAME, texts, grid, texts)),
        ]
    return Shown(files, [Block("sensitivity", elements)])


def describe(study: Study, found: Sequence[Sensitivity], left: Sequence[str]) -> Iterable[Element]:
    """The table, and what was not run."""
    if found:
        yield Text(caption(study), soft=True)
        yield to_grid(found)
    if left:
        yield Text(f"Not run: {', '.join(left)} (kselect run CONFIG --variant NAME).")


def caption(study: Study) -> str:
    """How to read the table."""
    plain = " and ".join(study.paper.plain) if study.paper else "no"
    return (
        "Other readings of the paper's protocol, each run on the same splits where it does not change them. "
        f"Mean abs z: how far the columns {plain}, which leave nothing to choose, lie from the published ones, in "
        "standard errors of the two means; beside it the same cells as configured. Then per claim the comparisons "
        "with a lower / equal / higher mean error, and in brackets those significantly lower / higher by the "
        "papers' t-test at 5 %."
    )


def to_grid(found: Sequence[Sensitivity]) -> Grid:
    """One row per reading."""
    claims = tuple(name_claim(j.claim) for j in found[0].claims)
    rows = tuple(
        (
            row.name or "(main)",
            row.changes,
            str(row.datasets)
            if row.datasets == row.planned
            else f"{row.datasets} of {row.planned}",
            number(row.distance),
            number(row.usual),
            *(counts(row, j) for j in found[0].claims),
        )
        for row in found
    )
    return Grid((*HEAD, *claims), rows, 2)


def name_claim(claim: Claim) -> str:
    """``RKS against BR``, and of which task where a claim is about one."""
    task = f", {claim.task}" if claim.task else ""
    return f"{claim.criterion} against {claim.rival}{task}"


def number(value: float) -> str:
    """Two decimals, a dash without any."""
    return DASH if math.isnan(value) else f"{value:.2f}"


def counts(row: Sensitivity, wanted: Judgement) -> str:
    """``10 / 3 / 59 (2 / 40)`` of one claim; a dash where the reading has not its columns."""
    mine = next((j for j in row.claims if j.claim == wanted.claim), None)
    if mine is None:
        return DASH
    mean, test = mine.tally.by_mean, mine.tally.by_ttest
    return f"{mean.wins} / {mean.ties} / {mean.losses} ({test.wins} / {test.losses})"


def to_csv(found: Iterable[Sensitivity]) -> str:
    """One line per reading and claim."""
    lines = (
        [
            *(row.name, row.changes, row.datasets, row.planned, row.cells),
            *(tidy.number(row.distance), tidy.number(row.usual), j.claim.text),
            *numbers(j.tally.by_mean),
            *(j.tally.by_ttest.wins, j.tally.by_ttest.losses, j.verdict),
        ]
        for row in found
        for j in row.claims
    )
    return tidy.write_lines(CSV_HEAD, lines)


def numbers(count: WinTieLoss) -> tuple[int, int, int]:
    """Lower, equal, higher."""
    return count.wins, count.ties, count.losses
