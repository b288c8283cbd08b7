"""Exact k-fold selection over kernels and ridges without the whole surface, for the learners that have bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

import numpy as np

from kselect.errors import ConfigError
from kselect.learners.base import RidgeMode
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array
from kselect.search.pruned import (
    Grid,
    MakeFactor,
    MakeWidth,
    Pruned,
    order_of,
    outward,
    select_pruned,
)
from kselect.search.pruned_hinge import HingeWidth
from kselect.search.pruned_square import SquareWidth

PrunedLearner = Literal["smooth-hinge", "krr"]
# The loss whose mean over rows is minimised.
PRUNED_LOSSES: dict[PrunedLearner, str] = {"smooth-hinge": "hinge", "krr": "squared"}


def select_exactly(
    grams: Sequence[Callable[[], Array]],
    y: Array,
    lams: Array,
    folds: Folds,
    learner: PrunedLearner,
    *,
    ridge: RidgeMode = "per-fold",
    h: float = 0.05,
    visit: Sequence[int] | None = None,
    factors: Sequence[MakeFactor] | None = None,
) -> Pruned:
    """The kernel and ridge of the lowest k-fold error: hinge loss of the smoothed-hinge SVM, squared loss of KRR.

    ``grams[i]()`` is the kernel matrix of the i-th kernel; rows that are in the order of the folds already are not
    copied. ``visit`` is the order of the kernels (default: outward from the middle one); the sooner a good one
    comes, the more is dropped. ``factors`` give those of the kernels, their rows in the order of the folds, where
    others need them too (KRR). ``work`` in what is found counts what was not dropped.
    """
    grid = Grid.of(y, np.asarray(lams, dtype=np.float64), folds, ridge)
    chosen = outward(len(grams) // 2, len(grams)) if visit is None else visit
    ordered = [partial(in_fold_order, gram, folds) for gram in grams]
    return select_pruned(ordered, make_width(learner, y, h, factors), grid, chosen)


def make_width(
    learner: PrunedLearner, y: Array, h: float, factors: Sequence[MakeFactor] | None
) -> MakeWidth:
    """What knows the bounds of a learner."""
    if learner == "krr":
        return lambda kernel, K, grid, near: SquareWidth(
            K, grid, near, factors[kernel] if factors else None
        )
    if not np.isin(y, (-1.0, 1.0)).all():
        raise ConfigError("smooth-hinge is for two classes, labelled -1 and +1")
    return lambda _, K, grid, near: HingeWidth(K, grid, near, h=h)


def in_fold_order(gram: Callable[[], Array], folds: Folds) -> Array:
    """The kernel matrix, its rows and columns fold by fold."""
    order, K = order_of(folds), gram()
    if (np.diff(order) == 1).all():
        return K
    return K.take(order, 0).take(order, 1)


def nearest_to_median(squared_distances: Array, taus: Sequence[float]) -> int:
    """The Gaussian width nearest, in logs, to half the median squared distance: where a search may start."""
    n = len(squared_distances)
    median = float(np.median(squared_distances[np.triu_indices(n, 1)])) / 2.0
    if not median > 0:
        return len(taus) // 2
    return int(np.argmin(np.abs(np.log(np.asarray(taus)) - np.log(median))))
