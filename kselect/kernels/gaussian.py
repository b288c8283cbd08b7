"""The Gaussian kernel."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kselect.kernels.base import Kernel, Points, kernel, median_apart, powers_around
from kselect.numerics.linalg import Array, squared_differences

NEGLIGIBLE = 1e-100
LOWEST = math.log(NEGLIGIBLE)
# The largest relative error of an entry that the rounding of the shared distances may cause.
HARMLESS = 1e-9


@kernel("gaussian", paper="all five papers")
@dataclass(frozen=True)
class Gaussian(Kernel):
    r"""Gaussian kernel ``exp(-||x - z||^2 / (2 tau))``; tau is a variance (the 'sigma' of ijcai2018)."""

    tau: float
    grids: ClassVar[Mapping[str, str]] = {"tau": "2^-6:2^8"}
    semidefinite: ClassVar[bool] = True

    @staticmethod
    def around(points: Points) -> Mapping[str, str]:
        """Return tau from 2^-8 to 2^6 times the median squared distance."""
        return {"tau": powers_around(points.distances.squared, 8, 6)}

    @staticmethod
    def typical(points: Points) -> Mapping[str, float]:
        """Return the median squared distance, with which tau is compared."""
        return {"tau": median_apart(points.distances.squared)}

    @staticmethod
    def shared(points: Points) -> object:
        """Compute the squared distances."""
        return points.distances

    def gram(self, points: Points) -> Array:
        """Return the kernel matrix in one pass over the squared distances; values up to 2e-100 are zero.

        Near the underflow limit LAPACK's divide and conquer fails to converge (seen on a2a at tau = 1/4), and
        subnormal numbers take a hundred times the time. The cut changes the matrix by at most n 2e-100.

        If the kernel is narrow compared with the longest row, the shared squared distances have lost the distances
        of close rows to rounding. Then the distances are computed again from the differences.
        """
        distances = points.distances
        if distances.rounding <= 2.0 * self.tau * HARMLESS:
            K = distances.squared * (-0.5 / self.tau)
        else:
            K = squared_differences(points.X, points.Z)
            K *= -0.5 / self.tau
        if distances.largest <= -2.0 * self.tau * LOWEST:
            return np.exp(K, out=K)
        # Clip before the exponential, because computing a subnormal result is slow too.
        np.maximum(K, LOWEST, out=K)
        np.exp(K, out=K)
        K *= K > 2.0 * NEGLIGIBLE
        return K

    def regularised(self) -> tuple[float, ...]:
        r"""Return ``eta = 1 / (2 tau)``, the parameter of ``exp(-eta ||x - z||^2)`` in Cawley and Talbot 2007."""
        return (0.5 / self.tau,)
