"""The helper processes of the workers print nothing."""

from __future__ import annotations

import subprocess
import sys

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
