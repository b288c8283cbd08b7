"""The error of a cross-validation on each of its folds, from the held-out predictions of all targets.

It serves scikit-learn's scorers, which need all targets of a row together, and the scores of single folds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from kselect.core.method import Method
from kselect.numerics.linalg import Array
from kselect.numerics.losses import LOSSES
from kselect.numerics.splits import tested_rows, weights_of
from kselect.numerics.weights import mean_loss
from kselect.search.training_context import TrainingContext

if TYPE_CHECKING:
    from kselect.numerics.scorers import HeldOutRows


def fold_errors(context: TrainingContext, method: Method, held: Sequence[Array]) -> Array:
    """Return the error on each fold, (n_ridges, k), from each target's held-out predictions (n_ridges, tested).

    It is the mean loss of the fold's rows and of the targets, or the error of a scorer.
    """
    folds, scorer = context.folds(method.folds or 0), method.scorer
    if scorer is None:
        loss, targets = LOSSES[method.loss], context.targets[:, tested_rows(folds)]
        weights = weights_of(folds, context.weights)
        each = np.mean([loss(y, f) for y, f in zip(targets, held, strict=True)], axis=0)
        return np.stack([mean_loss(each, weights, F) for F in folds.members], axis=1)
    decisions = np.asarray(held)
    every = (scored_rows(context, method, decisions[:, i]) for i in range(decisions.shape[1]))
    return np.stack([scorer.errors(rows, folds) for rows in every])


def check_scorer(context: TrainingContext, method: Method) -> None:
    """Refuse a scorer that is not defined for perfect predictions, before the first matrix is computed."""
    if method.scorer is not None:
        folds = context.folds(method.folds or 0)
        perfect = scored_rows(context, method, context.targets[:, tested_rows(folds)])
        method.scorer.check(perfect, folds)


def scored_rows(context: TrainingContext, method: Method, decisions: Array) -> HeldOutRows:
    """Return all held-out rows with their decision values (q, tested), as a scorer takes them.

    Several targets are in their own units, as scikit-learn's scorers see them.
    """
    from kselect.numerics.scorers import HeldOutRows

    assert method.scorer is not None
    # Rows on other machines are numbers only.
    known = len(context.X) == context.n
    X = context.X if known else np.arange(context.n)[:, None]
    folds = context.folds(method.folds or 0)
    rows, weights = tested_rows(folds), weights_of(folds, context.weights)
    unit = np.ones((1, 1)) if context.units is None else context.units[:, None]
    given = X[rows], unit * context.targets[:, rows], unit * decisions, context.task
    return HeldOutRows(*given, method.scorer.labels, weights)
