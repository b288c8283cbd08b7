"""A job array gives the same bytes as a local run, also if a part is killed, queued again, or left to itself."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from experiments import (
    JOBS,
    SECONDS,
    children,
    command_of,
    job_files,
    kselect_in,
    records,
    stamps,
    start,
    until,
    write_config,
)
from slurm import install, state

from kselect.run.job_array import NO_PROGRESS, ArrayOptions, ArrayPart, reason

pytest.importorskip("submitit", reason="submitit is not installed: pip install 'kselect[slurm]'")

# Of two parts, the first has five jobs, of which this is the last: it waits for a file.
HELD = """
import pathlib, time
import kselect.run.job_array
import kselect.run.workers as workers
kselect.run.job_array.POLL_SECONDS = 0.1
run_trial = workers.run_trial
def held(experiment, trial):
    until = time.monotonic() + 200
    while (trial.dataset, trial.split) == ("sonar", 1) and time.monotonic() < until:
        if pathlib.Path("go").exists():
            break
        time.sleep(0.01)
    return run_trial(experiment, trial)
workers.run_trial = held
"""
SOON = "import kselect.run.job_array\nkselect.run.job_array.POLL_SECONDS = 0.1\n"
LOCAL = "kselect.run.job_array.CLUSTER = 'local'\n"
FIRST = {("heart", 0), ("heart", 2), ("liver-disorders", 0), ("liver-disorders", 2)}
RUN = ("run", "small.yaml", "-o", "out", "--backend", "slurm", "--shards", "2")


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return records.csv of a run on one machine."""
    folder = tmp_path_factory.mktemp("reference")
    write_config(folder)
    assert kselect_in(folder, "run", "small.yaml", "-o", "out").returncode == 0
    return records(folder / "out")


def held(out: Path) -> bool:
    """Return whether the first part has finished all of its jobs but the last."""
    return {(p.parent.name, int(p.stem)) for p in job_files(out)} >= FIRST


def descendants(pid: int) -> list[int]:
    """Return the processes below a process, parents first."""
    own = list(children(pid))
    return own + [below for child in own for below in descendants(child)]


def tasks(pid: int) -> list[int]:
    """Return the processes of submitit that run a part below a process."""
    return [p for p in descendants(pid) if "submitit.core._submit" in command_of(p)]


@pytest.mark.slow
def test_a_part_that_is_killed(tmp_path: Path, expected: bytes) -> None:
    """submitit's local executor: what is stored stays, the error names the part, and a second call finishes."""
    write_config(tmp_path)
    out = tmp_path / "out"
    with start(tmp_path, *RUN, hook=HELD + LOCAL) as run:
        until(lambda: held(out) and len(job_files(out)) == JOBS - 1, "all jobs but one")
        first, _ = json.loads((out / "array/jobs.json").read_text()).values()
        (task,) = tasks(int(first))
        os.kill(task, signal.SIGKILL)
        _, err = run.communicate(timeout=SECONDS)
    assert run.returncode == 1, err
    assert f"error: part 1/2 (Slurm job {first}): it ended without a result" in err
    assert f"error: 1 jobs are not stored; logs: {Path('out/array')}; run the same" in err
    assert len(records(out).splitlines()) == len(expected.splitlines()) - 4
    finished = stamps(out)
    again = kselect_in(tmp_path, *RUN, hook=SOON + LOCAL)
    assert again.returncode == 0, again.stderr
    assert "submitted 1 array job, at most 16 at a time" in again.stderr
    assert "1/1 jobs" in again.stderr
    assert finished.items() <= stamps(out).items()
    assert records(out) == expected
    assert not (out / "array").exists()


@pytest.mark.slow
def test_queued_again_while_nobody_waits(tmp_path: Path, expected: bytes) -> None:
    """Slurm's commands: Ctrl-C leaves the array, which is queued again in time; the next call waits and gathers."""
    write_config(tmp_path)
    out = tmp_path / "out"
    commands = install(tmp_path / "slurm")
    path = {"PATH": f"{commands}{os.pathsep}{os.environ['PATH']}"}
    flags = (*RUN, "--max-running", "1")
    with start(tmp_path, *flags, hook=HELD, env=path) as run:
        until(lambda: held(out), "all jobs of the first part but one")
        os.kill(run.pid, signal.SIGINT)
        _, err = run.communicate(timeout=SECONDS)
    assert run.returncode == 130, err
    assert "the array jobs continue on the cluster: run the same command again" in err
    assert "scancel 100\n" in err
    finished = stamps(out)
    word, shell = state(commands, "100_0")
    assert (word, state(commands, "100_1")) == ("RUNNING", ("PENDING", 0))
    (task,) = tasks(shell)
    for pid in (task, *descendants(task)):  # as at the end of its time
        os.kill(pid, signal.SIGUSR2)
    until(lambda: state(commands, "100_0")[0] != "RUNNING" or not command_of(task), "the end")
    (tmp_path / "go").touch()
    again = kselect_in(tmp_path, *flags, hook=SOON, env=path)
    assert again.returncode == 0, again.stderr
    assert "of an earlier call (Slurm job 100)" in again.stderr
    assert [p.name for p in commands.glob("state/*.sh")] == ["100.sh"]
    assert finished.items() <= stamps(out).items()
    assert records(out) == expected
    assert not (out / "array").exists()


def test_the_number_of_parts() -> None:
    assert ArrayOptions(max_running=2).parts(100) == 8
    assert ArrayOptions(max_running=2).parts(3) == 3
    assert ArrayOptions(max_running=2, shards=5).parts(100) == 5


def test_a_dry_run_needs_no_cluster(tmp_path: Path) -> None:
    write_config(tmp_path)
    how = ("--max-running", "2", "--shards", "3", "-j", "2", "--mem", "2.5", "--time", "1:30")
    run = kselect_in(tmp_path, "run", "small.yaml", "--backend", "slurm", "-n", *how)
    assert run.stdout.endswith(
        " with 3 array jobs, at most 2 at a time, each with 2 cores, 90 min, 2.5 GB\n"
    )


@pytest.mark.parametrize(
    ("hook", "said"),
    [
        ("import sys; sys.modules['submitit'] = None", "pip install 'kselect[slurm]'"),
        ("import os; os.environ['PATH'] = ''", "there is no sbatch on this machine"),
    ],
)
def test_a_machine_without_slurm(tmp_path: Path, hook: str, said: str) -> None:
    write_config(tmp_path)
    run = kselect_in(tmp_path, "run", "small.yaml", "-q", "--backend", "slurm", hook=hook)
    assert run.returncode == 2
    (line,) = run.stderr.splitlines()
    assert line.startswith("error: --backend slurm")
    assert said in line
    assert not (tmp_path / "results").exists()


def test_an_array_that_slurm_refuses(tmp_path: Path) -> None:
    """Every flag is in the script that sbatch gets."""
    write_config(tmp_path)
    for name in ("sbatch", "srun"):
        (tmp_path / name).write_text(
            "#!/bin/sh\ncp $1 script\necho 'sbatch: error: no such account' >&2\nexit 1"
        )
        (tmp_path / name).chmod(0o755)
    hook = f"import os; os.environ['PATH'] = {f'{tmp_path}:/bin:/usr/bin'!r}"
    flags = ("--max-running", "3", "--time", "1:30", "--mem", "2.5", "-j", "2")
    run = kselect_in(tmp_path, "run", "small.yaml", "-q", "--backend", "slurm", *flags, hook=hook)
    assert run.returncode == 2
    script = (tmp_path / "script").read_text()
    for line in ("array=0-8%3", "time=90", "mem=2560MB", "cpus-per-task=2", "signal=USR2@60"):
        assert f"#SBATCH --{line}\n" in script
    assert "--cpus-per-task=2" in script.partition("srun")[2]
    last = run.stderr.splitlines()[-1]
    assert last == "error: sbatch refuses the array: sbatch: error: no such account"


def test_parts_store_jobs_only(tmp_path: Path, expected: bytes) -> None:
    write_config(tmp_path)
    out = tmp_path / "out"
    for part in ("1/2", "2/2"):
        flags = ("-o", "out", "--shard", part, "--no-gather")
        assert kselect_in(tmp_path, "run", "small.yaml", *flags).returncode == 0
    assert len(job_files(out)) == JOBS
    assert not (out / "records.csv").exists()
    assert kselect_in(tmp_path, "run", "small.yaml", "-o", "out").returncode == 0
    assert records(out) == expected


def part(file: Path, minutes: int) -> ArrayPart:
    """Return a part with one job."""
    return ArrayPart("1/1", lambda _: "", (file,), minutes)


def test_a_part_without_progress_is_not_queued_again(tmp_path: Path) -> None:
    file = tmp_path / "0.json"
    slow, preempted = part(file, minutes=0), part(file, minutes=60)
    for one in (slow, preempted):
        assert one() == ""
    assert slow.checkpoint() is None
    assert preempted.checkpoint() is not None
    file.touch()
    assert slow.checkpoint() is not None


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (("success", ""), ""),
        (("success", "x.yaml:3: no"), "x.yaml:3: no"),
        (("error", "Traceback:\n  File x\nValueError: no: number"), "ValueError: no: number"),
        (("error", "requeued because: checkpoint function returned None."), NO_PROGRESS.format(60)),
        (None, "it ended without a result (no process and no result)"),
    ],
)
def test_why_a_part_failed(tmp_path: Path, outcome: tuple[str, str] | None, words: str) -> None:
    import submitit
    from submitit.core.utils import cloudpickle_dump

    job: submitit.LocalJob[str] = submitit.LocalJob(tmp_path, "7")
    if outcome:
        cloudpickle_dump(outcome, job.paths.result_pickle)
    assert reason(job, 60) == words
