"""The closed forms of the square loss equal retraining, also for extreme numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import oracles
import pytest
from hypothesis import given
from problems import Case, any_kernel, bias_of, cases, numbered, problem_of, rows

from kselect.errors import TrialError
from kselect.kernels import Points
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.polynomial import Linear
from kselect.learners import LEARNERS, Problem
from kselect.learners.krr_lssvm import SquareLossPath
from kselect.learners.problem import RidgeMode
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array, Index

BOTH = pytest.mark.parametrize("bias", [True, False], ids=["lssvm", "krr"])


@given(cases())
def test_fit_is_the_solution_of_the_linear_system(case: Case) -> None:
    """alpha, b and the fitted values are within the bound of both computations."""
    p, path = case.problem, case.path()
    fit, decision = path.fit(), path.decision()
    for at, lam in enumerate(p.lams):
        gamma = p.n * lam
        alpha, b = oracles.fit(p.K, p.y, gamma, case.bias)
        solution, fitted = oracles.fit_bound(p.K, p.y, gamma, case.bias)
        assert np.linalg.norm(fit.alpha[at] - alpha) <= solution
        assert abs(fit.bias[at] - b) <= solution
        assert case.bias or fit.bias[at] == 0
        assert np.linalg.norm(decision[at] - oracles.predict(p.K, alpha, b)) <= fitted


@given(cases())
def test_held_out_is_retraining_without_the_fold(case: Case) -> None:
    """Every fold, ridge and ridge mode is within the bound of oracles.fold_bound."""
    p, found = case.problem, case.path().held_out(case.folds)
    for row, lam in zip(found, p.lams, strict=True):
        arguments = (p.K, p.y, case.folds.members, lam, case.bias, case.per_fold)
        off = np.abs(row - oracles.held_out(*arguments))
        assert (off <= oracles.held_out_bound(*arguments)).all()


@given(cases())
def test_loo_is_retraining_without_the_row(case: Case) -> None:
    """Leave-one-out keeps the ridge n lam in both ridge modes."""
    p, found = case.problem, case.path().loo()
    every = oracles.singletons(p.n)
    for row, lam in zip(found, p.lams, strict=True):
        off = np.abs(row - oracles.leave_one_out(p.K, p.y, lam, case.bias))
        assert (off <= oracles.held_out_bound(p.K, p.y, every, lam, case.bias, False)).all()


@given(cases(lowest=-2.0))
def test_the_bounds_are_not_trivial(case: Case) -> None:
    """If the ridge is not tiny, the bound is far below the effect of a wrong formula."""
    p = case.problem
    for lam in p.lams:
        bound = oracles.held_out_bound(p.K, p.y, case.folds.members, lam, case.bias, case.per_fold)
        assert bound.max() < 1e-6 * (1.0 + np.abs(p.y).max())


@given(cases())
def test_spectrum_is_descending_and_not_negative(case: Case) -> None:
    """Eigenvalues agree to ``n eps ||K||``, the backward error of an eigendecomposition."""
    K = case.problem.K
    s = case.problem.matrix.spectrum
    assert (np.diff(s) <= 0).all()
    assert (s >= 0).all()
    bound = 2 * oracles.STEPS * len(K) * oracles.EPS * oracles.norm(K)
    assert np.abs(s - np.linalg.eigvalsh(K)[::-1]).max() <= bound


@BOTH
@pytest.mark.parametrize("equal", [True, False])
def test_per_fold_differs_from_fixed(bias: bool, equal: bool) -> None:
    """For folds of one size, per-fold at lam equals fixed at ((n - m) / n) lam, not fixed at lam."""
    X, y = rows(18)
    folds = numbered(np.random.default_rng(3), 18, 3, equal)
    fixed = problem_of(Gaussian(2.0), X, y, [0.1, 1.0])
    held = SquareLossPath(replace(fixed, ridge="per-fold"), bias=bias).held_out(folds)
    kept = SquareLossPath(fixed, bias=bias).held_out(folds)
    assert np.abs(held - kept).max() > 1e-3
    if equal:
        shrunk = replace(fixed, lams=fixed.lams * 12 / 18)
        np.testing.assert_allclose(
            SquareLossPath(shrunk, bias=bias).held_out(folds), held, rtol=1e-11
        )


def test_bias_makes_a_difference() -> None:
    """Shifting all targets shifts the LSSVM's predictions, but not those of KRR."""
    X, y = rows(18)
    folds = numbered(np.random.default_rng(3), 18, 4, True)
    for bias in (True, False):
        p = problem_of(Gaussian(1.0), X, y, [0.1])
        base = SquareLossPath(p, bias=bias).held_out(folds)
        moved = SquareLossPath(replace(p, y=y + 5.0), bias=bias).held_out(folds)
        assert np.allclose(moved, base + 5.0, rtol=1e-11) == bias


@pytest.mark.parametrize("name", ["lssvm", "krr"])
@pytest.mark.parametrize("ridge", ["fixed", "per-fold"])
def test_held_out_does_not_see_the_fold(name: str, ridge: Any) -> None:
    """New targets in a fold change the predictions of the other folds only.

    Both runs are within the bound of the same retrained models, the larger targets within a larger one.
    """
    X, y = rows(18)
    p = problem_of(Gaussian(2.0), X, y, ridge=ridge)
    folds = numbered(np.random.default_rng(3), 18, 5, False)
    path_of = LEARNERS[name].path
    base, alone = path_of(p).held_out(folds), path_of(p).loo()

    def bound(targets: Array, F: Index, mode: str) -> float:
        kept = 18 - len(F) if mode == "per-fold" else 18
        found = [oracles.fold_bound(p.K, targets, F, kept * v, bias_of(name)) for v in p.lams]
        return max(found)

    for F in folds.members:
        changed = y.copy()
        changed[F] = -3.0 * y[F]
        held = path_of(replace(p, y=changed)).held_out(folds)
        off = np.abs(held[:, F] - base[:, F]).max()
        assert off <= bound(y, F, ridge) + bound(changed, F, ridge)
        others = oracles.without(F, 18)
        assert np.abs(held[:, others] - base[:, others]).max() > 1e-3
    changed, one = y.copy(), np.array([4])
    changed[4] = 7.0
    again = path_of(replace(p, y=changed)).loo()
    off = np.abs(again[:, 4] - alone[:, 4]).max()
    assert off <= bound(y, one, "fixed") + bound(changed, one, "fixed")
    assert np.abs(again[:, 5] - alone[:, 5]).max() > 1e-3


@pytest.mark.parametrize("name", ["lssvm", "krr"])
def test_results_have_the_shapes_of_the_protocol(name: str) -> None:
    """Predictions are (n_ridges, n), there are n eigenvalues, and inputs are unchanged."""
    X, y = rows(18)
    p = problem_of(any_kernel("gaussian"), X, y, [0.1, 1.0, 10.0])
    K, folds = p.K.copy(), numbered(np.random.default_rng(0), 18, 4, False)
    path = LEARNERS[name].path(p)
    assert path.decision().shape == path.loo().shape == path.held_out(folds).shape == (3, 18)
    assert p.matrix.spectrum.shape == (18,)
    fit = path.fit()
    for ridge in range(3):
        # y - gamma alpha and K alpha + b agree up to the bounds of both fits.
        bound = oracles.fit_bound(p.K, y, 18 * p.lams[ridge], bias_of(name))[1]
        assert np.abs(fit.decision(ridge, p.K) - path.decision()[ridge]).max() <= bound
    assert (p.K == K).all()


def test_held_out_and_loo_are_cached() -> None:
    """The second call returns the cached result."""
    X, y = rows(18)
    path = SquareLossPath(problem_of(Gaussian(2.0), X, y), bias=True)
    folds, other = (numbered(np.random.default_rng(s), 18, 4, False) for s in (0, 1))
    assert path.held_out(folds) is path.held_out(folds)
    assert np.abs(path.held_out(folds) - path.held_out(other)).max() > 0
    assert path.loo() is path.loo()


@given(cases())
def test_unexplained(case: Case) -> None:
    """The rest of the i-th unit vector in the i-th row is ``1 - S_ii``; the residuals have the same factor."""
    path, p = case.path(), case.problem
    residual, rest = (p.n * p.lams[:, None] * v for v in path.unexplained())  # type: ignore[attr-defined]
    found = 1.0 - rest
    np.testing.assert_allclose(residual, p.y - path.decision(), atol=1e-7)
    for i, lam in enumerate(p.lams):
        bound = oracles.fit_bound(p.K, np.ones(p.n), p.n * lam, case.bias)[1]
        for j in range(p.n):
            unit = np.eye(p.n)[j]
            fitted = oracles.predict(p.K, *oracles.fit(p.K, unit, p.n * lam, case.bias))
            assert abs(found[i, j] - fitted[j]) <= 4 * bound


def test_a_failed_fold_leaves_the_guard_in_place() -> None:
    """After k-CV has failed on a singular block, the guard still checks every fold."""
    rng = np.random.default_rng(9)
    X, y = rng.normal(size=(24, 2)), np.sign(rng.normal(size=24))
    folds = numbered(rng, 24, 4, False)
    # In descending order a fold fails before the smallest ridge, whose blocks the guard uses.
    lams = [1.0, 4e-17, 2e-17]
    p = problem_of(Gaussian(1e-3), np.repeat(X[:12], 2, axis=0), y, lams)
    alone, after = (SquareLossPath(p.changed(), bias=False) for _ in range(2))
    with pytest.raises(TrialError, match="singular"):
        after.held_out(folds)
    np.testing.assert_array_equal(after.interpolating(folds, 0.9), alone.interpolating(folds, 0.9))
    assert alone.interpolating(folds, 0.9).any()


def test_lapack_failure_falls_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """If divide and conquer does not converge, the QR iteration gives the same held-out predictions."""
    X, y = rows(18)
    p = problem_of(Gaussian(2.0), X, y)
    folds = numbered(np.random.default_rng(0), 18, 4, False)
    expected = SquareLossPath(p, bias=True).held_out(folds)

    def fails(_: Array) -> None:
        raise np.linalg.LinAlgError("Eigenvalues did not converge")

    monkeypatch.setattr(np.linalg, "eigh", fails)
    found = SquareLossPath(p, bias=True).held_out(folds)
    bound = oracles.held_out_bound(p.K, y, folds.members, 0.03, True, False)
    assert (np.abs(found - expected) <= 2 * bound).all()


def results(problem: Problem, bias: bool, folds: Folds) -> Array:
    """Return all predictions of a path for every ridge."""
    path = SquareLossPath(problem, bias=bias)
    return np.hstack([path.decision(), path.loo(), path.held_out(folds), path.fit().alpha])


@BOTH
@pytest.mark.parametrize("power", range(-12, 3))
def test_underflowing_gaussian_is_finite(bias: bool, power: int) -> None:
    """The entries of a narrow Gaussian kernel must not be subnormal, or LAPACK fails to converge."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, size=(90, 40)) * 1.5
    y = rng.choice([-1.0, 1.0], size=90)
    kernel = Gaussian(2.0**power)
    squared = Points(X).distances.squared
    p = problem_of(kernel, X, y, [1e-10, 1e-4, 1.0])
    raw = -0.5 * squared / kernel.tau
    if power == -5:  # the definition does have subnormal entries
        assert ((raw < np.log(np.finfo(float).tiny)) & (raw > np.log(5e-324))).any()
    assert not ((p.K > 0) & (p.K < 1e-100)).any()
    assert np.isfinite(results(p, bias, numbered(rng, 90, 5, True))).all()


def singular(kind: str) -> Array:
    """Return rows whose linear kernel has rank one."""
    x = np.random.default_rng(7).normal(size=(9, 1))
    return np.ones((9, 2)) if kind == "equal rows" else x


@BOTH
@pytest.mark.parametrize("kind", ["equal rows", "rank one"])
@pytest.mark.parametrize("lam", [1e-300, 1e-100, 1e-30, 1e-16, 1e-10])
def test_singular_kernel_with_a_tiny_ridge(bias: bool, kind: str, lam: float) -> None:
    """The result is finite or a TrialError, never NaN, without a warning."""
    X = singular(kind)
    y = np.where(np.arange(9) % 2 == 0, 1.0, -1.0)
    folds = numbered(np.random.default_rng(0), 9, 3, False)
    try:
        found = results(problem_of(Linear(), X, y, [lam]), bias, folds)
    except (TrialError, np.linalg.LinAlgError):
        return
    assert np.isfinite(found).all()


@BOTH
@pytest.mark.parametrize("n", range(2, 13))
@pytest.mark.parametrize("kind", ["equal rows", "rank one"])
def test_singular_kernel_without_a_ridge(bias: bool, n: int, kind: str) -> None:
    """lam = 0 is a TrialError, whether rounding makes the eigenvalues positive or negative."""
    X = np.ones((n, 1)) if kind == "equal rows" else np.random.default_rng(n).normal(size=(n, 1))
    path = SquareLossPath(problem_of(Linear(), X, X[:, 0], [0.0]), bias=bias)
    with pytest.raises(TrialError, match="singular kernel"):
        path.fit()


@BOTH
def test_regular_kernel_without_a_ridge(bias: bool) -> None:
    """lam = 0 on a regular kernel interpolates."""
    X, y = rows(12)
    path = SquareLossPath(problem_of(Gaussian(0.25), X, y, [0.0]), bias=bias)
    np.testing.assert_array_equal(path.decision()[0], y)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("mode", ["fixed", "per-fold"])
def test_predictions_without_one_row_are_those_of_retraining(mode: RidgeMode, bias: bool) -> None:
    """The ridge is n lam, or (n - 1) lam with ``per-fold``."""
    X, y = rows(15)
    p = problem_of(Gaussian(1.0), X, y, (0.01, 1.0), ridge=mode)
    path = SquareLossPath(p, bias=bias)
    for i in (0, 7):
        T = oracles.without(np.array([i]), 15)
        for found, lam in zip(path.without(i), p.lams.tolist(), strict=True):
            gamma = (14 if mode == "per-fold" else 15) * lam
            alpha, b = oracles.fit(p.K[np.ix_(T, T)], y[T], gamma, bias)
            np.testing.assert_allclose(found, p.K[:, T] @ alpha + b, atol=1e-9)
