"""``kselect run``: run the remaining jobs of an experiment and gather their records."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import click

from kselect.cli.backends import (
    NOT_IN_PARTS,
    RunFlags,
    backend_options,
    start_backend,
    typed_again,
)
from kselect.cli.flags import (
    CONFIG,
    COUNT,
    PLUGIN,
    QUIET,
    RESULTS_FOLDER,
    SKIP_MISSING,
    column_options,
    place_options,
)
from kselect.cli.progress import handle_interrupts
from kselect.config.document import read_text
from kselect.config.load import Loaded, load, load_config
from kselect.config.papers import FOLDER, own_files
from kselect.config.plugin_entries import FOLDER as PLUGINS
from kselect.config.plugin_entries import changed_plugins
from kselect.config.resolved import stored_config, stored_protocol
from kselect.contract.checks import broken_parts
from kselect.core.experiment import Experiment
from kselect.core.record import RecordKey, record_keys
from kselect.datasets.dataset import Source
from kselect.datasets.fetch import Places
from kselect.errors import ConfigError, DataError, KselectError, StoreError
from kselect.plan import Plan, damaged, find_sources, make_plan
from kselect.report.sections import FIGURES
from kselect.run.estimate import PATIENCE, estimate
from kselect.run.job_array import FOLDER as ARRAY
from kselect.run.locks import FolderLocks
from kselect.run.progress import clock
from kselect.store.environment import cpu_flags, describe_environment, faster_blas
from kselect.store.gather import (
    check_foreign,
    check_leftover,
    read_rows,
    write_gathered,
)
from kselect.store.jobs import Store
from kselect.store.manifest import read_manifest

RESULTS = Path("results")
KEPT = "config.resolved.yaml"
VARIANTS = "variants"
STORED = "stored"  # the kind of source of a data set without a file that needs none
NONE_STORED: Mapping[str, Source] = {}
NO_FILE = "no file to be had (--skip-missing)"
EPILOG = """\b
Examples:
  kselect run quickstart
  kselect run my.yaml -j 2
  kselect run ecml2014 --mirror DIR
  kselect run ecml2014 -d heart -c 5-CV -c 5-KS --splits 3 --dry-run
  kselect run ecml2014 --variant minmax       next to the main results
  kselect run ecml2014 --variant all -j 2
  kselect run ecml2014 --backend slurm --max-running 8 -j 4 --time 2:00 --mem 8
"""


def parse_shard(_: click.Context, __: click.Parameter, value: str) -> tuple[int, int]:
    """Convert ``2/5`` to (2, 5)."""
    match = re.fullmatch(r"(\d+)/(\d+)", value)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise click.BadParameter(f"{value!r}; write I/N with 1 <= I <= N, as in 2/5")
    return int(match[1]), int(match[2])


@click.command("run", epilog=EPILOG)
@click.argument("config", type=CONFIG)
@column_options
@click.option(
    "--splits", metavar="N|A-B", help="Run N splits, or splits A to B. [default: the config's]"
)
@click.option(
    "-j", "--n-jobs", default=1, show_default=True, type=COUNT, help="Use this many processes."
)
@RESULTS_FOLDER
@click.option(
    "-n",
    "--dry-run",
    is_flag=True,
    help="Check the config, count the jobs and estimate the run time by timing samples; write nothing.",
)
@click.option("-f", "--force", "fresh", is_flag=True, help="Run finished jobs again.")
@click.option("--retry-failed", is_flag=True, help="Run failed jobs again.")
@click.option("--fail-fast", is_flag=True, help="Stop at the first failure.")
@place_options
@SKIP_MISSING
@backend_options
@click.option(
    "--shard",
    default="1/1",
    show_default=True,
    metavar="I/N",
    callback=parse_shard,
    help="Run only the I-th of N equal parts.",
)
@click.option(
    "--no-gather",
    is_flag=True,
    help="Store jobs only; a later run without this flag gathers their records.",
)
@click.option(
    "--variant",
    "variants",
    multiple=True,
    metavar="NAME",
    help="Run this variant of the config, or all, under <results>/variants/ (repeatable). [default: none]",
)
@PLUGIN
@QUIET
@click.option("-v", "--verbose", is_flag=True, help="Print where each data set comes from.")
def run(
    config: Path,
    datasets: tuple[str, ...],
    criteria: tuple[str, ...],
    splits: str | None,
    output: Path | None,
    where: Places,
    variants: tuple[str, ...],
    plugins: tuple[Path, ...],
    **flags: Any,
) -> int:
    """Run the remaining jobs of the experiment in CONFIG, writing to results/<name>/.

    CONFIG is a file, or the name of an experiment that comes with kselect (kselect list experiments). The same
    command resumes an interrupted run.
    """
    handle_interrupts()
    how = RunFlags(**flags)
    how.check_backend()
    overrides = {"datasets": datasets or None, "criteria": criteria or None, "splits": splits}
    wanted = tuple(dict.fromkeys(variants)) or ("",)
    if "all" in wanted:
        wanted = tuple(v.name for v in load_config(config, FIGURES).variants)
        if not wanted:
            raise ConfigError(f"--variant all: {config} has no variants")
    return max(run_one(config, overrides, output, v, where, how, plugins) for v in wanted)


# --- experiments and their folders, also for time and report ----------------------------------------


def read_experiment(
    path: Path,
    overrides: Mapping[str, object],
    output: Path | None = None,
    variant: str = "",
    plugins: tuple[Path, ...] = (),
) -> Loaded:
    """Return what the flags leave of a config or its variant, and the whole experiment of its results folder."""
    folder = partial(results_folder, output=output, variant=variant)
    return load(path, FIGURES, overrides, folder, variant, plugins)


def results_folder(experiment: Experiment, output: Path | None = None, variant: str = "") -> Path:
    """Return ``results/<name>`` or the folder of the flag; for a variant, ``variants/<variant>`` below it."""
    main = output or RESULTS / experiment.name
    return main / VARIANTS / variant if variant else main


def available_sources(
    experiment: Experiment,
    where: Places,
    skip_missing: bool,
    stored: Mapping[str, Source] = NONE_STORED,
) -> tuple[dict[str, Source], dict[str, str]]:
    """Return the file of each data set, and the reason for each missing one; refuse missing ones unless skipped.

    A data set of which everything is ``stored`` needs no file.
    """
    sources, missing = find_sources(experiment, where)
    sources |= {name: stored[name] for name in missing if name in stored}
    missing = {name: why for name, why in missing.items() if name not in stored}
    if missing and not skip_missing:
        raise DataError("\n".join(missing.values()))
    if not sources:
        raise DataError("no data set is left: none of them has a file")
    for why in missing.values():
        click.echo(f"skipped: {why}", err=True)
    return sources, missing


def complete_sources(experiment: Experiment, store: Store, retry_failed: bool) -> dict[str, Source]:
    """Return, for each data set whose cells are all stored, the checksum of the file that they come from."""
    data = read_manifest(store).get("data", {})
    sources = {
        name: Source(Path(), STORED, data[name]["sha256"])
        for name in experiment.datasets
        if name in data
    }
    plan = make_plan(experiment, sources, {}, store, retry_failed=retry_failed)
    unfinished = {trial.dataset for trial in plan.trials}
    return {name: source for name, source in sources.items() if name not in unfinished}


# --- one experiment ---------------------------------------------------------------------------------


def run_one(
    config: Path,
    overrides: Mapping[str, object],
    output: Path | None,
    variant: str,
    where: Places,
    how: RunFlags,
    plugins: tuple[Path, ...] = (),
) -> int:
    """Run the experiment of a config, or one of its variants; return the exit status."""
    loaded = read_experiment(config, overrides, output, variant, plugins)
    if broken := [line for plugin in loaded.plugins for line in broken_parts(plugin)]:
        raise ConfigError("\n".join(broken))
    experiment = loaded.asked
    store = Store(results_folder(experiment, output, variant))
    check_foreign(store, kept=(store.folder / KEPT).is_file())
    store.rows = read_rows(loaded.whole, store, loaded.before)
    stored = {} if how.fresh else complete_sources(experiment, store, how.retry_failed)
    for label, why in experiment.skipped:
        click.echo(f"skipped: {label}: {why}", err=True)
    sources, missing = available_sources(experiment, where, how.skip_missing, stored)
    plan = make_plan(
        experiment, sources, missing, store,
        retry_failed=how.retry_failed, force=how.fresh, shard=how.shard,
    )  # fmt: skip
    files = {name: source.sha256 for name, source in sources.items()}
    planned = planned_keys(experiment, plan)
    check_leftover(loaded.whole, store, files, planned, loaded.differences)
    describe(f"{experiment.name}{variant and f', variant {variant}'}", loaded, plan, store, how)
    if how.dry_run:
        if plan.trials and not how.quiet:
            click.echo(f"timing samples, for at most {clock(PATIENCE)}", err=True)
        found = estimate(experiment, plan, how.processes(len(plan.trials)))
        time = clock(found.seconds) if found.seconds >= 1 else "a second"
        about = "at least" if found.unknown else "about"
        unknown = f"; unknown: {', '.join(found.unknown)}" if found.unknown else ""
        click.echo(f"{about} {time} with {how.workers(len(plan.trials))}{unknown}")
        return 0
    keep_paper(experiment.paper, config, store)
    arguments = typed_again(click.get_current_context(), NOT_IN_PARTS)
    arguments += ["--variant", variant] if variant else []
    return execute(loaded, plan, store, how, partial(run_part, arguments))


def keep_paper(name: str, config: Path, store: Store) -> None:
    """Copy a paper that does not come with kselect into the results, so that a report finds it."""
    for file in own_files(name, config):
        store.write(f"{FOLDER}/{file.name}", read_text(file))


def planned_keys(experiment: Experiment, plan: Plan) -> Iterator[tuple[str, int, RecordKey]]:
    """Yield the data set, split and key of each record that the plan computes."""
    for trial in plan.trials:
        for method in trial.methods:
            for key in record_keys(experiment, method):
                yield trial.dataset, trial.split, key


def describe(name: str, loaded: Loaded, plan: Plan, store: Store, how: RunFlags) -> None:
    """Print what will be run, and why stored cells are computed again."""
    experiment = loaded.asked
    for what in damaged(store, plan.trials):
        click.echo(f"warning: {what}", err=True)
    if how.quiet:
        return
    if experiment.source and (rows := experiment.source.unmatched):
        more = f" and {len(rows) - 1} more" if len(rows) > 1 else ""
        click.echo(f"not compared, since this config does not run it: {rows[0]}{more}", err=True)
    if how.verbose or how.dry_run:
        for dataset, source in plan.sources.items():
            where = "no file, and none needed" if source.kind == STORED else source.path
            click.echo(f"{dataset}: {source.kind}, {where}", err=True)
    candidates = []
    if experiment.kernels:
        candidates.append(
            f"{len(experiment.kernels)} kernels x {len(experiment.lam.values)} ridges"
        )
    searches = sum(m.search is not None for m in experiment.table)
    if searches:
        candidates.append(f"kernels learned by {searches} searches")
    click.echo(
        f"{name}: {plan.stored} cells stored, {plan.cells} to compute; "
        f"{len(plan.trials)} jobs to run, {plan.done} done already; "
        f"data sets: {len(plan.sources)}, splits: {len(experiment.splits)}, "
        f"{' and '.join(candidates)}; {', '.join(experiment.labels)}",
        err=True,
    )
    if plan.replaced:
        why = loaded.differences or "another config, data file or plug-in"
        click.echo(f"{plan.replaced} of them are stored but no longer valid: {why}", err=True)


def execute(
    loaded: Loaded, plan: Plan, store: Store, how: RunFlags, part: Callable[[str], str]
) -> int:
    """Run the plan, then gather the records; return the exit status.

    ``part`` runs one of several parts, as in ``part("2/5")``.
    """
    from threadpoolctl import threadpool_limits

    compute = start_backend(how, part)
    with threadpool_limits(1):
        environment = describe_environment()
    if not how.quiet and (hint := faster_blas(environment["blas"], cpu_flags())):
        click.echo(hint, err=True)
    with closing(FolderLocks(store.folder, partial(click.echo, err=True))) as locks:
        locks.protocol(
            partial(keep_config, loaded, store),
            lambda: same_protocol(loaded, store.folder),
        )
        try:
            ended = compute(loaded.asked, plan, store, environment, locks)
            if how.no_gather:
                return ended
            return max(ended, finish(loaded, plan, store, environment, how))
        except StoreError as error:
            click.echo(f"error: {error}; finished jobs are kept", err=True)
            return 1


def keep_config(loaded: Loaded, store: Store) -> None:
    """Write the config of a results folder, and a copy of each plug-in."""
    for plugin in loaded.plugins:
        store.write(f"{PLUGINS}/{plugin.name}", plugin.content.decode())
    store.write(KEPT, loaded.resolved)


def same_protocol(loaded: Loaded, folder: Path) -> bool:
    """Return whether the config that a folder keeps has the same protocol and the same plug-ins."""
    changed = changed_plugins(stored_config(folder / KEPT), loaded.plugins)
    return stored_protocol(folder) == loaded.protocol and not changed


def run_part(arguments: Sequence[str], shard: str) -> str:
    """Run one part of ``kselect run ARGUMENTS`` in this process; return a user's error, or nothing."""
    more = ("--shard", shard, "--no-gather", "--quiet")
    try:
        run.main([*arguments, *more], prog_name="kselect run", standalone_mode=False)
    except KselectError as error:
        return str(error)
    return ""


def finish(
    loaded: Loaded, plan: Plan, store: Store, environment: Mapping[str, Any], how: RunFlags
) -> int:
    """Gather the records, print failures and lost jobs, and return the exit status."""
    sources = {name: s.kind for name, s in plan.sources.items() if s.kind != STORED}
    left_out = dict.fromkeys(plan.missing, NO_FILE)
    files = {name: source.sha256 for name, source in plan.sources.items()}
    records = write_gathered(loaded.whole, store, environment, sources, left_out, files).records
    failed = [r for r in records if r.status == "failed"]
    for line in sorted({f"{r.dataset}, split {r.split}, {r.method}: {r.reason}" for r in failed}):
        click.echo(f"failed: {line}", err=True)
    if not how.quiet:
        file = store.folder / "records.csv"
        click.echo(f"{len(records)} records in {file}, {len(failed)} failed", err=True)
        click.echo(f"next: kselect report {store.folder}", err=True)
    here = {(r.dataset, r.split, r.key) for r in records}
    absent = {key[:2] for key in planned_keys(loaded.asked, plan) if key not in here}
    stopped = how.fail_fast and bool(failed)
    lost = [] if stopped else [t.name for t in plan.trials if (t.dataset, t.split) in absent]
    if lost and how.backend == "slurm":
        what = f"{len(dict.fromkeys(lost))} jobs are not stored; logs: {store.folder / ARRAY}"
        click.echo(f"error: {what}; run the same command again", err=True)
        return 1
    for name in dict.fromkeys(lost):
        what = f"{name}: computed, but not in {store.folder} any more; run the command again"
        click.echo(f"error: {what}", err=True)
    return 1 if failed or lost else 0
