"""k-CV against retraining, and its sum with kernel stability, exact and estimated."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import Case, cases, problem_of, rows

from kselect.criteria.bif import bouligand_cross_validation
from kselect.criteria.cross_validation import (
    Estimate,
    cross_validation,
    kernel_stability,
    series_kernel_stability,
    stability,
)
from kselect.kernels import Points
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.nystrom import nystrom_columns
from kselect.learners import LEARNERS, Problem
from kselect.numerics.folds import draw_folds


def expected(case: Case, lam: float, loss: str, average: str) -> tuple[float, float]:
    """Return the score by retraining, and its bound, which follows from that of the predictions."""
    p, members = case.problem, case.folds.members
    arguments = (p.K, p.y, members, lam, case.bias, case.per_fold)
    held, off = oracles.held_out(*arguments), oracles.held_out_bound(*arguments)
    mean = oracles.MEANS[average]
    score = mean(oracles.losses(loss, p.y, held), members)
    slack = mean(oracles.loss_bound(loss, p.y, held, off), members)
    return score, slack + 2 * p.n * oracles.EPS * score


@given(cases(labels=True), st.sampled_from(["points", "folds"]))
@pytest.mark.parametrize("loss", ["squared", "zero-one", "hinge"])
def test_score_of_labels(loss: Any, case: Case, average: Any) -> None:
    """For classification, every loss and both means agree with retraining."""
    found = cross_validation(case.path(), case.folds, loss=loss, average=average)
    for score, lam in zip(found, case.problem.lams, strict=True):
        value, bound = expected(case, lam, loss, average)
        assert abs(score - value) <= bound


@given(cases(labels=False), st.sampled_from(["points", "folds"]))
def test_score_of_real_targets(case: Case, average: Any) -> None:
    """For regression, the squared loss is the default."""
    found = cross_validation(case.path(), case.folds, average=average)
    for score, lam in zip(found, case.problem.lams, strict=True):
        value, bound = expected(case, lam, "squared", average)
        assert abs(score - value) <= bound


def test_defaults(labelled: Case) -> None:
    """By default, k-CV is the squared loss averaged over points."""
    path = labelled.path()
    explicit = cross_validation(path, labelled.folds, loss="squared", average="points")
    np.testing.assert_array_equal(cross_validation(path, labelled.folds), explicit)


@given(cases())
def test_stability_is_the_largest_singular_value(case: Case) -> None:
    """Both sides are within n eps of their norm; that of K - K^i is at most sqrt(n) times that of K's row i."""
    K = case.problem.K
    exact = oracles.stability(K)
    assert abs(stability(case.problem) - exact) <= oracles.STEPS * len(K) * oracles.EPS * exact


@given(cases(labels=True), st.floats(0.0, 8.0), st.sampled_from(["points", "folds"]))
def test_criterion_is_cv_plus_penalty(case: Case, eta: float, average: Any) -> None:
    """k-KS is ``l_kcv + (eta / n) beta`` with the chosen loss and mean."""
    path = case.path()
    penalty = eta / case.problem.n * oracles.stability(case.problem.K)
    for loss in ("squared", "zero-one", "hinge"):
        options: Any = {"loss": loss, "average": average}
        found = kernel_stability(path, case.folds, eta=eta, **options)
        expected = cross_validation(path, case.folds, **options) + penalty
        bound = 2 * oracles.STEPS * case.problem.n * oracles.EPS
        np.testing.assert_allclose(found, expected, rtol=bound, atol=0)


def test_defaults_stability(labelled: Case) -> None:
    """By default, eta is 1, the loss is squared, and the mean is that of the folds' means."""
    path = labelled.path()
    explicit = kernel_stability(path, labelled.folds, eta=1.0, loss="squared", average="folds")
    np.testing.assert_array_equal(kernel_stability(path, labelled.folds), explicit)


def test_eta_of_zero_is_cross_validation(labelled: Case) -> None:
    """With eta = 0, k-KS is k-CV over folds; the penalty is proportional to eta."""
    path, folds = labelled.path(), labelled.folds
    base = cross_validation(path, folds, average="folds")
    np.testing.assert_array_equal(kernel_stability(path, folds, eta=0.0), base)
    once, twice = (kernel_stability(path, folds, eta=e) - base for e in (1.0, 2.0))
    np.testing.assert_allclose(twice, 2 * once, rtol=1e-12)
    assert once == pytest.approx(oracles.stability(labelled.problem.K) / 18)


def problem(tau: float, n: int = 300) -> Problem:
    X, y = rows(n, 3)
    return problem_of(Gaussian(tau), X, y)


@pytest.mark.parametrize("average", ["points", "folds"])
def test_series_plus_penalty(average: Any) -> None:
    """The sum with the series uses the exact beta by default, and has the guard of the series."""
    p = problem(1.0, 60)
    path, folds = LEARNERS["lssvm"].path(p), draw_folds(60, 5, np.random.default_rng(0))
    series = bouligand_cross_validation(path, folds, order=2, average=average)
    found = series_kernel_stability(path, folds, eta=3.0, order=2, average=average)
    expected = series + 3.0 / p.n * oracles.stability(p.K)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert np.isinf(series_kernel_stability(path, folds, identity=10.0)).all()


@pytest.mark.parametrize("tau", [0.25, 8.0])
@pytest.mark.parametrize(("kind", "c", "off"), [("nystrom", 0.3, 0.03), ("projection", 0.5, 0.35)])
def test_estimates_near_the_exact_beta(kind: Estimate, c: float, off: float, tau: float) -> None:
    """A Nystrom factor is within 3 percent; a projection's row norms scatter, and beta is their largest."""
    p = problem(tau, 160)
    exact, found = oracles.stability(p.K), stability(p, kind, c)
    assert abs(found / exact - 1) <= off


def test_all_columns_are_exact() -> None:
    """With c = 1 the Nystrom factor uses all columns and is exact."""
    p = problem(1.0, 60)
    assert stability(p, "nystrom", 1.0) == pytest.approx(oracles.stability(p.K), rel=1e-6)


def on_columns(n: int, r: int, tau: float = 4.0) -> Problem:
    """Return a problem whose kernel matrix is the product of r columns."""
    X, y = rows(n, 3)
    landmarks = np.arange(r) * (n // r)
    columns = nystrom_columns(Gaussian(tau), Points(X, X[landmarks]), landmarks)
    return Problem(X, y, Gaussian(tau), np.empty((0, 0)), np.array([0.1]), columns=columns)


@pytest.mark.parametrize("kind", ["nystrom", "projection"])
def test_estimates_on_columns_need_no_square(kind: Estimate) -> None:
    """On columns of a large sample, no n-by-n matrix is ever formed."""
    p = on_columns(2000, 20)
    tracemalloc.start()
    stability(p, kind, 0.01)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * p.n**2 / 8


@pytest.mark.parametrize("kind", ["nystrom", "projection"])
def test_on_columns_k_is_their_product(kind: Estimate) -> None:
    """On columns (``select --nystrom``), the estimates use their product as K."""
    low = on_columns(300, 60)
    assert low.columns is not None
    K = low.columns.V @ low.columns.V.T
    dense = Problem(low.X, low.y, low.kernel, K, low.lams)
    assert stability(low, kind, 0.1) == pytest.approx(stability(dense, kind, 0.1), rel=1e-6)
