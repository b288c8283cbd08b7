"""The helper processes of the workers print nothing, and a full /dev/shm is named."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from kselect.errors import StoreError
from kselect.run.workers import interrupts_later, local_executor

LEFT_BEHIND = """
from loky.backend import resource_tracker
resource_tracker.ensure_running()
resource_tracker.register("/kselect-no-such", "semlock")
"""


def stderr_of(start: str) -> str:
    """Return the stderr of a process that ends after one of its semaphores was removed."""
    command = [sys.executable, "-c", start + LEFT_BEHIND]
    return subprocess.run(command, capture_output=True, text=True, check=True).stderr


def test_trackers_are_quiet() -> None:
    assert stderr_of("from kselect.run.workers import start_trackers; start_trackers()") == ""
    assert "No such file" in stderr_of(""), (
        "the tracker no longer warns, so the silencing can be removed"
    )


def test_shared_memory_without_space(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system names no file for a semaphore; other errors stay as they are."""

    def fail(**_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("loky.ProcessPoolExecutor", fail)
    number = errno.ENOSPC
    with pytest.raises(StoreError, match=r"/dev/shm: No space left on device: the worker"):
        local_executor(2)
    number = errno.EMFILE
    with pytest.raises(OSError, match="Too many open files"):
        local_executor(2)


@pytest.fixture
def interrupt() -> Iterator[Callable[[int], None]]:
    """Return a function that sends a signal to another thread, and waits until Python has received it."""
    thread = threading.Thread(target=(end := threading.Event()).wait)
    thread.start()
    received, wakeup = os.pipe()
    os.set_blocking(wakeup, False)
    before = signal.set_wakeup_fd(wakeup)
    terminated = signal.signal(signal.SIGTERM, signal.default_int_handler)

    def send(number: int) -> None:
        signal.pthread_kill(thread.ident or 0, number)
        os.read(received, 1)

    yield send
    signal.signal(signal.SIGTERM, terminated)
    signal.set_wakeup_fd(before)
    end.set()
    thread.join()
    os.close(received)
    os.close(wakeup)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_waits_until_a_worker_has_started(
    interrupt: Callable[[int], None], number: int
) -> None:
    """A signal that this thread blocks reaches another one, and Python handles it in this one."""
    ended = []

    def start() -> None:
        with interrupts_later():
            signal.pthread_sigmask(signal.SIG_BLOCK, {number})
            try:
                interrupt(number)
                ended.append(number)
            finally:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})

    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt):
        start()
    assert ended == [number]
    assert signal.getsignal(number) is before


def test_an_ignored_interrupt_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupts_later():
            signal.raise_signal(signal.SIGINT)
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
