"""Held-out predictions on splits that are no partition of the rows, against retraining by definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import oracles_weights
import pytest
from problems import problem_of, rows
from sklearn import model_selection as sk

from kselect.criteria import CRITERIA
from kselect.errors import ConfigError
from kselect.kernels.gaussian import Gaussian
from kselect.learners import LEARNERS
from kselect.learners.refits import held_out
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array
from kselect.numerics.splits import Splits, as_folds
from kselect.numerics.weights import Weights

N, LAMS = 24, (1e-3, 8e-3)
X, LABELS = rows(N, seed=3)
WINDOWS = sk.TimeSeriesSplit(4)
# scikit-learn's splitters, and whether closed forms serve them.
SPLITTERS = (
    (WINDOWS, False),
    (sk.ShuffleSplit(3, test_size=0.3, random_state=0), False),
    (sk.RepeatedKFold(n_splits=4, n_repeats=3, random_state=0), True),
    (sk.PredefinedSplit([-1, 0, 1, 1] * (N // 4)), False),
)


def splits_of(splitter: Any) -> Splits:
    """Return the splits of the rows."""
    found = as_folds(list(splitter.split(X, LABELS)), N)
    assert isinstance(found, Splits)
    return found


def target_of(learner: str) -> Array:
    """Return labels, or numbers for a learner of a regression."""
    return X[:, 0] + np.sin(3 * X[:, 1]) if learner == "quadratic-svr" else LABELS


def by_definition(
    learner: str, splits: Splits, weights: Array, ridge: str
) -> tuple[Array, Array, Array]:
    """Return the test rows, the predictions (ridges, tested) and the number of the split of each."""
    y, train_on = target_of(learner), oracles_weights.TRAINERS[learner]
    K = problem_of(Gaussian(2.0), X, y).K
    w = weights * N / weights.sum()
    rows_, values, numbers = [], [], []
    for number, (train, test) in enumerate(splits.pairs):
        total = N if ridge == "fixed" else w[train].sum()
        given = K[np.ix_(train, train)], y[train], w[train]
        found = [train_on(*given, total * lam, K[np.ix_(test, train)]) for lam in LAMS]
        rows_.append(test)
        values.append(np.array(found))
        numbers.append(np.full(len(test), number))
    return np.concatenate(rows_), np.concatenate(values, axis=1), np.concatenate(numbers)


@pytest.mark.parametrize("learner", sorted(oracles_weights.TRAINERS))
@pytest.mark.parametrize("ridge", ["fixed", "per-fold"])
@pytest.mark.parametrize("weighted", [False, True])
def test_windows_of_time_are_trained_by_themselves(
    learner: str, ridge: Any, weighted: bool
) -> None:
    weights = np.random.default_rng(0).uniform(0.2, 4.0, N) if weighted else np.ones(N)
    y, splits = target_of(learner), splits_of(WINDOWS)
    task = problem_of(Gaussian(2.0), X, y, LAMS, ridge=ridge, weights=Weights.of(weights))
    path = LEARNERS[learner].path(task)
    at, wanted, numbers = by_definition(learner, splits, weights, ridge)
    np.testing.assert_allclose(held_out(path, splits), wanted, atol=1e-8)
    squares, w = np.square(y[at] - wanted), weights[at]
    found = CRITERIA["k-CV"].function(path, splits)
    np.testing.assert_allclose(found, (squares * w).sum(axis=1) / w.sum(), rtol=1e-7)
    each = [
        (squares * w)[:, numbers == i].sum(axis=1) / w[numbers == i].sum()
        for i in range(len(splits.pairs))
    ]
    found = CRITERIA["k-CV"].function(path, splits, average="folds")
    np.testing.assert_allclose(found, np.mean(each, axis=0), rtol=1e-7)


@pytest.mark.parametrize(("splitter", "closed"), SPLITTERS)
@pytest.mark.parametrize("learner", ["krr", "lssvm", "svm"])
def test_any_splitter_of_scikit_learn(learner: str, splitter: Any, closed: bool) -> None:
    splits = splits_of(splitter)
    assert bool(splits.rounds) is closed
    path = LEARNERS[learner].path(problem_of(Gaussian(2.0), X, LABELS, LAMS))
    at, wanted, _ = by_definition(learner, splits, np.ones(N), "fixed")
    np.testing.assert_array_equal(splits.rows, at)
    np.testing.assert_allclose(held_out(path, splits), wanted, atol=1e-8)


def test_several_targets_share_the_refits() -> None:
    targets = np.stack([LABELS, X[:, 0], X[:, 1]])
    whole = problem_of(Gaussian(2.0), X, LABELS, LAMS, targets=targets)
    splits = splits_of(WINDOWS)
    for i, each in enumerate(targets):
        alone = LEARNERS["lssvm"].path(problem_of(Gaussian(2.0), X, each, LAMS))
        shared = LEARNERS["lssvm"].path(whole.of_target(i, whole.lams))
        np.testing.assert_allclose(held_out(shared, splits), held_out(alone, splits))
    assert sum(key[0] == "refits" for key in whole.of_targets) == 1  # type: ignore[index]


@pytest.mark.parametrize(
    "splitter",
    [sk.KFold(4), sk.StratifiedKFold(3), sk.PredefinedSplit(np.arange(N) % 3)],
)
def test_one_partition_becomes_folds(splitter: Any) -> None:
    pairs = list(splitter.split(X, LABELS))
    found = as_folds(pairs, N)
    assert isinstance(found, Folds)
    for (_, test), F in zip(pairs, found.members, strict=True):
        np.testing.assert_array_equal(np.sort(test), F)


def test_pairs_that_cannot_be_served_are_refused() -> None:
    first, rest = np.arange(4), np.arange(4, N)
    with pytest.raises(ConfigError, match="split 0 tests rows that it trains on"):
        as_folds([(np.arange(N), first)], N)
    with pytest.raises(ConfigError, match="split 1 has no test rows"):
        as_folds([(rest, first), (rest, np.array([], dtype=np.intp))], N)
    with pytest.raises(ConfigError, match="a row number of split 0 is outside 0 to 23"):
        as_folds([(rest + 1, first)], N)
    with pytest.raises(ConfigError, match="no pair"):
        as_folds([], N)
