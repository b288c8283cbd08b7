"""``kselect run``: config -> plan -> run -> store."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from kselect.cli.execution import Flags, execute
from kselect.cli.experiment import read_experiment, results_folder
from kselect.cli.interrupts import hear_interrupts
from kselect.cli.options import column_options, place_options, places
from kselect.config.load import load_config
from kselect.core.experiment import Experiment
from kselect.core.record import RecordKey, record_keys
from kselect.datasets.fetch import Places
from kselect.errors import ConfigError, DataError
from kselect.plan import Plan, check_kept, damaged, find_sources, make_plan
from kselect.report.sections import FIGURES
from kselect.run.estimate import PATIENCE, estimate
from kselect.run.progress import clock
from kselect.store.gather import check_leftover
from kselect.store.jobs import Store

EPILOG = """\b
Examples:
  kselect run configs/quickstart.yaml
  kselect run configs/ecml2014.yaml -j 2 --mirror DIR
  kselect run configs/ecml2014.yaml -d heart -c 5-CV -c 5-KS --splits 3 --dry-run
  kselect run configs/ecml2014.yaml --variant minmax       beside the main results
  kselect run configs/ecml2014.yaml --variant all -j 2
"""


def parse_shard(_: click.Context, __: click.Parameter, value: str) -> tuple[int, int]:
    """``2/5`` -> (2, 5)."""
    match = re.fullmatch(r"(\d+)/(\d+)", value)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise click.BadParameter(f"{value!r}; write I/N with 1 <= I <= N, as in 2/5")
    return int(match[1]), int(match[2])


@click.command("run", epilog=EPILOG)
@click.argument("config", type=click.Path(path_type=Path))
@column_options
@click.option("--splits", metavar="N|A-B", help="How many splits, or which: 3, or 0-4.")
@click.option(
    "-j",
    "--n-jobs",
    default=1,
    show_default=True,
    type=click.IntRange(min=1),
    help="Worker processes.",
)
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Results folder [default: results/<name>].",
)
@click.option(
    "-n",
    "--dry-run",
    is_flag=True,
    help="Check everything, count the jobs, time parts of them for an estimate; keep nothing.",
)
@click.option("-f", "--force", is_flag=True, help="Compute again what is there.")
@click.option("--retry-failed", is_flag=True, help="Run failed jobs again.")
@click.option("--fail-fast", is_flag=True, help="Stop at the first failure.")
@place_options
@click.option("--skip-missing", is_flag=True, help="Leave out data sets without a file.")
@click.option(
    "--backend",
    type=click.Choice(["local", "dask"]),
    default="local",
    show_default=True,
    help="Where workers live.",
)
@click.option(
    "--scheduler", metavar="ADDRESS", help="A running dask scheduler, as in tcp://host:8786."
)
@click.option(
    "--shard",
    default="1/1",
    metavar="I/N",
    callback=parse_shard,
    help="Run the I-th of N equal parts.",
)
@click.option(
    "--variant",
    "variants",
    multiple=True,
    metavar="NAME",
    help="Run this variant of the config, or all of them, under <results>/variants/ (repeatable).",
)
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
@click.option("-v", "--verbose", is_flag=True, help="Say where each data set comes from.")
def run(
    config: Path,
    datasets: tuple[str, ...],
    criteria: tuple[str, ...],
    splits: str | None,
    output: Path | None,
    mirror: str | None,
    offline: bool,
    data_dir: str | None,
    variants: tuple[str, ...],
    **flags: Any,
) -> int:
    """Run what is missing of the experiment in CONFIG under results/<name>/; interrupted runs go on."""
    hear_interrupts()
    how = Flags(**flags)
    if how.scheduler and how.backend != "dask":
        raise ConfigError("--scheduler needs --backend dask")
    overrides = {"datasets": datasets or None, "criteria": criteria or None, "splits": splits}
    places_to_look = places(mirror, offline, data_dir)
    wanted = named_variants(config, variants) if variants else ("",)
    return max(run_one(config, overrides, output, v, places_to_look, how) for v in wanted)


def named_variants(config: Path, wanted: tuple[str, ...]) -> tuple[str, ...]:
    """The variants that flags ask for."""
    if "all" not in wanted:
        return tuple(dict.fromkeys(wanted))
    known = tuple(v.name for v in load_config(config, FIGURES).variants)
    if not known:
        raise ConfigError(f"--variant all: {config} names no variants")
    return known


def run_one(
    config: Path,
    overrides: Mapping[str, object],
    output: Path | None,
    variant: str,
    where: Places,
    how: Flags,
) -> int:
    """The experiment of a config, or one of its variants."""
    loaded = read_experiment(config, overrides, output, variant)
    experiment = loaded.asked
    store = Store(results_folder(experiment, output, variant))
    sources, missing = find_sources(experiment, where)
    if missing and not how.skip_missing:
        raise DataError("\n".join(missing.values()))
    if not sources:
        raise DataError("no data set is left to run")
    plan = make_plan(
        experiment, sources, missing, store,
        retry_failed=how.retry_failed, force=how.force, shard=how.shard,
    )  # fmt: skip
    check_kept(loaded.whole, plan, store, force=how.force)
    check_leftover(loaded.whole, store, planned_cells(experiment, plan))
    describe(f"{experiment.name}{variant and f', variant {variant}'}", experiment, plan, store, how)
    if how.dry_run:
        if plan.trials and not how.quiet:
            click.echo(f"timing parts of them, for some {clock(PATIENCE)} at most", err=True)
        seconds = estimate(experiment, plan, how.n_jobs)
        told = f"about {clock(seconds)}" if seconds >= 1 else "a second"
        click.echo(f"{told} with -j {how.n_jobs}")
        return 0
    return execute(loaded, plan, store, how)


def describe(name: str, experiment: Experiment, plan: Plan, store: Store, how: Flags) -> None:
    """What is about to happen."""
    for why in plan.missing.values():
        click.echo(f"skipped: {why}", err=True)
    for what in damaged(store, plan.trials):
        click.echo(f"warning: {what}", err=True)
    if how.quiet:
        return
    if how.verbose or how.dry_run:
        for dataset, source in plan.sources.items():
            click.echo(f"{dataset}: {source.kind}, {source.path}", err=True)
    columns = ", ".join(experiment.labels)
    click.echo(
        f"{name}: {len(plan.trials)} jobs to run, {plan.done} done already; "
        f"data sets: {len(plan.sources)}, splits: {len(experiment.splits)}, "
        f"{describe_candidates(experiment)}; {columns}",
        err=True,
    )


def planned_cells(experiment: Experiment, plan: Plan) -> Iterator[tuple[str, int, RecordKey]]:
    """What the plan computes."""
    for trial in plan.trials:
        for method in trial.methods:
            for cell in record_keys(experiment, method):
                yield trial.dataset, trial.split, cell


def describe_candidates(experiment: Experiment) -> str:
    """``21 kernels x 4 ridges``, or how many columns learn their kernel."""
    moved = sum(m.search is not None for m in experiment.table)
    grid = f"{len(experiment.kernels)} kernels x {len(experiment.lam.values)} ridges"
    learned = f"kernels learned by {moved} searches"
    return " and ".join([grid] * bool(experiment.kernels) + [learned] * bool(moved))
