"""The orthogonal factor of a tridiagonal reduction, as its reflectors in blocks, for products with few vectors."""

from __future__ import annotations

import numpy as np

from kselect.numerics.linalg import Array

# Reflectors of a block, and in place of the scale 0 of a reflector that does nothing.
BLOCK, TINY = 32, 1e-290
# 1 above the diagonal of a block, else 0.
ABOVE = np.triu(np.ones((BLOCK, BLOCK)), 1)


class Reflectors:
    """Q as a product of blocks ``I - V^T R V``, each of some reflectors, which LAPACK would form in every call.

    ``R^{-1}`` is the upper half of ``V V^T``, with the inverse scales of the reflectors on the diagonal.
    """

    def __init__(self, below: Array, scales: Array) -> None:
        rows = below.T
        self.blocks = []
        for start in range(0, len(scales), BLOCK):
            some = slice(start, min(start + BLOCK, len(scales)))
            V = rows[some, start + 1 :].copy()
            above = ABOVE[: len(V), : len(V)]
            V[:, : len(V)] *= above
            np.fill_diagonal(V, 1.0)
            inverse = (V @ V.T) * above
            inverse.ravel()[:: len(V) + 1] = 1.0 / np.maximum(scales[some], TINY)
            self.blocks.append((V, np.linalg.inv(inverse)))

    def apply(self, rows: Array, *, back: bool) -> None:
        """Multiply every row by ``Q^T``, or by Q if ``back``, in place."""
        for V, R in reversed(self.blocks) if back else self.blocks:
            part = rows[:, -V.shape[1] :]
            part -= ((part @ V.T) @ (R.T if back else R)) @ V
