"""How often each column chooses at an edge of the grid, beyond which its best may lie."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kselect.report.blocks import Block, Element, File, Grid, Heading, Shown, Text
from kselect.report.formats import latex, markdown, tidy
from kselect.report.sections.base import section
from kselect.report.sheet import stem
from kselect.report.words import DASH, LAM, describe_protocol, mark_label
from kselect.stats.edges import SPOTS, EdgeShares, edge_shares
from kselect.stats.study import Study

AXES = {"kernel": "kernel", "lam": LAM}
HEAD = ("method", "choices", *(f"{AXES[axis]} {end}" for axis, end in SPOTS), "any edge")
CSV_HEAD = ("method", "choices", *(f"{axis}_{end}" for axis, end in SPOTS), "any", "loss")


@section("edges")
def show(study: Study) -> Shown:
    """One table per loss; nothing where no column tries a grid."""
    if not study.experiment.kernels:
        return Shown()
    files: list[File] = []
    blocks: list[Block] = []
    for loss in study.experiment.losses:
        found, name = study.once(edge_shares, loss), stem("edges", study, loss)
        grid = Grid(HEAD, tuple(to_row(study, s) for s in found))
        texts = (CAPTION, describe_protocol(study.experiment, loss))
        files += [
            File(f"tables/{name}.csv", to_csv(found, loss)),
            File(f"tables/{name}.tex", latex.write_grid_pages(name, texts, grid, texts)),
            File(f"tables/{name}.md", to_markdown(name, texts, grid)),
        ]
        blocks.append(Block("edges", tuple(show_loss(study, loss, grid))))
    return Shown(files, blocks)


CAPTION = (
    "Share of the choices, over data sets, splits and settings, that lie at an edge of the grid: a kernel "
    "parameter or λ at its smallest or largest value. A dash: a grid of one value, or a fixed λ, has no edge."
)


def show_loss(study: Study, loss: str, grid: Grid) -> Iterable[Element]:
    """The table of one loss, the caption with the first."""
    if len(study.experiment.losses) > 1:
        yield Heading(f"With the {loss} loss")
    if loss == study.experiment.loss:
        yield Text(CAPTION)
    yield grid


def to_row(study: Study, found: EdgeShares) -> tuple[str, ...]:
    """One column of the main table as a row of text."""
    shares = map(percent, (*found.shares, found.anywhere))
    return (mark_label(found.method, study.reconstructed), str(found.choices), *shares)


def percent(share: float | None) -> str:
    """``93.8 %``; a dash where there is no such edge."""
    return DASH if share is None else f"{100 * share:.1f} %"


def to_markdown(name: str, texts: Sequence[str], grid: Grid) -> str:
    """The table with its caption."""
    return markdown.write([Heading(name, 1), *map(Text, texts), grid]) + "\n"


def to_csv(found: Iterable[EdgeShares], loss: str) -> str:
    """The shares as proportions; what does not exist is an empty field."""
    lines = ([s.method, s.choices, *map(tidy.number, (*s.shares, s.anywhere)), loss] for s in found)
    return tidy.write_lines(CSV_HEAD, lines)
