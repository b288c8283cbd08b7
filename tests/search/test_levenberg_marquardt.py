"""Levenberg-Marquardt with limits: known minima, the box, and how a search ends."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles_flkl import Array

from kselect.search.levenberg_marquardt import boxed, least_squares, secant

FREE = np.array([[-50.0, 50.0], [-50.0, 50.0]])


@dataclass(frozen=True, eq=False)
class Rosenbrock:
    """A curved valley, ``(10 (v - u^2), 1 - u, rest)``; ``rest`` keeps the errors large."""

    u: Array
    rest: float = 0.0

    @property
    def errors(self) -> Array:
        return np.array([10.0 * (self.u[1] - self.u[0] ** 2), 1.0 - self.u[0], self.rest])

    @property
    def jacobian(self) -> Array:
        return np.array([[-20.0 * self.u[0], 10.0], [-1.0, 0.0], [0.0, 0.0]])


@dataclass(frozen=True, eq=False)
class Bent:
    """Large residuals whose curvature exceeds that of ``J^T J``."""

    u: Array

    @property
    def errors(self) -> Array:
        """``10 + a (u - v)^2``, and the distances from (1, 2)."""
        u, v = self.u
        return np.array([10.0 + 0.5 * (u - v) ** 2, 0.1 * (u - 1.0), 0.1 * (v - 2.0)])

    @property
    def jacobian(self) -> Array:
        slope = self.u[0] - self.u[1]
        return np.array([[slope, -slope], [0.1, 0.0], [0.0, 0.1]])


def test_curved_valley() -> None:
    """The search reaches the bottom of the valley, and f falls at every accepted step."""
    values = []

    def visit(u: Array, s: Array, here: Rosenbrock) -> Rosenbrock:
        values.append(0.5 * float(here.errors @ here.errors))
        return Rosenbrock(u + s)

    start = np.array([-1.2, 1.0])
    ended = least_squares(visit, start, Rosenbrock(start), FREE)
    assert ended.state == "converged"
    np.testing.assert_allclose(ended.u, [1.0, 1.0], atol=1e-2)
    assert all(a >= b for a, b in pairwise(values))


def test_large_residuals() -> None:
    """The secant term adds the curvature that ``J^T J`` lacks."""
    start = np.array([4.0, -3.0])
    ended = least_squares(lambda u, s, _: Bent(u + s), start, Bent(start), FREE)
    assert ended.state == "converged"
    best = Bent(np.array([1.5, 1.5]))
    assert ended.point.errors @ ended.point.errors < (best.errors @ best.errors) * (1 + 1e-4)
    assert ended.steps < 25


def test_stays_inside_the_limits() -> None:
    """Every point is inside the limits; if the minimum is outside, the search ends at a limit."""
    limits = np.array([[-2.0, 0.5], [-2.0, 2.0]])
    seen = []

    def visit(u: Array, s: Array, _: Rosenbrock) -> Rosenbrock:
        seen.append(u + s)
        return Rosenbrock(u + s)

    start = np.array([-1.0, 1.0])
    ended = least_squares(visit, start, Rosenbrock(start), limits)
    assert ended.state == "converged"
    np.testing.assert_allclose(ended.u, [0.5, 0.25], atol=1e-2)
    assert (np.array(seen) >= limits[:, 0]).all()
    assert (np.array(seen) <= limits[:, 1]).all()


def test_iteration_limit() -> None:
    """A search that reaches its iteration limit says so."""
    start = np.array([-1.2, 1.0])
    visit = lambda u, s, _: Rosenbrock(u + s)  # noqa: E731
    ended = least_squares(visit, start, Rosenbrock(start), FREE, steps=3)
    assert (ended.state, ended.steps) == ("iteration limit", 3)


def test_no_further_descent() -> None:
    """A jump of f next to the start makes every step fail, however short."""

    def visit(u: Array, s: Array, _: Rosenbrock) -> Rosenbrock:
        return Rosenbrock(u + s, rest=100.0)

    start = np.array([-1.2, 1.0])
    ended = least_squares(visit, start, Rosenbrock(start), FREE)
    assert ended.state == "no further descent"
    np.testing.assert_array_equal(ended.u, start)
    assert len(ended.refused) == ended.steps > 1


def test_zero_gradient_ends_at_once() -> None:
    """A zero gradient ends the search at once."""
    start = np.array([1.0, 1.0])
    ended = least_squares(lambda u, s, _: Rosenbrock(u + s), start, Rosenbrock(start), FREE)
    assert (ended.state, ended.steps) == ("converged", 0)


@given(st.integers(0, 2**32 - 1))
def test_boxed(seed: int) -> None:
    """No point of a fine grid inside the box is lower."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(2, 2))
    g, H = rng.normal(size=2), A @ A.T + 0.1 * np.eye(2)
    low, high = -rng.uniform(0, 1, size=2), rng.uniform(0, 1, size=2)
    s = boxed(g, H, low, high)
    assert ((s >= low) & (s <= high)).all()
    at = np.stack(np.meshgrid(*np.linspace(low, high, 41).T), axis=-1).reshape(-1, 2)
    values = at @ g + 0.5 * np.einsum("ki,ij,kj->k", at, H, at)
    assert g @ s + 0.5 * s @ H @ s <= values.min() + 1e-12


def test_secant() -> None:
    """``(J^T J + S) s`` equals the change of the gradient."""
    a, b = Bent(np.array([1.0, 3.0])), Bent(np.array([1.3, 2.7]))
    s = b.u - a.u
    S = secant(np.array([[0.3, 0.1], [0.1, 0.2]]), s, a, b)
    np.testing.assert_allclose(S, S.T)
    np.testing.assert_allclose(S @ s, (b.jacobian - a.jacobian).T @ b.errors)


def test_secant_along_a_ridge() -> None:
    """Where f bends downwards, S leaves a fifth of the curvature along s and adds none across."""
    a, b = Rosenbrock(np.array([0.0, 2.0])), Rosenbrock(np.array([0.1, 2.0]))
    S = secant(np.zeros((2, 2)), b.u - a.u, a, b)
    plain = float((b.jacobian.T @ b.jacobian)[0, 0])
    assert S[0, 0] + plain == pytest.approx(0.2 * plain)
    assert S[0, 1] == S[1, 1] == 0.0
