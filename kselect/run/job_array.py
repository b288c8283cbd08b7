"""A run as a Slurm job array, submitted through submitit: each array job runs one part of the plan.

An array job repeats the user's command with ``--shard I/N``. It writes to the results folder, which all machines
share. When its time is over, it is queued again. The submitting command waits for all parts, and gathers the
records.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from sys import executable
from typing import TYPE_CHECKING, Any

from kselect.core.job import Trial
from kselect.errors import ConfigError, StoreError, brief, cut
from kselect.files import write_whole
from kselect.run.progress import Progress

if TYPE_CHECKING:
    from submitit import AutoExecutor, Job
    from submitit.core.utils import DelayedSubmission

CLUSTER = "slurm"  # the tests use submitit's local executor as well
FOLDER = "array"
COMMANDS = ("sbatch", "srun")
POLL_SECONDS = 1.0
MAX_RUNNING, PARTS_PER_RUNNING, MINUTES = 16, 4, 60
# Slurm sends a signal this long before it ends a job: a worker needs a moment to end.
WARNING_SECONDS = 60
MOST_REQUEUES = (
    1000  # a part that makes no progress is not queued again, so that this is never reached
)
SHARE_OF_TIME = 0.5  # a job that ends before this share of its time was preempted
LONGEST_REASON = 200
NO_PROGRESS = (
    "none of its jobs finishes within --time {:g} (minutes); give the array jobs more time"
)


@dataclass(frozen=True)
class ArrayOptions:
    """The resources of a job array; ``memory`` is in GB, and None leaves it to the cluster."""

    max_running: int = MAX_RUNNING
    minutes: int = MINUTES
    memory: float | None = None
    processes: int = 1
    shards: int | None = None

    def parts(self, trials: int) -> int:
        """Return the number of parts: four per running job, so that fast machines take more, but none is empty."""
        return min(trials, self.shards or PARTS_PER_RUNNING * self.max_running)

    def text(self, parts: int) -> str:
        """Return a description, as in ``8 array jobs, at most 4 at a time, each with 1 core, 60 min``."""
        cores = f"{self.processes} core{'s' if self.processes > 1 else ''}"
        memory = f", {self.memory:g} GB" if self.memory else ""
        jobs = f"{parts} array job{'s' if parts > 1 else ''}"
        return f"{jobs}, at most {self.max_running} at a time, each with {cores}, {self.minutes} min{memory}"


@dataclass
class ArrayPart:
    """One part of a run: submitit calls it in an array job, and again after each requeue.

    ``command`` runs the part of this name, as in 2/5, and returns why it failed. ``files`` are its job files.
    """

    name: str
    command: Callable[[str], str]
    files: tuple[Path, ...]
    minutes: int
    started: float = 0.0
    before: Mapping[Path, int] = field(default_factory=dict)

    def __call__(self) -> str:
        """Run the part; return why it failed, or nothing."""
        self.started, self.before = time.monotonic(), self.stamps()
        return self.command(self.name)

    def checkpoint(self) -> DelayedSubmission | None:
        """Queue the part again; give up if its whole time was not enough for a single job."""
        from submitit.core.utils import DelayedSubmission

        passed = time.monotonic() - self.started
        if passed > SHARE_OF_TIME * 60 * self.minutes and self.stamps() == self.before:
            return None
        return DelayedSubmission(self)

    def stamps(self) -> dict[Path, int]:
        """Return the times of the existing job files."""
        return dict(times(self.files))


def times(files: Sequence[Path]) -> Iterator[tuple[Path, int]]:
    """Yield the files that exist, with the time of their last change."""
    for file in files:
        with suppress(OSError):
            yield file, file.stat().st_mtime_ns


def require_cluster() -> None:
    """Refuse a machine from which no array can be submitted."""
    try:
        import submitit  # noqa: F401
    except ImportError:
        raise ConfigError(
            "--backend slurm needs the extra slurm: pip install 'kselect[slurm]'"
        ) from None
    absent = [name for name in COMMANDS if shutil.which(name) is None]
    if absent and CLUSTER == "slurm":
        raise ConfigError(
            f"--backend slurm: there is no {absent[0]} on this machine; type the command on a login "
            "node of the cluster, or use --backend local"
        )


@dataclass
class JobArray:
    """The array of one results folder.

    The ids of its jobs are stored, so that a later call waits for them instead of submitting others.
    """

    results: Path
    options: ArrayOptions
    say: Callable[[str], None]
    jobs: dict[str, Job[str]] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """Return the folder of what submitit writes: scripts, logs and the results of parts."""
        return self.results / FOLDER

    @property
    def ids(self) -> Path:
        """Return the file that names the jobs of the array."""
        return self.folder / "jobs.json"

    @property
    def numbers(self) -> str:
        """Return the ids of the array in Slurm, as scancel takes them."""
        return " ".join(sorted({job.job_id.partition("_")[0] for job in self.jobs.values()}))

    def resume(self) -> bool:
        """Find the jobs of an earlier call that have not ended; return whether there are any."""
        import submitit

        kind = submitit.SlurmJob if CLUSTER == "slurm" else submitit.LocalJob
        try:
            stored = json.loads(self.ids.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return False
        except (OSError, ValueError) as error:
            raise StoreError(f"{self.ids}: cannot read ({brief(error)}); delete it") from None
        jobs: dict[str, Job[str]] = {
            name: kind(self.folder, number) for name, number in stored.items()
        }
        # A single question to Slurm: the answer holds all jobs of the array.
        ended = {n: job.done(force_check=not i) for i, (n, job) in enumerate(jobs.items())}
        self.jobs = {name: job for name, job in jobs.items() if not ended[name]}
        if self.jobs:
            self.say(
                f"waiting for {len(self.jobs)} array jobs of an earlier call (Slurm job {self.numbers}); "
                f"if Slurm does not know them any more, delete {self.ids}"
            )
        return bool(self.jobs)

    def submit(self, parts: Sequence[ArrayPart]) -> None:
        """Submit the parts as one job array."""
        from submitit.core.utils import FailedJobError, FailedSubmissionError

        try:
            found = self.executor().submit_array(parts)
        except (FailedJobError, FailedSubmissionError) as error:
            words = str(error).strip().splitlines() or ["it gives no reason"]
            raise ConfigError(
                f"sbatch refuses the array: {cut(words[-1], LONGEST_REASON)}"
            ) from None
        self.jobs = {part.name: job for part, job in zip(parts, found, strict=True)}
        write_whole(self.ids, json.dumps({n: job.job_id for n, job in self.jobs.items()}) + "\n")
        self.say(f"submitted {self.options.text(len(parts))} (Slurm job {self.numbers})")

    def executor(self) -> AutoExecutor:
        """Return submitit's executor with the resources of each job."""
        import submitit

        how = self.options
        python = f"{quote(executable)} -P"  # a random.py in the current folder is not imported
        kind: dict[str, Any] = {
            f"{CLUSTER}_python": python,
            f"{CLUSTER}_max_num_timeout": MOST_REQUEUES,
        }
        found = submitit.AutoExecutor(folder=self.folder, cluster=CLUSTER, **kind)
        found.update_parameters(
            name="kselect",
            timeout_min=how.minutes,
            mem_gb=how.memory,
            cpus_per_task=how.processes,
            slurm_array_parallelism=how.max_running,
            slurm_signal_delay_s=WARNING_SECONDS,
            # srun does not take the number of cores from sbatch since Slurm 22.05.
            slurm_srun_args=[f"--cpus-per-task={how.processes}"],
        )
        return found

    def wait(
        self,
        trials: Sequence[Trial],
        done: Callable[[Trial], bool],
        cost: Callable[[Trial], float],
        progress: Progress,
    ) -> None:
        """Wait until every job has ended, and count the trials that are stored meanwhile."""
        left = list(trials)
        try:
            while True:
                running = [job for job in self.jobs.values() if not job.done()]
                for trial in filter(done, tuple(left)):
                    left.remove(trial)
                    progress.advance(trial.name, cost(trial))
                if not running:
                    return
                time.sleep(POLL_SECONDS)
        except KeyboardInterrupt:
            self.say(
                f"the array jobs continue on the cluster: run the same command again to wait for them and to "
                f"gather, or end them: scancel {self.numbers}"
            )
            raise

    def problems(self) -> Iterator[str]:
        """Yield one line per part that failed, with its log file."""
        for name, job in self.jobs.items():
            if why := reason(job, self.options.minutes):
                yield f"part {name} (Slurm job {job.job_id}): {why}; its log is {job.paths.stderr}"

    def forget(self) -> None:
        """Delete the scripts and logs of an array whose parts are all stored."""
        shutil.rmtree(self.folder, ignore_errors=True)


def reason(job: Job[str], minutes: int) -> str:
    """Return why a part failed; nothing if it succeeded."""
    # submitit waits for the result of a completed job, which a shared file system may show late.
    if not job.paths.result_pickle.is_file() and job.state != "COMPLETED":
        return f"it ended without a result ({job.state.lower()})"
    error = job.exception()
    if error is None:
        return cut(job.result(), LONGEST_REASON)
    if "checkpoint function returned None" in str(error):
        return NO_PROGRESS.format(minutes)
    lines = [line for line in str(error).splitlines() if line.strip(" -")]
    # The last line of submitit's text names the logs, and the one before ends the traceback.
    traced = [line for line in lines if ": " in line and not line.startswith((" ", "You can"))]
    return cut(traced[-1] if traced else lines[-1], LONGEST_REASON)
