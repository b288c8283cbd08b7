"""The one entry: records -> every file of a report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from kselect.files import write_whole
from kselect.model.experiment import Experiment
from kselect.report import latex, markdown, tidy
from kselect.report.claims import write_claims
from kselect.report.figures import draw
from kselect.report.page import write_page
from kselect.report.probe_figure import draw_probes
from kselect.report.published import make_published, to_latex, to_markdown
from kselect.report.sheet import make_sheet
from kselect.stats.results import LossResults, Results, analyse

if TYPE_CHECKING:
    import pandas as pd

File = tuple[str, str | bytes]


def write_report(
    experiment: Experiment,
    records: pd.DataFrame,
    missing: Mapping[str, str],
    reconstructed: Mapping[str, str],
    published: pd.DataFrame | None,
    provenance: Mapping[str, str],
    folder: Path,
) -> list[Path]:
    """Write tables, figures and ``report.html`` below a folder, each file whole; returns the paths.

    ``missing``: why a data set has no data; ``reconstructed``: what is reconstructed of a label;
    ``provenance``: facts from the manifest. Any part of the records, even none, gives a report.
    """
    results = analyse(experiment, records, missing, published)
    paths = []
    for name, content in make_files(results, reconstructed, provenance):
        write_whole(folder / name, content)
        paths.append(folder / name)
    return paths


def make_files(
    results: Results, reconstructed: Mapping[str, str], provenance: Mapping[str, str]
) -> Iterator[File]:
    """Every file of the report: its name below the folder, and its content."""
    for mine in results.losses:
        yield from make_tables(results, mine, reconstructed)
    yield "tables/claims.md", write_claims(results, reconstructed)
    pictures: dict[str, bytes] = {}
    for figure in results.figures:
        files = draw(figure, reconstructed)
        pictures[figure.name] = files["png"]
        yield from ((f"figures/{figure.name}.{kind}", content) for kind, content in files.items())
    for graph in results.graphs:
        files = draw_probes(graph)
        pictures[graph.name] = files["png"]
        yield from ((f"figures/{graph.name}.{kind}", content) for kind, content in files.items())
    yield "report.html", write_page(results, reconstructed, provenance, pictures)


def make_tables(
    results: Results, mine: LossResults, reconstructed: Mapping[str, str]
) -> Iterator[File]:
    """The table of one loss in three formats, and the published numbers where there are any."""
    sheet = make_sheet(results, mine, reconstructed)
    yield f"tables/{sheet.name}.csv", tidy.write_table(mine.comparison)
    yield f"tables/{sheet.name}.tex", latex.write_sheet(sheet)
    yield f"tables/{sheet.name}.md", markdown.write_sheet(sheet)
    if mine.distances:
        beside = make_published(results, mine, reconstructed)
        yield f"tables/{beside.name}.csv", tidy.write_published(mine.distances)
        yield f"tables/{beside.name}.tex", to_latex(beside, sheet.daggers)
        yield f"tables/{beside.name}.md", to_markdown(beside, sheet.daggers)
