"""Whether a choice lies on the edge of its grid: the best may then lie beyond it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isclose
from typing import Literal

from kselect.grids import show_number
from kselect.kernels import Kernel

End = Literal["smallest", "largest"]
Axis = Literal["kernel", "lam"]


@dataclass(frozen=True)
class Edge:
    """A parameter at one end of its grid; ``axis`` says whether it is the kernel's or the ridge."""

    axis: Axis
    parameter: str
    value: float
    end: End

    @property
    def text(self) -> str:
        """``tau=256 is the largest of its grid``."""
        return f"{self.parameter}={show_number(self.value)} is the {self.end} of its grid"


def edges_of(
    kernels: Sequence[Kernel], lams: Sequence[float], kernel: Kernel, lam: float
) -> tuple[Edge, ...]:
    """Every edge that a choice lies on; a grid of one value has none, and neither has a ridge that is fixed.

    The grid of a kernel's parameter is what the kernels of its kind take. Pass a fixed ridge as the only ``lams``.
    """
    family = [k.parameters for k in kernels if type(k) is type(kernel)]
    found: list[Edge] = []
    for name, value in kernel.parameters.items():
        found += ends("kernel", name, value, [p[name] for p in family])
    return (*found, *ends("lam", "lam", lam, lams))


def ends(axis: Axis, parameter: str, value: float, grid: Sequence[float]) -> Iterator[Edge]:
    """The end of a grid that a value is, if it is one."""
    low, high = min(grid, default=value), max(grid, default=value)
    if low == high:
        return
    # Records keep twelve digits of a ridge, so that it is not the grid's own to the last bit.
    if isclose(value, low):
        yield Edge(axis, parameter, value, "smallest")
    elif isclose(value, high):
        yield Edge(axis, parameter, value, "largest")
