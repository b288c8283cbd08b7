"""The report of an experiment: its files, and its HTML page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

from kselect.files import write_changed
from kselect.report.cells import FOLDER
from kselect.report.elements import LATER, Element, File, Passage
from kselect.report.head import Head, make_head
from kselect.report.sections import FIGURES, SECTIONS
from kselect.report.template import Links, render
from kselect.report.words import describe_coverage, describe_protocol
from kselect.report.writers import write_markdown
from kselect.stats.study import Study

PAGE, STANDALONE = "report.html", "standalone.html"
NO_LINKS = Links()
# Called with the number of parts that are done, and of all parts.
Step = Callable[[int, int], None]
Shown = File | Passage
Showing = Callable[[], Iterable[Shown]]

# Anchor -> its name in the navigation, and its heading, in the order of the page.
CHAPTERS = {
    "claims": ("Claims", "Claims and verdicts"),
    "tables": ("Tables", "Test errors"),
    "rankings": ("Rankings", "Methods ranked over data sets"),
    "figures": ("Figures", "Figures"),
    "published": ("Published and ours", "Published and ours"),
    "seconds": ("Seconds", "Seconds of a selection"),
    "sensitivity": ("Sensitivity", "Other readings of the protocol"),
    "edges": ("Choices", "The choices on the grid"),
    "statistics": ("Statistics", "Statistics"),
    "failures": ("Failures", "Failures and missing numbers"),
    "made": ("Provenance", "How the numbers were made"),
}


def write_report(
    study: Study,
    folder: Path,
    more: Sequence[Passage] = (),
    home: str = "",
    standalone: bool = False,
    step: Step = lambda done, total: None,
) -> list[Path]:
    """Write tables, figures and pages below a folder, each file in one step; return the paths.

    A file whose content does not change is not written again. Any part of the records, even none, gives a report.
    ``more`` are passages of other stages for the same page, ``home`` is the address of the page over all
    experiments, and ``step`` is called after each section and figure. ``standalone`` adds a page that needs no
    other file.
    """
    passages, paths, data = [], [], []
    figures = [
        partial(FIGURES[figure.kind].show, figure, study) for figure in study.experiment.figures
    ]
    # Sorted, because the order of a registry is the order of imports.
    sections = [partial(show, study) for _, show in sorted(SECTIONS.items())]
    # The figures come last, but begin first: another process draws them while this one computes.
    for item in in_order(sections, figures, step):
        if isinstance(item, Passage):
            passages.append(item)
            continue
        write_changed(folder / item.name, item.content)
        paths.append(folder / item.name)
        if item.name.startswith(f"{FOLDER}/"):
            data.append(str(item.content))
    passages += more
    texts: dict[str, list[str]] = {}
    for passage in passages:
        if passage.file:
            texts.setdefault(passage.file, []).append(write_markdown(passage.elements))
    files = {name: "\n\n".join(parts) + "\n" for name, parts in texts.items()}
    for name, text in files.items():
        write_changed(folder / name, text)
    # The page links to the files that exist.
    pages = {PAGE: write_page(study, passages, Links(folder), home)}
    if standalone:
        pages[STANDALONE] = write_page(study, passages, Links(folder, True), data=data)
    for name, text in pages.items():
        write_changed(folder / name, text)
    return [*paths, *(folder / name for name in (*files, *pages))]


def in_order(
    sections: Sequence[Showing], figures: Sequence[Showing], step: Step
) -> Iterator[Shown]:
    """Yield what the sections give, then what the figures give.

    The figures run first. Parts that wait for another process are finished last.
    """
    parts = (*sections, *figures)
    found: list[list[Shown]] = [[] for _ in parts]
    waiting: list[tuple[Iterator[Shown], list[Shown]]] = []
    done = 0
    for i in (*range(len(sections), len(parts)), *range(len(sections))):
        run = iter(parts[i]())
        if advance(run, found[i]):
            waiting.append((run, found[i]))
            continue
        step(done := done + 1, len(parts))
    for run, items in reversed(waiting):  # the other process begins with the first
        while advance(run, items):
            pass
        step(done := done + 1, len(parts))
    yield from chain.from_iterable(found)


def advance(run: Iterator[Shown], items: list[Shown]) -> bool:
    """Append what a part gives; return whether it has to wait."""
    for item in run:
        if item is LATER:
            return True
        items.append(item)
    return False


def write_page(
    study: Study,
    passages: Iterable[Passage],
    links: Links = NO_LINKS,
    home: str = "",
    data: Iterable[str] = (),
) -> str:
    """Return the HTML page of an experiment; without links it needs no other file.

    ``data`` are the cells of the main tables that the page contains; otherwise it loads them when a reader opens
    one.
    """
    experiment = study.experiment
    coverages = {
        loss: describe_coverage(study.comparison(loss).coverage()) for loss in experiment.losses
    }
    return render_page(
        experiment.title,
        f"Experiment {experiment.name}",
        describe_protocol(experiment, experiment.loss),
        passages,
        CHAPTERS,
        [(f"{loss} loss", text) for loss, text in coverages.items() if text],
        links=links,
        top=make_head(study),
        home=home,
        data=data,
    )


def render_page(
    title: str,
    subtitle: str,
    protocol: str,
    passages: Iterable[Passage],
    names: Mapping[str, tuple[str, str]],
    remarks: Sequence[tuple[str, str]] = (),
    *,
    links: Links = NO_LINKS,
    top: Head | None = None,
    home: str = "",
    data: Iterable[str] = (),
) -> str:
    """Return an HTML page of passages, in the order of the chapters in ``names``.

    Empty chapters are left out. A chapter that is not in ``names`` comes last, under its own name. ``remarks``
    stand at the top, each with its first words in bold, below the paper and the summary of ``top``.
    """
    elements: dict[str, list[Element]] = {anchor: [] for anchor in names}
    for passage in passages:
        elements.setdefault(passage.chapter, []).extend(passage.elements)
    chapters = [
        (anchor, *names.get(anchor, (anchor.capitalize(),) * 2), found)
        for anchor, found in elements.items()
        if anchor and found
    ]
    return render(
        "report.html.j2",
        "" if links.standalone or not links.folder else "'self'",
        data,
        title=title,
        subtitle=subtitle,
        protocol=protocol,
        remarks=remarks,
        chapters=chapters,
        top=top,
        links=links,
        home=home,
    )
