"""Kernel stability against the over-fitting of cross-validation (ecml2014; tcyb2018 under another name)."""

from __future__ import annotations

import numpy as np

from kselect.criteria.base import Aggregation, criterion
from kselect.criteria.cv import cross_validation
from kselect.learners.base import Path, Problem
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array
from kselect.numerics.losses import Loss


def stability(problem: Problem) -> float:
    r"""``beta = max_i ||K - K^i||_2``, where K^i is K with row and column i set to zero; O(n^2).

    The difference has rank two, and its norm is the closed form of ecml2014, Theorem 4:
    ``(K_ii + sqrt(K_ii^2 + 4 sum_{j != i} K_ij^2)) / 2``. Oracle: the largest singular value.
    """
    diagonal = problem.diagonal()
    others = problem.row_squares() - diagonal**2
    return float(np.max(diagonal + np.sqrt(diagonal**2 + 4.0 * np.maximum(others, 0.0))) / 2.0)


@criterion("k-CVKS", paper="tcyb2018; the same as k-KS of ecml2014")
@criterion("k-KS", paper="ecml2014, section 5; tcyb2018 calls it k-CVKS")
def kernel_stability(
    path: Path,
    folds: Folds,
    *,
    eta: float = 1.0,
    loss: Loss = "squared",
    average: Aggregation = "folds",
) -> Array:
    r"""k-fold cross-validation error plus (eta / n) max_i ||K - K^i||_2."""
    penalty = eta / path.problem.n * path.problem.once(stability)
    return cross_validation(path, folds, loss=loss, average=average) + penalty
