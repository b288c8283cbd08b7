"""k-KS for large samples: the sum of its parts, and estimated row norms against all of K."""

from __future__ import annotations

from typing import Any

import numpy as np
import oracles
import pytest
from problems import problem_of, rows

from kselect.criteria.bif import bouligand_cross_validation
from kselect.criteria.bif_kernel_stability import Estimate, Estimated, series_kernel_stability
from kselect.kernels import Points
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.nystrom import nystrom_columns
from kselect.learners import LEARNERS, Problem
from kselect.numerics.folds import draw_folds


def problem(tau: float, n: int = 300) -> Problem:
    X, y = rows(n, 3)
    return problem_of(Gaussian(tau), X, y)


@pytest.mark.parametrize("average", ["points", "folds"])
def test_series_plus_penalty(average: Any) -> None:
    """The exact beta by default, and guarded as the series is."""
    p = problem(1.0, 60)
    path, folds = LEARNERS["lssvm"].path(p), draw_folds(60, 5, np.random.default_rng(0))
    series = bouligand_cross_validation(path, folds, order=2, average=average)
    found = series_kernel_stability(path, folds, eta=3.0, order=2, average=average)
    expected = series + 3.0 / p.n * oracles.stability(p.K)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert np.isinf(series_kernel_stability(path, folds, identity=10.0)).all()


@pytest.mark.parametrize("tau", [0.25, 8.0])
@pytest.mark.parametrize(("kind", "c", "off"), [("nystrom", 0.3, 0.03), ("projection", 0.5, 0.35)])
def test_estimates_near_the_exact_beta(kind: Estimate, c: float, off: float, tau: float) -> None:
    """A Nystrom factor within 3 percent; a projection's row norms scatter, and beta is their largest."""
    p = problem(tau, 160)
    exact, found = oracles.stability(p.K), Estimated(kind, c)(p)
    assert abs(found / exact - 1) <= off


def test_all_columns_are_exact() -> None:
    """c = 1 leaves nothing out of the Nystrom factor."""
    p = problem(1.0, 60)
    assert Estimated("nystrom", 1.0)(p) == pytest.approx(oracles.stability(p.K), rel=1e-6)


@pytest.mark.parametrize("kind", ["nystrom", "projection"])
def test_on_columns_k_is_their_product(kind: Estimate) -> None:
    """What ``select --nystrom`` works on."""
    p = problem(4.0)
    landmarks = np.arange(0, 300, 5)
    columns = nystrom_columns(p.kernel, Points(p.X, p.X[landmarks]), landmarks)
    low = Problem(p.X, p.y, p.kernel, np.empty((0, 0)), p.lams, columns=columns)
    K = columns.V @ columns.V.T
    dense = Problem(p.X, p.y, p.kernel, K, p.lams)
    assert Estimated(kind, 0.1)(low) == pytest.approx(Estimated(kind, 0.1)(dense), rel=1e-6)
