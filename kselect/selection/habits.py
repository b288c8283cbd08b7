"""What scikit-learn's users write by habit, in this project's words: kernels, ``gamma``, ``scoring``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kselect.errors import ConfigError, nearest, quoted
from kselect.grids import parse_grid
from kselect.kernels import Kernel, Points
from kselect.numerics.linalg import Array
from kselect.selection.request import Grid, as_plain, make_kernels

ALIASES = {"rbf": "gaussian", "poly": "polynomial"}
PRECOMPUTED = "precomputed"
# gamma of exp(-gamma ||x - z||^2) and of exp(-gamma ||x - z||_1) -> our parameter of the same kernel.
OF_GAMMA = {"gaussian": ("tau", 0.5), "laplacian": ("width", 1.0)}
SCORINGS = {
    "accuracy": "zero-one",
    "neg_mean_squared_error": "squared",
    "neg_root_mean_squared_error": "squared",
    "r2": "squared",
}


@dataclass(frozen=True)
class Precomputed(Kernel):
    """A kernel matrix that somebody else has computed: rows are their kernel values against the training rows."""

    name = PRECOMPUTED

    def gram(self, points: Points) -> Array:
        """The rows as they are."""
        return points.X.copy()


def require_text(**given: Any) -> None:
    """A clear word where something else than a name stands."""
    for key, value in given.items():
        if isinstance(value, str):
            continue
        hint = ""
        if key == "kernel" and callable(value):
            hint = "; compute the matrix and pass kernel='precomputed'"
        shown = "a function" if callable(value) else quoted(value)
        raise ConfigError(f"{key} must be a name as text, not {shown}{hint}")


def require_mapping(**given: Any) -> None:
    """A clear word where something else than a dict stands."""
    for key, value in given.items():
        if value is not None and not isinstance(value, Mapping):
            raise ConfigError(f"{key} must be a dict, not {quoted(value)}")


def make_asked_kernels(
    name: str, grids: Mapping[str, Grid | None], gamma: Any, X: Array
) -> tuple[Kernel, ...]:
    """The kernels of a name, ours or scikit-learn's, over the grids that were asked for."""
    if name == PRECOMPUTED:
        if X.shape[0] != X.shape[1]:
            raise ConfigError(f"kernel='precomputed' needs a square matrix, not {X.shape}")
        if not np.allclose(X, X.T, rtol=1e-8, atol=1e-8 * float(np.abs(X).max())):
            raise ConfigError("kernel='precomputed' needs a symmetric matrix")
        if gamma is not None or any(as_plain(g) not in (None, "auto") for g in grids.values()):
            raise ConfigError("kernel='precomputed' has no parameter")
        return (Precomputed(),)
    ours = ALIASES.get(name, name)
    if gamma is None:
        return make_kernels(ours, grids, X)
    if ours not in OF_GAMMA:
        raise ConfigError(f"the {ours} kernel has no gamma; {' and '.join(OF_GAMMA)} have")
    key, factor = OF_GAMMA[ours]
    if as_plain(grids.get(key)) not in (None, "auto"):
        raise ConfigError(f"gamma and {key} say the same thing: leave one of the two out")
    values = tuple(factor / value for value in gammas(gamma, X))
    return make_kernels(ours, {**grids, key: values}, X)


def gammas(gamma: Any, X: Array) -> tuple[float, ...]:
    """``"scale"`` and ``"auto"`` as SVC means them, or a grid."""
    if isinstance(gamma, str) and gamma in ("scale", "auto"):
        spread = float(X.var()) if gamma == "scale" else 1.0
        return (1.0 / (X.shape[1] * (spread or 1.0)),)
    try:
        values = parse_grid(as_plain(gamma))
    except ConfigError as error:
        raise ConfigError(f"gamma: {error}") from None
    if min(values) <= 0:
        raise ConfigError(f"gamma must be positive, not {min(values):g}")
    return values


def in_gamma(kernel: Kernel) -> dict[str, float]:
    """The kernel's parameter as gamma."""
    key, factor = OF_GAMMA[kernel.name]
    return {"gamma": factor / kernel.parameters[key]}


def loss_of(scoring: str | None, loss: str | None, classification: bool) -> str | None:
    """The loss that a scorer's name asks for."""
    if scoring is None:
        return loss
    if loss is not None:
        raise ConfigError("scoring and loss say the same thing: leave one of the two out")
    if callable(scoring) or scoring not in SCORINGS:
        shown = "a function" if callable(scoring) else quoted(scoring)
        hint = nearest(str(scoring), SCORINGS)
        raise ConfigError(f"scoring: {shown} has no closed form here{hint}")
    if (scoring == "accuracy") is not classification:
        task = "classification" if classification else "regression"
        raise ConfigError(f"scoring: {scoring!r} is not for {task}")
    return SCORINGS[scoring]


def as_scored(scores: Array, scoring: str | None, targets: Array) -> Array:
    """Criterion values in the units of a scorer, greater is better; without one their negative."""
    if scoring == "accuracy":
        return 1.0 - scores
    if scoring == "neg_root_mean_squared_error":
        return -np.sqrt(scores)
    if scoring == "r2":
        return 1.0 - scores / float(targets.var(axis=1).mean())
    return -scores
