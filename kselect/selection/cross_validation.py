"""``cv`` as scikit-learn takes it, turned into the folds that a criterion is asked with."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np

from kselect.core.method import Method
from kselect.errors import ConfigError, quoted
from kselect.numerics.linalg import Array, Index

WAYS = "an int, a splitter, a list of (train, test) pairs, or one whole fold number a row"
COUNT = re.compile(r"[0-9]+-")


def asked_folds(
    cv: Any, groups: Any, X: Array, y: Any, method: Method
) -> tuple[Method, Index | None]:
    """The criterion with as many folds as ``cv`` makes, and each row's fold; None for random ones.

    ``groups`` stay together, by a splitter that looks at them or else by scikit-learn's GroupKFold.
    """
    if cv is None and groups is None:
        return method, None
    if method.folds is None:
        raise ConfigError(f"{method.label} has no folds: leave out cv and groups")
    if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool) and groups is None:
        return with_folds(method, int(cv)), None
    if groups is not None and (cv is None or isinstance(cv, (int, np.integer))):
        from sklearn.model_selection import GroupKFold

        cv = GroupKFold(int(cv or method.folds))
    if is_fold_numbers(cv):
        if groups is not None:
            raise ConfigError("groups: fold numbers are given already; leave one of the two out")
        return method, np.asarray(cv).astype(np.intp)
    numbers = fold_numbers(train_and_test(cv, X, y, groups), len(X))
    return with_folds(method, int(numbers.max()) + 1), numbers


def with_folds(method: Method, folds: int) -> Method:
    """The same criterion with another number of folds: ``5-KS`` -> ``10-KS``."""
    if folds < 2:
        raise ConfigError(f"cv: cross-validation needs 2 folds or more, not {folds}")
    return replace(method, label=COUNT.sub(f"{folds}-", method.label, count=1), folds=folds)


def is_fold_numbers(cv: Any) -> bool:
    """Whether it is one whole number a row."""
    if hasattr(cv, "split") or isinstance(cv, str):
        return False
    try:
        numbers = np.asarray(cv)
    except ValueError:  # pairs of different lengths
        return False
    return numbers.ndim == 1 and numbers.dtype.kind in "iu"


def train_and_test(cv: Any, X: Array, y: Any, groups: Any) -> list[tuple[Index, Index]]:
    """The (train, test) rows of a splitter, or of a list of pairs."""
    if hasattr(cv, "split") and not isinstance(cv, str):
        return list(cv.split(X, y, groups))
    try:
        return [(as_rows(train), as_rows(test)) for train, test in cv]
    except (TypeError, ValueError):
        raise ConfigError(f"cv: {WAYS}, not {quoted(cv)}") from None


def as_rows(part: Any) -> Index:
    """Row numbers; a mask is one flag a row."""
    rows = np.asarray(part)
    if rows.dtype == bool:
        return np.flatnonzero(rows)
    if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
        raise ValueError("no row numbers")
    return rows.astype(np.intp)


def fold_numbers(parts: list[tuple[Index, Index]], n: int) -> Index:
    """The fold of each row: test parts partition the rows, and each is trained on without."""
    numbers = np.full(n, -1, dtype=np.intp)
    for fold, (train, test) in enumerate(parts):
        if len(test) and not (test.min() >= 0 and test.max() < n):
            raise ConfigError(f"cv: a row number that is none of 0 to {n - 1}")
        if (numbers[test] >= 0).any():
            raise ConfigError("cv: the test parts of the splitter overlap; each row needs one fold")
        if len(np.union1d(train, test)) < n or len(np.intersect1d(train, test)):
            raise ConfigError("cv: a training part must be all rows but those of its test part")
        numbers[test] = fold
    if (numbers < 0).any():
        raise ConfigError("cv: the splitter leaves rows out; each row needs one fold")
    return numbers
