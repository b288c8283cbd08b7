"""k-fold cross-validation against retraining, with every loss and both means."""

from __future__ import annotations

from typing import Any

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import Case, cases

from kselect.criteria.cv import cross_validation


def expected(case: Case, lam: float, loss: str, average: str) -> tuple[float, float]:
    """The score by retraining, and the bound that follows from that of the predictions."""
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
    """Classification: every loss, both means."""
    found = cross_validation(case.path(), case.folds, loss=loss, average=average)
    for score, lam in zip(found, case.problem.lams, strict=True):
        value, bound = expected(case, lam, loss, average)
        assert abs(score - value) <= bound


@given(cases(labels=False), st.sampled_from(["points", "folds"]))
def test_score_of_real_targets(case: Case, average: Any) -> None:
    """Regression: the squared loss is the default."""
    found = cross_validation(case.path(), case.folds, average=average)
    for score, lam in zip(found, case.problem.lams, strict=True):
        value, bound = expected(case, lam, "squared", average)
        assert abs(score - value) <= bound


def test_defaults(labelled: Case) -> None:
    """The squared loss over points."""
    path = labelled.path()
    explicit = cross_validation(path, labelled.folds, loss="squared", average="points")
    np.testing.assert_array_equal(cross_validation(path, labelled.folds), explicit)
