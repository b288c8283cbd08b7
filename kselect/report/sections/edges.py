"""How often each method selects the edge of the grid, where the optimum may lie outside it."""

from __future__ import annotations

from collections.abc import Iterator

from kselect.core.table import Column, Group, Table, percent
from kselect.report.elements import Element, File, Heading, Passage
from kselect.report.sections.base import section
from kselect.report.sheet import stem
from kselect.report.words import LAM, describe_protocol, mark_label
from kselect.report.writers import table_files
from kselect.stats.edges import SPOTS, edge_shares
from kselect.stats.study import Study

AXES = {"kernel": "kernel", "lam": LAM}
COLUMNS = (
    Column("method", align="left"),
    Column(csv="method"),
    Column("choices", "choices"),
    *(Column(f"{AXES[axis]} {end}", f"{axis}_{end}", percent) for axis, end in SPOTS),
    Column("any edge", "any", percent),
    Column(csv="loss"),
)
CAPTION = (
    "Share of the choices, over data sets, splits and settings, that lie at an edge of the grid: a kernel "
    "parameter or λ at its smallest or largest value. A dash: the grid has one value, or λ is fixed, so that there "
    "is no edge."
)


@section("edges")
def show(study: Study) -> Iterator[File | Passage]:
    """Yield one table per loss; nothing if no method searches a grid."""
    experiment = study.experiment
    for loss in experiment.losses if experiment.kernels else ():
        rows = tuple(
            (
                *(mark_label(s.method, study.reconstructed), s.method, s.choices),
                *(*s.shares, s.anywhere, loss),
            )
            for s in study.once(edge_shares, loss)
        )
        caption = (CAPTION, describe_protocol(experiment, loss))
        table = Table(stem("edges", study, loss), COLUMNS, (Group(rows),), caption)
        yield from table_files(table)
        elements: tuple[Element, ...] = (table,)
        if len(experiment.losses) > 1:
            elements = (Heading(f"With the {loss} loss"), table)
        yield Passage("edges", elements)
