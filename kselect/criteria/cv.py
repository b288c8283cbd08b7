"""k-fold cross-validation."""

from __future__ import annotations

from kselect.criteria.base import Aggregation, criterion
from kselect.learners.base import Path
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array
from kselect.numerics.losses import LOSSES, Loss


@criterion("k-CV", paper="all five papers")
def cross_validation(
    path: Path, folds: Folds, *, loss: Loss = "squared", average: Aggregation = "points"
) -> Array:
    r"""Exact k-fold cross-validation error: the mean loss of the held-out predictions.

    ``average: points`` is (1/n) sum_i V(y_i, f_{-F(i)}(x_i)) (icml2014, ijcai2018); ``folds`` the mean of the
    folds' means (ecml2014, tcyb2018); they differ for unequal folds only.
    """
    values = LOSSES[loss](path.problem.y, path.held_out(folds))
    return folds.average(values) if average == "folds" else values.mean(axis=-1)
