"""The inner minimum of a fold: its derivative in (lam, mu), and jumps to another minimum."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from oracles_flkl import Array, differences, fit, gradient, kernel
from problems_flkl import rows

from kselect.kernels.widths import OneWidth, WidthPerFeature
from kselect.search.first_level import settle
from kselect.search.fold_fits import FoldFit, FoldProblem, between, follow, follow_all, leap


def fold(n: int, d: int, *, one: bool) -> tuple[FoldProblem, Array, Array]:
    """Return a problem with every fifth row held out."""
    X, y = rows(n, d)
    widths = OneWidth.of(X) if one else WidthPerFeature(X)
    return FoldProblem.of(widths, y, np.arange(0, n, 5)), X, y


def start(d: int, *, one: bool) -> Array:
    """Return theta = 1 / d."""
    return np.full(1 if one else d, 1.0 / d)


@pytest.mark.parametrize(("n", "d"), [(40, 1), (60, 4), (150, 12)])
@pytest.mark.parametrize("one", [True, False])
def test_errors_are_those_of_the_definition(n: int, d: int, one: bool) -> None:
    """The errors are those of a model retrained on the other rows at the widths found."""
    part, X, y = fold(n, d, one=one)
    found = part.fit(np.log([0.5, 3.0]), start(d, one=one), near=0.0)
    held, rest = np.arange(0, n, 5), np.setdiff1d(np.arange(n), np.arange(0, n, 5))
    theta = found.theta
    alpha, b = fit(kernel(differences(X[rest], X[rest], one=one), theta), y[rest], 0.5)
    expected = y[held] - kernel(differences(X[held], X[rest], one=one), theta) @ alpha - b
    np.testing.assert_allclose(found.errors, expected, atol=1e-9)


@pytest.mark.parametrize(("n", "d"), [(40, 1), (60, 4), (150, 12)])
@pytest.mark.parametrize("one", [True, False])
def test_tangent_and_jacobian(n: int, d: int, one: bool) -> None:
    """Tangent and Jacobian agree with differences of inner problems solved nearby."""
    part, _, _ = fold(n, d, one=one)
    u = np.log([0.5, 3.0])
    here = part.fit(u, start(d, one=one), near=0.0)

    def again(at: Array) -> FoldFit:
        return part.fit(at, here.theta, near=0.0)

    by_theta = gradient(lambda at: again(at).theta, u, 1e-3)
    by_error = gradient(lambda at: again(at).errors, u, 1e-3)
    close = {"rtol": 0.0}
    np.testing.assert_allclose(here.tangent, by_theta, atol=1e-5 * np.abs(by_theta).max(), **close)
    np.testing.assert_allclose(here.jacobian, by_error, atol=1e-5 * np.abs(by_error).max(), **close)


def test_tangent_and_jacobian_of_several_targets() -> None:
    """With several targets the errors are stacked target by target; their derivatives are differences."""
    one, X, y = fold(60, 4, one=False)
    Y = np.column_stack([y, 2.0 * X[:, 1]])
    part = FoldProblem.of(WidthPerFeature(X), Y, np.arange(0, 60, 5))
    u = np.log([0.5, 3.0])
    here = part.fit(u, start(4, one=False), near=0.0)
    assert here.errors.shape == (2 * len(one.targets),)

    def again(at: Array) -> FoldFit:
        return part.fit(at, here.theta, near=0.0)

    by_theta = gradient(lambda at: again(at).theta, u, 1e-3)
    by_error = gradient(lambda at: again(at).errors, u, 1e-3)
    for found, expected in ((here.tangent, by_theta), (here.jacobian, by_error)):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def test_last_move_is_made_in_the_errors() -> None:
    """The errors include the last Newton move: they are off by the square of its length."""
    part, _, _ = fold(100, 6, one=False)
    u = np.log([0.5, 3.0])
    near, exact = (part.fit(u, start(6, one=False), near=share) for share in (3e-3, 0.0))
    assert near.evaluations < exact.evaluations
    np.testing.assert_allclose(near.errors, exact.errors, atol=1e-4)
    point = settle(part.inner(u), start(6, one=False), near=3e-3).point
    across = part.across.gram(point.theta)
    raw = part.targets - across @ point.solution.alpha - point.solution.bias
    assert np.abs(raw - exact.errors).max() > 3.0 * np.abs(near.errors - exact.errors).max()


@pytest.mark.parametrize("one", [True, False])
def test_follows_its_minimum(one: bool) -> None:
    """A fold that follows the tangent reaches the minimum that many small steps reach."""
    part, _, _ = fold(60, 4, one=one)
    u, s = np.log([0.5, 3.0]), np.array([0.4, -1.0])
    here = part.fit(u, start(4, one=one))
    there = follow(here, s)
    by_steps = here
    for _ in range(20):
        by_steps = follow(by_steps, s / 20)
    assert not there.jumped
    np.testing.assert_allclose(there.u, u + s)
    largest = by_steps.theta.max()
    np.testing.assert_allclose(there.theta, by_steps.theta, atol=1e-3 * largest)


@pytest.mark.parametrize("one", [True, False])
def test_folds_follow_together(one: bool) -> None:
    """Folds followed together reach the same minima with fewer factorisations."""
    X, y = rows(100, 4)
    widths = OneWidth.of(X) if one else WidthPerFeature(X)
    folds = [FoldProblem.of(widths, y, np.arange(k, 100, 5)) for k in range(5)]
    u, s = np.log([0.5, 3.0]), np.array([0.4, -1.0])
    here = [fold.fit(u, start(4, one=one)) for fold in folds]
    together, alone = follow_all(here, s), [follow(fit, s) for fit in here]
    for both, by_itself in zip(together, alone, strict=True):
        np.testing.assert_allclose(both.theta, by_itself.theta, atol=1e-3 * by_itself.theta.max())
    assert not any(fit.jumped for fit in together + tuple(alone))
    assert together[0].evaluations == alone[0].evaluations
    assert sum(f.evaluations for f in together) < sum(f.evaluations for f in alone)


@pytest.mark.parametrize(
    ("wrong", "plain"), [(1.0, True), (0.8, True), (-1.0, False), (3.0, False)]
)
def test_a_long_correction_is_not_plain(wrong: float, plain: bool) -> None:
    """A correction as long as the predicted move may be a jump to another minimum."""
    part, _, _ = fold(100, 4, one=False)
    here = part.fit(np.log([0.5, 3.0]), start(4, one=False), near=0.0)
    found, surely = leap(replace(here, tangent=wrong * here.tangent), np.array([0.2, -0.4]))
    assert found.straight
    assert surely is plain


def test_the_bend_of_a_width_at_its_bound() -> None:
    """A width that leaves or reaches its bound has no bend."""
    found = between(np.array([1.0, 0.0, 2.0, 0.0]), np.array([np.e, 1.0, 0.0, 0.0]))
    np.testing.assert_allclose(found, [1.0, 0.0, 0.0, 0.0], atol=1e-15)


def two_minima() -> FoldProblem:
    """Return a slow trend plus a fast wave: two minima at small mu, one at large mu."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(-1.7, 1.7, 60))
    y = x + np.sin(12.0 * x) + 0.1 * rng.normal(size=60)
    return FoldProblem.of(OneWidth.of(x[:, None] - x.mean()), y, np.arange(3, 60, 20))


def test_the_start_decides_between_two_minima() -> None:
    """The start decides which of the two minima is reached."""
    part, u = two_minima(), np.log([1.0, 1e-2])
    narrow, wide = (part.fit(u, np.array([t]), near=0.0) for t in (20.0, 0.5))
    assert narrow.theta[0] > 10.0 > 1.0 > wide.theta[0]
    assert narrow.state == wide.state == "converged"


def test_a_lost_minimum_is_named() -> None:
    """The narrow minimum is followed while it exists; after that the fit reports a jump."""
    part = two_minima()
    here = part.fit(np.log([1.0, 1e-4]), np.array([36.0]))
    still = follow(here, np.array([0.0, np.log(1e2)]))
    assert not still.jumped
    assert still.theta[0] > 10.0
    lost = follow(still, np.array([0.0, np.log(1e3)]))
    assert lost.jumped
    assert lost.theta[0] < 1.0
    assert lost.evaluations > still.evaluations


def test_a_lost_minimum_misleads_no_other() -> None:
    """The fold after a jumped one starts from the end of its own tangent."""
    part = two_minima()
    lost_there = np.array([0.0, np.log(1e5)])
    narrow, wide = (part.fit(np.log([1.0, 1e-4]), np.array([t])) for t in (36.0, 0.5))
    alone = follow(wide, lost_there)
    lost, after = follow_all([narrow, wide], lost_there)
    assert lost.jumped
    assert after.evaluations == alone.evaluations
    np.testing.assert_array_equal(after.theta, alone.theta)
