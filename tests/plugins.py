"""Plug-ins that the tests write to files: a criterion with its oracle, a kernel, and the README's example."""

from __future__ import annotations

import re
from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"

MEDIAN = '''\
"""The median of the absolute leave-one-out errors."""

import numpy as np

from kselect.criteria.base import criterion
from kselect.learners.base import LeaveOneOut
from kselect.numerics.linalg import Array


@criterion("LOO-median", paper="none")
def median(path: LeaveOneOut, *, power: float = 1.0) -> Array:
    """Median absolute leave-one-out error."""
    return np.median(np.abs(path.problem.y - path.loo()) ** power, axis=-1)


def oracle_median(path):
    n = path.problem.n
    found = []
    for ridge, lam in enumerate(path.problem.lams):
        one = type(path)(path.problem.changed(lams=np.array([lam])), bias=path.bias)
        held = [one.without(row)[0, row] for row in range(n)]
        found.append(np.median(np.abs(path.problem.y - held)))
    return found
'''
CAUCHY = '''\
"""The Cauchy kernel."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from kselect.kernels.base import Kernel, Points, kernel
from kselect.numerics.linalg import Array


@kernel("cauchy", paper="none")
@dataclass(frozen=True)
class Cauchy(Kernel):
    """Cauchy kernel 1 / (1 + ||x - z||^2 / spread)."""

    spread: float
    grids: ClassVar[Mapping[str, str]] = {"spread": "2^-2:2^6"}

    def gram(self, points: Points) -> Array:
        """Return the kernel matrix."""
        return 1.0 / (1.0 + points.distances.squared / self.spread)


def oracle_cauchy(x, z, spread):
    return 1.0 / (1.0 + sum((a - b) ** 2 for a, b in zip(x, z)) / spread)
'''


def readme_blocks() -> list[str]:
    """Return the blocks of code in the README's section Extending."""
    section = (
        README.read_text(encoding="utf-8").partition("## Extending\n")[2].partition("\n## ")[0]
    )
    return re.findall(r"```\w*\n(.*?)```", section, flags=re.DOTALL)


def write(folder: Path, text: str, name: str = "mine.py") -> Path:
    """Write a plug-in into a folder."""
    path = folder / name
    path.write_text(text)
    return path
