"""One Newton step without a fold, by gradient and Hessian."""

from __future__ import annotations

from typing import Any

import numpy as np
import oracles
import oracles_smooth_hinge as slow
import pytest
from problems import numbered, problem_of, rows

from kselect.criteria.cv import cross_validation
from kselect.criteria.newton import newton_cross_validation
from kselect.kernels.gaussian import Gaussian
from kselect.learners import find_learner

FOLDS = numbered(np.random.default_rng(3), 18, 4, False)


@pytest.mark.parametrize("ridge", ["per-fold", "fixed"])
def test_definition(ridge: Any) -> None:
    """The hinge loss after the step, averaged over points and over folds."""
    X, y = rows(18)
    p = problem_of(Gaussian(2.0), X, y, (0.05, 0.2), ridge=ridge)
    path: Any = find_learner("smooth-hinge").path(p)
    points = newton_cross_validation(path, FOLDS, loss="hinge")
    folds = newton_cross_validation(path, FOLDS, loss="hinge", average="folds")
    for i, lam in enumerate(p.lams.tolist()):
        held, f = np.empty(18), path.decision()[i]
        for F in FOLDS.members:
            held[F] = slow.frozen(p.K, y, f, lam, 0.05, F, ridge == "per-fold")[F]
        values = np.array([oracles.loss("hinge", a, b) for a, b in zip(y, held, strict=True)])
        assert points[i] == pytest.approx(values.mean(), rel=1e-8)
        assert folds[i] == pytest.approx(np.mean([values[F].mean() for F in FOLDS.members]))


@pytest.mark.parametrize("ridge", ["per-fold", "fixed"])
def test_for_the_square_loss_it_is_exact(ridge: Any) -> None:
    """It is k-CV."""
    X, y = rows(18)
    path: Any = find_learner("krr").path(problem_of(Gaussian(2.0), X, y, ridge=ridge))
    np.testing.assert_array_equal(
        newton_cross_validation(path, FOLDS), cross_validation(path, FOLDS)
    )
