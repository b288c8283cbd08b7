"""Loops over numbers, compiled by numba when they are first called.

Why a dependency: over 31 widths by 16 C by 5 folds on diabetes (768 rows) the same algorithm with numpy in the
place of these loops takes 6.8 times as long, longer than LIBSVM. The price is 208 MB to install, beside 640 MB of
the other packages, and 0.3 s of import; it is imported with the first path of an SVM, never by the command line.
Compiling takes about a minute, once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., Any])


def stamp() -> str:
    """Of all the sources here: a function's code contains that of those that it calls, from whichever module."""
    sources = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()


STAMP = stamp()


def compiled(loops: F) -> F:
    """The function, compiled once per machine: the code is kept beside the source, or in the user's cache.

    Where neither can be written to, once per process. numba itself compiles again only when the function's own
    module has changed, and would go on calling what another one was before.
    """
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    try:
        found: F = numba.njit(cache=True, **options)(loops)
        found._cache._cache_file._source_stamp = STAMP  # type: ignore[attr-defined]
    except (RuntimeError, AttributeError):
        found = numba.njit(**options)(loops)
    return found
