"""Generalised cross-validation against retraining on unit vectors."""

from __future__ import annotations

import numpy as np
import oracles
import pytest
from hypothesis import given
from problems import Case, cases, problem_of, rows

from kselect.criteria.gcv import generalised_cross_validation
from kselect.errors import TrialError
from kselect.kernels.linear import Linear
from kselect.learners.square_loss import SquareLossPath


def oracle(case: Case, lam: float) -> float:
    """The definition with S column by column: the fitted values of every unit vector."""
    p = case.problem
    columns = [
        oracles.predict(p.K, *oracles.fit(p.K, unit, p.n * lam, case.bias)) for unit in np.eye(p.n)
    ]
    S = np.array(columns).T
    return float(np.mean((p.y - S @ p.y) ** 2) / (1 - np.trace(S) / p.n) ** 2)


@given(cases(lowest=-5.0))
def test_definition(case: Case) -> None:
    """To what the condition number leaves of the residuals and of 1 - tr(S)/n."""
    found = generalised_cross_validation(case.path())  # type: ignore[arg-type]
    for score, lam in zip(found, case.problem.lams, strict=True):
        bound = oracles.fit_bound(case.problem.K, case.problem.y, case.problem.n * lam, case.bias)[
            1
        ]
        assert score == pytest.approx(oracle(case, lam), rel=1e-9, abs=1e3 * bound)


def test_an_interpolating_fit_is_a_named_failure() -> None:
    """As many features as rows and no ridge to speak of: 1 - tr(S)/n is zero to rounding."""
    X, y = rows(4, 6)
    path = SquareLossPath(problem_of(Linear(), X, y, [1e-30]), bias=False)
    with pytest.raises(TrialError, match="GCV divides"):
        generalised_cross_validation(path)
