"""Predictions below the rounding error of y equal exact arithmetic, for every learner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import oracles
import oracles_rounding as exact
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import numbered, problem_of
from sklearn.kernel_ridge import KernelRidge

import kselect.learners.tiny_predictions as tiny
from kselect.criteria import CRITERIA
from kselect.kernels import Points
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.nystrom import nystrom_columns
from kselect.learners import LEARNERS, Path, Problem
from kselect.learners.quadratic_svr import QuadraticSVRPath
from kselect.learners.tiny_predictions import (
    EPS,
    SMALL,
    Fitted,
    Sums,
    bias,
    closed_form_rounding,
    doubtful,
    in_blocks,
    in_parts,
    products,
    put,
    row_by_row,
    sums_of_others,
)
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array

BOTH = pytest.mark.parametrize("learner", ["krr", "lssvm"])
SEEDS = st.integers(0, 2**32 - 1)
# Pairs of neighbours far from all other rows, where closed forms lose every sign.
PAIRS: Array = np.array([0.0, 1, 10, 11, 20, 21, 30, 31])[:, None]
LABELS = np.array([1.0, 1, -1, -1, 1, 1, -1, -1])
HALVES = Folds.from_numbers(np.arange(8) % 2)


@dataclass(frozen=True)
class Small:
    """A problem with predictions near rounding error, with one ridge and folds."""

    problem: Problem
    folds: Folds

    @property
    def gamma(self) -> float:
        """Return ``n lam``."""
        return float(self.problem.n * self.problem.lams[0])

    @property
    def gammas(self) -> list[float]:
        """Return the ridge of each fold."""
        n, lam = self.problem.n, float(self.problem.lams[0])
        per_fold = self.problem.ridge == "per-fold"
        return [(n - len(F) * per_fold) * lam for F in self.folds.members]


@st.composite
def small(draw: st.DrawFn, most: int = 8) -> Small:
    """Draw kernels from I to 1 1^T, ridges from 1e-12 to 1e18, and rows often equal or in pairs."""
    rng = np.random.default_rng(draw(SEEDS))
    n = draw(st.integers(4, most))
    kind = draw(st.sampled_from(["normal", "whole", "pairs"]))
    X = {
        "normal": rng.normal(size=n),
        "whole": rng.integers(-4, 5, size=n).astype(np.float64),
        "pairs": 10.0 * (rng.permutation(n) // 2) + rng.integers(0, 2, size=n),
    }[kind][:, None]
    y = rng.permutation(np.where(np.arange(n) % 2 == 0, 1.0, -1.0))
    if draw(st.booleans()):
        y = rng.choice([-1.0, 1.0], size=n)
    gaps = np.abs(X - X.T)[np.abs(X - X.T) > 0]
    near = float(gaps.min(initial=1.0)) ** 2 if len(gaps) else 1.0
    kernel = Gaussian(near / (2 * 10.0 ** draw(st.floats(-2, 2.44))))
    ridge = draw(st.sampled_from(["fixed", "per-fold"]))
    folds = numbered(rng, n, draw(st.integers(2, n)), draw(st.booleans()))
    lam = 10.0 ** draw(st.floats(-12, 18))
    return Small(problem_of(kernel, X, y, [lam], ridge=ridge), folds)


@BOTH
@given(small())
def test_signs_of_retraining(learner: str, case: Small) -> None:
    """Held-out signs are exact in both ridge modes."""
    p = case.problem
    found = LEARNERS[learner].path(p).held_out(case.folds)[0]
    bias = learner == "lssvm"
    truth = exact.held_out(p.K, p.y, case.folds.members, case.gammas, bias, False)
    assert not exact.beyond(p.y, found, *truth).any()


@BOTH
@given(small())
def test_signs_of_leave_one_out(learner: str, case: Small) -> None:
    """Leave-one-out signs are exact for every row."""
    p = case.problem
    singles = oracles.singletons(p.n)
    found = LEARNERS[learner].path(p).loo()[0]
    truth = exact.held_out(p.K, p.y, singles, [case.gamma] * p.n, learner == "lssvm", False)
    assert not exact.beyond(p.y, found, *truth).any()


@BOTH
@given(small())
def test_signs_of_the_fit(learner: str, case: Small) -> None:
    """Signs on the training rows are exact, by ``decision`` and by the fit."""
    p, path = case.problem, LEARNERS[learner].path(case.problem)
    truth = exact.fitted(p.K, p.y, case.gamma, learner == "lssvm", False)
    assert not exact.beyond(p.y, path.decision()[0], *truth).any()
    assert not exact.beyond(p.y, path.fit().decision(0, p.K), *truth).any()


@BOTH
@given(small(6), st.sampled_from([0, 1, 3]))
def test_signs_of_the_series(learner: str, case: Small, order: int) -> None:
    """Signs of BIF are exact at every order; at ``K = I`` it is ``y / (1 + gamma)^(order + 1)``."""
    p = case.problem
    found = LEARNERS[learner].path(p).bif(case.folds, order)[0]
    truth = exact.series(p.K, p.y, case.folds.members, case.gamma, learner == "lssvm", order)
    assert not exact.beyond(p.y, found, *truth).any()


@pytest.mark.parametrize("order", [1, 3])
def test_rounding_of_one_order_does_not_set_the_next_sign(order: int) -> None:
    """Equal rows with opposite labels cancel, and the far row decides the sign."""
    X = np.array([[-0.4, 0.0], [-0.3, -1.0], [0.0, -2.4], [0.56, -0.16], [-0.4, 0.0]])
    y, folds = np.array([-1.0, -1.0, 1.0, 1.0, 1.0]), Folds.from_numbers(np.array([1, 0, 0, 0, 1]))
    p = problem_of(Gaussian(0.0076), X, y, [81.79], ridge="fixed")
    found = LEARNERS["krr"].path(p).bif(folds, order)[0]
    truth, _ = exact.series(p.K, y, folds.members, 5 * 81.79, False, order)
    assert not exact.beyond(y, found, truth, np.zeros(5)).any()


@given(small())
def test_signs_of_the_svr_without_a_tube(case: Small) -> None:
    """With eps = 0 the SVR is the LSSVM, and its signs are exact."""
    p, singles = case.problem, oracles.singletons(case.problem.n)
    if case.gamma < 1e-6:  # below the SVR trainer's own limit
        return
    path = QuadraticSVRPath(p, eps=0.0)
    truth = exact.held_out(p.K, p.y, case.folds.members, case.gammas, True, False)
    assert not exact.beyond(p.y, path.held_out(case.folds)[0], *truth).any()
    truth = exact.held_out(p.K, p.y, singles, [case.gamma] * p.n, True, False)
    assert not exact.beyond(p.y, path.loo()[0], *truth).any()


@BOTH
@settings(max_examples=30)
@given(small(), SEEDS)
def test_signs_on_columns(learner: str, case: Small, seed: int) -> None:
    """Signs are exact for ``V V^T``, up to the rounding of a whole row."""
    p, rng = case.problem, np.random.default_rng(seed)
    marks = np.sort(rng.permutation(p.n)[: rng.integers(2, p.n)])
    columns = nystrom_columns(p.kernel, Points(p.X, p.X[marks]), marks)
    thin = Problem(p.X, p.y, p.kernel, np.empty((0, 0)), p.lams, p.ridge, columns)
    path, bias, V = LEARNERS[learner].path(thin), learner == "lssvm", columns.V
    if case.gamma < 1e-9 * np.linalg.norm(V, 2) ** 2:  # Smaller ridges are refused.
        return
    truth = exact.held_out(V, p.y, case.folds.members, case.gammas, bias, True)
    assert not exact.beyond(p.y, path.held_out(case.folds)[0], *truth).any()
    singles = oracles.singletons(p.n)
    truth = exact.held_out(V, p.y, singles, [case.gamma] * p.n, bias, True)
    assert not exact.beyond(p.y, path.loo()[0], *truth).any()
    truth = exact.fitted(V, p.y, case.gamma, bias, True)
    assert not exact.beyond(p.y, path.decision()[0], *truth).any()


def pairs(learner: str, lams: Any = (0.1,), **more: Any) -> Path:
    """Return the path of the pairs, with a kernel value of ``exp(-50)`` between neighbours."""
    return LEARNERS[learner].path(problem_of(Gaussian(0.01), PAIRS, LABELS, lams, **more))


@BOTH
@pytest.mark.parametrize("lam", [1e-9, 0.1, 1e9, 1e20])
@pytest.mark.parametrize("ridge", ["fixed", "per-fold"])
def test_neighbours_vote(learner: str, lam: float, ridge: Any) -> None:
    """Each row is predicted by its neighbour in the other fold, so that no sign is wrong."""
    path = pairs(learner, [lam], ridge=ridge)
    for name in ("k-CV", "k-KS"):
        score = CRITERIA[name].function(path, HALVES, loss="zero-one")
        penalty = CRITERIA[name].function(path, HALVES, loss="squared") - np.mean(
            np.square(LABELS - path.held_out(HALVES))
        )
        assert score - penalty == pytest.approx(0.0, abs=1e-12)
    gamma = lam * (8 if ridge == "fixed" else 4)
    expected = np.exp(-50.0) / (1.0 + gamma) * LABELS
    assert path.held_out(HALVES)[0] == pytest.approx(expected, rel=1e-12, abs=0.0)


def test_predictions_are_scikit_learns() -> None:
    """Retraining ``KernelRidge`` for each fold and each row gives the same predictions."""
    path = pairs("krr")
    for folds, found in (
        (HALVES.members, path.held_out(HALVES)[0]),
        (oracles.singletons(8), path.loo()[0]),
    ):
        expected = np.empty(8)
        for F in folds:
            T = oracles.without(F, 8)
            model = KernelRidge(alpha=0.8, kernel="rbf", gamma=50.0).fit(PAIRS[T], LABELS[T])
            expected[F] = model.predict(PAIRS[F])
        assert found == pytest.approx(expected, rel=1e-12, abs=0.0)
    assert CRITERIA["ELOO"].function(path, form="error") == 0.0


@BOTH
@pytest.mark.parametrize("order", [0, 1, 2, 5])
def test_the_series_falls_from_order_to_order(learner: str, order: int) -> None:
    """Without neighbours the prediction is ``y / (1 + gamma)^(order + 1)``, here with 1e9."""
    apart = 100.0 * np.arange(8.0)[:, None]
    p = problem_of(Gaussian(0.01), apart, LABELS, [1e9 / 8])
    balanced = Folds.from_numbers(np.array([0, 1, 0, 1, 0, 1, 0, 1]))
    found = LEARNERS[learner].path(p).bif(balanced, order)[0]
    expected = LABELS / (1.0 + 1e9) ** (order + 1)
    assert found == pytest.approx(expected, rel=1e-6, abs=0.0)


def test_without_any_neighbour_the_prediction_is_zero() -> None:
    """If the kernel underflows or votes cancel, the prediction is 0 and counts as wrong."""
    apart = 100.0 * np.arange(8.0)[:, None]
    path = LEARNERS["krr"].path(problem_of(Gaussian(0.01), apart, LABELS, [0.1, 1e9]))
    assert (path.loo() == 0).all()
    assert (path.held_out(HALVES) == 0).all()
    assert (CRITERIA["ELOO"].function(path, form="error") == 1).all()
    X, y = np.array([[0.0], *[[1.0]] * 6, [50.0]]), np.array([1.0, 1, -1, 1, -1, 1, -1, 1])
    tied = LEARNERS["krr"].path(problem_of(Gaussian(0.01), X, y, 10.0 ** np.arange(-2, 7)))
    assert (tied.loo()[:, 0] == 0.0).all()


# Without a positive row, or without the last fold, the labels are balanced.
ODD: Array = np.array([0.0, 1.0, 1.5, 3.0, 4.2, 6.0, 6.1])[:, None]
ODD_LABELS = np.array([1.0, -1, 1, -1, 1, -1, 1])
THREE = Folds.from_numbers(np.array([0, 0, 1, 1, 2, 2, 2]))
# A ridge far above the kernel, or a kernel of at most exp(-50).
EDGES = pytest.mark.parametrize(("tau", "lam"), [(2.0, 1e15), (2.0, 1e30), (0.0001, 0.1)])


def near(found: Array, truth: tuple[list[Fraction], Array]) -> bool:
    """Return whether tiny predictions agree to ten digits and the others to 1e-14."""
    expected = np.array([float(h) for h in truth[0]])
    off = np.abs(found - expected)
    return bool((off <= np.where(np.abs(expected) < 1e-14, 1e-10 * np.abs(expected), 1e-14)).all())


@EDGES
@pytest.mark.parametrize("learner", ["krr", "lssvm", "quadratic-svr"])
def test_small_predictions_have_ten_digits(learner: str, tau: float, lam: float) -> None:
    """Not only signs but digits are right, although the bias is as small as the rest."""
    p, gamma, singles = problem_of(Gaussian(tau), ODD, ODD_LABELS, [lam]), 7 * lam, [7 * lam] * 7
    options = {"eps": 0.0} if learner == "quadratic-svr" else {}
    path, bias = LEARNERS[learner].path(p, **options), learner != "krr"
    K, y, every = p.K, p.y, oracles.singletons(7)
    assert near(path.loo()[0], exact.held_out(K, y, every, singles, bias, False))
    folds = THREE.members
    assert near(path.held_out(THREE)[0], exact.held_out(K, y, folds, [gamma] * 3, bias, False))
    for order in (0, 1, 3) if learner != "quadratic-svr" else ():
        assert near(path.bif(THREE, order)[0], exact.series(K, y, folds, gamma, bias, order))


@BOTH
@pytest.mark.parametrize("lam", [1e15, 1e30])
def test_small_predictions_have_ten_digits_on_columns(learner: str, lam: float) -> None:
    """On Nystrom columns the digits are right, too."""
    kernel, marks, bias = Gaussian(2.0), np.array([1, 3, 6]), learner == "lssvm"
    columns = nystrom_columns(kernel, Points(ODD, ODD[marks]), marks)
    empty = np.empty((0, 0))
    p = Problem(ODD, ODD_LABELS, kernel, empty, np.array([lam]), "fixed", columns)
    path, V, folds, gamma = LEARNERS[learner].path(p), columns.V, THREE.members, 7 * lam
    every = oracles.singletons(7)
    assert near(path.loo()[0], exact.held_out(V, p.y, every, [gamma] * 7, bias, True))
    assert near(path.held_out(THREE)[0], exact.held_out(V, p.y, folds, [gamma] * 3, bias, True))
    assert near(path.decision()[0], exact.fitted(V, p.y, gamma, bias, True))
    whole = np.array([[float(v) for v in row] for row in exact.outer(V)])
    for order in (0, 1, 3):
        truth = exact.series(whole, p.y, folds, gamma, bias, order)
        assert near(path.bif(THREE, order)[0], truth)


def surface(n: int, learner: str, ask: Callable[[Path], Array]) -> Array:
    """Return signs over the default grid of ``kselect select``, one path per width."""
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(n, 12)), np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    taus, lams = 2.0 ** np.arange(-6, 9, 2), 10.0 ** np.arange(-7, 2)
    paths = (LEARNERS[learner].path(problem_of(Gaussian(t), X, y, lams)) for t in taus)
    return np.array([np.sign(ask(path)) for path in paths])


@BOTH
@pytest.mark.parametrize("form", ["k-CV", "ELOO"])
def test_the_default_grid(learner: str, form: str) -> None:
    """On the default grid every sign is that of retraining."""
    n, folds = 40, numbered(np.random.default_rng(1), 40, 5, True)
    members = folds.members if form == "k-CV" else oracles.singletons(n)

    def naive(path: Path) -> Array:
        p = path.problem
        return np.array(
            [oracles.held_out(p.K, p.y, members, v, learner == "lssvm", False) for v in p.lams]
        )

    def ours(path: Path) -> Array:
        return path.held_out(folds) if form == "k-CV" else path.loo()

    np.testing.assert_array_equal(surface(n, learner, ours), surface(n, learner, naive))


@BOTH
def test_batches_make_no_difference(learner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One fold and ridge at a time give the same predictions as all at once, to 1e-9."""
    rng = np.random.default_rng(2)
    X, y = rng.integers(0, 9, size=(24, 2)) * 1.0, np.where(np.arange(24) % 2 == 0, 1.0, -1.0)
    folds = numbered(rng, 24, 4, False)

    def answers() -> list[Array]:
        path = LEARNERS[learner].path(problem_of(Gaussian(0.02), X, y, [1e-3, 1.0, 1e6, 1e17]))
        return [path.held_out(folds), path.loo(), path.bif(folds, 2)]

    whole = answers()
    monkeypatch.setattr(tiny, "BATCH", 1)
    for few, many in zip(answers(), whole, strict=True):
        np.testing.assert_allclose(few, many, rtol=1e-9)


def test_rows_without_neighbours_need_no_solve(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shortcut of leave-one-out gives the same predictions as the full computation."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(20, 3)), rng.choice([-1.0, 1.0], size=20)
    p = problem_of(Gaussian(2.0**-7), X, y, [1e-3, 0.1, 1e8])
    short = LEARNERS["krr"].path(p).loo()
    asked: list[Array] = []

    def none(fitted: Any, held: Array, doubt: Any) -> Any:
        asked.append(doubt)
        return np.zeros_like(doubt)

    monkeypatch.setattr(tiny, "form_isolated", none)
    long = LEARNERS["krr"].path(p).loo()
    assert asked[0].any()
    np.testing.assert_allclose(short, long, rtol=1e-11)


def test_a_row_that_influences_its_neighbours_needs_the_full_computation() -> None:
    """Two votes that cancel only without the row exclude the shortcut."""
    X, y = np.array([[0.0], [1.0], [-1.0]]), np.array([1.0, 1.0, -1.0])
    path = LEARNERS["krr"].path(problem_of(Gaussian(1 / 6), X, y, [1e-3, 0.1]))
    assert np.abs(path.problem.K[0, 1:] @ path.fit().alpha[1, 1:]) > 1e-3
    assert (path.loo()[:, 0] == 0).all()


@BOTH
def test_predictions_that_are_not_small_keep_every_bit(
    learner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only small predictions are recomputed."""
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(30, 2)), rng.choice([-1.0, 1.0], size=30)
    folds = numbered(rng, 30, 5, False)
    p = problem_of(Gaussian(2.0), X, y, [1e-7, 1e-3, 1.0])

    def answers() -> list[Array]:
        path = LEARNERS[learner].path(p)
        return [path.held_out(folds), path.loo(), path.bif(folds, 2), path.decision()]

    found = answers()
    for name in ("form_held_out", "form_left_out", "form_series", "form_fitted"):
        monkeypatch.setattr(f"kselect.learners.krr_lssvm.{name}", lambda *_: None)
    for ours, closed in zip(found, answers(), strict=True):
        np.testing.assert_array_equal(ours, closed)


def test_the_bias_of_balanced_labels_is_exact() -> None:
    """Without neighbours the bias is 0; with few, it is accurate although tiny."""
    apart = 100.0 * np.arange(8.0)[:, None]
    p = problem_of(Gaussian(0.01), apart, LABELS, [0.1, 10.0])
    assert (LEARNERS["lssvm"].path(p).fit().bias == 0).all()
    X, y = np.array([[0.0], [1.0], [10.0], [20.0]]), np.array([1.0, 1.0, -1.0, -1.0])
    path = LEARNERS["lssvm"].path(problem_of(Gaussian(0.01), X, y, [0.1]))
    _, b = exact.fit(exact.exactly(path.problem.K), y, range(4), 0.4, True)
    assert path.fit().bias[0] == pytest.approx(float(b), rel=1e-12, abs=0.0)
    assert abs(float(b)) < 1e-20


RNG = np.random.default_rng(0)


def fitted(K: Array) -> Fitted:
    """Return a fit that is used for its kernel only."""
    n = len(K)
    one, many = np.ones(1), np.ones((1, n))
    return Fitted(K, np.ones(n), one, many, lambda _, v: v, one, one, True)


def test_sums_add_values_and_sizes() -> None:
    """With terms of both signs, the size is the sum of absolute values."""
    K, a = RNG.normal(size=(4, 3)), RNG.normal(size=(2, 3))
    one, two = products(K, a), products(-K, a)
    assert one.values == pytest.approx(a @ K.T)
    assert one.size == pytest.approx(sum(np.abs(a[:, [j]] * K[:, j]) for j in range(3)))
    assert (one + two).values == pytest.approx(0.0, abs=1e-15)
    assert (one + two).size == pytest.approx(2 * one.size)
    pairs = row_by_row(K[:2], a)
    assert pairs.values == pytest.approx(np.diagonal(one.values[:, :2]))
    assert pairs.column.size[:, 0] == pytest.approx(np.diagonal(one.size[:, :2]))


def test_a_sum_within_the_rounding_of_its_terms_is_zero() -> None:
    """The limit is relative to the size of the terms, not to y."""
    sums = Sums(np.array([EPS, -EPS, 3 * EPS, 1e-300]), np.array([1.0, 1.0, 1.0, 1e-290]))
    assert sums.settled.tolist() == [0.0, 0.0, 3 * EPS, 1e-300]


def test_doubt_is_relative_to_y_and_the_error() -> None:
    """Each ridge has its own rounding error."""
    values = np.array([[1e-12, 1e-9], [1e-12, 1e-9]])
    found = doubtful(np.array([1.0, -1.0]), values, np.array([1e-13, 1e-11]))
    assert found.tolist() == [[False, False], [True, False]]


def test_only_doubtful_predictions_are_replaced() -> None:
    """Small terms give their sum; large ones keep the difference, or 0 below its rounding."""
    y, closed = np.ones(5), np.array([[1e-15, 1e-15, EPS, 1e-15, 0.5]])
    small = Sums(np.full((1, 5), 1e-20), np.array([[1e-18, 1.0, 1.0, 1e-18, 1e-18]]))
    doubt = np.array([[True, True, True, False, False]])
    put(y, closed, np.ix_([0], np.arange(5)), small, doubt)
    assert closed.tolist() == [[1e-20, 1e-15, 0.0, 1e-15, 0.5]]


def test_no_prediction_is_replaced_by_nan() -> None:
    """An infinite bound, as at ridges of 1e-300, keeps the prediction."""
    y, closed = np.ones(2), np.array([[1e-13, 1e-13]])
    small = Sums(np.array([[np.nan, 1.0]]), np.array([[np.nan, np.inf]]))
    put(y, closed, np.ix_([0], [0, 1]), small, np.array([[True, True]]))
    assert closed.tolist() == [[1e-13, 1e-13]]


def test_rounding_grows_with_the_condition_number_and_the_bias() -> None:
    """The limit is ``SMALL``; infinite condition numbers raise no warning."""
    largest, least = np.array([1.0, 1.0, 1.0]), np.array([1.0, 1e-6, 0.0])
    plain = closed_form_rounding(10, largest, least, None)
    assert plain[1] == pytest.approx(1e6 * plain[0])
    assert 10 * EPS <= plain[0] < 1e-13
    assert plain[2] == SMALL
    with_bias = closed_form_rounding(10, largest, least, np.array([10.0, 1.0, 1.0]))
    assert with_bias[0] == pytest.approx(3.0 * plain[0])
    assert with_bias[1] > 1e3 * plain[1]


def test_column_sums_leave_out_the_diagonal() -> None:
    """Entries of 1e-20 next to a diagonal of 1 are not lost, in any block."""
    K = np.eye(600) + 1e-20 * (1.0 - np.eye(600))
    found = fitted(K).all_column_sums()
    assert found == pytest.approx(599e-20, rel=1e-12, abs=0.0)
    folds = [np.arange(0, 200), np.arange(200, 599), np.array([599])]
    outside = sums_of_others([partial(fitted(K).column_sums, F) for F in folds])
    assert outside[2, :599] == pytest.approx(598e-20, rel=1e-12, abs=0.0)
    assert outside[0, 0] == pytest.approx(400e-20, rel=1e-12, abs=0.0)


def test_sums_of_others_are_not_differences_from_a_total() -> None:
    """A part of 1 leaves no rounding error in the sum of the parts of 1e-20."""
    parts = [1e-20, 1.0, 2e-20]
    found = sums_of_others([partial(np.full, 2, v) for v in parts])
    assert found[:, 0].tolist() == [1.0 + 2e-20, 1e-20 + 2e-20, 1.0]
    assert found.shape == (3, 2)


def test_the_bias_solves_the_first_equation() -> None:
    """``b = mean(z - (K - kappa I) a)`` for coefficients that add up to 0."""
    a = RNG.normal(size=(2, 5))
    a -= a.mean(axis=1, keepdims=True)
    K = RNG.normal(size=(5, 5))
    K += K.T
    z = RNG.normal(size=5)
    found = bias(z.sum(), products(fitted(K).all_column_sums()[None], a), 5)
    assert found.values[:, 0] == pytest.approx((z - a @ K.T).mean(axis=1))


def test_parts_and_blocks_cover_everything() -> None:
    """Every element is in exactly one part, and no part is empty."""
    assert in_blocks(0) == []
    assert np.concatenate(in_blocks(1000)).tolist() == list(range(1000))
    pairs = np.argwhere(np.ones((3, 4)))
    assert in_parts(pairs[:0], 10) == []
    for width in (1, 10**6):
        parts = in_parts(pairs, width)
        assert np.concatenate(parts, axis=1).T.tolist() == pairs.tolist()
        assert all(len(part[0]) for part in parts)
