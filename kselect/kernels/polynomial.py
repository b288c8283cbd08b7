"""The kernels of inner products: linear and polynomial."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from kselect.kernels.base import Kernel, Points, kernel
from kselect.numerics.linalg import Array


@kernel("linear", paper="in none of the papers")
@dataclass(frozen=True)
class Linear(Kernel):
    r"""Linear kernel ``x.z``; it has no parameter, only the ridge is chosen."""

    semidefinite: ClassVar[bool] = True

    @staticmethod
    def shared(points: Points) -> object:
        """Compute the inner products."""
        return points.inner_products

    def gram(self, points: Points) -> Array:
        """Return a copy of the shared inner products."""
        return points.inner_products.copy()


@kernel("polynomial", paper="tcyb2018")
@dataclass(frozen=True)
class Polynomial(Kernel):
    r"""Polynomial kernel ``(1 + x.z)^degree``."""

    degree: float
    grids: ClassVar[Mapping[str, str]] = {"degree": "1:5"}
    whole: ClassVar[frozenset[str]] = frozenset({"degree"})
    semidefinite: ClassVar[bool] = True

    @staticmethod
    def shared(points: Points) -> object:
        """Compute the inner products."""
        return points.inner_products

    def gram(self, points: Points) -> Array:
        """Return the powers of the shared inner products."""
        K: Array = 1.0 + points.inner_products
        K **= int(self.degree)
        return K
