"""k-FBIF, k-BIF, GCV and k-Newton against their definitions."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import oracles
import oracles_rounding as exactly
import oracles_smooth_hinge as slow
import pytest
from hypothesis import given
from problems import Case, cases, numbered, problem_of, rows

from kselect.criteria.cross_validation import cross_validation
from kselect.criteria.shortcuts import (
    NO_MARGIN,
    fast_cross_validation,
    first_order_cross_validation,
    generalised_cross_validation,
    newton_cross_validation,
)
from kselect.errors import TrialError
from kselect.kernels import Points
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.nystrom import nystrom_columns
from kselect.kernels.polynomial import Polynomial
from kselect.learners import LEARNERS, Problem
from kselect.learners.krr_lssvm import SquareLossPath
from kselect.learners.primal import PrimalPath
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array

FOLDS = numbered(np.random.default_rng(3), 18, 4, False)
LOSSES = [("krr", "squared"), ("krr", "zero-one"), ("smooth-hinge", "hinge")]


def problem(tau: float = 2.0, **more: Any) -> Problem:
    X, y = rows(18)
    order = np.random.default_rng(1).permutation(18)
    return problem_of(Gaussian(tau), X, y, (0.05, 0.2), order=order, **more)


def oracle(p: Problem, f: Array, lam: float, learner: str, c: int, rhs: str) -> Array:
    """Return first-order predictions by the definitions: Lt with ``C W^+ C^T``, inverted as a whole."""
    assert p.order is not None
    Kt = slow.nystrom(p.K, np.sort(p.order[:c]))
    u, v = (2 * (p.y - f), np.full(18, 2.0)) if learner == "krr" else slow.slopes(p.y, f, 0.05)
    inverse = np.linalg.inv(slow.operator(Kt, v, lam))
    out = np.empty(18)
    for F in FOLDS.members:
        right = p.K if rhs == "exact" else Kt
        out[F] = slow.recursion(right, inverse, f, u, v, lam, F, 1)[F]
    return out


@pytest.mark.parametrize("rhs", ["exact", "nystrom"])
@pytest.mark.parametrize(("learner", "loss"), LOSSES)
def test_definition(learner: str, loss: Any, rhs: Any) -> None:
    """The score is the mean over points, or over folds if requested."""
    p = problem()
    path: Any = LEARNERS[learner].path(p)
    points = fast_cross_validation(path, FOLDS, c=4 / 18, rhs=rhs, loss=loss)
    folds = fast_cross_validation(path, FOLDS, c=4 / 18, rhs=rhs, loss=loss, average="folds")
    for i, lam in enumerate(p.lams.tolist()):
        held = oracle(p, path.decision()[i], lam, learner, 4, rhs)
        values = np.array([oracles.loss(loss, a, b) for a, b in zip(p.y, held, strict=True)])
        assert points[i] == pytest.approx(values.mean(), rel=1e-9)
        means = [values[F].mean() for F in FOLDS.members]
        assert folds[i] == pytest.approx(np.mean(means), rel=1e-9)


class GivenPredictions:
    """A path with given predictions."""

    def __init__(self, held: Array) -> None:
        self.held, self.problem = held, problem()

    def fbif(self, folds: Folds, *, c: float, order: int, rhs: str, operator: str) -> Array:
        return self.held


def test_a_vanishing_margin_counts_as_wrong() -> None:
    """A decision that is only rounding error counts as wrong, whatever its sign; a small margin does not."""
    y = problem().y
    held = np.stack([y * NO_MARGIN, y * 2 * NO_MARGIN])
    path: Any = GivenPredictions(held)
    assert list(fast_cross_validation(path, FOLDS, loss="zero-one")) == [1.0, 0.0]
    np.testing.assert_array_equal(path.held, held)


@pytest.mark.parametrize("value", [-np.inf, -1e200])
def test_exploding_predictions_score_infinity(value: float) -> None:
    """Exploding predictions give an infinite score, which is never chosen, without NaN, warning or error."""
    held = np.zeros((1, 18))
    held[0, 3] = value * problem().y[3]
    path: Any = GivenPredictions(held)
    assert np.isposinf(fast_cross_validation(path, FOLDS))[0]
    assert fast_cross_validation(path, FOLDS, loss="hinge")[0] > 1e100
    assert fast_cross_validation(path, FOLDS, loss="zero-one")[0] == 1.0


def test_columns_are_drawn_in_the_problems_order() -> None:
    """Columns are drawn in the problem's order: another order gives another score; too many columns are refused."""
    p = problem()
    assert p.order is not None
    one, two = (LEARNERS["krr"].path(replace(p, order=o)) for o in (p.order, p.order[::-1]))
    scores: Any = [fast_cross_validation(path, FOLDS) for path in (one, two)]  # type: ignore[arg-type]
    assert np.abs(scores[0] - scores[1]).max() > 1e-6
    with pytest.raises(TrialError, match="at most 1"):
        fast_cross_validation(one, FOLDS, c=3.0)  # type: ignore[arg-type]


FOLDS_FIRST = numbered(np.random.default_rng(3), 18, 4, False)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(("learner", "loss"), [("krr", "squared"), ("smooth-hinge", "hinge")])
def test_definition_first(learner: str, loss: Any, order: int) -> None:
    """The score is the mean loss of ``f + eps B`` over points, or over folds; the order has an effect."""
    X, y = rows(18)
    p = problem_of(Gaussian(2.0), X, y, (0.05, 0.2))
    path: Any = LEARNERS[learner].path(p)
    points = first_order_cross_validation(path, FOLDS_FIRST, loss=loss, order=order)
    folds = first_order_cross_validation(path, FOLDS_FIRST, loss=loss, order=order, average="folds")
    for i, lam in enumerate(p.lams.tolist()):
        f, held = path.decision()[i], np.empty(18)
        u, v = (2 * (y - f), np.full(18, 2.0)) if learner == "krr" else slow.slopes(y, f, 0.05)
        inverse = np.linalg.inv(slow.operator(p.K, v, lam))
        for F in FOLDS_FIRST.members:
            held[F] = slow.recursion(p.K, inverse, f, u, v, lam, F, order)[F]
        values = np.array([oracles.loss(loss, a, b) for a, b in zip(y, held, strict=True)])
        assert points[i] == pytest.approx(values.mean(), rel=1e-9)
        assert folds[i] == pytest.approx(np.mean([values[F].mean() for F in FOLDS_FIRST.members]))


def test_it_has_no_guard() -> None:
    """Near K = I the score is close to the training error: as in the paper, there is no guard."""
    X, y = rows(18)
    path: Any = LEARNERS["krr"].path(problem_of(Gaussian(1e-4), X, y, (1e-6,)))
    assert first_order_cross_validation(path, FOLDS_FIRST)[0] < 1e-6


def oracle_gcv(case: Case, lam: float) -> float:
    """Return GCV by its definition, with S column by column from the fitted values of unit vectors."""
    p = case.problem
    columns = [
        oracles.predict(p.K, *oracles.fit(p.K, unit, p.n * lam, case.bias)) for unit in np.eye(p.n)
    ]
    S = np.array(columns).T
    return float(np.mean((p.y - S @ p.y) ** 2) / (1 - np.trace(S) / p.n) ** 2)


@given(cases(lowest=-5.0))
def test_definition_gcv(case: Case) -> None:
    """GCV agrees with its definition up to the conditioning of the residuals and of 1 - tr(S)/n."""
    found = generalised_cross_validation(case.path())  # type: ignore[arg-type]
    for score, lam in zip(found, case.problem.lams, strict=True):
        bound = oracles.fit_bound(case.problem.K, case.problem.y, case.problem.n * lam, case.bias)[
            1
        ]
        assert score == pytest.approx(oracle_gcv(case, lam), rel=1e-9, abs=1e3 * bound)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("lam", [1e-300, 1e-30, 1e-16, 1e-12, 1e100])
def test_an_interpolating_fit_keeps_its_score(lam: float, bias: bool) -> None:
    """Where ``y - S y`` and ``1 - tr(S)/n`` are zero to rounding, their ratio is still right, without rounding."""
    X, y = rows(9)
    p = problem_of(Gaussian(0.3), X, y, [lam])
    unit = [[Fraction(int(i == j)) for j in range(9)] for i in range(9)] + [[Fraction()] * 9] * bias
    whole = exactly.system(exactly.exactly(p.K), range(9), Fraction(9 * lam), bias)
    P = exactly.solve(whole, unit)[:9]
    alpha = exactly.apply(P, [Fraction(v) for v in y.tolist()])
    freedom = sum((P[i][i] for i in range(9)), Fraction()) / 9
    want = sum((a * a for a in alpha), Fraction()) / 9 / freedom**2
    found = generalised_cross_validation(SquareLossPath(p, bias=bias))[0]
    assert found == pytest.approx(float(want), rel=1e-12)


@pytest.mark.parametrize("bias", [False, True])
def test_a_ridge_that_rounding_hides_is_excluded(bias: bool) -> None:
    """The condition number of a singular kernel matrix leaves no digits, so that noise would choose the ridge."""
    X, y = rows(18)
    for lam, hidden in ((1e-16, True), (1e-14, True), (1e-9, False)):
        path = SquareLossPath(problem_of(Polynomial(2), X, y, [lam]), bias=bias)
        with pytest.raises(TrialError, match="rounding") if hidden else nullcontext():
            generalised_cross_validation(path)
    columns = nystrom_columns(Gaussian(2.0), Points(X), np.arange(18))
    few = problem_of(Gaussian(2.0), X, np.ones(18), [1e-6], columns=columns)
    with pytest.raises(TrialError, match="rounding hides"):  # the bias explains every target
        generalised_cross_validation(PrimalPath(few, bias=True))


FOLDS_NEWTON = numbered(np.random.default_rng(3), 18, 4, False)


@pytest.mark.parametrize("ridge", ["per-fold", "fixed"])
def test_definition_newton(ridge: Any) -> None:
    """k-Newton is the hinge loss after the step, averaged over points and over folds."""
    X, y = rows(18)
    p = problem_of(Gaussian(2.0), X, y, (0.05, 0.2), ridge=ridge)
    path: Any = LEARNERS.find("smooth-hinge").path(p)
    points = newton_cross_validation(path, FOLDS_NEWTON, loss="hinge")
    folds = newton_cross_validation(path, FOLDS_NEWTON, loss="hinge", average="folds")
    for i, lam in enumerate(p.lams.tolist()):
        held, f = np.empty(18), path.decision()[i]
        for F in FOLDS_NEWTON.members:
            held[F] = slow.frozen(p.K, y, f, lam, 0.05, F, ridge == "per-fold")[F]
        values = np.array([oracles.loss("hinge", a, b) for a, b in zip(y, held, strict=True)])
        assert points[i] == pytest.approx(values.mean(), rel=1e-8)
        assert folds[i] == pytest.approx(np.mean([values[F].mean() for F in FOLDS_NEWTON.members]))


@pytest.mark.parametrize("ridge", ["per-fold", "fixed"])
def test_newton_is_exact_for_the_square_loss(ridge: Any) -> None:
    """For the square loss, k-Newton is k-CV."""
    X, y = rows(18)
    path: Any = LEARNERS["krr"].path(problem_of(Gaussian(2.0), X, y, ridge=ridge))
    np.testing.assert_array_equal(
        newton_cross_validation(path, FOLDS_NEWTON), cross_validation(path, FOLDS_NEWTON)
    )
