"""The first-order series by a dense inverse and the general recursion."""

from __future__ import annotations

from typing import Any

import numpy as np
import oracles
import oracles_smooth_hinge as slow
import pytest
from problems import numbered, problem_of, rows

from kselect.criteria.first_order import first_order_cross_validation
from kselect.kernels.gaussian import Gaussian
from kselect.learners import find_learner

FOLDS = numbered(np.random.default_rng(3), 18, 4, False)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(("learner", "loss"), [("krr", "squared"), ("smooth-hinge", "hinge")])
def test_definition(learner: str, loss: Any, order: int) -> None:
    """The mean over points of the loss of ``f + eps B``, and over folds; the order is not ignored."""
    X, y = rows(18)
    p = problem_of(Gaussian(2.0), X, y, (0.05, 0.2))
    path: Any = find_learner(learner).path(p)
    points = first_order_cross_validation(path, FOLDS, loss=loss, order=order)
    folds = first_order_cross_validation(path, FOLDS, loss=loss, order=order, average="folds")
    for i, lam in enumerate(p.lams.tolist()):
        f, held = path.decision()[i], np.empty(18)
        u, v = (2 * (y - f), np.full(18, 2.0)) if learner == "krr" else slow.slopes(y, f, 0.05)
        inverse = np.linalg.inv(slow.operator(p.K, v, lam))
        for F in FOLDS.members:
            held[F] = slow.recursion(p.K, inverse, f, u, v, lam, F, order)[F]
        values = np.array([oracles.loss(loss, a, b) for a, b in zip(y, held, strict=True)])
        assert points[i] == pytest.approx(values.mean(), rel=1e-9)
        assert folds[i] == pytest.approx(np.mean([values[F].mean() for F in FOLDS.members]))


def test_it_has_no_guard() -> None:
    """Near K = I it is next to the training error, as the paper's is."""
    X, y = rows(18)
    path: Any = find_learner("krr").path(problem_of(Gaussian(1e-4), X, y, (1e-6,)))
    assert first_order_cross_validation(path, FOLDS)[0] < 1e-6
