r"""Predictions of a choice for rows held out of its fit: their quality, and the probabilities calibrated on them.

Decision values come from exact k-fold cross-validation with the chosen kernel and ridge. Either the criterion has
computed them, or one more path of one kernel does. The same rows have made the choice, so that the quality is
slightly optimistic, the more so the fewer rows there are.

Probabilities come from Platt's sigmoid, restricted so that the likeliest class is always the predicted one:

    two classes:  p(f) = 1 / (1 + exp(-a f));   more:  p_c(f) = exp(a f_c) / sum_k exp(a f_k)

The one slope a >= 0 minimises the cross-entropy on the held-out decision values, against the smoothed targets of
Platt (1999): with n_c rows in a class, ``(n_c + 1) / (n_c + K)`` for the row's own class and ``1 / (n_c + K)`` for
each other class. The optimum is therefore finite even for separated classes. The problem is convex; Newton's
method with backtracking solves it in a few steps of O(K n) (Lin, Lin and Weng 2007).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits

from kselect.datasets.registry import Task
from kselect.errors import TrialError
from kselect.learners import LEARNERS
from kselect.learners.blocks import RowBlocks
from kselect.numerics.folds import Folds, draw_folds, stream
from kselect.numerics.linalg import Array, Index
from kselect.selection.engine import Selection, select, training_context

QualityMeasure = Literal["accuracy", "R2"]
FOLDS = 5
STEPS = 100
FLAT = 1e-12  # gradient, in units of the largest decision value
LEAST_SLOPE = 1e-6  # in these units: decision values without information still keep their order
ENOUGH = 1e-4  # share of the decrease predicted by the gradient
SHORTEST = 1e-10


@dataclass(frozen=True)
class Quality:
    """Accuracy or R2 of the held-out predictions, its spread over folds, and the value of a trivial predictor.

    The trivial predictor knows only the targets of all rows: it predicts the most frequent class, or the mean,
    whose R2 is 0.
    """

    measure: QualityMeasure
    value: float
    trivial: float
    spread: float
    folds: int

    @property
    def trivial_name(self) -> str:
        """The prediction of the trivial predictor in words."""
        return "the most frequent class" if self.measure == "accuracy" else "the mean"

    @property
    def text(self) -> str:
        """The measure, its spread and the trivial value: ``accuracy 0.97 held out (5 folds, ...); 0.63 by ...``."""
        return (
            f"{self.measure} {self.value:.4g} held out ({self.folds} folds, standard deviation "
            f"{self.spread:.2g}); {self.trivial:.4g} by always predicting {self.trivial_name}"
        )


class HeldOut:
    """Held-out predictions for a selection, and what follows from them, computed on first use.

    The folds are the criterion's own, or seeded random ones if it has none.
    """

    def __init__(
        self, selection: Selection, X: Array | RowBlocks, targets: Array, folds: Folds | None
    ) -> None:
        if folds is None:
            folds = draw_folds(len(X), min(FOLDS, len(X)), stream(selection.request.seed, "folds"))
        self.selection, self.X, self.targets, self.folds = selection, X, targets, folds

    @cached_property
    def decisions(self) -> Array:
        """Decision values (q, n) of each row by the fit on the other folds, for the chosen candidate."""
        selection, folds, count = self.selection, self.folds, len(self.targets)
        if selection.held_out is not None:
            return selection.held_out
        context = training_context(self.X, self.targets, selection.request, lambda _: folds)
        lams = np.array([selection.lam])
        problem = context.problem(selection.kernel, lams)
        learner, params = LEARNERS[context.learner.name], dict(context.learner.params)
        with threadpool_limits(1):
            paths = (learner.path(problem.of_target(t, lams), **params) for t in range(count))
            return np.array([path.held_out(folds)[0] for path in paths])

    @cached_property
    def surface(self) -> Array:
        """The criterion at every candidate: what the search knows, else the scores of a search over the grid."""
        selection = self.selection
        if selection.work is None:
            return selection.scores
        request = replace(selection.request, search="grid")
        scores = select(self.X, self.targets, request, self.folds).scores
        scores[selection.position] = selection.score
        return scores

    @property
    def quality(self) -> Quality:
        """Accuracy or R2 of the decision values."""
        return quality_of(self.decisions, self.targets, self.selection.request.task, self.folds)

    @cached_property
    def slope(self) -> float:
        """The slope that turns decision values into probabilities."""
        return fit_slope(self.decisions, self.targets)


# --- quality ----------------------------------------------------------------------------------------


def quality_of(decisions: Array, targets: Array, task: Task, folds: Folds) -> Quality:
    """Return the accuracy or R2 of (q, n) held-out decision values.

    R2 is the mean over rows of ``1 - (y_i - f_i)^2 / var(y)``, averaged over the targets.
    """
    if task == "regression":
        variance = targets.var(axis=1, keepdims=True)
        rows = (1.0 - np.square(targets - decisions) / variance).mean(axis=0)
        trivial = 0.0
    else:
        truth = codes(targets)
        rows = (codes(decisions) == truth).astype(np.float64)
        trivial = float(np.bincount(truth).max()) / folds.n
    each = [float(rows[F].mean()) for F in folds.members]
    return Quality(
        "R2" if task == "regression" else "accuracy",
        float(rows.mean()),
        trivial,
        float(np.std(each, ddof=1)),
        len(each),
    )


def codes(values: Array) -> Index:
    """Return the class of each row from (q, n) decision values: the sign of one, the largest of several."""
    found = values[0] > 0 if len(values) == 1 else values.argmax(axis=0)
    return np.asarray(found, dtype=np.intp)


# --- probabilities ----------------------------------------------------------------------------------


def probabilities(slope: float, decisions: Array) -> Array:
    """Return (rows, classes) probabilities from (rows, q) decision values; the first largest is the prediction."""
    from scipy.special import softmax  # slow to import

    likely: Array = softmax(slope * per_class(decisions.T), axis=0).T
    predicted = codes(decisions.T)
    # Decision values may differ by less than probabilities can show: there the prediction gets the last bit.
    rows = np.flatnonzero(likely.argmax(axis=1) != predicted)
    likely[rows, predicted[rows]] = np.nextafter(likely[rows].max(axis=1), 2.0)
    return likely


def per_class(values: Array) -> Array:
    """Return one row of values per class: for two classes, f / 2 for the second and its negative for the first."""
    return np.concatenate([-0.5 * values, 0.5 * values]) if len(values) == 1 else values


def fit_slope(decisions: ArrayLike, targets: ArrayLike) -> float:
    """Return the slope for held-out decision values (q, n) with their targets (q, n) of -1 and +1."""
    F, Y = np.asarray(decisions, dtype=np.float64), np.asarray(targets, dtype=np.float64)
    if F.ndim != 2 or F.shape != Y.shape or not F.size:
        raise ValueError(f"decisions of shape {F.shape} for targets of {Y.shape}")
    if not np.isfinite(F).all():
        raise TrialError("no probabilities: a held-out decision value is not finite")
    unit = float(np.abs(F).max()) or 1.0
    mine = per_class(Y) > 0
    total = mine.sum(axis=1) + len(mine)
    own = total[mine.argmax(axis=0)]
    return minimise(per_class(F / unit), np.where(mine, own - len(mine) + 1.0, 1.0) / own) / unit


def minimise(F: Array, T: Array) -> float:
    """Minimise the cross-entropy against targets T by Newton's method, from slope 0."""
    from scipy.special import softmax  # slow to import

    a, value = 0.0, cross_entropy(0.0, F, T)
    for _ in range(STEPS):
        p = softmax(a * F, axis=0)
        gradient = float(((p - T) * F).sum(axis=0).mean())
        mean = (p * F).sum(axis=0)
        curvature = float((p * np.square(F - mean)).sum(axis=0).mean())
        if abs(gradient) <= FLAT or curvature == 0.0:
            break
        step, length = -gradient / curvature, 1.0
        while length >= SHORTEST:
            reached = cross_entropy(a + length * step, F, T)
            if reached < value + ENOUGH * length * step * gradient:
                break
            length /= 2.0
        else:  # rounding hides any further descent
            break
        a, value = a + length * step, reached
    return max(a, LEAST_SLOPE)


def cross_entropy(a: float, F: Array, T: Array) -> float:
    """Return ``-mean_i sum_c T_ci log p_c(f_i)``."""
    from scipy.special import logsumexp  # slow to import

    z = a * F
    return float((logsumexp(z, axis=0) - (T * z).sum(axis=0)).mean())
