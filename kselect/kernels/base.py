"""What a kernel is: a frozen set of parameters that turns points into a Gram matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import ClassVar, TypeVar

import numpy as np

from kselect.errors import ConfigError, nearest
from kselect.grids import show_number
from kselect.numerics.linalg import (
    Array,
    distance_rounding,
    squared_differences,
    squared_distances,
)


class Points:
    """Two sets of rows and what the kernels of every parameter share; computed when first asked for."""

    def __init__(self, X: Array, Z: Array | None = None) -> None:
        self.X = X
        self.Z = X if Z is None else Z

    @cached_property
    def squared_distances(self) -> Array:
        """``||x - z||^2`` for all pairs, once for all widths."""
        return squared_distances(self.X, self.Z)

    @cached_property
    def largest_squared_distance(self) -> float:
        """What tells whether a narrow kernel underflows."""
        return float(self.squared_distances.max(initial=0.0))

    @cached_property
    def distance_rounding(self) -> float:
        """What the squared distances may be off."""
        return distance_rounding(self.X, self.Z)

    def squared_differences(self) -> Array:
        """The squared distances to full relative accuracy; computed anew, for the few kernels that need it."""
        return squared_differences(self.X, self.Z)

    @cached_property
    def inner_products(self) -> Array:
        """``x.z`` for all pairs, once for all degrees."""
        return np.asarray(self.X @ self.Z.T)


@dataclass(frozen=True)
class Kernel:
    """Base of the kernels; the fields of a subclass are its parameters, each a positive number."""

    name: ClassVar[str] = ""
    whole: ClassVar[frozenset[str]] = frozenset()

    def __post_init__(self) -> None:
        for parameter, value in self.parameters.items():
            if not value > 0:
                raise ConfigError(f"{parameter} must be positive, not {show_number(value)}")
            if parameter in self.whole and value != int(value):
                raise ConfigError(f"{parameter} must be a whole number, not {show_number(value)}")

    @property
    def parameters(self) -> dict[str, float]:
        """Parameter name -> value, in the order of the fields."""
        return {f.name: float(getattr(self, f.name)) for f in fields(self)}

    @property
    def text(self) -> str:
        """``tau=4``: how records and messages write the parameters."""
        return ";".join(f"{name}={show_number(v)}" for name, v in self.parameters.items())

    @staticmethod
    def shared(points: Points) -> object:
        """Have the points compute what all kernels of this kind start from, before threads ask for it."""
        return points

    def gram(self, points: Points) -> Array:
        """``K_ij = k(x_i, z_j)``; a fresh array that the caller may change."""
        raise TypeError(f"{type(self).__name__} has no Gram matrix")

    def regularised(self) -> tuple[float, ...]:
        """The raw parameters that Bayesian regularisation (BR) penalises."""
        return tuple(self.parameters.values())


KERNELS: dict[str, type[Kernel]] = {}
K = TypeVar("K", bound=type[Kernel])


def kernel(name: str) -> Callable[[K], K]:
    """Register a kernel class under the name that configs and tables use."""

    def register(cls: K) -> K:
        cls.name = name
        KERNELS[name] = cls
        return cls

    return register


def find_kernel(name: str) -> type[Kernel]:
    """The kernel class of a name, or a ConfigError with the nearest one."""
    if name not in KERNELS:
        raise ConfigError(f"unknown kernel {name!r}{nearest(name, KERNELS)} (kselect list kernels)")
    return KERNELS[name]
