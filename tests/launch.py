"""Start a command that ends with its test: ``python launch.py COMMAND...`` replaces itself by the command.

A ``preexec_fn`` would run Python between fork and exec, which can block for ever if another thread of the test
process holds a lock at that moment.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """End this process when its parent ends, and restore Ctrl-C, which a shell ignores after ``&``."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with contextlib.suppress(OSError, AttributeError):  # only Linux has prctl
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def launched(*command: str) -> list[str]:
    """Return the command line that starts a command in this way."""
    return [sys.executable, "-I", "-S", __file__, *command]


if __name__ == "__main__":
    die_with_parent()
    os.execv(sys.argv[1], sys.argv[1:])
