r"""Weights of rows: a row of weight 2 counts as two equal rows.

A weighted objective ``sum_i w_i V(y_i, f_i) + gamma ||f||^2`` with ``gamma = n lam`` takes weights of mean 1, so
that lam means the same as without weights. Scores are weighted means of losses; they use the weights as they were
given, so that whole numbers count exactly as repeated rows do.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from kselect.numerics.linalg import Array, Index


@dataclass(frozen=True, eq=False)
class Weights:
    """Positive weights of rows, as given; ``rows`` are those that are not due to the class of a row.

    A model is fitted and chosen by the first, its accuracy is reported by the second (None: all rows count alike).
    """

    given: Array
    rows: Array | None = None
    by_class: bool = False

    @classmethod
    def of(
        cls, given: Array | None, rows: Array | None = None, by_class: bool = False
    ) -> Self | None:
        """Return the weights, or None if all rows weigh the same."""
        if given is None or ((given == given[0]).all() and not by_class):
            return None
        return cls(np.asarray(given, dtype=np.float64), rows, by_class)

    @property
    def reported(self) -> Weights | None:
        """The weights by which an accuracy is reported."""
        return Weights.of(self.rows) if self.by_class else self

    @cached_property
    def values(self) -> Array:
        """The weights with mean 1."""
        return np.asarray(self.given * (len(self.given) / self.given.sum()))

    @cached_property
    def roots(self) -> Array:
        """The square roots of the weights with mean 1."""
        return np.sqrt(self.values)

    @cached_property
    def counts(self) -> Array:
        """The weights as numbers of rows: as given, but no fewer than there are rows."""
        return self.given * max(1.0, len(self.given) / float(self.given.sum()))

    def mean(self, losses: Array) -> Array:
        """Return the weighted mean along the last axis."""
        return np.asarray(losses @ self.given / self.given.sum())

    def part(self, rows: Index | slice) -> Weights:
        """Return the weights of some rows, whose mean is 1 again."""
        own = None if self.rows is None else self.rows[rows]
        return Weights(self.given[rows], own, self.by_class)


def mean_loss(losses: Array, weights: Weights | None, rows: Index | None = None) -> Array:
    """Return the mean of the losses of some rows (default: all) along the last axis, weighted if needed."""
    if rows is not None:
        losses = losses[..., rows]
        weights = weights and weights.part(rows)
    return np.asarray(losses.mean(axis=-1)) if weights is None else weights.mean(losses)
