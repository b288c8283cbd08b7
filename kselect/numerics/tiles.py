"""Products and Cholesky factors of large matrices in tiles, which several threads share.

The tiles do not depend on the number of threads, and each is computed by one thread, so that every number is the
same for every number of threads. Each call of BLAS must itself use one thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from kselect.numerics.lapack import dpotrf, dtrtrs
from kselect.numerics.linalg import Array

# Rows and columns of a tile.
TILE = 512
A = TypeVar("A")


def tiles(start: int, stop: int) -> list[slice]:
    """Return consecutive slices of at most one tile each."""
    return [slice(at, min(at + TILE, stop)) for at in range(start, stop, TILE)]


class Crew:
    """Some threads that work on one matrix at a time."""

    def __init__(self, n_jobs: int = 1) -> None:
        self._pool = ThreadPoolExecutor(n_jobs) if n_jobs > 1 else None

    def __enter__(self) -> Crew:
        """Start."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the threads."""
        if self._pool:
            self._pool.shutdown()

    def each(self, work: Callable[[A], None], parts: Sequence[A] | Iterable[A]) -> None:
        """Do the work on every part, each by the next free thread."""
        run = self._pool.map if self._pool else map
        for _ in run(work, parts):
            pass

    def product(self, V: Array, B: Array) -> Array:
        """Return ``V B`` for a wide B; each tile has some columns of it."""
        out = np.empty((len(V), B.shape[1]))

        def multiply(some: slice) -> None:
            np.matmul(V, B[:, some], out=out[:, some])

        self.each(multiply, tiles(0, B.shape[1]))
        return out

    def cholesky(self, L: Array) -> bool:
        """Overwrite the lower half of a matrix in Fortran order with its Cholesky factor; return whether it failed.

        The tiles of a column are updated by all columns to their left at once, so that each entry is read and
        written few times. Cost: ``n^3 / 3``.
        """
        for J in tiles(0, len(L)):
            left = L[J, : J.start]
            if J.start:
                L[J, J] -= left @ left.T
            corner, failed = dpotrf(L[J, J], overwrite=True)
            if failed:
                return True
            if len(corner) < len(L):  # else it is L
                L[J, J] = corner

            def update(
                some: slice, J: slice = J, left: Array = left, corner: Array = corner
            ) -> None:
                below = L[some, J] - L[some, : J.start] @ left.T
                L[some, J] = dtrtrs(corner, below.T, overwrite=True).T

            self.each(update, tiles(J.stop, len(L)))
        return False
