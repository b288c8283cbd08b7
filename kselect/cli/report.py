"""``kselect report``: store -> stats -> report."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kselect.config.load import load_config
from kselect.criteria import CRITERIA
from kselect.datasets.fetch import packaged
from kselect.errors import ConfigError, StoreError
from kselect.model.experiment import TABLE, Experiment
from kselect.model.records import COLUMNS
from kselect.store.gather import (
    NOT_RUN,
    manifest,
    ordered_records,
    read_manifest,
    records_text,
    seconds_text,
    wanted_jobs,
)
from kselect.store.jobs import Store

if TYPE_CHECKING:
    from pandas import DataFrame

    from kselect.report import IndexEntry

EPILOG = """\b
Examples:
  kselect report results/ecml2014
  kselect report results/          one page over all experiments
"""


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
    written: list[Path] = []
    problems: list[str] = []
    for one in found:
        try:
            paths = report_one(one)
        except StoreError as error:
            problems.append(str(error))
            continue
        written.append(one)
        say(f"{one}: {len(paths)} files, {one / 'report.html'}")
    if written and found != [folder]:
        from kselect.report import write_index

        write_index(index_entries(written), folder / "index.html")
        say(str(folder / "index.html"))
    return problems


def experiment_folders(folder: Path) -> list[Path]:
    """The folder itself if it holds an experiment, else those below it that do."""
    if (folder / "config.resolved.yaml").is_file():
        return [folder]
    found = sorted(path.parent for path in folder.glob("*/config.resolved.yaml"))
    if not found:
        raise ConfigError(
            f"{folder}: no results here (a run leaves config.resolved.yaml); kselect run first"
        )
    return found


def index_entries(folders: Iterable[Path]) -> list[IndexEntry]:
    """What the index shows of each experiment."""
    from kselect.report import IndexEntry

    entries = []
    for folder in folders:
        experiment = load_config(folder / "config.resolved.yaml")
        facts = read_manifest(Store(folder))
        state = f"{facts.get('jobs', 0)} jobs, {facts.get('failed_records', 0)} failed records"
        link = f"{folder.name}/report.html"
        entries.append(IndexEntry(experiment.name, experiment.title, experiment.paper, link, state))
    return entries


def report_one(folder: Path) -> list[Path]:
    """Everything that is written about one experiment."""
    from kselect.report import write_report

    experiment = load_config(folder / "config.resolved.yaml")
    store = Store(folder)
    records = read_records(experiment, store)
    facts = read_manifest(store)
    try:
        return write_report(
            experiment,
            records,
            missing=missing_datasets(experiment, records, facts),
            reconstructed=reconstructed(experiment),
            published=published(experiment),
            provenance=provenance(facts),
            folder=folder,
        )
    except OSError as error:
        raise StoreError(f"{error.filename or folder}: cannot write: {error.strerror}") from None


def read_records(experiment: Experiment, store: Store) -> DataFrame:
    """The records of the jobs; where jobs are not kept (a clone has none), those of records.csv."""
    import pandas

    jobs = wanted_jobs(experiment, store.jobs())
    path = store.folder / "records.csv"
    if jobs:
        old = read_manifest(store)
        sources = {name: entry.get("from", "") for name, entry in old.get("data", {}).items()}
        facts = manifest(
            experiment, jobs, sources, old.get("missing", {}), old.get("environments", {})
        )
        text = records_text(ordered_records(experiment, jobs))
        store.write("records.csv", text)
        store.write("seconds.csv", seconds_text(jobs))
        store.write_json("manifest.json", facts)
    else:
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise StoreError(f"{path}: {error.strerror}; kselect run first") from None
        if text.partition("\n")[0] != ",".join(COLUMNS):
            raise StoreError(f"{path}: not the columns of this version; kselect run again")
    texts = ("loss", "params", "kernel", "chosen", "reason")
    frame = pandas.read_csv(
        io.StringIO(text),
        keep_default_na=False,
        na_values={c: [""] for c in ("lam", "score", "error")},
    )
    return frame.astype(dict.fromkeys(texts, str))


def missing_datasets(
    experiment: Experiment, records: DataFrame, facts: Mapping[str, Any]
) -> dict[str, str]:
    """Data set -> why there are no records of it."""
    here = set(records["dataset"])
    known = facts.get("missing", {})
    return {name: known.get(name, NOT_RUN) for name in experiment.datasets if name not in here}


def reconstructed(experiment: Experiment) -> dict[str, str]:
    """Column -> what of its criterion is reconstructed."""
    columns = (m for m in experiment.methods if m.part == TABLE)
    texts = {m.label: CRITERIA[m.criterion].reconstructed for m in columns}
    return {label: text for label, text in texts.items() if text}


def published(experiment: Experiment) -> DataFrame | None:
    """The paper's own numbers, None where the config names no paper or it has no legible table."""
    import pandas

    path = packaged("published") / f"{experiment.paper}.csv"
    if not experiment.paper or not path.is_file():
        return None
    return pandas.read_csv(path, keep_default_na=False, na_values={"mean": [""], "spread": [""]})


def provenance(facts: Mapping[str, Any]) -> dict[str, str]:
    """The manifest in words, for the page."""
    lines = {"seed": str(facts.get("seed", "")), "jobs": str(facts.get("jobs", ""))}
    for name, environment in facts.get("environments", {}).items():
        packages = ", ".join(f"{k} {v}" for k, v in environment.get("packages", {}).items())
        state = environment.get("git") or {}
        commit = state.get("commit", "unknown")[:12] + (
            " with local changes" if state.get("dirty") else ""
        )
        lines[f"environment {name}"] = (
            f"{environment.get('jobs')} jobs; Python {environment.get('python')}, {packages}; "
            f"{environment.get('cpu')}, one BLAS thread a worker; commit {commit}"
        )
    for name, entry in facts.get("data", {}).items():
        lines[f"data {name}"] = f"{entry.get('from', '')}, sha256 {entry['sha256']}"
    return lines
