"""k-fold cross-validation approximated by the Bouligand influence function (icml2014)."""

from __future__ import annotations

import numpy as np

from kselect.criteria.base import Aggregation, criterion
from kselect.criteria.guards import NEAR_IDENTITY, RATE, Guarded, near_identity
from kselect.learners.base import Series
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array
from kselect.numerics.losses import LOSSES, Loss


def guards(path: Series, folds: Folds, *, identity: float, cap: float, **_: object) -> Guarded:
    """The ridges that each of the two guards takes out."""
    return {NEAR_IDENTITY: near_identity(path, identity), RATE: path.interpolating(folds, cap)}


@criterion("BIF-k-CV", paper="icml2014, section 4", guards=guards)
def bouligand_cross_validation(
    path: Series,
    folds: Folds,
    *,
    order: int = 3,
    identity: float = 0.1,
    cap: float = np.inf,
    loss: Loss = "squared",
    average: Aggregation = "points",
) -> Array:
    r"""k-fold cross-validation by its Taylor series of the given order, f + b + sum_s eps^s h_s / s!.

    Each held-out prediction is expanded around the fit on all points, eps = -m / (n - m) for a fold of m.
    Near K = I low orders collapse to the training error, and the sign of the prediction is right at every
    order, ``y / (1 + gamma)^{t+1}``, where cross-validation knows nothing of y. So the score is infinite "if the
    kernel matrix is near identity" (the paper's footnote 2, which names no number), here where
    ``||K - I||_F / n <= identity``, K scaled to a unit diagonal; ``identity: 0`` lifts that. ``cap`` is another
    guard, off by default: infinite where the series' rate, max_F lambda_max(S_FF), reaches it.
    """
    values = LOSSES[loss](path.problem.y, path.bif(folds, order))
    scores = folds.average(values) if average == "folds" else values.mean(axis=-1)
    acts = guards(path, folds, identity=identity, cap=cap)
    return np.where(np.any(list(acts.values()), axis=0), np.inf, scores)
