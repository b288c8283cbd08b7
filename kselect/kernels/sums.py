"""Weighted sums of kernels (multiple kernel learning), and the text ``sum:gaussian,linear`` that names them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import product
from typing import ClassVar

import numpy as np

from kselect.errors import ConfigError, nearest, quoted
from kselect.grids import LARGEST_GRID, parse_grid
from kselect.kernels.base import KERNELS, Kernel, Points, kernel
from kselect.numerics.linalg import Array

SUM = "sum"
# The most kernels of one sum: each keeps a matrix of n by n numbers during the search.
MOST_PARTS = 100
FORM = "write kernels after sum:, as in sum:gaussian,linear or sum:gaussian(tau=1),gaussian(tau=4),linear"
PART = re.compile(r"\s*([A-Za-z][\w-]*)\s*(?:\((.*)\))?\s*")
# Commas outside of brackets divide the parts of a sum.
BETWEEN = re.compile(r",(?![^()]*\))")


@kernel(SUM, paper="ecml2014, Remark 1")
@dataclass(frozen=True)
class Sum(Kernel):
    r"""Sum of kernels ``sum_j mu_j k_j(x, z)`` with weights ``mu_j > 0``, written ``sum:gaussian,linear``.

    Its parameters are the weights, named after the kernels: ``gaussian(tau=4)``, ``linear``. Kernels without weight
    are left out.
    """

    kernels: tuple[Kernel, ...]
    mu: tuple[float, ...]
    learned: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not self.kernels or len(self.kernels) != len(self.mu):
            raise ConfigError(f"{len(self.mu)} weights for a sum of {len(self.kernels)} kernels")
        names = map(part_name, self.kernels)
        self.describe(dict(zip(names, map(float, self.mu), strict=True)))
        for name, value in self.parameters.items():
            if not 0.0 < value < np.inf:
                raise ConfigError(f"the weight of {name} must be a positive number, not {value:g}")

    @classmethod
    def of(cls, parameters: Mapping[str, float]) -> Sum:
        """Return the sum of kernels from their names and weights."""
        parts = [kernels_of_part(name, no_grid) for name in parameters]
        return cls(tuple(k for (k,) in parts), tuple(map(float, parameters.values())))

    def gram(self, points: Points) -> Array:
        """Return the weighted sum of the kernel matrices."""
        K = self.kernels[0].gram(points)
        K *= self.mu[0]
        for part, weight in zip(self.kernels[1:], self.mu[1:], strict=True):
            K += weight * part.gram(points)
        return K


class WeightedMatrices:
    """The matrices of the kernels of a sum, which a search weighs; ``theta`` is mu.

    With ``roots`` r, the roots of the weights of the rows, they are ``r K r``.
    """

    def __init__(
        self, kernels: Sequence[Kernel], points: Points, roots: Array | None = None
    ) -> None:
        self.matrices = np.array([part.gram(points) for part in kernels])
        self.total = float(self.matrices.shape[1])
        if roots is not None:
            self.matrices *= roots[:, None] * roots
            self.total = float(roots @ roots)

    @property
    def size(self) -> int:
        """The number of kernels."""
        return len(self.matrices)

    @property
    def scales(self) -> Array:
        """The mean diagonal element of each kernel, 1 for a matrix of zeros."""
        means = np.einsum("kii->k", self.matrices) / self.total
        return np.where(means > 0.0, means, 1.0)

    def gram(self, mu: Array) -> Array:
        """Return ``sum_j mu_j K_j``."""
        return np.asarray(np.tensordot(mu, self.matrices, axes=1))

    def slopes(self, M: Array, K: Array) -> Array:
        """Return ``sum_ab M_ab (K_j)_ab`` for every j."""
        return self.matrices.reshape(self.size, -1) @ M.ravel()


# --- names ------------------------------------------------------------------------------------------


def is_sum(name: str) -> bool:
    """Return whether a kernel's name means a sum with its parts: ``sum:gaussian,linear``."""
    return name == SUM or name.startswith(f"{SUM}:")


def is_learned(name: str) -> bool:
    """Return whether a search learns the parameters of the kernel of a name; False for a name of no kernel."""
    return is_sum(name) or (name in KERNELS and KERNELS[name].learned)


def part_name(part: Kernel) -> str:
    """Return the name of a kernel with its parameters, as in ``gaussian(tau=4)``."""
    return f"{part.name}({part.text.replace(';', ',')})" if part.parameters else part.name


def families_of(name: str) -> tuple[str, ...]:
    """Return the names of the kernels that a name stands for: itself, or the parts of a sum."""
    if not is_sum(name):
        return (name,)
    matches = map(PART.fullmatch, BETWEEN.split(name.partition(":")[2]))
    return (SUM, *dict.fromkeys(match[1] for match in matches if match))


def sum_name(kernels: Iterable[Kernel]) -> str:
    """Return the name of a sum of these kernels, grids in brackets: ``sum:gaussian(tau=1,4),linear``."""
    written: list[str] = []
    for one in kernels:
        name = part_name(one)
        head, equals, value = name.partition("=")
        if len(one.parameters) == 1 and written and written[-1].startswith(f"{head}{equals}"):
            written[-1] = f"{written[-1][:-1]},{value}"
        else:
            written.append(name)
    return f"{SUM}:{','.join(written)}"


def parts_of(name: str, family: Callable[[str], tuple[Kernel, ...]]) -> tuple[Kernel, ...]:
    """Return the kernels of ``sum:gaussian(tau=1,4),linear``, each once.

    Parameters in brackets are grids. ``family`` returns the kernels of a name without brackets.
    """
    written = name.partition(":")[2]
    if not written.strip():
        raise ConfigError(f"{quoted(name)} names no kernels: {FORM}")
    found = [k for part in BETWEEN.split(written) for k in kernels_of_part(part, family)]
    kernels = tuple(dict.fromkeys(found))
    if len(kernels) > MOST_PARTS:
        raise ConfigError(f"a sum of {len(kernels)} kernels: {MOST_PARTS} at most")
    return kernels


def kernels_of_part(
    written: str, family: Callable[[str], tuple[Kernel, ...]]
) -> tuple[Kernel, ...]:
    """Return the kernels of one part of a sum: ``gaussian(tau=1,4)``, or a family by its name."""
    match = PART.fullmatch(written)
    if match is None:
        raise ConfigError(f"{quoted(written.strip())} is not a kernel: {FORM}")
    name, inside = match.groups()
    cls = KERNELS.find(name)
    if cls.learned:
        raise ConfigError(f"the kernel {name} is learned itself: it cannot be a part of a sum")
    if inside is None and fields(cls):
        return family(name)
    grids = dict(read_grids(name, inside or ""))
    known = [f.name for f in fields(cls)]
    for key in grids:
        if key not in known:
            hint = nearest(key, known) if known else "; it has no parameters"
            raise ConfigError(f"the {name} kernel has no parameter {quoted(key)}{hint}")
    if missing := [key for key in known if key not in grids]:
        raise ConfigError(f"{name}({inside}): the parameter {missing[0]!r} is missing")
    return tuple(cls(*point) for point in product(*(grids[key] for key in known)))


def read_grids(name: str, inside: str) -> Iterator[tuple[str, tuple[float, ...]]]:
    """Yield parameter and values of the text in brackets, ``tau=1,4,width=2^0:2^3``."""
    grids: list[list[str]] = []
    for piece in filter(None, map(str.strip, inside.split(","))):
        key, equals, value = piece.partition("=")
        if equals:
            grids.append([key.strip(), value])
        elif grids:
            grids[-1][1] += f",{piece}"
        else:
            raise ConfigError(f"{name}({inside}): write a parameter, as in gaussian(tau=1)")
    for key, grid in grids:
        try:
            values = parse_grid(grid.strip())
        except ConfigError as error:
            raise ConfigError(f"{name}({inside}): {key}: {error}") from None
        if len(values) > LARGEST_GRID:
            raise ConfigError(f"{name}({inside}): too many values")
        yield key, values


def no_grid(name: str) -> tuple[Kernel, ...]:
    """Refuse a family without its parameters, where a single kernel is meant."""
    raise ConfigError(f"the kernel {name} of a sum lacks its parameters")


def default_family(name: str) -> tuple[Kernel, ...]:
    """Return the kernels of a family over its default grids."""
    cls = KERNELS.find(name)
    if missing := [f.name for f in fields(cls) if f.name not in cls.grids]:
        raise ConfigError(f"{name} has no default grid: write {name}({missing[0]}=...) in the sum")
    grids = (parse_grid(cls.grids[f.name]) for f in fields(cls))
    return tuple(cls(*point) for point in product(*grids))
