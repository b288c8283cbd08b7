"""The polynomial kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from kselect.kernels.base import Kernel, Points, kernel
from kselect.numerics.linalg import Array


@kernel("polynomial", paper="tcyb2018")
@dataclass(frozen=True)
class Polynomial(Kernel):
    r"""Polynomial kernel ``(1 + x.z)^degree``."""

    degree: float
    grids: ClassVar[Mapping[str, str]] = {"degree": "1:5"}
    whole: ClassVar[frozenset[str]] = frozenset({"degree"})

    @staticmethod
    def shared(points: Points) -> object:
        """What every polynomial kernel starts from."""
        return points.inner_products

    def gram(self, points: Points) -> Array:
        """One pass over the shared inner products."""
        K: Array = (1.0 + points.inner_products) ** int(self.degree)
        return K
