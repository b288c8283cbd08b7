"""numba where it is installed; plain numpy, slower and with the same results, where it is not.

Imported, and with it numba, when the first path of an SVM is used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def compiled(arrays: F) -> Callable[[F], F]:
    """A function of loops over numbers, compiled; ``arrays`` does the same in numpy, and runs without numba.

    It is compiled when it is first called, once per machine: the code is kept beside the source, or in the user's
    cache. Where neither can be written to, once per process.
    """

    def choose(loops: F) -> F:
        try:
            import numba
        except ImportError:
            return arrays
        try:
            found: F = numba.njit(cache=True, nogil=True, error_model="numpy")(loops)
        except RuntimeError:
            found = numba.njit(nogil=True, error_model="numpy")(loops)
        return found

    return choose
