"""The kernels that a selection chooses among: named families, each with its grid, or the default families.

A family is a kernel over the grid of its parameters: ``gaussian``, or ``weighted-gaussian`` on features that are
multiplied by powers of their relevance. The default, ``auto``, are the families of ``kernels/default_families.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import product
from typing import Any

import numpy as np

from kselect.errors import ConfigError, nearest
from kselect.kernels import KERNELS, Kernel, Points
from kselect.kernels.default_families import DEFAULT, PREFIX, Family, default_kernels
from kselect.kernels.relevances import relevances, scale_of, typical_rows
from kselect.kernels.sums import is_sum
from kselect.kernels.weighted import POWER, Weighted
from kselect.learners.blocks import RowBlocks
from kselect.numerics.linalg import Array, Index
from kselect.selection.defaults import AUTO
from kselect.selection.request import (
    GridSpec,
    as_plain,
    kernel_grids,
    make_kernels,
    parse_named_grid,
    positive,
    sampled_points,
    take_rows,
)

ALIASES = {"rbf": "gaussian", "poly": "polynomial"}


@dataclass(frozen=True)
class Candidates:
    """The kernels of a selection, the parameters whose grids may grow, and the relevances if there are any."""

    kernels: tuple[Kernel, ...]
    growing: frozenset[str]
    relevances: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class Rows:
    """Training rows, which grids and relevances come from; ``columns`` has the number of each feature's column."""

    X: Array | RowBlocks
    targets: Array
    columns: Index | None = None

    def relevances(self) -> tuple[float, ...]:
        """Return the relevance of each feature, from some of the rows if there are many."""
        rows = typical_rows(self.targets.shape[1])
        return relevances(take_rows(self.X, rows), self.targets[:, rows], self.columns)


def family_names(kernel: str | Sequence[str], given: Mapping[str, object]) -> tuple[str, ...]:
    """Return the names of the families that ``kernel`` asks for, without repetition.

    With ``auto``, a grid that is given for a parameter chooses the kernels that have it.
    """
    if isinstance(kernel, str) and is_sum(kernel):
        return (kernel,)
    parts = kernel.split(",") if isinstance(kernel, str) else list(kernel)
    names = tuple(dict.fromkeys(ALIASES.get(p, p) for p in (str(part).strip() for part in parts)))
    if names == (AUTO,):
        owners = kernel_grids()
        asked = (
            owners[name] for name, grid in given.items() if grid is not None and name in owners
        )
        return tuple(dict.fromkeys(kernel for own in asked for kernel in own)) or names
    for name in names:
        check_name(name, alone=len(names) == 1)
    return names


def check_name(name: str, alone: bool) -> None:
    """Refuse an unknown name of a family."""
    inner = name.removeprefix(PREFIX)
    if inner not in KERNELS:
        KERNELS.find(name)  # raises with a hint
    if KERNELS[inner].learned and not (alone and name == inner):
        raise ConfigError(f"the kernel {inner} is learned: use it alone, and not weighted")


def make_candidates(
    names: Sequence[str], grids: Mapping[str, GridSpec | None], rows: Rows
) -> Candidates:
    """Return the kernels of all families; a parameter's grid is that of every family which has the parameter."""
    given = {k: g for k, grid in grids.items() if (g := as_plain(grid)) is not None and g != AUTO}
    if len(names) == 1 and (names[0] in KERNELS or is_sum(names[0])):
        kernels = make_kernels(names[0], grids, rows.X)
        return Candidates(kernels, growing(kernels, given))
    relevant = rows.relevances() if any(n == AUTO or n.startswith(PREFIX) for n in names) else ()
    points = sampled_points(rows.X)
    found: list[Kernel] = []
    with np.errstate(over="ignore", invalid="ignore"):  # the search reports overflows
        for name in names:
            found += default_kernels(points, relevant) if name == AUTO else []
            found += family(name, given, points, relevant) if name != AUTO else []
    known = sorted({POWER, *(p for kernel in found for p in kernel.parameters)})
    for unknown in given.keys() - set(known):
        hint = nearest(unknown, known)
        raise ConfigError(f"none of these kernels has a parameter {unknown!r}{hint}")
    return Candidates(tuple(found), growing(found, given), relevant)


def growing(kernels: Sequence[Kernel], given: Mapping[str, object]) -> frozenset[str]:
    """Return the parameters of kernels whose grid nobody has given."""
    return frozenset(p for k in kernels for p in k.parameters if p not in given) - {POWER}


def family(
    name: str, given: Mapping[str, Any], points: Points, relevant: tuple[float, ...]
) -> Iterator[Kernel]:
    """Yield the kernels of one named family, over the grids that are given or its own."""
    inner = KERNELS[name.removeprefix(PREFIX)]
    if name == inner.name:
        yield from kernels_of(inner, given, points, None)
        return
    default = next((f for f in DEFAULT if f.name == name), None)
    usual = default.powers if default else (0.5,)
    for power in positive(POWER, parse_named_grid(POWER, given.get(POWER, usual))):
        scale = scale_of(relevant, power)
        for kernel in kernels_of(inner, given, points.scaled(scale), default):
            yield Weighted(kernel, scale, power)


def kernels_of(
    inner: type[Kernel], given: Mapping[str, Any], points: Points, default: Family | None
) -> Iterator[Kernel]:
    """Yield the kernels of one class on some points."""
    names = [field.name for field in fields(inner)]
    if default and not set(names) & given.keys():
        yield from default.kernels(points)
        return
    own = {**inner.grids, **inner.around(points), **given}
    yield from (
        inner(*values) for values in product(*(parse_named_grid(n, own.get(n)) for n in names))
    )
