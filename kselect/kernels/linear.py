"""The linear kernel."""

from __future__ import annotations

from dataclasses import dataclass

from kselect.kernels.base import Kernel, Points, kernel
from kselect.numerics.linalg import Array


@kernel("linear", paper="in none of the papers")
@dataclass(frozen=True)
class Linear(Kernel):
    r"""Linear kernel ``x.z``; it has no parameter, only the ridge is chosen."""

    @staticmethod
    def shared(points: Points) -> object:
        """What every linear kernel starts from."""
        return points.inner_products

    def gram(self, points: Points) -> Array:
        """A copy of the shared inner products."""
        return points.inner_products.copy()
