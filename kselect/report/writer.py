"""The one entry: a study -> every file of a report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from kselect.files import write_whole
from kselect.report.blocks import Block, Shown
from kselect.report.elements import File, Passage
from kselect.report.formats import markdown
from kselect.report.page import write_page
from kselect.report.sections import FIGURES, SECTIONS
from kselect.report.writers import write_markdown
from kselect.stats.study import Study


def write_report(study: Study, folder: Path, more: Sequence[Block | Passage] = ()) -> list[Path]:
    """Write tables, figures and ``report.html`` below a folder, each file whole; return the paths.

    Any part of the records, even none, gives a report. ``more`` are passages of other stages for the same page.
    """
    paths = []
    for file in make_files(study, more):
        write_whole(folder / file.name, file.content)
        paths.append(folder / file.name)
    return paths


def make_files(study: Study, more: Sequence[Block | Passage]) -> Iterator[File]:
    """Yield every file of the report; the page comes last."""
    passages: list[Block | Passage] = []
    for item in show_sections(study):
        if isinstance(item, File):
            yield item
        else:
            passages.append(item)
    passages += more
    texts: dict[str, list[str]] = {}
    for passage in passages:
        if isinstance(passage, Passage) and passage.file:
            texts.setdefault(passage.file, []).append(write_markdown(passage.elements))
        elif isinstance(passage, Block) and passage.also_in:
            texts.setdefault(passage.also_in, []).append(markdown.write(passage.elements))
    yield from (File(name, "\n\n".join(parts) + "\n") for name, parts in texts.items())
    yield File("report.html", write_page(study, passages))


def show_sections(study: Study) -> Iterator[File | Block | Passage]:
    """Yield what every section shows, by its name, then the figures of the config."""
    # Sorted, as a registry's order is that of the imports, and a chapter shows its sections in this order.
    shows = [show(study) for _, show in sorted(SECTIONS.items())]
    shows += [FIGURES[figure.kind].show(figure, study) for figure in study.experiment.figures]
    for shown in shows:
        items: Iterable[File | Block | Passage]
        items = (*shown.files, *shown.blocks) if isinstance(shown, Shown) else shown
        yield from items
