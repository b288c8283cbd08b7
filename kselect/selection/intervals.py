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

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

import numpy as np

from kselect.errors import ConfigError
from kselect.kernels import Kernel
from kselect.learners import LEARNERS
from kselect.learners.base import Fit, WithoutFolds
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array, Index
from kselect.search.training_context import TrainingContext

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


def interval_folds(folds: Folds, given: bool) -> Folds:
    """Return the folds of an interval: single rows for few rows, unless the folds were ``given`` by the user."""
    if given or folds.n >= JACKKNIFE_BELOW:
        return folds
    return Folds.from_numbers(np.arange(folds.n))


@dataclass(frozen=True, eq=False)
class FoldModels:
    """The fits without each fold of one kernel and ridge: ``fits[t][j]`` of target t without fold j.

    ``held_out`` (q, n) are the predictions of each row by the fit without its fold.
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
        fits.append(path.fold_fits(folds))
        held_out.append(path.held_out(folds)[0])
    return FoldModels(tuple(fits), np.array(held_out))


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
    n, rows = len(residuals), values.shape[1]
    upper = rank(level, n) - 1
    out = np.empty((rows, 2))
    step = max(1, ENTRIES // n)
    for start in range(0, rows, step):
        block = slice(start, start + step)
        each = values[numbers, block]
        low, high = each - residuals[:, None], each + residuals[:, None]
        out[block, 0] = np.partition(low, n - 1 - upper, axis=0)[n - 1 - upper]
        out[block, 1] = np.partition(high, upper, axis=0)[upper]
    return out
