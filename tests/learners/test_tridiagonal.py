"""KRR's surface by tridiagonal forms against retraining, and the choice of the way."""

from __future__ import annotations

import numpy as np
import oracles
import pytest
from hypothesis import given
from problems import Case, cases, numbered, problem_of

from kselect.errors import TrialError
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.linear import Linear
from kselect.learners import tridiagonal
from kselect.learners.krr import krr
from kselect.learners.tridiagonal import has_cheap_factor, held_out_surface, without_fold


@given(cases(lowest=-6.0))
def test_each_fold_is_retraining(case: Case) -> None:
    """Any kernel and fold, down to one row to train on."""
    p = case.problem
    for lam in p.lams.tolist():
        for F in case.folds.members:
            gamma = oracles.fold_ridge(p.n, len(F), lam, case.per_fold)
            found = without_fold(p.K, p.y, F, np.array([gamma]))[0]
            T = oracles.without(F, p.n)
            alpha, _ = oracles.fit(p.K[np.ix_(T, T)], p.y[T], gamma, False)
            bound = oracles.fold_bound(p.K, p.y, F, gamma, False)
            np.testing.assert_allclose(found, p.K[np.ix_(F, T)] @ alpha, atol=bound)


@pytest.mark.parametrize("ridge", ["per-fold", "fixed"])
@pytest.mark.parametrize("most", [0, 100])
def test_both_ways_are_the_surface(ridge: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few folds or many, every ridge at once."""
    monkeypatch.setattr(tridiagonal, "MOST_FOLDS", most)
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(40, 4))
    p = problem_of(Gaussian(1.0), X, np.sin(3 * X[:, 0]), 2.0 ** np.arange(-9, 4), ridge=ridge)
    folds = numbered(rng, 40, 5, False)
    assert not has_cheap_factor(p.K)
    np.testing.assert_allclose(held_out_surface(p, folds), krr(p).held_out(folds), atol=1e-9)


def test_cheap_factors_are_seen() -> None:
    """Nearly diagonal, or of low rank."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(40, 4))
    assert has_cheap_factor(problem_of(Gaussian(1e-5), X, X[:, 0]).K)
    assert has_cheap_factor(problem_of(Linear(), X, X[:, 0]).K)


def test_no_ridge_and_equal_rows_are_a_named_failure() -> None:
    """Not a number that looks like one."""
    with pytest.raises(TrialError, match="without a fold"):
        without_fold(np.ones((6, 6)), np.arange(6.0), np.array([0]), np.array([0.0]))
