"""What ends a run from outside."""

from __future__ import annotations

import signal


def hear_interrupts() -> None:
    """A batch system's SIGTERM ends a run as Ctrl-C does; what nohup ignores stays ignored."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, interrupt)


def interrupt(*_: object) -> None:
    """End the run; a second Ctrl-C would only disturb the end, which takes less than a second."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
