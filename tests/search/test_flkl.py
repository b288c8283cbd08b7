"""Both searches of FLKL from end to end: objective, start, state, and bad input."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from oracles_flkl import Array, differences, kernel, objective
from problems_flkl import outer, problem, solved

from kselect.errors import TrialError
from kselect.kernels.ard import Ard
from kselect.kernels.base import Points
from kselect.numerics.folds import draw_folds
from kselect.search import flkl as module
from kselect.search import fold_fits
from kselect.search.continuous import Solution, Unit
from kselect.search.first_level import Inner, settle
from kselect.search.flkl import (
    LIMITS,
    FoldFits,
    Follower,
    OuterProblem,
    beginning,
    larger,
    nested_nelder_mead,
    stationary,
)
from kselect.search.fold_fits import FoldFit, FoldProblem
from kselect.search.levenberg_marquardt import Ended
from kselect.search.quasi_newton import minimise, minimise_regularised


@pytest.mark.parametrize("n", [80, 150])
@pytest.mark.parametrize("ard", [True, False])
def test_objective_and_widths_are_those_of_the_definition(ard: bool, n: int) -> None:
    """The objective is that of retraining; the widths minimise L on all rows.

    With ARD on 80 rows the objective has sharp bends, so the search may report that, also with
    exact inner minima.
    """
    X, y, folds = problem(n)
    found = solved(X, y, folds, ard=ard)
    sharp = {"no further descent"} if ard and n == 80 else set()
    assert found.state in {"converged"} | sharp
    assert found.jumps == 0
    at, theta = np.log([found.lam, found.mu]), found.theta
    assert found.value == pytest.approx(outer(X, y, folds, at, theta, ard=ard), rel=1e-5)
    widths = Unit.of(X, y).widths(ard=ard)
    assert Inner(widths, y, found.lam, found.mu).at(theta).unsettled < 1e-6

    def value(t: Array) -> float:
        K = kernel(differences(X, X, one=not ard), t)
        return objective(K, y, found.lam, found.mu, t)

    for factor in (0.99, 1.01):
        assert value(factor * theta) > value(theta)


@pytest.mark.parametrize("ard", [True, False])
def test_nothing_nearby_is_better(ard: bool) -> None:
    """No (lam, mu) a factor of 1.2 away is lower by more than the search's tolerance."""
    X, y, folds = problem()
    found = solved(X, y, folds, ard=ard)
    at = np.log([found.lam, found.mu])
    for s in np.log(1.2) * np.array([(1, 0), (-1, 0), (0, 1), (0, -1)]):
        near = outer(X, y, folds, at + s, found.theta, ard=ard)
        assert near > found.value * (1.0 - 1e-4)


def test_relevance() -> None:
    """Irrelevant features have the smallest thetas."""
    X, y, folds = problem(160, 6)
    theta = solved(X, y, folds).theta
    assert theta[0] > 3.0 * theta[2:].max()


def test_a_given_start_changes_nothing() -> None:
    """Passing RBF-XVAL's solution gives the same result as letting the search find it."""
    X, y, folds = problem()
    given = solved(X, y, folds, start=minimise(X, y, folds))
    np.testing.assert_array_equal(given.theta, solved(X, y, folds).theta)


def test_the_width_of_all_rows_is_predicted() -> None:
    """The change of the folds' widths predicts the width that is the minimum on all rows."""
    X, y, folds = problem(150, 4)
    widths = Unit.of(X, y).widths(ard=False)
    u, theta = beginning(Unit.of(X, y), widths, y, minimise(X, y, folds))
    parts = [FoldProblem.of(widths, y, F) for F in folds.members]
    begun = Follower().first(parts, u, theta)
    there = Follower()(u, np.array([0.3, -0.5]), begun)
    inner = Inner(widths, y, *np.exp(there.fits[0].u).tolist())
    plain = settle(inner, there.theta).theta
    predicted = larger(theta, begun.theta) * there.theta
    assert np.abs(predicted - plain) < 0.5 * np.abs(there.theta - plain)


def test_folds_without_widths_predict_no_width() -> None:
    """Folds of width zero, where a linear kernel is left, predict no width."""
    assert larger(np.array([0.2]), np.zeros(1)) == 1.0


def test_starts_where_rbf_is_stationary() -> None:
    """At ``mu = -g' theta / theta' theta`` L has no slope along theta."""
    X, y, _ = problem()
    widths = Unit.of(X, y).widths(ard=True)
    theta = np.full(4, 0.2)
    u = stationary(widths, y, theta, 0.5)
    point = Inner(widths, y, 0.5, float(np.exp(u[1]))).at(theta)
    assert point.gradient @ theta == pytest.approx(0.0, abs=1e-9)
    assert np.abs(point.gradient).max() > 1e-3


def test_starts_inside_the_limits() -> None:
    """From a linear kernel, where mu would be unbounded, the start moves along its valley."""
    X, y, _ = problem()
    unit = Unit.of(X, y)
    linear = Solution(np.array([1e-7]), 1e-5, 0.0, 0, "converged")
    u, theta = beginning(unit, unit.widths(ard=True), y, linear)
    assert (u > LIMITS[:, 0]).all()
    assert (u < LIMITS[:, 1]).all()
    assert theta[0] / np.exp(u[0]) == pytest.approx(1e-7 * unit.factor / 1e-5)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_the_unit_of_the_features_does_not_matter(scale: float) -> None:
    """theta / scale^2 and mu scale^4 give the same model."""
    X, y, folds = problem()
    here, there = solved(X, y, folds), solved(scale * X - 2.0 * scale, y, folds)
    np.testing.assert_allclose(there.theta * scale**2, here.theta, rtol=1e-3, atol=1e-6)
    assert there.mu / scale**4 == pytest.approx(here.mu, rel=1e-3)
    assert there.value == pytest.approx(here.value, rel=1e-6)


def test_a_lost_minimum_on_the_way() -> None:
    """Minima that folds lose during the search are counted and named."""
    rng = np.random.default_rng(21)
    n = int(rng.integers(30, 70))
    x = np.sort(rng.uniform(-1.7, 1.7, n))
    trend, wave, speed = rng.uniform(0.3, 1.5), rng.uniform(0.3, 1), rng.uniform(6, 20)
    y = x * trend + wave * np.sin(speed * x) + rng.uniform(0.1, 0.8) * rng.normal(size=n)
    folds = draw_folds(n, 5, rng)
    place = np.array([10 ** rng.uniform(-0.5, 2)]), 10 ** rng.uniform(-1, 1)
    start = Solution(*place, 0.0, 0, "converged")
    found = solved(x[:, None], y, folds, ard=False, start=start)
    assert found.jumps > 0
    assert found.state == "branch change"


def started(near: float) -> tuple[Follower, Array, FoldFits]:
    """Return a follower, a place, and all folds of a problem fitted there to this tolerance."""
    X, y, folds = problem(100)
    widths, follower, u = Unit.of(X, y).widths(ard=True), Follower(near, near), np.zeros(2)
    parts = [FoldProblem.of(widths, y, F) for F in folds.members]
    return follower, u, follower.first(parts, u, np.full(4, 0.2))


def test_nearer_as_steps_become_short() -> None:
    """The tolerance is a fraction of the step, between the final and the initial tolerance."""
    follower, steps = Follower(near=0.001, rough=0.02), np.array([1.0, 0.2, 0.1, 1e-3])
    asked = [follower.after(np.array([0.01, -1.0]) * step) for step in steps]
    np.testing.assert_allclose(asked, [0.02, 0.01, 0.005, 0.001])
    follower.sharper(FoldFits(()), module.SHARP)
    assert {follower.after(np.array([0.0, step])) for step in steps} == {module.SHARP}


def test_rough_at_the_start() -> None:
    """The first fits use the rough tolerance, whatever the final one is."""
    follower, u, exact = started(0.0)
    follower.rough = 0.1
    rough = follower.first([fit.problem for fit in exact.fits], u, np.full(4, 0.2))
    assert exact.unmade < 1e-6 < 1e-3 < rough.unmade < 0.1


@pytest.mark.parametrize("features", [1, 4])
@pytest.mark.parametrize("ard", [True, False])
def test_how_rough(monkeypatch: pytest.MonkeyPatch, ard: bool, features: int) -> None:
    """A single width may be followed more roughly, whether shared or of one feature."""
    X, y, folds = problem(150)
    rough: list[float] = []
    parts = OuterProblem.of(X[:, :features], y, folds, minimise(X[:, :features], y, folds), ard=ard)

    def search(follower: Follower, u: Array, begun: FoldFits) -> Ended[FoldFits]:
        rough.append(follower.rough)
        return Ended(u, begun, (), 0, "converged")

    monkeypatch.setattr(module, "search", search)
    module.outer(parts)
    assert rough == [module.ROUGH_MANY if ard and features > 1 else module.ROUGH_ONE]


def test_fits_are_as_near_as_the_step_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fits are rough at the start and after long steps, and exact after short ones."""
    follower, u, begun = started(0.0)
    follower.near, follower.rough = 0.001, 0.02
    asked: list[float] = []

    def followed(fits: tuple[FoldFit, ...], s: Array, near: float) -> tuple[FoldFit, ...]:
        asked.append(near)
        return fits

    monkeypatch.setattr(fold_fits, "follow_all", followed)
    for step in (1.0, 0.1):
        follower(u, np.array([step, 0.0]), begun)
    np.testing.assert_allclose(asked, [0.02, 0.005])


def test_sharper_fits() -> None:
    """Sharper fits are closer to the same minima, and so are the fits that follow from them."""
    follower, u, rough = started(0.1)
    _, _, exact = started(0.0)
    sharp, s = follower.sharper(rough, module.SHARP), np.array([0.1, -0.1])
    assert np.abs(sharp.errors - exact.errors).max() < 1e-6
    assert np.abs(rough.errors - exact.errors).max() > 1e-5
    there, exactly = follower(u, s, sharp), Follower(0.0, 0.0)(u, s, exact)
    assert np.abs(there.errors - exactly.errors).max() < 1e-6


def test_only_what_is_too_rough_is_made_sharper() -> None:
    """A fold that is close enough is not computed again, and its jump is not counted twice."""
    follower, _, rough = started(0.1)
    fits = sorted(rough.fits, key=lambda fit: fit.unmade)
    fits[0] = replace(fits[0], jumped=True)
    between = 0.5 * (fits[-2].unmade + fits[-1].unmade)
    before = follower.evaluations
    sharp = follower.sharper(FoldFits(tuple(fits)), between)
    assert (follower.evaluations - before, follower.jumps) == (1, 0)
    assert sharp.fits[0].errors is fits[0].errors
    assert sharp.unmade <= between < rough.unmade


def test_unmade_is_the_relative_length_of_the_last_move() -> None:
    """``unmade`` is the length of the last move over that of the evaluated widths."""
    _, _, rough = started(0.1)
    X, y, folds = problem(100)
    fold = FoldProblem.of(Unit.of(X, y).widths(ard=True), y, folds.members[0])
    found = settle(fold.inner(np.zeros(2)), np.full(4, 0.2), 0.1)
    before = found.theta - found.pending
    expected = np.sqrt(np.sum(found.pending**2) / np.sum(before**2))
    assert rough.fits[0].unmade == pytest.approx(expected)
    assert expected > module.NEAR


@pytest.mark.parametrize(
    ("near", "states", "asked"),
    [
        (0.0, ["converged"], []),
        (0.1, ["converged", "converged"], [module.NEAR]),
        (0.0, ["no further descent", "converged"], [module.SHARP]),
        (0.0, ["iteration limit", "no further descent"], [module.SHARP]),
        (0.1, ["no further descent", "converged"], [module.NEAR]),
        (0.1, ["converged", "no further descent", "converged"], [module.NEAR, module.SHARP]),
    ],
)
def test_searches_after_the_first(
    monkeypatch: pytest.MonkeyPatch, near: float, states: list[str], asked: list[float]
) -> None:
    """The search is repeated with closer fits if it ended with rough ones or did not converge."""
    follower, u, begun = started(near)
    follower.near = follower.rough = 0.2
    searches: list[tuple[float, Array, FoldFits]] = []

    def search(_: Follower, u: Array, point: FoldFits, __: Array) -> Ended[FoldFits]:
        state = states[len(searches)]
        searches.append((follower.near, u, point))
        return Ended(u + 1.0, point, (), len(searches), state)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "least_squares", search)
    ended = module.search(follower, u, begun)
    assert [one[0] for one in searches] == [0.2, *asked]
    np.testing.assert_array_equal([one[1] for one in searches], [u + k for k in range(len(states))])
    assert searches[0][2] is begun
    assert all(point.unmade <= allowed for allowed, _, point in searches[1:])
    assert ended.state == states[-1]
    assert ended.steps == sum(range(1 + len(states)))
    np.testing.assert_array_equal(ended.u, u + len(states))


def ended_with(refused_jumps: int, state: str) -> Ended[FoldFits]:
    """Return a search that refused one point, at which this many of two folds had jumped."""
    X, y, _ = problem(20)
    fold = FoldProblem.of(Unit.of(X, y).widths(ard=True), y, np.arange(4))
    fit_here = fold.fit(np.zeros(2), np.full(4, 0.2))
    jumped = replace(fit_here, jumped=True)
    refused = FoldFits(tuple([jumped] * refused_jumps + [fit_here] * (2 - refused_jumps)))
    return Ended(np.zeros(2), FoldFits((fit_here,)), (refused,), 3, state)  # type: ignore[arg-type]


def test_ending() -> None:
    """A change of branch is reported first, then a failed inner search, then the outer ending."""
    X, y, _ = problem(20)
    final = settle(Inner(Unit.of(X, y).widths(ard=True), y, 1.0, 1.0), np.full(4, 0.2))
    unfinished = replace(final, state="iteration limit", straight=False)
    assert module.ending(ended_with(1, "no further descent"), unfinished) == "branch change"
    assert module.ending(ended_with(0, "converged"), unfinished) == "iteration limit"
    assert module.ending(ended_with(0, "no further descent"), final) == "no further descent"
    assert module.ending(ended_with(0, "converged"), final) == "converged"


def bad_inputs() -> dict[str, tuple[Array, Array, int]]:
    """Draw awkward rows, labels and numbers of folds."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), np.where(np.arange(40) % 2 == 0, 1.0, -1.0)
    X[:, 0] += 0.8 * y
    constant, wide, offset = X.copy(), X.copy(), X + 1e6
    constant[:, 1], wide[:, 2] = 7.0, 1e6 * X[:, 2]
    return {
        "a constant feature": (constant, y, 5),
        "duplicated rows": (np.repeat(X[:10], 4, axis=0), np.repeat(y[:10], 4), 5),
        "duplicated rows of both classes": (np.repeat(X[:10], 4, axis=0), y, 5),
        "two classes of one row": (X[:2], y[:2], 2),
        "one row of a class": (X[:9], np.append(np.ones(8), -1.0), 3),
        "more features than rows": (rng.normal(size=(15, 40)), y[:15], 5),
        "features of scale 1e6": (1e6 * X, y, 5),
        "one feature of scale 1e6": (wide, y, 5),
        "an offset of 1e6": (offset, y, 5),
        "one feature": (X[:, :1], y, 5),
        "five rows": (X[:5], y[:5], 5),
    }


@pytest.mark.parametrize("name", bad_inputs())
@pytest.mark.parametrize("ard", [True, False])
def test_bad_input_has_a_result(name: str, ard: bool) -> None:
    """Each of the four searches returns a finite result with a usable kernel."""
    X, y, k = bad_inputs()[name]
    folds = draw_folds(len(y), k, np.random.default_rng(0))
    found: list[Solution] = [
        minimise(X, y, ard=ard),
        minimise(X, y, folds, ard=ard),
        minimise_regularised(X, y, ard=ard),
        solved(X, y, folds, ard=ard),
    ]
    for one in found:
        theta = np.broadcast_to(one.theta, X.shape[1])
        assert np.isfinite(Ard(tuple(theta.tolist())).gram(Points(X))).all()
        assert 0.0 < one.lam < np.inf
        if ard and name == "a constant feature":
            assert one.theta[1] == 0.0


def hopeless() -> dict[str, tuple[Array, Array, str]]:
    """Return inputs without a solution, and the reason."""
    X, y = np.random.default_rng(0).normal(size=(20, 2)), np.where(np.arange(20) < 9, 1.0, -1.0)
    return {
        "equal rows": (np.ones((20, 2)), y, "all rows are equal"),
        "no features": (np.ones((20, 0)), y, "all rows are equal"),
        "one class": (X, np.ones(20), "targets are all equal"),
        "not a number": (np.where(X > 1.0, np.nan, X), y, "feature is not a finite number"),
        "a target too few": (X, y[:-1], "20 rows, 19 targets"),
        "features of scale 1e200": (1e200 * X, y, "features of size .*scale them"),
        "features of scale 1e-200": (1e-200 * X, y, "features of size .*scale them"),
    }


@pytest.mark.parametrize("name", hopeless())
def test_hopeless_input_is_named(name: str) -> None:
    """Each of the four searches names the reason in one line."""
    X, y, reason = hopeless()[name]
    folds = draw_folds(20, 5, np.random.default_rng(0))
    searches = (
        lambda: minimise(X, y),
        lambda: minimise(X, y, folds),
        lambda: minimise_regularised(X, y),
        lambda: solved(X, y, folds),
    )
    for search in searches:
        with pytest.raises(TrialError, match=reason):
            search()


@pytest.mark.parametrize("ard", [True, False])
def test_same_objective(ard: bool) -> None:
    """Neither search is worse by 1e-3, and the value is that of retraining."""
    X, y, folds = problem(50, 3)
    start = minimise(X, y, folds)
    ours = solved(X, y, folds, ard=ard, start=start)
    theirs = solved(X, y, folds, ard=ard, start=start, by=nested_nelder_mead)
    assert theirs.state == "converged"
    assert ours.value == pytest.approx(theirs.value, rel=1e-3)
    at = np.log([theirs.lam, theirs.mu])
    assert theirs.value == pytest.approx(outer(X, y, folds, at, theirs.theta, ard=ard), rel=1e-3)
    np.testing.assert_allclose(theirs.theta, ours.theta, atol=0.1 * ours.theta.max())
    assert theirs.evaluations > 20 * ours.evaluations


def test_iteration_limit_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that reaches its iteration limit is not reported as converged."""
    X, y, folds = problem(30, 2)
    monkeypatch.setattr(module, "EVALUATIONS", 5)
    found = solved(X, y, folds, by=nested_nelder_mead)
    assert found.state == "iteration limit"
    assert found.steps <= 6
