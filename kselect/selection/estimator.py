"""The same selection behind scikit-learn's fit and predict."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from kselect.datasets.tabular import one_against_rest
from kselect.errors import ConfigError, KselectError
from kselect.kernels import Points
from kselect.kernels.ard import Ard
from kselect.learners import find_learner
from kselect.numerics.linalg import Array, Index
from kselect.selection.engine import Request, Selection, select
from kselect.selection.learning import as_learned
from kselect.selection.request import (
    LAM,
    Grid,
    make_folds,
    make_kernels,
    make_lams,
    make_method,
    split_parameters,
    usual_loss,
)

ROWS_AT_ONCE = 4096


class EdgeWarning(UserWarning):
    """The choice lies on an edge of its grid: a better one may lie beyond."""


class KernelSelectCV(BaseEstimator):  # type: ignore[misc]
    """Choose a kernel and a ridge by a criterion over a grid, and predict with the fit at the best place.

    Use its two forms, ``KernelSelectClassifierCV`` and ``KernelSelectRegressorCV``.

    Parameters
    ----------
    learner, criterion, kernel : str
        Names of ``kselect list``: ``"lssvm"``, ``"krr"``; ``"5-CV"``, ``"ELOO"``, ...; ``"gaussian"``, ...
    tau, degree, lam : grid
        A number, a list, or text such as ``"2^-6:2^8"``: the Gaussian's and the polynomial kernel's parameter, None
        for the kernel's own grid, and the ridge as lam (``n lam`` is added to the diagonal).
    grids : dict, optional
        Grids of other kernels' parameters by name, as in ``{"width": "2^-3:2^9"}`` for the Laplacian.
    params : dict, optional
        The criterion's and the learner's own parameters, as in ``{"eta": 0.5}``.
    ridge : {"fixed", "per-fold"}
        The ridge when m rows are held out: ``n lam`` or ``(n - m) lam``.
    loss : str, optional
        What cross-validation averages: ``"squared"``, ``"zero-one"``, ``"hinge"``; None for the learner's own.
    cv : None, array of fold numbers, or a splitter whose test parts partition the rows
        None draws the folds that the criterion's name asks for.
    nystrom : int, optional
        Approximate the kernel by that many columns.
    random_state : int, RandomState or None
        The seed of folds and columns.
    n_jobs : int or None
        Threads; -1 for all processors.

    Attributes
    ----------
    best_params_ : dict
    best_score_ : float
        The negative of the criterion: greater is better, as scikit-learn has it.
    cv_results_ : dict
        ``params``, ``param_*``, ``mean_test_score`` and ``rank_test_score`` of every candidate.
    criterion_path_ : array (kernels, ridges)
        The criterion itself.
    feature_relevances_ : array (features,)
        With ``kernel="ard"``, a width per feature, learned by the criterion ``"FLKL"`` (or ``"LOO"``, ``"5-CV"``,
        ``"BR"``): each feature's share of all widths.
    """

    def __init__(
        self,
        learner: str = "lssvm",
        criterion: str = "5-CV",
        kernel: str = "gaussian",
        tau: Grid | None = None,
        degree: Grid | None = None,
        lam: Grid = LAM,
        grids: Mapping[str, Grid] | None = None,
        params: Mapping[str, Any] | None = None,
        ridge: str = "fixed",
        loss: str | None = None,
        cv: Any = None,
        nystrom: int | None = None,
        random_state: Any = 0,
        n_jobs: int | None = 1,
    ) -> None:
        self.learner = learner
        self.criterion = criterion
        self.kernel = kernel
        self.tau = tau
        self.degree = degree
        self.lam = lam
        self.grids = grids
        self.params = params
        self.ridge = ridge
        self.loss = loss
        self.cv = cv
        self.nystrom = nystrom
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, **refused: Any) -> Self:
        """Select and fit; whatever else is passed, ``sample_weight`` first of all, is refused."""
        if refused:
            raise TypeError(
                f"{type(self).__name__}.fit takes X and y alone, not {', '.join(refused)}: "
                "its closed forms weigh all rows alike"
            )
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=False, ensure_min_samples=2)
        try:
            self._select(X, self._targets(column_or_1d(y, warn=True)), y)
        except KselectError as error:
            raise ValueError(str(error)) from error
        return self

    def _targets(self, y: Any) -> Array:
        """(q, n) targets; each form has its own."""
        raise TypeError("use KernelSelectClassifierCV or KernelSelectRegressorCV")

    def _select(self, X: Array, targets: Array, y: Any) -> None:
        classification = hasattr(self, "classes_")
        named = find_learner(self.learner)
        params, learner = split_parameters(named, self.criterion, self.params or {})
        loss = usual_loss(named, self.criterion, self.loss)
        method = make_method(self.criterion, loss, params, classification)
        numbers = None if self.cv is None else fold_numbers(self.cv, X, y)
        seed = self.random_state
        if not isinstance(seed, (int, np.integer)):
            seed = int(check_random_state(seed).randint(2**31 - 1))
        given = {"tau": self.tau, "degree": self.degree, **(self.grids or {})}
        request = Request(
            learner,
            make_kernels(self.kernel, given),
            make_lams(self.lam),
            method,
            "per-fold" if self.ridge == "per-fold" else "fixed",
            self.nystrom,
            effective_n_jobs(self.n_jobs),
            int(seed),
            "classification" if classification else "regression",
        )
        if self.ridge not in ("fixed", "per-fold"):
            raise ConfigError(f"ridge: {self.ridge!r}; valid: fixed, per-fold")
        request = as_learned(request, self.kernel, self.criterion)
        folds = make_folds(method, len(X), int(seed), numbers)
        found = select(X, targets, request, folds)
        for text in found.edges:
            warnings.warn(text, EdgeWarning, stacklevel=3)
        self._keep(X, found)

    def _keep(self, X: Array, found: Selection) -> None:
        """The fitted attributes."""
        self.kernel_ = found.kernel
        self.dual_ = found.duals
        self.support_ = X if found.landmarks is None else X[found.landmarks]
        self.best_params_ = {**found.kernel.parameters, "lam": found.lam}
        self.best_score_ = -found.score
        self.best_index_ = found.position[0] * found.scores.shape[1] + found.position[1]
        if isinstance(found.kernel, Ard):
            self.feature_relevances_ = found.kernel.relevances()
        self.criterion_path_ = found.scores
        self.cv_results_ = results(found)

    def _decision(self, X: Any) -> Array:
        """(rows, q) decision values, a block of rows at a time: memory does not grow with them."""
        check_is_fitted(self, "dual_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        blocks = []
        for start in range(0, len(X), ROWS_AT_ONCE):
            K = self.kernel_.gram(Points(X[start : start + ROWS_AT_ONCE], self.support_))
            blocks.append(np.stack([dual.decision(0, K) for dual in self.dual_], axis=1))
        return np.concatenate(blocks)


class KernelSelectClassifierCV(ClassifierMixin, KernelSelectCV):  # type: ignore[misc]
    """The form for classes: two by one selection, more by one against the rest; see KernelSelectCV."""

    def _targets(self, y: Any) -> Array:
        """One target for two classes, one against the rest for more."""
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ConfigError(
                f"the target has 1 class only ({self.classes_[0]!r}): nothing to learn"
            )
        return one_against_rest(codes, range(len(self.classes_)))

    def decision_function(self, X: Any) -> Array:
        """(rows,) for two classes, positive for the second; (rows, classes) for more."""
        values = self._decision(X)
        return values[:, 0] if len(self.classes_) == 2 else values

    def predict(self, X: Any) -> Any:
        """The class with the largest decision value."""
        values = self._decision(X)
        if len(self.classes_) == 2:
            return self.classes_[(values[:, 0] > 0).astype(np.intp)]
        return self.classes_[values.argmax(axis=1)]


class KernelSelectRegressorCV(RegressorMixin, KernelSelectCV):  # type: ignore[misc]
    """The form for numbers; see KernelSelectCV for parameters and attributes."""

    def _targets(self, y: Any) -> Array:
        """The target as it is."""
        return np.asarray(y, dtype=np.float64)[None, :]

    def predict(self, X: Any) -> Array:
        """The decision values."""
        return self._decision(X)[:, 0]


def fold_numbers(cv: Any, X: Array, y: Any) -> Index:
    """Fold numbers as they are, or those of a splitter; its test parts must partition the rows."""
    if not hasattr(cv, "split"):
        numbers = np.asarray(cv)
        if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
            raise ConfigError("cv: a splitter, or one whole fold number a row")
        return numbers.astype(np.intp)
    numbers = np.full(len(X), -1, dtype=np.intp)
    for fold, (_, test) in enumerate(cv.split(X, y)):
        if (numbers[test] >= 0).any():
            raise ConfigError("cv: the test parts of the splitter overlap; each row needs one fold")
        numbers[test] = fold
    if (numbers < 0).any():
        raise ConfigError("cv: the splitter leaves rows out; each row needs one fold")
    return numbers


def results(found: Selection) -> dict[str, Any]:
    """The candidates in scikit-learn's shape: kernels outside, ridges inside."""
    params = [
        {**kernel.parameters, "lam": lam}
        for kernel in found.request.kernels
        for lam in found.request.lams
    ]
    scores = -found.scores.ravel()
    table: dict[str, Any] = {
        f"param_{name}": np.ma.array([p[name] for p in params]) for name in params[0]
    }
    ranks = np.array([1 + (scores > score).sum() for score in scores], dtype=np.int32)
    return {**table, "params": params, "mean_test_score": scores, "rank_test_score": ranks}


__all__ = [
    "EdgeWarning",
    "KernelSelectCV",
    "KernelSelectClassifierCV",
    "KernelSelectRegressorCV",
]
