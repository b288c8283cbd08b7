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
from kselect.search.training_context import TrainingContext

if TYPE_CHECKING:
    from kselect.numerics.scorers import HeldOutRows


def fold_errors(context: TrainingContext, method: Method, held: Sequence[Array]) -> Array:
    """Return the error on each fold, (n_ridges, k), from each target's held-out predictions (n_ridges, n).

    It is the mean loss of the fold's rows and of the targets, or the error of a scorer.
    """
    folds, scorer = context.folds(method.folds or 0), method.scorer
    if scorer is None:
        loss = LOSSES[method.loss]
        each = np.mean([loss(y, f) for y, f in zip(context.targets, held, strict=True)], axis=0)
        return np.stack([each[:, F].mean(axis=-1) for F in folds.members], axis=1)
    decisions = np.asarray(held)
    every = (scored_rows(context, method, decisions[:, i]) for i in range(decisions.shape[1]))
    return np.stack([scorer.errors(rows, folds) for rows in every])


def check_scorer(context: TrainingContext, method: Method) -> None:
    """Refuse a scorer that is not defined for perfect predictions, before the first matrix is computed."""
    if method.scorer is not None:
        perfect = scored_rows(context, method, context.targets)
        method.scorer.check(perfect, context.folds(method.folds or 0))


def scored_rows(context: TrainingContext, method: Method, decisions: Array) -> HeldOutRows:
    """Return all rows with their held-out decision values (q, n), as a scorer takes them."""
    from kselect.numerics.scorers import HeldOutRows

    assert method.scorer is not None
    # Rows on other machines are numbers only.
    known = len(context.X) == context.n
    X = context.X if known else np.arange(context.n)[:, None]
    return HeldOutRows(X, context.targets, decisions, context.task, method.scorer.labels)
