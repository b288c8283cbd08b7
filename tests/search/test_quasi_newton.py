"""The searches of the second level: their gradients, minima, floors and feature units."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from oracles_flkl import Array, differences, gradient, held_out_errors, kernel

from kselect.errors import TrialError
from kselect.kernels.widths import OneWidth, WidthPerFeature
from kselect.learners.lssvm_errors import KFoldErrors, LeaveOneOutErrors
from kselect.numerics.folds import Folds, draw_folds
from kselect.search.continuous import Solution
from kselect.search.descent import Effort, Objective
from kselect.search.quasi_newton import best_start, minimise, minimise_regularised

N, D = 60, 4


def problem(seed: int = 0) -> tuple[Array, Array, Folds]:
    """Return z-scored rows; the label depends on two of the four features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D))
    y = np.where(X[:, 0] - X[:, 1] + 0.6 * rng.normal(size=N) > 0, 1.0, -1.0)
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    return X, y, draw_folds(N, 5, rng)


def mean_error(X: Array, y: Array, found: Solution, members: list[Array]) -> float:
    """Return the mean squared held-out error of retrained models."""
    theta = np.broadcast_to(found.theta, X.shape[1])
    K = kernel(differences(X, X, one=False), theta)
    return float(np.mean(held_out_errors(K, y, found.lam, members) ** 2))


@pytest.mark.parametrize("prior", [0.0, 4.0])
@pytest.mark.parametrize("ard", [True, False])
def test_gradient_in_logs(prior: float, ard: bool) -> None:
    """The gradient passed to L-BFGS agrees with finite differences to 1e-6, also for BR."""
    X, y, folds = problem()
    widths = WidthPerFeature(X) if ard else OneWidth.of(X)
    objective = Objective(partial(KFoldErrors, folds=folds), widths, y, prior)
    u = np.log(np.append(np.linspace(0.05, 0.4, widths.size), 0.3))
    expected = gradient(lambda at: objective(at)[0], u, 1e-3)
    np.testing.assert_allclose(objective(u)[1], expected, atol=1e-6 * np.abs(expected).max())


def test_regularisation_is_that_of_cawley_and_talbot() -> None:
    """BR is ``(n/2) log Q + (d/2) log Omega``, ``Q = 0.5 sum e^2``, ``Omega = 0.5 sum eta^2``."""
    X, y, _ = problem()
    found = minimise_regularised(X, y)
    K = kernel(differences(X, X, one=False), found.theta)
    errors = held_out_errors(K, y, found.lam, [np.array([i]) for i in range(N)])
    half = 0.5 * N * np.log(0.5 * errors @ errors)
    assert found.value == pytest.approx(half + 0.5 * D * np.log(0.5 * found.theta @ found.theta))


@pytest.mark.parametrize("ard", [True, False])
def test_value_is_that_of_retraining(ard: bool) -> None:
    """The reported value is the mean squared error of retrained models, for LOO and k folds."""
    X, y, folds = problem()
    press, k_fold = minimise(X, y, ard=ard), minimise(X, y, folds, ard=ard)
    rows = [np.array([i]) for i in range(N)]
    assert press.value == pytest.approx(mean_error(X, y, press, rows), rel=1e-9)
    assert k_fold.value == pytest.approx(mean_error(X, y, k_fold, list(folds.members)), rel=1e-9)
    assert press.state == k_fold.state == "converged"
    assert press.theta.shape == (D if ard else 1,)


def test_nothing_nearby_is_better() -> None:
    """No point a factor of 1.05 away has a lower RBF criterion."""
    X, y, _ = problem()
    found = minimise(X, y)
    rows = [np.array([i]) for i in range(N)]
    for theta, lam in [(1.05, 1.0), (1 / 1.05, 1.0), (1.0, 1.05), (1.0, 1 / 1.05)]:
        near = Solution(theta * found.theta, lam * found.lam, 0.0, 0, "converged")
        assert mean_error(X, y, near, rows) > found.value


def test_ard_starts_from_rbf_and_is_no_worse() -> None:
    """ARD starts from RBF's solution, is no worse, and finds the relevant features."""
    X, y, folds = problem()
    rbf = minimise(X, y, folds)
    ard = minimise(X, y, folds, ard=True)
    given = minimise(X, y, folds, ard=True, start=rbf)
    np.testing.assert_array_equal(ard.theta, given.theta)
    assert ard.value < rbf.value
    assert ard.theta[:2].min() > 2.0 * ard.theta[2:].max()


def test_starts_at_the_best_of_the_grid() -> None:
    """RBF starts at the best of ``theta in {.01, .1, 1, 10} / d``, ``lam in {.01, .1, 1}``."""
    X, y, _ = problem()
    theta, lam = np.exp(best_start(LeaveOneOutErrors, OneWidth.of(X), y, D))
    places = [(t / D, ridge) for t in (0.01, 0.1, 1.0, 10.0) for ridge in (0.01, 0.1, 1.0)]
    rows = [np.array([i]) for i in range(N)]

    def error(t: float, ridge: float) -> float:
        return mean_error(X, y, Solution(np.array([t]), ridge, 0.0, 0, "converged"), rows)

    assert (theta, lam) == pytest.approx(min(places, key=lambda place: error(*place)))


def test_floors_of_br() -> None:
    """theta stays at or above 0.01 / d and lam above 1e-7, although log Omega rewards less."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 6))
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    found = minimise_regularised(X, np.where(rng.uniform(size=40) < 0.5, 1.0, -1.0))
    assert found.theta.min() == pytest.approx(0.01 / 6, rel=1e-6)
    assert found.lam >= 1e-7 * (1.0 - 1e-9)


def test_duplicated_rows_end_at_the_smallest_ridge() -> None:
    """Duplicated rows predict each other, so that LOO ends at the smallest ridge, 1e-7."""
    X, y, _ = problem()
    found = minimise(np.repeat(X[:20], 2, axis=0), np.repeat(y[:20], 2))
    assert found.lam == pytest.approx(1e-7)


def test_step_limit_is_reported() -> None:
    """A search that reaches its step limit says so."""
    X, y, _ = problem()
    found = minimise(X, y, ard=True, effort=Effort(2))
    assert found.state == "iteration limit"
    assert found.evaluations < minimise(X, y, ard=True).evaluations


def test_a_memory_of_all_widths_needs_fewer_evaluations() -> None:
    """L-BFGS keeps a pair of gradients per width unless told otherwise: at most 100, and no fewer than ten."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(N, 30))
    y = np.sin(X @ (0.5 * np.linspace(1, 0, 30) ** 2 * rng.normal(size=30)))
    y += 0.1 * rng.normal(size=N)
    whole, two = (minimise(X, y, ard=True, effort=Effort(memory=m)) for m in (0, 2))
    assert whole.evaluations < 0.7 * two.evaluations
    assert whole.value < 1.001 * two.value
    assert [Effort().pairs(n) for n in (2, 31, 500)] == [10, 31, 100]
    assert Effort(memory=3).pairs(31) == 3


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_the_unit_of_the_features_does_not_matter(scale: float) -> None:
    """Features in other units give a rescaled theta and the same model."""
    X, y, folds = problem()
    here, there = (minimise(S, y, folds, ard=True) for S in (X, scale * X + 3.0 * scale))
    np.testing.assert_allclose(there.theta * scale**2, here.theta, rtol=1e-3, atol=1e-6)
    assert there.value == pytest.approx(here.value, rel=1e-6)


def test_a_target_without_error_is_an_error() -> None:
    """A target that every model predicts exactly has no logarithm and is a named failure."""
    objective = Objective(LeaveOneOutErrors, WidthPerFeature(np.ones((2, 1))), np.zeros(2))
    with pytest.raises(TrialError, match="held-out error is zero"):
        objective(np.zeros(2))
