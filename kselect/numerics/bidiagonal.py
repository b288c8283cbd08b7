r"""The two-term recursion with a unit lower bidiagonal matrix, compiled by numba.

``L D L^T = T`` for a tridiagonal T makes ``W = D^{-1/2} L^{-1} B`` a recursion over the rows of B: one pass over
memory, where LAPACK's own routine goes through one column after the other. All columns of a row advance together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np

from kselect.numerics.linalg import Array

F = TypeVar("F", bound=Callable[..., Any])
# The columns whose state stays in the cache for all ridges.
STRIP = 256


def compiled(signature: str) -> Callable[[F], F]:
    """Compile a loop for one signature, and cache the code; without a writable cache, compile in every process."""

    def decorate(loops: F) -> F:
        options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
        try:
            found: F = numba.njit(signature, cache=True, **options)(loops)
        except RuntimeError:
            found = numba.njit(signature, **options)(loops)
        return found

    return decorate


@compiled("void(float64[:, ::1], float64[::1], float64[::1], float64[:, ::1])")
def half_solve(B: Array, below: Array, scale: Array, out: Array) -> None:
    """Write ``diag(scale) L^{-1} B`` to ``out``; ``below`` is the subdiagonal of L."""
    n, m = B.shape
    before = np.zeros(m)
    for i in range(n):
        factor, size, row, found = below[i - 1] if i else 0.0, scale[i], B[i], out[i]
        for j in range(m):
            z = row[j] - factor * before[j]
            before[j] = z
            found[j] = size * z


@compiled("void(float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1])")
def column_squares(B: Array, below: Array, weight: Array, out: Array) -> None:
    """Write ``sum_i weight_i (L^{-1} B)_ij^2`` to ``out`` (ridges, columns); one L and one weight per ridge."""
    n, m = B.shape
    ridges = len(weight)
    state = np.zeros((ridges, STRIP))
    for start in range(0, m, STRIP):
        end = min(m, start + STRIP)
        state[:] = 0.0
        out[:, start:end] = 0.0
        for i in range(n):
            row = B[i, start:end]
            for k in range(ridges):
                factor, size = below[k, i - 1] if i else 0.0, weight[k, i]
                before, found = state[k], out[k, start:end]
                for j in range(end - start):
                    z = row[j] - factor * before[j]
                    before[j] = z
                    found[j] += size * z * z
