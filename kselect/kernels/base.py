"""The base class of kernels, the points that they compare, and the registry of kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import ClassVar, Self, TypeVar

import numpy as np

from kselect.errors import ConfigError
from kselect.grids import show_number
from kselect.numerics.linalg import EPS, Array, longest_square, near_zero, squared_distances
from kselect.numerics.memory import Memo
from kselect.registry import Registry

SMALLEST_POWER, LARGEST_POWER = -300, 300  # of two, in a grid


class Points:
    """Two sets of rows, and the matrices that kernels of all parameters share; each is computed on first use."""

    def __init__(self, X: Array, Z: Array | None = None) -> None:
        self.X = X
        self.Z = X if Z is None else Z
        self.memo = Memo()  # what a kernel computes once for all its parameters

    @cached_property
    def squared_distances(self) -> Array:
        """``||x - z||^2`` for all pairs."""
        return squared_distances(self.X, self.Z)

    @cached_property
    def largest_squared_distance(self) -> float:
        """The largest squared distance, which says whether a narrow kernel underflows."""
        return float(self.squared_distances.max(initial=0.0))

    @cached_property
    def distance_rounding(self) -> float:
        """The order of magnitude of the largest rounding error of the squared distances."""
        return 2.0 * EPS * longest_square(*near_zero(self.X, self.Z))

    @cached_property
    def inner_products(self) -> Array:
        """``x.z`` for all pairs."""
        return np.asarray(self.X @ self.Z.T)


@dataclass(frozen=True)
class Kernel:
    """The base class of kernels; the fields of a subclass are its parameters, each a positive number."""

    name: ClassVar[str] = ""
    paper: ClassVar[str] = ""
    grids: ClassVar[Mapping[str, str]] = {}
    """The default grid of each parameter."""
    whole: ClassVar[frozenset[str]] = frozenset()
    learned: ClassVar[bool] = False
    """Whether a continuous search finds its parameters, one per feature; such a kernel has no grids."""

    def __post_init__(self) -> None:
        for parameter, value in self.parameters.items():
            if not value > 0:
                raise ConfigError(f"{parameter} must be positive, not {show_number(value)}")
            if parameter in self.whole and value != int(value):
                raise ConfigError(f"{parameter} must be a whole number, not {show_number(value)}")

    @property
    def parameters(self) -> dict[str, float]:
        """The value of each parameter, in the order of the fields."""
        return {f.name: float(getattr(self, f.name)) for f in fields(self)}

    @classmethod
    def of(cls, parameters: Mapping[str, float]) -> Self:
        """Return the kernel with these parameters."""
        return cls(**parameters)

    @property
    def text(self) -> str:
        """The parameters as records and messages write them: ``tau=4``."""
        return ";".join(f"{name}={show_number(v)}" for name, v in self.parameters.items())

    @staticmethod
    def around(points: Points) -> Mapping[str, str]:
        """Return the default grid on these points of each parameter that has a scale."""
        return {}

    @staticmethod
    def shared(points: Points) -> object:
        """Compute the matrices that all kernels of this class share, before several threads need them."""
        return points

    def gram(self, points: Points) -> Array:
        """Return ``K_ij = k(x_i, z_j)`` as a new array that the caller may change."""
        raise TypeError(f"{type(self).__name__} has no Gram matrix")

    def regularised(self) -> tuple[float, ...]:
        """Return the raw parameters that Bayesian regularisation (BR) penalises."""
        return tuple(self.parameters.values())


def read_parameters(text: str) -> dict[str, float]:
    """Return the parameters of a text such as ``tau=4``, the inverse of ``Kernel.text``."""
    pairs = (part.partition("=") for part in text.split(";") if part)
    return {name: float(value) for name, _, value in pairs}


KERNELS: Registry[type[Kernel]] = Registry("kernel", "kselect.kernels", "kselect list kernels")
K = TypeVar("K", bound=type[Kernel])


def powers_around(distances: Array, below: int, above: int) -> str:
    """Return a grid of powers of two around the median distance of different rows: ``2^-4:2^10``."""
    apart = distances[np.triu_indices_from(distances, 1)]
    apart = apart[(apart > 0) & np.isfinite(apart)]
    centre = round(float(np.log2(np.median(apart)))) if apart.size else 0
    centre = min(max(centre, SMALLEST_POWER + below), LARGEST_POWER - above)
    return f"2^{centre - below}:2^{centre + above}"


def kernel(name: str, *, paper: str = "") -> Callable[[K], K]:
    """Register a kernel class under the name that configs and tables use; ``paper`` says who uses it."""

    def register(cls: K) -> K:
        cls.name, cls.paper = name, paper
        KERNELS[name] = cls
        return cls

    return register


def find_kernel(name: str) -> type[Kernel]:
    """Return the kernel class of a name; an unknown name is a ConfigError that names the nearest one."""
    return KERNELS.find(name)
