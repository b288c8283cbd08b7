"""How the continuous searches ended: what did not converge is counted here and named in the records."""

from __future__ import annotations

import math

from kselect.report.blocks import Block, File, Grid, Heading, Shown, Text
from kselect.report.formats import markdown, tidy
from kselect.report.sections.base import section
from kselect.stats.endings import Ending, endings
from kselect.stats.study import Study

HEAD = ("method", "runs", "how they ended", "variables at a limit", "widths at zero")
CSV_HEAD = ("method", "state", "runs", "mean_held", "share_zero")
CAPTION = (
    "How the searches ended. A branch change: FLKL's inner minimum ceased to be one on the way, and the objective "
    "jumps there. Variables at a limit: widths and ridge that a limit kept from going farther, on average per run. "
    "Widths at zero: the share of features that a kernel ignores."
)


@section("endings")
def show(study: Study) -> Shown:
    """Nothing where every search tries a grid."""
    found = study.once(endings)
    if not found:
        return Shown()
    grid = Grid(HEAD, tuple(map(to_row, found)))
    elements = (Heading("How the searches ended"), Text(CAPTION), grid)
    text = markdown.write((Heading("endings", 1), *elements[1:])) + "\n"
    files = [File("tables/endings.md", text), File("tables/endings.csv", to_csv(found))]
    return Shown(files, [Block("failures", elements)])


def to_row(one: Ending) -> tuple[str, ...]:
    """One column."""
    ended = ", ".join(f"{state} {count}" for state, count in one.states)
    held = "" if math.isnan(one.held) else f"{one.held:.1f}"
    zeros = "" if math.isnan(one.zeros) else f"{100 * one.zeros:.1f} %"
    return one.method, str(one.runs), ended, held, zeros


def to_csv(found: tuple[Ending, ...]) -> str:
    """One line per column and state."""
    lines = (
        [one.method, state, count, tidy.number(one.held), tidy.number(one.zeros)]
        for one in found
        for state, count in one.states
    )
    return tidy.write_lines(CSV_HEAD, lines)
