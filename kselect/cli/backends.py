"""Where ``kselect run`` computes: its flags, worker processes here or in a dask cluster, and a Slurm job array."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import click
from click.core import ParameterSource

from kselect.cli.flags import COUNT, F, decorated
from kselect.core.experiment import Experiment
from kselect.core.job import Trial
from kselect.errors import ConfigError, quoted
from kselect.plan import Plan, make_plan, still_pending
from kselect.run.job_array import (
    MAX_RUNNING,
    MINUTES,
    ArrayOptions,
    ArrayPart,
    JobArray,
    require_cluster,
    times,
)
from kselect.run.locks import FolderLocks
from kselect.run.progress import Progress
from kselect.run.scheduler import RunOptions, run_plan
from kselect.run.workers import VERSION, DaskWorkers, dask_client, local_executor
from kselect.store.environment import digest
from kselect.store.jobs import Store

Compute = Callable[[Experiment, Plan, Store, dict[str, Any], FolderLocks], int]
LEAST_MINUTES = 5  # an array job is queued again a minute before its time is over
# Flags of a single backend.
FITTING = {
    "scheduler": ("--scheduler", "dask"),
    "max_running": ("--max-running", "slurm"),
    "minutes": ("--time", "slurm"),
    "memory": ("--mem", "slurm"),
    "shards": ("--shards", "slurm"),
}
# Parameters that an array job sets itself, or that only the command uses that submits it.
NOT_IN_PARTS = {
    "backend", "shard", "no_gather", "variants", "quiet", "verbose", *FITTING
}  # fmt: skip


def parse_minutes(_: click.Context, __: click.Parameter, value: str | None) -> int | None:
    """Convert minutes or ``H:MM`` to minutes."""
    if value is None:
        return None
    match = re.fullmatch(r"(?:(\d{1,4}):(?=[0-5]\d$))?(\d{1,6})", value, re.ASCII)
    minutes = 60 * int(match[1] or 0) + int(match[2]) if match else 0
    if minutes < LEAST_MINUTES:
        raise click.BadParameter(
            f"{quoted(value)}; write minutes or H:MM, at least {LEAST_MINUTES} minutes"
        )
    return minutes


BACKEND_FLAGS = (
    click.option(
        "--backend",
        type=click.Choice(["local", "dask", "slurm"]),
        default="local",
        show_default=True,
        help="Start the workers on this machine, on a dask cluster, or as a Slurm job array.",
    ),
    click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="Use all workers of a running dask scheduler, as in tcp://host:8786. [default: start -j workers]",
    ),
    click.option(
        "--max-running",
        metavar="N",
        type=COUNT,
        help="Run at most N array jobs at a time, each with -j processes (slurm). [default: 16]",
    ),
    click.option(
        "--time",
        "minutes",
        metavar="MINUTES|H:MM",
        callback=parse_minutes,
        help="Give each array job this much time, and queue it again afterwards (slurm). [default: 60]",
    ),
    click.option(
        "--mem",
        "memory",
        type=click.FloatRange(min=0.0, min_open=True),
        metavar="GB",
        help="Reserve this much memory for each array job (slurm). [default: the cluster's]",
    ),
    click.option(
        "--shards",
        metavar="N",
        type=COUNT,
        help="Split the run into N array jobs (slurm). [default: four times --max-running]",
    ),
)


def backend_options(function: F) -> F:
    """Add ``--backend`` and the flags of single backends."""
    return decorated(function, *BACKEND_FLAGS)


def typed_again(context: click.Context, without: Collection[str]) -> list[str]:
    """Return the arguments and flags of a command that were typed, except for some parameters."""
    words: list[str] = []
    for parameter in context.command.params:
        name = parameter.name or ""
        if name in without or context.get_parameter_source(name) is ParameterSource.DEFAULT:
            continue
        value = context.params[name]
        values = value if parameter.multiple else [value]
        for one in values:
            flag = parameter.opts[-1]
            if not isinstance(parameter, click.Option):
                words.append(str(one))
            else:
                words += [flag] if parameter.is_flag else [flag, str(one)]
    return words


@dataclass(frozen=True, kw_only=True)
class RunFlags(RunOptions):
    """The flags that say how to run."""

    dry_run: bool
    skip_missing: bool
    backend: str
    scheduler: str | None
    max_running: int | None
    minutes: int | None
    memory: float | None
    shards: int | None
    shard: tuple[int, int]
    no_gather: bool
    verbose: bool

    @property
    def array(self) -> ArrayOptions:
        """Return the resources of a job array."""
        return ArrayOptions(
            self.max_running or MAX_RUNNING,
            self.minutes or MINUTES,
            self.memory,
            self.n_jobs,
            self.shards,
        )

    def processes(self, jobs: int) -> int:
        """Return the number of processes that compute at the same time."""
        if self.backend != "slurm":
            return self.n_jobs
        return self.n_jobs * min(self.array.max_running, max(1, self.array.parts(jobs)))

    def workers(self, jobs: int) -> str:
        """Return the words for these processes."""
        if self.backend != "slurm":
            return f"-j {self.n_jobs}"
        return self.array.text(self.array.parts(jobs))

    def check_backend(self) -> None:
        """Refuse flags that do not fit the backend."""
        for name, (flag, backend) in FITTING.items():
            if getattr(self, name) is not None and self.backend != backend:
                raise ConfigError(f"{flag} needs --backend {backend}")
        if self.backend != "slurm":
            return
        whole = self.shard == (1, 1)
        for flag, given, why in (
            ("--shard", not whole, "--shards N sets the number of its parts"),
            ("--force", self.fresh, "a part that is queued again would start from scratch; "
             "choose another --output"),
            ("--fail-fast", self.fail_fast, "the other parts would continue"),
            ("--no-gather", self.no_gather, "it gathers when all parts have ended"),
        ):  # fmt: skip
            if given:
                raise ConfigError(f"{flag} does not fit --backend slurm: {why}")


# --- computing a plan -------------------------------------------------------------------------------


def start_backend(how: RunFlags, part: Callable[[str], str]) -> Compute:
    """Start the workers; return the function that computes a plan and returns the exit status.

    An absent backend is refused before a folder is made. ``part`` runs one part in an array job.
    """
    if how.backend == "slurm":
        require_cluster()
        return partial(run_array, how, part)
    return partial(run_workers, how, *executors(how))


def run_workers(
    how: RunFlags,
    executor_of: Callable[[int], Executor],
    n_jobs: int,
    experiment: Experiment,
    plan: Plan,
    store: Store,
    environment: dict[str, Any],
    locks: FolderLocks,
) -> int:
    """Compute a plan with workers that this process controls."""
    settings = replace(how, n_jobs=max(1, min(n_jobs, len(plan.trials))))
    name = digest(environment)
    if plan.trials:
        store.keep_environment(name, environment)
    return min(1, run_plan(experiment, plan, store, name, settings, executor_of, locks))


def executors(how: RunFlags) -> tuple[Callable[[int], Executor], int]:
    """Return the function that makes a pool of workers, in this machine or in a dask cluster, and their number."""
    if how.backend == "local":
        return local_executor, how.n_jobs
    try:
        client = dask_client(how.scheduler, how.n_jobs)
    except ImportError:
        raise ConfigError(
            "--backend dask needs the extra dask: pip install 'kselect[dask]'"
        ) from None
    except (OSError, ValueError, RuntimeError) as error:
        raise ConfigError(f"--scheduler {how.scheduler}: {' '.join(str(error).split())}") from None
    if how.scheduler is None:
        # Workers of this command have its version. The pool sets their number.
        return lambda _: client.get_executor(pure=False, retries=1), how.n_jobs  # type: ignore[no-untyped-call]
    workers = DaskWorkers(client, partial(click.echo, err=True))
    count = sum(workers.threads().values())
    if not count:
        raise ConfigError(
            f"--scheduler {how.scheduler}: no worker with kselect {VERSION} is connected; "
            f"start one: dask worker {how.scheduler}"
        )
    return workers.executor, count


def run_array(
    how: RunFlags,
    part: Callable[[str], str],
    experiment: Experiment,
    plan: Plan,
    store: Store,
    *_: object,
) -> int:
    """Compute a plan as a job array and wait for its end; return 1 if a part failed."""
    say = partial(click.echo, err=True)
    array = JobArray(store.folder, how.array, (lambda _: None) if how.quiet else say)
    if not array.resume():
        if not plan.trials:
            return 0
        array.submit(array_parts(experiment, plan, store, how, part))
    before = dict(times([store.job_path(t.dataset, t.split) for t in plan.trials]))

    def done(trial: Trial) -> bool:
        path = store.job_path(trial.dataset, trial.split)
        changed = dict(times([path])).get(path) != before.get(path)
        return changed and not still_pending(experiment, trial, store, False).methods

    cost = partial(plan.cost, experiment)
    total = sum(map(cost, plan.trials))
    with closing(Progress(len(plan.trials), total, how.quiet)) as progress:
        array.wait(plan.trials, done, cost, progress)
    problems = list(array.problems())
    for line in problems:
        say(f"error: {line}")
    left = [t for t in plan.trials if still_pending(experiment, t, store, False).methods]
    if not (problems or left):
        array.forget()
    return 1 if problems else 0


def array_parts(
    experiment: Experiment, plan: Plan, store: Store, how: RunFlags, part: Callable[[str], str]
) -> list[ArrayPart]:
    """Return the parts of a plan that have jobs to run."""
    count = how.array.parts(len(plan.trials))
    parts = []
    for number in range(1, count + 1):
        mine = make_plan(
            experiment, plan.sources, plan.missing, store,
            retry_failed=how.retry_failed, shard=(number, count),
        ).trials  # fmt: skip
        files = tuple(store.job_path(t.dataset, t.split).resolve() for t in mine)
        if mine:
            parts.append(ArrayPart(f"{number}/{count}", part, files, how.array.minutes))
    return parts
