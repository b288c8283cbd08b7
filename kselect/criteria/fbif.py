"""k-fold cross-validation approximated by influence functions and Nystrom columns (ijcai2018)."""

from __future__ import annotations

import numpy as np

from kselect.criteria.base import Aggregation, criterion
from kselect.learners.base import NystromSeries, RightSide
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array
from kselect.numerics.losses import LOSSES, Loss

# A margin that is no larger counts as wrong: near K = I approximated predictions are next to nothing, and their
# signs those of the labels that they were trained on.
NO_MARGIN = 1e-9


@criterion("k-FBIF", paper="ijcai2018, section 4 (t-FBIF)")
def fast_cross_validation(
    path: NystromSeries,
    folds: Folds,
    *,
    c: float = 0.1,
    order: int = 1,
    rhs: RightSide = "exact",
    loss: Loss = "squared",
    average: Aggregation = "points",
) -> Array:
    r"""k-fold cross-validation by its first-order series, the kernel in the inverse approximated by c n columns.

    ``f + eps Lt^{-1} [K (1_F u) / m - 2 lam f]`` on each fold F of m rows, eps = -m / (n - m), Lt with the Nystrom
    approximation of K. ``rhs: exact`` leaves K itself on the right hand side, as printed, and grows without bound
    at small lam; ``nystrom`` has the approximation there too, and collapses to the training error near K = I.
    What explodes beyond numbers scores infinity.
    """
    held = path.fbif(folds, c=c, order=order, rhs=rhs)
    held = np.where(np.abs(held) <= NO_MARGIN, 0.0, held) if loss == "zero-one" else held
    with np.errstate(over="ignore"):
        values = LOSSES[loss](path.problem.y, held)
        return folds.average(values) if average == "folds" else values.mean(axis=-1)
