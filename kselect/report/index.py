"""The page with links to the pages of several experiments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kselect.files import write_whole
from kselect.report.page import environment
from kselect.report.sections.other_claims import verdicts_without_loss
from kselect.report.sections.published import describe_totals
from kselect.stats.claims import judge
from kselect.stats.distances import distances
from kselect.stats.study import Study


@dataclass(frozen=True)
class IndexEntry:
    """An experiment on the index: the path of its page, one line about its state, and its results.

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
    """Return what the index shows of an experiment; ``href`` is the path of its page."""
    experiment = study.experiment
    found = study.once(distances, experiment.loss)
    claims = ((j.claim.text, j.verdict) for j in study.once(judge, experiment.loss))
    return IndexEntry(
        experiment.name,
        experiment.title,
        experiment.paper,
        href,
        f"{study.facts.jobs} jobs, {study.facts.failed} failed records",
        (*claims, *verdicts_without_loss(study)),
        describe_totals(found) if found else "",
    )


def write_index(entries: Sequence[IndexEntry], path: Path) -> Path:
    """Write ``index.html`` over several experiments, in the order given."""
    write_whole(path, environment().get_template("index.html.j2").render(entries=entries))
    return path
