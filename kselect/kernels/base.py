"""The base class of kernels, the points that they compare, and the registry of kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import ClassVar, Self, TypeVar

import numpy as np

from kselect.errors import ConfigError
from kselect.grids import show_number
from kselect.numerics.linalg import Array, Distances, squared_distances
from kselect.numerics.memory import Memo
from kselect.registry import Registry

SMALLEST_POWER, LARGEST_POWER = -300, 300  # of two, in a grid


class Points:
    """Two sets of rows, and the matrices that kernels of all parameters share; each is computed on first use."""

    def __init__(self, X: Array, Z: Array | None = None) -> None:
        self.X = X
        self.Z = X if Z is None else Z
        self.memo = Memo()  # what a kernel computes once for all its parameters
        self.metric: object = None

    def keep_only(self, metric: object) -> None:
        """Forget what kernels of the latest metric share, if this is another one."""
        if metric != self.metric:
            for name in ("distances", "inner_products"):
                self.__dict__.pop(name, None)
            self.memo.clear()
        self.metric = metric

    @cached_property
    def distances(self) -> Distances:
        """``||x - z||^2`` for all pairs, with the largest of them and their rounding error."""
        return squared_distances(self.X, self.Z)

    @cached_property
    def inner_products(self) -> Array:
        """``x.z`` for all pairs."""
        return np.asarray(self.X @ self.Z.T)

    def scaled(self, scale: tuple[float, ...]) -> Points:
        """Return the points with feature j multiplied by ``scale[j]``, the same object for the same scale."""

        def compute() -> Points:
            u = np.array(scale)
            return Points(self.X * u, None if self.Z is self.X else self.Z * u)

        found: Points = self.memo.once(("scaled", scale), compute)
        return found


@dataclass(frozen=True)
class Kernel:
    """The base class of kernels, each a frozen dataclass whose fields are its parameters, positive numbers.

    Attributes
    ----------
    parameters : the value of each parameter, in the order of the fields.
    text : the same as records and messages write it, ``tau=4``.
    """

    name: ClassVar[str] = ""
    paper: ClassVar[str] = ""
    grids: ClassVar[Mapping[str, str]] = {}
    """The default grid of each parameter."""
    whole: ClassVar[frozenset[str]] = frozenset()
    learned: ClassVar[bool] = False
    """Whether a continuous search finds its parameters; such a kernel has no grids."""
    semidefinite: ClassVar[bool] = False
    """Whether every Gram matrix is known to be positive semidefinite; large ones of other kernels are tested."""
    pairwise: ClassVar[bool] = False
    """Whether a row of points already holds its kernel values against all training rows."""

    # Each kernel has its own; only a class variable is no field of the dataclass.
    parameters: ClassVar[dict[str, float]] = {}
    text: ClassVar[str] = ""

    def __post_init__(self) -> None:
        self.describe({f.name: float(getattr(self, f.name)) for f in fields(self)})
        for parameter, value in self.parameters.items():
            if not value > 0:
                raise ConfigError(f"{parameter} must be positive, not {show_number(value)}")
            if parameter in self.whole and value != int(value):
                raise ConfigError(f"{parameter} must be a whole number, not {show_number(value)}")

    def describe(self, parameters: dict[str, float]) -> None:
        """Set the two attributes."""
        object.__setattr__(self, "parameters", parameters)
        pairs = (f"{name}={show_number(value)}" for name, value in parameters.items())
        object.__setattr__(self, "text", ";".join(pairs))

    @classmethod
    def of(cls, parameters: Mapping[str, float]) -> Self:
        """Return the kernel with these parameters."""
        return cls(**parameters)

    @staticmethod
    def around(points: Points) -> Mapping[str, str]:
        """Return the default grid on these points of each parameter that has a scale."""
        return {}

    @staticmethod
    def typical(points: Points) -> Mapping[str, float]:
        """Return the median distance between these points for each parameter that is compared with distances."""
        return {}

    @staticmethod
    def shared(points: Points) -> object:
        """Compute the matrices that all kernels of this class share, before several threads need them."""
        return points

    @property
    def metric(self) -> object:
        """The common part of kernels that share their distances."""
        return type(self)

    def warm(self, points: Points) -> None:
        """Compute the matrices that this kernel shares with others."""
        type(self).shared(points)

    def changed(self, parameter: str, value: float) -> Kernel:
        """Return the kernel with another value of one parameter."""
        return type(self).of({**self.parameters, parameter: value})

    def gram(self, points: Points) -> Array:
        """Return ``K_ij = k(x_i, z_j)`` as a new array that the caller may change."""
        raise TypeError(f"{type(self).__name__} has no Gram matrix")

    def regularised(self) -> tuple[float, ...]:
        """Return the raw parameters that Bayesian regularisation (BR) penalises."""
        return tuple(self.parameters.values())


def read_parameters(text: str) -> dict[str, float]:
    """Return the parameters of a text such as ``tau=4``, the inverse of ``Kernel.text``.

    In the text of a sum, as in ``gaussian(tau=4)=0.3``, the last sign of equality ends the name.
    """
    pairs = (part.rpartition("=") for part in text.split(";") if part)
    return {name: float(value) for name, _, value in pairs}


KERNELS: Registry[type[Kernel]] = Registry(
    "kernel", "kselect.kernels", "kselect list kernels", entries="kselect.kernels"
)
K = TypeVar("K", bound=type[Kernel])


def warm(points: Points, kernels: Iterable[Kernel]) -> None:
    """Compute what the kernels share, once for each metric, before several threads would each compute it."""
    for kernel in {kernel.metric: kernel for kernel in kernels}.values():
        kernel.warm(points)


def median_apart(distances: Array) -> float:
    """Return the median distance of different rows; 1 if all rows are equal."""
    apart = distances[np.triu_indices_from(distances, 1)]
    apart = apart[(apart > 0) & np.isfinite(apart)]
    return float(np.median(apart)) if apart.size else 1.0


def powers_around(distances: Array, below: int, above: int) -> str:
    """Return a grid of powers of two around the median distance of different rows: ``2^-4:2^10``."""
    centre = round(float(np.log2(median_apart(distances))))
    centre = min(max(centre, SMALLEST_POWER + below), LARGEST_POWER - above)
    return f"2^{centre - below}:2^{centre + above}"


def kernel(name: str, *, paper: str = "") -> Callable[[K], K]:
    """Register a kernel class under the name that configs and tables use; ``paper`` says who uses it."""

    def register(cls: K) -> K:
        cls.name, cls.paper = name, paper
        KERNELS.add(name, cls)
        return cls

    return register
