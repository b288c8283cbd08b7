"""Concurrent runs in one folder, folders that vanish, and files in the current folder, with real processes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from experiments import (
    JOBS,
    SECONDS,
    SLOW,
    SMALL,
    environment,
    forked,
    job_files,
    kselect_in,
    records,
    until,
    write_config,
)

from kselect.errors import ConfigError
from kselect.run.locks import FolderLocks, byte_of

# Write a line per computed trial to a file next to the results.
NOTING = """
import pathlib, time
import kselect.run.workers as workers
run_trial = workers.run_trial
def noting(experiment, trial):
    with open("computed.txt", "a") as notes:
        notes.write(f"{trial.dataset} {trial.split}\\n")
    time.sleep(0.3)
    return run_trial(experiment, trial)
workers.run_trial = noting
"""
GONE = """
import pathlib, shutil
import kselect.run.workers as workers
run_trial = workers.run_trial
def gone(experiment, trial):
    if (trial.dataset, trial.split) == ("sonar", 2):
        shutil.rmtree("out")
    return run_trial(experiment, trial)
workers.run_trial = gone
"""


def test_a_byte_per_job() -> None:
    names = [(d, s) for d in ("heart", "heart1", "sonar") for s in range(100)]
    assert len({byte_of(*name) for name in names}) == len(names)


@pytest.mark.slow
def test_the_same_config_three_times_repeats_no_job(tmp_path: Path) -> None:
    """Each job is computed by exactly one run, all runs succeed, and the table equals that of a single run."""
    write_config(tmp_path)
    flags = ("run", "small.yaml", "-o", "out", "-j", "1")
    with ExitStack() as stack:
        runs = [stack.enter_context(forked(tmp_path, *flags, hook=NOTING)) for _ in range(3)]
        for run in runs:
            _, err = run.communicate(timeout=SECONDS)
            assert run.returncode == 0, err
            assert "Traceback" not in err
    computed = (tmp_path / "computed.txt").read_text().splitlines()
    assert len(computed) == len(set(computed)) == JOBS
    assert kselect_in(tmp_path, "run", "small.yaml", "-o", "alone").returncode == 0
    assert records(tmp_path / "out") == records(tmp_path / "alone")


@pytest.mark.slow
def test_two_configs_at_once_in_one_folder(tmp_path: Path) -> None:
    """The second run is refused before it writes anything; the first is not disturbed."""
    write_config(tmp_path)
    write_config(tmp_path, SMALL.replace("learner: lssvm", "learner: krr"), "other.yaml")
    with forked(tmp_path, "run", "small.yaml", "-o", "out", hook=SLOW) as first:
        until(lambda: (tmp_path / "out/config.resolved.yaml").exists(), "the first has claimed")
        second = kselect_in(tmp_path, "run", "other.yaml", "-o", "out")
        assert second.returncode == 2
        assert second.stderr.splitlines()[-1].startswith("error: out")
        _, err = first.communicate(timeout=SECONDS)
        assert first.returncode == 0, err
    assert kselect_in(tmp_path, "run", "small.yaml", "-o", "alone").returncode == 0
    assert records(tmp_path / "out") == records(tmp_path / "alone")


def test_a_claim_ends_with_its_process(tmp_path: Path) -> None:
    """A killed run leaves no lock behind."""
    write_config(tmp_path)
    with forked(tmp_path, "run", "small.yaml", "-o", "out", hook=SLOW) as killed:
        until(lambda: job_files(tmp_path / "out"), "a job is there")
        killed.kill()
    assert kselect_in(tmp_path, "run", "small.yaml", "-o", "out").returncode == 0


def test_locks_without_locks_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Warn once about a file system without locks."""

    def refuse(*_: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr("kselect.run.locks.fcntl.lockf", refuse)
    said: list[str] = []
    locks = FolderLocks(tmp_path, said.append)
    locks.protocol(lambda: None, lambda: False)
    assert locks.job("heart", 1)
    locks.close()
    (line,) = said
    assert "No locks available" in line


def test_another_protocol_is_refused_within_a_process_pair(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second run with another config may not write, after it has waited for the first to write its own."""
    waits: list[float] = []
    monkeypatch.setattr("kselect.run.locks.time.sleep", waits.append)
    locks = FolderLocks(tmp_path)
    locks._lock = lambda *_: False  # type: ignore[method-assign]
    with pytest.raises(ConfigError, match="another run is writing here with another config"):
        locks.protocol(lambda: pytest.fail("written"), lambda: False)
    assert 1 < sum(waits) < 10
    locks.close()


def test_a_folder_that_vanishes_is_no_complete_run(tmp_path: Path) -> None:
    """Report jobs that were written but have disappeared, and exit with 1."""
    write_config(tmp_path)
    run = kselect_in(tmp_path, "run", "small.yaml", "-o", "out", "-j", "1", hook=GONE)
    assert run.returncode == 1
    lost = [line for line in run.stderr.splitlines() if ": computed, but" in line]
    assert lost
    assert all(line.startswith("error: ") for line in lost)
    again = kselect_in(tmp_path, "run", "small.yaml", "-o", "out")
    assert again.returncode == 0


def test_workers_import_nothing_from_the_current_folder(tmp_path: Path) -> None:
    """Files with the names of Python modules are never executed."""
    write_config(tmp_path)
    for name in ("random", "types", "loky", "numpy", "joblib", "select", "kselect_plugin"):
        (tmp_path / f"{name}.py").write_text('open("executed", "a").write(__name__)\n')
    # As the installed command starts: python -m would put the current folder first by itself.
    command = [sys.executable, "-P", "-c", "import kselect.cli.main as m; m.main()", "run"]
    flags = ["small.yaml", "-o", "out", "-j", "2", "-d", "heart"]
    env = environment(tmp_path)
    run = subprocess.run([*command, *flags], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert not (tmp_path / "executed").exists()


def test_a_narrow_trial_run_in_a_clone(tmp_path: Path) -> None:
    """A clone has the table but no jobs: its rows are stored cells, and a forced part keeps the others."""
    write_config(tmp_path)
    assert kselect_in(tmp_path, "run", "small.yaml", "-o", "out").returncode == 0
    before = records(tmp_path / "out")
    shutil.rmtree(tmp_path / "out/jobs")
    narrow = ("-d", "heart", "-c", "5-CV", "--splits", "2")
    for more, jobs in ((), 0), (("--force",), 2):
        run = kselect_in(tmp_path, "run", "small.yaml", "-o", "out", *narrow, *more)
        assert run.returncode == 0
        assert len(job_files(tmp_path / "out")) == jobs
        assert records(tmp_path / "out") == before
    assert kselect_in(tmp_path, "report", "out").returncode == 0
    assert records(tmp_path / "out") == before
