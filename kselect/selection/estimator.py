"""scikit-learn estimators: their parameters, and the selection as ``fit``."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from kselect.errors import KselectError
from kselect.kernels.ard import FeatureWidths
from kselect.kernels.sums import Sum
from kselect.numerics.linalg import Array
from kselect.selection.columns import USUAL_COLUMNS
from kselect.selection.defaults import AUTO, CRITERION, ENSEMBLE, KERNEL, LEARNER
from kselect.selection.engine import select
from kselect.selection.held_out import HeldOut
from kselect.selection.request import GridSpec, Request, make_request
from kselect.selection.result import mean_values
from kselect.selection.rows.terms import GivenRows, folds_of_cv
from kselect.selection.rows.weighting import Weighting, class_weights
from kselect.selection.sklearn_terms import (
    PRECOMPUTED,
    as_scored,
    check_parameters,
    column_numbers,
    cv_results,
    dense,
    labels_for,
    make_named_candidates,
    parameters_of,
    progress,
    say,
    warn_about,
)


class KernelSelectCV(BaseEstimator):  # type: ignore[misc]
    """Base class of the classifier and the regressor, which have its parameters and attributes.

    Parameters
    ----------
    learner : str
        Learner: ``"lssvm"``, ``"krr"``, ``"svm"``, ...; see ``kselect list learners``.
    criterion : str
        Criterion to minimise: ``"5-CV"``, ``"ELOO"``, ...; see ``kselect list criteria``.
    kernel : str
        Kernels among which the criterion selects, with commas: ``"gaussian"`` (or ``"rbf"``), ``"laplacian"``, ...;
        see ``kselect list kernels``. ``"weighted-gaussian"`` multiplies the features by powers of their relevance.
        ``"auto"`` are Gaussian and Laplacian kernels, each also weighted; a grid for one kernel, such as tau, then
        chooses that kernel. With ``"precomputed"``, X is the kernel matrix. With ``"ard"`` or ``"laplacian-ard"``,
        a width per feature is learned; with ``"sum:gaussian,linear"``, the weights of a sum.
    tau, degree : grid, optional
        Parameters of the Gaussian kernel (tau) and of the polynomial kernel (degree): a number, a list, an array,
        or text such as ``"2^-6:2^8"``. ``"auto"``, like None, is a grid around the median distance of the rows that
        grows by up to four values where the choice lies on its boundary.
    lam : grid
        Regularisation parameter; ``n lam`` is added to the diagonal of the kernel matrix. ``"auto"`` is
        ``"10^-7:10^1"`` in a regression and ``"10^-4:10^1"`` in a classification, extended in the same way.
    ensemble : "auto" or int
        Most candidates to average, of those within 5 % of the best score: ``"auto"`` is 10 in a regression, else 1.
    gamma : grid, "scale" or "auto", optional
        Replaces tau, as in ``SVC(gamma=...)``: ``tau = 1 / (2 gamma)``; the Laplacian width is ``1 / gamma``.
    grids : dict, optional
        Grids of other kernels' parameters by name, such as ``{"width": "2^-3:2^9"}``.
    params : dict, optional
        Parameters of the criterion and the learner, such as ``{"eta": 0.5}``.
    ridge : {"fixed", "per-fold"}
        Ridge when m of n rows are held out: ``"fixed"`` keeps ``n lam``, ``"per-fold"`` uses ``(n - m) lam``.
    loss : str, optional
        Loss that cross-validation averages: ``"squared"``, ``"zero-one"``, ``"hinge"``. Default: the learner's own.
    scoring : str or callable, optional
        Replaces ``loss`` by one of scikit-learn's scorers, such as ``"roc_auc"``, or by a function of an estimator,
        rows and targets. It scores the held-out predictions of each fold of k-CV; the mean over folds chooses.
    cv : int, splitter, list of (train, test) pairs, or array of fold numbers, optional
        Folds (default: random ones); their number replaces the one in the criterion's name. Training parts that
        are not the rest of the rows, as those of ``TimeSeriesSplit``, are each trained by themselves.
    nystrom : int, optional
        Number of columns that approximate the kernel matrix. Default, and with fewer rows: the exact matrix.
    columns : {"uniform", "rpcholesky"}
        How the rows of these columns are drawn: uniformly, or by what earlier ones leave of the kernel.
    metric : {"none", "agop"}
        ``"agop"`` adds kernels whose weights of features are learned from the gradients of a first fit.
    feature_columns : array of shape (features,), optional
        Number of the table's column that each feature comes from; features of one column share one relevance.
    class_weight : "balanced", dict or str, optional
        Weights of classes: ``"balanced"``, or a weight per class, as in ``{"a": 1, "b": 5}`` or ``"a=1,b=5"``.
    random_state : int, RandomState or None
        Seed of the folds and columns.
    n_jobs : int or None
        Number of threads; -1 uses all processors.
    verbose : int
        1 prints a line about the choice, 2 also one per kernel that is scored.

    Attributes
    ----------
    classes_ : array of shape (classes,)
        The classes, of a classifier.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : array of shape (features,)
        The names of the features, if X was a frame with names of text; ``predict`` then refuses other names.
    target_names_ : array of shape (targets,)
        The names of the targets, if y was a frame; ``predict`` returns a column for each, in this order.
    support_ : array of shape (rows, features)
        The rows at which the fits have coefficients.
    best_params_ : dict
        Parameters of the best candidate: its kernel (if there are several), the kernel's parameters, and lam.
    best_score_ : float
        Score of the best candidate: the negative criterion, or the value of ``scoring``. Greater is better.
    members_ : tuple of Member
        The candidates whose fits are averaged, the best one first.
    best_index_ : int
        Index of the choice in ``cv_results_``.
    cv_results_ : dict
        ``params``, ``param_*``, ``mean_test_score`` and ``rank_test_score`` of every candidate; with k-CV also
        ``split0_test_score``, ..., and ``std_test_score``. The first use scores every candidate.
    criterion_path_ : array of shape (kernels, ridges)
        The criterion of every candidate, computed in the same way.
    kernel_ : Kernel
        The chosen kernel.
    feature_relevances_ : array of shape (features,)
        The relevance of each feature, if there are weighted kernels; with ``"ard"``, the share of its theta.
    kernel_weights_ : dict
        The weight of each kernel of a sum that has one, the name of the kernel with its parameters as the key.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Insert the parameters and attributes above into the docstring of a subclass, before its examples."""
        super().__init_subclass__(**kwargs)
        if cls.__doc__ and KernelSelectCV.__doc__:  # python -OO drops docstrings
            _, _, shared = inspect.cleandoc(KernelSelectCV.__doc__).partition("\n\n")
            cls.__doc__ = inspect.cleandoc(cls.__doc__).replace(
                "\nExamples\n", f"\n{shared}\n\nExamples\n"
            )

    def __init__(
        self,
        learner: str = LEARNER,
        criterion: str = CRITERION,
        kernel: str = KERNEL,
        tau: GridSpec | None = None,
        degree: GridSpec | None = None,
        lam: GridSpec = AUTO,
        gamma: GridSpec | None = None,
        grids: Mapping[str, GridSpec] | None = None,
        params: Mapping[str, Any] | None = None,
        ridge: str = "fixed",
        loss: str | None = None,
        scoring: Any = None,
        cv: Any = None,
        nystrom: int | None = None,
        columns: str = USUAL_COLUMNS,
        ensemble: int | str = ENSEMBLE,
        metric: str = "none",
        feature_columns: Any = None,
        class_weight: Any = None,
        random_state: Any = 0,
        n_jobs: int | None = 1,
        verbose: int = 0,
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
        self.columns = columns
        self.ensemble = ensemble
        self.metric = metric
        self.feature_columns = feature_columns
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None, **refused: Any
    ) -> Self:
        """Choose a kernel and a ridge for the rows, and fit them.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (rows, features)
            Training rows, scaled, or the kernel matrix with ``kernel="precomputed"``. A sparse one becomes dense,
            unless that would take more than a gigabyte.
        y : array of shape (rows,) or, for a regression, (rows, targets)
            Classes or numbers, as an array or a frame.
        groups : array of shape (rows,), optional
            Rows of one group stay in one fold.
        sample_weight : array of shape (rows,), optional
            Weight of each row: a row of weight 2 counts as two rows, a row of weight 0 is dropped.

        Returns
        -------
        self
        """
        if refused:
            taken = "X, y, groups and sample_weight"
            raise TypeError(f"{type(self).__name__}.fit takes {taken}, not {', '.join(refused)}")
        how = {
            "dtype": np.float64,
            "y_numeric": False,
            "multi_output": True,
            "accept_sparse": "csr",
        }
        names = getattr(y, "columns", None)
        X, y = validate_data(self, X, y, ensure_min_samples=2, **how)
        try:
            X = dense(X)
            columns = np.arange(len(X)) if self.kernel == PRECOMPUTED else None
            self._select(GivenRows(X, y, groups, self.cv, sample_weight, columns).kept)
        except KselectError as error:
            raise ValueError(str(error)) from error
        if names is not None:
            self.target_names_ = np.array([str(name) for name in names], dtype=object)
        elif hasattr(self, "target_names_"):
            del self.target_names_
        return self

    def _targets(self, y: Any) -> Array:
        """Return the (q, n) targets."""
        raise TypeError("use KernelSelectClassifierCV or KernelSelectRegressorCV")

    def _request(self, X: Array, targets: Array) -> Request:
        """Check the parameters and return them as a request."""
        check_parameters(self)
        seed = self.random_state
        if not isinstance(seed, (int, np.integer)):
            seed = int(check_random_state(seed).randint(2**31 - 1))
        classification = hasattr(self, "classes_")
        grids = {"tau": self.tau, "degree": self.degree, **(self.grids or {})}
        columns = column_numbers(self.feature_columns, X)
        found = make_named_candidates(self.kernel, grids, self.gamma, X, targets, columns)
        return make_request(
            self.learner,
            self.criterion,
            self.kernel,
            found.kernels,
            self.lam,
            growing=found.growing,
            relevances=found.relevances,
            ensemble=self.ensemble,
            metric=self.metric,
            task="classification" if classification else "regression",
            params=self.params or {},
            loss=self.loss,
            scoring=self.scoring,
            labels=labels_for(self.scoring, self.classes_) if classification else (),
            ridge=self.ridge,
            nystrom=None if self.nystrom is not None and self.nystrom > len(X) else self.nystrom,
            columns=self.columns,
            n_jobs=effective_n_jobs(self.n_jobs),
            seed=int(seed),
            search="pruned",
        )

    def _select(self, given: GivenRows) -> None:
        """Select, warn, and set the fitted attributes."""
        X, targets = given.X, self._targets(given.y)
        request = self._request(X, targets)
        method, folds = folds_of_cv(given, request.method, request.seed)
        classes = class_weights(self.class_weight, list(getattr(self, "classes_", ())))
        weights = Weighting(given.weights, classes).of(targets)
        request = replace(request, method=method, weights=weights)
        found = select(X, targets, request, folds, progress(self.verbose))
        warn_about(found, X, getattr(self, "feature_names_in_", None), stacklevel=3)
        self.kernel_ = found.kernel
        self.members_ = found.members
        self.support_ = X if found.support is None else found.support
        self.best_index_ = found.position[0] * found.scores.shape[1] + found.position[1]
        self.best_params_ = parameters_of(found, self.gamma is not None)[self.best_index_]
        self.best_score_ = float(as_scored(found.scores, request.method.scorer)[found.position])
        if self.verbose:
            say(f"chose {self.best_params_}, {found.score_text}, in {found.seconds:.2f} s")
        if isinstance(found.kernel, FeatureWidths):
            self.feature_relevances_ = found.kernel.relevances()
        elif found.request.relevances:
            self.feature_relevances_ = np.array(found.request.relevances)
        if isinstance(found.kernel, Sum):
            self.kernel_weights_ = dict(found.kernel.parameters)
        self._columns = given.columns
        by_user = given.groups is not None or not isinstance(given.cv, int | np.integer | None)
        self._held_out = HeldOut(found, X, targets, folds, given=by_user)

    @property
    def criterion_path_(self) -> Array:
        """The criterion of every candidate; the search by bounds has not computed it."""
        check_is_fitted(self, "members_")
        return self._held_out.surface

    @property
    def cv_results_(self) -> dict[str, Any]:
        """The candidates and their scores, as in scikit-learn's searches."""
        check_is_fitted(self, "members_")
        return cv_results(self._held_out, self.gamma is not None)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that X may be sparse, and to split a precomputed kernel matrix along both axes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == PRECOMPUTED
        return tags

    def _decision(self, X: Any) -> Array:
        """Return the (rows, q) decision values."""
        check_is_fitted(self, "members_")
        members = [(one.point.kernel, one.fits) for one in self.members_]
        return mean_values(members, self.support_, self._rows(X))

    def _rows(self, X: Any) -> Array:
        """Return checked rows; of a kernel matrix, the columns of the rows that have a weight."""
        checked = validate_data(self, X, dtype=np.float64, reset=False, accept_sparse="csr")
        try:
            checked = dense(checked)
        except KselectError as error:
            raise ValueError(str(error)) from error
        return checked if self._columns is None else checked[:, self._columns]
