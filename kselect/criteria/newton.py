"""k-fold cross-validation approximated by one Newton step without each fold."""

from __future__ import annotations

import numpy as np

from kselect.criteria.base import Aggregation, criterion
from kselect.learners.base import NewtonStep
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array
from kselect.numerics.losses import LOSSES, Loss


@criterion("k-Newton", paper="in none of the papers: the limit of ijcai2018's series")
def newton_cross_validation(
    path: NewtonStep, folds: Folds, *, loss: Loss = "squared", average: Aggregation = "points"
) -> Array:
    r"""k-fold cross-validation after one Newton step from the fit on all rows, its zones kept.

    The step minimises the objective without the fold as if V'' stayed as it is: what the series of k-BIF tends to,
    where it converges. For the square loss it is exact.
    """
    values = LOSSES[loss](path.problem.y, path.frozen_step(folds))
    return folds.average(values) if average == "folds" else np.asarray(values.mean(axis=-1))
