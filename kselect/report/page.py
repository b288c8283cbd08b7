"""One page for an experiment, with nothing outside it: tables, figures, verdicts, failures."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from kselect.report.claims import HEAD as CLAIMS_HEAD
from kselect.report.claims import ClaimText, make_claims, make_exact, make_guard
from kselect.report.published import HEAD as PUBLISHED_HEAD
from kselect.report.published import PublishedSheet, make_published
from kselect.report.sheet import Sheet, make_sheet
from kselect.report.words import describe_coverage, describe_protocol
from kselect.stats.results import Results
from kselect.stats.sweeps import Figure

if TYPE_CHECKING:
    from jinja2 import Environment


@dataclass(frozen=True)
class View:
    """What the page shows under one loss."""

    sheet: Sheet
    claims: tuple[ClaimText, ...]
    published: PublishedSheet | None
    coverage: str


@dataclass(frozen=True)
class Picture:
    """A figure inside the page."""

    name: str
    alt: str
    caption: str
    uri: str


def write_page(
    results: Results,
    reconstructed: Mapping[str, str],
    provenance: Mapping[str, str],
    pictures: Mapping[str, bytes],
) -> str:
    """The whole page; ``pictures`` are the PNG figures by name."""
    views = tuple(make_view(results, i, reconstructed) for i in range(len(results.losses)))
    return (
        environment()
        .get_template("report.html.j2")
        .render(
            experiment=results.experiment,
            protocol=describe_protocol(results.experiment, results.main.loss),
            views=views,
            pictures=make_pictures(results, pictures),
            failures=results.failures,
            absent=results.absent,
            provenance=provenance,
            claims_head=CLAIMS_HEAD,
            exact=make_exact(results),
            guard=make_guard(results.main),
            published_head=PUBLISHED_HEAD,
        )
    )


def make_view(results: Results, i: int, reconstructed: Mapping[str, str]) -> View:
    """One loss as text."""
    mine = results.losses[i]
    return View(
        make_sheet(results, mine, reconstructed),
        make_claims(mine, reconstructed),
        make_published(results, mine, reconstructed) if mine.distances else None,
        describe_coverage(mine.coverage),
    )


def make_pictures(results: Results, pictures: Mapping[str, bytes]) -> tuple[Picture, ...]:
    """Every figure as a data URI with its caption."""
    sweeps = [
        (
            figure.name,
            f"Test error over {figure.parameter}, one panel for each data set",
            f"Test error over {figure.parameter} at λ = {figure.lam:g}: mean and standard "
            f"deviation over splits of {describe_lines(figure)}.",
        )
        for figure in results.figures
    ]
    probes = [
        (
            graph.name,
            f"Mean square difference over {graph.parameter}, one panel for each data set",
            f"Mean square difference between the approximated and the exact held-out predictions over "
            f"the {graph.parameter}, at the parameters that {', '.join(graph.methods)} select; dashed: "
            "what the rate of the series predicts from the first value on.",
        )
        for graph in results.graphs
    ]
    return tuple(
        Picture(name, alt, caption, data_uri(pictures[name]))
        for name, alt, caption in (*sweeps, *probes)
    )


def data_uri(png: bytes) -> str:
    """A picture inside the page."""
    return "data:image/png;base64," + base64.b64encode(png).decode("ascii")


def describe_lines(figure: Figure) -> str:
    """The curves of a figure, and its reference lines if it has any."""
    references = ", ".join(label for label, _ in figure.references)
    return ", ".join(figure.methods) + (f"; dashed: {references}" if references else "")


@cache
def environment() -> Environment:
    """The templates of this folder; everything is escaped, an unknown name is an error."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
