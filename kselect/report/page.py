"""One page per experiment, with nothing outside it: the blocks of all sections in their chapters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from kselect.core.table import Measure
from kselect.report.blocks import Block
from kselect.report.blocks import Element as OldElement
from kselect.report.elements import Element, Passage
from kselect.report.style import data_uri
from kselect.report.words import describe_coverage, describe_protocol
from kselect.stats.study import Study

if TYPE_CHECKING:
    from jinja2 import Environment

# Anchor -> what the navigation calls it, and its heading, in the order of the page.
CHAPTERS = {
    "claims": ("Claims", "What the paper claims"),
    "tables": ("Tables", "Test errors"),
    "rankings": ("Rankings", "Columns ranked over data sets"),
    "figures": ("Figures", "Figures"),
    "published": ("Published and ours", "Published and ours"),
    "seconds": ("Seconds", "Seconds of a selection"),
    "sensitivity": ("Sensitivity", "Other readings of the protocol"),
    "edges": ("Choices", "Where the choices fell"),
    "statistics": ("Statistics", "Statistics"),
    "failures": ("Failures", "Failures and what is missing"),
    "made": ("How it was made", "How it was made"),
}


@dataclass(frozen=True)
class Chapter:
    """A part of the page that the navigation leads to."""

    anchor: str
    short: str
    title: str
    elements: tuple[Element | OldElement, ...]


def write_page(study: Study, blocks: Iterable[Block | Passage]) -> str:
    """The whole page."""
    experiment = study.experiment
    coverages = [
        (loss, describe_coverage(study.comparison(loss).coverage())) for loss in experiment.losses
    ]
    template = environment().get_template("report.html.j2")
    return template.render(
        experiment=experiment,
        protocol=describe_protocol(experiment, experiment.loss),
        coverages=coverages,
        chapters=list(make_chapters(blocks)),
    )


def make_chapters(blocks: Iterable[Block | Passage]) -> Iterator[Chapter]:
    """The chapters that have something in them, each with its blocks in the order of the sections.

    One that has no place in ``CHAPTERS`` comes last, under its own name.
    """
    elements: dict[str, list[Element | OldElement]] = {anchor: [] for anchor in CHAPTERS}
    for block in blocks:
        elements.setdefault(block.chapter, []).extend(block.elements)
    for anchor, found in elements.items():
        if anchor and found:
            short, title = CHAPTERS.get(anchor, (anchor.capitalize(), anchor.capitalize()))
            yield Chapter(anchor, short, title, tuple(found))


@cache
def environment() -> Environment:
    """The templates of this folder; everything is escaped, an unknown name is an error."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    found = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters["data_uri"] = data_uri
    found.filters["kind"] = lambda element: type(element).__name__.lower()
    found.tests["measure"] = lambda value: isinstance(value, Measure)
    return found
