"""The pruned search finds the minimum over the grid; methods without bounds use the grid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
import oracles
import oracles_smooth_hinge as slow
import oracles_weights
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from problems import best_in, numbered, rows, side_of
from problems import kernels as any_kernels

from kselect.core.grid_point import SearchFailure
from kselect.core.method import SELECTED, Choice, LamGrid, Method, Setting
from kselect.errors import ConfigError, TrialError
from kselect.kernels import Kernel, Points
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.polynomial import Polynomial
from kselect.learners import LEARNERS, Problem
from kselect.learners.factor import factorise
from kselect.learners.problem import RidgeMode
from kselect.learners.smooth_hinge import smooth_hinge
from kselect.learners.tridiagonal import TridiagonalFactor
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array
from kselect.numerics.losses import LOSSES
from kselect.numerics.tiles import Crew
from kselect.numerics.weights import Weights
from kselect.search import OVER_GRID, TrainingContext, pruned, pruned_square
from kselect.search.certified import CertifiedSystems, Spread
from kselect.search.pruned import (
    PRUNED_LOSSES,
    Pruned,
    PrunedLearner,
    find_minimum,
    most_promising,
    order_of,
    outward,
    prunes,
    search_pruned,
    select_exactly,
)
from kselect.search.pruned_grid import BestPair, FoldedGrid, in_threads
from kselect.search.pruned_hinge import (
    HingeBounds,
    boundary,
    is_far_from_diagonal,
    largest_margins,
    margins_at_most,
)
from kselect.search.pruned_square import SquareBounds
from kselect.search.retraining import Retraining

LAMS = 2.0 ** np.arange(-15, 16, 2)
TAUS = 2.0 ** np.arange(-15, 16, 2)
WIDTHS = tuple(Gaussian(float(tau)) for tau in TAUS)
NAMES: tuple[PrunedLearner, ...] = ("smooth-hinge", "krr", "lssvm")
RIDGES: tuple[RidgeMode, ...] = ("per-fold", "fixed")


def data(kind: str, n: int) -> tuple[Array, Array]:
    """Return data sets of several shapes."""
    rng = np.random.default_rng(7)
    X = rng.uniform(-1, 1, size=(n, 3))
    y = np.where(np.sin(3 * X[:, 0]) + X[:, 1] + 0.4 * rng.normal(size=n) > 0, 1.0, -1.0)
    if kind == "noise":
        y = rng.choice([-1.0, 1.0], size=n)
    if kind == "separable":
        y = np.where(X[:, 0] > 0, 1.0, -1.0)
    if kind == "duplicated":
        X[n // 2 :] = X[: n - n // 2]
        y[-3:] *= -1
    return X, y


KINDS = ("random", "noise", "separable", "duplicated")


def surface(
    X: Array, y: Array, kernels: Any, folds: Folds, learner: str, ridge: RidgeMode, h: float = 0.05
) -> Array:
    """Return the whole surface, computed by the path."""
    loss = LOSSES["hinge" if learner == "smooth-hinge" else "squared"]
    rows = []
    for kernel in kernels:
        p = Problem(X, y, kernel, kernel.gram(Points(X)), LAMS, ridge)
        path: Any = smooth_hinge(p, h=h) if learner == "smooth-hinge" else LEARNERS[learner].path(p)
        rows.append(loss(y, path.held_out(folds)).mean(axis=1))
    return np.array(rows)


def grams(X: Array, kernels: Any) -> list[Callable[[], Array]]:
    return [partial(kernel.gram, Points(X)) for kernel in kernels]


def assert_lowest(found: Pruned, scores: Array) -> None:
    """Check that the pair found is a minimum of the surface up to rounding."""
    lowest = float(scores.min())
    assert found.score == pytest.approx(lowest, rel=1e-10, abs=1e-10)
    assert scores[found.kernel, found.ridge] <= lowest + 3e-12 * max(1.0, lowest)


def assert_below(values: Array, bounds: Array) -> None:
    """Check that a bound is below the value everywhere."""
    assert float((values - bounds).max()) <= 0.0


@pytest.mark.parametrize("ridge", RIDGES)
@pytest.mark.parametrize("learner", NAMES)
@pytest.mark.parametrize("kind", KINDS)
def test_finds_the_minimum_of_the_surface(
    kind: str, learner: PrunedLearner, ridge: RidgeMode
) -> None:
    """The minimum is found on the paper's grid, with unequal folds, from any start."""
    X, y = data(kind, 37)
    for k, equal, start in ((4, False, 0), (8, True, 15)):
        folds = numbered(np.random.default_rng(k), 37, k, equal)
        found = select_exactly(grams(X, WIDTHS), y, LAMS, folds, learner, ridge=ridge, start=start)
        assert_lowest(found, surface(X, y, WIDTHS, folds, learner, ridge))
        assert found.excluded == ()


@pytest.mark.parametrize("learner", NAMES)
def test_few_models_are_trained(learner: PrunedLearner) -> None:
    """Few models are trained if there is something to learn."""
    X, y = data("random", 60)
    folds = numbered(np.random.default_rng(1), 60, 5, True)
    work = select_exactly(grams(X, WIDTHS), y, LAMS, folds, learner).work
    assert work.kernels == len(WIDTHS)
    assert work.kernels_fitted < 0.8 * len(WIDTHS)
    assert work.folds < 0.15 * len(WIDTHS) * len(LAMS) * 5
    assert work.pairs < work.folds


@settings(max_examples=25)
@given(
    st.lists(any_kernels(), min_size=1, max_size=4),
    st.integers(0, 2**32 - 1),
    st.sampled_from(NAMES),
    st.sampled_from(RIDGES),
    st.sampled_from([0.05, 0.5]),
)
def test_linear_and_polynomial_kernels(
    kernels: list[Kernel], seed: int, learner: PrunedLearner, ridge: RidgeMode, h: float
) -> None:
    """Kernels with negative entries and other diagonals are searched correctly."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 20))
    X, y = rng.normal(size=(n, 2)), rng.choice([-1.0, 1.0], size=n)
    folds = numbered(rng, n, int(rng.integers(2, n)), bool(rng.integers(2)))
    lams = 10.0 ** rng.uniform(-3, 2, size=4)
    found = select_exactly(grams(X, kernels), y, lams, folds, learner, ridge=ridge, h=h)
    loss = LOSSES[PRUNED_LOSSES[learner]]
    scores = np.empty((len(kernels), 4))
    for i, kernel in enumerate(kernels):
        K = kernel.gram(Points(X))
        for j, lam in enumerate(lams.tolist()):
            if learner != "smooth-hinge":
                bias = learner == "lssvm"
                f = oracles.held_out(K, y, folds.members, lam, bias, ridge == "per-fold")
            else:
                f = slow.held_out(K, y, folds.members, lam, h, ridge == "per-fold")
            scores[i, j] = loss(y, f).mean()
    assert found.score == pytest.approx(scores.min(), rel=1e-7)
    assert scores[found.kernel, found.ridge] == pytest.approx(scores.min(), rel=1e-7)


def test_regression_with_a_target_far_from_zero() -> None:
    """KRR without a bias: the minimum is found, and some widths need no fit."""
    X, _ = data("random", 40)
    y = 20 + np.sin(3 * X[:, 0]) + 0.1 * X[:, 1]
    folds = numbered(np.random.default_rng(1), 40, 5, True)
    found = select_exactly(grams(X, WIDTHS), y, LAMS, folds, "krr")
    assert_lowest(found, surface(X, y, WIDTHS, folds, "krr", "per-fold"))
    assert found.work.kernels_fitted < len(WIDTHS)


@pytest.mark.parametrize("learner", NAMES)
def test_rows_in_the_order_of_the_folds_are_not_copied(learner: PrunedLearner) -> None:
    """Rows already in fold order are not copied and give the same result."""
    X, y = data("random", 40)
    folds = numbered(np.random.default_rng(1), 40, 5, False)
    order = order_of(folds)
    sorted_folds = Folds.from_numbers(folds.numbers[order])
    one = select_exactly(grams(X, WIDTHS), y, LAMS, folds, learner)
    other = select_exactly(grams(X[order], WIDTHS), y[order], LAMS, sorted_folds, learner)
    assert (one.kernel, one.ridge) == (other.kernel, other.ridge)
    assert one.score == pytest.approx(other.score, rel=1e-12)


def test_h_is_not_ignored() -> None:
    """Another h gives another error."""
    X, y = data("random", 40)
    folds = numbered(np.random.default_rng(1), 40, 5, True)
    found = select_exactly(grams(X, WIDTHS), y, LAMS, folds, "smooth-hinge", h=0.5)
    assert_lowest(found, surface(X, y, WIDTHS, folds, "smooth-hinge", "per-fold", h=0.5))
    assert found.score != select_exactly(grams(X, WIDTHS), y, LAMS, folds, "smooth-hinge").score


@pytest.mark.parametrize("learner", ["krr", "lssvm"])
@pytest.mark.parametrize("few", [0, 1, 100])
def test_both_ways_to_the_bounds(
    few: int, learner: PrunedLearner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One factor for all ridges, and Cholesky factors for few, give the same result."""
    monkeypatch.setattr(pruned_square, "FEW", few)
    X, y = data("random", 40)
    folds = numbered(np.random.default_rng(1), 40, 4, False)
    found = select_exactly(grams(X, WIDTHS), y, LAMS, folds, learner)
    assert_lowest(found, surface(X, y, WIDTHS, folds, learner, "per-fold"))


def test_a_kernel_that_fails_is_excluded_by_name() -> None:
    """A failing kernel is excluded and named; if none is left, the search fails."""

    def broken() -> Array:
        raise TrialError("no such matrix")

    X, y = data("random", 30)
    folds = numbered(np.random.default_rng(1), 30, 5, True)
    found = select_exactly([broken, *grams(X, WIDTHS[5:9])], y, LAMS, folds, "krr")
    assert found.excluded == ((0, "no such matrix"),)
    assert found.kernel > 0
    with pytest.raises(TrialError, match=r"no kernel and ridge .* no such matrix"):
        select_exactly([broken], y, LAMS, folds, "krr")


def test_two_classes_only() -> None:
    """The smoothed hinge refuses labels other than two classes."""
    X, y = data("random", 30)
    folds = numbered(np.random.default_rng(1), 30, 5, True)
    with pytest.raises(ConfigError, match="two classes"):
        select_exactly(grams(X, WIDTHS), y + 1, LAMS, folds, "smooth-hinge")


def ordered(
    kind: str, tau: float, k: int, ridge: RidgeMode, bias: bool = False
) -> tuple[Array, FoldedGrid, Folds, Array]:
    """Return K in the order of the folds, the grid, the folds in that order, and X."""
    X, y = data(kind, 43)
    folds = numbered(np.random.default_rng(k), 43, k, False)
    order = order_of(folds)
    K = Gaussian(tau).gram(Points(X[order]))
    return (
        K,
        FoldedGrid.of(y, LAMS[:9], folds, ridge, bias=bias),
        Folds.from_numbers(folds.numbers[order]),
        X[order],
    )


@pytest.mark.parametrize("ridge", RIDGES)
@pytest.mark.parametrize("tau", [2.0**-8, 2.0**-5, 2.0**-4, 2.0**-2, 1.0, 2.0**10])
@pytest.mark.parametrize("kind", KINDS)
def test_bounds_of_the_hinge_hold(kind: str, tau: float, ridge: RidgeMode) -> None:
    """The bounds hold per row before any fit and per fold after it; the closer one is tighter."""
    K, grid, folds, X = ordered(kind, tau, 5, ridge)
    p = Problem(X, grid.y, Gaussian(tau), K, grid.lams, ridge)
    z = grid.y * smooth_hinge(p).held_out(folds)
    Ky, ridges = K * np.outer(grid.y, grid.y), grid.gammas(2.0)
    first = margins_at_most(Ky, grid.slices, ridges, 0.05)
    closer = largest_margins(Ky, grid.slices, ridges, 0.05)
    assert_below(z.T, first + 1e-9)
    assert_below(z.T, closer + 1e-9)
    losses = grid.by_fold(np.maximum(0, 1 - z))
    width = HingeBounds(K, grid, None, h=0.05)
    assert_below(width.untrained(np.inf), losses + 1e-9)
    for ridge_at in reversed(range(len(grid.lams))):
        assert_below(width.trained(ridge_at), losses[ridge_at] + 1e-9)
        for fold in range(5):
            assert width.loss(ridge_at, fold) == pytest.approx(losses[ridge_at, fold], abs=1e-8)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("ridge", RIDGES)
@pytest.mark.parametrize("tau", [2.0**-8, 2.0**-5, 2.0**-4, 2.0**-2, 1.0, 2.0**10])
@pytest.mark.parametrize("kind", KINDS)
def test_bounds_of_the_square_hold(kind: str, tau: float, ridge: RidgeMode, bias: bool) -> None:
    """The bounds hold before any fit and by the training loss; the losses are those of the path."""
    K, grid, folds, X = ordered(kind, tau, 5, ridge, bias)
    p = Problem(X, grid.y, Gaussian(tau), K, grid.lams, ridge)
    f = LEARNERS["lssvm" if bias else "krr"].path(p).held_out(folds)
    losses, width = grid.by_fold(np.square(grid.y - f)), SquareBounds(K, grid)
    every = np.arange(len(grid.lams))
    for bound in (width.untrained(), width.trained(factorise(K), every)):
        assert_below(bound, losses * (1 + 1e-8) + 1e-9)
    fits = Retraining(K, grid)
    for at in every:
        for fold in range(5):
            assert fits.loss(int(at), fold) == pytest.approx(losses[at, fold], rel=1e-8)


@pytest.mark.parametrize("bias", [False, True])
def test_kernels_near_the_identity_are_dropped_without_a_fit(bias: bool) -> None:
    """Their bound is close to the loss of predicting nothing, or the mean of the training rows."""
    K, grid, folds, _ = ordered("random", 2.0**-9, 5, "fixed", bias)
    mean = [
        (grid.y.sum() - grid.y[F].sum()) / (43 - len(F)) if bias else 0.0 for F in folds.members
    ]
    nothing = sum(np.square(grid.y[F] - m).sum() for F, m in zip(folds.members, mean, strict=True))
    bounds = SquareBounds(K, grid).untrained().sum(axis=1)
    assert (bounds > 0.9 * nothing).all()
    assert (bounds <= nothing * (1 + 1e-9)).all()


def test_bounds_exclude_kernels_near_the_identity() -> None:
    """If every model is near 0, the bounds exclude a kernel without a fit."""
    K, grid, _, _ = ordered("noise", 2.0**-5, 5, "per-fold")
    width = HingeBounds(K, grid, None, h=0.05)
    Ky, ridges = width.signed.Ky, grid.gammas(2.0)
    first = np.maximum(0, 1 - margins_at_most(Ky, grid.slices, ridges, 0.05)).mean()
    assert not is_far_from_diagonal(Ky)
    assert width.untrained(np.inf).sum(axis=1).mean() / grid.n > first + 0.05
    K, grid, _, _ = ordered("random", 2.0**10, 5, "per-fold")
    assert is_far_from_diagonal(HingeBounds(K, grid, None, h=0.05).signed.Ky)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("ridge", RIDGES)
@pytest.mark.parametrize("tau", [2.0**-4, 1.0, 2.0**6])
def test_conjugate_gradients_stay_below_and_arrive(
    tau: float, ridge: RidgeMode, bias: bool
) -> None:
    """Every iterate is a lower bound, which grows; the last one is the loss, for every kind of factor."""
    K, grid, _, _ = ordered("random", tau, 5, ridge, bias)
    every = np.arange(len(grid.lams))
    fits = Retraining(K, grid)
    losses = np.array([[fits.loss(int(i), fold) for fold in range(5)] for i in every])
    for factor in (factorise(K), factorise(K, 1), TridiagonalFactor(K)):
        factor.blocks_expected = False
        systems = SquareBounds(K, grid).systems(factor, every)
        before = np.zeros_like(losses)
        for _ in range(12):
            systems.step()
            assert_below(systems.squares, losses * (1 + 1e-7) + 1e-9)
            assert_below(before, systems.squares * (1 + 1e-9))
            before = systems.squares
        np.testing.assert_allclose(systems.squares, losses, rtol=1e-3)
        systems.keep(every > 2)
        systems.step()
        assert_below(systems.squares, losses[3:] * (1 + 1e-7) + 1e-9)


def test_a_slack_keeps_the_scores_near_the_best() -> None:
    """Every pair within the slack has its exact score; without slack few pairs have one."""
    X, y = data("random", 40)
    folds = numbered(np.random.default_rng(1), 40, 5, False)
    for learner in NAMES:
        scores = surface(X, y, WIDTHS, folds, learner, "per-fold")
        near = np.argwhere(scores <= 1.3 * scores.min())
        found = select_exactly(grams(X, WIDTHS), y, LAMS, folds, learner, slack=0.3)
        assert len(near) > 1
        for pair in map(tuple, near.tolist()):
            assert found.totals[pair] / 40 == pytest.approx(scores[pair], rel=1e-7)
        best = sorted(found.totals, key=lambda pair: found.totals[pair])[:3]
        three = select_exactly(grams(X, WIDTHS), y, LAMS, folds, learner, slack=0.3, most=3)
        assert len(near) > 3
        assert set(three.totals) == set(best)
        assert three.work.folds < found.work.folds
        few = select_exactly(grams(X, WIDTHS), y, LAMS, folds, learner)
        assert len(few.totals) == 1
        assert (few.kernel, few.ridge) == (found.kernel, found.ridge)


@pytest.mark.parametrize("learner", NAMES)
def test_numbers_do_not_depend_on_threads(learner: PrunedLearner) -> None:
    """Two threads find the same choice, score and predictions, bit by bit."""
    found = []
    for n_jobs in (1, 2, 3):
        seen: list[tuple[int, int]] = []
        one = side(learner, n=60)
        minimum = find_minimum(one, 5, n_jobs=n_jobs, watch=lambda *now, s=seen: s.append(now))
        assert minimum is not None
        assert seen == [(i, len(TAUS_SEARCH)) for i in range(1, len(TAUS_SEARCH) + 1)]
        found.append(minimum)
    for other in found[1:]:
        assert other.found.point == found[0].found.point
        assert other.found.score == found[0].found.score
        np.testing.assert_array_equal(other.held_out, found[0].held_out)


def test_work_aside_is_done_once() -> None:
    """Which pair leads when the work is done depends on the threads."""
    calls: list[str] = []
    assert len([*in_threads([lambda: None] * 5, 2, lambda: calls.append("aside"))]) == 5
    assert calls == ["aside"]
    folds = numbered(np.random.default_rng(1), 40, 5, False)
    best = BestPair(FoldedGrid.of(data("random", 40)[1], np.array(LAMS), folds, "fixed"))
    seen: list[tuple[int, int]] = []
    best.look_ahead(lambda *pair: seen.append(pair))
    assert not seen
    for kernel, ridge, total in ((2, 1, 5.0), (3, 0, 4.0), (4, 2, 4.5)):
        best.settle(kernel, ridge, total)
    best.look_ahead(lambda *pair: seen.append(pair))
    assert seen == [(3, 0)]


def test_the_choice_is_settled_before_the_last_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several threads settle the best pair so far before the last kernels, and once more if it changes."""
    X, y = data("random", 40)
    folds = numbered(np.random.default_rng(1), 40, 5, False)
    alone: list[tuple[int, int]] = []
    select_exactly(grams(X, WIDTHS), y, LAMS, folds, "krr", ahead=lambda *pair: alone.append(pair))
    assert not alone
    # The wrong pair ahead of time changes nothing.
    want = find_minimum(side("krr", n=60), 5)
    monkeypatch.setattr(BestPair, "leader", wrong_until_the_end(BestPair.leader))
    got = find_minimum(side("krr", n=60), 5, n_jobs=2)
    assert want is not None
    assert got is not None
    assert (got.found.point, got.found.score) == (want.found.point, want.found.score)
    np.testing.assert_array_equal(got.held_out, want.held_out)


def wrong_until_the_end(leader: Callable[[BestPair], Any]) -> Callable[[BestPair], Any]:
    """Return a leader that names another pair when it is first asked."""
    asked: list[BestPair] = []

    def named(best: BestPair) -> Any:
        asked.append(best)
        return (0, 0) if len(asked) == 1 else leader(best)

    return named


def test_outward() -> None:
    """The walk goes outward from the start, to both sides in turn."""
    assert outward(3, 6) == [3, 2, 4, 1, 5, 0]
    assert outward(0, 3) == [0, 1, 2]


@given(st.integers(0, 8), st.integers(0, 8))
def test_boundary_of_those_that_survive(survivors: int, start: int) -> None:
    """The boundary of the surviving candidates is found from any start."""
    assume(start < 8)
    assert boundary(lambda i: i < survivors, start, 8) == survivors


def test_the_width_nearest_to_the_median_distance() -> None:
    """The start is nearest in logs to the median distance; without distances, in the middle."""
    points = Points(np.array([[0.0], [2.0], [4.0]]))
    assert most_promising(WIDTHS, points) == int(np.argmin(np.abs(np.log(TAUS / 2))))
    assert most_promising(WIDTHS[:3], Points(np.zeros((3, 1)))) == 1
    assert most_promising([Polynomial(2.0)] * 5, points) == 2


TAUS_SEARCH = 2.0 ** np.arange(-9, 10, 3)
LAMS_SEARCH = tuple(2.0 ** np.arange(-9, 4, 3))
OWN = [("smooth-hinge", "hinge"), ("krr", "squared"), ("lssvm", "squared")]


def side(learner: str = "smooth-hinge", n: int = 30, **more: Any) -> TrainingContext:
    X, y = rows(n)
    kernels = more.pop("kernels", [Gaussian(float(tau)) for tau in TAUS_SEARCH])
    return side_of(kernels, X, more.pop("y", y), LAMS_SEARCH, learner=learner, **more)


def k_cv(loss: str, folds: int = 4, **more: Any) -> Method:
    params = {"loss": loss, "average": "points", **more}
    return Method(f"{folds}-CV", "k-CV", folds, tuple(sorted(params.items())))


@pytest.mark.parametrize("ridge", ["per-fold", "fixed"])
@pytest.mark.parametrize(("learner", "loss"), OWN)
def test_it_finds_what_the_grid_finds(learner: str, loss: str, ridge: Any) -> None:
    """Place, score and fit equal those of the grid search, for several numbers of folds at once."""
    one = side(learner, ridge=ridge)
    demand = {k_cv(loss, k): (SELECTED,) for k in (3, 4, 7)}
    pruned, grid = search_pruned(one, demand), OVER_GRID["grid"](one, demand)
    assert pruned.keys() == grid.keys()
    for method in demand:
        a, b = best_in(pruned, method), best_in(grid, method)
        assert a.point == b.point
        assert a.score == pytest.approx(b.score, abs=1e-10)
        np.testing.assert_allclose(a.fits[0].alpha, b.fits[0].alpha, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("learner", ["krr", "lssvm"])
@pytest.mark.parametrize(
    ("module", "constant"),
    [
        ("pruned_square", {"TYPICAL": 0.0}),
        ("pruned_square", {"TYPICAL": 1e9}),
        ("pruned_gradients", {"MANY": 1}),
        ("pruned_gradients", {"MANY": 1, "FEWER": 1}),
    ],
)
def test_several_targets_share_a_search(
    module: str,
    constant: dict[str, float],
    learner: PrunedLearner,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The mean over targets is lowest where the surface is, by iterations, by blocks, and for many rows."""
    for name, value in constant.items():
        monkeypatch.setattr(f"kselect.search.{module}.{name}", value)
    X, _ = data("random", 41)
    codes = np.floor(1.5 * (1 + X[:, 0]) + 0.3 * X[:, 1]).clip(0, 2)
    targets = np.where(codes == np.arange(3)[:, None], 1.0, -1.0)
    folds = numbered(np.random.default_rng(1), 41, 4, False)
    for ridge in RIDGES:
        scores = np.mean([surface(X, y, WIDTHS, folds, learner, ridge) for y in targets], axis=0)
        found = select_exactly(
            grams(X, WIDTHS), targets, LAMS, folds, learner, ridge=ridge, slack=0.2
        )
        assert_lowest(found, scores)
        near = np.argwhere(scores <= 1.2 * scores.min())
        assert len(near) > 1
        for pair in map(tuple, near.tolist()):
            assert found.totals[pair] / 41 == pytest.approx(scores[pair], rel=1e-7)
        assert found.work.folds < 0.5 * len(WIDTHS) * len(LAMS) * 4


@pytest.mark.parametrize("learner", ["krr", "lssvm"])
def test_several_classes_as_on_the_grid(learner: str) -> None:
    """The choice, the score and the fits of three classes equal those of the grid search."""
    X, _ = rows(45)
    codes = np.argsort(np.argsort(X[:, 0])) // 15
    one = side(learner, n=45, y=np.where(codes == np.arange(3)[:, None], 1.0, -1.0))
    method = k_cv("squared", 5)
    a = best_in(search_pruned(one, {method: (SELECTED,)}), method)
    b = best_in(OVER_GRID["grid"](one, {method: (SELECTED,)}), method)
    assert (a.point, len(a.fits)) == (b.point, 3)
    assert a.score == pytest.approx(b.score, rel=1e-12)
    for mine, other in zip(a.fits, b.fits, strict=True):
        np.testing.assert_allclose(mine.alpha, other.alpha, rtol=1e-8, atol=1e-9)
    minimum = find_minimum(one, 5)
    assert minimum is not None
    assert minimum.held_out.shape == one.targets.shape


def test_the_score_is_that_of_retraining() -> None:
    """The score of KRR is that of models retrained from scratch."""
    one, method = side("krr"), k_cv("squared")
    best = best_in(search_pruned(one, {method: (SELECTED,)}), method)
    K, y = one.problem(best.point.kernel).K, one.targets[0]
    held = oracles.held_out(K, y, one.folds(4).members, best.point.lam, False, False)
    assert best.score == pytest.approx(np.mean((y - held) ** 2))


def test_kernels_without_a_width_start_in_the_middle() -> None:
    """Kernels without a width are all visited, from the middle on."""
    one = side("krr", kernels=[Polynomial(float(d)) for d in (1, 2, 3)])
    demand = {k_cv("squared"): (SELECTED,)}
    point = best_in(search_pruned(one, demand), k_cv("squared")).point
    assert point == best_in(OVER_GRID["grid"](one, demand), k_cv("squared")).point


@pytest.mark.parametrize(
    ("changed", "method"),
    [
        ({}, k_cv("zero-one")),
        ({}, k_cv("hinge", average="folds")),
        ({}, Method("GCV", "GCV", None, ())),
        ({}, replace(k_cv("hinge"), scored_by=(("classification", Choice("krr")),))),
        ({"ridges": LamGrid(LAMS_SEARCH, "fixed")}, k_cv("hinge")),
        ({"learner": "lssvm"}, k_cv("hinge")),
        ({"y": np.ones((2, 30))}, k_cv("hinge")),
        ({"learner": "krr", "columns": object()}, k_cv("squared")),
    ],
)
def test_unsupported_methods_are_not_searched_by_bounds(
    changed: dict[str, Any], method: Method
) -> None:
    """No other loss, average, criterion or learner, fixed ridge, several targets of a hinge, or columns."""
    assert not prunes(side(**changed), method)


def test_the_rest_is_searched_on_the_grid() -> None:
    """Unsupported methods are searched on the grid in the same call, also with a fixed ridge."""
    one = side()
    other = k_cv("zero-one")
    results = search_pruned(one, {k_cv("hinge"): (SELECTED,), other: (SELECTED,)})
    assert len(results) == 2
    same = OVER_GRID["grid"](one, {other: (SELECTED,)})
    assert best_in(results, other).score == best_in(same, other).score
    fixed = side(ridges=LamGrid(LAMS_SEARCH, "fixed"))
    at = Setting(2, LAMS_SEARCH[2])
    results = search_pruned(fixed, {k_cv("hinge"): (at,)})
    assert best_in(results, k_cv("hinge"), at).point.lam == LAMS_SEARCH[2]


def test_a_newton_step_is_exact_for_the_square_loss_only() -> None:
    """With the square loss both columns share one minimum; with the hinge the grid is searched."""
    newton = Method("4-Newton", "k-Newton", 4, k_cv("squared").params)
    results = search_pruned(side("krr"), {k_cv("squared"): (SELECTED,), newton: (SELECTED,)})
    assert best_in(results, newton) is best_in(results, k_cv("squared"))
    assert not prunes(side(), replace(newton, params=k_cv("hinge").params))


@pytest.mark.parametrize("broken", ["select_exactly", "GridPoint"])
def test_a_failure_leaves_it_to_the_grid(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a failure the grid is searched, which names the failing candidates."""

    def fail(*_: Any, **__: Any) -> Any:
        raise TrialError("no factor")

    monkeypatch.setattr(pruned, broken, fail)
    one, method = side(), k_cv("hinge")
    assert find_minimum(one, 4) is None
    assert best_in(search_pruned(one, {method: (SELECTED,)}), method).score > 0


def test_a_candidate_that_fails_is_named_by_the_grid() -> None:
    """A target whose square overflows excludes every candidate, and the method fails."""
    y = rows(30)[1] * 1e200
    result = search_pruned(side("krr", y=y), {k_cv("squared"): (SELECTED,)})
    assert isinstance(result[k_cv("squared"), SELECTED], SearchFailure)


def test_few_models_are_trained_by_a_search() -> None:
    """A search by bounds trains few models."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(120, 2))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    kernels = [Gaussian(float(tau)) for tau in 2.0 ** np.arange(-9, 10)]
    one = side_of(kernels, X, y, LAMS_SEARCH, learner="smooth-hinge")
    best = find_minimum(one, 4)
    assert best is not None
    assert best.work.folds < 0.3 * len(kernels) * len(LAMS_SEARCH) * 4


def test_searches_share_the_factors_that_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sharing factors does not change the places found, and no factor is kept afterwards."""
    one, gcv = side("krr"), Method("GCV", "GCV", None, ())
    demand = dict.fromkeys((k_cv("squared", 3), k_cv("squared", 4), gcv), (SELECTED,))
    made: list[int] = []

    def counted(K: Any, ridges: int | None = None) -> Any:
        if ridges != 1:  # the final fits take Cholesky factors
            made.append(len(K))
        return factorise(K, ridges)

    for module in ("search.pruned", "learners.problem"):
        monkeypatch.setattr(f"kselect.{module}.factorise", counted)
    shared = search_pruned(one, demand)
    assert len(made) == len(TAUS_SEARCH)
    assert not one.factors
    made.clear()
    monkeypatch.setattr(pruned, "ROOM", 0)
    some = search_pruned(one, demand)
    assert len(made) > len(TAUS_SEARCH)
    for method in demand:
        assert best_in(shared, method).point == best_in(some, method).point
        np.testing.assert_allclose(
            best_in(shared, method).fits[0].alpha, best_in(some, method).fits[0].alpha, rtol=1e-9
        )


@settings(max_examples=12)
@given(
    st.sampled_from(["krr", "lssvm"]),
    st.sampled_from(RIDGES),
    st.sampled_from(["rows", "classes", "one class"]),
    st.sampled_from([0, 10**9]),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_weighted_rows_as_on_the_grid(
    learner: str, ridge: RidgeMode, kind: str, many: int, several: bool, seed: int
) -> None:
    """Weights of rows, of classes, of one class only: the choice, its score and predictions, both ways."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(14, 30))
    X, y = rng.normal(size=(n, 2)), rng.choice([-1.0, 1.0], size=n)
    if kind == "rows":
        given = rng.uniform(0.05, 5.0, n)
    else:
        share = [1.0, 6.0] if kind == "one class" else n / np.maximum(1, [sum(y < 0), sum(y > 0)])
        given = np.where(y > 0, share[1], share[0])
    targets = np.stack([y, X[:, 0], np.sin(3 * X[:, 1])]) if several else y
    folds = numbered(rng, n, int(rng.integers(2, 7)), False)
    taus, lams = 4.0 ** np.arange(-3, 3), 10.0 ** np.arange(-5, 2)
    one = side_of(
        *([Gaussian(float(tau)) for tau in taus], X, targets, lams.tolist()),
        learner=learner,
        ridge=ridge,
        weights=Weights(given),
        given_folds=lambda k: folds,
    )
    method = k_cv("squared", len(folds.members))
    assert prunes(one, method)
    grid = best_in(OVER_GRID["grid"](one, {method: (SELECTED,)}), method)
    with mock.patch("kselect.search.pruned_gradients.MANY", many):
        found = find_minimum(one, len(folds.members))
    assert found is not None
    assert found.found.score == pytest.approx(grid.score, rel=1e-8)
    assert found.found.point == grid.point
    K, train = one.problem(grid.point.kernel).K, oracles_weights.TRAINERS[learner]
    for target, held in zip(one.targets, found.held_out, strict=True):
        how = given, folds.members, grid.point.lam, ridge == "per-fold"
        slow = oracles_weights.held_out(train, K, target, *how)
        np.testing.assert_allclose(held, slow, rtol=1e-6, atol=1e-6)


@settings(max_examples=12)
@given(st.sampled_from(RIDGES), st.sampled_from(["rows", "one class"]), st.integers(0, 2**32 - 1))
def test_weighted_rows_of_the_smoothed_hinge_as_on_the_grid(
    ridge: RidgeMode, kind: str, seed: int
) -> None:
    """The lowest score, and the predictions of the choice by training without each fold."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(14, 26))
    X, y = rng.normal(size=(n, 2)), rng.choice([-1.0, 1.0], size=n)
    given = rng.uniform(0.05, 5.0, n) if kind == "rows" else np.where(y > 0, 6.0, 1.0)
    folds = numbered(rng, n, int(rng.integers(2, 6)), False)
    taus, lams = 4.0 ** np.arange(-4, 3), 10.0 ** np.arange(-4, 2)
    one = side_of(
        *([Gaussian(float(tau)) for tau in taus], X, y, lams.tolist()),
        learner="smooth-hinge",
        ridge=ridge,
        weights=Weights(given),
        given_folds=lambda k: folds,
    )
    method = k_cv("hinge", len(folds.members))
    assert prunes(one, method)
    grid = best_in(OVER_GRID["grid"](one, {method: (SELECTED,)}), method)
    found = find_minimum(one, len(folds.members))
    assert found is not None
    assert found.found.score == pytest.approx(grid.score, rel=1e-8, abs=1e-9)
    point, how = found.found.point, (given, folds.members)
    K, train = one.problem(point.kernel).K, oracles_weights.TRAINERS["smooth-hinge"]
    slow = oracles_weights.held_out(train, K, y, *how, point.lam, ridge == "per-fold")
    np.testing.assert_allclose(found.held_out[0], slow, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("ridge", RIDGES)
def test_bounds_of_weighted_rows_of_the_smoothed_hinge_hold(ridge: RidgeMode) -> None:
    """The bounds before any fit, of nearly diagonal kernels and others, and those by the fit on all rows."""
    X, y = data("random", 43)
    folds = numbered(np.random.default_rng(5), 43, 5, False)
    order = order_of(folds)
    roots = Weights(np.random.default_rng(2).uniform(0.05, 4.0, 43)).roots
    grid = FoldedGrid.of(y, LAMS[:9], folds, ridge, roots=roots, scaled=False)
    for tau in (2.0**-10, 2.0**-8, 2.0**-4, 1.0, 2.0**6):
        found = HingeBounds(Gaussian(tau).gram(Points(X[order])), grid, None, h=0.05)
        untrained = found.untrained(np.inf)
        trained = np.array([found.trained(ridge) for ridge in range(9)])
        losses = np.array([[found.loss(i, fold) for fold in range(5)] for i in range(9)])
        assert_below(untrained, losses * (1 + 1e-7) + 1e-9)
        assert (trained.sum(axis=1) <= losses.sum(axis=1) * (1 + 1e-7) + 1e-9).all()
        assert (trained.sum(axis=1) > 0.2 * losses.sum(axis=1)).any()
        if tau == 2.0**-10:
            assert untrained.sum() > 0.5 * losses.sum()


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("ridge", RIDGES)
def test_bounds_of_weighted_rows_hold(ridge: RidgeMode, bias: bool) -> None:
    """The bounds by the training loss, by iterations, by blocks, and the intervals of certified gradients."""
    X, y = data("random", 43)
    folds = numbered(np.random.default_rng(5), 43, 5, False)
    order = order_of(folds)
    roots = Weights(np.random.default_rng(2).uniform(0.05, 4.0, 43)).roots
    grid = FoldedGrid.of(y + 3.0, LAMS[:9], folds, ridge, bias=bias, roots=roots)
    for tau in (2.0**-8, 2.0**-4, 1.0, 2.0**6):
        K = Gaussian(tau).gram(Points(X[order])) * np.outer(roots[order], roots[order])
        fits, every = Retraining(K, grid), np.arange(9)
        losses = np.array([[fits.loss(int(i), fold) for fold in range(5)] for i in every])
        most = losses * (1 + 1e-7) + 1e-9
        width, factor = SquareBounds(K, grid), factorise(K)
        assert_below(width.untrained(), most)
        assert_below(width.trained(factor, every), most)
        for way in (width.raise_bounds, width.solve_blocks):
            raised = np.zeros_like(losses)
            way(factor, every, raised, BestPair(grid))
            assert_below(raised, most)
            assert (raised.sum(axis=1) > 0.5 * losses.sum(axis=1)).all()
        with Crew() as crew:
            spread = Spread.of(K, grid, crew)
            systems = CertifiedSystems(K, grid, grid.fold_gammas(every), spread, None, crew)
            for _ in range(12):
                found = systems.intervals()
                assert_below(found.lower, most)
                assert_below(losses, found.upper * (1 + 1e-7) + 1e-9)
                systems.step()


@pytest.mark.parametrize("many", [0, 10**9])
def test_ridges_that_rounding_hides_are_settled_as_on_the_grid(
    many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel of low rank and tiny ridges: training without a fold would round by more than scores differ."""
    monkeypatch.setattr("kselect.search.pruned_gradients.MANY", many)
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(120, 4))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + rng.normal(size=120)
    X = (X - X.mean(0)) / X.std(0)
    one = side_of(
        [Polynomial(2.0), Polynomial(3.0)], X, y, 10.0 ** np.arange(-12, 2), learner="krr"
    )
    method = k_cv("squared", 5)
    grid = best_in(OVER_GRID["grid"](one, {method: (SELECTED,)}), method)
    found = find_minimum(one, 5)
    assert found is not None
    assert found.found.point == grid.point
    assert found.found.score == pytest.approx(grid.score, rel=1e-8)


def test_hidden_ridges_of_few_rows_take_the_eigenvectors_of_the_grid() -> None:
    """Whichever factor the bounds come from, the sums are those of the factor that the grid search takes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    K = Gaussian(30.0).gram(Points(X))
    folds = Folds.from_numbers(np.repeat(np.arange(5), 30))
    lams, every = np.array([1e-12, 1e-11]), np.arange(2)
    grid = FoldedGrid.of(np.sin(X[:, 0]) + X[:, 1] * X[:, 2], lams, folds, "fixed", bias=True)
    sums = []
    for factor in (factorise(K), TridiagonalFactor(K)):
        best = BestPair(grid)
        assert not len(SquareBounds(K, grid).settle_doubtful(factor, 0, every, best))
        sums.append(best.totals)
    assert sums[0] == sums[1]
