"""Worker processes: one BLAS thread each, deaf to Ctrl-C, gone when their parent is gone."""

from __future__ import annotations

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
from kselect.core.job import Outcome, Trial
from kselect.errors import StoreError
from kselect.run.trial import failed_outcome, run_trial

if TYPE_CHECKING:
    from distributed import Client

POOLS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
# A worker imports nothing from the current folder: a random.py there is not ours to run.
WORKER_ENVIRONMENT = {**dict.fromkeys(POOLS, "1"), "PYTHONSAFEPATH": "1"}
WATCH_SECONDS = 0.5
FOLDERS = re.compile(r"(?<![\w.:/])/(?:[^\s/'\":]+/)*(?=[^\s/'\":])")
PACKAGE_FOLDERS = re.compile(r"(?<![\w.:/])/(?:[^\s/'\":]+/)*(?=(?:kselect|site-packages)/)")


def start_worker(parent: int) -> None:
    """What a worker does first."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=watch_parent, args=(parent,), daemon=True).start()
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)


def watch_parent(parent: int) -> None:
    """End this process when its parent is gone: nobody would read its results."""
    while os.getppid() == parent:
        time.sleep(WATCH_SECONDS)
    os._exit(1)


def run_safely(experiment: Experiment, trial: Trial) -> Outcome:
    """A trial in a worker: whatever goes wrong inside becomes a failed outcome with its traceback."""
    from threadpoolctl import threadpool_limits

    try:
        with threadpool_limits(1):
            return run_trial(experiment, trial)
    except Exception as error:
        why = f"{type(error).__name__}: {' '.join(str(error).split())}"
        return failed_outcome(
            experiment, trial, without_folders(why), without_folders(traceback.format_exc())
        )


def without_folders(text: str) -> str:
    """The text with its absolute paths cut to the package or the file: results say nothing of a machine."""
    return FOLDERS.sub("", PACKAGE_FOLDERS.sub("", text))


def local_executor(n_jobs: int) -> Executor:
    """Fresh processes through loky, also for one job: the parent stays free to hear Ctrl-C."""
    from loky import ProcessPoolExecutor

    # loky replaces a worker that keeps the memory of a large job; its warning of that helps nobody.
    warnings.filterwarnings("ignore", "A worker (stopped|was restarted)", UserWarning)
    start_trackers()
    executor: Executor = ProcessPoolExecutor(
        max_workers=n_jobs,
        initializer=start_worker,
        initargs=(os.getpid(),),
        env=WORKER_ENVIRONMENT,
    )
    return executor


def start_trackers() -> None:
    """The processes that remove what a killed run leaves in shared memory, and say nothing of it.

    Started later they would unblock what ``submit`` blocks; and they warn of a semaphore that
    was removed while the run ended, which is no fault and none of the user's business.
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


def submit(executor: Executor, experiment: Experiment, trial: Trial) -> Future[Outcome]:
    """Hand out a trial. A worker that starts now inherits the blocked SIGINT: it never sees a Ctrl-C."""
    # A worker may stand in another folder.
    source = replace(trial.source, path=trial.source.path.resolve())
    trial = replace(trial, source=source)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return executor.submit(run_safely, experiment, trial)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def worker_died(error: Exception) -> bool:
    """Whether a trial has no outcome because its process is gone, in loky's words or in dask's."""
    return isinstance(error, (BrokenExecutor, CancelledError)) or (
        type(error).__name__ == "KilledWorker"
    )


def dask_client(scheduler: str | None, n_jobs: int) -> Client:
    """A client of a dask scheduler, or of a cluster of local processes started for this run."""
    from distributed import Client, LocalCluster

    # What happens to the cluster is said by us, in one line.
    for name in [n for n in logging.root.manager.loggerDict if n.startswith("distributed")]:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)

    if scheduler:
        return Client(scheduler, timeout="5s")  # type: ignore[no-untyped-call]
    cluster = LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=n_jobs, threads_per_worker=1, dashboard_address=None
    )
    return Client(cluster)  # type: ignore[no-untyped-call]


def check_alive(executor: Executor) -> None:
    """Whether there is still somebody who computes: a dask scheduler that is gone answers nothing for ever."""
    client = getattr(executor, "_client", None)
    if client is not None and client.status != "running":
        address = getattr(getattr(client, "scheduler", None), "address", "")
        raise StoreError(f"the dask scheduler {address} is gone".replace("  ", " "))


def stop(executor: Executor) -> None:
    """End an executor at once, with whatever its workers are doing."""
    from loky import ProcessPoolExecutor

    if isinstance(executor, ProcessPoolExecutor):
        executor.shutdown(wait=True, kill_workers=True)
    else:
        executor.shutdown(wait=False)  # dask's cancels what is under way
