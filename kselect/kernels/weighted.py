"""A kernel on features that are multiplied by weights, which a selection finds from the training rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kselect.errors import ConfigError
from kselect.kernels.base import Kernel, Points
from kselect.numerics.linalg import Array

WEIGHTED = "weighted"
POWER = "power"  # of the relevances: no axis of a grid, since each power has features of its own


@dataclass(frozen=True)
class Weighted(Kernel):
    """The kernel ``inner`` of ``scale o x``, named after both: ``weighted-gaussian``.

    Relevances are raised to ``power`` to form the scale; a metric without a power has None.
    """

    inner: Kernel
    scale: tuple[float, ...]
    power: float | None = None
    origin: str = WEIGHTED

    def __post_init__(self) -> None:
        if not (self.scale and all(0.0 <= u < np.inf for u in self.scale)):
            raise ConfigError("a scale must hold one number per feature, none of them negative")
        object.__setattr__(self, "name", f"{self.origin}-{self.inner.name}")
        object.__setattr__(self, "semidefinite", self.inner.semidefinite)
        power = {} if self.power is None else {POWER: float(self.power)}
        self.describe({**self.inner.parameters, **power})

    @property
    def metric(self) -> object:
        """The scale, and what kernels like the inner one share."""
        return self.inner.metric, self.scale

    def warm(self, points: Points) -> None:
        """Compute the matrices that this kernel shares with others of its scale."""
        self.inner.warm(points.scaled(self.scale))

    def changed(self, parameter: str, value: float) -> Kernel:
        """Return the kernel with another value of a parameter of the inner one."""
        return replace(self, inner=self.inner.changed(parameter, value))

    def gram(self, points: Points) -> Array:
        """Return the inner kernel's matrix of the scaled points."""
        if points.X.shape[1] != len(self.scale):
            raise ConfigError(
                f"a scale of {len(self.scale)} features for rows of {points.X.shape[1]} features"
            )
        return self.inner.gram(points.scaled(self.scale))

    def regularised(self) -> tuple[float, ...]:
        """Return the raw parameters of the inner kernel."""
        return self.inner.regularised()
