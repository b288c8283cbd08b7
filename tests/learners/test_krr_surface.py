"""KRR's surface, by tridiagonal forms and by fold blocks, against retraining and the path."""

from __future__ import annotations

import numpy as np
import oracles
import pytest
from hypothesis import given
from problems import Case, cases, numbered, problem_of

from kselect.errors import TrialError
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.linear import Linear
from kselect.learners import Problem, krr_surface
from kselect.learners.krr import krr
from kselect.learners.krr_surface import (
    LapackFactor,
    held_out_residual,
    held_out_surface,
    without_fold,
)


@given(cases(lowest=-6.0))
def test_each_fold_is_retraining(case: Case) -> None:
    """Any kernel and fold, down to one row to train on; both ways."""
    p = case.problem
    factor = LapackFactor(p.K)
    for lam in p.lams.tolist():
        for F in case.folds.members:
            gamma = oracles.fold_ridge(p.n, len(F), lam, case.per_fold)
            T = oracles.without(F, p.n)
            alpha, _ = oracles.fit(p.K[np.ix_(T, T)], p.y[T], gamma, False)
            want, at = p.K[np.ix_(F, T)] @ alpha, np.array([gamma])
            bound = oracles.fold_bound(p.K, p.y, F, gamma, False)
            np.testing.assert_allclose(without_fold(p.K, p.y, F, at)[0], want, atol=bound)
            e = held_out_residual(factor, gamma * factor.solve(at, p.y)[:, F], F, at)[0]
            np.testing.assert_allclose(p.y[F] - e, want, atol=bound)


def curve(tau: float, ridge: str) -> Problem:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(40, 4))
    return problem_of(Gaussian(tau), X, np.sin(3 * X[:, 0]), 2.0 ** np.arange(-9, 14), ridge=ridge)


@pytest.mark.parametrize("ridge", ["per-fold", "fixed"])
@pytest.mark.parametrize("most", [0, 100])
@pytest.mark.parametrize("small", [0, 100])
@pytest.mark.parametrize("tau", [1.0, 30.0])
def test_both_ways_are_the_surface(
    ridge: str, most: int, small: int, tau: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few folds or many, every ridge at once."""
    monkeypatch.setattr(krr_surface, "MOST_FOLDS", most)
    monkeypatch.setattr(krr_surface, "SMALL_FOLD", small)
    p = curve(tau, ridge)
    folds = numbered(np.random.default_rng(1), 40, 5, False)
    np.testing.assert_allclose(held_out_surface(p, folds), krr(p).held_out(folds), atol=1e-9)


def test_cheap_factors_are_the_paths() -> None:
    """Nearly diagonal, or of low rank."""
    rng = np.random.default_rng(0)
    X, folds = rng.uniform(-1, 1, size=(40, 4)), numbered(rng, 40, 5, False)
    for kernel in (Gaussian(1e-5), Linear()):
        p = problem_of(kernel, X, X[:, 0])
        np.testing.assert_array_equal(held_out_surface(p, folds), krr(p).held_out(folds))


def test_no_ridge_and_equal_rows_are_a_named_failure() -> None:
    """Not a number that looks like one."""
    with pytest.raises(TrialError, match="without a fold"):
        without_fold(np.ones((6, 6)), np.arange(6.0), np.array([0]), np.array([0.0]))
