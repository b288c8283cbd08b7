"""scikit-learn's terms about rows: ``cv`` and ``groups`` as folds or splits, and ``sample_weight``."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kselect.core.method import Method
from kselect.errors import ConfigError, quoted
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array, Index
from kselect.numerics.splits import Splits, as_folds, rounds_of
from kselect.selection.request import make_folds
from kselect.selection.rows.weighting import check_weights

CV_FORMS = "an int, a splitter, a list of (train, test) pairs, or one whole fold number per row"
FOLD_COUNT = re.compile(r"[0-9]+-")


@dataclass(frozen=True, eq=False)
class GivenRows:
    """The arguments of ``fit``, without the rows of weight 0.

    ``columns`` are the columns of a precomputed kernel matrix that are left, None for all.
    """

    X: Array
    y: Any
    groups: Any
    cv: Any
    weights: Array | None = None
    columns: Index | None = None

    @property
    def kept(self) -> GivenRows:
        """The rows of positive weight, which must be the only ones that matter."""
        if self.weights is None:
            return self
        n, weights = len(self.X), check_weights(self.weights, len(self.X))
        rows = np.flatnonzero(weights)
        if len(rows) == n:
            return replace(self, weights=weights)
        X = self.X if self.columns is None else self.X[:, rows]
        columns = None if self.columns is None else rows
        groups = None if self.groups is None else np.asarray(self.groups)[rows]
        cv = of_kept_rows(self.cv, rows, n)
        return GivenRows(X[rows], np.asarray(self.y)[rows], groups, cv, weights[rows], columns)


def folds_of_cv(
    given: GivenRows, method: Method, seed: int
) -> tuple[Method, Folds | Splits | None]:
    """Return the criterion with the number of folds of ``cv``, and how the rows are held out.

    ``groups`` stay together, with a splitter that supports them or else with scikit-learn's GroupKFold.
    """
    X, y, groups, cv = given.X, given.y, given.groups, given.cv
    n = len(X)
    if cv is None and groups is None:
        return method, make_folds(method, n, seed, None)
    if method.folds is None:
        raise ConfigError(f"{method.label} has no folds: leave out cv and groups")
    is_count = isinstance(cv, (int, np.integer)) and not isinstance(cv, bool)
    if is_count and groups is None:
        method = with_folds(method, int(cv))
        return method, make_folds(method, n, seed, None)
    if groups is not None and (cv is None or is_count):
        from sklearn.model_selection import GroupKFold

        cv = GroupKFold(method.folds if cv is None else int(cv))
    if is_fold_numbers(cv):
        if groups is not None:
            raise ConfigError(
                "groups: cv already gives the fold of each row; leave one of them out"
            )
        return method, make_folds(method, n, seed, np.asarray(cv).astype(np.intp))
    try:
        found = as_folds(train_and_test(cv, X, y, groups), n)
    except ConfigError as error:
        raise ConfigError(f"cv: {str(error).removeprefix('cv: ')}") from None
    return named_by_folds(method, len(rounds_of(found)[0].members)), found


def with_folds(method: Method, folds: int) -> Method:
    """Return the same criterion with another number of folds: ``5-KS`` becomes ``10-KS``."""
    if folds < 2:
        raise ConfigError(f"cv: cross-validation needs 2 folds or more, not {folds}")
    return named_by_folds(method, folds)


def named_by_folds(method: Method, folds: int) -> Method:
    """Return a criterion with this number of folds in its name; a single test part is one fold."""
    return replace(method, label=FOLD_COUNT.sub(f"{folds}-", method.label, count=1), folds=folds)


def of_kept_rows(cv: Any, kept: Index, n: int) -> Any:
    """Return ``cv`` for the rows that are kept of n; a splitter sees these only anyway."""
    if cv is None or isinstance(cv, (int, np.integer, str)) or hasattr(cv, "split"):
        return cv
    if is_fold_numbers(cv):
        return np.asarray(cv)[kept] if len(cv) == n else cv
    place = np.full(n, -1, dtype=np.intp)
    place[kept] = np.arange(len(kept))
    pairs = train_and_test(cv, np.empty((n, 0)), None, None)
    if any(
        len(rows) and not (rows.min() >= 0 and rows.max() < n) for pair in pairs for rows in pair
    ):
        raise ConfigError(f"cv: a row number is outside 0 to {n - 1}")
    return [tuple(place[rows][place[rows] >= 0] for rows in pair) for pair in pairs]


def is_fold_numbers(cv: Any) -> bool:
    """Return whether ``cv`` is a sequence of whole numbers, one per row."""
    if hasattr(cv, "split") or isinstance(cv, str):
        return False
    try:
        numbers = np.asarray(cv)
    except ValueError:  # pairs of different lengths
        return False
    return numbers.ndim == 1 and numbers.dtype.kind in "iu"


def train_and_test(cv: Any, X: Array, y: Any, groups: Any) -> list[tuple[Index, Index]]:
    """Return the (train, test) rows of a splitter, or of a list of pairs of row numbers or masks."""
    if hasattr(cv, "split") and not isinstance(cv, str):
        return list(cv.split(X, y, groups))
    try:
        pairs = [(np.asarray(train), np.asarray(test)) for train, test in cv]
    except (TypeError, ValueError):
        pairs = []
    parts = [tuple(np.flatnonzero(p) if p.dtype == bool else p for p in pair) for pair in pairs]
    if not parts or any(
        p.ndim != 1 or (p.size and p.dtype.kind not in "iu") for q in parts for p in q
    ):
        raise ConfigError(f"cv: write {CV_FORMS}, not {quoted(cv)}")
    return [(train.astype(np.intp), test.astype(np.intp)) for train, test in parts]
