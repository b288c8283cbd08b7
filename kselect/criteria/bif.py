"""BIF-k-CV: cross-validation from the Bouligand influence function (icml2014), and probes of its error."""

from __future__ import annotations

import numpy as np

from kselect.criteria.base import Aggregation, Guarded, criterion, fold_error, probe
from kselect.learners.base import Problem, Series
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array
from kselect.numerics.losses import Loss

NEAR_IDENTITY = "the kernel matrix is near the identity"
RATE = "the series' rate reaches the cap"


def distance_to_identity(problem: Problem) -> float:
    r"""Return ``||R - I||_F / n`` with ``R_ij = K_ij / sqrt(K_ii K_jj)`` (icml2014, footnote 2), computed once."""
    squares = problem.of_kernel.once("off the diagonal", problem.matrix.off_diagonal_squares)
    return float(np.sqrt(squares)) / problem.n


def guards(path: Series, folds: Folds, *, identity: float, cap: float, **_: object) -> Guarded:
    """Return the ridges that each guard excludes; the first guard depends only on K, a limit of 0 lifts it."""
    near = identity > 0 and distance_to_identity(path.problem) <= identity
    everywhere = np.full(len(path.problem.lams), near)
    return {NEAR_IDENTITY: everywhere, RATE: path.interpolating(folds, cap)}


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
    r"""k-fold cross-validation from a Taylor series of the given order, f + b + sum_s eps^s h_s / s!.

    Each held-out prediction is expanded around the fit on all rows, with eps = -m / (n - m) for a fold of m rows.
    Near K = I low orders collapse to the training error. There the sign of the prediction, ``y / (1 +
    gamma)^{t+1}``, is right at every order, although cross-validation knows nothing of y. The score is therefore
    infinite "if the kernel matrix is near identity" (footnote 2 of the paper, which gives no number). Here this
    means ``||K - I||_F / n <= identity`` with K scaled to a unit diagonal; ``identity: 0`` lifts the guard.
    ``cap`` is a second guard, off by default: the score is infinite if the rate of the series, max_F
    lambda_max(S_FF), reaches it.
    """
    scores = fold_error(path, path.bif(folds, order), folds, loss, average)
    acts = guards(path, folds, identity=identity, cap=cap)
    return np.where(np.any(list(acts.values()), axis=0), np.inf, scores)


@probe("bif-discrepancy", paper="icml2014, figure 1")
def discrepancy(path: Series, folds: Folds, *, order: int = 3) -> Array:
    r"""Mean square difference of the held-out predictions: order-t series against exact k-fold retraining."""
    return np.asarray(np.square(path.bif(folds, order) - path.held_out(folds)).mean(axis=-1))


@probe("bif-rate", paper="its theory; none of the papers shows it")
def rate(path: Series, folds: Folds) -> Array:
    r"""Convergence rate of the series, for the square loss max_F lambda_max(S_FF): the gain per order."""
    return path.rates(folds)
