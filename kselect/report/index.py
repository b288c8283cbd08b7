"""The page that leads to the pages of several experiments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kselect.files import write_whole
from kselect.report.page import environment
from kselect.stats.study import Study


@dataclass(frozen=True)
class IndexEntry:
    """An experiment: where its page lies, relative to the index, and one line about its state."""

    name: str
    title: str
    paper: str
    href: str
    state: str


def index_entry(study: Study, href: str) -> IndexEntry:
    """What the index shows of an experiment."""
    experiment, facts = study.experiment, study.facts
    state = f"{facts.jobs} jobs, {facts.failed} failed records"
    return IndexEntry(experiment.name, experiment.title, experiment.paper, href, state)


def write_index(entries: Sequence[IndexEntry], path: Path) -> Path:
    """Write ``index.html`` over several experiments, in the order given."""
    write_whole(path, environment().get_template("index.html.j2").render(entries=entries))
    return path
