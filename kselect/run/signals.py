"""Signals: interrupts that wait for the end of a block, and a limit on the time of a block."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

AGAIN_SECONDS = 1.0  # the signal is repeated, since an exception in a callback of C is lost


class OutOfTime(BaseException):
    """A block that takes longer than its limit; no handler of other errors takes it for a failure of the block."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise OutOfTime if the block takes longer, in the main thread; other threads cannot be interrupted."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    if seconds <= 0:  # which would mean no limit
        raise OutOfTime

    def stop(*_: object) -> None:
        raise OutOfTime

    timer, before = signal.setitimer(signal.ITIMER_REAL, 0.0), signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_SECONDS)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, *timer)


@contextmanager
def interrupts_later() -> Iterator[None]:
    """Handle a SIGINT or SIGTERM at the end of the block: loky waits for ever for workers that it has half started.

    To block the signals is not enough, because Python runs its handler in this thread even if another thread, such
    as one of OpenBLAS, receives the signal. A signal that is ignored stays ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    handlers = {number: handler for number, handler in handlers.items() if callable(handler)}
    for number in handlers:
        signal.signal(number, lambda number, _: arrived.append(number))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if arrived:
            signal.raise_signal(arrived[0])
