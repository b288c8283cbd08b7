"""scikit-learn's terms: ``gamma``, ``scoring``, ``cv`` and ``groups`` translated; ``cv_results_`` and warnings."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kselect.errors import ConfigError, nearest, quoted
from kselect.kernels import Kernel, Points
from kselect.kernels.ard import FeatureWidths
from kselect.numerics.linalg import Array, Index
from kselect.numerics.weights import Weights, mean_loss
from kselect.selection.candidates.families import Candidates, Rows, family_names, make_candidates
from kselect.selection.defaults import AUTO
from kselect.selection.request import GridSpec, as_plain, parse_named_grid, positive
from kselect.selection.result import Selection

PRECOMPUTED = "precomputed"
# gamma of exp(-gamma ||x - z||^2) and of exp(-gamma ||x - z||_1) -> our parameter of the same kernel.
OF_GAMMA = {"gaussian": ("tau", 0.5), "laplacian": ("width", 1.0)}
SCORINGS = {
    "accuracy": "zero-one",
    "neg_mean_squared_error": "squared",
    "neg_root_mean_squared_error": "squared",
    "r2": "squared",
}
# A feature is too wide if both its standard deviation and its range exceed the median feature's by this factor.
# Standardised features share one deviation, those scaled to an interval share one range, and principal
# components of scaled features stay below the factor.
TOO_WIDE = 30.0


# --- kernels ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Precomputed(Kernel):
    """A kernel matrix computed by the user: each row holds its kernel values against the training rows."""

    name = PRECOMPUTED
    pairwise = True

    def gram(self, points: Points) -> Array:
        """Return the rows as they are."""
        return points.X.copy()


def make_named_candidates(
    kernel: str,
    grids: Mapping[str, GridSpec | None],
    gamma: Any,
    X: Array,
    targets: Array,
    columns: Index | None,
) -> Candidates:
    """Return the kernels of a name or several, ours or scikit-learn's, over the grids of their parameters."""
    rows = Rows(X, targets, columns)
    if kernel == PRECOMPUTED:
        if X.shape[0] != X.shape[1]:
            raise ConfigError(f"kernel='precomputed' needs a square matrix, not {X.shape}")
        if not np.allclose(X, X.T, rtol=1e-8, atol=1e-8 * float(np.abs(X).max())):
            raise ConfigError("kernel='precomputed' needs a symmetric matrix")
        if gamma is not None or any(as_plain(g) not in (None, AUTO) for g in grids.values()):
            raise ConfigError("kernel='precomputed' has no parameters: leave them out")
        return Candidates((Precomputed(),), frozenset())
    if gamma is None:
        return make_candidates(family_names(kernel, grids), grids, rows)
    names = ("gaussian",) if kernel == AUTO else family_names(kernel, {})
    if len(names) > 1 or names[0] not in OF_GAMMA:
        several = "several kernels have" if len(names) > 1 else f"the {names[0]} kernel has"
        raise ConfigError(f"{several} no gamma; {' and '.join(OF_GAMMA)} have")
    key, factor = OF_GAMMA[names[0]]
    if as_plain(grids.get(key)) not in (None, AUTO):
        raise ConfigError(f"gamma and {key} set the same parameter: leave one of them out")
    if isinstance(gamma, str) and gamma in ("scale", "auto"):  # as SVC defines them
        spread = float(X.var()) if gamma == "scale" else 1.0
        gammas: tuple[float, ...] = (1.0 / (X.shape[1] * (spread or 1.0)),)
    else:
        gammas = positive("gamma", parse_named_grid("gamma", gamma))
    return make_candidates(names, {**grids, key: tuple(factor / v for v in gammas)}, rows)


def column_numbers(given: Any, X: Array) -> Index | None:
    """Return the number of each feature's column; None if every feature is a column of its own."""
    if given is None:
        return None
    numbers = np.asarray(given)
    if numbers.shape != X.shape[1:] or numbers.dtype.kind not in "iu":
        raise ConfigError(f"feature_columns: write one whole number per feature ({X.shape[1]})")
    return numbers.astype(np.intp)


def check_names(estimator: Any) -> None:
    """Refuse names that are no text, and options that are no dictionary."""
    for name in ("learner", "criterion", "kernel"):
        if isinstance(value := getattr(estimator, name), str):
            continue
        shown = "a function" if callable(value) else quoted(value)
        hint = "; compute the matrix and pass kernel='precomputed'" if callable(value) else ""
        raise ConfigError(f"{name} must be a name as text, not {shown}{hint}")
    for name in ("params", "grids"):
        if not isinstance(value := getattr(estimator, name), Mapping | None):
            raise ConfigError(f"{name} must be a dict, not {quoted(value)}")
    if estimator.ridge not in ("fixed", "per-fold"):
        raise ConfigError(f"ridge: {estimator.ridge!r}; valid: fixed, per-fold")
    if estimator.nystrom is not None and estimator.kernel == PRECOMPUTED:
        what = "nystrom computes kernel columns from the rows"
        raise ConfigError(f"{what}: it cannot be used with kernel='precomputed'")


# --- scores -----------------------------------------------------------------------------------------


def loss_of(scoring: str | None, loss: str | None, classification: bool) -> str | None:
    """Return the loss that a scorer's name stands for, or ``loss`` without a scorer."""
    if scoring is None:
        return loss
    if loss is not None:
        raise ConfigError("scoring and loss set the same option: leave one of them out")
    if callable(scoring) or scoring not in SCORINGS:
        shown = "a function" if callable(scoring) else quoted(scoring)
        raise ConfigError(
            f"scoring: {shown} has no closed form here{nearest(str(scoring), SCORINGS)}"
        )
    if (scoring == "accuracy") is not classification:
        task = "classification" if classification else "regression"
        raise ConfigError(f"scoring: {scoring!r} is not for {task}")
    return SCORINGS[scoring]


def as_scored(
    scores: Array, scoring: str | None, targets: Array, weights: Weights | None = None
) -> Array:
    """Convert criterion values to the units of a scorer, greater is better; without a scorer, negate them."""
    if scoring == "accuracy":
        return 1.0 - scores
    if scoring == "neg_root_mean_squared_error":
        return -np.sqrt(scores)
    if scoring == "r2":
        centred = targets - mean_loss(targets, weights)[:, None]
        return 1.0 - scores / float(mean_loss(np.square(centred), weights).mean())
    return -scores


def parameters_of(selection: Selection, in_gamma: bool) -> list[dict[str, Any]]:
    """Return the parameters of the candidates: kernels in the outer loop, ridges in the inner one.

    The kernel is named if there are several. ``in_gamma`` names its parameter as scikit-learn does.
    """
    request = selection.request
    several = len(request.families) > 1

    def parameters(kernel: Kernel) -> dict[str, Any]:
        name = {"kernel": kernel.name} if several else {}
        if not in_gamma:
            return {**name, **kernel.parameters}
        key, factor = OF_GAMMA[kernel.name]
        return {"gamma": factor / kernel.parameters[key]}

    return [
        {**parameters(kernel), "lam": lam} for kernel in request.kernels for lam in request.lams
    ]


def cv_results(selection: Selection, scores: Array, in_gamma: bool) -> dict[str, Any]:
    """Return the candidates in the form of ``cv_results_``; ``scores`` has one entry per candidate.

    A parameter that the kernel of a candidate does not have is masked, as scikit-learn does.
    """
    params = parameters_of(selection, in_gamma)
    names = dict.fromkeys(name for p in params for name in p)
    columns = {
        f"param_{name}": np.ma.array(
            [p.get(name, "" if name == "kernel" else np.nan) for p in params],
            mask=[name not in p for p in params],
        )
        for name in names
    }
    ranks = np.array([1 + (scores > score).sum() for score in scores], dtype=np.int32)
    return {**columns, "params": params, "mean_test_score": scores, "rank_test_score": ranks}


# --- warnings ---------------------------------------------------------------------------------------


class EdgeWarning(UserWarning):
    """Warning that the choice lies on the boundary of its grid: a better one may lie outside.

    Examples
    --------
    >>> import warnings
    >>> from kselect import EdgeWarning, KernelSelectRegressorCV
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = KernelSelectRegressorCV(tau=1, lam="1,10", cv=3)
    ...     fitted = model.fit([[0], [1], [2], [3], [4], [5]], [0, 1, 2, 3, 4, 5])
    >>> print(caught[0].category is EdgeWarning, caught[0].message)
    True lam = 1 is the smallest of its grid: widen the grid
    """


class ScaleWarning(UserWarning):
    """Warning that one feature spreads so far that the kernel hardly sees the others: scale the features.

    Examples
    --------
    >>> import warnings
    >>> from kselect import KernelSelectRegressorCV, ScaleWarning
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     X = [[0, 100, 1], [1, 900, 0], [2, 200, 1], [3, 500, 0], [4, 0, 1], [5, 700, 1]]
    ...     fitted = KernelSelectRegressorCV(tau=1, lam=1, cv=3).fit(X, [0, 1, 2, 3, 4, 5])
    >>> caught[0].category is ScaleWarning
    True
    """


def warn_about(
    selection: Selection, X: Array, names: Sequence[str] | None, stacklevel: int
) -> None:
    """Warn of a choice on a grid boundary and of features of very different scales.

    A precomputed or learned kernel has scales of its own, so that the second warning does not apply.
    """
    for text in selection.edges:
        warnings.warn(text, EdgeWarning, stacklevel=stacklevel + 1)
    if selection.kernel.name == PRECOMPUTED or isinstance(selection.kernel, FeatureWidths):
        return
    if wide := widest_feature(X, names):
        warnings.warn(wide, ScaleWarning, stacklevel=stacklevel + 1)


def widest_feature(X: Array, names: Sequence[str] | None = None) -> str | None:
    """Return a sentence about the widest feature, or None if no feature is too wide.

    Constant features do not count. The median of an even number of features is the lower middle one.
    """
    with np.errstate(over="ignore"):
        ranges = np.ptp(X, axis=0)
    varied = np.flatnonzero(np.isfinite(ranges) & (ranges > 0))
    if len(varied) < 2:
        return None
    ranges = ranges[varied]
    # Divide by the range first, so that squares neither overflow nor vanish.
    spreads = (X[:, varied] / ranges).std(axis=0) * ranges
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        times = np.minimum(*(s / np.sort(s)[(len(varied) - 1) // 2] for s in (spreads, ranges)))
    widest = int(times.argmax())
    if not times[widest] > TOO_WIDE:
        return None
    name = f"feature {varied[widest]}" if names is None else str(names[varied[widest]])
    return (
        f"{name} spreads {times[widest]:.3g} times as far as the median feature, so that the kernel hardly sees "
        "the others: scale the features, for example with StandardScaler"
    )
