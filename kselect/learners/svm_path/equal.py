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
        known: dict[bytes, int] = {}
        keyed = np.column_stack([X, y]) + 0.0
        return cls(np.array([known.setdefault(row.tobytes(), i) for i, row in enumerate(keyed)]))

    def weights(self, kept: Mask) -> Array:
        """How many of the rows kept each stands for."""
        return np.bincount(self.first[kept], minlength=len(self.first)).astype(np.float64)

    def spread(self, beta: Array) -> Array:
        """Each row's equal share."""
        counts = np.bincount(self.first, minlength=len(self.first))
        shares: Array = beta[self.first] / counts[self.first]
        return shares
