r"""Contenders on the same rows: other learners of scikit-learn, next to the choice of kselect.

Each contender sees what a criterion of ``--compare`` sees: the imputed, encoded and scaled training rows of the
same outer folds. It tunes itself on these rows only, as its usual user would. A row counts 1 for the right class,
or ``1 - (y - f)^2 / var(y)``. With d_i what row i counts for kselect minus what it counts for the contender,

    mean d +- se,  se = sd(d) / sqrt(n);  a difference is clear beyond two standard errors

Rows with weights count in the fits, in the tuning and in these means as much as they weigh. Each of several targets
has a contender of its own, and counts the same.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any, Literal, Protocol

import numpy as np
from threadpoolctl import threadpool_limits

from kselect.datasets.prepare import fit_preparation
from kselect.datasets.registry import Task
from kselect.datasets.table.target import Target
from kselect.estimators import describe_warnings, first_line
from kselect.numerics.folds import Folds, stream
from kselect.numerics.linalg import Array, Index, squared_distances
from kselect.numerics.sigmoid import codes
from kselect.numerics.splits import Splits, tested_rows, weights_of
from kselect.numerics.weights import Weights
from kselect.selection.held_out import Quality, quality_of, row_qualities, variance_of
from kselect.selection.own_data import OwnData
from kselect.selection.rows.holding_out import HoldOut, pairs_of
from kselect.selection.rows.rules import RowRules

BOOSTING = "gradient boosting"
TREES = 300
INNER = 5
# The grid of the SVM: C, and the width around the median distance of the rows.
PENALTIES = tuple(4.0**i for i in range(-2, 5))
WIDTHS = tuple(4.0**i for i in range(-2, 3))
SAMPLED = 500
RIDGES = [10.0**i for i in range(-4, 5)]
# Standard errors beyond which a difference counts.
CLEAR = 2.0


@dataclass(frozen=True, eq=False)
class Contender:
    """Another learner: its quality on the outer folds, the seconds of one fit to all rows, and the comparison.

    ``difference`` is the quality of kselect minus the contender's, with its standard error; ``warnings`` counts
    what scikit-learn warned of.
    """

    name: str
    quality: Quality
    seconds: float
    difference: float
    error: float
    warnings: str

    @property
    def verdict(self) -> Literal["better", "worse", "no clear difference"]:
        """Whether kselect is better or worse by more than two standard errors."""
        if abs(self.difference) <= CLEAR * self.error:
            return "no clear difference"
        return "better" if self.difference > 0 else "worse"


@dataclass(frozen=True)
class FailedContender:
    """A learner that could not be fitted to these rows, and why."""

    name: str
    reason: str


def contend(
    data: OwnData,
    decisions: Array,
    outer: Folds | Splits,
    seed: int,
    n_jobs: int = 1,
    rules: RowRules | None = None,
) -> tuple[Contender | FailedContender, ...]:
    """Fit every contender to all rows and without each outer fold; ``decisions`` (q, tested) are kselect's.

    The rows weigh in the fits and in the comparison as ``rules`` say. A contender that tunes itself by
    cross-validation holds rows out as they say.
    """
    from sklearn import config_context

    found: list[Contender | FailedContender] = []
    rules = rules or RowRules()
    routing = bool(rules.weighting)
    for name, make in makers(data.target.task).items():
        own_seed = int(stream(seed, "contender", name).integers(2**31))
        made = partial(make, seed=own_seed, jobs=n_jobs)
        try:
            with threadpool_limits(1), config_context(enable_metadata_routing=routing):
                found.append(one_contender(name, made, data, decisions, outer, rules))
        except MemoryError:
            raise
        except Exception as error:  # the code of another package
            found.append(FailedContender(name, first_line(error)))
    return tuple(found)


def one_contender(
    name: str,
    make: Callable[..., Any],
    data: OwnData,
    decisions: Array,
    outer: Folds | Splits,
    rules: RowRules,
) -> Contender:
    """Return the comparison with one contender."""
    target = data.target
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        make(data.X[:2])  # imports its module
        started = perf_counter()
        fitted(make, data.X, target, rules)
        seconds = perf_counter() - started
        held_out = held_out_decisions(data, outer, make, rules)
    told = describe_warnings(f"{w.category.__name__}: {w.message}" for w in caught)
    # Weights of classes count, too: balanced ones make the balanced accuracy of the accuracy.
    own = rules.weighting.of(target.values)
    weights = own and Weights.of(own.given)
    tested, truth = weights_of(outer, weights), target.values[:, tested_rows(outer)]
    given = truth, target.task, variance_of(truth, tested)
    gain = (row_qualities(decisions, *given) - row_qualities(held_out, *given)).mean(axis=0)
    quality = quality_of(held_out, target.values, target.task, outer, weights)
    return Contender(name, quality, seconds, *mean_and_error(gain, tested), told)


def mean_and_error(gain: Array, weights: Weights | None) -> tuple[float, float]:
    """Return the weighted mean of the rows' differences, and its standard error."""
    w = np.ones(len(gain)) if weights is None else weights.values
    mean = float(w @ gain) / float(w.sum())
    spread = float(np.square(w * (gain - mean)).sum()) * len(gain) / (len(gain) - 1)
    return mean, float(np.sqrt(spread)) / float(w.sum())


def fitted(make: Callable[..., Any], X: Array, target: Target, rules: RowRules) -> list[Any]:
    """Return a contender fitted to some rows: one for the classes, or one for each target."""
    cv = inner_of(rules.hold_out, len(X))
    weights = rules.weighting.of(target.values)
    more = {} if weights is None else {"sample_weight": weights.values}
    return [make(X, **cv, weighted=bool(more)).fit(X, y, **more) for y in labels_of(target)]


def inner_of(hold_out: HoldOut, n: int) -> dict[str, list[tuple[Index, Index]]]:
    """Return how a contender holds n training rows out while it tunes itself; nothing: in its usual way."""
    if not hold_out:
        return {}
    return {"cv": [(train, test) for train, test, _ in pairs_of(hold_out.split(n, INNER, 0))]}


def held_out_decisions(
    data: OwnData, outer: Folds | Splits, make: Callable[..., Any], rules: RowRules | None = None
) -> Array:
    """Return decision values (q, tested): each test row's by a contender that has not seen its outer fold."""
    target, rules = data.target, rules or RowRules()
    out = np.empty((len(target.values), sum(len(at) for at in outer.members)))
    for train, F, at in pairs_of(outer):
        X, _ = fit_preparation(data.frame, data.preparation.scale, train).transform(data.frame)
        models = fitted(make, X[train], target.take(train), rules.part(train))
        predicted = np.array([model.predict(X[F]) for model in models])
        if target.task == "regression":
            out[:, at] = predicted
        elif len(target.values) == 1:
            out[:, at] = 2.0 * predicted - 1.0
        else:
            out[:, at] = np.arange(len(target.values))[:, None] == predicted
    return out


def labels_of(target: Target) -> Array | Index:
    """Return the numbers of each target (q, n), or the classes as 0, 1, 2, ... (1, n)."""
    return target.values if target.task == "regression" else codes(target.values)[None]


class Maker(Protocol):
    """Make a contender for training rows, with a seed, a number of threads and its own cross-validation.

    ``weighted`` says that its fit will get weights of rows, by which it scores held-out rows, too.
    """

    def __call__(
        self, X: Array, *, seed: int, jobs: int, cv: Any = None, weighted: bool = False
    ) -> Any: ...


def makers(task: Task) -> Mapping[str, Maker]:
    """Return name -> contender for a task."""
    if task == "regression":
        return {
            "ridge regression": ridge_regression,
            "SVR over a grid": support_vector_regression,
            "random forest": partial(of_trees, name="RandomForestRegressor"),
            BOOSTING: partial(of_trees, name="HistGradientBoostingRegressor"),
        }
    return {
        "logistic regression": logistic_regression,
        "SVC over a grid": support_vector_classification,
        "random forest": partial(of_trees, name="RandomForestClassifier"),
        BOOSTING: partial(of_trees, name="HistGradientBoostingClassifier"),
    }


def of_trees(
    X: Array, *, seed: int, jobs: int, name: str, cv: Any = None, weighted: bool = False
) -> Any:
    """Return a forest of many trees, or boosting with its defaults."""
    from sklearn import ensemble

    more = {"n_estimators": TREES, "n_jobs": jobs} if name.startswith("RandomForest") else {}
    return getattr(ensemble, name)(random_state=seed, **more)


def ridge_regression(
    X: Array, *, seed: int, jobs: int, cv: Any = None, weighted: bool = False
) -> Any:
    """Return a linear model whose ridge is chosen by leave-one-out."""
    from sklearn.linear_model import Ridge, RidgeCV

    if weighted and cv is not None:
        return grid_search(Ridge(), {"alpha": RIDGES}, "r2", cv, jobs, weighted)
    return RidgeCV(alphas=RIDGES, cv=cv)


def logistic_regression(
    X: Array, *, seed: int, jobs: int, cv: Any = None, weighted: bool = False
) -> Any:
    """Return a linear classifier whose penalty is chosen by cross-validation."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(max_iter=1000)
    return grid_search(model, {"C": RIDGES}, "accuracy", cv, jobs, weighted)


def support_vector_classification(
    X: Array, *, seed: int, jobs: int, cv: Any = None, weighted: bool = False
) -> Any:
    """Return a grid search over an SVM for classes."""
    from sklearn.svm import SVC

    grid = {"C": PENALTIES, "gamma": gammas_around(X)}
    return grid_search(SVC(), grid, "accuracy", cv, jobs, weighted)


def support_vector_regression(
    X: Array, *, seed: int, jobs: int, cv: Any = None, weighted: bool = False
) -> Any:
    """Return a grid search over an SVM for numbers, which are scaled for it, without the weights of rows."""
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVR

    inner = SVR().set_fit_request(sample_weight=True) if weighted else SVR()
    scaled = TransformedTargetRegressor(inner, transformer=StandardScaler())
    grid = {"regressor__C": PENALTIES, "regressor__gamma": gammas_around(X)}
    return grid_search(scaled, grid, "r2", cv, jobs, weighted)


def grid_search(
    model: Any, grid: Mapping[str, Any], scoring: str, cv: Any, jobs: int, weighted: bool
) -> Any:
    """Return a grid search that passes weights of rows to its fits and to its scores."""
    from sklearn.metrics import get_scorer
    from sklearn.model_selection import GridSearchCV

    scorer = get_scorer(scoring)
    if weighted:
        scorer = scorer.set_score_request(sample_weight=True)
        if hasattr(model, "set_fit_request"):
            model = model.set_fit_request(sample_weight=True)
    return GridSearchCV(model, grid, scoring=scorer, cv=cv or INNER, n_jobs=jobs)


def gammas_around(X: Array) -> list[float]:
    """Return values of gamma around the inverse of the median squared distance of the rows."""
    some = X[:: -(-len(X) // SAMPLED)]
    distances = squared_distances(some, some).squared[np.triu_indices(len(some), 1)]
    median = float(np.median(distances)) or 1.0
    return [1.0 / (width * median) for width in WIDTHS]
