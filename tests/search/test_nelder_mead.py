"""FLKL as the paper searched: the same objective as by least squares, and far more evaluations."""

from __future__ import annotations

import numpy as np
import pytest
from problems_flkl import outer, problem

from kselect.search import nelder_mead as module
from kselect.search.flkl import flkl
from kselect.search.nelder_mead import nested_nelder_mead
from kselect.search.quasi_newton import minimise_k_fold


@pytest.mark.parametrize("ard", [True, False])
def test_same_objective(ard: bool) -> None:
    """Neither is worse than the other by 1e-3; the value is that of retraining."""
    X, y, folds = problem(50, 3)
    start = minimise_k_fold(X, y, folds)
    ours = flkl(X, y, folds, ard=ard, start=start)
    theirs = nested_nelder_mead(X, y, folds, ard=ard, start=start)
    assert theirs.state == "converged"
    assert ours.objective == pytest.approx(theirs.objective, rel=1e-3)
    at = np.log([theirs.lam, theirs.mu])
    assert theirs.objective == pytest.approx(
        outer(X, y, folds, at, theirs.theta, ard=ard), rel=1e-3
    )
    np.testing.assert_allclose(theirs.theta, ours.theta, atol=0.1 * ours.theta.max())
    assert theirs.evaluations > 20 * ours.evaluations


def test_iteration_limit_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Never taken for a minimum."""
    X, y, folds = problem(30, 2)
    monkeypatch.setattr(module, "EVALUATIONS", 5)
    found = nested_nelder_mead(X, y, folds)
    assert found.state == "iteration limit"
    assert found.steps <= 6
