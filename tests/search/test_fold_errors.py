"""Searches by scikit-learn's scorers, against GridSearchCV and against metrics of retrained predictions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import oracles
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import f1_score, get_scorer, roc_auc_score
from sklearn.model_selection import GridSearchCV, PredefinedSplit, TimeSeriesSplit

from kselect.core.method import Choice, Method
from kselect.errors import ConfigError, TrialError
from kselect.kernels import Points
from kselect.kernels.gaussian import Gaussian
from kselect.numerics.folds import Folds
from kselect.numerics.scorers import find_scorer
from kselect.numerics.sigmoid import codes
from kselect.numerics.splits import as_folds
from kselect.numerics.weights import Weights
from kselect.search.fold_errors import fold_errors
from kselect.search.grid import score_kernels
from kselect.selection.engine import select, training_context
from kselect.selection.request import Request, make_method

RNG = np.random.default_rng(11)
X = RNG.normal(size=(60, 2))
Y = np.exp(np.sin(2 * X[:, 0]) + 0.3 * RNG.normal(size=60))
CLASSES = np.digitize(X[:, 0] + 0.4 * RNG.normal(size=60), (-0.4, 0.5))
# Folds of different sizes, so that the mean over folds is not that over rows.
FOLDS = Folds.from_numbers(np.append(np.arange(50) % 5, np.arange(10) % 2))
TAUS, LAMS = (0.5, 2.0, 8.0), (0.001, 0.01, 0.1)


def method_of(scoring: Any, task: str = "regression", **labels: Any) -> Method:
    """Return 5-CV with a scorer."""
    scorer = find_scorer(scoring, **labels)
    plain = make_method("5-CV", None, {}, task == "classification")
    return replace(plain.with_params(loss=scorer.name, average="folds"), scorer=scorer)


def request(scoring: Any, task: Any = "regression", learner: str = "krr", **more: Any) -> Request:
    """Return a request with nine candidates."""
    method = method_of(scoring, task)
    kernels = tuple(Gaussian(tau) for tau in TAUS)
    return Request(Choice(learner), kernels, LAMS, method, task=task, search="pruned", **more)


@pytest.mark.parametrize("scoring", ["neg_mean_absolute_error", "r2", "neg_mean_squared_log_error"])
def test_a_search_by_a_scorer_equals_grid_search_cv(scoring: str) -> None:
    """The scores of folds, their mean and the choice are those of scikit-learn."""
    asked = request(scoring)
    found = select(X, Y[None], asked, FOLDS)
    grid = {"gamma": [1 / (2 * tau) for tau in TAUS], "alpha": [60 * lam for lam in LAMS]}
    theirs = GridSearchCV(
        KernelRidge(kernel="rbf"), grid, scoring=scoring, cv=PredefinedSplit(FOLDS.numbers)
    ).fit(X, Y)
    table, scorer = theirs.cv_results_, asked.method.scorer
    assert scorer is not None
    mine = scorer.as_scores(found.scores).T.ravel()  # alpha varies slowest
    np.testing.assert_allclose(mine, table["mean_test_score"], atol=1e-10)
    assert found.lam * 60 == pytest.approx(theirs.best_params_["alpha"])
    context = training_context(X, Y[None], asked, lambda _: FOLDS)
    plain = make_method("5-CV", None, {}, False)
    for i, visit in enumerate(score_kernels(context, (plain,))):
        each = scorer.as_scores(fold_errors(context, asked.method, visit.held_out[plain]))
        for k in range(5):
            own = table[f"split{k}_test_score"].reshape(3, 3)[:, i]
            np.testing.assert_allclose(each[:, k], own, atol=1e-10)


def test_fold_errors_without_a_scorer_are_the_mean_losses_of_the_folds() -> None:
    """Several targets are averaged, scaled to the standard deviation 1."""
    targets = np.stack([Y, X[:, 1]])
    scaled = targets / targets.std(axis=1, keepdims=True)
    asked = replace(request("r2"), method=make_method("5-CV", None, {}, False))
    context = training_context(X, targets, asked, lambda _: FOLDS)
    (visit, *_) = score_kernels(context, (asked.method,))
    each = fold_errors(context, asked.method, visit.held_out[asked.method])
    K = visit.kernel.gram(Points(X))
    for i, lam in enumerate(LAMS):
        held = [oracles.held_out(K, y, FOLDS.members, lam, False, False) for y in scaled]
        losses = np.mean(np.square(scaled - held), axis=0)
        np.testing.assert_allclose(each[i], [losses[F].mean() for F in FOLDS.members])


@pytest.mark.parametrize("nystrom", [None, 60])
@pytest.mark.parametrize(("scoring", "classes"), [("roc_auc", 2), ("f1_macro", 3)])
def test_scores_of_classes_are_those_of_retrained_predictions(
    scoring: str, classes: int, nystrom: int | None
) -> None:
    """Several classes are predicted one against the rest; columns of all rows change nothing."""
    truth = np.minimum(CLASSES, classes - 1)
    targets = np.where(truth == np.arange(classes)[:, None], 1.0, -1.0)[classes == 2 :]
    found = select(X, targets, request(scoring, "classification", nystrom=nystrom), FOLDS)
    for i, tau in enumerate(TAUS):
        K = Gaussian(tau).gram(Points(X))
        for j, lam in enumerate(LAMS):
            held = np.array(
                [oracles.held_out(K, y, FOLDS.members, lam, False, False) for y in targets]
            )
            each = [
                roc_auc_score(truth[F], held[0, F])
                if classes == 2
                else f1_score(truth[F], codes(held[:, F]), average="macro")
                for F in FOLDS.members
            ]
            assert found.scores[i, j] == pytest.approx(1 - np.mean(each), abs=1e-9)


def test_a_candidate_without_a_score_is_excluded_with_its_reason() -> None:
    """The other candidates are still scored."""

    def only_near(estimator: Any, rows: Any, y: Any) -> float:
        if np.abs(y - estimator.predict(rows)).max() > 2.2:
            raise ValueError("too far off")
        return -float(np.square(y - estimator.predict(rows)).mean())

    found = select(X, Y[None], request(only_near), FOLDS)
    assert 0 < len(found.best.excluded) < 9
    assert np.isinf(found.scores).sum() == len(found.best.excluded)
    assert "too far off" in found.best.excluded[0][1]

    def never(estimator: Any, rows: Any, y: Any) -> float:
        if np.allclose(estimator.predict(rows), y):
            return 1.0
        return np.nan

    with pytest.raises(TrialError, match="never is not defined on fold 0: it has 15 rows"):
        select(X, Y[None], request(never), FOLDS)


@pytest.mark.parametrize(
    ("scoring", "task", "words"),
    [
        ("roc_auc", "regression", "roc_auc is not for regression"),
        ("r2", "classification", "r2 is not for classification"),
        (
            "f1",
            "classification",
            "f1 cannot be computed from held-out predictions: Target is multi",
        ),
        (lambda e, X, y: e.coef_, "regression", "object has no attribute 'coef_'"),
        (len, "regression", r"len cannot be computed from held-out predictions: len\(\) takes"),
    ],
)
def test_scorers_that_cannot_work_are_refused(scoring: Any, task: Any, words: str) -> None:
    """The search refuses them before the first kernel matrix."""
    several = np.where(np.arange(3)[:, None] == CLASSES, 1.0, -1.0)
    targets = Y[None] if task == "regression" else several
    with pytest.raises(ConfigError, match=words):
        select(X, targets, request(scoring, task), FOLDS)


def test_a_fold_of_one_class_is_refused_by_name() -> None:
    """An area under the curve needs both classes in every fold."""
    targets = np.where(X[:, :1].T > 0, 1.0, -1.0)
    folds = Folds.from_numbers(np.where(X[:, 0] > 1, 0, np.arange(60) % 4 + 1))
    with pytest.raises(ConfigError, match="roc_auc is not defined on fold 0: its rows are all of"):
        select(X, targets, request("roc_auc", "classification"), folds)


@pytest.mark.parametrize("scoring", ["neg_mean_absolute_error", "r2"])
def test_scorers_take_windows_of_time_and_weights(scoring: str) -> None:
    """Each window is scored by scikit-learn's scorer with the weights of its test rows."""
    weights = Weights(np.random.default_rng(3).uniform(0.2, 3.0, 60))
    pairs = list(TimeSeriesSplit(4).split(X))
    splits = as_folds(pairs, 60)
    found = select(X, Y[None], replace(request(scoring), weights=weights), splits)
    for i, tau in enumerate(TAUS):
        for j, lam in enumerate(LAMS):
            scores = []
            for train, test in pairs:
                model = KernelRidge(kernel="rbf", gamma=1 / (2 * tau), alpha=60 * lam)
                model.fit(X[train], Y[train], sample_weight=weights.values[train])
                given = X[test], Y[test]
                scores.append(get_scorer(scoring)(model, *given, sample_weight=weights.given[test]))
            best = 1.0 if scoring == "r2" else 0.0
            assert best - found.scores[i, j] == pytest.approx(np.mean(scores), abs=1e-9)
