"""k-fold cross-validation approximated by influence functions of the first order (ijcai2018)."""

from __future__ import annotations

import numpy as np

from kselect.criteria.base import Aggregation, criterion
from kselect.learners.base import Series
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array
from kselect.numerics.losses import LOSSES, Loss


@criterion("k-BIF", paper="ijcai2018, section 3 (t-BIF)")
def first_order_cross_validation(
    path: Series,
    folds: Folds,
    *,
    order: int = 1,
    loss: Loss = "squared",
    average: Aggregation = "points",
) -> Array:
    r"""k-fold cross-validation by its Taylor series of the first order, f + eps B with eps = -m / (n - m).

    ``B = L^{-1} [K (1_F u) / m - 2 lam f]``, u = -V'(f): the paper prints plus for minus. Unlike BIF-k-CV
    (icml2014) it has no guard, as the paper has none: near K = I it collapses to the training error.
    """
    values = LOSSES[loss](path.problem.y, path.bif(folds, order))
    return folds.average(values) if average == "folds" else np.asarray(values.mean(axis=-1))
