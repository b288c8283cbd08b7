"""The Gaussian kernel."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kselect.kernels.base import Kernel, Points, kernel, powers_around
from kselect.numerics.linalg import Array

NEGLIGIBLE = 1e-100
LOWEST = math.log(NEGLIGIBLE)
# What an entry may be off by the rounding of the shared distances, relative to itself.
HARMLESS = 1e-9


@kernel("gaussian", paper="all five papers")
@dataclass(frozen=True)
class Gaussian(Kernel):
    r"""Gaussian kernel ``exp(-||x - z||^2 / (2 tau))``; tau is a variance (the 'sigma' of ijcai2018)."""

    tau: float
    grids: ClassVar[Mapping[str, str]] = {"tau": "2^-6:2^8"}

    @staticmethod
    def around(points: Points) -> Mapping[str, str]:
        """tau from 2^-8 to 2^6 times the median squared distance."""
        return {"tau": powers_around(points.squared_distances, 8, 6)}

    @staticmethod
    def shared(points: Points) -> object:
        """What every gaussian kernel starts from."""
        return points.largest_squared_distance

    def gram(self, points: Points) -> Array:
        """One pass over the shared squared distances; values below 1e-100 are zero.

        Near the underflow limit LAPACK's divide and conquer fails to converge (seen on a2a at tau = 1/4),
        and subnormal numbers cost a hundred times the time; the matrix changes by less than n 1e-100.
        """
        K = self._exponents(points)
        if points.largest_squared_distance <= -2.0 * self.tau * LOWEST:
            return np.exp(K, out=K)
        # Cut off before the exponential, whose way into the subnormal numbers is slow too.
        np.maximum(K, LOWEST, out=K)
        np.exp(K, out=K)
        K *= K > 2.0 * NEGLIGIBLE
        return K

    def _exponents(self, points: Points) -> Array:
        """``-||x - z||^2 / (2 tau)``, a fresh array.

        A kernel that is narrow next to the longest row sees distances that the shared product has rounded
        away: close rows, where others are far. It takes them difference by difference.
        """
        if points.distance_rounding <= 2.0 * self.tau * HARMLESS:
            return points.squared_distances * (-0.5 / self.tau)
        exponents = points.squared_differences()
        exponents *= -0.5 / self.tau
        return exponents

    def regularised(self) -> tuple[float, ...]:
        r"""``eta = 1 / (2 tau)``, the parameter of ``exp(-eta ||x - z||^2)`` in Cawley and Talbot 2007."""
        return (0.5 / self.tau,)
