"""Kernel stability: the closed form against singular values, and the criterion against its sum."""

from __future__ import annotations

from typing import Any

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import Case, cases

from kselect.criteria.cv import cross_validation
from kselect.criteria.kernel_stability import kernel_stability, stability


@given(cases())
def test_stability_is_the_largest_singular_value(case: Case) -> None:
    """Both sides are within n eps of their norm; that of K - K^i is at most sqrt(n) that of K's row."""
    K = case.problem.K
    exact = oracles.stability(K)
    assert abs(stability(case.problem) - exact) <= oracles.STEPS * len(K) * oracles.EPS * exact


@given(cases(labels=True), st.floats(0.0, 8.0), st.sampled_from(["points", "folds"]))
def test_criterion_is_cv_plus_penalty(case: Case, eta: float, average: Any) -> None:
    """``l_kcv + (eta / n) beta`` with that loss and that mean."""
    path = case.path()
    penalty = eta / case.problem.n * oracles.stability(case.problem.K)
    for loss in ("squared", "zero-one", "hinge"):
        options: Any = {"loss": loss, "average": average}
        found = kernel_stability(path, case.folds, eta=eta, **options)
        expected = cross_validation(path, case.folds, **options) + penalty
        bound = 2 * oracles.STEPS * case.problem.n * oracles.EPS
        np.testing.assert_allclose(found, expected, rtol=bound, atol=0)


def test_defaults(labelled: Case) -> None:
    """eta 1, the squared loss, the mean of the folds' means."""
    path = labelled.path()
    explicit = kernel_stability(path, labelled.folds, eta=1.0, loss="squared", average="folds")
    np.testing.assert_array_equal(kernel_stability(path, labelled.folds), explicit)


def test_eta_of_zero_is_cross_validation(labelled: Case) -> None:
    """Without the penalty it is k-CV over folds; eta is proportional."""
    path, folds = labelled.path(), labelled.folds
    base = cross_validation(path, folds, average="folds")
    np.testing.assert_array_equal(kernel_stability(path, folds, eta=0.0), base)
    once, twice = (kernel_stability(path, folds, eta=e) - base for e in (1.0, 2.0))
    np.testing.assert_allclose(twice, 2 * once, rtol=1e-12)
    assert once == pytest.approx(oracles.stability(labelled.problem.K) / 18)
