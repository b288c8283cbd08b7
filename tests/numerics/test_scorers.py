"""Scorers on held-out predictions: probabilities, labels, names and errors."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from oracles_tables import slope_by_search
from sklearn.metrics import (
    get_scorer_names,
    log_loss,
    make_scorer,
    mean_absolute_error,
    precision_score,
    roc_auc_score,
    top_k_accuracy_score,
)

from kselect.errors import ConfigError
from kselect.numerics.folds import Folds
from kselect.numerics.scorers import REGRESSION, HeldOutRows, find_scorer, named
from kselect.numerics.sigmoid import probabilities
from kselect.numerics.weights import Weights

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
CODES = RNG.permutation(np.arange(40) % 3)
TARGETS = np.where(np.arange(3)[:, None] == CODES, 1.0, -1.0)
DECISIONS = 0.5 * TARGETS + RNG.normal(size=(3, 40))
FOLDS = Folds.from_numbers(np.arange(40) % 4)


def rows(two: bool, labels: Any = ()) -> HeldOutRows:
    """Return rows of two classes or of three."""
    part = slice(0, 1) if two else slice(None)
    return HeldOutRows(X, TARGETS[part], DECISIONS[part], "classification", labels)


def test_every_scorer_belongs_to_a_task() -> None:
    """The scorers of regressions are those that scikit-learn keeps in a module of their own."""
    of_regression = {
        name for name in get_scorer_names() if "_regression" in named(name)._score_func.__module__
    }
    assert of_regression <= REGRESSION


@pytest.mark.parametrize("two", [True, False], ids=["2", "3"])
def test_log_loss_takes_the_sigmoid_of_all_held_out_rows(two: bool) -> None:
    """The slope is fitted to all rows, the loss is that of each fold."""
    held = rows(two)
    errors = find_scorer("neg_log_loss").errors(held, FOLDS)
    slope = slope_by_search(held.decisions, held.targets)
    likely, truth = probabilities(slope, held.decisions.T), held.truth
    for error, F in zip(errors, FOLDS.members, strict=True):
        assert error == pytest.approx(log_loss(truth[F], likely[F]), rel=1e-6)


def test_scorers_of_decision_values_take_one_column_per_class() -> None:
    """top_k_accuracy ranks the decision values of three classes."""
    errors = find_scorer("top_k_accuracy").errors(rows(False), FOLDS)
    for error, F in zip(errors, FOLDS.members, strict=True):
        assert error == pytest.approx(1 - top_k_accuracy_score(CODES[F], DECISIONS[:, F].T))


def test_the_positive_class_is_that_of_the_labels() -> None:
    """As in scikit-learn it is 1, whatever its position; without labels it is the second class."""
    for labels, positive in (((), 1), ((0, 1), 1), ((1, 2), 0)):
        errors = find_scorer("precision", labels).errors(rows(True, labels), FOLDS)
        truth, found = CODES == 0, DECISIONS[0] > 0
        for error, F in zip(errors, FOLDS.members, strict=True):
            own = precision_score(truth[F] == positive, found[F] == positive)
            assert error == pytest.approx(1 - own)


def test_functions_get_rows_and_labels_and_are_turned_by_their_sign() -> None:
    """A function of one's own may use the rows and the classes as they were written."""
    seen = []

    def mine(estimator: Any, some: Any, y: Any) -> float:
        seen.append((some, y, estimator.predict(some), estimator.classes_))
        return 3.0

    scorer = find_scorer(mine, ("a", "b", "c"))
    held = rows(False, scorer.labels)
    np.testing.assert_array_equal(scorer.errors(held, FOLDS), -3.0)
    some, y, found, classes = seen[2]
    np.testing.assert_array_equal(some, X[FOLDS.members[2]])
    np.testing.assert_array_equal(y, np.array(["a", "b", "c"])[CODES[FOLDS.members[2]]])
    assert set(found) <= {"a", "b", "c"}
    assert classes.tolist() == ["a", "b", "c"]
    assert (scorer.name, scorer.error_name) == ("mine", "-mine")


def test_weights_count_as_repeated_rows() -> None:
    """A function of one's own gets them only if it has the argument."""
    counts = RNG.integers(1, 4, size=40)
    held = replace(rows(True), weights=Weights(counts.astype(np.float64)))
    errors = find_scorer("roc_auc").errors(held, FOLDS)
    for error, F in zip(errors, FOLDS.members, strict=True):
        again = np.repeat(F, counts[F])
        wanted = 1 - roc_auc_score(held.truth[again], held.decisions[0, again])
        assert error == pytest.approx(wanted, rel=1e-12)
    assert find_scorer(lambda estimator, X, y: 1.0).errors(held, FOLDS).tolist() == [-1.0] * 4

    def summed(estimator: Any, X: Any, y: Any, sample_weight: Any) -> float:
        return float(sample_weight.sum())

    total = -find_scorer(summed).errors(held, FOLDS).sum()
    assert total == counts.sum()


def test_errors_turn_back_into_scores() -> None:
    """An error is 0 for the best score."""
    for name, error_name in (
        ("roc_auc", "1 - roc_auc"),
        ("neg_log_loss", "log_loss"),
        ("neg_max_error", "max_error"),
    ):
        scorer = find_scorer(name)
        assert scorer.error_name == error_name
        assert scorer.as_scores(np.array(0.0)) == scorer.best
    assert find_scorer("neg_log_loss").as_scores(np.array([0.3])) == -0.3
    assert find_scorer("r2").as_scores(np.array([0.25])) == 0.75


def test_scorers_are_equal_by_name_and_survive_pickling() -> None:
    """Worker processes get the same scorer, so that methods stay equal."""
    scorer = find_scorer("roc_auc")
    assert pickle.loads(pickle.dumps(scorer)) == scorer == find_scorer("roc_auc")
    made = make_scorer(mean_absolute_error, greater_is_better=False)
    assert find_scorer(made).name.startswith("make_scorer(mean_absolute_error")
    assert find_scorer(made).own is made


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    """The message is one line."""
    with pytest.raises(ConfigError, match="unknown scorer 'rocauc'; did you mean 'roc_auc'"):
        find_scorer("rocauc")
