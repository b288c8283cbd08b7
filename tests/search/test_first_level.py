"""FLKL's inner problem: value, gradient and Hessian by their definitions, and its minima."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles_flkl import (
    Array,
    derivative,
    differences,
    fit,
    gradient,
    kernel,
    objective,
    term_sizes,
)
from problems_flkl import rows
from scipy.optimize import minimize

from kselect.kernels.widths import AbsoluteWidthPerFeature, OneWidth, WidthPerFeature
from kselect.search import first_level
from kselect.search.first_level import ConvexModel, Inner, bounded, settle

SIZES = [(40, 1), (60, 4), (120, 10), (200, 20)]


def inner(X: Array, y: Array, lam: float, mu: float, *, one: bool) -> Inner:
    """Return the inner problem with one width, or one per feature."""
    return Inner(OneWidth.of(X) if one else WidthPerFeature(X), y, lam, mu)


def widths(d: int, *, one: bool) -> Array:
    """Return widths of all sizes, every third at zero."""
    if one:
        return np.array([0.5 / d])
    theta = np.random.default_rng(d).exponential(size=d) / d
    theta[1::3] = 0.0
    return theta


@pytest.mark.parametrize(("n", "d"), SIZES)
@pytest.mark.parametrize("one", [True, False])
def test_value_and_gradient(n: int, d: int, one: bool) -> None:
    """L agrees term by term, its gradient to 1e-6, also at theta = 0."""
    X, y = rows(n, d)
    D, theta, lam, mu = differences(X, X, one=one), widths(d, one=one), 0.3, 2.0
    point = inner(X, y, lam, mu, one=one).at(theta)

    def value(t: Array) -> float:
        return objective(kernel(D, t), y, lam, mu, t)

    assert point.value == pytest.approx(value(theta), rel=1e-11)
    expected = gradient(value, theta, 1e-4 / d)
    atol = 1e-6 * np.abs(expected).max()
    np.testing.assert_allclose(point.gradient, expected, rtol=0, atol=atol)


@pytest.mark.parametrize(("n", "d"), SIZES)
@pytest.mark.parametrize("one", [True, False])
def test_hessian(n: int, d: int, one: bool) -> None:
    """The Hessian of the free widths agrees with differences of the gradient."""
    X, y = rows(n, d)
    problem, theta = inner(X, y, 0.3, 2.0, one=one), widths(d, one=one)
    point = problem.at(theta)
    known = [r for r in point.free if theta[r] > 0.0]
    H = np.full((len(theta),) * 2, np.nan)
    H[np.ix_(point.free, point.free)] = point.hessian

    def slope(r: int, value: float) -> Array:
        moved = theta.copy()
        moved[r] = value
        return problem.at(moved).gradient[known]

    reference = np.array(
        [derivative(lambda value, r=r: slope(r, value), theta[r], 1e-3 * theta[r]) for r in known]
    )
    np.testing.assert_allclose(
        H[np.ix_(known, known)], reference, rtol=0, atol=1e-6 * np.abs(reference).max()
    )


@pytest.mark.parametrize("absolute", [True, False])
def test_several_targets(absolute: bool) -> None:
    """L is the sum over the targets, which share theta and one penalty; its derivatives are differences."""
    X, y = rows(40, 3)
    Y = np.column_stack([y, 2.0 * X[:, 1], X[:, 0] * X[:, 2]])
    theta, lam, mu = np.array([0.3, 0.1, 0.2]), 0.3, 2.0
    D = differences(X, X, one=False, absolute=absolute)

    def value(t: Array) -> float:
        penalty = 0.5 * mu * float(t @ t)
        return sum(objective(kernel(D, t), one, lam, mu, t) - penalty for one in Y.T) + penalty

    widths_of = AbsoluteWidthPerFeature(X) if absolute else WidthPerFeature(X)
    problem = Inner(widths_of, Y, lam, mu)
    point = problem.at(theta)
    assert point.value == pytest.approx(value(theta), rel=1e-11)
    expected = gradient(value, theta, 1e-4)
    atol = 1e-6 * np.abs(expected).max()
    np.testing.assert_allclose(point.gradient, expected, rtol=0, atol=atol)
    expected = gradient(lambda t: problem.at(t).gradient, theta, 1e-4)
    atol = 1e-6 * np.abs(expected).max()
    np.testing.assert_allclose(point.hessian, expected, rtol=0, atol=atol)


def test_hessian_at_zero_widths() -> None:
    """Differences from both sides agree at theta = 0, where K is still positive definite."""
    X, y = rows(30, 3)
    theta, lam, mu = np.array([0.4, 0.0, 0.2]), 1.0, 2.0
    D = differences(X, X, one=False)

    def value(t: Array) -> float:
        return objective(kernel(D, t), y, lam, mu, t)

    point = inner(X, y, lam, mu, one=False).at(theta)
    expected = gradient(lambda t: gradient(value, t, 3e-4), theta, 3e-4)
    free = point.free
    reference = expected[np.ix_(free, free)]
    atol = 1e-4 * np.abs(reference).max()
    np.testing.assert_allclose(point.hessian, reference, rtol=0, atol=atol)


def test_hessian_of_no_free_width() -> None:
    """A feature that the target does not depend on has its minimum at theta = 0."""
    X = np.array([-1.0, -1.0, 1.0, 1.0])[:, None]
    found = settle(inner(X, np.array([1.0, -1.0, 1.0, -1.0]), 1.0, 1.0, one=False), np.zeros(1))
    assert found.state == "converged"
    np.testing.assert_array_equal(found.theta, [0.0])


@pytest.mark.parametrize(("n", "d"), SIZES)
@pytest.mark.parametrize("one", [True, False])
@pytest.mark.parametrize("mu", [0.01, 3.0, 1e4])
def test_settles_at_a_minimum(n: int, d: int, one: bool, mu: float) -> None:
    """The projected gradient ends below 1e-6 of the sum of its terms; no width is negative."""
    X, y = rows(n, d)
    problem = inner(X, y, 0.5, mu, one=one)
    found = settle(problem, np.full(problem.widths.size, 1.0 / d))
    assert found.state == "converged"
    theta, D = found.theta, differences(X, X, one=one)
    assert theta.min() >= 0.0
    K = kernel(D, theta)
    alpha, _ = fit(K, y, 0.5)
    slope = -0.25 * np.einsum("i,rij,j->r", alpha, -D * K, alpha) + mu * theta
    projected = np.where(theta > 0.0, slope, np.minimum(slope, 0.0))
    assert np.abs(projected).max() < 1e-6 * term_sizes(D, K, alpha, 0.5, mu, theta).max()
    if len(found.point.free):
        assert np.linalg.eigvalsh(found.point.hessian)[0] > 0.0


@pytest.mark.parametrize(
    ("n", "d", "one", "lam", "mu"),
    [
        (60, 4, True, 1000.0, 0.1),
        (60, 4, False, 300.0, 1e4),
        (120, 10, True, 300.0, 0.01),
        (200, 20, True, 0.5, 0.01),
        (200, 20, True, 30.0, 1.0),
    ],
)
def test_settles_where_l_is_flat_to_rounding(
    n: int, d: int, one: bool, lam: float, mu: float
) -> None:
    """If L is flat to rounding, the gradient still ends below 1e-6 of its larger term."""
    X, y = rows(n, d)
    problem = inner(X, y, lam, mu, one=one)
    found = settle(problem, np.full(problem.widths.size, 1.0 / d))
    assert found.state == "converged"
    D = differences(X, X, one=one)
    K = kernel(D, found.theta)
    alpha, _ = fit(K, y, lam)
    pull, weight = 0.5 * lam * np.einsum("i,rij,j->r", alpha, K * D, alpha), mu * found.theta
    slope = np.where(found.theta > 0.0, pull + weight, np.minimum(pull + weight, 0.0))
    assert np.abs(slope).max() < 1e-6 * np.maximum(np.abs(pull), weight).max()


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1), st.floats(-2, 1), st.floats(-2, 3))
def test_is_no_worse_than_l_bfgs(seed: int, power: float, other: float) -> None:
    """L-BFGS with bounds from the same start finds no lower value of the same branch."""
    X, y = rows(40, 3, seed)
    problem, start = inner(X, y, 10.0**power, 10.0**other, one=False), np.full(3, 0.3)
    found = settle(problem, start).point
    near = minimize(
        lambda t: (problem.at(t).value, problem.at(t).gradient),
        found.theta,
        jac=True,
        bounds=[(0.0, None)] * 3,
        method="L-BFGS-B",
    )
    assert found.value <= near.fun * (1.0 + 1e-9)
    assert found.value <= problem.at(start).value


def test_few_evaluations() -> None:
    """Newton's method needs few evaluations."""
    X, y = rows(120, 10)
    assert settle(inner(X, y, 0.5, 3.0, one=False), np.full(10, 0.1)).evaluations <= 12


def test_near_leaves_the_last_move_to_the_caller() -> None:
    """A rough search saves evaluations; with its pending move, theta is nearly exact."""
    X, y = rows(60, 4)
    problem, start = inner(X, y, 0.5, 3.0, one=False), np.full(4, 0.25)
    near, exact = settle(problem, start, near=3e-3), settle(problem, start)
    assert near.evaluations < exact.evaluations
    assert np.linalg.norm(near.pending) <= 3e-3 * np.linalg.norm(near.point.theta)
    np.testing.assert_allclose(near.theta, exact.theta, rtol=0, atol=1e-4 * exact.theta.max())
    assert np.abs(near.point.theta - exact.theta).max() > 3 * np.abs(near.theta - exact.theta).max()


def test_iteration_limit_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that reaches its iteration limit is not reported as a minimum."""
    X, y = rows(60, 4)
    monkeypatch.setattr(first_level, "STEPS", 2)
    assert settle(inner(X, y, 0.5, 3.0, one=False), np.full(4, 0.25)).state == "iteration limit"


def test_no_further_descent_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search in which no step lowers L says so."""
    X, y = rows(60, 4)
    monkeypatch.setattr(first_level, "SHARE", 1e6)
    found = settle(inner(X, y, 0.5, 3.0, one=False), np.full(4, 0.25))
    assert found.state == "no further descent"
    assert not found.straight


def test_moves_to_the_minimum_of_the_model() -> None:
    """The step minimises the model in ``theta >= 0``; clipping the free minimum may go uphill."""
    H = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]])
    slope, theta = np.array([1.5, -1.0, -2.0]), np.array([0.1, 1.0, 1.0])
    p = ConvexModel(slope, theta, *np.linalg.eigh(H), indefinite=False).move(0.0)
    pull = slope + H @ p
    assert (theta + p).min() == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(pull[theta + p > 1e-9], 0.0, atol=1e-9)
    assert pull.min() > -1e-9


def test_moves_no_farther_than_twice_theta() -> None:
    """Where there is nearly no curvature, a step is at most twice theta."""
    model = ConvexModel(np.array([-1.0]), np.array([0.3]), np.array([1e-6]), np.eye(1), False)
    assert model.move(0.0)[0] == pytest.approx(0.6)


def test_bounded_step() -> None:
    """The step is optimal: no slope at free widths, no descent at widths held at zero."""
    rng = np.random.default_rng(0)
    root, slope, theta = rng.normal(size=(3, 3)), rng.normal(size=3), np.array([0.1, 0.0, 0.5])
    p = bounded(root, slope, theta)
    gradient_there = root.T @ (root @ p + slope)
    assert (theta + p >= 0.0).all()
    np.testing.assert_allclose(gradient_there[theta + p > 0.0], 0.0, atol=1e-10)
    assert (gradient_there >= -1e-10).all()
