"""Available memory: of the machine, the container, and the limit of the process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kselect.numerics import memory
from kselect.numerics.memory import available_memory, gib

LIMITED = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (2**30, resource.RLIM_INFINITY))
from kselect.numerics.memory import available_memory
print(available_memory())
"""


def test_memory_is_available() -> None:
    assert 2**20 < available_memory() < 2**60


def test_the_limit_of_a_control_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit of a container counts if it is the smallest; "max" and a missing file are no limit."""
    monkeypatch.setattr(memory, "CONTROL_GROUP", tmp_path)
    assert available_memory() > 1000
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("40\n")
    assert available_memory() > 1000
    (tmp_path / "memory.max").write_text("100\n")
    assert available_memory() == 60
    (tmp_path / "memory.current").write_text("140\n")
    assert available_memory() == 0


def test_the_limit_of_the_process() -> None:
    """The limit of ``ulimit -v`` counts less the memory in use."""
    run = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, check=True)
    assert 2**26 < int(run.stdout) < 2**30


def test_sizes_are_formatted() -> None:
    assert gib(3.2 * 2**30) == "3.2 GiB"
    assert gib(10**400) == "more than 10^12 GiB"
