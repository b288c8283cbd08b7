"""EP and ER against their definitions."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import Case, cases, problem_of, rows

from kselect.criteria.base import empirical_risk
from kselect.criteria.penalised_risk import (
    eigenvalue_perturbation,
    eigenvalue_ratio,
    lattice_counts,
    log_integral_eigenvalues,
)
from kselect.errors import TrialError
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.polynomial import Linear
from kselect.learners import LEARNERS, Problem
from kselect.learners.krr_lssvm import SquareLossPath
from kselect.numerics.linalg import Array

GAUSSIANS = st.builds(lambda power: Gaussian(2.0**power), st.integers(-10, 10))


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 26, 27, 28, 100])
def test_lattice_counts(d: int, n: int) -> None:
    """The counts are those of the n lattice points nearest to the origin, by their squared norms."""
    side = n if d == 1 else 7
    every = sorted(sum(x * x for x in j) for j in product(range(-side, side + 1), repeat=d))[:n]
    norms, counts = lattice_counts(d, n)
    assert dict(zip(norms.tolist(), counts.tolist(), strict=True)) == dict(Counter(every))
    assert list(norms) == sorted(norms)


def test_lattice_counts_of_many_dimensions() -> None:
    """The shells of Z^123, 1 + 2 d + 4 d (d - 1) / 2 + ..., are counted without overflow."""
    norms, counts = lattice_counts(123, 1000)
    assert norms.tolist() == [0.0, 1.0, 2.0]
    assert counts.tolist() == [1.0, 246.0, 753.0]


def bound_of(n: int, K: Array, values: Array) -> float:
    """Return the bound: the kernel's eigenvalues move by n eps ||K||, the operator's by eps their exponent."""
    largest = values.max()
    sizes = values * (60.0 + np.abs(np.log(np.maximum(values, 1e-300))) + abs(math.log(largest)))
    return oracles.STEPS * oracles.EPS * float(n * oracles.norm(K) + sizes.sum())


def perturbation(p: Problem) -> float:
    """Return the penalty of EP."""
    eigenvalue_perturbation(LEARNERS["krr"].path(p))
    return float(p.of_kernel["perturbation"])


@given(cases(kernel=GAUSSIANS, labels=True), st.integers(1, 3))
def test_perturbation(case: Case, d: int) -> None:
    """The penalty is its whole definition for d = 1, 2, 3 and tau in 2^-10..2^10."""
    rng = np.random.default_rng(case.problem.n)
    X = rng.normal(size=(case.problem.n, d)) * rng.uniform(0.5, 3.0, size=d)
    kernel = case.problem.kernel
    assert isinstance(kernel, Gaussian)
    p = problem_of(kernel, X, case.problem.y)
    exact = oracles.perturbation(X, p.K, kernel.tau)
    values = oracles.integral_eigenvalues(d, p.n, kernel.tau, float(np.ptp(X, axis=0).max()))
    found = perturbation(p)
    assert abs(found - exact) <= bound_of(p.n, p.K, values)


def test_one_feature_and_many_rows() -> None:
    """With d = 1 and n = 500, where the lattice reaches 250, the penalty is its definition."""
    X = np.random.default_rng(5).normal(size=(500, 1))
    for tau in (2.0**-6, 1.0):
        p = problem_of(Gaussian(tau), X, X[:, 0])
        values = oracles.integral_eigenvalues(1, 500, tau, float(np.ptp(X)))
        found = perturbation(p)
        assert abs(found - oracles.perturbation(X, p.K, tau)) <= bound_of(500, p.K, values)


@pytest.mark.parametrize("tau", [0.01, 0.1])
def test_eigenvalues_are_those_of_the_periodised_kernel(tau: float) -> None:
    """For d = 1 they are Fourier coefficients of ``sum_m exp(-(x + m v)^2 / (2 tau))`` on [0, v]."""
    v, points = 1.5, 256
    x = np.arange(points) * v / points
    periodic = sum(np.exp(-((x + m * v) ** 2) / (2 * tau)) for m in range(-12, 13))
    coefficients = np.sort(np.fft.fft(periodic).real / points)[::-1]
    found = np.exp(log_integral_eigenvalues(1, 9, tau, v))
    np.testing.assert_allclose(found, coefficients[:9], atol=1e-14)


def test_period_is_the_largest_range() -> None:
    """The period is the largest range of a coordinate; shifting the points changes nothing."""
    X, y = rows(18)
    X[:, 1] *= 4.0
    p = problem_of(Gaussian(2.0), X, y)
    found = perturbation(p)
    assert found == pytest.approx(oracles.perturbation(X, p.K, 2.0), rel=1e-12)
    moved = problem_of(Gaussian(2.0), X + 1.0, y)
    assert perturbation(moved) == pytest.approx(found, rel=1e-9)


def test_criterion(labelled: Case) -> None:
    """EP is ``R_emp + eta`` times the penalty, with R_emp by retraining, for every loss and eta."""
    p, path = labelled.problem, labelled.path()
    exact = oracles.perturbation(p.X, p.K, 2.0)
    for loss in ("squared", "zero-one", "hinge"):
        risks = []
        for lam in p.lams:
            fitted = oracles.predict(p.K, *oracles.fit(p.K, p.y, p.n * lam, True))
            risks.append(oracles.losses(loss, p.y, fitted).mean())
        np.testing.assert_allclose(empirical_risk(path, loss), risks, rtol=1e-10)
        for eta in (0.5, 3.0):
            found = eigenvalue_perturbation(path, eta=eta, loss=loss)  # type: ignore[arg-type]
            np.testing.assert_allclose(found, np.array(risks) + eta * exact, rtol=1e-10)
    default = eigenvalue_perturbation(path, eta=1.0, loss="squared")
    np.testing.assert_array_equal(eigenvalue_perturbation(path), default)


@pytest.mark.parametrize("scale", [1.0, 1e-3])
def test_many_features_and_a_wide_kernel(scale: float) -> None:
    """With d = 123 and tau = 2^10 the score is finite or plus infinity, never NaN; with eta = 0 it is the risk."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 123)) * scale
    y = np.where(np.arange(40) % 2 == 0, 1.0, -1.0)
    path = SquareLossPath(problem_of(Gaussian(2.0**10), X, y), bias=True)
    with np.errstate(all="raise", under="ignore"):
        score = eigenvalue_perturbation(path)
        risk = eigenvalue_perturbation(path, eta=0.0)
    assert (score > 1e50).all()
    assert np.isfinite(score).all() == (scale == 1.0)
    np.testing.assert_array_equal(risk, empirical_risk(path, "squared"))


@pytest.mark.parametrize("power", [-1000, -300, -30, 30, 300, 1000])
def test_extreme_widths(power: int) -> None:
    """No width that a float can hold gives NaN or a warning."""
    X, y = rows(12)
    path = SquareLossPath(problem_of(Gaussian(2.0**power), X, y), bias=True)
    with np.errstate(all="raise", under="ignore"):
        assert not np.isnan(eigenvalue_perturbation(path)).any()


def test_refusals() -> None:
    """Another kernel, or points that all coincide, are refused."""
    X, y = rows(12)
    with pytest.raises(TrialError, match="Gaussian kernel only"):
        eigenvalue_perturbation(SquareLossPath(problem_of(Linear(), X, y), bias=True))
    flat = problem_of(Gaussian(1.0), np.ones((12, 3)), y)
    with pytest.raises(TrialError, match="EP needs a feature that varies"):
        eigenvalue_perturbation(SquareLossPath(flat, bias=True))


def path_of(p: Problem) -> Any:
    return LEARNERS["krr"].path(p)


@pytest.mark.parametrize(("t", "count"), [(0.1, 2), (0.5, 9), (0.9, 16), (0.0, 1), (1.0, 18)])
def test_definition(t: float, count: int) -> None:
    """ER is ``R_emp + eta / ER_t`` with numpy's eigenvalues and the risk in units of the target's variance."""
    X, y = rows(18)
    targets = 3.0 + 20.0 * X[:, 0] + y
    p = problem_of(Gaussian(2.0), X, targets, (0.05, 0.2))
    found = eigenvalue_ratio(path_of(p), t=t, eta=0.5)
    s = np.linalg.eigvalsh(p.K)[::-1]
    ratio = s[count:].sum() / s[:count].sum()
    for i, lam in enumerate(p.lams.tolist()):
        f = oracles.predict(p.K, *oracles.fit(p.K, targets, 18 * lam, False))
        risk = np.mean((targets - f) ** 2) / np.var(targets)
        assert found[i] == pytest.approx(risk + 0.5 * ratio, rel=1e-9)


def test_the_unit_of_the_target_does_not_matter() -> None:
    """The unit of the target does not change the balance between risk and penalty."""
    X, y = rows(18)
    one, other = (problem_of(Gaussian(2.0), X, scale * X[:, 0] + y * scale) for scale in (1, 1e4))
    found = [eigenvalue_ratio(path_of(p)) for p in (one, other)]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9)


def test_other_losses_are_not_rescaled() -> None:
    """The hinge loss has no unit and is not rescaled."""
    X, y = rows(18)
    p = problem_of(Gaussian(2.0), X, y, (0.05,))
    path = path_of(p)
    values = [oracles.loss("hinge", a, b) for a, b in zip(y, path.decision()[0], strict=True)]
    found = eigenvalue_ratio(path, eta=0.0, loss="hinge")
    assert found[0] == pytest.approx(np.mean(values))


def test_low_rank_has_no_penalty() -> None:
    """A kernel of low rank, with eigenvalues at zero up to rounding, has no penalty."""
    X, y = rows(18)
    path = path_of(problem_of(Linear(), X, y))
    np.testing.assert_allclose(
        eigenvalue_ratio(path, eta=1e6), eigenvalue_ratio(path, eta=0.0), atol=1e-8
    )


def test_the_smallest_ridge_is_always_the_best() -> None:
    """The penalty ignores the ridge and the empirical risk rises with it, so the smallest ridge is best."""
    X, y = rows(18)
    path = path_of(problem_of(Gaussian(2.0), X, y, 2.0 ** np.arange(-15, 16, 2)))
    assert (np.diff(eigenvalue_ratio(path, eta=1024.0)) > 0).all()


def test_a_wrong_share_and_a_constant_target() -> None:
    """A wrong share, or a target without variance, fails with a message."""
    X, y = rows(18)
    with pytest.raises(TrialError, match="t is a share of the eigenvalues, at most 1, not 3"):
        eigenvalue_ratio(path_of(problem_of(Gaussian(2.0), X, y)), t=3.0)
    with pytest.raises(TrialError, match="a target that varies"):
        eigenvalue_ratio(path_of(problem_of(Gaussian(2.0), X, np.ones(18))))
