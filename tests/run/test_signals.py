"""Interrupts wait until a worker has started, and a block ends at its time limit."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from kselect.run.signals import OutOfTime, at_most, interrupts_later


@pytest.fixture
def interrupt() -> Iterator[Callable[[int], None]]:
    """Return a function that sends a signal to another thread, and waits until Python has received it.

    Both signals raise KeyboardInterrupt, whatever an earlier test has left behind.
    """
    thread = threading.Thread(target=(end := threading.Event()).wait)
    thread.start()
    received, wakeup = os.pipe()
    os.set_blocking(wakeup, False)
    before = signal.set_wakeup_fd(wakeup)
    numbers = (signal.SIGINT, signal.SIGTERM)
    usual = [signal.signal(number, signal.default_int_handler) for number in numbers]

    def send(number: int) -> None:
        signal.pthread_kill(thread.ident or 0, number)
        os.read(received, 1)

    yield send
    for number, handler in zip(numbers, usual, strict=True):
        signal.signal(number, handler)
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


def test_a_block_ends_at_its_limit() -> None:
    before, started = signal.getsignal(signal.SIGALRM), time.monotonic()
    timer = signal.setitimer(signal.ITIMER_REAL, 500.0)

    def search() -> None:
        with at_most(0.05):
            while True:
                try:
                    sum(range(1000))
                except Exception:  # as a search does that skips failed candidates
                    continue

    with pytest.raises(OutOfTime):
        search()
    assert time.monotonic() - started < 5.0
    assert 400.0 < signal.setitimer(signal.ITIMER_REAL, *timer)[0] <= 500.0
    assert signal.getsignal(signal.SIGALRM) is before


def test_no_time_is_left() -> None:
    with pytest.raises(OutOfTime), at_most(0.0):
        pytest.fail("begun")
