"""k-KS for large samples: the sum of its parts, and estimated row norms against all of K."""

from __future__ import annotations

import tracemalloc
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


def on_columns(n: int, r: int, tau: float = 4.0) -> Problem:
    """A problem whose kernel matrix is the product of r columns."""
    X, y = rows(n, 3)
    landmarks = np.arange(r) * (n // r)
    columns = nystrom_columns(Gaussian(tau), Points(X, X[landmarks]), landmarks)
    return Problem(X, y, Gaussian(tau), np.empty((0, 0)), np.array([0.1]), columns=columns)


@pytest.mark.parametrize("kind", ["nystrom", "projection"])
def test_estimates_on_columns_need_no_square(kind: Estimate) -> None:
    """A large sample: nothing of n by n numbers is made, on the way neither."""
    p = on_columns(2000, 20)
    tracemalloc.start()
    Estimated(kind, 0.01)(p)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * p.n**2 / 8


@pytest.mark.parametrize("kind", ["nystrom", "projection"])
def test_on_columns_k_is_their_product(kind: Estimate) -> None:
    """What ``select --nystrom`` works on."""
    low = on_columns(300, 60)
    assert low.columns is not None
    K = low.columns.V @ low.columns.V.T
    dense = Problem(low.X, low.y, low.kernel, K, low.lams)
    assert Estimated(kind, 0.1)(low) == pytest.approx(Estimated(kind, 0.1)(dense), rel=1e-6)
