r"""Prediction intervals of a regression: CV+, and Jackknife+ for few rows.

Barber, Candes, Ramdas and Tibshirani 2021. With the fits ``f_-F`` without each fold F and the residuals
``R_i = |y_i - f_-F(i)(x_i)|`` of the n training rows, the interval at the level 1 - a for new features x is

    lower:  the floor(a (n + 1))-th smallest of f_-F(i)(x) - R_i
    upper:  the ceil((1 - a) (n + 1))-th smallest of f_-F(i)(x) + R_i

If the rows are exchangeable, it covers the target with a probability of at least 1 - 2a (less a term for few
folds), and of about 1 - a in practice. Jackknife+ is the case of one row per fold.

The kernel and the ridge, and everything else that the selection has chosen on all rows, are held fixed: only the
coefficients are fitted without a fold. They come from the fit on all rows in closed form for the square loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil

import numpy as np

from kselect.errors import ConfigError
from kselect.kernels import Kernel, Points
from kselect.learners import LEARNERS
from kselect.learners.base import Fit, WithoutFolds
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array, Index, Mask
from kselect.numerics.splits import Splits
from kselect.search.training_context import TrainingContext
from kselect.selection.columns import passes_for_choice
from kselect.selection.request import Request

NO_WEIGHTS = (
    "intervals take no weights: CV+ counts the held-out error of each row the same, as rows are exchangeable only "
    "without weights"
)
# With fewer rows than this, each row is left out on its own.
JACKKNIFE_BELOW = 200
# The entries of a block of new rows against the training rows.
ENTRIES = 2**22


@dataclass(frozen=True, eq=False)
class HeldOutErrors:
    """The absolute held-out errors (q, n) of the training rows, with the fold of each row (n,)."""

    sizes: Array
    numbers: Index

    def bounds(self, values: Array, level: float) -> Array:
        """Return the intervals (rows, q, 2) at a level; ``values`` (k, rows, q) are the folds' predictions."""
        return np.stack(
            [
                plus_bounds(values[:, :, t], sizes, self.numbers, level)
                for t, sizes in enumerate(self.sizes)
            ],
            axis=1,
        )


def interval_folds(folds: Folds | Splits, given: bool) -> Folds:
    """Return the folds of an interval: single rows for few rows, unless the folds were ``given`` by the user."""
    if isinstance(folds, Splits):
        raise ConfigError(
            "intervals need folds that hold every row out once, not repeated folds or windows of time"
        )
    if given or folds.n >= JACKKNIFE_BELOW:
        return folds
    return Folds.from_numbers(np.arange(folds.n))


@dataclass(frozen=True, eq=False)
class FoldModels:
    """The fits without each fold of one kernel and ridge: ``fits[t][j]`` of target t without fold j.

    ``held_out`` (q, n) are the predictions of each row by the fit without its fold. Several targets are in their
    own units.
    """

    fits: tuple[tuple[Fit, ...], ...]
    held_out: Array


def leave_out(context: TrainingContext, kernel: Kernel, lam: float, folds: Folds) -> FoldModels:
    """Return the fits without each fold; a learner that does not know them is a ConfigError."""
    learner, params = LEARNERS[context.learner.name], dict(context.learner.params)
    lams = np.array([lam])
    problem = context.problem(kernel, lams)
    fits, held_out = [], []
    for t in range(len(context.targets)):
        path = learner.path(problem.of_target(t, lams), **params)
        if not isinstance(path, WithoutFolds):
            raise ConfigError(
                f"the learner {learner.name} has no fits without a fold: no intervals"
            )
        unit = 1.0 if context.units is None else float(context.units[t])
        fits.append(tuple(Fit(f.alpha * unit, f.bias * unit) for f in path.fold_fits(folds)))
        held_out.append(path.held_out(folds)[0] * unit)
    return FoldModels(tuple(fits), np.array(held_out))


@dataclass(frozen=True, eq=False)
class IntervalModel:
    """The input of intervals: the fits without each fold of every kernel that is averaged, and the held-out errors.

    ``members`` has each kernel's fits: target t without fold j is ``fits[t][j]``.
    """

    members: tuple[tuple[Kernel, tuple[tuple[Fit, ...], ...]], ...]
    errors: HeldOutErrors

    @property
    def folds(self) -> int:
        """The number of folds."""
        return len(self.members[0][1][0])

    @property
    def name(self) -> str:
        """The name of the method in words."""
        each = self.folds == len(self.errors.numbers)
        return "Jackknife+, one row left out" if each else f"CV+, {self.folds} folds"

    def at(self, used: Mask) -> IntervalModel:
        """Return the same with the coefficients of some rows; all others are zero."""
        members = tuple(
            (k, tuple(tuple(Fit(f.alpha[:, used], f.bias) for f in own) for own in fits))
            for k, fits in self.members
        )
        return IntervalModel(members, self.errors)

    def bounds(self, support: Array, X: Array, level: float) -> Array:
        """Return the intervals (rows, q, 2) of prepared rows; the fits have coefficients at ``support``."""
        rank(level, len(self.errors.numbers))
        step = max(1, ENTRIES // max(len(support), len(self.errors.numbers)))
        blocks = (X[start : start + step] for start in range(0, len(X), step))
        every = [self.errors.bounds(self.values(support, block), level) for block in blocks]
        return np.concatenate([np.empty((0, len(self.errors.sizes), 2)), *every])

    def values(self, support: Array, X: Array) -> Array:
        """Return the predictions (k, rows, q) of prepared rows without each fold: the means over the kernels."""
        points, total = Points(X, support), np.zeros(())
        for kernel, fits in self.members:
            alpha = np.stack([fit.alpha[0] for own in fits for fit in own], axis=1)
            bias = np.array([fit.bias[0] for own in fits for fit in own])
            total = total + kernel.gram(points) @ alpha + bias
        mean = total / len(self.members)
        return mean.reshape(len(X), -1, self.folds).transpose(2, 0, 1)


def interval_model(
    context: TrainingContext,
    request: Request,
    points: Sequence[tuple[Kernel, float]],
    folds: Folds,
) -> IntervalModel:
    """Return the fits without each fold of the kernels and ridges that are averaged."""
    models = []
    for kernel, lam in points:
        here = context
        if context.columns:
            columns = passes_for_choice(context.columns, request, kernel, lam)
            here = replace(context, columns=columns)
        models.append(leave_out(here, kernel, lam, folds))
    held_out = np.mean([one.held_out for one in models], axis=0)
    members = tuple((k, one.fits) for (k, _), one in zip(points, models, strict=True))
    units = 1.0 if context.units is None else context.units[:, None]
    errors = np.abs(context.targets * units - held_out)
    return IntervalModel(members, HeldOutErrors(errors, folds.numbers))


def rank(level: float, n: int) -> int:
    """Return ``ceil(level (n + 1))``, the rank of the upper bound, exactly for a level with few digits."""
    if not 0.0 < level < 1.0:
        raise ConfigError(f"an interval has a level between 0 and 1, such as 0.9, not {level:g}")
    found = ceil(Fraction(repr(float(level))) * (n + 1))
    if found > n:
        least = ceil(1 / (1 - Fraction(repr(float(level))))) - 1
        raise ConfigError(
            f"an interval at the level {level:g} needs {least} training rows or more; the model has {n}"
        )
    return found


def plus_bounds(values: Array, residuals: Array, numbers: Index, level: float) -> Array:
    """Return the intervals (rows, 2) of one target from the folds' predictions ``values`` (k, rows).

    The lower bound has the rank ``n + 1 - r`` among its n numbers if the upper one has the rank r.
    """
    n = len(residuals)
    upper, each = rank(level, n) - 1, values[numbers]
    low = np.partition(each - residuals[:, None], n - 1 - upper, axis=0)[n - 1 - upper]
    high = np.partition(each + residuals[:, None], upper, axis=0)[upper]
    return np.stack([low, high], axis=1)
