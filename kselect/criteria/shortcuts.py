"""Cross-validation without retraining: the first-order series of ijcai2018, GCV, and one Newton step."""

from __future__ import annotations

import numpy as np

from kselect.criteria.base import Aggregation, criterion, fold_error
from kselect.errors import TrialError
from kselect.learners.base import (
    HatMatrix,
    NewtonStep,
    NystromSeries,
    Operator,
    RightSide,
    Series,
)
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array
from kselect.numerics.losses import Loss

# Margins up to this size count as wrong. Near K = I the approximated predictions are close to zero, and their signs
# are the signs of the labels that they were trained on.
NO_MARGIN = 1e-9


@criterion("k-FBIF", paper="ijcai2018, section 4 (t-FBIF)")
def fast_cross_validation(
    path: NystromSeries,
    folds: Folds,
    *,
    c: float = 0.1,
    order: int = 1,
    rhs: RightSide = "exact",
    operator: Operator = "corrected",
    loss: Loss = "squared",
    average: Aggregation = "points",
) -> Array:
    r"""k-fold cross-validation from its first-order series, with c n Nystrom columns for the kernel in the inverse.

    ``f + eps Lt^{-1} [K (1_F u) / m - 2 lam f]`` on each fold F of m rows, eps = -m / (n - m), where Lt contains
    the Nystrom approximation of K. ``rhs: exact`` keeps K itself on the right-hand side, as printed in the paper;
    it grows without bound at small lam. ``rhs: nystrom`` approximates K there too; it collapses to the training
    error near K = I. ``operator: printed`` counts all rows in the operator of the hinge loss, as the paper prints
    it, not only those in the free zone. A score that overflows is infinite.
    """
    held = path.fbif(folds, c=c, order=order, rhs=rhs, operator=operator)
    held = np.where(np.abs(held) <= NO_MARGIN, 0.0, held) if loss == "zero-one" else held
    with np.errstate(over="ignore"):
        return fold_error(path, held, folds, loss, average)


@criterion("k-BIF", paper="ijcai2018, section 3 (t-BIF)")
def first_order_cross_validation(
    path: Series,
    folds: Folds,
    *,
    order: int = 1,
    loss: Loss = "squared",
    average: Aggregation = "points",
) -> Array:
    r"""k-fold cross-validation from its Taylor series of the first order, f + eps B with eps = -m / (n - m).

    ``B = L^{-1} [K (1_F u) / m - 2 lam f]`` with u = -V'(f); the paper misprints the minus as a plus. Unlike
    BIF-k-CV (icml2014) this criterion has no guard, as in the paper: near K = I it collapses to the training
    error.
    """
    return fold_error(path, path.bif(folds, order), folds, loss, average)


@criterion("GCV", paper="Craven and Wahba 1979; in none of the five papers")
def generalised_cross_validation(path: HatMatrix) -> Array:
    r"""Generalised cross-validation: (1/n) ||y - S y||^2 / (1 - tr(S) / n)^2 with the hat matrix S.

    This is leave-one-out with the mean leverage instead of each leverage S_ii. The leverages cost O(n^2) per ridge.
    A ridge is excluded if the condition number of the kernel matrix leaves fewer than three digits.
    """
    residual, rest = path.unexplained()
    freedom = rest.mean(axis=-1)
    if not freedom.min() > 0:
        raise TrialError("GCV divides by 1 - tr(S)/n, which is zero to rounding")
    return np.asarray(np.square(residual / freedom[:, None]).mean(axis=-1))


@criterion(
    "k-Newton", paper="in none of the papers: the limit of ijcai2018's series", weighted=True
)
def newton_cross_validation(
    path: NewtonStep, folds: Folds, *, loss: Loss = "squared", average: Aggregation = "points"
) -> Array:
    r"""k-fold cross-validation after one Newton step from the fit on all rows, its zones kept.

    The step minimises the objective without the fold under the assumption that V'' does not change. It is the limit
    of the series of k-BIF if that series converges. For the square loss the step is exact.
    """
    return fold_error(path, path.frozen_step(folds), folds, loss, average)
