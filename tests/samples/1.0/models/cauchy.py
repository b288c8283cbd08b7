"""The Cauchy kernel."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from kselect.kernels.base import Kernel, Points, kernel
from kselect.numerics.linalg import Array


@kernel("cauchy", paper="none")
@dataclass(frozen=True)
class Cauchy(Kernel):
    """Cauchy kernel 1 / (1 + ||x - z||^2 / spread)."""

    spread: float
    grids: ClassVar[Mapping[str, str]] = {"spread": "2^-2:2^6"}

    def gram(self, points: Points) -> Array:
        """Return the kernel matrix."""
        return 1.0 / (1.0 + points.distances.squared / self.spread)


def oracle_cauchy(x, z, spread):
    return 1.0 / (1.0 + sum((a - b) ** 2 for a, b in zip(x, z)) / spread)
