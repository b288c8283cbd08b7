"""``kselect report``: rewrite the tables, figures and page of results from their stored jobs."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import shorten
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
from kselect.report.front import Entry, make_entry, write_index
from kselect.report.page import PAGE, Step, write_report
from kselect.report.sections import FIGURES
from kselect.report.unchanged import (
    figures_kept_in,
    files_below,
    front_is_current,
    keep_facts,
    keep_front,
    kept_facts,
)
from kselect.run.progress import is_terminal
from kselect.stats.sources import read_facts, read_published, read_seconds
from kselect.stats.study import Study
from kselect.store.committed import read_job_seconds
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
MANY_RECORDS = 2**19  # bytes; reading them takes as long as the start of a process
LEAST_TEXT = 10  # letters of a claim that are shown in any case
# Id, verdict, effect, interval, text of a claim.
VerdictRow = tuple[str, str, str, str, str]
INDEX_TITLE = "<title>kselect: experiments</title>"
EPILOG = """\b
Examples:
  kselect report ecml2014          the same as kselect report results/ecml2014
  kselect report                   every experiment in results/, and one page over all of them
  kselect report ecml2014 --standalone     one file to send, with everything in it
"""


@click.command("report", epilog=EPILOG)
@click.argument("results", nargs=-1, type=PATH)
@click.option(
    "--standalone",
    is_flag=True,
    help="Also write standalone.html, which contains its figures and tables.",
)
@QUIET
def report(results: tuple[Path, ...], standalone: bool, quiet: bool) -> None:
    """Rewrite records.csv, tables/, figures/ and report.html of RESULTS from their jobs.

    RESULTS are folders, or names of experiments in results/; without any, the folder results/. A folder of several
    experiments gets an index.html over all of them. Prints the verdicts on the claims. A report is left as it is if
    nothing that determines it has changed since it was written; a changed one draws the figures that have changed.
    """
    say: Callable[[str], None] = (lambda _: None) if quiet else click.echo
    problems: list[str] = []
    for folder in results or (RESULTS,):
        problems += report_folder(find_results(folder), say, standalone, quiet)
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


def report_folder(
    folder: Path, say: Callable[[str], None], standalone: bool = False, quiet: bool = False
) -> list[str]:
    """Report every experiment in a folder; return the problems of experiments without records."""
    found = [folder] if (folder / KEPT).is_file() else []
    found = found or sorted(path.parent for path in folder.glob(f"*/{KEPT}"))
    if not found:
        raise ConfigError(f"{folder}: no results here (no {KEPT}); use kselect run first")
    several = found != [folder]
    entries: dict[Path, Entry | None] = {}
    problems: list[str] = []
    for one in found:
        home = "../index.html" if several or is_front(one.parent / "index.html") else ""
        if (facts := kept_facts(one)) and serves(facts, home, standalone):
            say_all(say, map(tuple, facts["verdicts"]), facts["agreement"])
            say(f"{one}: unchanged, {one / PAGE}")
            entries[one] = None
            continue
        try:
            with shown_progress(one, quiet) as step:
                paths, entry = report_one(one, home, standalone, step)
        except StoreError as error:
            problems.append(str(error))
            continue
        entries[one] = entry
        say_all(say, verdicts_of(entry), entry.summary.agreement)
        say(f"{one}: {len(paths)} files")
        for page in (path for path in paths if path.suffix == ".html"):
            say(str(page))
    if entries and several:
        write_front(entries, folder / "index.html", say)
    return problems


def write_front(
    entries: Mapping[Path, Entry | None], index: Path, say: Callable[[str], None]
) -> None:
    """Write the front page, unless it and all reports are unchanged; an unchanged report has no entry yet."""
    if index.exists() and not is_front(index):
        raise StoreError(f"{index}: not written by kselect; move the file away")
    if any(entries.values()) or not front_is_current(index, entries):
        write_index([entry or kept_entry(one) for one, entry in entries.items()], index)
        keep_front(index, entries)
        say(str(index))
    else:
        say(f"{index}: unchanged")


def serves(facts: Mapping[str, Any], home: str, standalone: bool) -> bool:
    """Return whether an unchanged report is the one that is asked for."""
    return facts.get("home") == home and (facts.get("standalone", False) or not standalone)


def is_front(path: Path) -> bool:
    """Return whether a file is a front page that kselect wrote."""
    return path.is_file() and begins_with(path, INDEX_TITLE)


@contextmanager
def shown_progress(folder: Path, quiet: bool) -> Iterator[Step]:
    """Show ``rendering 14 of 52`` on stderr if it is a terminal, and remove the line at the end."""
    visible = not quiet and is_terminal(sys.stderr)

    def show(text: str) -> None:
        if visible:
            click.echo(f"\r\033[K{folder}: {text}", nl=False, err=True)

    try:
        show("reading")
        yield lambda done, total: show(f"rendering {done} of {total}")
    finally:
        if visible:
            click.echo("\r\033[K", nl=False, err=True)


def verdicts_of(entry: Entry) -> list[VerdictRow]:
    """Return id, verdict, effect, its interval and text of each claim."""
    return [
        (row.id, found.verdict, found.effect.text, found.effect.interval, row.judged.claim.text)
        for row in entry.rows
        if (found := row.judged.finding)
    ]


def say_all(say: Callable[[str], None], rows: Iterable[VerdictRow], agreement: str) -> None:
    """Print the verdicts and how many cells agree; in a terminal, a line is as long as that is wide."""
    width = shutil.get_terminal_size().columns if is_terminal(sys.stdout) else None
    for line in verdict_lines(list(rows), width):
        say(line)
    if agreement:
        say(agreement)


def verdict_lines(rows: Sequence[VerdictRow], width: int | None = None) -> Iterator[str]:
    """Yield a line per claim; if it is longer than ``width``, without the interval and with a shorter text."""
    whole = [
        (name, verdict, f"{effect} ({interval})" if interval else effect, text)
        for name, verdict, effect, interval, text in rows
    ]
    for table in (whole, [(*row[:3], row[4]) for row in rows]):
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        if width is None or sum(widths) + 2 * len(widths) <= width:
            break
    for *short, text in table:
        start = "".join(f"{cell:{size}}  " for cell, size in zip(short, widths[:-1], strict=True))
        room = max(LEAST_TEXT, len(text) if width is None else width - len(start))
        yield start + shorten(text, room, placeholder=" ...")


def report_one(folder: Path, home: str, standalone: bool, step: Step) -> tuple[list[Path], Entry]:
    """Write the report of one experiment; return its files and its entry for the front page."""
    before = files_below(folder)
    records = folder / GATHERED[0]
    many = records.is_file() and records.stat().st_size > MANY_RECORDS
    with figures_kept_in(folder, early=many):
        study = read_study(folder)
        sheet = kept_sheet(study.experiment, Store(folder), study.printed_seconds)
        more = list(make_passages(sheet)) if sheet else []
        with write_errors(folder):
            paths = write_report(study, folder, more, home, standalone, step)
    entry = make_entry(study, f"{folder.name}/{PAGE}", sheet.findings if sheet else ())
    gathered = [
        str(Path(where, name))
        for where in ("", *(f"{VARIANTS}/{name}" for name in study.variants))
        for name in GATHERED
    ]
    written = [str(path.relative_to(folder)) for path in paths]
    facts = {"home": home, "standalone": standalone}
    facts |= {"verdicts": verdicts_of(entry), "agreement": entry.summary.agreement}
    with write_errors(folder):
        keep_facts(folder, before, [*gathered, *written], facts)
    return paths, entry


@contextmanager
def write_errors(folder: Path) -> Iterator[None]:
    """Report a file that cannot be written in one line."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"{error.filename or folder}: cannot write: {error.strerror}") from None


def kept_entry(folder: Path) -> Entry:
    """Return the entry for the front page of an experiment whose report is unchanged."""
    study = read_study(folder)
    sheet = kept_sheet(study.experiment, Store(folder), study.printed_seconds)
    return make_entry(study, f"{folder.name}/{PAGE}", sheet.findings if sheet else ())


def read_study(folder: Path) -> Study:
    """Read the experiment that a folder keeps, with all of its records and its variants."""
    experiment = load_config(folder / KEPT, FIGURES, checked=False)
    printed = paper_file(experiment.paper, folder / KEPT, ".csv")
    store = Store(folder)
    check_foreign(store, kept=True)
    store.rows = read_rows(experiment, store)
    check_leftover(experiment, store, as_stored=True)
    gathered = write_gathered(experiment, store, as_stored=True)
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
        read_job_times(folder),
    )


def read_job_times(folder: Path) -> float:
    """Return the seconds of all jobs of a folder in one process; 0 if they are not known."""
    path = folder / GATHERED[1]
    return sum(read_job_seconds(path.read_bytes()).values()) if path.is_file() else 0.0
