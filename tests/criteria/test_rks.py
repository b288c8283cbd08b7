"""RKS against its sum: the empirical risk, and the largest singular value of what a row changes."""

from __future__ import annotations

import numpy as np
import oracles
from hypothesis import given
from hypothesis import strategies as st
from problems import Case, cases

from kselect.criteria.rks import stable_risk


@given(cases(labels=True), st.floats(0.0, 8.0))
def test_risk_plus_penalty(case: Case, eta: float) -> None:
    """``R_emp + (eta / n) beta`` with that loss."""
    path, p = case.path(), case.problem
    penalty = eta / p.n * oracles.stability(p.K)
    for loss in ("squared", "zero-one", "hinge"):
        found = stable_risk(path, eta=eta, loss=loss)
        for score, fitted in zip(found, path.decision(), strict=True):
            risk = oracles.losses(loss, p.y, fitted).mean()
            np.testing.assert_allclose(score, risk + penalty, rtol=1e-12)


def test_defaults(labelled: Case) -> None:
    """eta 1, the squared loss."""
    path = labelled.path()
    np.testing.assert_array_equal(stable_risk(path), stable_risk(path, eta=1.0, loss="squared"))
