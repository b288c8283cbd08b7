"""The Taylor series of cross-validation: the paper's recursion, its limit, and the guard."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from kselect.kernels import Points
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.nystrom import draw_landmarks, nystrom_columns
from kselect.learners import LEARNERS, Path, Problem
from kselect.learners.problem import RidgeMode
from kselect.learners.series import rates_reaching
from kselect.numerics.folds import Folds, draw_folds, stream
from kselect.numerics.linalg import Array

N = 50
LAMS = np.array([1.0, 1e-3, 1e-2, 0.1])
RNG = stream(0, "bouligand")
X: Array = RNG.normal(size=(N, 3))
Y: Array = np.sin(2 * X[:, 0]) + 0.3 * RNG.normal(size=N)
FOLDS = draw_folds(N, 7, stream(0, "folds"))  # unequal: 50 = 1 * 8 + 6 * 7
# eps n cond with cond <= (n + gamma) / gamma, gamma >= n 1e-3; each step of the recursion adds an error.
TOLERANCE = 1e-10


def make(learner: str, tau: float = 2.0, ridge: RidgeMode = "fixed", thin: bool = False) -> Path:
    kernel = Gaussian(tau)
    if not thin:
        K = kernel.gram(Points(X))
        return LEARNERS[learner].path(Problem(X, Y, kernel, K, LAMS, ridge))
    landmarks = draw_landmarks(N, 20, stream(0, "landmarks"))
    columns = nystrom_columns(kernel, Points(X, X[landmarks]), landmarks)
    return LEARNERS[learner].path(Problem(X, Y, kernel, np.empty((0, 0)), LAMS, ridge, columns))


def dense_kernel(path: Path) -> Array:
    columns = path.problem.columns
    return path.problem.K if columns is None else columns.V @ columns.V.T


def hat_matrix(path: Path, lam: float, bias: bool) -> Array:
    """Return ``S = I - gamma P`` from the dense inverse."""
    gamma = N * lam
    G = np.linalg.inv(dense_kernel(path) + gamma * np.eye(N))
    ones = G.sum(axis=1)
    P = G - np.outer(ones, ones) / ones.sum() if bias else G
    return np.asarray(np.eye(N) - gamma * P)


def papers_recursion(path: Path, lam: float, bias: bool, F: Array, order: int) -> Array:
    """Return section 5's recursion for the square loss: f_{-F} = f + b + sum eps^s h_s / s!."""
    K, n, m = dense_kernel(path), N, len(F)
    gamma = n * lam
    G = np.linalg.inv(K + gamma * np.eye(n))
    ones = G.sum(axis=1)
    b = ones @ Y / ones.sum() if bias else 0.0
    f = K @ (G @ (Y - b))
    inside = np.zeros(n)
    inside[F] = 1.0
    u, v = 2.0 * (Y - f - b), np.full(n, 2.0)
    L = 2 * lam * np.eye(n) + K * v / n
    if bias:
        L = np.block([[L, (K @ v / n)[:, None]], [v[None, :] / n, np.full((1, 1), v.sum() / n)]])
    eps, total, factorial = -m / (n - m), f + b, 1.0
    right = np.append(K @ (inside * u) / m - 2 * lam * f, inside @ u / m)
    for k in range(1, order + 1):
        x = np.linalg.solve(L, right if bias else right[:n])
        h = x[:n] + x[n] if bias else x
        factorial *= k
        total = total + eps**k * h / factorial
        inner = v * h
        right = (k + 1) * np.append(
            K @ inner / n - K @ (inside * inner) / m, inner.sum() / n - inner[F].sum() / m
        )
    return np.asarray(total[F])


@pytest.mark.parametrize("thin", [False, True])
@pytest.mark.parametrize("learner", ["lssvm", "krr"])
@pytest.mark.parametrize("order", [0, 1, 2, 3, 7])
def test_series_is_the_papers_recursion(learner: str, order: int, thin: bool) -> None:
    path = make(learner, thin=thin)
    found = path.bif(FOLDS, order)
    for i, lam in enumerate(LAMS):
        for F in FOLDS.members:
            slow = papers_recursion(path, lam, learner == "lssvm", F, order)
            assert found[i, F] == pytest.approx(slow, abs=TOLERANCE)


@pytest.mark.parametrize("tau", [1e-3, 0.3, 8.0])
@pytest.mark.parametrize("learner", ["lssvm", "krr"])
def test_series_tends_to_retraining_with_the_folds_own_ridge(learner: str, tau: float) -> None:
    """The limit has the ridge (n - m) lam, not n lam as leave-one-out formulas have.

    The series changes the weights of the points and keeps the objective's lam (section 5).
    """
    path = make(learner, tau, "per-fold")
    series, exact = path.bif(FOLDS, 400), path.held_out(FOLDS)
    converged = path.rates(FOLDS) < 0.9
    assert converged.any()
    assert np.abs(series - exact)[converged].max() <= TOLERANCE
    if tau > 0.1:  # with the narrowest kernel, which couples few rows, both nearly agree
        fixed = make(learner, tau, "fixed").held_out(FOLDS)
        assert np.abs(series - fixed)[converged].max() > 1e-4


def test_a_lower_order_may_follow_a_higher_one() -> None:
    path = make("lssvm")
    third, first = path.bif(FOLDS, 3), path.bif(FOLDS, 1)
    assert np.abs(third - first).max() > 1e-4
    assert np.array_equal(first, make("lssvm").bif(FOLDS, 1))


def test_order_zero_is_the_fit_itself() -> None:
    path = make("krr")
    assert path.bif(FOLDS, 0) == pytest.approx(path.decision(), abs=1e-14)


@pytest.mark.parametrize("thin", [False, True])
@pytest.mark.parametrize("learner", ["lssvm", "krr"])
def test_rates_are_the_largest_eigenvalues_of_the_folds(learner: str, thin: bool) -> None:
    path = make(learner, thin=thin)
    rates = []
    for lam in LAMS:
        S = hat_matrix(path, lam, learner == "lssvm")
        rates.append(max(np.linalg.eigvalsh(S[np.ix_(F, F)])[-1] for F in FOLDS.members))
    assert path.rates(FOLDS) == pytest.approx(rates, abs=1e-10)


@pytest.mark.parametrize("ridge", ["fixed", "per-fold"])
@pytest.mark.parametrize("learner", ["lssvm", "krr"])
@pytest.mark.parametrize("stack", [1, 10**9])
def test_the_guard_after_cross_validation_uses_its_blocks(
    learner: str, ridge: RidgeMode, stack: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The guard agrees with the rates, fold by fold or all at once, in both ridge modes."""
    monkeypatch.setattr("kselect.learners.fold_solves.STACK_SIZE", stack)
    path = make(learner, 0.3, ridge)
    exact = path.held_out(FOLDS)
    rates = path.rates(FOLDS)
    assert exact == pytest.approx(make(learner, 0.3, ridge).held_out(FOLDS), abs=1e-12)
    for cap in (0.0, 0.5, *(rates * (1 + 1e-9)), *(rates * (1 - 1e-9))):
        assert np.array_equal(path.interpolating(FOLDS, float(cap)), rates >= cap), cap


@pytest.mark.parametrize("thin", [False, True])
@pytest.mark.parametrize("learner", ["lssvm", "krr"])
def test_the_guard_acts_where_the_rate_reaches_the_cap(learner: str, thin: bool) -> None:
    path = make(learner, 0.3, thin=thin)
    rates = path.rates(FOLDS)
    caps = [0.0, 0.5, 0.9, *(rates * (1 + 1e-9)), *(rates * (1 - 1e-9)), 1.0, np.inf]
    for cap in caps:
        expected = rates >= cap if cap < 1 else np.zeros(len(rates), dtype=bool)
        assert np.array_equal(path.interpolating(FOLDS, float(cap)), expected), cap


def test_the_guards_bisection_needs_few_evaluations() -> None:
    gammas = 2.0 ** np.arange(10)
    asked: list[tuple[int, int]] = []
    limits = (3, 5, 2, 5)
    folds = Folds.from_numbers(np.arange(12) % 4)

    def reaches(F: NDArray[np.intp], ridge: int) -> bool:
        asked.append((int(F[0]), ridge))
        return ridge < limits[F[0]]

    found = rates_reaching(0.9, gammas[::-1], folds, lambda F, i: reaches(F, 9 - i))
    assert found.tolist() == [False] * 5 + [True] * 5
    assert len(asked) < 4 * 10 / 2
    assert len(set(asked)) == len(asked)
