"""The helper processes of the workers print nothing, and a full /dev/shm is named."""

from __future__ import annotations

import errno
import os
import subprocess
import sys

import pytest

from kselect.errors import StoreError
from kselect.run.workers import local_executor

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
