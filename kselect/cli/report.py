"""``kselect report``: store -> stats -> report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click

from kselect.cli.experiment import KEPT, VARIANTS, kept_experiment
from kselect.config.document import read_document
from kselect.config.load import variant_of
from kselect.config.resolved import protocol_text, stored_protocol
from kselect.core.experiment import Experiment
from kselect.datasets.fetch import packaged
from kselect.errors import ConfigError, DataError, StoreError
from kselect.report.blocks import Block
from kselect.report.index import IndexEntry, index_entry, write_index
from kselect.report.writer import write_report
from kselect.stats.facts import read_facts
from kselect.stats.published import Published, read_published
from kselect.stats.study import Study, study_of
from kselect.store.gather import write_gathered
from kselect.store.jobs import Store
from kselect.timing.gather import kept_sheet
from kselect.timing.page import make_blocks
from kselect.timing.ratios import read_published as read_seconds

EPILOG = """\b
Examples:
  kselect report results/ecml2014
  kselect report results/          one page over all experiments
"""


@dataclass(frozen=True)
class Reported:
    """An experiment whose report is written: its files, and what an index shows of it."""

    folder: Path
    paths: tuple[Path, ...]
    entry: IndexEntry


@click.command("report", epilog=EPILOG)
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
def report(results: tuple[Path, ...], quiet: bool) -> None:
    """Rewrite records.csv, tables/, figures/ and report.html of RESULTS from their jobs.

    A folder of experiments gets an index.html over them all.
    """
    say = (lambda _: None) if quiet else click.echo
    problems: list[str] = []
    for folder in results:
        problems += report_folder(folder, say)
    if problems:
        raise StoreError("\n".join(problems))


def report_folder(folder: Path, say: Callable[[str], None]) -> list[str]:
    """Report every experiment of a folder; one without records does not keep the others from it."""
    found = experiment_folders(folder)
    written: list[Reported] = []
    problems: list[str] = []
    for one in found:
        try:
            done = report_one(one)
        except StoreError as error:
            problems.append(str(error))
            continue
        written.append(done)
        say(f"{one}: {len(done.paths)} files, {one / 'report.html'}")
    if written and found != [folder]:
        write_index([done.entry for done in written], folder / "index.html")
        say(str(folder / "index.html"))
    return problems


def experiment_folders(folder: Path) -> list[Path]:
    """The folder itself if it holds an experiment, else those below it that do."""
    if (folder / KEPT).is_file():
        return [folder]
    found = sorted(path.parent for path in folder.glob(f"*/{KEPT}"))
    if not found:
        raise ConfigError(
            f"{folder}: no results here (a run leaves config.resolved.yaml); kselect run first"
        )
    return found


def report_one(folder: Path) -> Reported:
    """Everything that is written about one experiment."""
    study = read_study(folder)
    seconds = seconds_of(study.experiment, folder)
    try:
        paths = write_report(study, folder, seconds)
    except OSError as error:
        raise StoreError(f"{error.filename or folder}: cannot write: {error.strerror}") from None
    return Reported(folder, tuple(paths), index_entry(study, f"{folder.name}/report.html"))


def seconds_of(experiment: Experiment, folder: Path) -> list[Block]:
    """What ``kselect time`` has left in a folder, for its page."""
    path = packaged("published") / f"{experiment.paper}.csv"
    printed = read_seconds(path) if experiment.paper else {}
    sheet = kept_sheet(experiment, Store(folder), printed)
    return list(make_blocks(sheet)) if sheet else []


def read_study(folder: Path) -> Study:
    """The experiment that a folder keeps, with all of its records, and the variants that were run beside it."""
    experiment = kept_experiment(folder)
    gathered = write_gathered(experiment, Store(folder))
    if not gathered.records:
        raise StoreError(
            f"{folder}: no jobs, and no records.csv that its manifest speaks of; kselect run first"
        )
    facts = read_facts(gathered.manifest)
    variants = {
        v.name: read_study(folder / VARIANTS / v.name)
        for v in experiment.variants
        if is_run(folder, v.name)
    }
    return study_of(experiment, gathered.records, published(experiment.paper), facts, variants)


def is_run(folder: Path, variant: str) -> bool:
    """Whether there are results of a variant as the config has it now."""
    kept = folder / VARIANTS / variant
    if not (kept / KEPT).is_file():
        return False
    now = protocol_text(variant_of(read_document(folder / KEPT), variant))
    if stored_protocol(kept) != now:
        raise StoreError(
            f"{kept}: its results are of another definition of this variant; "
            "remove the folder and run it again"
        )
    return True


def published(paper: str) -> tuple[Published, ...]:
    """The paper's own numbers, none where the config names no paper or it has no legible table."""
    path = packaged("published") / f"{paper}.csv"
    if not paper or not path.is_file():
        return ()
    try:
        with path.open(encoding="utf-8", newline="") as lines:
            return read_published(lines)
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
