"""Products of few rows with a large matrix, compiled by numba.

BLAS copies the matrix into another layout first, which is worth it for many rows only. Here four rows of the matrix
at a time, which stay in the cache, are multiplied by all rows.
"""

from __future__ import annotations

import numpy as np

from kselect.numerics.compiled import RowMajor, compiled
from kselect.numerics.linalg import Array

# The columns whose sums stay in the cache.
STRIP = 512


def thin_product(V: Array, K: Array) -> Array:
    """Return ``V K`` for few rows V; both are in C order."""
    out: Array = np.zeros((len(V), K.shape[1]))
    add_product(V, K, out)
    return out


@compiled
def add_product(V: RowMajor, K: RowMajor, out: RowMajor) -> None:
    """Add ``V K`` to ``out``."""
    n, m = K.shape
    whole = n - n % 4
    for start in range(0, m, STRIP):
        end = min(m, start + STRIP)
        for i in range(0, whole, 4):
            a, b, c, d = (
                K[i, start:end],
                K[i + 1, start:end],
                K[i + 2, start:end],
                K[i + 3, start:end],
            )
            for k in range(len(V)):
                p, q, r, s, sums = V[k, i], V[k, i + 1], V[k, i + 2], V[k, i + 3], out[k, start:end]
                for j in range(end - start):
                    sums[j] += p * a[j] + q * b[j] + r * c[j] + s * d[j]
        for i in range(whole, n):
            a = K[i, start:end]
            for k in range(len(V)):
                p, sums = V[k, i], out[k, start:end]
                for j in range(end - start):
                    sums[j] += p * a[j]
