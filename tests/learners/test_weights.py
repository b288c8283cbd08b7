"""Weights of rows, for every learner and criterion that takes them: weighted retraining, and repeated rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import oracles_weights
import pytest
from problems import problem_of, rows

from kselect.criteria import CRITERIA
from kselect.criteria.base import fold_error
from kselect.kernels.gaussian import Gaussian
from kselect.learners import LEARNERS, Path, Problem
from kselect.learners.base import WithoutFolds
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array
from kselect.numerics.weights import Weights, mean_loss

WEIGHTED = sorted(name for name, one in LEARNERS.items() if one.weighted)
N, LAMS = 18, (3e-3, 0.05, 0.4)


def problem(learner: str, weights: Array | None, **more: Any) -> Problem:
    """Return a classification or regression whose rows have weights."""
    X, y = rows(N, seed=3)
    if learner == "quadratic-svr":
        y = X[:, 0] + np.sin(3 * X[:, 1])
    return problem_of(Gaussian(2.0), X, y, LAMS, weights=Weights.of(weights), **more)


def path(learner: str, task: Problem) -> Path:
    """Return a learner's path."""
    return LEARNERS[learner].path(task)


def repeated(task: Problem, counts: Any) -> Problem:
    """Return the problem in which each row stands as often as its count says."""
    again = np.repeat(np.arange(task.n), counts)
    targets = None if task.targets is None else task.targets[:, again]
    K = task.K[np.ix_(again, again)]
    return replace(task, X=task.X[again], y=task.y[again], K=K, targets=targets, weights=None)


@pytest.fixture
def weights() -> Array:
    """Return uneven weights."""
    return np.random.default_rng(0).uniform(0.2, 4.0, N)


FOLDS = Folds.from_numbers(np.arange(N) * 7 % 4)


def test_every_learner_of_the_package_takes_weights() -> None:
    assert {"krr", "lssvm", "svm", "smooth-hinge", "quadratic-svr"} == set(WEIGHTED)
    assert {"krr", "lssvm", "svm", "smooth-hinge", "quadratic-svr"} == set(oracles_weights.TRAINERS)


@pytest.mark.parametrize("learner", WEIGHTED)
@pytest.mark.parametrize("ridge", ["fixed", "per-fold"])
def test_held_out_predictions_are_those_of_weighted_retraining(
    learner: str, ridge: Any, weights: Array
) -> None:
    task = problem(learner, weights, ridge=ridge)
    found = path(learner, task).held_out(FOLDS)
    train = oracles_weights.TRAINERS[learner]
    for i, lam in enumerate(LAMS):
        given = task.K, task.y, weights, FOLDS.members, lam, ridge == "per-fold"
        np.testing.assert_allclose(found[i], oracles_weights.held_out(train, *given), atol=1e-8)
    plain = path(learner, replace(task, weights=None)).held_out(FOLDS)
    assert np.abs(plain - found).max() > 1e-3


@pytest.mark.parametrize("learner", WEIGHTED)
def test_leave_one_out_and_fit_are_those_of_weighted_retraining(
    learner: str, weights: Array
) -> None:
    task = problem(learner, weights)
    made, train, w = path(learner, task), oracles_weights.TRAINERS[learner], weights
    w = w * N / w.sum()
    singles = [np.array([i]) for i in range(N)]
    fit = made.fit()
    for i, lam in enumerate(LAMS):
        given = task.K, task.y, w, singles, lam, False
        np.testing.assert_allclose(
            made.loo()[i], oracles_weights.held_out(train, *given), atol=1e-8
        )  # type: ignore[attr-defined]
        whole = train(task.K, task.y, w, N * lam, task.K)
        np.testing.assert_allclose(made.decision()[i], whole, atol=1e-8)
        np.testing.assert_allclose(fit.decision(i, task.K), whole, atol=1e-8)


@pytest.mark.parametrize("learner", WEIGHTED)
@pytest.mark.parametrize("ridge", ["fixed", "per-fold"])
def test_weights_equal_repeated_rows(learner: str, ridge: Any) -> None:
    counts = np.random.default_rng(1).integers(1, 5, N)
    task = problem(learner, counts.astype(float), ridge=ridge)
    many = repeated(task, counts)
    folds = Folds.from_numbers(np.repeat(FOLDS.numbers, counts))
    once, often = path(learner, task), path(learner, many)
    first = np.cumsum(counts) - counts
    np.testing.assert_allclose(once.held_out(FOLDS), often.held_out(folds)[:, first], atol=1e-9)
    np.testing.assert_allclose(once.decision(), often.decision()[:, first], atol=1e-9)
    np.testing.assert_allclose(once.fit().bias, often.fit().bias, atol=1e-9)
    own = np.add.reduceat(often.fit().alpha, first, axis=1)
    np.testing.assert_allclose(once.fit().alpha, own, rtol=1e-7, atol=1e-9)
    for average in ("points", "folds"):
        scores = CRITERIA["k-CV"].function(once, FOLDS, average=average)
        wanted = CRITERIA["k-CV"].function(often, folds, average=average)
        np.testing.assert_allclose(scores, wanted, atol=1e-9)


@pytest.mark.parametrize("learner", ["krr", "lssvm", "quadratic-svr"])
@pytest.mark.parametrize("ridge", ["fixed", "per-fold"])
def test_fits_without_folds_predict_as_held_out(learner: str, ridge: Any, weights: Array) -> None:
    task = problem(learner, weights, ridge=ridge)
    made = path(learner, task)
    assert isinstance(made, WithoutFolds)
    held = made.held_out(FOLDS)
    for F, fit in zip(FOLDS.members, made.fold_fits(FOLDS), strict=True):
        for i in range(len(LAMS)):
            np.testing.assert_allclose(fit.decision(i, task.K[F]), held[i, F], atol=1e-9)


@pytest.mark.parametrize("learner", ["krr", "lssvm"])
def test_several_targets_share_the_weighted_factor(learner: str, weights: Array) -> None:
    X, y = rows(N, seed=3)
    targets = np.stack([y, X[:, 0], -y])
    whole = problem_of(Gaussian(2.0), X, y, LAMS, weights=Weights(weights), targets=targets)
    for i, each in enumerate(targets):
        alone = problem_of(Gaussian(2.0), X, each, LAMS, weights=Weights(weights))
        shared = path(learner, whole.of_target(i, whole.lams))
        np.testing.assert_allclose(shared.held_out(FOLDS), path(learner, alone).held_out(FOLDS))


def test_scores_are_weighted_means_of_losses(weights: Array) -> None:
    task = problem("lssvm", weights)
    made = path("lssvm", task)
    held = made.held_out(FOLDS)
    squares, w = np.square(task.y - held), weights
    points = (squares * w).sum(axis=1) / w.sum()
    np.testing.assert_allclose(CRITERIA["k-CV"].function(made, FOLDS), points, rtol=1e-12)
    each = [(squares[:, F] * w[F]).sum(axis=1) / w[F].sum() for F in FOLDS.members]
    found = CRITERIA["k-CV"].function(made, FOLDS, average="folds")
    np.testing.assert_allclose(found, np.mean(each, axis=0), rtol=1e-12)
    wrong = ((task.y * held <= 0) * w).sum(axis=1) / w.sum()
    found = fold_error(made, held, FOLDS, "zero-one", "points")
    np.testing.assert_allclose(found, wrong, rtol=1e-12)
    loo = made.loo()  # type: ignore[attr-defined]
    for form, losses in (
        ("press", np.square(task.y - loo)),
        ("error", task.y * loo <= 0),
        ("smoothed", 1 / (1 + np.exp(10 * task.y * loo))),
    ):
        found = CRITERIA["ELOO"].function(made, form=form)
        np.testing.assert_allclose(found, (losses * w).sum(axis=1) / w.sum(), rtol=1e-12)


def test_whole_numbers_count_exactly_as_repeated_rows() -> None:
    counts = np.array([3, 1, 2, 5, 1, 7])
    losses = np.array([0.0, 1, 1, 0, 1, 0])
    again = mean_loss(np.repeat(losses, counts), None)
    assert mean_loss(losses, Weights.of(counts.astype(float))) == again


def test_equal_weights_are_none() -> None:
    assert Weights.of(np.full(4, 2.5)) is None
    assert Weights.of(None) is None
    found = Weights.of(np.array([1.0, 3.0]))
    assert found is not None
    np.testing.assert_allclose(found.values, [0.5, 1.5])
