"""k-fold cross-validation approximated by the Bouligand influence function (icml2014)."""

from __future__ import annotations

import numpy as np

from kselect.criteria.base import Aggregation, criterion
from kselect.learners.base import Series
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array
from kselect.numerics.losses import LOSSES, Loss


@criterion("BIF-k-CV", paper="icml2014, section 4")
def bouligand_cross_validation(
    path: Series,
    folds: Folds,
    *,
    order: int = 3,
    cap: float = 0.9,
    loss: Loss = "squared",
    average: Aggregation = "points",
) -> Array:
    r"""k-fold cross-validation by its Taylor series of the given order, f + b + sum_s eps^s h_s / s!.

    Each held-out prediction is expanded around the fit on all points, eps = -m / (n - m) for a fold of m.
    Near K = I low orders collapse to the training error, and the smallest score would be an interpolating
    corner of the grid (the paper's footnote 2). Where the series' rate, for the square loss
    max_F lambda_max(S_FF), reaches ``cap``, the score is infinite; ``cap: inf`` lifts that guard. It cannot
    help the zero-one loss: at K = I the prediction of order t is ``y / (1 + gamma)^{t+1}``, whose sign is right
    at every order and every rate, where cross-validation knows nothing of y.
    """
    values = LOSSES[loss](path.problem.y, path.bif(folds, order))
    scores = folds.average(values) if average == "folds" else values.mean(axis=-1)
    return np.where(path.interpolating(folds, cap), np.inf, scores)
