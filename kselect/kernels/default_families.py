"""The default families: Gaussian and Laplacian kernels around the median distance, on plain and weighted features.

A candidate names its width relative to the median distance between the training rows, as in ``tau/median=0.25``. So
it is the same candidate for all rows, and ``Relative.on`` gives its kernel for some of them. Weighted features are
multiplied by powers of their relevance. One feature, or features of equal relevance, need no weighted kernels.
A study on 57 real tables found these families.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache

import numpy as np

from kselect.kernels.base import KERNELS, Kernel, Points
from kselect.kernels.relevances import relevances, scale_of, typical_rows
from kselect.kernels.weighted import POWER, WEIGHTED, Weighted
from kselect.numerics.folds import stream
from kselect.numerics.linalg import Array, Index

AUTO = "auto"
PREFIX = f"{WEIGHTED}-"
SAMPLED = 500  # rows whose distances give the scale of the data
OVER_MEDIAN = "/median"


@dataclass(frozen=True)
class Relative(Kernel):
    """The kernel ``inner`` whose width is ``factor`` times the median distance between some rows.

    With a ``power``, it compares features that are multiplied by this power of their relevance. Without rows it has
    no matrix.
    """

    inner: str
    factor: float
    power: float | None = None

    def __post_init__(self) -> None:
        weighted = self.power is not None
        object.__setattr__(self, "name", f"{PREFIX}{self.inner}" if weighted else self.inner)
        power = {} if self.power is None else {POWER: self.power}
        self.describe({f"{self.parameter}{OVER_MEDIAN}": self.factor, **power})

    @property
    def parameter(self) -> str:
        """The name of the width: ``tau`` or ``width``."""
        return fields(KERNELS.find(self.inner))[0].name

    @property
    def metric(self) -> object:
        """The inner kernel and the power, which kernels of one grid share."""
        return self.inner, self.power

    def applies(self, relevant: Sequence[float]) -> bool:
        """Return whether the kernel differs from the one on plain features."""
        return self.power is None or len(set(relevant)) > 1

    def on(self, points: Points, relevant: tuple[float, ...] = ()) -> Kernel:
        """Return the kernel for some rows, whose features have these relevances."""
        if self.power is None:
            cls = KERNELS.find(self.inner)
            typical: Mapping[str, float] = points.memo.once(
                ("typical", self.inner), lambda: cls.typical(points)
            )
            return cls.of({name: median * self.factor for name, median in typical.items()})
        scale = scale_of(relevant, self.power)
        inner = Relative(self.inner, self.factor).on(points.scaled(scale))
        return Weighted(inner, scale, self.power)


@dataclass(frozen=True)
class Family:
    """The default grid of a kernel: powers of two times the median distance, for each power of the relevances."""

    kernel: str
    below: int
    above: int
    powers: tuple[float, ...] = ()

    @property
    def name(self) -> str:
        """The name, as in ``weighted-gaussian``."""
        return f"{PREFIX}{self.kernel}" if self.powers else self.kernel

    def candidates(self) -> Iterator[Relative]:
        """Yield the candidates, one power of the relevances after the other."""
        for power in self.powers or (None,):
            for exponent in range(-self.below, self.above + 1):
                yield Relative(self.kernel, 2.0**exponent, power)

    def kernels(self, points: Points) -> Iterator[Kernel]:
        """Yield the kernels around the median distance of some rows, which are weighted already if need be."""
        for exponent in range(-self.below, self.above + 1):
            yield Relative(self.kernel, 2.0**exponent).on(points)


DEFAULT = (
    Family("gaussian", 4, 2),
    Family("laplacian", 1, 4),
    Family("laplacian", 1, 4, (0.5, 1.0)),
    Family("gaussian", 3, 3, (0.5,)),
)


@cache
def default_candidates() -> tuple[Kernel, ...]:
    """Return the candidates of all default families; the kernels are registered when they are first asked for."""
    return tuple(candidate for family in DEFAULT for candidate in family.candidates())


def default_kernels(points: Points, relevant: tuple[float, ...]) -> Iterator[Kernel]:
    """Yield the kernels of the default families around the distances of some rows."""
    for family in DEFAULT:
        yield from (c.on(points, relevant) for c in family.candidates() if c.applies(relevant))


def rows_of_scale(n: int) -> Index:
    """Return the random rows, out of n, whose distances give the scale of the data."""
    return stream(0, "scale").permutation(n)[:SAMPLED]


def kernels_for(
    candidates: Sequence[Kernel], X: Array, targets: Array, columns: Index | None
) -> dict[Kernel, Kernel]:
    """Return {kernel for the training rows X: its candidate}; a candidate that is not relative is its own kernel.

    ``columns`` has the number of each feature's column. Candidates that do not apply to the rows are left out.
    """
    if not any(isinstance(one, Relative) for one in candidates):
        return {one: one for one in candidates}
    rows = typical_rows(len(X))
    with np.errstate(over="ignore", invalid="ignore"):  # the search reports overflows
        relevant = relevances(X[rows], targets[:, rows], columns)
        points = Points(X[rows_of_scale(len(X))])
        applied = (
            one for one in candidates if not isinstance(one, Relative) or one.applies(relevant)
        )
        return {
            one.on(points, relevant) if isinstance(one, Relative) else one: one for one in applied
        }


def is_auto(candidates: Sequence[Kernel]) -> bool:
    """Return whether ``auto`` stands for these candidates."""
    return tuple(candidates) == default_candidates()
