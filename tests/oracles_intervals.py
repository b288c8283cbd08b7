"""CV+ as it is defined: a model is retrained without every fold, and all n numbers are sorted for every new row."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import oracles

Array = oracles.Array


def fold_fits(
    K: Array, y: Array, folds: Sequence[oracles.Index], lam: float, bias: bool, per_fold: bool
) -> list[tuple[Array, float]]:
    """Return alpha (n,), zero on the fold, and b of the model trained without each fold."""
    n, found = len(y), []
    for F in folds:
        rest = oracles.without(F, n)
        gamma = oracles.fold_ridge(n, len(F), lam, per_fold)
        own, b = oracles.fit(K[np.ix_(rest, rest)], y[rest], gamma, bias)
        alpha = np.zeros(n)
        alpha[rest] = own
        found.append((alpha, b))
    return found


def mean_fits(fits: Sequence[list[tuple[Array, float]]], Ks: Sequence[Array]) -> list[Array]:
    """Return each fold's predictions for some rows: the mean over members, each with its own kernel."""
    folds = range(len(fits[0]))
    return [
        np.mean([K @ own[j][0] + own[j][1] for own, K in zip(fits, Ks, strict=True)], axis=0)
        for j in folds
    ]


def cv_plus(
    trained: Sequence[Array],
    new: Sequence[Array],
    y: Array,
    folds: Sequence[oracles.Index],
    level: float,
) -> list[tuple[float, float]]:
    """Return the interval of every new row from each fold's predictions for the training rows and the new ones."""
    n, a = len(y), 1.0 - level
    found = []
    for x in range(len(new[0])):
        low, high = [], []
        for F, here, there in zip(folds, trained, new, strict=True):
            for i in F.tolist():
                residual = abs(y[i] - here[i])
                low.append(there[x] - residual)
                high.append(there[x] + residual)
        # Away from whole numbers, so that the rounding of 1 - level does not matter.
        assert abs(a * (n + 1) - round(a * (n + 1))) > 1e-6
        lower, upper = math.floor(a * (n + 1)), math.ceil((1.0 - a) * (n + 1))
        found.append((sorted(low)[lower - 1], sorted(high)[upper - 1]))
    return found
