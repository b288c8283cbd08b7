"""The classifier and the regressor of scikit-learn's kind: targets, predictions, probabilities, intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from kselect.datasets.table.target import one_against_rest
from kselect.errors import ConfigError, KselectError
from kselect.numerics.linalg import Array
from kselect.numerics.sigmoid import codes, probabilities
from kselect.selection.estimator import KernelSelectCV


class KernelSelectClassifierCV(ClassifierMixin, KernelSelectCV):  # type: ignore[misc]
    """Classifier that chooses its kernel and ridge by a criterion over a grid.

    More than two classes are fitted one against the rest.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import scale
    >>> from kselect import KernelSelectClassifierCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelSelectClassifierCV(criterion="5-CV", tau="2^-2:2^4", lam="10^-5:10^0")
    >>> model.fit(scale(X), y).best_params_
    {'tau': 1.0, 'lam': 0.001}
    >>> model.predict(scale(X)[:3])
    array([0, 0, 0])
    >>> model.predict_proba(scale(X)[:1]).round(2)
    array([[0.97, 0.02, 0.02]])
    """

    def _targets(self, y: Any) -> Array:
        """Return one target for two classes, one per class (against the rest) for more."""
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        self.classes_, numbers = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ConfigError(f"the target has 1 class only ({self.classes_[0]!r})")
        return one_against_rest(numbers, range(len(self.classes_)))

    def decision_function(self, X: Any) -> Array:
        """Return decision values: (rows,) for two classes, positive for the second; (rows, classes) for more."""
        values = self._decision(X)
        return values[:, 0] if len(self.classes_) == 2 else values

    def predict(self, X: Any, interval: float | None = None) -> Any:
        """Return the class with the largest decision value for each row."""
        if interval is not None:
            raise ValueError("intervals are for regression; predict_proba returns probabilities")
        found = codes(self._decision(X).T)
        return self.classes_[found]

    def predict_proba(self, X: Any) -> Array:
        """Return (rows, classes) probabilities: a sigmoid of the decision values.

        The first call fits the sigmoid to held-out decision values, at the cost of one path of the chosen kernel.
        """
        values = self._decision(X)
        return probabilities(self._held_out.slope, values)


class KernelSelectRegressorCV(RegressorMixin, KernelSelectCV):  # type: ignore[misc]
    """Regressor that chooses its kernel and ridge by a criterion over a grid.

    Several targets share one factorisation of each kernel matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from kselect import KernelSelectRegressorCV
    >>> X = np.linspace(0, 6, 100)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.2 * np.random.default_rng(0).normal(size=100)
    >>> model = KernelSelectRegressorCV(criterion="5-CV", tau="2^-4:2^8", lam="10^-7:10^1")
    >>> model.fit(X, y).best_params_
    {'tau': 8.0, 'lam': 1e-06}
    >>> model.predict([[1.5]]).round(2)
    array([0.98])
    """

    def _targets(self, y: Any) -> Array:
        """Return the targets as numbers, one row per column of y."""
        values = np.asarray(y, dtype=np.float64)
        self._outputs = values.shape[1:]
        return np.ascontiguousarray(values.reshape(len(values), -1).T)

    def predict(self, X: Any, interval: float | None = None) -> Any:
        """Return the predictions: (rows,), or (rows, targets) if there were several columns of targets.

        Parameters
        ----------
        X : array of shape (rows, features)
            Rows to predict.
        interval : float, optional
            Level of CV+ intervals (Jackknife+ below 200 rows): the result is then ``(predictions, bounds)``, with
            ends of shape (rows, 2) or (rows, targets, 2). The choice and the relevances are held fixed.
        """
        values = self._decision(X)
        predicted = values.reshape(len(values), *self._outputs)
        if interval is None:
            return predicted
        try:
            bounds = self._held_out.intervals.bounds(self.support_, self._rows(X), interval)
        except KselectError as error:
            raise ValueError(str(error)) from error
        return predicted, bounds.reshape(len(values), *self._outputs, 2)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that several targets are supported."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
