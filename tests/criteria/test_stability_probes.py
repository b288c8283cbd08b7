"""Kernel stability by singular values, uniform stability by training without each row."""

from __future__ import annotations

import numpy as np
import oracles
import oracles_svm
import pytest
from problems import problem_of, rows

from kselect.criteria.stability_probes import beta, uniform_stability
from kselect.kernels.gaussian import Gaussian
from kselect.learners.svm import svm


@pytest.mark.parametrize("share", [0.25, 1.0])
def test_beta_of_a_share(share: float) -> None:
    """The first rows alone."""
    p = problem_of(Gaussian(1.0), *rows(40))
    m = round(share * 40)
    found = beta(svm(p), share=share)
    np.testing.assert_allclose(found, oracles.stability(p.K[:m, :m]), rtol=1e-12)


def test_uniform_stability_by_training() -> None:
    """The largest change of the hinge loss over rows left out and rows looked at."""
    X, y = rows(24)
    p = problem_of(Gaussian(1.0), X, y, (0.005, 0.05))
    found = uniform_stability(svm(p))
    for at, lam in enumerate(p.lams.tolist()):
        C = 1.0 / (2 * p.n * lam)
        base = np.maximum(0.0, 1.0 - y * oracles_svm.libsvm(p.K, y, C, p.K))
        worst = 0.0
        for i in range(p.n):
            rest = np.delete(np.arange(p.n), i)
            f = oracles_svm.libsvm(p.K[np.ix_(rest, rest)], y[rest], C, p.K[:, rest])
            worst = max(worst, float(np.abs(base - np.maximum(0.0, 1.0 - y * f)).max()))
        assert found[at] == pytest.approx(worst, abs=1e-5)
