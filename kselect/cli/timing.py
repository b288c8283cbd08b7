"""``kselect time``: measure the seconds of every method, with the papers' algorithms and with ours."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click

from kselect.cli.flags import (
    CONFIG,
    PLUGIN,
    QUIET,
    RESULTS_FOLDER,
    SKIP_MISSING,
    column_options,
    place_options,
)
from kselect.cli.progress import handle_interrupts
from kselect.cli.run import KEPT, NO_FILE, available_sources, read_experiment, results_folder
from kselect.config.load import Loaded
from kselect.config.papers import paper_file
from kselect.datasets.dataset import Source
from kselect.datasets.fetch import Places
from kselect.errors import WriteError
from kselect.plan import check_folds
from kselect.store.environment import describe_environment, digest
from kselect.store.jobs import Store

EPILOG = """\b
Examples:
  kselect time quickstart
  kselect time icml2014 --mirror DIR -d heart -d sonar
  kselect time icml2014 -c 5-CV -c BIF-5-CV --budget 600
"""


def parse_budget(_: click.Context, __: click.Parameter, value: float) -> float:
    """Require a positive number of seconds."""
    if not (math.isfinite(value) and value > 0):
        raise click.BadParameter(f"{value:g} is not a positive number of seconds")
    return value


@click.command("time", epilog=EPILOG)
@click.argument("config", type=CONFIG)
@column_options
@RESULTS_FOLDER
@click.option(
    "--budget",
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    type=float,
    callback=parse_budget,
    help="Stop each algorithm after this wall time, and extrapolate to the rest of the grid.",
)
@click.option("-f", "--force", is_flag=True, help="Repeat finished measurements.")
@place_options
@SKIP_MISSING
@PLUGIN
@QUIET
def time_command(
    config: Path,
    datasets: tuple[str, ...],
    criteria: tuple[str, ...],
    output: Path | None,
    budget: float,
    force: bool,
    where: Places,
    skip_missing: bool,
    plugins: tuple[Path, ...],
    quiet: bool,
) -> int:
    """Time a whole selection with every method of CONFIG: the paper's algorithm next to ours.

    CONFIG is a file, or the name of an experiment that comes with kselect. The command runs in one process with one
    BLAS thread. Finished measurements are not repeated.
    """
    handle_interrupts()
    overrides = {"datasets": datasets or None, "criteria": criteria or None}
    loaded = read_experiment(config, overrides, output, plugins=plugins)
    store = Store(results_folder(loaded.asked, output))
    sources, missing = available_sources(loaded.asked, where, skip_missing)
    check_folds(loaded.asked, sources)
    say: Callable[[str], None] = (lambda _: None) if quiet else partial(click.echo, err=True)
    try:
        environments = measure_all(loaded, sources, store, budget, force, say)
        return finish(config, loaded, store, environments, dict.fromkeys(missing, NO_FILE), say)
    except WriteError as error:
        click.echo(f"error: {error}; finished measurements are kept", err=True)
        return 1


def measure_all(
    loaded: Loaded,
    sources: Mapping[str, Source],
    store: Store,
    budget: float,
    force: bool,
    say: Callable[[str], None],
) -> dict[str, Any]:
    """Make the remaining measurements; return the environments of this and earlier runs."""
    from threadpoolctl import threadpool_limits

    from kselect.timing.measure import TimingSettings, check_kept, measure_missing, pending
    from kselect.timing.report import kept_facts

    experiment = loaded.asked
    with threadpool_limits(1):
        environment = describe_environment()
        settings = TimingSettings(budget, digest(environment), force)
        wanted = pending(experiment, sources, store, settings)
        check_kept(loaded.whole, sources, store, settings)
        cells = sum(map(len, wanted.values()))
        total = len(sources) * len(experiment.criteria)
        say(
            f"{experiment.name}: {cells} of {total} cells to measure, at most {budget:g} s per algorithm"
        )
        measure_missing(experiment, sources, wanted, store, settings, say)
    return {**kept_facts(store).get("environments", {}), settings.environment: environment}


def finish(
    config: Path,
    loaded: Loaded,
    store: Store,
    environments: Mapping[str, Any],
    missing: Mapping[str, str],
    say: Callable[[str], None],
) -> int:
    """Write the tables, print failures and return the exit status."""
    from kselect.stats.sources import read_seconds
    from kselect.timing.report import write_tables

    published = read_seconds(paper_file(loaded.whole.paper, config, ".csv"))
    found = write_tables(loaded.whole, store, environments, missing, published)
    failed = [e for e in found if e.cell and e.cell.failure]
    for entry in failed:
        why = entry.cell.failure if entry.cell else ""
        click.echo(f"failed: {entry.dataset}, {entry.method}: {why}", err=True)
    say(f"{store.folder / 'tables' / 'seconds.md'}, .csv and .tex; {store.folder / 'timing.json'}")
    if (store.folder / KEPT).is_file():
        say(f"kselect report {store.folder} shows them on its page")
    return 1 if failed else 0
