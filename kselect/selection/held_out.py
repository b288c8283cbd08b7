r"""What the choice predicts for rows that its fit has not seen, and how good that is.

The decision values are those of exact k-fold cross-validation at the chosen place: those that the criterion has
made there, or one more path of one kernel.
They judge a choice that the same rows have made: a little too kindly, the more so the fewer rows there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from threadpoolctl import threadpool_limits

from kselect.datasets.registry import Task
from kselect.learners import find_learner
from kselect.numerics.folds import Folds, draw_folds, stream
from kselect.numerics.linalg import Array, Index
from kselect.selection.calibration import fit_slope
from kselect.selection.engine import Selection, training_side

Measure = Literal["accuracy", "R2"]
FOLDS = 5


@dataclass(frozen=True)
class Quality:
    """A measure of the held-out predictions of all rows, that of the trivial ones, and the spread over folds.

    The trivial predictor knows the targets alone: the most frequent class, or the mean, of the other folds.
    """

    measure: Measure
    value: float
    trivial: float
    spread: float
    folds: int

    @property
    def text(self) -> str:
        """``accuracy 0.97 held out (5 folds, standard deviation 0.01); 0.63 for the most frequent class``."""
        trivial = "the most frequent class" if self.measure == "accuracy" else "the mean"
        return (
            f"{self.measure} {self.value:.4g} held out ({self.folds} folds, standard deviation "
            f"{self.spread:.2g}); {self.trivial:.4g} for {trivial} alone"
        )


class HeldOut:
    """The held-out decision values of a selection and the slope of its probabilities, computed when asked for."""

    def __init__(self, found: Selection, X: Array, targets: Array, folds: Folds | None) -> None:
        self.found, self.X, self.targets, self.folds = found, X, targets, folds

    @cached_property
    def decisions(self) -> Array:
        """(q, n)."""
        folds = folds_for(self.found, len(self.X), self.folds)
        return held_out_decisions(self.found, self.X, self.targets, folds)

    @cached_property
    def slope(self) -> float:
        """What turns decision values into probabilities."""
        return fit_slope(self.decisions, self.targets)


def folds_for(found: Selection, n: int, folds: Folds | None) -> Folds:
    """The criterion's own folds, or seeded random ones where it has none."""
    if folds is not None:
        return folds
    return draw_folds(n, min(FOLDS, n), stream(found.request.seed, "folds"))


def held_out_decisions(found: Selection, X: Array, targets: Array, folds: Folds) -> Array:
    """(q, n): each row's decision values by the fit on the other folds, at the place that was chosen.

    ``folds`` are the criterion's own where it has some.
    """
    if found.held_out is not None:
        return found.held_out
    side = training_side(X, targets, found.request, folds)
    problem, lams = side.problem(found.kernel), np.array([found.lam])
    learner, params = find_learner(found.request.learner.name), dict(found.request.learner.params)
    with threadpool_limits(1):
        paths = (learner.path(problem.of_target(t, lams), **params) for t in range(len(targets)))
        return np.array([path.held_out(folds)[0] for path in paths])


def quality_of(decisions: Array, targets: Array, task: Task, folds: Folds) -> Quality:
    """Accuracy or R2 of (q, n) held-out decision values."""
    if task == "regression":
        trivial = np.stack([mean_of_others(y, folds) for y in targets])
        return summary("R2", explained(decisions, targets), explained(trivial, targets), folds)
    truth = codes(targets)
    hits = np.asarray(codes(decisions) == truth, dtype=np.float64)
    trivial = np.asarray(most_frequent(truth, folds) == truth, dtype=np.float64)
    return summary("accuracy", hits, trivial, folds)


def summary(measure: Measure, rows: Array, trivial: Array, folds: Folds) -> Quality:
    """The mean of each row's share in a measure, and the standard deviation of the folds' means."""
    each = [float(rows[F].mean()) for F in folds.members]
    return Quality(
        measure, float(rows.mean()), float(trivial.mean()), float(np.std(each, ddof=1)), len(each)
    )


def explained(predicted: Array, targets: Array) -> Array:
    """(n,): ``1 - (y_i - f_i)^2 / var(y)``, whose mean over rows is R2; the mean over targets."""
    variance = targets.var(axis=1, keepdims=True)
    return np.asarray((1.0 - np.square(targets - predicted) / variance).mean(axis=0))


def mean_of_others(y: Array, folds: Folds) -> Array:
    """(n,): the mean of all folds but a row's own."""
    n, sizes = len(y), np.array([len(F) for F in folds.members])
    sums = np.array([y[F].sum() for F in folds.members])
    return np.asarray(((sums.sum() - sums) / (n - sizes))[folds.numbers])


def most_frequent(truth: Index, folds: Folds) -> Index:
    """(n,): the most frequent class of all folds but a row's own."""
    total = np.bincount(truth)
    mine = [np.bincount(truth[F], minlength=len(total)) for F in folds.members]
    return np.array([(total - counts).argmax() for counts in mine], dtype=np.intp)[folds.numbers]


def codes(values: Array) -> Index:
    """(n,): the class of each row by (q, n) decision values: the sign of one, the largest of several."""
    found = values[0] > 0 if len(values) == 1 else values.argmax(axis=0)
    return np.asarray(found, dtype=np.intp)
