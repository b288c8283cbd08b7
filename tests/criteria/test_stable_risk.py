"""RKS, SPS and the probes of stability against their definitions."""

from __future__ import annotations

import numpy as np
import oracles
import oracles_svm
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import Case, cases, problem_of, rows

from kselect.criteria.stable_risk import (
    beta,
    prediction_change,
    spectral_perturbation,
    square_bound,
    stable_risk,
    uniform_stability,
)
from kselect.kernels.gaussian import Gaussian
from kselect.learners import LEARNERS
from kselect.learners.svm import svm


@given(cases(labels=True), st.floats(0.0, 8.0))
def test_risk_plus_penalty(case: Case, eta: float) -> None:
    """RKS is ``R_emp + (eta / n) beta`` with the chosen loss."""
    path, p = case.path(), case.problem
    penalty = eta / p.n * oracles.stability(p.K)
    for loss in ("squared", "zero-one", "hinge"):
        found = stable_risk(path, eta=eta, loss=loss)
        for score, fitted in zip(found, path.decision(), strict=True):
            risk = oracles.losses(loss, p.y, fitted).mean()
            np.testing.assert_allclose(score, risk + penalty, rtol=1e-12)


def test_defaults(labelled: Case) -> None:
    """By default, eta is 1 and the loss is squared."""
    path = labelled.path()
    np.testing.assert_array_equal(stable_risk(path), stable_risk(path, eta=1.0, loss="squared"))


@given(cases(labels=True), st.floats(0.0, 8.0))
def test_the_closed_form_is_the_double_sum(case: Case, delta: float) -> None:
    """SPS is ``R_emp + (delta / n^2) sum_ij |sigma_j(K) - sigma_j(K^i)|``."""
    path, p = case.path(), case.problem
    penalty = delta * oracles.spectral_perturbation(p.K)
    for loss in ("squared", "zero-one", "hinge"):
        found = spectral_perturbation(path, delta=delta, loss=loss)
        for score, fitted in zip(found, path.decision(), strict=True):
            risk = oracles.losses(loss, p.y, fitted).mean()
            np.testing.assert_allclose(score, risk + penalty, rtol=1e-10)


def test_all_gaussian_kernels_have_the_same_penalty() -> None:
    """All Gaussian kernels have the same penalty, as the report states, so delta changes nothing among them."""
    X, y = rows()
    differences = []
    for tau in (0.1, 1.0, 10.0):
        path = LEARNERS["svm"].path(problem_of(Gaussian(tau), X, y))
        with_, without = (spectral_perturbation(path, delta=d, loss="hinge") for d in (32.0, 0.0))
        differences.append(with_ - without)
    np.testing.assert_allclose(differences, 32.0 / len(y), rtol=1e-12)


@pytest.mark.parametrize("share", [0.25, 1.0])
def test_beta_of_a_share(share: float) -> None:
    """beta of a share uses only the first rows."""
    p = problem_of(Gaussian(1.0), *rows(40)).changed()  # which shares its matrix, as in a trial
    m = round(share * 40)
    found = beta(svm(p), share=share)
    np.testing.assert_allclose(found, oracles.stability(p.K[:m, :m]), rtol=1e-12)


def test_uniform_stability_by_training() -> None:
    """The probe is the largest change of the hinge loss over the rows left out and the rows evaluated."""
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


@settings(max_examples=20)
@given(st.integers(0, 10_000), st.sampled_from((0.01, 0.3, 1.0, 8.0)), st.sampled_from((0.1, 1.0)))
def test_without_a_bias_it_stays_below_the_bound(seed: int, tau: float, ridge: float) -> None:
    """Without a bias it is below ``max K_ii / (2 n lam)`` and beta / (2 n lam); narrow kernels reach the first."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(12, 2)), rng.choice([-1.0, 1.0], size=12)
    p = problem_of(Gaussian(tau), X, y, (ridge / 12,))
    (found,) = uniform_stability(svm(p, bias=False))
    (largest,) = beta(svm(p, bias=False))
    assert found <= 1.0 / (2 * ridge) + 1e-8
    assert largest >= 1.0


def test_a_bias_breaks_the_bound() -> None:
    """With a bias, the same rows exceed the bound, so the property above can fail."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 2)), np.where(np.arange(12) < 6, 1.0, -1.0)
    p = problem_of(Gaussian(0.01), X, y, (1.0 / 12,))
    (found,) = uniform_stability(svm(p))
    assert found > 0.5


def test_changes_and_bounds_of_the_square_loss() -> None:
    """Theorem 8: ``(C1 beta + C2) / (n - 1)`` bounds the change of predictions, Theorem 1 that of the loss."""
    X, y = rows(20)
    p = problem_of(Gaussian(1.0), X, y, (0.5, 2.0), ridge="per-fold")
    path, n = LEARNERS["krr"].path(p), 20
    change, loss = prediction_change(path), uniform_stability(path, loss="squared")
    M, kappa, size = np.abs(y).max(), p.K.diagonal().max(), oracles.stability(p.K)
    for at, lam in enumerate(p.lams.tolist()):
        full = p.K @ oracles.fit(p.K, y, n * lam, False)[0]
        others = []
        for i in range(n):
            T = oracles.without(np.array([i]), n)
            alpha, _ = oracles.fit(p.K[np.ix_(T, T)], y[T], (n - 1) * lam, False)
            others.append(p.K[:, T] @ alpha)
        assert change[at] == pytest.approx(np.abs(np.array(others) - full).max(), rel=1e-9)
        squares = np.abs((np.array(others) - y) ** 2 - (full - y) ** 2).max()
        assert loss[at] == pytest.approx(squares, rel=1e-9)
        eight = (kappa * M / lam**2 * size + 2 * kappa * M / lam) / (n - 1)
        assert square_bound(path, theorem="8")[at] == pytest.approx(eight)
        one = eight * (2 * M + 2 * kappa * M / lam)
        assert square_bound(path)[at] == pytest.approx(one)
        assert change[at] < eight
        assert loss[at] < one


def test_uniform_stability_of_the_svm_has_the_ridge_of_the_protocol() -> None:
    """With ``per-fold`` the fits without a row have ``C = 1 / (2 (n - 1) lam)``."""
    X, y = rows(12)
    p = problem_of(Gaussian(1.0), X, y, (0.05,), ridge="per-fold")
    other = problem_of(Gaussian(1.0), X, y, (0.05 * 11 / 12,), ridge="fixed")
    np.testing.assert_allclose(svm(p).without(3), svm(other).without(3), atol=1e-9)
    kept = problem_of(Gaussian(1.0), X, y, (0.05,), ridge="fixed")
    np.testing.assert_array_equal(svm(p).loo(), svm(kept).loo())
