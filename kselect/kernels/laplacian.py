"""The Laplacian kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.spatial.distance import cdist

from kselect.kernels.base import Kernel, Points, kernel, median_apart, powers_around
from kselect.numerics.linalg import Array


def manhattan_distances(points: Points) -> Array:
    """Return ``sum_j |x_j - z_j|`` for all pairs, computed once."""
    return points.memo.once("cityblock", lambda: np.asarray(cdist(points.X, points.Z, "cityblock")))


@kernel("laplacian", paper="in none of the papers")
@dataclass(frozen=True)
class Laplacian(Kernel):
    r"""Laplacian kernel ``exp(-||x - z||_1 / width)``: rougher than the Gaussian, and less hurt by outliers."""

    width: float
    grids: ClassVar[Mapping[str, str]] = {"width": "2^-3:2^9"}
    semidefinite: ClassVar[bool] = True

    @staticmethod
    def around(points: Points) -> Mapping[str, str]:
        """Return the width from 2^-4 to 2^8 times the median distance."""
        return {"width": powers_around(manhattan_distances(points), 4, 8)}

    @staticmethod
    def typical(points: Points) -> Mapping[str, float]:
        """Return the median L1 distance, with which the width is compared."""
        return {"width": median_apart(manhattan_distances(points))}

    @staticmethod
    def shared(points: Points) -> object:
        """Compute the distances."""
        return manhattan_distances(points)

    def gram(self, points: Points) -> Array:
        """Return the kernel matrix; values below 1e-100 are zero, as in the Gaussian kernel."""
        K: Array = manhattan_distances(points) / -self.width
        np.maximum(K, -300.0, out=K)
        np.exp(K, out=K)
        K *= K > 1e-100
        return K

    def regularised(self) -> tuple[float, ...]:
        r"""Return ``eta = 1 / width``, the factor of the distance."""
        return (1.0 / self.width,)
