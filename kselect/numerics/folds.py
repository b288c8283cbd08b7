"""Folds of cross-validation: a partition of the rows, hashable: paths remember what they held out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kselect.errors import ConfigError
from kselect.numerics.linalg import Array, Index


@dataclass(frozen=True, eq=False)
class Folds:
    """``members[i]`` are the rows of fold i, ascending; every row is in exactly one fold."""

    members: tuple[Index, ...]

    @classmethod
    def from_numbers(cls, numbers: Index) -> Folds:
        """One fold number a row, 0..k-1 each used; anything else is a ConfigError."""
        numbers = np.asarray(numbers, dtype=np.intp)
        present = np.unique(numbers)
        if len(present) < 2:
            raise ConfigError("the folds need at least two different numbers")
        if present[0] < 0 or len(present) != present[-1] + 1:
            absent = sorted(set(range(int(present[-1]) + 1)) - set(present.tolist()))
            raise ConfigError(
                f"fold numbers must be 0, 1, 2, ... without a gap; {absent[:3]} has no rows"
            )
        return cls(tuple(np.flatnonzero(numbers == k) for k in present))

    @cached_property
    def n(self) -> int:
        """The number of rows."""
        return sum(len(F) for F in self.members)

    @cached_property
    def numbers(self) -> Index:
        """The fold of each row."""
        found = np.empty(self.n, dtype=np.intp)
        for number, F in enumerate(self.members):
            found[F] = number
        return found

    @cached_property
    def by_size(self) -> dict[int, tuple[int, ...]]:
        """Size -> positions of the folds of that size: equal folds are solved in one batch."""
        sizes = [len(F) for F in self.members]
        return {m: tuple(i for i, s in enumerate(sizes) if s == m) for m in sorted(set(sizes))}

    def average(self, values: Array) -> Array:
        """The mean over folds of the folds' means, along the last axis (ecml2014, tcyb2018).

        Of whole numbers, as the zero-one loss gives, it is one division of two whole numbers, so that equal
        fractions are equal scores and the first of them is chosen.
        """
        if (values == np.rint(values)).all():
            return self._average_of_counts(values)
        means = [values[..., F].mean(axis=-1) for F in self.members]
        return np.asarray(np.mean(means, axis=0))

    def _average_of_counts(self, values: Array) -> Array:
        r"""``(1/k) sum_F c_F / m_F = sum_F c_F (L / m_F) / (k L)``, L the least common multiple of the sizes."""
        multiple = math.lcm(*self.by_size)
        whole = [
            (multiple // m, sum(values[..., self.members[i]].sum(axis=-1) for i in at))
            for m, at in self.by_size.items()
        ]
        divisor = multiple * len(self.members)
        # Python's whole numbers: any fold sizes may be given, and their multiple be of any length.
        totals = sum(weight * counts.astype(int).astype(object) for weight, counts in whole)
        return np.asarray(np.asarray(totals, dtype=object) / divisor, dtype=np.float64)


def draw_folds(n: int, k: int, rng: np.random.Generator) -> Folds:
    """k random folds of n rows whose sizes differ by at most one."""
    if k > n:
        raise ConfigError(f"{k} folds need at least {k} rows, not {n}")
    return Folds.from_numbers(rng.permutation(np.arange(n, dtype=np.intp) % k))
