"""Without a bias: fits and held-out predictions are those of retraining."""

from __future__ import annotations

import numpy as np
import oracles
from hypothesis import given
from problems import Case, cases

from kselect.learners.krr import krr


@given(cases())
def test_fit_and_cross_validation(case: Case) -> None:
    """By the linear system of every model, to what its condition number leaves."""
    p = case.problem
    path = krr(p)
    held, fitted = path.held_out(case.folds), path.decision()
    for ridge, lam in enumerate(p.lams):
        alpha, b = oracles.fit(p.K, p.y, p.n * lam, False)
        off = oracles.fit_bound(p.K, p.y, p.n * lam, False)[1]
        assert np.abs(fitted[ridge] - oracles.predict(p.K, alpha, b)).max() <= off
        expected = oracles.held_out(p.K, p.y, case.folds.members, lam, False, case.per_fold)
        bound = oracles.held_out_bound(p.K, p.y, case.folds.members, lam, False, case.per_fold)
        assert (np.abs(held[ridge] - expected) <= bound).all()
    assert (path.fit().bias == 0).all()
