"""The one entry: a study -> every file of a report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from kselect.files import write_whole
from kselect.report.blocks import Block, File, Shown
from kselect.report.formats import markdown
from kselect.report.page import write_page
from kselect.report.sections import FIGURES, SECTIONS
from kselect.stats.study import Study


def write_report(study: Study, folder: Path, more: Sequence[Block] = ()) -> list[Path]:
    """Write tables, figures and ``report.html`` below a folder, each file whole; gives the paths.

    Any part of the records, even none, gives a report. ``more`` is what others show on its page.
    """
    paths = []
    for file in make_files(study, more):
        write_whole(folder / file.name, file.content)
        paths.append(folder / file.name)
    return paths


def make_files(study: Study, more: Sequence[Block]) -> Iterator[File]:
    """Every file of the report; the page comes last."""
    shown = list(show_sections(study))
    blocks = [*(block for one in shown for block in one.blocks), *more]
    for one in shown:
        yield from one.files
    yield from gather_texts(blocks)
    yield File("report.html", write_page(study, blocks))


def show_sections(study: Study) -> Iterator[Shown]:
    """Every section by its name, then the figures of the config."""
    # Sorted, as a registry's order is that of the imports, and a chapter shows its sections in this order.
    for _, show in sorted(SECTIONS.items()):
        yield show(study)
    for figure in study.experiment.figures:
        yield FIGURES[figure.kind].show(figure, study)


def gather_texts(blocks: Iterable[Block]) -> Iterator[File]:
    """The Markdown files that several sections write together."""
    texts: dict[str, list[str]] = {}
    for block in blocks:
        if block.also_in:
            texts.setdefault(block.also_in, []).append(markdown.write(block.elements))
    return (File(name, "\n\n".join(parts) + "\n") for name, parts in texts.items())
