"""Gaussian and Laplacian kernels with one width per feature (automatic relevance determination)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from scipy.spatial.distance import cdist

from kselect.errors import ConfigError
from kselect.grids import show_number
from kselect.kernels.base import Kernel, Points, kernel
from kselect.kernels.gaussian import LOWEST, NEGLIGIBLE
from kselect.numerics.linalg import Array


@dataclass(frozen=True)
class FeatureWidths(Kernel):
    """The base class of kernels with one width per feature; ``theta_j = 0`` ignores feature j.

    The parameters are named ``theta1``, ``theta2``, ... in the order of the features.
    """

    theta: tuple[float, ...]
    learned: ClassVar[bool] = True
    semidefinite: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not self.theta:
            raise ConfigError("theta must hold one number per feature, not none")
        self.describe({f"theta{j}": float(v) for j, v in enumerate(self.theta, start=1)})
        for name, value in self.parameters.items():
            if not 0.0 <= value < np.inf:
                raise ConfigError(
                    f"{name} must be zero or a positive number, not {show_number(value)}"
                )

    @classmethod
    def of(cls, parameters: Mapping[str, float]) -> Self:
        """Return the kernel of ``theta1``, ``theta2``, ..."""
        names = [f"theta{j}" for j in range(1, len(parameters) + 1)]
        if set(names) != set(parameters):
            raise ConfigError("theta must be numbered from 1 without a gap")
        return cls(tuple(float(parameters[name]) for name in names))

    def vector(self) -> Array:
        """Return theta as an array."""
        return np.array(self.theta, dtype=np.float64)

    def relevances(self) -> Array:
        """Return each theta as a share of their sum; zeros if all theta are zero."""
        theta = self.vector()
        total = float(theta.sum())
        return theta / total if total > 0.0 else theta

    def exponents(self, points: Points) -> Array:
        """Return ``-sum_j theta_j D_j`` as a new array, from differences of the features."""
        raise NotImplementedError

    def gram(self, points: Points) -> Array:
        """Return the kernel matrix from differences, so that features of any scale and offset keep all digits.

        Values up to 2e-100 are zero, as in the Gaussian kernel and for the same reasons.
        """
        if points.X.shape[1] != len(self.theta):
            raise ConfigError(f"{len(self.theta)} thetas for rows of {points.X.shape[1]} features")
        K = self.exponents(points)
        np.maximum(K, LOWEST, out=K)
        np.exp(K, out=K)
        K *= K > 2.0 * NEGLIGIBLE
        return K


@kernel("ard", paper="flkl2014, equation 3")
@dataclass(frozen=True)
class Ard(FeatureWidths):
    r"""ARD kernel ``exp(-sum_j theta_j (x_j - z_j)^2)``; ``theta_j = 0`` ignores feature j.

    If all theta are equal it is the Gaussian kernel of ``tau = 1 / (2 theta)``.
    """

    def exponents(self, points: Points) -> Array:
        """Return minus the squared distances of the features times ``sqrt(theta)``."""
        root = np.sqrt(self.vector())
        K: Array = cdist(points.X * root, points.Z * root, "sqeuclidean")
        return np.negative(K, out=K)


@kernel("laplacian-ard", paper="in none of the papers")
@dataclass(frozen=True)
class LaplacianArd(FeatureWidths):
    r"""Laplacian kernel ``exp(-sum_j theta_j |x_j - z_j|)``; ``theta_j = 0`` ignores feature j.

    If all theta are equal it is the Laplacian kernel of ``width = 1 / theta``.
    """

    def exponents(self, points: Points) -> Array:
        """Return minus the L1 distances of the features times theta."""
        theta = self.vector()
        K: Array = cdist(points.X * theta, points.Z * theta, "cityblock")
        return np.negative(K, out=K)
