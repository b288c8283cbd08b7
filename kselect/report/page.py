"""The report of an experiment: its files, its HTML page, and the index page over several experiments."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from kselect.core.table import Measure
from kselect.files import write_whole
from kselect.report.claims.judge import judge_claims
from kselect.report.elements import Element, Passage
from kselect.report.sections import FIGURES, SECTIONS
from kselect.report.sections.published import describe_totals
from kselect.report.words import describe_coverage, describe_protocol
from kselect.report.writers import write_markdown
from kselect.stats.distances import distances
from kselect.stats.study import Study

if TYPE_CHECKING:
    from jinja2 import Environment

# Anchor -> its name in the navigation, and its heading, in the order of the page.
CHAPTERS = {
    "claims": ("Claims", "The paper's claims"),
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


def write_report(study: Study, folder: Path, more: Sequence[Passage] = ()) -> list[Path]:
    """Write tables, figures and ``report.html`` below a folder, each file in one step; return the paths.

    Any part of the records, even none, gives a report. ``more`` are passages of other stages for the same page.
    """
    passages, paths = [], []
    # Sorted, because the order of a registry is the order of imports.
    shown = [show(study) for _, show in sorted(SECTIONS.items())]
    shown += [FIGURES[figure.kind].show(figure, study) for figure in study.experiment.figures]
    for item in chain.from_iterable(shown):
        if isinstance(item, Passage):
            passages.append(item)
        else:
            write_whole(folder / item.name, item.content)
            paths.append(folder / item.name)
    passages += more
    texts: dict[str, list[str]] = {}
    for passage in passages:
        if passage.file:
            texts.setdefault(passage.file, []).append(write_markdown(passage.elements))
    files = {name: "\n\n".join(parts) + "\n" for name, parts in texts.items()}
    for name, text in (files | {"report.html": write_page(study, passages)}).items():
        write_whole(folder / name, text)
        paths.append(folder / name)
    return paths


def write_page(study: Study, passages: Iterable[Passage]) -> str:
    """Return the HTML page of an experiment; it needs no other file."""
    experiment = study.experiment
    coverages = {
        loss: describe_coverage(study.comparison(loss).coverage()) for loss in experiment.losses
    }
    after = f", after {experiment.paper}" if experiment.paper else ""
    return render_page(
        experiment.title,
        f"Experiment {experiment.name}{after}",
        describe_protocol(experiment, experiment.loss),
        passages,
        CHAPTERS,
        [(f"{loss} loss", text) for loss, text in coverages.items() if text],
    )


def render_page(
    title: str,
    subtitle: str,
    protocol: str,
    passages: Iterable[Passage],
    names: Mapping[str, tuple[str, str]],
    remarks: Sequence[tuple[str, str]] = (),
) -> str:
    """Return an HTML page of passages, in the order of the chapters in ``names``.

    Empty chapters are left out. A chapter that is not in ``names`` comes last, under its own name. ``remarks``
    stand at the top, each with its first words in bold.
    """
    elements: dict[str, list[Element]] = {anchor: [] for anchor in names}
    for passage in passages:
        elements.setdefault(passage.chapter, []).extend(passage.elements)
    chapters = [
        (anchor, *names.get(anchor, (anchor.capitalize(),) * 2), found)
        for anchor, found in elements.items()
        if anchor and found
    ]
    return (
        environment()
        .get_template("report.html.j2")
        .render(
            title=title, subtitle=subtitle, protocol=protocol, remarks=remarks, chapters=chapters
        )
    )


@dataclass(frozen=True)
class IndexEntry:
    """An experiment on the index page: the path of its page, a line about its state, and its results.

    ``verdicts`` are the paper's claims with their verdicts under the experiment's own loss.
    """

    name: str
    title: str
    paper: str
    href: str
    state: str
    verdicts: tuple[tuple[str, str], ...] = ()
    agreement: str = ""


def index_entry(study: Study, href: str) -> IndexEntry:
    """Return the entry of an experiment on the index page; ``href`` is the path of its own page."""
    experiment = study.experiment
    found = study.once(distances, experiment.loss)
    return IndexEntry(
        experiment.name,
        experiment.title,
        experiment.paper,
        href,
        f"{study.facts.jobs} jobs, {study.facts.failed} failed records",
        tuple((j.claim.text, j.finding.verdict) for j in study.once(judge_claims)),
        describe_totals(found) if found else "",
    )


def write_index(entries: Sequence[IndexEntry], path: Path) -> Path:
    """Write ``index.html`` over several experiments, in the order given."""
    write_whole(path, environment().get_template("index.html.j2").render(entries=entries))
    return path


@cache
def environment() -> Environment:
    """Return the templates of this folder; all texts are escaped, and an unknown name is an error."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    folder = Path(__file__).parent
    found = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.globals["style"] = (folder / "style.css").read_text(encoding="utf-8")
    # A picture is part of the link to it.
    found.filters["data_uri"] = lambda svg: f"data:image/svg+xml;base64,{b64encode(svg).decode()}"
    found.filters["kind"] = lambda element: type(element).__name__.lower()
    found.tests["measure"] = lambda value: isinstance(value, Measure)
    return found
