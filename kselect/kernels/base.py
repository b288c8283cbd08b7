"""What a kernel is: a frozen set of parameters that turns points into a Gram matrix."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from kselect.errors import ConfigError
from kselect.grids import show_number
from kselect.numerics.linalg import (
    Array,
    distance_rounding,
    squared_differences,
    squared_distances,
)
from kselect.registry import Registry

R = TypeVar("R")
SMALLEST_POWER, LARGEST_POWER = -300, 300  # of two, in a grid


class Points:
    """Two sets of rows and what the kernels of every parameter share; computed when first asked for."""

    def __init__(self, X: Array, Z: Array | None = None) -> None:
        self.X = X
        self.Z = X if Z is None else Z

    @cached_property
    def _memo(self) -> dict[object, Any]:
        return {}

    def once(self, compute: Callable[[Points], R]) -> R:
        """``compute(points)``, remembered: what a kernel of a new file shares between its parameters."""
        if compute not in self._memo:
            self._memo[compute] = compute(self)
        found: R = self._memo[compute]
        return found

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
    paper: ClassVar[str] = ""
    grids: ClassVar[Mapping[str, str]] = {}
    """Parameter -> the grid that is searched where nobody names one."""
    whole: ClassVar[frozenset[str]] = frozenset()
    learned: ClassVar[bool] = False
    """Whether its parameters, one per feature, are found by a search of their own and have no grids."""

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

    def vector(self) -> Array:
        """The parameters as a vector, for searches that move through a space of them."""
        return np.array(list(self.parameters.values()))

    def at(self, theta: Array) -> Self:
        """The kernel of the same kind with other parameters."""
        return type(self)(*map(float, theta))

    @classmethod
    def of(cls, parameters: Mapping[str, float]) -> Self:
        """The kernel with these ``parameters``."""
        return cls(**parameters)

    @property
    def text(self) -> str:
        """``tau=4``: how records and messages write the parameters."""
        return ";".join(f"{name}={show_number(v)}" for name, v in self.parameters.items())

    @staticmethod
    def around(points: Points) -> Mapping[str, str]:
        """Parameter -> the grid that is searched by default on such points, for parameters that have a scale."""
        return {}

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


def read_parameters(text: str) -> dict[str, float]:
    """``tau=4`` -> its parameters: the inverse of ``Kernel.text``, for what records hold."""
    pairs = (part.partition("=") for part in text.split(";") if part)
    return {name: float(value) for name, _, value in pairs}


KERNELS: Registry[type[Kernel]] = Registry("kernel", "kselect.kernels", "kselect list kernels")
K = TypeVar("K", bound=type[Kernel])


def powers_around(distances: Array, below: int, above: int) -> str:
    """The powers of two around the median of the distances between different rows: ``2^-4:2^10``."""
    apart = distances[np.triu_indices_from(distances, 1)]
    apart = apart[(apart > 0) & np.isfinite(apart)]
    centre = round(float(np.log2(np.median(apart)))) if apart.size else 0
    centre = min(max(centre, SMALLEST_POWER + below), LARGEST_POWER - above)
    return f"2^{centre - below}:2^{centre + above}"


def kernel(name: str, *, paper: str = "") -> Callable[[K], K]:
    """Register a kernel class under the name that configs and tables use; ``paper``: where it is used."""

    def register(cls: K) -> K:
        cls.name, cls.paper = name, paper
        KERNELS[name] = cls
        return cls

    return register


def find_kernel(name: str) -> type[Kernel]:
    """The kernel class of a name, or a ConfigError with the nearest one."""
    return KERNELS.find(name)
