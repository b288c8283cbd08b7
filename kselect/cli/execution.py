"""A plan carried out: claimed, run and gathered, and what came out of it said."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import click

from kselect.config.load import Loaded
from kselect.config.resolved import stored_protocol
from kselect.core.experiment import Experiment
from kselect.core.record import Record, record_keys
from kselect.errors import ConfigError, StoreError
from kselect.plan import Plan
from kselect.run.locks import FolderLocks
from kselect.run.scheduler import RunOptions, run_plan
from kselect.run.workers import dask_client, local_executor
from kselect.store.environment import describe_environment, digest
from kselect.store.gather import write_gathered
from kselect.store.jobs import Store


@dataclass(frozen=True)
class Flags:
    """The flags that say how to run."""

    n_jobs: int
    dry_run: bool
    force: bool
    retry_failed: bool
    fail_fast: bool
    skip_missing: bool
    backend: str
    scheduler: str | None
    shard: tuple[int, int]
    quiet: bool
    verbose: bool


def execute(loaded: Loaded, plan: Plan, store: Store, how: Flags) -> int:
    """Run the plan, then gather; the exit status."""
    from threadpoolctl import threadpool_limits

    executor_of = executors(how)
    with threadpool_limits(1):
        environment = describe_environment()
    n_jobs = max(1, min(how.n_jobs, len(plan.trials)))
    settings = RunOptions(n_jobs, how.force, how.retry_failed, how.fail_fast, how.quiet)
    with claimed(store, loaded) as claims:
        try:
            run_plan(loaded.asked, plan, store, digest(environment), settings, executor_of, claims)
            return finish(loaded, plan, store, environment, how)
        except StoreError as error:
            click.echo(f"error: {error}; what was finished before is kept", err=True)
            return 1


@contextmanager
def claimed(store: Store, loaded: Loaded) -> Iterator[FolderLocks]:
    """The folder claimed for this config, which is written there before the first job."""
    claims = FolderLocks(store.folder, lambda text: click.echo(text, err=True))
    try:
        claims.protocol(
            lambda: store.write("config.resolved.yaml", loaded.resolved),
            lambda: stored_protocol(store.folder) == loaded.protocol,
        )
        yield claims
    finally:
        claims.close()


def finish(
    loaded: Loaded, plan: Plan, store: Store, environment: Mapping[str, Any], how: Flags
) -> int:
    """Gather the records and say what came out."""
    sources = {name: source.kind for name, source in plan.sources.items()}
    left_out = dict.fromkeys(plan.missing, "no file to be had (--skip-missing)")
    records = write_gathered(loaded.whole, store, environment, sources, left_out).records
    failed = [r for r in records if r.status == "failed"]
    for line in sorted(
        {f"failed: {r.dataset}, split {r.split}, {r.method}: {r.reason}" for r in failed}
    ):
        click.echo(line, err=True)
    if not how.quiet:
        click.echo(
            f"{len(records)} records in {store.folder / 'records.csv'}, {len(failed)} failed",
            err=True,
        )
        click.echo(f"next: kselect report {store.folder}", err=True)
    lost = lost_jobs(loaded.asked, plan, records, stopped=how.fail_fast and bool(failed))
    for line in lost:
        click.echo(f"error: {line}: computed, but not in {store.folder} any more", err=True)
    return 1 if failed or lost else 0


def lost_jobs(
    experiment: Experiment, plan: Plan, records: Iterable[Record], *, stopped: bool
) -> list[str]:
    """The jobs of the plan that are not there: somebody removed or moved the folder under way."""
    here = {(r.dataset, r.split, r.key) for r in records}
    planned = {} if stopped else {t.name: t for t in plan.trials}
    return [
        name
        for name, t in planned.items()
        if any(
            (t.dataset, t.split, c) not in here
            for m in t.methods
            for c in record_keys(experiment, m)
        )
    ]


def executors(how: Flags) -> Callable[[int], Executor]:
    """What makes worker pools: local processes, or a dask cluster."""
    if how.backend == "local":
        return local_executor
    try:
        client = dask_client(how.scheduler, how.n_jobs)
    except ImportError:
        raise ConfigError("--backend dask needs the extra: pip install 'kselect[dask]'") from None
    except (OSError, ValueError, RuntimeError) as error:
        raise ConfigError(f"--scheduler {how.scheduler}: {' '.join(str(error).split())}") from None
    return partial(client_executor, client)


def client_executor(client: Any, _: int) -> Executor:
    """A dask client as an executor; the cluster knows its own size."""
    executor: Executor = client.get_executor(pure=False, retries=1)
    return executor
