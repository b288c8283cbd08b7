r"""Predictions of a choice for rows held out of its fit: their quality, and the probabilities calibrated on them.

Decision values come from exact k-fold cross-validation with the chosen kernel and ridge. Either the criterion has
computed them, or one more path of one kernel does. The same rows have made the choice, so that the quality is
slightly optimistic, the more so the fewer rows there are.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from threadpoolctl import threadpool_limits

from kselect.core.grid_point import GridPoint
from kselect.datasets.registry import Task
from kselect.errors import ConfigError, TrialError
from kselect.learners import LEARNERS
from kselect.learners.blocks import RowBlocks
from kselect.learners.refits import held_out
from kselect.numerics.folds import Folds, draw_folds, stream
from kselect.numerics.linalg import Array
from kselect.numerics.sigmoid import codes, fit_slope
from kselect.numerics.splits import Splits, tested_rows, weights_of
from kselect.numerics.weights import Weights, mean_loss
from kselect.search.fold_errors import fold_errors
from kselect.search.grid import score_kernels
from kselect.search.training_context import TrainingContext
from kselect.selection.engine import select, support_of, training_context
from kselect.selection.intervals import NO_WEIGHTS, IntervalModel, interval_folds, interval_model
from kselect.selection.request import SCORED
from kselect.selection.result import Selection

QualityMeasure = Literal["accuracy", "R2"]
FOLDS = 5


@dataclass(frozen=True)
class Quality:
    """Accuracy or R2 of the held-out predictions, its spread over folds, and the value of a trivial predictor.

    The trivial predictor knows only the targets of all rows: it predicts the most frequent class, or the mean,
    whose R2 is 0. ``balanced`` is the mean accuracy of the classes, if these have weights. ``each`` has the R2 of
    several targets, whose mean is the value.
    """

    measure: QualityMeasure
    value: float
    trivial: float
    spread: float
    folds: int
    balanced: float | None = None
    each: tuple[float, ...] = ()

    @property
    def trivial_name(self) -> str:
        """The prediction of the trivial predictor in words."""
        return "the most frequent class" if self.measure == "accuracy" else "the mean"

    @property
    def text(self) -> str:
        """The measure, its spread and the trivial value: ``accuracy 0.97 held out (5 folds, ...); 0.63 by ...``."""
        more = "" if self.balanced is None else f", balanced accuracy {self.balanced:.4g}"
        if self.each:
            more = f"; {self.measure} of each target: {', '.join(f'{r2:.4g}' for r2 in self.each)}"
        return (
            f"{self.measure} {self.value:.4g} held out ({self.folds} folds, standard deviation "
            f"{self.spread:.2g}){more}; {self.trivial:.4g} by always predicting {self.trivial_name}"
        )


class HeldOut:
    """Held-out predictions for a selection or its average, and what follows from them, computed on first use.

    The folds are the criterion's own, or seeded random ones if it has none. ``given`` says that the user gave them.
    """

    def __init__(
        self,
        selection: Selection,
        X: Array | RowBlocks,
        targets: Array,
        folds: Folds | Splits | None,
        given: bool = False,
    ) -> None:
        if folds is None:
            folds = draw_folds(len(X), min(FOLDS, len(X)), stream(selection.request.seed, "folds"))
        self.selection, self.X, self.targets, self.folds = selection, X, targets, folds
        self.given = given

    @cached_property
    def decisions(self) -> Array:
        """Decision values (q, tested) of each held-out row by the fits without it: the mean of the members'."""
        if (known := self.selection.averaged) is not None:
            return known
        context = self.context(self.folds)
        with threadpool_limits(1):
            every = [self.held_out_at(context, one.point) for one in self.selection.members]
        return np.asarray(np.mean(every, axis=0))

    def context(self, folds: Folds | Splits) -> TrainingContext:
        """Return the input of the search, with some folds."""
        return training_context(self.X, self.targets, self.selection.request, lambda _: folds)

    def held_out_at(self, context: TrainingContext, point: GridPoint) -> Array:
        """Return the decision values (q, tested) of one candidate, in the units of the targets."""
        lams = np.array([point.lam])
        problem = context.problem(point.kernel, lams)
        learner, params = LEARNERS[context.learner.name], dict(context.learner.params)
        paths = (
            learner.path(problem.of_target(t, lams), **params) for t in range(len(self.targets))
        )
        values = np.array([held_out(path, self.folds)[0] for path in paths])
        return values if context.units is None else values * context.units[:, None]

    @cached_property
    def surface(self) -> Array:
        """The criterion at every candidate: what the search knows, else the scores of a search over the grid."""
        selection = self.selection
        if selection.work is None:
            return selection.scores
        request = replace(
            selection.request,
            search="grid",
            ensemble=1,
            growing=frozenset(),
            time_limit=None,
            metric="none",
        )
        scores = select(self.X, self.targets, request, self.folds).scores
        scores[selection.position] = selection.score
        scores[np.isposinf(selection.scores)] = np.inf
        return scores

    @cached_property
    def by_fold(self) -> Array | None:
        """The criterion on each fold, (kernels, ridges, k); None unless it is k-CV. Cost: a search over the grid.

        A candidate without held-out predictions is not a number.
        """
        request = self.selection.request
        method, folds = request.method, self.folds
        if method.criterion != SCORED or method.search:
            return None
        shape = len(request.kernels), len(request.lams), len(folds.members)
        found = np.full(shape, np.nan)
        context = replace(self.context(folds), keeps_held_out=True)
        # The scores are known: only the held-out predictions are asked for.
        plain = replace(method.with_params(loss="squared"), scorer=None)
        with threadpool_limits(1):
            for i, visit in enumerate(score_kernels(context, (plain,), request.n_jobs)):
                held = visit.held_out.get(plain, ())
                for j in range(shape[1]) if held else ():
                    with suppress(TrialError):
                        one = [each[[j]] for each in held]
                        found[i, j] = fold_errors(context, method, one)[0]
        found[np.isposinf(self.selection.scores)] = np.nan
        return found

    @cached_property
    def intervals(self) -> IntervalModel:
        """The fits without each fold, and their held-out errors, with folds for intervals."""
        selection = self.selection
        folds = interval_folds(self.check_intervals(), self.given)
        points = [(one.point.kernel, one.point.lam) for one in selection.members]
        with threadpool_limits(1):
            return interval_model(self.context(folds), selection.request, points, folds)

    def check_intervals(self) -> Folds:
        """Return the folds; refuse what intervals do not work with."""
        if not isinstance(self.folds, Folds):
            raise ConfigError("intervals need folds that hold out every row once")
        if self.selection.request.weights is not None:
            raise ConfigError(NO_WEIGHTS)
        return self.folds

    def intervals_without(self, level: float) -> Array:
        """Return the interval (n, q, 2) of each row by CV+ on the rows of the other folds, as if it were new.

        The fits of an interval are trained without one fold each, so that they have seen nearly all training
        rows; their intervals would cover these too often. Cost: ``intervals`` once per fold.
        """
        selection, folds, X = self.selection, self.check_intervals(), self.X
        if not isinstance(X, np.ndarray):
            raise ConfigError("intervals of held-out rows need the rows in memory")
        points = [(one.point.kernel, one.point.lam) for one in selection.members]
        bounds = np.empty((folds.n, len(self.targets), 2))
        for F in folds.members:
            rest = np.delete(np.arange(folds.n), F)
            numbers = np.unique(folds.numbers[rest], return_inverse=True)[1]
            inner = interval_folds(Folds.from_numbers(numbers), self.given)
            part = HeldOut(selection, X[rest], self.targets[:, rest], inner, self.given)
            context = part.context(inner)
            with threadpool_limits(1):
                model = interval_model(context, selection.request, points, inner)
            support = support_of(context, points[0][0]) if context.columns else None
            bounds[F] = model.bounds(X[rest] if support is None else support, X[F], level)
        return bounds

    @property
    def quality(self) -> Quality:
        """Accuracy or R2 of the decision values."""
        request = self.selection.request
        return quality_of(self.decisions, self.targets, request.task, self.folds, request.weights)

    @cached_property
    def slope(self) -> float:
        """The slope that turns decision values into probabilities."""
        weights = weights_of(self.folds, self.selection.request.weights)
        return fit_slope(self.decisions, self.targets[:, tested_rows(self.folds)], weights)


# --- quality ----------------------------------------------------------------------------------------


def quality_of(
    decisions: Array,
    targets: Array,
    task: Task,
    folds: Folds | Splits,
    weights: Weights | None = None,
) -> Quality:
    """Return the accuracy or R2 of (q, tested) held-out decision values.

    R2 is the mean over rows of ``1 - (y_i - f_i)^2 / var(y)``, averaged over the targets. All means are weighted by
    the weights of rows, but not by those of classes; with these, the accuracy of each class counts the same in
    ``balanced``.
    """
    by_class = weights is not None and weights.by_class
    weights = weights_of(folds, weights and weights.reported)
    targets, balanced = targets[:, tested_rows(folds)], None
    every = row_qualities(decisions, targets, task, variance_of(targets, weights))
    rows, trivial = every.mean(axis=0), 0.0
    by_target = tuple(mean_loss(every, weights).tolist()) if len(every) > 1 else ()
    if task == "classification":
        truth = codes(targets)
        trivial = max(float(mean_loss(truth == c, weights)) for c in np.unique(truth))
        if by_class:
            each_class = [np.flatnonzero(truth == c) for c in np.unique(truth)]
            balanced = float(np.mean([mean_loss(rows, weights, own) for own in each_class]))
    each = [float(mean_loss(rows, weights, F)) for F in folds.members]
    return Quality(
        "R2" if task == "regression" else "accuracy",
        float(mean_loss(rows, weights)),
        trivial,
        float(np.std(each, ddof=1)) if len(each) > 1 else 0.0,
        len(each),
        balanced,
        by_target,
    )


def variance_of(targets: Array, weights: Weights | None) -> Array:
    """Return the weighted variance of each target (q, rows)."""
    centred = targets - mean_loss(targets, weights)[:, None]
    return mean_loss(np.square(centred), weights)


def row_qualities(
    decisions: Array, targets: Array, task: Task, variance: Array | None = None
) -> Array:
    """Return what each row contributes to the quality, from decision values and targets (q, rows).

    Of classes, it is 1 for the right one and 0 for a wrong one (1, rows); of each target, ``1 - (y_i - f_i)^2 /
    variance`` (q, rows). Default: the variance of these rows.
    """
    if task == "classification":
        return np.asarray(codes(decisions) == codes(targets), dtype=np.float64)[None]
    variance = variance_of(targets, None) if variance is None else variance
    return np.asarray(1.0 - np.square(targets - decisions) / variance[:, None])
