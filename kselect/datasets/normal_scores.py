r"""Normal scores: a map of each feature to the quantiles of a normal distribution, found from training rows.

A value x that c of n training rows have, with b rows below it, becomes the quantile ``(b + c / 2) / n`` of the
normal distribution. Values in between are interpolated, values beyond the ends become the lowest or highest
quantile. The map is increasing, and a logarithm of the feature would not change the scores of the training rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kselect.numerics.linalg import Array, Index

# Points of a curve; a feature with more values has a curve through this many of them.
MOST_POINTS = 1000
NAMES = ("curve_sizes", "curve_values", "curve_scores")


@dataclass(frozen=True, eq=False)
class Curves:
    """The points of all features' curves, one feature after the other; a feature without points is not changed."""

    sizes: Index
    values: Array
    scores: Array

    @classmethod
    def through(cls, X: Array, features: Iterable[bool]) -> Curves:
        """Return the curves of the rows X for some of the features."""
        points = [curve(x) if one else (x[:0], x[:0]) for x, one in zip(X.T, features, strict=True)]
        values, scores = (np.concatenate(each) for each in zip(*points, strict=True))
        return cls(np.array([len(v) for v, _ in points], dtype=np.intp), values, scores)

    @classmethod
    def of_members(cls, found: Mapping[str, Any]) -> Curves | None:
        """Return the curves of a model file, None if it has none; raise ValueError if they are invalid."""
        if NAMES[0] not in found:
            return None
        sizes, values, scores = (np.asarray(found[name], dtype=np.float64) for name in NAMES)
        made = cls(sizes.astype(np.intp), values, scores)
        whole = np.array_equal(made.sizes, sizes) and (sizes >= 0).all()
        if not (whole and values.shape == scores.shape == (int(sizes.sum()),)):
            raise ValueError("not one value and one score per point of a curve")
        steps = [np.diff([values[at], scores[at]]) for at in made.parts]
        if not (np.isfinite([values, scores]).all() and all((step > 0).all() for step in steps)):
            raise ValueError("a curve that does not increase")
        return made

    @property
    def parts(self) -> tuple[slice, ...]:
        """The points of each feature."""
        ends = np.cumsum(self.sizes).tolist()
        return tuple(slice(e - m, e) for e, m in zip(ends, self.sizes.tolist(), strict=True))

    def members(self) -> dict[str, Array]:
        """Return the arrays of a model file."""
        sizes: Array = self.sizes.astype(np.float64)
        return dict(zip(NAMES, (sizes, self.values, self.scores), strict=True))

    def bend(self, X: Array) -> Array:
        """Return the rows with the score of each value."""
        out = np.array(X, dtype=np.float64)
        for j, at in enumerate(self.parts):
            if self.sizes[j]:  # halves: the difference of two huge values would overflow
                out[:, j] = np.interp(0.5 * out[:, j], 0.5 * self.values[at], self.scores[at])
        return out


def curve(x: Array) -> tuple[Array, Array]:
    """Return the points of one feature's curve."""
    from scipy.special import ndtri

    values, counts = np.unique(x, return_counts=True)
    scores = ndtri((np.cumsum(counts) - 0.5 * counts) / len(x))
    if len(values) > MOST_POINTS:
        some = np.linspace(0, len(values) - 1, MOST_POINTS).round().astype(np.intp)
        values, scores = values[some], scores[some]
    return values, scores
