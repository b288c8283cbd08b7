"""Small problems for the searches of flkl2014, and their outer objective by retraining."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from oracles_flkl import Array, Index, differences, fit, kernel

from kselect.numerics.folds import Folds, draw_folds
from kselect.search.continuous import Solution, Unit
from kselect.search.first_level import Inner, settle
from kselect.search.flkl import OuterProblem, flkl
from kselect.search.quasi_newton import minimise


def rows(n: int, d: int, seed: int = 0) -> tuple[Array, Array]:
    """Return centred rows; the label depends on the first feature and, less, on the second."""
    rng = np.random.default_rng([n, d, seed])
    X = rng.normal(size=(n, d))
    signal = np.sin(2.0 * X[:, 0]) + (0.5 * X[:, 1] if d > 1 else 0.0)
    y = np.where(signal + 0.4 * rng.normal(size=n) > 0, 1.0, -1.0)
    return X - X.mean(axis=0), y


def problem(n: int = 80, d: int = 4) -> tuple[Array, Array, Folds]:
    """Return z-scored rows of which one or two features are relevant."""
    X, y = rows(n, d)
    return X / X.std(axis=0, ddof=1), y, draw_folds(n, 5, np.random.default_rng(n))


def solved(
    X: Array,
    y: Array,
    folds: Folds,
    *,
    ard: bool = True,
    start: Solution | None = None,
    by: Callable[[OuterProblem], Solution] = flkl,
) -> Solution:
    """Return the solution of a first-level search, started from RBF-XVAL's solution by default."""
    start = start or minimise(X, y, folds)
    return by(OuterProblem.of(X, y, folds, start, ard=ard))


def outer(
    X: Array,
    y: Array,
    folds: Folds,
    at: Array,
    start: Array,
    *,
    ard: bool,
    absolute: bool = False,
) -> float:
    """Return the mean squared error of retrained models whose widths are searched again in every fold.

    Several targets (n, q) share the widths of a fold.
    """
    unit = Unit.of(X, y, absolute=absolute)
    widths, Y = unit.widths(ard=ard), y.reshape(len(y), -1)
    errors = np.empty_like(Y)

    def gram(rows: Index, columns: Index, theta: Array) -> Array:
        how = {"one": not ard, "absolute": absolute}
        return kernel(differences(unit.X[rows], unit.X[columns], **how), theta)

    for F in folds.members:
        rest = np.setdiff1d(np.arange(len(y)), F)
        lam, mu = np.exp(at).tolist()
        theta = settle(Inner(widths.part(rest, rest), y[rest], lam, mu), start).theta
        for t, target in enumerate(Y.T):
            alpha, b = fit(gram(rest, rest, theta), target[rest], lam)
            errors[F, t] = target[F] - gram(F, rest, theta) @ alpha - b
    return float(np.mean(errors**2))
