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

import numba
import numpy as np
from llvmlite import binding

from kselect.learners.svm.compiled import STAMP
from kselect.learners.svm.ladder import climb, hinge_dual
from kselect.learners.svm.quadratic import kernel_matrix
from kselect.learners.svm.smo_fallback import solve_by_smo
from kselect.learners.svm.stride import stride

NOTE = "compiling the SVM's loops, once per machine (about half a minute)"
TINY = 50  # rows of the problem that needs every loop


@cache
def ensure_compiled() -> None:
    """Compile every loop, unless this was done on this machine or is being done by another process."""
    folder = Path(stride._cache.cache_path)  # type: ignore[attr-defined]
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


def identity() -> str:
    """Return a checksum of all that the compiled code depends on."""
    facts = (STAMP, numba.__version__, sys.version, binding.get_host_cpu_name())
    features = binding.get_host_cpu_features().flatten()
    return hashlib.sha256("\n".join((*facts, features)).encode()).hexdigest()[:20]


@contextmanager
def one_at_a_time(path: Path) -> Iterator[None]:
    """Hold a lock that ends with this process; where a file system has none, go on without it."""
    with suppress(OSError), path.open("w") as lock:
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
        return
    yield


def compile_loops() -> None:
    """Solve a tiny problem by the path and by its fallback, which together call every loop."""
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, size=(TINY, 2)), np.where(rng.random(TINY) < 0.5, 1.0, -1.0)
    K = np.exp(-np.square(X[:, None] - X).sum(axis=-1))
    q = hinge_dual(kernel_matrix(K), y, np.ones(TINY), True)
    climb(q, np.array([0.1, 1.0, 10.0]), "to be compiled")
    solve_by_smo(q, 1.0, np.zeros(TINY), "to be compiled")
