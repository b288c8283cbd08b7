"""Equal rows with the same label are one row that weighs as much as all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from kselect.numerics.linalg import Array, Index, Mask


@dataclass(frozen=True, eq=False)
class EqualRows:
    """``first[i]`` is the row that stands for row i, itself where there is no equal one before it."""

    first: Index

    @classmethod
    def find(cls, X: Array, y: Array) -> Self:
        """Equal to the last bit, and with them their rows of the kernel matrix to rounding."""
        keyed = np.ascontiguousarray(np.column_stack([X, y]) + 0.0)
        whole = keyed.view(np.dtype((np.void, keyed.dtype.itemsize * keyed.shape[1]))).ravel()
        _, first, which = np.unique(whole, return_index=True, return_inverse=True)
        return cls(first[which])

    def weights(self, kept: Mask) -> Array:
        """How many of the rows kept each stands for."""
        return np.bincount(self.first[kept], minlength=len(self.first)).astype(np.float64)

    def spread(self, beta: Array) -> Array:
        """Each row's equal share."""
        counts = np.bincount(self.first, minlength=len(self.first))
        shares: Array = beta[self.first] / counts[self.first]
        return shares
