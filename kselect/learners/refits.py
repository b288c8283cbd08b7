r"""Held-out predictions for folds and for any other splits of the rows.

Folds have closed forms. A split whose training part is not the rest of the rows, such as a window of time, is
fitted on its own: a slice of the kernel matrix, with one factor for all ridges and targets. With ``ridge: fixed``
its ridge is that of all rows, ``n lam``, with ``per-fold`` that of its training rows.
"""

from __future__ import annotations

import numpy as np

from kselect.errors import ConfigError
from kselect.learners.base import Path
from kselect.learners.problem import Problem
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array
from kselect.numerics.splits import Splits


def held_out(path: Path, folds: Folds | Splits) -> Array:
    """Return the held-out prediction of each row, or of each test row in turn, (n_ridges, tested)."""
    if isinstance(folds, Folds):
        return path.held_out(folds)
    if folds.rounds:
        orders = np.split(folds.rows, len(folds.rounds))
        every = zip(folds.rounds, orders, strict=True)
        return np.concatenate([path.held_out(one)[:, order] for one, order in every], axis=1)
    problem = path.problem
    key = ("refits", problem.learn, problem.lams.tobytes(), problem.ridge, folds)
    found = problem.of_targets.once(key, lambda: refits(problem, folds))
    return np.asarray(found[problem.position])


def refits(problem: Problem, splits: Splits) -> Array:
    """Train on the training part of each split, and predict its test part: (targets, n_ridges, tested)."""
    if problem.learn is None or problem.columns is not None:
        raise ConfigError("splits that do not partition the rows need the whole kernel matrix")
    sides = problem.right_sides
    out = np.empty((len(sides), len(problem.lams), len(splits.rows)))
    for (train, test), at in zip(splits.pairs, splits.members, strict=True):
        part, K = problem.part(train), problem.K[np.ix_(test, train)]
        for target in range(len(sides)):
            fit = problem.learn(part.of_target(target, part.lams)).fit()
            out[target][:, at] = fit.alpha @ K.T + fit.bias[:, None]
    return out
