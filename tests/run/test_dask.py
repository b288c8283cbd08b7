"""Runs through a dask cluster give the same bytes, and a scheduler that is not there is said at once."""

from __future__ import annotations

import socket
from concurrent.futures import CancelledError
from pathlib import Path

import pytest
from experiments import (
    DEADLY,
    JOBS,
    SECONDS,
    job,
    kselect_in,
    records,
    start,
    statuses,
    write_config,
)

from kselect.run.scheduler import DIED_TWICE
from kselect.run.workers import worker_died

pytest.importorskip(
    "distributed", reason="distributed is not installed: pip install 'kselect[dask]'"
)


def test_same_bytes_as_local_workers(tmp_path: Path) -> None:
    write_config(tmp_path)
    dask = kselect_in(tmp_path, "run", "small.yaml", "-o", "dask", "--backend", "dask", "-j", "2")
    assert dask.returncode == 0, dask.stderr
    assert f"{JOBS}/{JOBS} jobs" in dask.stderr
    assert kselect_in(tmp_path, "run", "small.yaml", "-o", "local").returncode == 0
    assert records(tmp_path / "dask") == records(tmp_path / "local")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["dask", "local", "small.yaml"]


@pytest.mark.slow
def test_a_job_that_kills_its_worker_each_time(tmp_path: Path) -> None:
    write_config(tmp_path)
    flags = ("run", "small.yaml", "-o", "out", "--backend", "dask", "-j", "2", "--splits", "2")
    with start(tmp_path, *flags, hook=DEADLY) as run:
        _, err = run.communicate(timeout=SECONDS)  # with what dask logs of its own
    assert run.returncode == 1, err
    found = statuses(tmp_path / "out")
    assert found.pop(("sonar", 1), None) == {"failed"}, err
    assert set.union(*found.values()) == {"ok"}
    assert len(found) == 5
    assert {r["reason"] for r in job(tmp_path / "out", "sonar", 1)["records"]} == {DIED_TWICE}


def test_nobody_listens(tmp_path: Path) -> None:
    write_config(tmp_path)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        flags = ("run", "small.yaml", "-o", "out", "-q", "--backend", "dask")
        run = kselect_in(tmp_path, *flags, "--scheduler", address)
    assert run.returncode == 2
    (line,) = run.stderr.splitlines()
    assert line.startswith(f"error: --scheduler {address}: ")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("address", ["nonsense", "http://127.0.0.1", "tcp://127.0.0.1:x", "tcp:/1"])
def test_what_is_no_address(tmp_path: Path, address: str) -> None:
    write_config(tmp_path)
    flags = ("run", "small.yaml", "-o", "out", "-q", "--backend", "dask")
    run = kselect_in(tmp_path, *flags, "--scheduler", address)
    assert run.returncode == 2
    (line,) = run.stderr.splitlines()
    assert line.startswith(f"error: --scheduler {address}: ")


def test_words_for_a_dead_worker() -> None:
    from distributed.scheduler import KilledWorker

    assert worker_died(KilledWorker("task", None, 3))
    assert worker_died(CancelledError())
    assert not worker_died(ValueError("task"))
