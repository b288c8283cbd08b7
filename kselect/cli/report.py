"""``kselect report``: rewrite the tables, figures and page of results from their stored jobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from kselect.cli.flags import PATH, QUIET
from kselect.cli.run import KEPT, RESULTS, VARIANTS
from kselect.config.document import read_document
from kselect.config.load import load_config, variant_of
from kselect.config.own_entries import take_own
from kselect.config.papers import paper_file
from kselect.config.resolved import protocol_text, stored_protocol
from kselect.errors import ConfigError, StoreError, nearest, printable
from kselect.packaged import experiments
from kselect.report.page import IndexEntry, index_entry, write_index, write_report
from kselect.report.sections import FIGURES
from kselect.report.unchanged import figures_kept_in, files_below, keep_facts, kept_facts
from kselect.stats.sources import read_facts, read_published, read_seconds
from kselect.stats.study import Study
from kselect.store.gather import (
    begins_with,
    check_foreign,
    check_leftover,
    other_config,
    read_rows,
    write_gathered,
)
from kselect.store.jobs import Store
from kselect.store.timings import read_all
from kselect.timing.report import kept_sheet, make_passages

GATHERED = ("records.csv", "seconds.csv", "manifest.json")  # written from the jobs
INDEX_TITLE = "<title>kselect: experiments</title>"
EPILOG = """\b
Examples:
  kselect report ecml2014          the same as kselect report results/ecml2014
  kselect report                   every experiment in results/, and one page over all of them
"""


@click.command("report", epilog=EPILOG)
@click.argument("results", nargs=-1, type=PATH)
@QUIET
def report(results: tuple[Path, ...], quiet: bool) -> None:
    """Rewrite records.csv, tables/, figures/ and report.html of RESULTS from their jobs.

    RESULTS are folders, or names of experiments in results/; without any, the folder results/. A folder of several
    experiments gets an index.html over all of them. A report is left as it is if nothing that determines it has
    changed since it was written; a changed one draws the figures that have changed.
    """
    say: Callable[[str], None] = (lambda _: None) if quiet else click.echo
    problems: list[str] = []
    for folder in results or (RESULTS,):
        problems += report_folder(find_results(folder), say)
    if problems:
        raise StoreError("\n".join(problems))


def find_results(written: Path) -> Path:
    """Return the folder that a user means: a path, or the name of an experiment in results/."""
    named = RESULTS / written
    if written.exists() or written == RESULTS or written.name != str(written):
        return written
    if named.exists():
        return named
    here = [path.parent.name for path in RESULTS.glob(f"*/{KEPT}")]
    if written.name in experiments():
        advice = f"; kselect run {written} computes them"
    else:
        advice = nearest(str(written), here) if here else "; use kselect run first"
    raise ConfigError(f"{printable(written)}: no results here or in {RESULTS}/{advice}")


def report_folder(folder: Path, say: Callable[[str], None]) -> list[str]:
    """Report every experiment in a folder; return the problems of experiments without records."""
    found = [folder] if (folder / KEPT).is_file() else []
    found = found or sorted(path.parent for path in folder.glob(f"*/{KEPT}"))
    if not found:
        raise ConfigError(f"{folder}: no results here (no {KEPT}); use kselect run first")
    entries: list[IndexEntry] = []
    problems: list[str] = []
    for one in found:
        if facts := kept_facts(one):
            entries.append(kept_entry(facts))
            say(f"{one}: unchanged, {one / 'report.html'}")
            continue
        try:
            files, entry = report_one(one)
        except StoreError as error:
            problems.append(str(error))
            continue
        entries.append(entry)
        say(f"{one}: {files} files, {one / 'report.html'}")
    if entries and found != [folder]:
        index = folder / "index.html"
        if index.exists() and not begins_with(index, INDEX_TITLE):
            raise StoreError(f"{index}: not written by kselect; move the file away")
        write_index(entries, index)
        say(str(index))
    return problems


def report_one(folder: Path) -> tuple[int, IndexEntry]:
    """Write the report of one experiment; return the number of files and its entry for the index."""
    before = files_below(folder)
    study = read_study(folder)
    sheet = kept_sheet(study.experiment, Store(folder), study.printed_seconds)
    try:
        with figures_kept_in(folder):
            paths = write_report(study, folder, list(make_passages(sheet)) if sheet else [])
        entry = index_entry(study, f"{folder.name}/report.html")
        gathered = [
            str(Path(where, name))
            for where in ("", *(f"{VARIANTS}/{name}" for name in study.variants))
            for name in GATHERED
        ]
        written = [str(path.relative_to(folder)) for path in paths]
        keep_facts(folder, before, [*gathered, *written], asdict(entry))
    except OSError as error:
        raise StoreError(f"{error.filename or folder}: cannot write: {error.strerror}") from None
    return len(paths), entry


def kept_entry(facts: Mapping[str, Any]) -> IndexEntry:
    """Return the entry for the index that was kept with an unchanged report."""
    verdicts = tuple((text, verdict) for text, verdict in facts["verdicts"])
    return IndexEntry(**{**facts, "verdicts": verdicts})


def read_study(folder: Path) -> Study:
    """Read the experiment that a folder keeps, with all of its records and its variants."""
    experiment = load_config(folder / KEPT, FIGURES, checked=False)
    printed = paper_file(experiment.paper, folder / KEPT, ".csv")
    store = Store(folder)
    check_foreign(store, kept=True)
    store.rows = read_rows(experiment, store)
    check_leftover(experiment, store)
    gathered = write_gathered(experiment, store)
    if not gathered.records:
        if store.stored():
            raise other_config(store, f"{folder}: all of its jobs")
        raise StoreError(
            f"{folder}: no jobs, and no records.csv listed in its manifest; use kselect run first"
        )
    variants = {}
    for variant in experiment.variants:
        kept = folder / VARIANTS / variant.name
        if not (kept / KEPT).is_file():
            continue
        now = protocol_text(variant_of(take_own(read_document(folder / KEPT)), variant.name))
        if stored_protocol(kept) != now:
            raise StoreError(
                f"{kept}: its results are of another definition of this variant; "
                "remove the folder and run it again"
            )
        variants[variant.name] = read_study(kept)
    facts = read_facts(gathered.manifest)
    return Study(
        experiment,
        gathered.records,
        read_published(printed),
        facts,
        variants,
        tuple(read_all(experiment, Store(folder))),
        read_seconds(printed),
    )
