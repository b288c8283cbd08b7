"""Compile the loops once per machine: one process compiles, others wait for it, and a terminal shows why.

A mark next to the compiled code says that all of it is there. It names the sources, numba and the processor, as
numba's own index does. If it is there, nothing is locked and nothing is compiled.
"""

from __future__ import annotations

import fcntl
import hashlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba
from llvmlite import binding

from kselect.learners.svm.bias_interval import settle
from kselect.learners.svm.quadratic import find_isolated
from kselect.learners.svm.smo_fallback import lost, search_down
from kselect.learners.svm.stride import stride
from kselect.numerics.compiled import stamp, with_cache

NOTE = "compiling the SVM's loops, once per machine (some ten seconds)"
NOWHERE = (
    "compiling the SVM's loops in every call: no folder for them can be written; "
    "name one in NUMBA_CACHE_DIR"
)


@cache
def ensure_compiled() -> None:
    """Compile every loop, unless this was done on this machine or is being done by another process."""
    folder = cache_folder()
    if folder is None:
        if sys.stderr is not None:
            sys.stderr.write(f"{NOWHERE}\n")
        compile_loops()
        return
    mark = folder / f"svm-{identity()}.compiled"
    if mark.exists():
        return
    with one_at_a_time(folder / "svm.lock"):
        if mark.exists():
            return
        if sys.stderr is not None and sys.stderr.isatty():
            sys.stderr.write(f"{NOTE}\n")
        compile_loops()
        with suppress(OSError):
            mark.touch()


def cache_folder() -> Path | None:
    """Return the folder of the compiled code, which exists; None if none can be written."""
    cached = with_cache(stride.py_func, wrapped=False)  # type: ignore[attr-defined]
    if not cached._cache.cache_path:
        return None
    cached._cache._impl.locator.ensure_cache_path()
    return Path(cached._cache.cache_path)


def identity() -> str:
    """Return a checksum of all that the compiled code depends on."""
    sources = stamp(Path(__file__).parent)
    facts = (sources, numba.__version__, sys.version, binding.get_host_cpu_name())
    features = binding.get_host_cpu_features().flatten()
    return hashlib.sha256("\n".join((*facts, features)).encode()).hexdigest()[:20]


@contextmanager
def one_at_a_time(path: Path) -> Iterator[None]:
    """Hold a lock that ends with this process; continue without it if the file system has no locks."""
    with suppress(OSError), path.open("w") as lock:
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
        return
    yield


def compile_loops() -> None:
    """Compile the functions that Python calls, and all that they call."""
    loops: tuple[Any, ...] = (find_isolated, stride, settle, lost, search_down)
    for one in loops:
        one.prepare()
