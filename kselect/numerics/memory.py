"""Results kept by key, the free memory of the machine, and settings of the process for memory."""

from __future__ import annotations

import ctypes
import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

# Rows per block of a large table: the unit of sums over rows, the same on one machine and on many.
BLOCK = 2**17
# New objects between two collections of garbage in work that creates many; Python's default is some hundred.
MANY_OBJECTS = 100_000
CONTROL_GROUP = Path("/sys/fs/cgroup")
R = TypeVar("R")


class Memo(dict[object, Any]):
    """Results by key."""

    def once(self, key: object, compute: Callable[[], R]) -> R:
        """Return the result of a key, computed on the first call."""
        if key not in self:
            self[key] = compute()
        found: R = self[key]
        return found


@contextmanager
def few_collections() -> Iterator[None]:
    """Collect garbage rarely: work that creates many small objects spends a fifth of its time on looking for it."""
    before = gc.get_threshold()
    gc.set_threshold(MANY_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def gib(size: float) -> str:
    """Return a size in bytes as text: ``3.2 GiB``."""
    return f"{size / 2**30:.1f} GiB" if size < 2**70 else "more than 10^12 GiB"


def total_memory() -> int:
    """Return the bytes of memory of the machine, or the limit of its container if that is lower."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        return min(total, int((CONTROL_GROUP / "memory.max").read_text(encoding="ascii")))
    except (OSError, ValueError):  # no such group, or its limit is the word "max"
        return total


def available_memory() -> int:
    """Return the bytes that are free without swapping: on the machine, in the container, within ``ulimit -v``."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        fields = dict(line.split(":", 1) for line in lines)
        free = int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError):
        free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        limit = int((CONTROL_GROUP / "memory.max").read_text(encoding="ascii"))
        used = int((CONTROL_GROUP / "memory.current").read_text(encoding="ascii"))
        free = min(free, max(0, limit - used))
    except (OSError, ValueError):  # no such group, or its limit is the word "max"
        pass
    import resource  # POSIX only: its absence is named where a command starts

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)  # batch systems set such a limit
    if limit == resource.RLIM_INFINITY:
        return free
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except (OSError, ValueError):
        return min(free, limit)
    return min(free, max(0, limit - pages * os.sysconf("SC_PAGE_SIZE")))


# The options of mallopt: free heap up to this size is kept; larger requests go to mmap; the number of heaps.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8
KEPT_BYTES, MAPPED_BYTES = 512 * 2**20, 32 * 2**20


@cache
def keep_freed_memory() -> bool:
    """Tell glibc to keep the memory of one kernel's matrices for the next kernel; return whether that worked.

    Otherwise the same pages may be returned to the system and faulted in again for each kernel: 26,000 faults and a
    tenth of the time of a selection on 500 rows. Whether this happens depends on what else is on the heap. Threads
    share one heap: their own would hold two matrices of 2000 rows at most, and return them to the system.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    options = (M_MMAP_THRESHOLD, MAPPED_BYTES), (M_TRIM_THRESHOLD, KEPT_BYTES), (M_ARENA_MAX, 1)
    return all(mallopt(*option) for option in options)
