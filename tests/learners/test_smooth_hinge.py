"""The smoothed-hinge SVM against its definition, retraining and finite differences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import oracles
import oracles_smooth_hinge as slow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import Case, cases, numbered, problem_of

from kselect.errors import ConfigError, TrialError
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.nystrom import NystromColumns
from kselect.kernels.polynomial import Linear
from kselect.learners import LEARNERS, Problem, smooth_hinge_trainer
from kselect.learners import smooth_hinge as smooth_hinge_module
from kselect.learners.base import HatMatrix, Series
from kselect.learners.smooth_hinge import smooth_hinge
from kselect.learners.smooth_hinge_trainer import (
    HingeProblem,
    SignedKernel,
    all_top,
    curvature,
    minimise,
    pull,
    value,
    violation,
)
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array

WIDTHS = st.sampled_from([0.05, 0.5, 0.01])
PAPER = 2.0 ** np.arange(-15, 16, 2)
# Exponent of the smallest lam; below it the rounding error of K beta is close to the tolerances.
LOWEST = -4.0


def classes(n: int, seed: int, *, noise: float = 0.5) -> tuple[Array, Array]:
    """Return two classes with a curved boundary on [-1, 1]."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 3))
    return X, np.where(np.sin(3 * X[:, 0]) + X[:, 1] + noise * rng.normal(size=n) > 0, 1.0, -1.0)


def data(kind: str, n: int = 60) -> tuple[Array, Array]:
    """Return data that are hard for a trainer."""
    X, y = classes(n, 1)
    rng = np.random.default_rng(2)
    if kind == "separable":
        y = np.where(X[:, 0] > 0, 1.0, -1.0)
        X[:, 0] += 0.5 * y
    if kind == "duplicated":
        X[n // 2 :] = X[: n - n // 2]
        y[n // 2 :] = rng.choice([-1.0, 1.0], size=n - n // 2)
    if kind == "noise":
        y = rng.choice([-1.0, 1.0], size=n)
    if kind == "unequal":
        y = np.where(np.arange(n) < 3, 1.0, -1.0)
    return X, y


KINDS = ("random", "separable", "duplicated", "noise", "unequal")
# Near the identity, in between, and near rank one.
TAUS = (2.0**-15, 2.0**-6, 2.0**-3, 1.0, 2.0**4, 2.0**15)


def problem(
    kind: str, tau: float, *, n: int = 60, lams: Array = PAPER, ridge: str = "per-fold"
) -> Problem:
    X, y = data(kind, n)
    return problem_of(Gaussian(tau), X, y, lams, ridge=ridge)


def folds_of(n: int, k: int, seed: int = 3, equal: bool = False) -> Folds:
    return numbered(np.random.default_rng(seed), n, k, equal)


def test_the_definition_finds_every_minimum() -> None:
    """The oracle finds the minimum of large fits on equal rows, where its statuses may cycle."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        n = int(rng.integers(4, 15))
        X = np.round(rng.normal(size=(n, 2)), 1)
        X[-1] = X[0]
        y, w = rng.choice([-1.0, 1.0], size=n), slow.even(n)
        beta = slow.fit(X @ X.T, y, 1e-4, 0.01, w)
        assert slow.violation(X @ X.T, y, beta, 1e-4, 0.01, w) < 1e-9


@given(st.floats(-3, 3), WIDTHS)
def test_loss_and_its_derivatives(z: float, h: float) -> None:
    """The loss equals the paper's, at least the hinge and at most h / 4 above it."""
    at = np.array([z])
    assert value(at, h)[0] == pytest.approx(slow.loss(z, h), abs=1e-15)
    assert -pull(at, h)[0] == pytest.approx(slow.slope(z, h), abs=1e-15)
    if abs(abs(1 - z) - h) > 1e-12:
        assert curvature(at, h)[0] == pytest.approx(slow.curvature(z, h))
    assert -1e-15 <= value(at, h)[0] - max(0.0, 1 - z) <= h / 4 + 1e-15


@given(st.floats(-3, 3), WIDTHS)
def test_derivatives_by_finite_differences(z: float, h: float) -> None:
    """V' is continuous, V'' is its derivative between the kinks."""
    e = 1e-6
    up, down = np.array([z + e]), np.array([z - e])
    assert (value(up, h) - value(down, h))[0] / (2 * e) == pytest.approx(
        -pull(np.array([z]), h)[0], abs=e / h
    )
    if min(abs(abs(1 - z) - h), 1.0) > 2 * e:
        slope = (pull(down, h) - pull(up, h))[0] / (2 * e)
        assert slope == pytest.approx(curvature(np.array([z]), h)[0], abs=1e-6 / h)


@pytest.mark.parametrize("tau", TAUS)
@pytest.mark.parametrize("kind", KINDS)
def test_optimality_on_the_papers_ridges(kind: str, tau: float) -> None:
    """``2 lam beta + V'/n = 0`` to 1e-9 of the slope."""
    p = problem(kind, tau)
    fit = smooth_hinge(p).fit()
    for at, lam in enumerate(p.lams.tolist()):
        assert slow.violation(p.K, p.y, fit.alpha[at], lam, 0.05, slow.even(p.n)) <= 1e-9
    assert not fit.bias.any()


@given(cases(labels=True, lowest=LOWEST), WIDTHS)
def test_fit_is_the_minimum(case: Case, h: float) -> None:
    """The fit equals the oracle's for every kernel and any order of ridges."""
    p = case.problem
    path = smooth_hinge(p, h=h)
    for at, lam in enumerate(p.lams.tolist()):
        f = p.K @ slow.fit(p.K, p.y, lam, h, slow.even(p.n))
        scale = 1 + np.abs(f).max()
        np.testing.assert_allclose(path.decision()[at], f, atol=tolerance(p, lam) * scale)
        np.testing.assert_allclose(
            path.decision()[at], p.K @ path.fit().alpha[at], atol=1e-9 * scale
        )


def tolerance(p: Problem, lam: float) -> float:
    """Return ``n eps cond`` of the free rows' system, at least the 1e-9 of the oracle."""
    return max(1e-9, 100 * p.n * oracles.EPS * (1 + oracles.norm(p.K) / (0.04 * p.n * lam)))


def test_every_start_leads_to_the_same_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Starts from scratch, from a neighbour, and in the primal only give one fit."""
    p = problem("random", 1.0)
    signed = SignedKernel.of(p.K, p.y, 0.05, "")
    path = smooth_hinge(p)
    for at, lam in enumerate(p.lams.tolist()):
        task = HingeProblem(signed, 2 * lam * p.n)
        cold = minimise(task, all_top(signed))
        monkeypatch.setattr(smooth_hinge_trainer, "PATIENCE", -1)
        monkeypatch.setattr(smooth_hinge_trainer, "STEPS", 1)
        primal = minimise(task, all_top(signed))
        monkeypatch.undo()
        np.testing.assert_allclose(cold.z, path.solutions[at].z, atol=1e-9)
        np.testing.assert_allclose(primal.z, path.solutions[at].z, atol=1e-9)
        assert violation(task, primal) <= 1e-9


def test_the_order_of_the_ridges_does_not_matter() -> None:
    """The results do not depend on the order of training."""
    p = problem("random", 1.0, lams=np.array([0.01, 1.0, 1e-4]))
    alone = [smooth_hinge(replace(p, lams=p.lams[[i]])).decision()[0] for i in range(3)]
    np.testing.assert_allclose(smooth_hinge(p).decision(), alone, atol=1e-9)


def test_a_large_ridge_has_every_row_at_the_top() -> None:
    """``beta = y / (2 lam n)``, and cross-validation needs no training."""
    p = problem("random", 1.0, lams=np.array([1e4]))
    alpha = smooth_hinge(p).fit().alpha[0]
    np.testing.assert_array_equal(alpha, p.y / (2e4 * p.n))


def test_h_is_not_ignored() -> None:
    """Another h gives another fit."""
    p = problem("random", 1.0)
    assert np.abs(smooth_hinge(p, h=0.5).decision() - smooth_hinge(p).decision()).max() > 0.01


def test_refusals() -> None:
    """Each refusal names its cause."""
    p = problem("random", 1.0)
    with pytest.raises(ConfigError, match="h must be positive"):
        smooth_hinge(p, h=0.0)
    with pytest.raises(ConfigError, match="labelled -1 and"):
        smooth_hinge(replace(p, y=p.y + 1))
    with pytest.raises(ConfigError, match="Nystrom"):
        smooth_hinge(replace(p, columns=NystromColumns(p.K, p.K)))
    with pytest.raises(TrialError, match="needs a ridge"):
        smooth_hinge(replace(p, lams=np.array([0.0]))).decision()


def test_a_hopeless_ridge_is_a_named_failure() -> None:
    """If rounding leaves nothing to solve, the trainer raises an error and returns no number."""
    p = problem("duplicated", 2.0**15, lams=np.array([1e-22]))
    with pytest.raises(TrialError, match="gaussian tau=32768"):
        smooth_hinge(p).decision()


@given(cases(labels=True, lowest=LOWEST), WIDTHS)
def test_held_out_is_retraining(case: Case, h: float) -> None:
    """Held-out predictions are those of retraining, for every kernel, ridge mode and fold size."""
    p = case.problem
    held = smooth_hinge(p, h=h).held_out(case.folds)
    for at, lam in enumerate(p.lams.tolist()):
        f = slow.held_out(p.K, p.y, case.folds.members, lam, h, case.per_fold)
        np.testing.assert_allclose(held[at], f, atol=10 * tolerance(p, lam) * (1 + np.abs(f).max()))


@pytest.mark.parametrize("ridge", ["per-fold", "fixed"])
@pytest.mark.parametrize("sharing", [1, 250])
@pytest.mark.parametrize("tau", TAUS)
@pytest.mark.parametrize("kind", KINDS)
def test_held_out_on_the_papers_ridges(
    kind: str, tau: float, sharing: int, ridge: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Training from scratch agrees to 1e-8, also if all folds share one factor."""
    monkeypatch.setattr(smooth_hinge_module, "WORTH_SHARING", sharing)
    monkeypatch.setattr(smooth_hinge_module, "FOLDS_SHARING", 1)
    p = problem(kind, tau, n=41, lams=PAPER[:9], ridge=ridge)
    folds = folds_of(p.n, 4)
    held = smooth_hinge(p).held_out(folds)
    for F in folds.members:
        T = oracles.without(F, p.n)
        signed = SignedKernel.of(p.K[np.ix_(T, T)], p.y[T], 0.05, "")
        for at, lam in enumerate(p.lams.tolist()):
            gamma = 2 * lam * (len(T) if ridge == "per-fold" else p.n)
            fit = minimise(HingeProblem(signed, gamma), all_top(signed))
            f = p.K[np.ix_(F, T)] @ (p.y[T] * fit.a)
            np.testing.assert_allclose(held[at, F], f, atol=1e-8 * (1 + np.abs(f).max()))


@settings(max_examples=30)
@given(cases(labels=True, lowest=LOWEST))
def test_leave_one_out_keeps_the_ridge(case: Case) -> None:
    """Leave-one-out is n trainings at n lam in both ridge modes."""
    p = case.problem
    loo = smooth_hinge(p).loo()
    for at, lam in enumerate(p.lams.tolist()):
        f = slow.held_out(p.K, p.y, oracles.singletons(p.n), lam, 0.05, per_fold=False)
        np.testing.assert_allclose(loo[at], f, atol=10 * tolerance(p, lam) * (1 + np.abs(f).max()))


def test_first_order_is_the_derivative() -> None:
    """The first order is the derivative in the fold's weight, by central differences."""
    p = problem("random", 1.0, n=40, lams=2.0 ** np.arange(-9, 2, 2))
    path, folds, e = smooth_hinge(p), folds_of(40, 4), 1e-6
    for at, lam in enumerate(p.lams.tolist()):
        for F in folds.members:
            ends = [p.K @ slow.fit(p.K, p.y, lam, 0.05, slow.weights(p.n, F, x)) for x in (e, -e)]
            derivative = (ends[0] - ends[1])[F] / (2 * e)
            eps = -len(F) / (p.n - len(F))
            first = (path.bif(folds, 1)[at, F] - path.decision()[at, F]) / eps
            np.testing.assert_allclose(
                first, derivative, atol=1e-6 * (1 + np.abs(derivative).max())
            )


@given(cases(labels=True, lowest=-3.0), WIDTHS, st.integers(0, 5))
def test_series_is_the_recursion(case: Case, h: float, order: int) -> None:
    """The recursion is the paper's, with u negated."""
    p = case.problem
    path = smooth_hinge(p, h=h)
    series, f = path.bif(case.folds, order), path.decision()
    for at, lam in enumerate(p.lams.tolist()):
        u, v = slow.slopes(p.y, f[at], h)
        inverse = np.linalg.inv(slow.operator(p.K, v, lam))
        for F in case.folds.members:
            want = slow.recursion(p.K, inverse, f[at], u, v, lam, F, order)[F]
            limit = tolerance(p, lam) * (1 + np.abs(want).max() + order)
            np.testing.assert_allclose(series[at, F], want, atol=1e3 * limit)


@given(cases(labels=True, lowest=-3.0), WIDTHS)
def test_frozen_step_is_one_newton_step(case: Case, h: float) -> None:
    """The step follows from the gradient and the Hessian of the fold's problem."""
    p = case.problem
    path = smooth_hinge(p, h=h)
    step, f = path.frozen_step(case.folds), path.decision()
    for at, lam in enumerate(p.lams.tolist()):
        for F in case.folds.members:
            want = slow.frozen(p.K, p.y, f[at], lam, h, F, case.per_fold)[F]
            limit = 1e3 * tolerance(p, lam) * (1 + np.abs(want).max())
            np.testing.assert_allclose(step[at, F], want, atol=limit)


@pytest.mark.parametrize("sharing", [1, 250])
def test_series_tends_to_the_frozen_step(sharing: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the rate is below one, the series tends to the step; a fixed ridge changes it."""
    monkeypatch.setattr(smooth_hinge_module, "WORTH_SHARING", sharing)
    p = problem("random", 1.0, n=40, lams=np.array([0.01, 0.1]))
    folds = folds_of(40, 5, equal=True)
    path = smooth_hinge(p)
    assert path.rates(folds).max() < 0.99
    np.testing.assert_allclose(path.bif(folds, 3000), path.frozen_step(folds), atol=1e-9)
    fixed = smooth_hinge(replace(p, ridge="fixed")).frozen_step(folds)
    assert np.abs(fixed - path.frozen_step(folds)).max() > 1e-3


def test_frozen_step_is_nearer_to_the_surface_than_the_series() -> None:
    """Near K = I the step's hinge loss is ten times closer to k-CV than the series'."""
    folds, away = folds_of(60, 5, equal=True), {"step": 0.0, "series": 0.0}
    for tau in TAUS[:3]:
        p = problem("random", tau)
        path = smooth_hinge(p)
        exact = np.maximum(0, 1 - p.y * path.held_out(folds)).mean(axis=1)
        for name, f in (("step", path.frozen_step(folds)), ("series", path.bif(folds, 1))):
            away[name] += np.abs(np.maximum(0, 1 - p.y * f).mean(axis=1) - exact).sum()
    assert away["step"] < 0.1 * away["series"]


def test_rates_are_eigenvalues_of_the_hat_matrix() -> None:
    """Rates are ``max_F lambda_max(S_FF)`` over free rows; the guard compares them with the cap."""
    p = problem("random", 1.0, n=40, lams=PAPER[:7])
    path, folds = smooth_hinge(p), folds_of(40, 4)
    for at, lam in enumerate(p.lams.tolist()):
        free = slow.slopes(p.y, path.decision()[at], 0.05)[1] > 0
        rate = 0.0
        for F in folds.members:
            Q = np.flatnonzero(free)
            S = p.K[np.ix_(Q, Q)] @ np.linalg.inv(
                p.K[np.ix_(Q, Q)] + 0.2 * p.n * lam * np.eye(len(Q))
            )
            own = np.flatnonzero(np.isin(Q, F))
            if len(own):
                rate = max(rate, float(np.linalg.eigvalsh(S[np.ix_(own, own)])[-1]))
        assert path.rates(folds)[at] == pytest.approx(rate, abs=1e-10)
    median = float(np.median(path.rates(folds)))
    np.testing.assert_array_equal(path.interpolating(folds, median), path.rates(folds) >= median)
    assert not path.interpolating(folds, float("inf")).any()


def test_the_path_offers_the_protocols() -> None:
    """The path offers the series but no hat matrix, and caches its results."""
    p = problem("random", 1.0)
    path, folds = smooth_hinge(p), folds_of(60, 5)
    assert not LEARNERS["smooth-hinge"].lacks(Series)
    assert LEARNERS["smooth-hinge"].lacks(HatMatrix)
    np.testing.assert_allclose(p.matrix.spectrum, np.linalg.eigvalsh(p.K)[::-1], atol=1e-12)
    assert path.held_out(folds) is path.held_out(folds)
    assert path.frozen_step(folds) is path.frozen_step(folds)


def test_another_target_shares_the_spectrum() -> None:
    """Other labels use the same kernel matrix."""
    p = problem("random", 1.0)
    path = smooth_hinge(p, h=0.2)
    other = smooth_hinge(p.changed(y=-p.y), h=0.2)
    assert other.problem.matrix is path.problem.matrix
    np.testing.assert_allclose(other.decision(), -path.decision(), atol=1e-9)


def test_linear_kernel_with_more_rows_than_rank() -> None:
    """K of rank three is singular on the free rows except for the ridge."""
    X, y = classes(50, 4)
    p = problem_of(Linear(), X, y, PAPER[:10], ridge="per-fold")
    path, folds = smooth_hinge(p), folds_of(50, 5)
    for at, lam in enumerate(p.lams.tolist()):
        assert slow.violation(p.K, p.y, path.fit().alpha[at], lam, 0.05, slow.even(50)) <= 1e-9
        f = slow.held_out(p.K, p.y, folds.members, lam, 0.05, per_fold=True)
        np.testing.assert_allclose(path.held_out(folds)[at], f, atol=1e-8 * (1 + np.abs(f).max()))
