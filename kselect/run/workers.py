"""Worker processes, local or in a dask cluster: one BLAS thread each, no reaction to Ctrl-C."""

from __future__ import annotations

import errno
import logging
import os
import re
import signal
import threading
import time
import traceback
import warnings
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from dataclasses import replace
from typing import TYPE_CHECKING

from kselect.core.experiment import Experiment
from kselect.core.job import Job, Trial
from kselect.errors import StoreError
from kselect.run.trial import failed_job, run_trial

if TYPE_CHECKING:
    from distributed import Client

POOLS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
# A worker imports nothing from the current folder, where a random.py would shadow the standard library.
WORKER_ENVIRONMENT = {**dict.fromkeys(POOLS, "1"), "PYTHONSAFEPATH": "1"}
WATCH_SECONDS = 0.5
LISTEN_SECONDS, CONNECT_SECONDS = 5.0, 15.0  # of a connection, of all attempts
FOLDERS = re.compile(r"(?<![\w.:/])/(?:[^\s/'\":]+/)*(?=[^\s/'\":])")
PACKAGE_FOLDERS = re.compile(r"(?<![\w.:/])/(?:[^\s/'\":]+/)*(?=(?:kselect|site-packages)/)")


def start_worker(parent: int) -> None:
    """Prepare a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=watch_parent, args=(parent,), daemon=True).start()
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)


def watch_parent(parent: int) -> None:
    """End this process when its parent has ended, since nothing would read its results."""
    while os.getppid() == parent:
        time.sleep(WATCH_SECONDS)
    os._exit(1)


def run_safely(experiment: Experiment, trial: Trial) -> Job:
    """Run a trial in a worker; any exception becomes a failed job with its traceback.

    Too little memory is no defect: its job has the reason only.
    """
    from threadpoolctl import threadpool_limits

    try:
        with threadpool_limits(1):
            return run_trial(experiment, trial)
    except MemoryError as error:
        why = f"not enough memory ({error}): run fewer workers (-j), and repeat with --retry-failed"
        return failed_job(experiment, trial, why)
    except Exception as error:
        why = f"{type(error).__name__}: {' '.join(str(error).split())}"
        return failed_job(
            experiment, trial, without_folders(why), without_folders(traceback.format_exc())
        )


def without_folders(text: str) -> str:
    """Cut absolute paths to the package or the file name: results must not describe a machine."""
    return FOLDERS.sub("", PACKAGE_FOLDERS.sub("", text))


def local_executor(n_jobs: int) -> Executor:
    """Return a pool of fresh loky processes, also for one job, so that the parent can react to Ctrl-C."""
    from loky import ProcessPoolExecutor

    # loky replaces a worker that keeps the memory of a large job; its warning is of no use here.
    warnings.filterwarnings("ignore", "A worker (stopped|was restarted)", UserWarning)
    try:
        start_trackers()
        executor: Executor = ProcessPoolExecutor(
            max_workers=n_jobs,
            initializer=start_worker,
            initargs=(os.getpid(),),
            env=WORKER_ENVIRONMENT,
        )
    except OSError as error:  # it names no file, because the semaphores have none
        if error.errno == errno.ENOSPC and error.filename is None:
            raise StoreError(
                f"/dev/shm: {error.strerror}: the worker processes need a few kB there; "
                "free some space, or make /dev/shm larger"
            ) from None
        raise
    return executor


def start_trackers() -> None:
    """Start the processes that silently remove what a killed run leaves in shared memory.

    If they started later, they would unblock the signal that ``submit`` blocks. They would also warn of a semaphore
    that was removed while the run ended, which is harmless.
    """
    from multiprocessing import resource_tracker

    from loky.backend import resource_tracker as loky_tracker

    before = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = "ignore"
    try:
        resource_tracker.ensure_running()
        loky_tracker.ensure_running()
    finally:
        if before is None:
            del os.environ["PYTHONWARNINGS"]
        else:
            os.environ["PYTHONWARNINGS"] = before


def submit(executor: Executor, experiment: Experiment, trial: Trial) -> Future[Job]:
    """Submit a trial. A worker that starts meanwhile inherits the blocked SIGINT and never receives a Ctrl-C."""
    # A worker may have another current folder.
    source = replace(trial.source, path=trial.source.path.resolve())
    trial = replace(trial, source=source)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return executor.submit(run_safely, experiment, trial)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def worker_died(error: Exception) -> bool:
    """Return whether an error of loky or dask means that the process of a trial has ended."""
    return isinstance(error, (BrokenExecutor, CancelledError)) or (
        type(error).__name__ == "KilledWorker"
    )


def dask_client(scheduler: str | None, n_jobs: int) -> Client:
    """Connect to a dask scheduler, or to a cluster of local processes started for this run."""
    from distributed import Client, LocalCluster

    # kselect reports what happens to the cluster itself, in one line.
    for name in [n for n in logging.root.manager.loggerDict if n.startswith("distributed")]:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)

    if scheduler:
        return connect(scheduler, CONNECT_SECONDS)
    cluster = LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=n_jobs, threads_per_worker=1, dashboard_address=":0"
    )
    return Client(cluster)  # type: ignore[no-untyped-call]


def connect(scheduler: str, seconds: float) -> Client:
    """Connect to a dask scheduler; raise an OSError or a ValueError if there is none.

    The time limit of dask's client does not cover a peer that accepts the connection and stays silent. A peer of
    another protocol makes the client fail in many ways: it takes "HTTP/1.1" for a size of 3 EiB, for example.
    """
    from distributed import Client

    found: Future[Client] = Future()

    def attempt() -> None:
        try:
            found.set_result(Client(scheduler, timeout=LISTEN_SECONDS))  # type: ignore[no-untyped-call]
        except BaseException as error:
            found.set_exception(error)

    threading.Thread(target=attempt, daemon=True).start()
    try:
        return found.result(seconds)
    except (OSError, ValueError) as error:
        if found.done():
            raise
        words = f"no dask scheduler answers at this address within {seconds:g} s"
        raise TimeoutError(words) from error
    except Exception as error:
        raise ValueError(
            f"no dask scheduler answers at this address ({type(error).__name__})"
        ) from None


def check_alive(executor: Executor) -> None:
    """Raise StoreError if the dask scheduler has ended, since its futures would never finish."""
    client = getattr(executor, "_client", None)
    if client is not None and client.status != "running":
        address = getattr(getattr(client, "scheduler", None), "address", "")
        raise StoreError(f"the dask scheduler {address} is gone".replace("  ", " "))


def stop(executor: Executor) -> None:
    """End an executor at once, even if its workers are busy."""
    from loky import ProcessPoolExecutor

    if isinstance(executor, ProcessPoolExecutor):
        executor.shutdown(wait=True, kill_workers=True)
    else:
        executor.shutdown(wait=False)  # dask cancels the running trials
