"""``kselect verify``: recompute a sample of a packaged experiment and compare it with the committed records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from kselect.cli.flags import COUNT, NAME, QUIET, place_options
from kselect.cli.progress import handle_interrupts
from kselect.config.load import load_config
from kselect.core.experiment import Experiment
from kselect.core.job import Trial
from kselect.core.record import Record, RecordKey, record_keys
from kselect.datasets.dataset import Source
from kselect.datasets.fetch import Places, Unreachable, in_package, resolve
from kselect.errors import ConfigError, DataError, nearest, quoted
from kselect.packaged import experiments, find_config
from kselect.plan import Plan
from kselect.report.sections import FIGURES
from kselect.run.locks import FolderLocks
from kselect.run.progress import clock
from kselect.run.scheduler import RunOptions, run_plan
from kselect.run.workers import local_executor
from kselect.stats.agreement import Agreement, at_committed, compare
from kselect.store.committed import Committed, draw_sample, read_committed
from kselect.store.jobs import Store

EPILOG = """\b
Examples:
  kselect verify ecml2014
  kselect verify tcyb2018 --cells 50 -d heart -d sonar --offline -j 2
"""
WAYS_OUT = "ways out: --mirror DIR|URL or 'kselect data fetch {name}'"
SampleKey = tuple[str, int, RecordKey]


@click.command("verify", epilog=EPILOG)
@click.argument("name")
@click.option(
    "--cells", default=200, show_default=True, type=COUNT, help="Recompute this many cells."
)
@click.option("--seed", default=0, show_default=True, type=int, help="Seed the choice of cells.")
@click.option("-d", "--dataset", "datasets", **NAME, help="Use only this data set (repeatable).")
@click.option(
    "-j", "--n-jobs", default=1, show_default=True, type=COUNT, help="Use this many processes."
)
@place_options
@QUIET
def verify(
    name: str,
    cells: int,
    seed: int,
    datasets: tuple[str, ...],
    n_jobs: int,
    where: Places,
    quiet: bool,
) -> int:
    """Recompute a random sample of the experiment NAME and compare it with the committed records.

    A cell is the choice of one method on one split, with its score and test error. The sample is spread over
    methods and over all data sets that have a file here; the others are named. Exit status 1 if a cell differs.
    """
    handle_interrupts()
    known = experiments()
    if name not in known:
        raise ConfigError(f"{quoted(name)}: no experiment of kselect{nearest(name, known)}")
    experiment = load_config(find_config(name), FIGURES)
    committed = read_committed(experiment)
    for dataset in datasets:
        if dataset not in committed.files:
            hint = nearest(dataset, committed.files)
            raise ConfigError(f"--dataset: {name} has no records of {quoted(dataset)}{hint}")
    wanted = {n: s for n, s in committed.files.items() if not datasets or n in datasets}
    sources, missing = same_sources(experiment, wanted, where)
    for why in missing:
        click.echo(f"not verified: {why}", err=True)
    if not sources:
        raise DataError("no data set is left: none of them has the file of the committed records")
    sample = draw_sample(committed.records, list(sources), cells, seed)
    if not quiet:
        click.echo(described(experiment, committed, sample, seed), err=True)
    options = RunOptions(n_jobs=n_jobs, quiet=quiet)
    found = recompute(experiment, trials_of(experiment, sample, sources), sources, options)
    results = [
        settled(experiment, compare(r, found.get(cell_of(r))), sources, options) for r in sample
    ]
    return print_results(name, results)


def cell_of(record: Record) -> SampleKey:
    """Return what identifies a record within its experiment."""
    return record.dataset, record.split, record.key


def same_sources(
    experiment: Experiment, files: Mapping[str, str], where: Places
) -> tuple[dict[str, Source], list[str]]:
    """Return the file of each data set, and the reasons for those without the file of the committed records.

    If another file comes first, as the original in the cache may, the packed copy is tried.
    """
    found: dict[str, Source] = {}
    problems: list[str] = []
    for name, sha256 in files.items():
        info = experiment.info(name)
        try:
            source = resolve(info, where, WAYS_OUT)
        except DataError as error:
            problems.append(str(error))
            continue
        if source.sha256 != sha256:
            with suppress(Unreachable):
                source = in_package(info, where) or source
        if source.sha256 == sha256:
            found[name] = source
        else:
            problems.append(
                f"{name}: the committed records are of a file with SHA-256 {sha256[:12]}..., "
                f"{source.path} ({source.kind}) has {source.sha256[:12]}..."
            )
    return found, problems


def described(
    experiment: Experiment, committed: Committed, sample: Iterable[Record], seed: int
) -> str:
    """Return the size of a sample, and the measured time of its jobs with all methods."""
    cells = list(sample)
    jobs = {(r.dataset, r.split) for r in cells}
    seconds = sum(committed.seconds.get(job, 0.0) for job in jobs)
    return (
        f"{experiment.name}: {len(cells)} of {len(committed.records)} cells (seed {seed}) from {len(jobs)} jobs "
        f"of {len({name for name, _ in jobs})} data sets; with all methods, these jobs took {clock(seconds)} "
        f"in one process ({', '.join(committed.cpus)})"
    )


# --- recomputing ------------------------------------------------------------------------------------


def trials_of(
    experiment: Experiment, sample: Iterable[Record], sources: Mapping[str, Source]
) -> tuple[Trial, ...]:
    """Return the trials that compute a sample: on each split, only the methods that it needs."""
    wanted: dict[tuple[str, int], set[RecordKey]] = {}
    for record in sample:
        wanted.setdefault((record.dataset, record.split), set()).add(record.key)
    return tuple(
        Trial(
            dataset,
            split,
            tuple(
                m
                for m in experiment.methods_on(dataset, split)
                if not keys.isdisjoint(record_keys(experiment, m))
            ),
            sources[dataset],
        )
        for (dataset, split), keys in wanted.items()
    )


def recompute(
    experiment: Experiment,
    trials: tuple[Trial, ...],
    sources: Mapping[str, Source],
    options: RunOptions,
) -> dict[SampleKey, Record]:
    """Run trials as ``kselect run`` does, in a temporary folder; return their records."""
    ordered = sorted(trials, key=lambda trial: -experiment.info(trial.dataset).rows)
    options = replace(options, n_jobs=min(options.n_jobs, len(trials)))
    with TemporaryDirectory(prefix="kselect-verify-") as folder:
        store = Store(Path(folder))
        plan = Plan(tuple(ordered), 0, sources, {})
        with closing(FolderLocks(store.folder)) as locks:
            run_plan(experiment, plan, store, "", options, local_executor, locks)
        jobs = [job for pair in store.stored() if (job := store.read(*pair))]
    return {cell_of(record): record for job in jobs for record in job.records}


def settled(
    experiment: Experiment,
    result: Agreement,
    sources: Mapping[str, Source],
    options: RunOptions,
) -> Agreement:
    """Return a result; if two grid points are tied, recompute the committed one and compare its numbers."""
    record = result.committed
    if not result.tied or record.state:
        return result
    alike = at_committed(experiment, record)
    if alike is None:
        return replace(result, tied=False)
    one, method = alike
    trial = Trial(record.dataset, record.split, (method,), sources[record.dataset])
    found = list(recompute(one, (trial,), sources, replace(options, quiet=True)).values())
    same = next((r for r in found if r.setting == record.setting), None)
    there = compare(record, same)
    if there.differences:
        committed = (f"there {text}" for text in there.differences)
        return replace(result, differences=(*result.differences, *committed), tied=False)
    return result


def print_results(name: str, results: list[Agreement]) -> int:
    """Print the cells that differ or are tied, then the count of those that agree; return the exit status."""
    tied = [result for result in results if result.tied]
    differing = [result for result in results if not result.agrees]
    for result in tied:
        click.echo(f"tied: {result.text}")
    for result in differing:
        click.echo(f"differs: {result.text}")
    more = f", {len(tied)} of them with another choice of the same score" if tied else ""
    click.echo(f"{name}: {len(results) - len(differing)} of {len(results)} cells agree{more}")
    return 1 if differing else 0
