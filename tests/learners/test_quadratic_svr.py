"""The quadratic eps-insensitive SVR against its definition, retraining and BIF's recursion."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import oracles
import oracles_svr
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from problems import Case, cases, numbered, problem_of

from kselect.errors import ConfigError, TrialError
from kselect.kernels import Points
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.nystrom import NystromColumns
from kselect.kernels.polynomial import Linear
from kselect.learners import LEARNERS, Problem
from kselect.learners import quadratic_svr_trainer as trainer
from kselect.learners.krr_lssvm import SquareLossPath
from kselect.learners.quadratic_svr import QuadraticSVRPath, quadratic_svr
from kselect.learners.quadratic_svr_trainer import Start, train
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array, Index

TUBES = st.sampled_from([0.0, 0.003, 0.1, 0.5, 1.0])
# Exponent of the smallest lam, for which 1e-10 is above the rounding error of every kernel drawn.
LOWEST = -3.0


def regression(n: int = 24, lams: Any = (0.003, 0.3, 0.03), seed: int = 0, **more: Any) -> Problem:
    """Return a curve with noise; the ridges are not sorted."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 2))
    y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.normal(size=n)
    return problem_of(Gaussian(0.5), X, y, lams, **more)


def folds_of(n: int = 24, k: int = 4, seed: int = 3, equal: bool = False) -> Folds:
    return numbered(np.random.default_rng(seed), n, k, equal)


def rounding(p: Problem, lam: float) -> float:
    """Return ``n eps cond`` of the linear systems, times the targets."""
    cond = 1.0 + oracles.norm(p.K) / (p.n * lam)
    return 10 * p.n * oracles.EPS * cond * float(np.abs(p.y).max())


def fits_into(y: Array, eps: float) -> bool:
    return eps > 0 and float(y.max() - y.min()) <= 2 * eps


@given(cases(labels=False, lowest=-8.0), TUBES)
def test_optimality_conditions(case: Case, eps: float) -> None:
    """``alpha_i = sgn(r_i) (|r_i| - eps)_+ / (n lam)`` and ``1^T alpha = 0``, in the units of y.

    lam is at least 1e-8: for smaller ridges the rounding of K alpha, eps |K| |y| / (n lam), is
    close to the 1e-6 above which the trainer reports an error.
    """
    p = case.problem
    path = quadratic_svr(p, eps=eps)
    fit = path.fit()
    for at, lam in enumerate(p.lams.tolist()):
        r = p.y - p.K @ fit.alpha[at] - fit.bias[at]
        excess = np.array([oracles_svr.first(a, eps) / 2 for a in r.tolist()])
        limit = 1e-10 + rounding(p, lam)
        assert np.abs(p.n * lam * fit.alpha[at] - excess).max() <= limit
        assert p.n * lam * abs(fit.alpha[at].sum()) <= limit
        assert np.abs(path.decision()[at] - (p.y - r)).max() <= limit


def test_optimality_conditions_to_1e_10() -> None:
    p = regression()
    for eps in (0.0, 0.1, 0.4):
        fit = quadratic_svr(p, eps=eps).fit()
        for at, lam in enumerate(p.lams.tolist()):
            r = p.y - fit.decision(at, p.K)
            excess = np.array([oracles_svr.first(a, eps) / 2 for a in r.tolist()])
            assert np.abs(fit.alpha[at] - excess / (p.n * lam)).max() <= 1e-10
            assert abs(fit.alpha[at].sum()) <= 1e-10


@given(cases(labels=False, lowest=LOWEST), TUBES)
def test_fit_is_the_minimum_that_scipy_finds(case: Case, eps: float) -> None:
    """The objective is that of the exact fit, and decisions are close to scipy's."""
    p = case.problem
    path = quadratic_svr(p, eps=eps)
    fit, w = path.fit(), np.full(p.n, 1 / p.n)
    for at, lam in enumerate(p.lams.tolist()):
        ours = oracles_svr.primal(p.K, p.y, lam, eps, w, fit.alpha[at], float(fit.bias[at]))
        f, b = oracles_svr.minimise(p.K, p.y, lam, eps, w)
        if fits_into(p.y, eps):
            assert ours == 0.0
            continue
        exact = oracles_svr.fit(p.K, p.y, lam, eps, w)
        lowest = oracles_svr.primal(p.K, p.y, lam, eps, w, *exact)
        assert abs(ours - lowest) <= 1e-12 + rounding(p, lam)
        assert np.abs(path.decision()[at] - p.K @ exact[0] - exact[1]).max() <= 1e-9
        assert np.abs(path.decision()[at] - f - b).max() <= 1e-4 * (1 + oracles.norm(p.K))


@pytest.mark.parametrize("eps", [0.0, 0.1, 0.5])
def test_the_objective_is_flat_at_the_fit(eps: float) -> None:
    """Central differences in every alpha and b vanish at the fit, but not next to it."""
    p = regression(10)
    fit, w, h = quadratic_svr(p, eps=eps).fit(), np.full(10, 0.1), 1e-5
    for at, lam in enumerate(p.lams.tolist()):
        x = np.append(fit.alpha[at], fit.bias[at])

        def slope(x: Array, i: int, lam: float = lam) -> float:
            up, down = x.copy(), x.copy()
            up[i] += h
            down[i] -= h
            values = [
                oracles_svr.primal(p.K, p.y, lam, eps, w, z[:-1], float(z[-1])) for z in (up, down)
            ]
            return (values[0] - values[1]) / (2 * h)

        assert max(abs(slope(x, i)) for i in range(11)) < 1e-9
        assert abs(slope(x + 0.1, 10)) > 1e-3


def test_the_start_and_the_order_of_ridges_change_nothing() -> None:
    p = regression(40, [1e-4, 1e-3, 1e-2, 0.1, 1.0])
    path = quadratic_svr(p, eps=0.2)
    rng = np.random.default_rng(1)
    for ridge, fit in enumerate(path.solutions):
        beta = 10 * rng.normal(size=40)
        wild = Start(p.K @ beta, 7.0, float(beta @ p.K @ beta))
        for start in (None, wild):
            alone = train(path.training_problem(ridge), start)
            assert np.abs(alone.decision - fit.decision).max() <= 1e-12
            assert (alone.zones == fit.zones).all()
    backwards = quadratic_svr(replace(p, lams=p.lams[::-1]), eps=0.2)
    assert np.abs(backwards.decision()[::-1] - path.decision()).max() <= 1e-12
    one = quadratic_svr(replace(p, lams=p.lams[[2]]), eps=0.2)
    assert np.abs(one.decision()[0] - path.decision()[2]).max() <= 1e-12
    assert np.abs(np.diff(path.decision(), axis=0)).max() > 1e-2


def test_few_steps_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Training takes about three steps, and one or two from a neighbouring ridge."""
    calls: list[int] = []
    step = trainer.newton_step

    def counted(*arguments: Any) -> Any:
        calls.append(1)
        return step(*arguments)

    monkeypatch.setattr(trainer, "newton_step", counted)
    path = quadratic_svr(regression(120, np.logspace(-4, 0, 12)))
    path.decision()
    assert len(calls) <= 4 * 12
    calls.clear()
    path.held_out(folds_of(120))
    assert len(calls) <= 4 * 4 * 12


def test_back_tracking_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Full Newton steps without back-tracking cycle on this problem."""
    rng = np.random.default_rng(12)
    X, y = rng.uniform(-2, 2, size=(12, 2)), rng.standard_t(1.5, size=12)
    p = problem_of(Gaussian(0.5), X, y, [1e-5])
    alpha, b = oracles_svr.fit(p.K, y, 1e-5, 0.5, np.full(12, 1 / 12))
    assert quadratic_svr(p, eps=0.5).decision()[0] == pytest.approx(p.K @ alpha + b, abs=1e-9)
    monkeypatch.setattr(trainer, "back_track", lambda task, at, fit: fit.start)
    task = quadratic_svr(p, eps=0.5).training_problem(0)
    assert not trainer.is_optimal(task, trainer.descend(task, trainer.middle(task)))


def test_a_tiny_ridge_is_reached_from_larger_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """If steps from the start do not converge, training goes through larger ridges."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, size=(120, 6))
    y = 1e3 * np.sin(3 * X[:, 0]) + 20 * rng.normal(size=120)
    path = quadratic_svr(problem_of(Gaussian(1.0), X, y, [1e-11]), eps=50.0)
    monkeypatch.setattr(trainer, "STEPS", 8)
    task = path.training_problem(0)
    start = trainer.middle(task)
    assert not trainer.is_optimal(task, trainer.descend(task, start))
    assert trainer.is_optimal(task, train(task))


def test_the_norm_between_two_functions() -> None:
    """``||(1 - t) f + t g||^2`` is computed from function values only."""
    p = regression()
    rng = np.random.default_rng(5)
    one, two = rng.normal(size=24), rng.normal(size=24)
    at = Start(p.K @ one, 1.0, float(one @ p.K @ one))
    fit = trainer.TubeSolution(two, 3.0, p.K @ two, np.ones(24))
    for t in (0.0, 0.25, 1.0):
        mixed = (1 - t) * one + t * two
        found = trainer.between(at, fit, t)
        assert found.square_norm == pytest.approx(float(mixed @ p.K @ mixed), rel=1e-12)
        assert found.values == pytest.approx(p.K @ mixed)
        assert found.b == pytest.approx(1 + 2 * t)


@settings(max_examples=30)
@given(cases(labels=False, lowest=LOWEST), TUBES)
def test_held_out_is_retraining(case: Case, eps: float) -> None:
    """Folds of any size in both ridge modes, and leave-one-out with the ridge n lam."""
    p = case.problem
    path = quadratic_svr(p, eps=eps)
    found, alone = path.held_out(case.folds), path.loo()
    for at, lam in enumerate(p.lams.tolist()):
        limit = 1e-9 + rounding(p, lam)
        slow = oracles_svr.held_out(p.K, p.y, case.folds.members, lam, eps, case.per_fold)
        assert np.abs(found[at] - slow).max() <= limit
        every = oracles.singletons(p.n)
        slow = oracles_svr.held_out(p.K, p.y, every, lam, eps, False)
        assert np.abs(alone[at] - slow).max() <= limit


@pytest.mark.parametrize("eps", [0.1, 0.5, 5.0])
@pytest.mark.parametrize("mode", ["fixed", "per-fold"])
def test_held_out_does_not_see_the_fold(eps: float, mode: Any) -> None:
    """New targets in a fold change other predictions only, also if the tube contains all."""
    p = regression(ridge=mode)
    folds = folds_of()
    base = quadratic_svr(p, eps=eps).held_out(folds)
    for F in folds.members:
        changed = p.y.copy()
        changed[F] = 3 - 20.0 * changed[F]
        held = quadratic_svr(replace(p, y=changed), eps=eps).held_out(folds)
        assert np.abs(held[:, F] - base[:, F]).max() <= 1e-11
        assert np.abs(held - base).max() > 1e-3


def test_ridge_modes_differ_for_folds_but_not_for_single_rows() -> None:
    fixed, per_fold = (quadratic_svr(regression(ridge=m)) for m in ("fixed", "per-fold"))
    assert np.abs(fixed.held_out(folds_of()) - per_fold.held_out(folds_of())).max() > 1e-3
    np.testing.assert_array_equal(fixed.loo(), per_fold.loo())


@settings(max_examples=30)
@given(cases(labels=False, lowest=LOWEST))
def test_without_a_tube_it_is_the_lssvm(case: Case) -> None:
    """With eps = 0 every result of the path is the LSSVM's."""
    p, folds = case.problem, case.folds
    path, square = quadratic_svr(p, eps=0.0), SquareLossPath(p, bias=True)
    limit = max(1e-10, *(10 * rounding(p, lam) for lam in p.lams.tolist()))
    pairs = [
        (path.decision(), square.decision()),
        (path.held_out(folds), square.held_out(folds)),
        (path.loo(), square.loo()),
        (path.bif(folds, 3), square.bif(folds, 3)),
        (path.rates(folds), square.rates(folds)),
        (path.fit().bias, square.fit().bias),
    ]
    for ours, theirs in pairs:
        assert np.abs(ours - theirs).max() <= limit
    for cap in (0.3, 0.6, 0.9, np.inf):
        if np.abs(path.rates(folds) - cap).min() > limit:
            np.testing.assert_array_equal(
                path.interpolating(folds, cap), square.interpolating(folds, cap)
            )


def test_a_target_on_the_fit_still_counts_without_a_tube() -> None:
    """At a residual of exactly zero V'' is 2 if eps is 0."""
    p = problem_of(Linear(), np.array([[-1.0], [0.0], [1.0]]), np.array([-1.0, 0.0, 1.0]), [0.1])
    folds = Folds.from_numbers(np.array([0, 1, 1]))
    path, square = quadratic_svr(p, eps=0.0), SquareLossPath(p, bias=True)
    assert path.solutions[0].zones.all()
    assert path.bif(folds, 4) == pytest.approx(square.bif(folds, 4), abs=1e-14)


def unambiguous(p: Problem, path: QuadraticSVRPath) -> bool:
    """Return whether no residual is on the edge of the tube, where V'' is undefined."""
    inside = fits_into(p.y, path.eps)
    edge = np.abs(np.abs(p.y - path.decision()) - path.eps).min()
    return inside or path.eps == 0 or bool(edge > 1e-8)


@given(cases(labels=False, lowest=LOWEST), TUBES, st.integers(0, 6))
def test_series_is_the_general_recursion(case: Case, eps: float, order: int) -> None:
    """Section 5's recursion with the inverse of L agrees to 1e-10 of the terms' size."""
    p = case.problem
    path = quadratic_svr(p, eps=eps)
    assume(unambiguous(p, path))
    found = path.bif(case.folds, order)
    for at, (lam, fit) in enumerate(zip(p.lams.tolist(), path.solutions, strict=True)):
        for F in case.folds.members:
            m = len(F)
            slow = oracles_svr.taylor(p.K, p.y, lam, eps, fit.values, fit.b, F, order)
            # For a fold of more than half of the rows, each term grows by m / (n - m).
            growth = max(1.0, m / (p.n - m)) ** order
            limit = (1e-10 + rounding(p, lam)) * growth
            assert np.abs(found[at, F] - slow[F]).max() <= limit


@pytest.mark.parametrize("eps", [0.05, 0.3])
def test_first_two_derivatives_are_those_of_reweighted_training(
    eps: float,
) -> None:
    """The series equals differences of training with weights ``(1 - e)/n + e 1_F/m``."""
    p, folds = regression(lams=[0.01, 0.1]), folds_of()
    path = quadratic_svr(p, eps=eps)
    series = [path.bif(folds, order) for order in range(3)]
    np.testing.assert_array_equal(series[0], path.decision())
    for at, lam in enumerate(p.lams.tolist()):
        for F in folds.members:
            e = -len(F) / (24 - len(F))

            def trained(step: float, F: Index = F, lam: float = lam) -> Array:
                w = oracles_svr.weights(24, F, step)
                alpha, b = oracles_svr.fit(p.K, p.y, lam, eps, w)
                return np.asarray(p.K[F] @ alpha + b)

            h = 1e-4
            up, at_zero, down = trained(h), trained(0.0), trained(-h)
            first = (series[1] - series[0])[at, F] / e
            second = (series[2] - series[1])[at, F] * 2 / e**2
            assert (up - down) / (2 * h) == pytest.approx(first, abs=1e-6)
            assert (up - 2 * at_zero + down) / h**2 == pytest.approx(second, abs=1e-5)
            assert np.abs(first).max() > 1e-2


@pytest.mark.parametrize("eps", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("mode", ["fixed", "per-fold"])
def test_the_limit_is_one_newton_step_with_the_zones_kept(eps: float, mode: Any) -> None:
    """The limit uses the fold's own ridge and is retraining only if no zone changes."""
    p, folds = regression(40, [0.02, 0.2], ridge=mode), folds_of(40, 5)
    path = quadratic_svr(p, eps=eps)
    limit = path.bif(folds, 300)
    for at, (lam, fit) in enumerate(zip(p.lams.tolist(), path.solutions, strict=True)):
        A = np.flatnonzero(fit.zones)
        for F in folds.members:
            rate = np.abs(np.linalg.eigvals(oracles_svr.operator(p.K, lam, A, F))).max()
            assert rate < 0.9
            step = oracles_svr.frozen(p.K, p.y, lam, eps, fit.zones, F)
            assert np.abs(limit[at, F] - step).max() <= 1e-9
    off = np.abs(limit - quadratic_svr(replace(p, ridge="per-fold"), eps=eps).held_out(folds))
    assert (off.max() <= 1e-9) == (eps == 0.0)


@given(cases(labels=False, lowest=LOWEST), TUBES)
def test_the_rate_bounds_the_operator(case: Case, eps: float) -> None:
    """Eigenvalues of ``S D`` are real, in ``[-m / (n - m), lambda_max(S_FF)]``."""
    p = case.problem
    path = quadratic_svr(p, eps=eps)
    rates = path.rates(case.folds)
    assert ((rates >= 0) & (rates <= 1 + 1e-9)).all()
    for at, (lam, fit) in enumerate(zip(p.lams.tolist(), path.solutions, strict=True)):
        A = np.flatnonzero(fit.zones)
        if not len(A):
            assert rates[at] == 0.0
            continue
        largest = 0.0
        for F in case.folds.members:
            T = oracles_svr.operator(p.K, lam, A, F)
            # T is not symmetric, so that multiple eigenvalues have only half of the digits.
            values = np.linalg.eigvals(T)
            assert np.abs(values.imag).max() <= 1e-5
            assert values.real.max() <= rates[at] + 1e-5
            assert values.real.min() >= -len(F) / (p.n - len(F)) - 1e-5
            on = np.flatnonzero(np.isin(A, F))
            if len(on):
                largest = max(largest, float(np.linalg.eigvalsh(T[np.ix_(on, on)])[-1]))
        assert abs(rates[at] - largest) <= 1e-8


def test_the_cap() -> None:
    """A rate equal to the cap reaches it, and no rate reaches infinity."""
    p = regression(lams=[1e-6, 1e-2, 1.0])
    path, folds = quadratic_svr(p), folds_of()
    rates = path.rates(folds)
    assert rates[0] > 0.9 > rates[2]
    for cap in [*rates.tolist(), 0.0, 0.9, 2.0, np.inf]:
        np.testing.assert_array_equal(path.interpolating(folds, cap), rates >= cap)
    other = folds_of(seed=11)
    assert np.abs(path.rates(other) - rates).max() > 1e-6


def test_orders_can_be_asked_in_any_order() -> None:
    """Cached orders of a series do not change later ones."""
    p, folds = regression(), folds_of()
    alone = [quadratic_svr(p).bif(folds, t) for t in range(8)]
    path = quadratic_svr(p)
    for t in (2, 0, 3, 7, 1, 6):
        np.testing.assert_array_equal(path.bif(folds, t), alone[t])
    first = path.bif(folds, 3)
    first[:] = 0.0
    np.testing.assert_array_equal(path.bif(folds, 3), alone[3])
    assert min(np.abs(a - b).max() for a, b in pairwise(alone)) > 1e-8


def test_all_targets_within_the_tube() -> None:
    """The fit is constant, in the middle of the range of the training rows."""
    p, folds = regression(), folds_of()
    path = quadratic_svr(p, eps=10.0)
    middle = (p.y.min() + p.y.max()) / 2
    assert (path.fit().alpha == 0).all()
    assert path.decision() == pytest.approx(np.full((3, 24), middle), abs=1e-14)
    np.testing.assert_array_equal(path.bif(folds, 5), path.decision())
    assert path.rates(folds).tolist() == [0, 0, 0]
    for F in folds.members:
        kept = np.delete(p.y, F)
        assert path.held_out(folds)[:, F] == pytest.approx((kept.min() + kept.max()) / 2)


def test_the_bias_is_continuous_in_eps() -> None:
    """b is continuous where the last residual leaves the tube."""
    p = regression()
    half = float(np.ptp(p.y)) / 2
    just, not_yet = (quadratic_svr(p, eps=half * f).decision() for f in (1 - 1e-9, 1 + 1e-9))
    assert just == pytest.approx(not_yet, abs=1e-8)


def test_eps_matters_and_is_a_tenth_by_default() -> None:
    p, folds = regression(), folds_of()
    default = quadratic_svr(p)
    same, other = quadratic_svr(p, eps=0.1), quadratic_svr(p, eps=0.2)
    for ask in ("decision", "loo"):
        np.testing.assert_array_equal(getattr(default, ask)(), getattr(same, ask)())
        assert np.abs(getattr(default, ask)() - getattr(other, ask)()).max() > 1e-3
    assert np.abs(default.bif(folds, 2) - other.bif(folds, 2)).max() > 1e-3
    assert np.abs(default.held_out(folds) - other.held_out(folds)).max() > 1e-3
    assert np.abs(default.rates(folds) - other.rates(folds)).max() > 1e-4


def test_units() -> None:
    """Targets and eps in another unit, or shifted, rescale the predictions."""
    p, folds = regression(), folds_of()
    base = quadratic_svr(p, eps=0.1)
    for unit, shift in ((1e-5, 0.0), (1e4, 0.0), (1.0, 50.0)):
        other = quadratic_svr(replace(p, y=unit * p.y + shift), eps=unit * 0.1)
        for ask in (
            lambda path: path.decision(),
            lambda path: path.held_out(folds),
            lambda path: path.bif(folds, 3),
        ):
            assert (ask(other) - shift) / unit == pytest.approx(ask(base), abs=1e-11)


@pytest.mark.parametrize("eps", [0.0, 0.1])
def test_duplicated_rows(eps: float) -> None:
    """Rows given twice, both in one fold, have the same predictions as once."""
    p = regression(12, [0.01, 0.1])
    twice = np.repeat(np.arange(12), 2)
    double = problem_of(p.kernel, p.X[twice], p.y[twice], p.lams)
    numbers = np.arange(12) % 3
    one, two = Folds.from_numbers(numbers), Folds.from_numbers(numbers[twice])
    path, other = quadratic_svr(p, eps=eps), quadratic_svr(double, eps=eps)
    assert other.decision()[:, ::2] == pytest.approx(path.decision(), abs=1e-11)
    assert other.held_out(two)[:, ::2] == pytest.approx(path.held_out(one), abs=1e-11)
    assert other.bif(two, 4)[:, 1::2] == pytest.approx(path.bif(one, 4), abs=1e-11)


@pytest.mark.parametrize("eps", [0.0, 0.1, 3.0])
def test_two_rows(eps: float) -> None:
    """alpha is (d, -d), and each row is predicted by the other."""
    X, y = np.array([[0.0], [1.0]]), np.array([1.0, -2.0])
    p = problem_of(Linear(), X, y, [0.25])
    path = quadratic_svr(p, eps=eps)
    # K = diag(0, 1): f = (0, -d), and the difference of both rows gives d (1 + 2 * 2 * 0.25) = 3 - 2 eps.
    d = max(0.0, 3 - 2 * eps) / 2
    assert path.fit().alpha[0] == pytest.approx([d, -d], abs=1e-14)
    both = Folds.from_numbers(np.array([0, 1]))
    assert path.held_out(both)[0] == pytest.approx([-2.0, 1.0], abs=1e-12)
    assert path.loo()[0] == pytest.approx([-2.0, 1.0], abs=1e-12)
    assert np.isfinite(path.bif(both, 3)).all()


@pytest.mark.parametrize("kind", ["equal rows", "rank one"])
@pytest.mark.parametrize("lam", [1e-300, 1e-100, 1e-30, 1e-16, 1e-10, 1e-5, 1.0])
@pytest.mark.parametrize("eps", [0.0, 0.1])
def test_singular_kernel(kind: str, lam: float, eps: float) -> None:
    """The result is finite or a TrialError with kernel and ridge, without a warning."""
    rng = np.random.default_rng(7)
    X = np.ones((9, 2)) if kind == "equal rows" else rng.normal(size=(9, 1))
    p = problem_of(Linear(), X, rng.normal(size=9), [lam])
    folds = folds_of(9, 3)
    path = quadratic_svr(p, eps=eps)
    trouble, found = "", np.zeros((1, 9))
    try:
        found = np.hstack([path.decision(), path.held_out(folds), path.bif(folds, 3), path.loo()])
    except TrialError as error:
        trouble = str(error)
    assert not trouble or (lam < 1e-12 and trouble.endswith(f"linear lam={lam:g}"))
    assert np.isfinite(found).all()
    if kind == "equal rows" and eps == 0 and not trouble:
        assert found[0, :9] == pytest.approx(np.full(9, p.y.mean()), abs=1e-6)


def test_no_ridge_is_an_error() -> None:
    path = quadratic_svr(regression(lams=[0.1, 0.0]))
    with pytest.raises(TrialError, match=r"needs a ridge: gaussian tau=0.5 lam=0"):
        path.fit()


def test_not_converging_is_an_error_with_kernel_and_ridge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trainer, "STEPS", 1)
    monkeypatch.setattr(trainer, "DETOUR", np.ones(1))
    with pytest.raises(TrialError, match=r"Newton .* left a residual .*: gaussian tau=0.5 lam=0.3"):
        quadratic_svr(regression()).decision()


@pytest.mark.parametrize("eps", [-0.1, float("nan")])
def test_invalid_eps_is_refused(eps: float) -> None:
    with pytest.raises(ConfigError, match="eps must not be negative"):
        quadratic_svr(regression(), eps=eps)


def test_nystrom_columns_are_refused() -> None:
    columns = NystromColumns(np.ones((24, 1)), np.ones((1, 1)))
    with pytest.raises(ConfigError, match="does not work with Nystrom columns"):
        LEARNERS["quadratic-svr"].path(replace(regression(), columns=columns))


def test_registered_for_regression_with_its_parameter() -> None:
    found = LEARNERS["quadratic-svr"]
    assert found.tasks == {"regression"}
    assert [(p.name, p.default) for p in found.parameters] == [("eps", 0.1)]


def test_another_target_keeps_the_kernel_and_eps() -> None:
    p, folds = regression(), folds_of()
    path = quadratic_svr(p, eps=0.2)
    other = p.y[::-1].copy()
    moved = quadratic_svr(p.changed(y=other), eps=0.2)
    fresh = quadratic_svr(replace(p, y=other), eps=0.2)
    np.testing.assert_array_equal(moved.held_out(folds), fresh.held_out(folds))
    np.testing.assert_array_equal(moved.decision(), fresh.decision())
    assert moved.problem.matrix is path.problem.matrix
    assert np.abs(moved.decision() - path.decision()).max() > 1e-3


def test_results_are_cached() -> None:
    path, folds = quadratic_svr(regression()), folds_of()
    assert path.held_out(folds) is path.held_out(folds)
    assert path.rates(folds) is path.rates(folds)
    assert np.abs(path.held_out(folds) - path.held_out(folds_of(seed=9))).max() > 0
    assert path.loo() is path.loo()


@pytest.mark.parametrize("exponent", range(-11, 1))
def test_equal_rows_with_other_targets(exponent: int) -> None:
    """Coefficients of equal rows grow as one over the ridge and cancel."""
    X = np.array([[0.126, -0.132], [0.640, 0.105], [-0.536, 0.362], [0.126, -0.132]])
    y = np.array([-0.704, -1.265, -0.623, 0.041])
    kernel, lam = Gaussian(1.0), 10.0**exponent
    p = Problem(X, y, kernel, kernel.gram(Points(X)), np.array([lam]))
    fit = quadratic_svr(p, eps=0.003).fit()
    r = y - fit.decision(0, p.K)
    excess = np.sign(r) * np.maximum(np.abs(r) - 0.003, 0.0)
    assert np.abs(4 * lam * fit.alpha[0] - excess).max() <= 1e-10 + rounding(p, lam)
