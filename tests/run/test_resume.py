"""After any interruption, the next run repeats no finished job, loses none, and gives the same bytes."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from experiments import (
    JOBS,
    SECONDS,
    SLOW,
    SMALL,
    command_of,
    forked,
    job_files,
    kselect_in,
    litter,
    records,
    stamps,
    start,
    started_in,
    until,
    workers_of,
    write_config,
)

GONE_SECONDS = 5.0  # workers poll every half second; the rest is for a loaded machine


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return records.csv of an undisturbed run with one worker."""
    folder = tmp_path_factory.mktemp("reference")
    write_config(folder)
    done = kselect_in(folder, "run", "small.yaml", "-o", "out")
    assert done.returncode == 0, done.stderr
    assert len(job_files(folder / "out")) == JOBS
    return records(folder / "out")


def test_two_workers_give_the_same_bytes(tmp_path: Path, expected: bytes) -> None:
    write_config(tmp_path)
    assert started_in(tmp_path, "run", "small.yaml", "-o", "out", "-j", "2").returncode == 0
    assert records(tmp_path / "out") == expected


def test_killed_again_and_again(tmp_path: Path, expected: bytes) -> None:
    write_config(tmp_path)
    out = tmp_path / "out"
    finished: dict[str, tuple[int, int]] = {}
    for enough in (2, 5):
        with forked(tmp_path, "run", "small.yaml", "-o", "out", "-j", "2", hook=SLOW) as run:
            until(lambda n=enough: len(job_files(out)) >= n, f"{enough} jobs")
            workers = workers_of(run.pid)
            assert workers
            os.kill(run.pid, signal.SIGKILL)
            run.wait()
            until(lambda pids=workers: not any(map(command_of, pids)), "no workers", GONE_SECONDS)
        now = stamps(out)
        assert finished.items() <= now.items()
        assert enough <= len(now) < JOBS
        finished = now
    last = kselect_in(tmp_path, "run", "small.yaml", "-o", "out", "-j", "2")
    assert last.returncode == 0
    assert f"{JOBS - len(finished)} jobs to run, {len(finished)} done already" in last.stderr
    assert finished.items() <= stamps(out).items()
    assert records(out) == expected


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.slow
def test_interrupted(tmp_path: Path, expected: bytes, number: signal.Signals) -> None:
    write_config(tmp_path)
    out = tmp_path / "out"
    with start(tmp_path, "run", "small.yaml", "-o", "out", "-j", "2", hook=SLOW) as run:
        until(lambda: len(job_files(out)) >= 2, "two jobs")
        os.killpg(run.pid, number)
        seconds = until(lambda: run.poll() is not None, "the end")
        _, err = run.communicate()
    assert run.returncode == 130
    assert seconds < 2.0
    assert "Traceback" not in err
    assert [line for line in err.splitlines() if line][-1].startswith("interrupted: finished jobs")
    assert err.count("interrupted") == 1
    finished = stamps(out)
    assert 2 <= len(finished) < JOBS
    assert not litter(out)
    assert kselect_in(tmp_path, "run", "small.yaml", "-o", "out").returncode == 0
    assert finished.items() <= stamps(out).items()
    assert records(out) == expected


@pytest.mark.parametrize("attempt", [0, 2])
def test_interrupted_while_workers_start(tmp_path: Path, attempt: int) -> None:
    write_config(tmp_path)
    with start(tmp_path, "run", "small.yaml", "-o", "out", "-j", "2", hook=SLOW) as run:
        until(lambda: workers_of(run.pid), "a worker")
        # Python has begun in them by the second attempt, their imports have not ended.
        until(lambda: run.poll() is None, "running", 1)
        if attempt:
            pids = workers_of(run.pid)
            until(lambda: all(mapped(pid) > 20 * attempt for pid in pids), "imports")
        os.killpg(run.pid, signal.SIGINT)
        _, err = run.communicate(timeout=SECONDS)
    assert run.returncode == 130
    assert "Traceback" not in err, err
    assert "KeyboardInterrupt" not in err, err


def mapped(pid: int) -> int:
    """Return the number of memory mappings of a process, which grows with its imports."""
    try:
        return len(Path(f"/proc/{pid}/maps").read_text().splitlines())
    except OSError:
        return 10**6


@pytest.mark.parametrize("pause", [0.0, 0.02])
@pytest.mark.slow
def test_two_interrupts(tmp_path: Path, pause: float) -> None:
    write_config(tmp_path)
    with start(tmp_path, "run", "small.yaml", "-o", "out", hook=SLOW) as run:
        until(lambda: job_files(tmp_path / "out"), "a job")
        workers = workers_of(run.pid)
        os.killpg(run.pid, signal.SIGINT)
        time.sleep(pause)  # a random delay, to hit different moments of the end
        os.killpg(run.pid, signal.SIGINT)
        _, err = run.communicate(timeout=SECONDS)
    assert run.returncode == 130, err
    assert "Traceback" not in err
    until(lambda: not any(map(command_of, workers)), "no workers", GONE_SECONDS)


ONE_CELL = SMALL.replace("[0.001, 0.1]", "[0.1]").replace("[5-CV, 5-KS]", "[5-CV]")
WRITTEN = ("config.resolved.yaml", "jobs/sonar/1.json", "records.csv", "manifest.json")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the results folder of a run of ONE_CELL."""
    folder = tmp_path_factory.mktemp("one-cell")
    write_config(folder, ONE_CELL)
    assert kselect_in(folder, "run", "small.yaml", "-o", "out").returncode == 0
    sizes = [(folder / "out" / name).stat().st_size for name in WRITTEN]
    assert sizes == sorted(sizes), "a limit below one file must not delete earlier files"
    return folder / "out"


@pytest.mark.parametrize("name", WRITTEN)
def test_full_disk(tmp_path: Path, undisturbed: Path, name: str) -> None:
    limit = (undisturbed / name).stat().st_size - 20
    write_config(tmp_path, ONE_CELL)
    out = tmp_path / "out"
    hook = f"import resource as r; r.setrlimit(r.RLIMIT_FSIZE, ({limit}, {limit}))"
    done = kselect_in(tmp_path, "run", "small.yaml", "-o", "out", "-q", hook=hook)
    assert done.returncode == (2 if name == WRITTEN[0] else 1)
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("error: out/")
    assert "cannot write: File too large" in done.stderr
    assert not (out / name).exists() or name.startswith("jobs")
    assert not litter(out)
    finished = stamps(out)
    again = kselect_in(tmp_path, "run", "small.yaml", "-o", "out", "-q")
    assert (again.returncode, again.stderr) == (0, "")
    assert finished.items() <= stamps(out).items()
    assert records(out) == records(undisturbed)


def test_two_runs_into_one_folder(tmp_path: Path, expected: bytes) -> None:
    write_config(tmp_path)
    out = tmp_path / "out"
    with (
        forked(tmp_path, "run", "small.yaml", "-o", "out", hook=SLOW) as one,
        forked(tmp_path, "run", "small.yaml", "-o", "out", "-j", "2", hook=SLOW) as two,
    ):
        for run in (one, two):
            _, err = run.communicate(timeout=SECONDS)
            assert run.returncode == 0, err
            assert "Traceback" not in err
    assert records(out) == expected
    assert not litter(out)


def test_two_runs_of_different_criteria_into_one_folder(tmp_path: Path, expected: bytes) -> None:
    write_config(tmp_path)
    with (
        forked(tmp_path, "run", "small.yaml", "-o", "out", "-c", "5-CV") as one,
        forked(tmp_path, "run", "small.yaml", "-o", "out", "-c", "5-KS") as two,
    ):
        assert [run.communicate(timeout=SECONDS) and run.returncode for run in (one, two)] == [0, 0]
    last = kselect_in(tmp_path, "run", "small.yaml", "-o", "out")
    assert f"0 jobs to run, {JOBS} done already" in last.stderr
    assert records(tmp_path / "out") == expected
