"""The same selection behind scikit-learn's fit and predict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from kselect.core.method import Choice, Method
from kselect.datasets.targets import one_against_rest
from kselect.errors import ConfigError, KselectError
from kselect.kernels import Points
from kselect.kernels.ard import Ard
from kselect.learners import find_learner
from kselect.numerics.linalg import Array
from kselect.selection.calibration import probabilities
from kselect.selection.candidates import results
from kselect.selection.cautions import EdgeWarning, ScaleWarning, caution
from kselect.selection.cross_validation import asked_folds
from kselect.selection.engine import Request, Selection, select
from kselect.selection.habits import (
    PRECOMPUTED,
    as_scored,
    in_gamma,
    loss_of,
    make_asked_kernels,
    require_mapping,
    require_text,
)
from kselect.selection.held_out import HeldOut
from kselect.selection.learning import as_learned
from kselect.selection.request import (
    LAM,
    Grid,
    make_folds,
    make_lams,
    make_method,
    split_parameters,
    usual_loss,
)

ROWS_AT_ONCE = 4096


class KernelSelectCV(BaseEstimator):  # type: ignore[misc]
    """Choose a kernel and a ridge by a criterion over a grid, and predict with the fit at the best place.

    Use its two forms, ``KernelSelectClassifierCV`` and ``KernelSelectRegressorCV``. Scale the features before: they
    are taken as they are, and very different scales are a ScaleWarning.

    Parameters
    ----------
    learner, criterion, kernel : str
        Names of ``kselect list``: ``"lssvm"``, ``"krr"``; ``"5-CV"``, ``"ELOO"``, ...; ``"gaussian"`` (or
        ``"rbf"``), ``"laplacian"``, ... With ``"precomputed"``, X is the kernel matrix.
    tau, degree, lam : grid
        A number, a list, an array, or text such as ``"2^-6:2^8"``: the Gaussian's and the polynomial kernel's
        parameter, and the ridge as lam (``n lam`` is added to the diagonal). ``"auto"`` lays a grid around the
        median distance of the rows; None is the kernel's own.
    gamma : grid, "scale" or "auto", optional
        In the place of tau, as in ``SVC(gamma=...)``: ``tau = 1 / (2 gamma)``; the Laplacian's width is
        ``1 / gamma``.
    grids : dict, optional
        Grids of other kernels' parameters by name, as in ``{"width": "2^-3:2^9"}`` for the Laplacian.
    params : dict, optional
        The criterion's and the learner's own parameters, as in ``{"eta": 0.5}``.
    ridge : {"fixed", "per-fold"}
        The ridge when m rows are held out: ``n lam`` or ``(n - m) lam``.
    loss : str, optional
        What cross-validation averages: ``"squared"``, ``"zero-one"``, ``"hinge"``; None for the learner's own.
    scoring : {"accuracy", "r2", "neg_mean_squared_error", "neg_root_mean_squared_error"}, optional
        In the place of ``loss``; scores are then in its units. With more than two classes it is the accuracy of
        each class against the rest, on average.
    cv : None, int, splitter, list of (train, test) pairs, or array of fold numbers
        None draws the folds that the criterion's name asks for; otherwise their number goes with ``cv``. Test
        parts must partition the rows. ``groups`` in ``fit`` keep rows together.
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
        The negative of the criterion, or what ``scoring`` names: greater is better, as scikit-learn has it.
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
        tau: Grid | None = "auto",
        degree: Grid | None = None,
        lam: Grid = LAM,
        gamma: Grid | None = None,
        grids: Mapping[str, Grid] | None = None,
        params: Mapping[str, Any] | None = None,
        ridge: str = "fixed",
        loss: str | None = None,
        scoring: str | None = None,
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
        self.gamma = gamma
        self.grids = grids
        self.params = params
        self.ridge = ridge
        self.loss = loss
        self.scoring = scoring
        self.cv = cv
        self.nystrom = nystrom
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, groups: Any = None, **refused: Any) -> Self:
        """Select and fit; whatever else is passed, ``sample_weight`` first of all, is refused."""
        if refused:
            raise TypeError(
                f"{type(self).__name__}.fit takes X, y and groups, not {', '.join(refused)}: "
                "its closed forms weigh all rows alike"
            )
        X, y = validate_data(
            self, X, y, dtype=np.float64, y_numeric=False, multi_output=True, ensure_min_samples=2
        )
        try:
            self._select(X, self._targets(y), y, groups)
        except KselectError as error:
            raise ValueError(str(error)) from error
        return self

    def _targets(self, y: Any) -> Array:
        """(q, n) targets; each form has its own."""
        raise TypeError("use KernelSelectClassifierCV or KernelSelectRegressorCV")

    def _select(self, X: Array, targets: Array, y: Any, groups: Any) -> None:
        method, learner = self._method(hasattr(self, "classes_"))
        method, numbers = asked_folds(self.cv, groups, X, y, method)
        request = as_learned(self._request(X, learner, method), self.kernel, self.criterion)
        folds = make_folds(method, len(X), request.seed, numbers)
        found = select(X, targets, request, folds)
        caution(found, X, getattr(self, "feature_names_in_", None), stacklevel=3)
        self._keep(X, found, targets)
        self._held_out = HeldOut(found, X, targets, folds)

    def _method(self, classification: bool) -> tuple[Method, Choice]:
        """The criterion and the learner with their parameters."""
        require_text(learner=self.learner, criterion=self.criterion, kernel=self.kernel)
        require_mapping(params=self.params, grids=self.grids)
        named = find_learner(self.learner)
        params, learner = split_parameters(named, self.criterion, self.params or {})
        asked = loss_of(self.scoring, self.loss, classification)
        loss = usual_loss(named, self.criterion, asked)
        return make_method(self.criterion, loss, params, classification), learner

    def _request(self, X: Array, learner: Choice, method: Method) -> Request:
        """What to choose from and by."""
        seed = self.random_state
        if not isinstance(seed, (int, np.integer)):
            seed = int(check_random_state(seed).randint(2**31 - 1))
        if self.ridge not in ("fixed", "per-fold"):
            raise ConfigError(f"ridge: {self.ridge!r}; valid: fixed, per-fold")
        if self.nystrom is not None and self.kernel == PRECOMPUTED:
            raise ConfigError("nystrom draws columns of rows: it does not go with precomputed")
        given = {"tau": self.tau, "degree": self.degree, **(self.grids or {})}
        return Request(
            learner,
            make_asked_kernels(self.kernel, given, self.gamma, X),
            make_lams(self.lam),
            method,
            "per-fold" if self.ridge == "per-fold" else "fixed",
            self.nystrom,
            effective_n_jobs(self.n_jobs),
            int(seed),
            "classification" if hasattr(self, "classes_") else "regression",
        )

    def _keep(self, X: Array, found: Selection, targets: Array) -> None:
        """The fitted attributes."""
        self.kernel_ = found.kernel
        self.dual_ = found.fits
        self.support_ = X if found.landmarks is None else X[found.landmarks]
        scores = as_scored(found.scores, self.scoring, targets)
        shown = in_gamma if self.gamma is not None else None
        self.cv_results_ = results(found, scores.ravel(), shown)
        self.best_index_ = found.position[0] * found.scores.shape[1] + found.position[1]
        self.best_params_ = self.cv_results_["params"][self.best_index_]
        self.best_score_ = float(scores[found.position])
        if isinstance(found.kernel, Ard):
            self.feature_relevances_ = found.kernel.relevances()
        self.criterion_path_ = found.scores

    def __sklearn_tags__(self) -> Any:
        """A matrix of kernel values is cut along both axes by whoever splits the rows."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == PRECOMPUTED
        return tags

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
        y = column_or_1d(y, warn=True)
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

    def predict_proba(self, X: Any) -> Array:
        """(rows, classes): a sigmoid of the decision values, fitted to held-out ones without a second search.

        It is fitted when it is first asked for, by one more path of the chosen kernel.
        """
        values = self._decision(X)
        return probabilities(self._held_out.slope, values)


class KernelSelectRegressorCV(RegressorMixin, KernelSelectCV):  # type: ignore[misc]
    """The form for numbers; see KernelSelectCV for parameters and attributes."""

    def _targets(self, y: Any) -> Array:
        """The targets as they are: several are learned from one factor of each kernel matrix."""
        values = np.asarray(y, dtype=np.float64)
        self._outputs = values.shape[1:]
        return np.ascontiguousarray(values.reshape(len(values), -1).T)

    def predict(self, X: Any) -> Array:
        """The decision values: (rows,), or (rows, targets) where there were several columns of targets."""
        values = self._decision(X)
        return values.reshape(len(values), *self._outputs)

    def __sklearn_tags__(self) -> Any:
        """Several targets are welcome."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


__all__ = [
    "EdgeWarning",
    "KernelSelectCV",
    "KernelSelectClassifierCV",
    "KernelSelectRegressorCV",
    "ScaleWarning",
]
