"""``kselect time``: the seconds of every method, by the papers' algorithms and by ours."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from kselect.cli.experiment import KEPT, read_experiment, results_folder
from kselect.cli.interrupts import hear_interrupts
from kselect.cli.options import column_options, place_options, places
from kselect.core.experiment import Experiment
from kselect.datasets.dataset import Source
from kselect.datasets.fetch import packaged
from kselect.errors import DataError
from kselect.plan import check_folds, find_sources
from kselect.store.environment import describe_environment, digest
from kselect.store.jobs import Store

EPILOG = """\b
Examples:
  kselect time configs/quickstart.yaml
  kselect time configs/icml2014.yaml --mirror DIR -d heart -d sonar
  kselect time configs/icml2014.yaml -c 5-CV -c BIF-5-CV --budget 600
"""


def parse_budget(_: click.Context, __: click.Parameter, value: float) -> float:
    """A positive number of seconds."""
    if not (math.isfinite(value) and value > 0):
        raise click.BadParameter(f"{value:g} is not a positive number of seconds")
    return value


@click.command("time", epilog=EPILOG)
@click.argument("config", type=click.Path(path_type=Path))
@column_options
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Results folder [default: results/<name>].",
)
@click.option(
    "--budget",
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    type=float,
    callback=parse_budget,
    help="Wall seconds for each algorithm of a method; the rest of the grid is then extrapolated.",
)
@click.option("-f", "--force", is_flag=True, help="Measure again what is there.")
@place_options
@click.option("--skip-missing", is_flag=True, help="Leave out data sets without a file.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
def time_command(
    config: Path,
    datasets: tuple[str, ...],
    criteria: tuple[str, ...],
    output: Path | None,
    budget: float,
    force: bool,
    mirror: str | None,
    offline: bool,
    data_dir: str | None,
    skip_missing: bool,
    quiet: bool,
) -> int:
    """Time a whole selection by every method of CONFIG: the paper's algorithm beside ours.

    One process, one BLAS thread; what was measured before is not measured again.
    """
    hear_interrupts()
    overrides = {"datasets": datasets or None, "criteria": criteria or None}
    loaded = read_experiment(config, overrides, output)
    experiment, whole = loaded.asked, loaded.whole
    store = Store(results_folder(experiment, output))
    sources, missing = find_sources(experiment, places(mirror, offline, data_dir))
    if missing and not skip_missing:
        raise DataError("\n".join(missing.values()))
    if not sources:
        raise DataError("no data set is left to time")
    check_folds(experiment, sources)
    for why in missing.values():
        click.echo(f"skipped: {why}", err=True)
    say = silence if quiet else tell
    environments = measure_all(experiment, whole, sources, store, budget, force, say)
    left_out = dict.fromkeys(missing, "no file to be had (--skip-missing)")
    return finish(whole, store, environments, left_out, say)


def tell(text: str) -> None:
    """A line of progress."""
    click.echo(text, err=True)


def silence(_: str) -> None:
    """No progress."""


def measure_all(
    experiment: Experiment,
    whole: Experiment,
    sources: Mapping[str, Source],
    store: Store,
    budget: float,
    force: bool,
    say: Callable[[str], None],
) -> dict[str, Any]:
    """Measure what is missing; the environments of this and of earlier runs."""
    from threadpoolctl import threadpool_limits

    from kselect.timing.gather import kept_facts
    from kselect.timing.run import Settings, check_kept, pending, run

    with threadpool_limits(1):
        environment = describe_environment()
        settings = Settings(budget, digest(environment), force)
        wanted = pending(experiment, sources, store, settings)
        check_kept(whole, sources, store, settings)
        cells = sum(map(len, wanted.values()))
        here = len(sources) * len(experiment.labels)
        say(f"{experiment.name}: {cells} of {here} cells to measure, budget {budget:g} s each way")
        run(experiment, sources, wanted, store, settings, say)
    return {**kept_facts(store).get("environments", {}), settings.environment: environment}


def finish(
    whole: Experiment,
    store: Store,
    environments: Mapping[str, Any],
    missing: Mapping[str, str],
    say: Callable[[str], None],
) -> int:
    """Write the tables; the exit status."""
    from kselect.timing.gather import write_tables
    from kselect.timing.ratios import read_published

    path = packaged("published") / f"{whole.paper}.csv"
    published = read_published(path) if whole.paper else {}
    found = write_tables(whole, store, environments, missing, published)
    failed = [e for e in found if e.cell and e.cell.failure]
    for entry in failed:
        why = entry.cell.failure if entry.cell else ""
        click.echo(f"failed: {entry.dataset}, {entry.method}: {why}", err=True)
    say(f"{store.folder / 'tables' / 'seconds.md'}, .csv and .tex; {store.folder / 'timing.json'}")
    if (store.folder / KEPT).is_file():
        say(f"kselect report {store.folder} shows them on its page")
    return 1 if failed else 0
