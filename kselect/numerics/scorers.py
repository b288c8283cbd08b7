r"""scikit-learn's scorers, computed from held-out predictions, each fold on its own.

A scorer gets a stand-in for an estimator, which knows the held-out predictions of the rows that are scored:
``predict``, and for classes ``decision_function`` and ``predict_proba``. Several classes are predicted one against
the rest. Probabilities are the sigmoid of sigmoid.py; its slope is fitted to the held-out values of all rows.

A search minimises an error. A scorer whose name begins with ``neg_``, and a function, is turned by its sign: the
error is minus the score. Every other scorer of scikit-learn is 1 at its best: the error is 1 minus the score.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer, get_scorer_names

from kselect.errors import ConfigError, TrialError, nearest, quoted
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array, Index
from kselect.numerics.sigmoid import codes, fit_slope, probabilities
from kselect.numerics.splits import Splits
from kselect.numerics.weights import Weights

Labels = tuple[Any, ...]
# A function of an estimator, rows, their targets, and their weights if there are any: greater is better.
ScoreFunction = Callable[..., float]
# scikit-learn's scorers of regressions; all others are for classes.
REGRESSION = frozenset(
    {
        *("r2", "explained_variance", "d2_absolute_error_score", "neg_max_error"),
        *("neg_mean_absolute_error", "neg_mean_squared_error", "neg_root_mean_squared_error"),
        *("neg_mean_squared_log_error", "neg_root_mean_squared_log_error"),
        *("neg_median_absolute_error", "neg_mean_absolute_percentage_error"),
        *("neg_mean_poisson_deviance", "neg_mean_gamma_deviance"),
    }
)
# Scorers without a largest value, which no error of 0 belongs to.
UNBOUNDED = frozenset({"positive_likelihood_ratio", "mutual_info_score"})
Asked = Literal["predictions", "decision values", "probabilities"]
RESPONSES: dict[Any, Asked] = {"predict": "predictions", "predict_proba": "probabilities"}
LONGEST = 60  # characters of a function's name


@dataclass(frozen=True)
class Scorer:
    """One of scikit-learn's scorers by its name, or a function of the user's ``own``.

    ``labels`` are the classes as the user wrote them, in the order of the targets. Without labels the classes are
    0, 1, ..., and the second of two is the positive one.
    """

    name: str
    own: ScoreFunction | None = None
    labels: Labels = ()

    @property
    def best(self) -> float:
        """The score whose error is 0."""
        return 0.0 if self.own or self.name.startswith("neg_") else 1.0

    @property
    def asks(self) -> Asked:
        """What it scores; a function may ask for anything."""
        # A tuple such as ("decision_function", "predict_proba") takes what the estimator has first.
        found = getattr(self.own or named(self.name), "_response_method", "predict")
        return RESPONSES.get(found, "decision values")

    @property
    def error_name(self) -> str:
        """The name of the error: ``1 - roc_auc``, ``log_loss`` for neg_log_loss, ``-mine`` for a function."""
        if self.own:
            return f"-{self.name}"
        bare = self.name.removeprefix("neg_")
        return bare if bare != self.name else f"1 - {self.name}"

    def as_scores(self, errors: Array) -> Array:
        """Turn errors back into scores."""
        return np.asarray(self.best - errors)

    def errors(self, rows: HeldOutRows, folds: Folds | Splits) -> Array:
        """Return the error on each fold, (k,)."""
        scores = [self.score(rows, F, f"fold {i}") for i, F in enumerate(folds.members)]
        return self.best - np.array(scores)

    def score(self, rows: HeldOutRows, F: Index, where: str) -> float:
        """Return the score of the rows F; a score that is not a finite number is a TrialError."""
        y = rows.truth[F]
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")  # a score that is not defined is refused below
                score = self.own or named(self.name)
                value = float(score(rows.stand_in(F), rows.X[F], y, **self.weights_of(rows, F)))
        except (AttributeError, TypeError, LookupError, NotImplementedError) as error:
            raise ConfigError(self.refusal(error)) from error
        except ValueError as error:
            raise TrialError(self.refusal(error)) from error
        if not np.isfinite(value):
            alone = rows.task == "classification" and len(np.unique(y)) == 1
            why = "its rows are all of one class" if alone else f"it has {len(F)} rows"
            raise TrialError(f"{self.name} is not defined on {where}: {why}")
        return value

    def weights_of(self, rows: HeldOutRows, F: Index) -> dict[str, Array]:
        """Return the weights of the rows F as a scorer takes them; a function without the argument gets none."""
        if rows.weights is None or (self.own and "sample_weight" not in arguments(self.own)):
            return {}
        return {"sample_weight": rows.weights.given[F]}

    def refusal(self, error: Exception) -> str:
        """Return why the score cannot be computed, in one line."""
        what = quoted(" ".join(str(error).split()))[1:-1]
        return f"{self.name} cannot be computed from held-out predictions: {what}"

    def check(self, rows: HeldOutRows, folds: Folds | Splits) -> None:
        """Refuse a scorer that is not for the task, or that not even perfect predictions can be scored by."""
        if self.own is None and (self.name in REGRESSION) is not (rows.task == "regression"):
            raise ConfigError(f"{self.name} is not for {rows.task}")
        try:
            self.errors(rows, folds)
        except TrialError as error:
            raise ConfigError(str(error)) from error


def scorer_names() -> list[str]:
    """Return the names of scikit-learn's scorers."""
    return list(get_scorer_names())


def error_names() -> frozenset[str]:
    """Return the names of the errors of all named scorers."""
    return frozenset(Scorer(name).error_name for name in scorer_names())


def find_scorer(scoring: str | ScoreFunction, labels: Labels = ()) -> Scorer:
    """Return the scorer of a name or a function; an unknown name is a ConfigError that suggests the nearest."""
    if callable(scoring):
        name = getattr(scoring, "__name__", "") or " ".join(repr(scoring).split())
        return Scorer(name[:LONGEST], scoring, labels)
    names = scorer_names()
    if scoring not in names:
        hint = nearest(str(scoring), names)
        raise ConfigError(f"unknown scorer {quoted(scoring)}{hint}: write a name of scikit-learn's")
    return Scorer(scoring, None, labels)


@lru_cache(maxsize=64)
def named(name: str) -> ScoreFunction:
    """Return scikit-learn's scorer of a name."""
    found: ScoreFunction = get_scorer(name)
    return found


def arguments(function: ScoreFunction) -> frozenset[str]:
    """Return the names of a function's arguments; none if they cannot be known."""
    try:
        return frozenset(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return frozenset()


# --- what a scorer gets -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class HeldOutRows:
    """The targets (q, n) of all rows and their held-out decision values (q, n), as scorers take them.

    ``X`` are the rows, or what stands for them. ``labels`` are those of the scorer, ``weights`` those of the rows.
    ``calibrated`` is the slope of the probabilities, if it is not to be fitted to these rows.
    """

    X: Any
    targets: Array
    decisions: Array
    task: Literal["classification", "regression"]
    labels: Labels = ()
    weights: Weights | None = None
    calibrated: float | None = None

    @cached_property
    def truth(self) -> NDArray[Any]:
        """The target of each row: its class, its number, or its numbers."""
        if self.task == "regression":
            return as_numbers(self.targets)
        return np.asarray(self.classes[codes(self.targets)])

    @cached_property
    def classes(self) -> NDArray[Any]:
        """The classes in the order of the targets."""
        count = 2 if len(self.targets) == 1 else len(self.targets)
        return np.asarray(self.labels) if self.labels else np.arange(count)

    @cached_property
    def slope(self) -> float:
        """The slope of the probabilities, from all held-out rows."""
        if self.calibrated is not None:
            return self.calibrated
        return fit_slope(self.decisions, self.targets, self.weights)

    def stand_in(self, F: Index) -> HeldOutClassifier | HeldOutRegressor:
        """Return an estimator that knows the predictions of the rows F."""
        form = HeldOutRegressor if self.task == "regression" else HeldOutClassifier
        return form(self, self.decisions[:, F])


class HeldOutRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """An estimator that predicts given rows only, by their held-out predictions."""

    def __init__(self, rows: HeldOutRows, values: Array) -> None:
        self.rows, self.values = rows, values

    def predict(self, X: Any) -> Array:
        """Return the held-out predictions, whatever X holds."""
        return as_numbers(self.values)


class HeldOutClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that predicts given rows only, by their held-out decision values."""

    def __init__(self, rows: HeldOutRows, values: Array) -> None:
        self.rows, self.values = rows, values

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes in the order of the targets."""
        return self.rows.classes

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the classes, whatever X holds."""
        return np.asarray(self.classes_[codes(self.values)])

    def decision_function(self, X: Any) -> Array:
        """Return the held-out decision values."""
        return as_numbers(self.values)

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the held-out decision values."""
        return probabilities(self.rows.slope, self.values.T)


def as_numbers(values: Array) -> Array:
    """Return (n,) for one target, (n, q) for several."""
    return values[0] if len(values) == 1 else values.T
