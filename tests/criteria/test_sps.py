"""SPS by its closed form against the eigenvalues of its definition."""

from __future__ import annotations

import numpy as np
import oracles
from hypothesis import given
from hypothesis import strategies as st
from problems import Case, cases, problem_of, rows

from kselect.criteria.sps import spectral_perturbation
from kselect.kernels.gaussian import Gaussian
from kselect.learners import LEARNERS


@given(cases(labels=True), st.floats(0.0, 8.0))
def test_the_closed_form_is_the_double_sum(case: Case, delta: float) -> None:
    """``R_emp + (delta / n^2) sum_ij |sigma_j(K) - sigma_j(K^i)|``."""
    path, p = case.path(), case.problem
    penalty = delta * oracles.spectral_perturbation(p.K)
    for loss in ("squared", "zero-one", "hinge"):
        found = spectral_perturbation(path, delta=delta, loss=loss)
        for score, fitted in zip(found, path.decision(), strict=True):
            risk = oracles.losses(loss, p.y, fitted).mean()
            np.testing.assert_allclose(score, risk + penalty, rtol=1e-10)


def test_no_gaussian_has_another_penalty() -> None:
    """What the report says of its rows: among Gaussian kernels delta changes nothing."""
    X, y = rows()
    differences = []
    for tau in (0.1, 1.0, 10.0):
        path = LEARNERS["svm"].path(problem_of(Gaussian(tau), X, y))
        with_, without = (spectral_perturbation(path, delta=d, loss="hinge") for d in (32.0, 0.0))
        differences.append(with_ - without)
    np.testing.assert_allclose(differences, 32.0 / len(y), rtol=1e-12)
