"""Named random streams, and the folds of cross-validation."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kselect.errors import ConfigError
from kselect.numerics.linalg import Array, Index
from kselect.numerics.weights import Weights, mean_loss


def stream(seed: int, *names: str | int) -> np.random.Generator:
    """Return the generator of (seed, data set, split, purpose); equal names give equal numbers on every machine."""
    text = "\x1f".join(str(name) for name in (seed, *names))
    words = np.frombuffer(hashlib.sha256(text.encode()).digest(), dtype="<u4")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(words.tolist())))


@dataclass(frozen=True, eq=False)
class Folds:
    """A partition of the rows; ``members[i]`` are the rows of fold i, ascending.

    Folds are hashable, so that a path can cache the predictions that it made for them.
    """

    members: tuple[Index, ...]

    @classmethod
    def from_numbers(cls, numbers: Index) -> Folds:
        """Return the folds for one fold number per row; the numbers must be 0, ..., k - 1 without a gap."""
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
        """The positions of the folds of each size; folds of equal size are solved in one batch."""
        sizes = [len(F) for F in self.members]
        return {m: tuple(i for i, s in enumerate(sizes) if s == m) for m in sorted(set(sizes))}

    def average(self, values: Array, weights: Weights | None = None) -> Array:
        r"""Return the mean over folds of the folds' means along the last axis (ecml2014, tcyb2018).

        The zero-one loss has whole numbers c_F as sums. Their mean is one division of two whole numbers, ``sum_F
        c_F (L / m_F) / (k L)`` with the least common multiple L of the fold sizes m_F, so that equal fractions are
        equal scores and the first of them is chosen.
        """
        if weights is not None or not (values == np.rint(values)).all():
            means = [mean_loss(values, weights, F) for F in self.members]
            return np.asarray(np.mean(means, axis=0))
        multiple = math.lcm(*self.by_size)
        whole = [
            (multiple // m, sum(values[..., self.members[i]].sum(axis=-1) for i in at))
            for m, at in self.by_size.items()
        ]
        divisor = multiple * len(self.members)
        # Python's integers, because the least common multiple of arbitrary fold sizes can have any length.
        totals = sum(weight * counts.astype(int).astype(object) for weight, counts in whole)
        return np.asarray(np.asarray(totals, dtype=object) / divisor, dtype=np.float64)


def draw_folds(n: int, k: int, rng: np.random.Generator) -> Folds:
    """Draw k random folds of n rows whose sizes differ by at most one."""
    if k > n:
        raise ConfigError(f"{k} folds need at least {k} rows, not {n}")
    numbers = rng.permutation(np.arange(n, dtype=np.intp) % k)
    return Folds(tuple(np.flatnonzero(numbers == fold) for fold in range(k)))
