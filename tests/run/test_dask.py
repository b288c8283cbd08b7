"""Runs on a dask cluster give the same bytes, and an absent scheduler is reported at once."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import CancelledError
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from experiments import (
    DEADLY,
    SECONDS,
    SLOW,
    environment,
    job,
    job_files,
    kselect_in,
    records,
    start,
    statuses,
    until,
    write_config,
)
from launch import launched

import kselect
from kselect.core.job import RESULT_VERSION
from kselect.run.scheduler import DIED_TWICE
from kselect.run.workers import (
    VERSION,
    DaskCall,
    DaskExecutor,
    DaskWorkers,
    check_alive,
    worker_died,
)

pytest.importorskip(
    "distributed", reason="distributed is not installed: pip install 'kselect[dask]'"
)


# Give up soon if no scheduler answers.
SOON = "import kselect.run.workers as w; w.CONNECT_SECONDS, w.LISTEN_SECONDS = 1.0, 0.5"


@pytest.mark.slow
def test_a_job_that_kills_its_worker_each_time(tmp_path: Path) -> None:
    write_config(tmp_path)
    flags = ("run", "small.yaml", "-o", "out", "--backend", "dask", "-j", "2", "--splits", "2")
    with start(tmp_path, *flags, hook=DEADLY) as run:
        _, err = run.communicate(timeout=SECONDS)  # dask's own log lines may follow
    assert run.returncode == 1, err
    found = statuses(tmp_path / "out")
    assert found.pop(("sonar", 1), None) == {"failed"}, err
    assert set.union(*found.values()) == {"ok"}
    assert len(found) == 5
    assert {r["reason"] for r in job(tmp_path / "out", "sonar", 1)["records"]} == {DIED_TWICE}
    assert err.count("6/6 jobs") == 1
    names = {p.name for p in tmp_path.iterdir() if not p.name.startswith("hook-")}
    assert names == {"out", "small.yaml"}
    local = ("run", "small.yaml", "--splits", "2")
    assert kselect_in(tmp_path, *local, "-o", "out", "--retry-failed").returncode == 0
    assert kselect_in(tmp_path, *local, "-o", "local").returncode == 0
    assert records(tmp_path / "out") == records(tmp_path / "local"), "the same bytes"


def test_an_absent_scheduler_is_reported(tmp_path: Path) -> None:
    write_config(tmp_path)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        flags = ("run", "small.yaml", "-o", "out", "-q", "--backend", "dask")
        run = kselect_in(tmp_path, *flags, "--scheduler", address, hook=SOON)
    assert run.returncode == 2
    (line,) = run.stderr.splitlines()
    assert line.startswith(f"error: --scheduler {address}: ")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("address", ["nonsense", "http://127.0.0.1", "tcp://127.0.0.1:x"])
def test_invalid_addresses_are_refused(tmp_path: Path, address: str) -> None:
    write_config(tmp_path)
    flags = ("run", "small.yaml", "-o", "out", "-q", "--backend", "dask")
    run = kselect_in(tmp_path, *flags, "--scheduler", address)
    assert run.returncode == 2
    (line,) = run.stderr.splitlines()
    assert line.startswith(f"error: --scheduler {address}: ")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"", "within 1 s"),
        (b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", "(MemoryError)"),
    ],
)
def test_a_peer_that_is_no_scheduler(tmp_path: Path, answer: bytes, said: str) -> None:
    """It accepts the connection, and stays silent or speaks HTTP: one line, within a limited time."""
    write_config(tmp_path)
    flags = ("run", "small.yaml", "-o", "out", "-q", "--backend", "dask")
    with socket.create_server(("127.0.0.1", 0)) as peer:
        address = f"tcp://127.0.0.1:{peer.getsockname()[1]}"
        threading.Thread(target=answer_all, args=(peer, answer), daemon=True).start()
        limit = "" if answer else SOON
        run = kselect_in(tmp_path, *flags, "--scheduler", address, hook=limit)
    assert run.returncode == 2
    (line,) = run.stderr.splitlines()
    assert line == f"error: --scheduler {address}: no dask scheduler answers at this address {said}"
    assert not (tmp_path / "out").exists()


def answer_all(peer: socket.socket, answer: bytes) -> None:
    """Send the same bytes to everyone who connects, and keep the connections open."""
    with suppress(OSError), ExitStack() as kept:
        while True:
            kept.enter_context(peer.accept()[0]).sendall(answer)


def test_the_message_about_a_dead_worker() -> None:
    from distributed.scheduler import KilledWorker

    assert worker_died(KilledWorker("task", None, 3))
    assert worker_died(CancelledError())
    assert not worker_died(ValueError("task"))


def served(folder: Path, *command: str, hook: str = SLOW) -> subprocess.Popen[str]:
    """Start a part of a cluster in a separate process."""
    env = environment(folder, hook)
    code = "from distributed.cli import dask_{0} as m; m.main(standalone_mode=True)"
    line = launched(sys.executable, "-c", code.format(command[0]), *command[1:])
    quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(
        line,
        cwd=folder,
        env=env,
        text=True,
        start_new_session=True,
        **quiet,
    )


@pytest.mark.slow
def test_a_scheduler_that_dies_is_one_line(tmp_path: Path) -> None:
    """A lost scheduler exits with 1 and keeps finished jobs; a local run resumes from there."""
    write_config(tmp_path)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    where = ("--host", "127.0.0.1", "--port", str(port))
    scheduler = served(tmp_path, "scheduler", *where, "--no-dashboard")
    elsewhere = tmp_path / "elsewhere"  # a worker runs in another folder
    elsewhere.mkdir()
    worker = served(elsewhere, "worker", address, "--no-dashboard", "--no-nanny", "--nthreads", "1")
    flags = ("run", "small.yaml", "-o", "out", "--backend", "dask", "--scheduler", address)
    try:
        until(lambda: listening(port), "a scheduler")
        until(lambda: workers(address) == 1, "a worker")
        with start(tmp_path, *flags) as run:
            until(lambda: len(job_files(tmp_path / "out")) >= 2, "two jobs are there")
            os.killpg(scheduler.pid, signal.SIGKILL)
            _, err = run.communicate(timeout=SECONDS)
    finally:
        for process in (scheduler, worker):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    assert run.returncode == 1, err
    assert "Traceback" not in err
    (line,) = [text for text in err.splitlines() if text.startswith("error: ")]
    assert line.endswith("is gone; finished jobs are kept")
    assert kselect_in(tmp_path, "run", "small.yaml", "-o", "out").returncode == 0
    assert kselect_in(tmp_path, "run", "small.yaml", "-o", "alone").returncode == 0
    assert records(tmp_path / "out") == records(tmp_path / "alone")


# Each worker waits in its first job, and says so in a file.
HELD = """
import os, pathlib, time
import kselect.run.workers as workers
run_trial = workers.run_trial
def held(experiment, trial):
    pathlib.Path(f"held-{os.getpid()}").touch()
    until = time.monotonic() + 200
    while not pathlib.Path("go").exists() and time.monotonic() < until:
        time.sleep(0.01)
    return run_trial(experiment, trial)
workers.run_trial = held
"""
OLDER = f"{HELD}\nimport kselect; kselect.__version__ = '0.0.9'"


@pytest.mark.slow
def test_two_workers_one_killed_and_one_of_another_version(tmp_path: Path) -> None:
    """A worker of another version gets no job; the jobs of a killed worker go to the other one."""
    write_config(tmp_path)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    where = ("--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
    flags = ("run", "small.yaml", "-o", "out", "--backend", "dask", "--scheduler", address)
    run_with = ("--no-dashboard", "--no-nanny", "--nthreads", "1")
    cluster = [served(tmp_path, "scheduler", *where, hook="")]
    try:
        until(lambda: listening(port), "a scheduler")
        cluster.append(served(tmp_path, "worker", address, *run_with, hook=OLDER))
        until(lambda: workers(address) == 1, "the worker of another version")
        refused = kselect_in(tmp_path, *flags)
        assert refused.returncode == 2
        named, none = refused.stderr.splitlines()[-2:]
        version = f"{kselect.__version__} (results {RESULT_VERSION})"
        old = f"kselect 0.0.9 (results {RESULT_VERSION})"
        assert named.startswith("refused: worker tcp://127.0.0.1:")
        assert named.endswith(f" has {old}; this run needs kselect {version}")
        assert none.endswith(f"is connected; start one: dask worker {address}")
        assert not (tmp_path / "out").exists()
        cluster += [served(tmp_path, "worker", address, *run_with, hook=HELD) for _ in "12"]
        until(lambda: workers(address) == 3, "two more workers")
        with start(tmp_path, *flags) as run:
            until(lambda: len(list(tmp_path.glob("held-*"))) == 2, "a job on each of the two")
            os.killpg(cluster[2].pid, signal.SIGKILL)
            (tmp_path / "go").touch()
            _, err = run.communicate(timeout=SECONDS)
    finally:
        for process in cluster:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    assert run.returncode == 0, err
    assert err.count("refused: ") == 1
    assert kselect_in(tmp_path, "run", "small.yaml", "-o", "local").returncode == 0
    assert records(tmp_path / "out") == records(tmp_path / "local")
    assert {int(path.name.removeprefix("held-")) for path in tmp_path.glob("held-*")} == {
        process.pid for process in cluster[2:]
    }


def listening(port: int) -> bool:
    """Return whether somebody listens at a port of this machine."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def workers(address: str) -> int:
    """Return the number of workers of a dask scheduler."""
    from distributed import Client

    with Client(address, timeout=SECONDS) as client:  # type: ignore[no-untyped-call]
        return len(client.nthreads())  # type: ignore[no-untyped-call]


class Submitted:
    """A call on a cluster that ends when a test says so."""

    status = "pending"

    def __init__(self) -> None:
        self.followers: list[Any] = []

    def add_done_callback(self, follower: Any) -> None:
        self.followers.append(follower)

    def cancel(self) -> None:
        self.end("cancelled")

    def end(self, status: str) -> None:
        self.status = status
        for follower in self.followers:
            follower(self)

    def result(self) -> str:
        if self.status != "finished":
            raise RuntimeError(self.status)
        return "done"


def test_jobs_whose_workers_have_ended_move_once() -> None:
    """dask would wait for ever for a worker at an address that does not come back."""
    here = ["a"]
    submitted: list[Submitted] = []

    class Client:
        status = "running"

        def nthreads(self) -> dict[str, int]:
            return dict.fromkeys(here, 1)

        def run(self, *_: object, workers: list[str], **__: object) -> dict[str, str]:
            return dict.fromkeys(workers, VERSION)

        def submit(self, *_: object, workers: list[str], **__: object) -> Submitted:
            submitted.append(Submitted())
            return submitted[-1]

    executor = DaskExecutor(DaskWorkers(Client(), print))  # type: ignore[arg-type]
    first, second = executor.submit(len), executor.submit(len)
    check_alive(executor)
    assert len(submitted) == 2
    here[:] = ["b"]
    check_alive(executor)
    assert [call.workers for call in executor.calls] == [["b"], ["b"]]
    submitted[2].end("finished")
    assert first.result(0) == "done"
    assert not second.done()
    here[:] = ["c"]
    check_alive(executor)
    assert len(submitted) == 4
    with pytest.raises(CancelledError):
        second.result(0)


def test_a_cancelled_call_has_lost_its_worker() -> None:
    """A future that never finishes would stop the run."""
    call = DaskCall(Submitted(), ["a"], lambda: (Submitted(), ["b"]))  # type: ignore[arg-type]
    call.follow()
    call.submitted.cancel()  # type: ignore[no-untyped-call]
    with pytest.raises(CancelledError):
        call.outcome.result(0)
