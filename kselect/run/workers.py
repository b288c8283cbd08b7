"""Worker processes, local or in a dask cluster: one BLAS thread each, no reaction to Ctrl-C."""

from __future__ import annotations

import builtins
import errno
import logging
import os
import pickle
import signal
import threading
import time
import traceback
import types
import warnings
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from kselect.core.experiment import Experiment
from kselect.core.job import Job, Trial
from kselect.errors import StoreError, without_folders
from kselect.plugins import LOADED, load_all
from kselect.registry import Plugin
from kselect.run.signals import interrupts_later
from kselect.run.trial import failed_job, run_trial

if TYPE_CHECKING:
    from distributed import Client
    from distributed import Future as DaskFuture

POOLS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
# A worker imports nothing from the current folder, where a random.py would shadow the standard library.
WORKER_ENVIRONMENT = {**dict.fromkeys(POOLS, "1"), "PYTHONSAFEPATH": "1"}
WATCH_SECONDS = 0.5
LISTEN_SECONDS, CONNECT_SECONDS = 5.0, 15.0  # of a connection, of all attempts


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

    Too little memory is not a defect: its job has the reason only.
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


def run_parcel(plugins: tuple[Plugin, ...], parcel: bytes) -> Job:
    """Load the plug-ins, without which a kernel of theirs cannot be unpickled, and run a trial."""
    load_all(plugins)
    experiment, trial = pickle.loads(parcel)
    return run_safely(experiment, trial)


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
    plugins, parcel = tuple(LOADED.values()), pickle.dumps((experiment, trial))
    with interrupts_later():
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            return executor.submit(run_parcel, plugins, parcel)
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
        n_workers=n_jobs,
        threads_per_worker=1,
        dashboard_address="127.0.0.1:0",
        silence_logs=logging.CRITICAL,
    )
    return Client(cluster)  # type: ignore[no-untyped-call]


def connect(scheduler: str, seconds: float) -> Client:
    """Connect to a dask scheduler; raise an OSError or a ValueError if nothing answers.

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


def version_here() -> str:
    """Return what must agree between workers: the version of kselect and of its results.

    Its imports are inside, because dask sends this function to workers that may have another kselect, or none.
    """
    import kselect
    from kselect.core.job import RESULT_VERSION

    return f"{kselect.__version__} (results {RESULT_VERSION})"


VERSION = version_here()


class DaskWorkers:
    """The workers of a dask scheduler that have this version of kselect; others are reported and get no trial."""

    def __init__(self, client: Client, say: Callable[[str], object]) -> None:
        self.client, self.say = client, say
        self.versions: dict[str, str] = {}

    def connected(self) -> dict[str, int]:
        """Return the number of threads of every worker; raise StoreError if the scheduler has ended."""
        try:
            found: dict[str, int] = self.client.nthreads()  # type: ignore[no-untyped-call]
        except OSError:
            raise StoreError("the dask scheduler is gone") from None
        return found

    def threads(self) -> dict[str, int]:
        """Return the number of threads of each worker with this version."""
        here = self.connected()
        if new := [address for address in here if address not in self.versions]:
            by_value = types.FunctionType(version_here.__code__, {"__builtins__": builtins})
            found = self.client.run(by_value, workers=new, on_error="return")
            for address, version in found.items():
                if isinstance(version, OSError):  # it has ended meanwhile
                    continue
                known = "no kselect" if isinstance(version, Exception) else f"kselect {version}"
                self.versions[address] = known
                if known != f"kselect {VERSION}":
                    self.say(
                        f"refused: worker {address} has {known}; this run needs kselect {VERSION}"
                    )
        good = f"kselect {VERSION}"
        return {a: count for a, count in here.items() if self.versions.get(a) == good}

    def executor(self, _: int) -> Executor:
        """Return an executor that hands trials to these workers only; the cluster sets their number."""
        return DaskExecutor(self)


@dataclass
class DaskCall:
    """A call on a dask cluster: what was submitted, the workers that may run it, and the future of its result."""

    submitted: DaskFuture[Any]
    workers: list[str]
    again: Callable[[], tuple[DaskFuture[Any], list[str]]]
    outcome: Future[Any] = field(default_factory=Future)
    moved: bool = False

    def follow(self) -> None:
        """Pass the result of the submitted call on, unless the call was moved to other workers meanwhile.

        ``Client.get_executor`` has futures of this kind too, but the futures of cancelled calls never finish.
        """
        self.submitted.add_done_callback(self.pass_on)  # type: ignore[no-untyped-call]

    def pass_on(self, submitted: DaskFuture[Any]) -> None:
        """Set the outcome; a cancelled call has lost its worker."""
        if submitted is not self.submitted:
            return
        with suppress(InvalidStateError):
            try:
                self.outcome.set_result(submitted.result())
            except Exception as error:
                lost = submitted.status == "cancelled"
                self.outcome.set_exception(CancelledError() if lost else error)

    def move(self) -> None:
        """Submit the call to other workers, since its own have ended; the second time, give up."""
        lost = self.submitted
        if self.moved:
            with suppress(InvalidStateError):
                self.outcome.set_exception(CancelledError())
        else:
            self.moved = True
            self.submitted, self.workers = self.again()
            self.follow()
        lost.cancel()  # type: ignore[no-untyped-call]


class DaskExecutor(Executor):
    """Futures of trials on some workers of a dask cluster."""

    def __init__(self, workers: DaskWorkers) -> None:
        self.workers = workers
        self.client = workers.client
        self.calls: list[DaskCall] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **_: Any) -> Future[Any]:
        """Submit a call; wait a moment for a worker that restarts."""

        def ask() -> tuple[DaskFuture[Any], list[str]]:
            good = self.wait_for_workers()
            asked = self.client.submit(fn, *args, workers=good, pure=False, retries=1)
            return asked, good

        call = DaskCall(*ask(), ask)
        self.calls.append(call)
        call.follow()
        return call.outcome

    def wait_for_workers(self) -> list[str]:
        """Return the addresses of the workers with this version, at least one."""
        until = time.monotonic() + CONNECT_SECONDS
        while not (good := list(self.workers.threads())):
            check_running(self.client)
            if time.monotonic() > until:
                raise StoreError(f"no dask worker with kselect {VERSION} is left")
            time.sleep(WATCH_SECONDS)
        return good

    def move_orphans(self) -> None:
        """Move the calls whose workers have all ended: dask would wait for them for ever."""
        here = self.workers.connected()
        self.calls = [call for call in self.calls if not call.outcome.done()]
        for call in self.calls:
            if not here.keys() & call.workers:
                call.move()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Cancel what is left; no caller waits for it."""
        self.client.cancel([c.submitted for c in self.calls if not c.outcome.done()])  # type: ignore[no-untyped-call]


def check_alive(executor: Executor) -> None:
    """Raise StoreError if the dask scheduler has ended, since its futures would never finish.

    Move the trials whose workers have ended.
    """
    if isinstance(executor, DaskExecutor):
        check_running(executor.client)
        executor.move_orphans()


def check_running(client: Client) -> None:
    """Raise StoreError if the scheduler of a client has ended."""
    if client.status != "running":
        address = getattr(getattr(client, "scheduler", None), "address", "")
        raise StoreError(f"the dask scheduler {address} is gone".replace("  ", " "))


def stop(executor: Executor) -> None:
    """End an executor at once, even if its workers are busy."""
    from loky import ProcessPoolExecutor

    if isinstance(executor, ProcessPoolExecutor):
        executor.shutdown(wait=True, kill_workers=True)
    else:
        executor.shutdown(wait=False)  # dask cancels the running trials
