r"""The two-term recursion with a unit lower bidiagonal matrix, compiled by numba.

``L D L^T = T`` for a tridiagonal T makes ``W = D^{-1/2} L^{-1} B`` a recursion over the rows of B: one pass over
memory, where LAPACK's own routine goes through one column after the other. All columns of a row advance together.
"""

from __future__ import annotations

from kselect.numerics.compiled import RowMajor, compiled
from kselect.numerics.linalg import Array

# The columns whose state stays in the cache for all ridges.
STRIP = 256


@compiled
def half_solve(B: RowMajor, below: Array, scale: Array, out: RowMajor, before: Array) -> None:
    """Write ``diag(scale) L^{-1} B`` to ``out``; ``below`` is the subdiagonal of L, ``before`` memory for a row."""
    n, m = B.shape
    for j in range(m):
        before[j] = 0.0
    for i in range(n):
        factor, size, row, found = below[i - 1] if i else 0.0, scale[i], B[i], out[i]
        for j in range(m):
            z = row[j] - factor * before[j]
            before[j] = z
            found[j] = size * z


@compiled
def column_squares(
    B: RowMajor, below: RowMajor, weight: RowMajor, out: RowMajor, state: RowMajor
) -> None:
    """Write ``sum_i weight_i (L^{-1} B)_ij^2`` to ``out`` (ridges, columns); one L and one weight per ridge.

    ``state`` (ridges, STRIP) is memory.
    """
    n, m = B.shape
    for start in range(0, m, STRIP):
        end = min(m, start + STRIP)
        for k in range(len(weight)):
            for j in range(end - start):
                state[k, j] = out[k, start + j] = 0.0
        for i in range(n):
            row = B[i, start:end]
            for k in range(len(weight)):
                factor, size = below[k, i - 1] if i else 0.0, weight[k, i]
                before, found = state[k], out[k, start:end]
                for j in range(end - start):
                    z = row[j] - factor * before[j]
                    before[j] = z
                    found[j] += size * z * z
