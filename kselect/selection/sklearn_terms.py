"""scikit-learn's terms translated: ``gamma``, sparse rows, ``cv_results_``, ``verbose``, and warnings."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kselect.errors import ConfigError, quoted
from kselect.kernels import Kernel, Points
from kselect.kernels.ard import FeatureWidths
from kselect.numerics.linalg import Array, Index
from kselect.numerics.memory import gib
from kselect.search.pruned import Watch
from kselect.selection.candidates.agop import METRICS
from kselect.selection.candidates.families import Candidates, Rows, family_names, make_candidates
from kselect.selection.columns import check_columns
from kselect.selection.defaults import AUTO
from kselect.selection.request import GridSpec, as_plain, parse_named_grid, positive
from kselect.selection.result import Selection

if TYPE_CHECKING:
    from kselect.numerics.scorers import Scorer
    from kselect.selection.held_out import HeldOut

PRECOMPUTED = "precomputed"
# gamma of exp(-gamma ||x - z||^2) and of exp(-gamma ||x - z||_1) -> our parameter of the same kernel.
OF_GAMMA = {"gaussian": ("tau", 0.5), "laplacian": ("width", 1.0)}
# A feature is too wide if both its standard deviation and its range exceed the median feature's by this factor.
# Standardised features share one deviation, those scaled to an interval share one range, and principal
# components of scaled features stay below the factor.
TOO_WIDE = 30.0
# The numbers of a dense array that a sparse matrix may become: a gigabyte.
DENSE = 2**27


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


def dense(X: Any) -> Array:
    """Return rows as a dense array, sparse ones too; refuse a matrix that would fill the memory."""
    if isinstance(X, np.ndarray):
        return X
    rows, features = X.shape
    if rows * features > DENSE:
        raise ConfigError(
            f"X is sparse: dense, its {rows} rows of {features} features need {gib(8 * rows * features)}, "
            f"more than {gib(8 * DENSE)}; take fewer features, for example by TruncatedSVD"
        )
    return np.asarray(X.toarray(), dtype=np.float64)


def check_parameters(model: Any) -> None:
    """Refuse parameters of an estimator that are of the wrong kind, or that do not go together."""
    for name in ("learner", "criterion", "kernel"):
        if isinstance(value := getattr(model, name), str):
            continue
        shown = "a function" if callable(value) else quoted(value)
        hint = "; compute the matrix and pass kernel='precomputed'" if callable(value) else ""
        raise ConfigError(f"{name} must be a name as text, not {shown}{hint}")
    for name in ("params", "grids"):
        if not isinstance(value := getattr(model, name), Mapping | None):
            raise ConfigError(f"{name} must be a dict, not {quoted(value)}")
    if model.ridge not in ("fixed", "per-fold"):
        raise ConfigError(f"ridge: {model.ridge!r}; valid: fixed, per-fold")
    if model.nystrom is not None and model.kernel == PRECOMPUTED:
        raise ConfigError(
            "nystrom computes kernel columns from the rows: it cannot be used with kernel='precomputed'"
        )
    if not isinstance(model.verbose, bool | int | np.integer) or model.verbose < 0:
        raise ConfigError(f"verbose: {quoted(model.verbose)}; write 0, 1 or 2")
    check_columns(model.columns)
    if model.metric not in METRICS:
        raise ConfigError(f"metric: {model.metric!r}; valid: {', '.join(METRICS)}")


# --- scores -----------------------------------------------------------------------------------------


def as_scored(scores: Array, scorer: Scorer | None) -> Array:
    """Convert criterion values to scores, greater is better: a scorer's, or the negative criterion."""
    return -scores if scorer is None else scorer.as_scores(scores)


def labels_for(scoring: Any, classes: NDArray[Any]) -> tuple[Any, ...]:
    """Return the classes that a scorer sees: the user's own for a function, and if they are numbers.

    A name such as ``f1`` needs numbers; other classes become 0, 1, ..., so that the second of two is positive.
    """
    plain = callable(scoring) or classes.dtype.kind in "biuf"
    return tuple(classes.tolist()) if plain else ()


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


def cv_results(held: HeldOut, in_gamma: bool) -> dict[str, Any]:
    """Return the candidates in the form of ``cv_results_``, with the scores of the folds for k-CV.

    A parameter that the kernel of a candidate does not have is masked, as scikit-learn does.
    """
    selection, scorer = held.selection, held.selection.request.method.scorer
    scores = as_scored(held.surface, scorer).ravel()
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
    found = {**columns, "params": params, "mean_test_score": scores, "rank_test_score": ranks}
    if held.by_fold is not None:
        by_fold = as_scored(held.by_fold, scorer).reshape(len(params), -1).T
        found |= {f"split{k}_test_score": values for k, values in enumerate(by_fold)}
        found["std_test_score"] = by_fold.std(axis=0)
    return found


# --- progress ---------------------------------------------------------------------------------------


def say(text: str) -> None:
    """Print a line about a selection."""
    sys.stdout.write(f"[kselect] {text}\n")


def progress(verbose: int) -> Watch:
    """Return a function that prints the number of kernels done, if it is to print that much."""

    def watch(done: int, total: int) -> bool | None:
        if verbose > 1:
            say(f"{done} of {total} kernels")
        return None

    return watch


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
