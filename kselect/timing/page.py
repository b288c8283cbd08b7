"""The seconds on an experiment's page: the claims about them among the others, the tables as a chapter."""

from __future__ import annotations

from collections.abc import Iterator

from kselect.report.blocks import Block, Element, Fold, Heading, Notes, Text
from kselect.report.blocks import Grid as Table
from kselect.timing.speed import RULE
from kselect.timing.table import Grid, TimingSheet, explain

# Where all verdicts of a report stand.
CLAIMS = "tables/claims.md"


def make_blocks(sheet: TimingSheet) -> Iterator[Block]:
    """What a page shows of the timing tables."""
    for found in sheet.verdicts:
        text, rule = explain(found), Text(RULE.strip("()"), soft=True)
        told = Text(text[0].upper() + text[1:], found.verdict)
        yield Block("claims", (Heading(found.claim.text, 3), told, rule), CLAIMS)
    yield Block("seconds", (Notes((*sheet.findings, *sheet.notes)), *map(fold, ordered(sheet))))


def ordered(sheet: TimingSheet) -> tuple[Grid, ...]:
    """The ratios before the seconds that they are made of."""
    seconds, *ratios = sheet.grids
    return (*ratios, seconds)


def fold(grid: Grid) -> Element:
    """A table behind a line, its caption above it."""
    lines = tuple(line for group in grid.groups for line in group)
    caption = Text(" ".join(grid.caption), soft=True)
    title = "Seconds" if grid.name == "seconds" else "Ratios of seconds"
    return Fold(title, (caption, Table(grid.head, lines, grid.left)))
